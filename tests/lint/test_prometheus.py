#!/usr/bin/env python3
"""docs/prometheus-rules.yml: promtool understands it, each alert fires when it should and not before
(`promtool test rules`), each metric in it is one that a program writes, and docs/operate/run.md says of
each alert what to do."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "http"))
from clickhouse import PROGRAM, ClickHouse  # noqa: E402
from harness import ENVIRONMENT, SOURCE, TOLLBOOK, Server, hit, run  # noqa: E402

RULES = SOURCE / "docs/prometheus-rules.yml"
SERVER = '{instance="a", job="tollbook"}'
ONE = {"instance": "a", "job": "tollbook"}
FOLLOWER = '{file="/l", instance="e"}'
LOG = {"file": "/l", "instance": "e"}
REQUESTS = 'tollbook_requests_total{instance="a", route="statistics", status="%s"}'
BUCKET = 'tollbook_request_seconds_bucket{instance="a", route="statistics", le="%s"}'
LINES = 'tollbook_ingest_lines_total{instance="a", result="%s"}'
HERE = {"instance": "a"}
BUILD = 'tollbook_build_info{instance="a", job="tollbook", version="1"}'
BUILT = {**ONE, "version": "1"}
SHARD = {"host": "b:8123", "instance": "a", "shard": "1"}
UP, STATEMENTS, FAILURES = (f'tollbook_usage_{what}{{host="b:8123", instance="a", shard="1"}}'
                            for what in ("up", "statements_total", "failures_total"))
COPY = '{instance="a", name="b"}'
FULL = {**ONE, "reason": "full"}


def of(metric, values, labels=SERVER):
    return {metric + labels: values}


# Alert: the minute that is looked at, series in which it fires then, its labels and what it says, and
# series in which it does not, although they come close.
CASES = [
    ("TollbookDown", 10, of("up", "1x2 0x20"), ONE, "tollbook does not answer at a", of("up", "1x7 0x20")),
    ("TollbookDown", 10, {}, {"job": "tollbook"}, "tollbook does not answer at ", of("up", "1x20")),
    ("TollbookWriterDown", 10, of("tollbook_writer_alive", "1x5 0x10"), ONE,
     "tollbook at a answers, but stores nothing", of("tollbook_writer_alive", "1x9 0x10")),
    ("TollbookErrors", 30, {REQUESTS % 200: "0+98x60", REQUESTS % 503: "0+2x60"}, HERE,
     "2% of the requests to a fail", {REQUESTS % 200: "0+100x60", REQUESTS % 501: "0+50x60",
                                      REQUESTS % 404: "0+50x60", REQUESTS % 500: "0 2x60"}),
    ("TollbookSlow", 30, {BUCKET % "0.5": "0+90x60", BUCKET % "1": "0+100x60", BUCKET % "+Inf": "0+100x60"},
     HERE, "one in a hundred statistics of a takes more than 950ms",
     {BUCKET % "0.5": "0+995x60", BUCKET % "1": "0+1000x60", BUCKET % "+Inf": "0+1000x60"}),
    ("TollbookWriterBehind", 30, of("tollbook_intake_queue", "1x60"), ONE,
     "work has waited at a for ten minutes without a break", of("tollbook_writer_queue", "9x22 0 9x60")),
    ("TollbookConnectionsFull", 30, of("tollbook_connections_refused_total", "0+1x60",
                                       '{instance="a", job="tollbook", reason="full"}'), FULL,
     "a turns connections away", of("tollbook_connections_refused_total", "0+1x60",
                                    '{instance="a", job="tollbook", reason="per_ip"}')),
    ("TollbookAccessLogLost", 30, of("tollbook_access_log_dropped_total", "0x20 1x60"), ONE,
     "the access log of a has lost lines", of("tollbook_access_log_dropped_total", "7x60")),
    ("TollbookDiskNearlyFull", 10, of("tollbook_disk_free_bytes", "1000000000x20"), ONE,
     "953.7MiB are free where the database of a is", of("tollbook_disk_free_bytes", "1100000000x20")),
    ("TollbookDiskFillsUp", 100, of("tollbook_disk_free_bytes", "100000000000-25000000x200"), ONE,
     "the disk of a is full in three days if it goes on like this",
     of("tollbook_disk_free_bytes", "100000000000-15000000x200")),
    ("TollbookWalLarge", 60, of("tollbook_wal_bytes", "2147483648x90"), ONE,
     "the write-ahead log of a has 2GiB", of("tollbook_wal_bytes", "2147483648x40 67108864x60")),
    ("TollbookNoLogs", 80, of("tollbook_newest_segment_age_seconds", "0+60x90",
                              '{instance="a", job="tollbook", kind="logs"}'),
     {**ONE, "kind": "logs"}, "a has stored no new log line for 1h 20m 0s",
     {**of("tollbook_newest_segment_age_seconds", "3000x90", '{instance="a", job="tollbook", kind="logs"}'),
      **of("tollbook_newest_segment_age_seconds", "0+60x90", '{instance="a", job="tollbook", kind="buckets"}')}),
    ("TollbookLinesRefused", 90, {LINES % "accepted": "0+980x120", LINES % "rejected": "0+20x120"}, HERE,
     "2% of the lines sent to a are refused",
     {LINES % "accepted": "0+995x120", LINES % "rejected": "0+5x120"}),
    ("TollbookLinesAmbiguous", 30, of("tollbook_ingest_ambiguous_lines_total", "0x20 3x60"), ONE,
     "a took lines whose columns cannot be told apart",
     of("tollbook_ingest_ambiguous_lines_total", "3x60")),
    ("TollbookZonesUnassigned", 70, of("tollbook_unassigned_zones", "2x90"), ONE,
     "2 pull zones of a have usage that nobody pays", of("tollbook_unassigned_zones", "0x30 2x60")),
    ("TollbookLocationsUnpriced", 70, of("tollbook_unpriced_locations", "1x90"), ONE,
     "1 edge locations of a are in no region, so their usage has no price",
     of("tollbook_unpriced_locations", "0x30 1x60")),
    ("TollbookBackupOld", 70, of("tollbook_last_backup_age_seconds", "100000+60x90"), ONE,
     "the database of a has no backup of the last day",
     {**of("tollbook_last_backup_age_seconds", "80000+60x90"), BUILD: "1x90"}),
    ("TollbookBackupOld", 70, {BUILD: "1x90"}, BUILT, "the database of a has no backup of the last day",
     {BUILD: "1x90", **of("tollbook_last_backup_age_seconds", "_x40 5x60")}),
    ("TollbookBackupOld", 70, of("tollbook_last_base_age_seconds", "100000+60x90"), ONE,
     "the database of a has no backup of the last day",
     {**of("tollbook_last_backup_age_seconds", "100000+60x90"), **of("tollbook_last_base_age_seconds", "80000+60x90"), BUILD: "1x90"}),
    ("TollbookVerifyOld", 70, of("tollbook_last_verify_age_seconds", "100000+60x90"), ONE,
     "the database of a was not found sound within the last day",
     {**of("tollbook_last_verify_age_seconds", "80000+60x90"), BUILD: "1x90"}),
    ("TollbookVerifyOld", 70, {BUILD: "1x90"}, BUILT,
     "the database of a was not found sound within the last day",
     {BUILD: "1x90", **of("tollbook_last_verify_age_seconds", "_x40 5x60")}),
    ("TollbookAccrualLate", 30, of("tollbook_last_accrual_age_seconds", "100000x60"), ONE,
     "days of prepaid accounts are missing at a", of("tollbook_last_accrual_age_seconds", "86400x60")),
    ("TollbookAccrualLate", 30, of("tollbook_accrual_failures_total", "0x20 1x60"), ONE,
     "days of prepaid accounts are missing at a", of("tollbook_accrual_failures_total", "4x60")),
    ("TollbookMessagesLate", 45, of("tollbook_outbox_oldest_age_seconds", "0+60x60"), ONE,
     "a message of a has waited for 45m 0s to be delivered",
     of("tollbook_outbox_oldest_age_seconds", "1700x60")),
    ("TollbookMessagesGivenUp", 30, of("tollbook_outbox_failed", "3x20 4x60"), ONE,
     "a gave up messages that it could not deliver", of("tollbook_outbox_failed", "4x20 3x60")),
    ("TollbookUsageServerAway", 10, {UP: "1x4 0x20"}, SHARD, "the usage server b:8123 of a is away", {UP: "1x9 0x20"}),
    ("TollbookUsageServerFails", 40, {STATEMENTS: "0+100x60", FAILURES: "0+2x60"}, SHARD,
     "2% of the statements to b:8123 of a fail", {STATEMENTS: "0+1000x60", FAILURES: "0+9x60"}),
    ("TollbookReplicaBehind", 10, of("tollbook_replica_follower_lag_seconds", "90x20", COPY), {**HERE, "name": "b"},
     "the copy b of a is 1m 30s behind", of("tollbook_replica_follower_lag_seconds", "0x7 90x9", COPY)),
    ("TollbookReplicaGone", 40, of("tollbook_replica_followers", "2x20 1x40"), ONE,
     "1 copies follow a, fewer than within the last day", of("tollbook_replica_followers", "1x35 2x30")),
    ("TollbookUnprotected", 10, of("tollbook_unprotected", "0x3 1x20"), ONE, "a acknowledges writes that no standby has",
     of("tollbook_unprotected", "0x9 1x1 0x9")),
    ("TollbookFollowDown", 10, of("tollbook_follow_written_seconds", "0x20", '{instance="e"}'), {"instance": "e"},
     "the follower at e has written no figures for 10m 0s",
     of("tollbook_follow_written_seconds", "0+60x20", '{instance="e"}')),
    ("TollbookFollowRefused", 20, of("tollbook_follow_up", "0x30", '{instance="e"}'), {"instance": "e"},
     "nothing that the follower at e sends is taken",
     of("tollbook_follow_up", "0x15 1 0x30", '{instance="e"}')),
    ("TollbookFollowLag", 20, of("tollbook_follow_lag_seconds", "0+60x30", FOLLOWER), LOG,
     "/l at e is 20m 0s behind", of("tollbook_follow_lag_seconds", "500x30", FOLLOWER)),
    ("TollbookFollowTrouble", 20, of("tollbook_follow_trouble", "1x30", FOLLOWER), LOG,
     "/l at e cannot be read, or is refused", of("tollbook_follow_trouble", "0x15 1x30", FOLLOWER)),
    ("TollbookFollowLost", 30, of("tollbook_follow_lost_logs_total", "0x20 1x60", '{instance="e"}'),
     {"instance": "e"}, "logs at e were deleted before they were read to their end",
     of("tollbook_follow_lost_logs_total", "1x60", '{instance="e"}')),
]


def rules():
    return {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"]
            for rule in group["rules"]}


def in_promtools_words(case, fires):
    name, minute, bad, labels, says, good = case
    alerts = [{"exp_labels": {**labels, **rules()[name]["labels"]}, "exp_annotations": {"summary": says}}]
    return {"interval": "1m", "name": f"{name} {'fires' if fires else 'is quiet'}",
            "input_series": [{"series": series, "values": values}
                             for series, values in (bad if fires else good).items()],
            "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": name,
                                 "exp_alerts": alerts if fires else []}]}


class Rules(unittest.TestCase):
    def promtool(self, *words):
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (tests/dependencies test)")
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_understands_them(self):
        self.promtool("check", "rules", "--lint-fatal", str(RULES))

    def test_each_fires_when_it_should_and_not_before(self):
        self.assertEqual({case[0] for case in CASES}, set(rules()))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.yml"
            path.write_text(yaml.safe_dump({
                "rule_files": [str(RULES)], "evaluation_interval": "1m",
                "tests": [in_promtools_words(case, fires) for case in CASES for fires in (True, False)]}))
            self.promtool("test", "rules", str(path))

    def test_each_metric_is_one_that_a_program_writes(self):
        server = Server("--alert-url", "http://127.0.0.1:1/", "--alert-secret-file", self.secret())
        self.addCleanup(server.close)
        run("backup", "--db", server.db, "--to", server.path / "copy.db")
        run("verify", "--db", server.db)
        server.get("/statistics")
        written = server.ask("GET", "/metrics").body.decode()
        log = server.path / "log"
        log.write_bytes(hit(101))
        key = server.path / "key"
        key.write_text(server.keys["ingest"])
        key.chmod(0o600)
        figures = server.path / "figures"
        subprocess.run([TOLLBOOK, "follow", "--once", "--server", server.url, "--key-file", key,
                        "--metrics", figures, log], env=ENVIRONMENT, check=True, timeout=60, capture_output=True)
        written += figures.read_text()
        written += self.usage_metrics() + self.replica_metrics()
        names = set(re.findall(r"^(\w+)[ {]", written, re.M)) | {"up"}
        for rule in rules().values():
            if not PROGRAM and "tollbook_usage_" in rule["expr"]:
                continue
            for name in re.findall(r"\b(?:tollbook|process)_\w+|\bup\b", rule["expr"]):
                self.assertIn(name, names, rule["alert"])

    def replica_metrics(self):
        server = Server("--replicas", "--acknowledge-after", "standby")
        run("backup", "--db", server.db, "--follow", server.path / "d", "--once")
        self.addCleanup(server.close)
        server.get("/replica/pieces?after=1", "operator", Tollbook_Replica="b")
        return server.ask("GET", "/metrics").body.decode()

    def usage_metrics(self):
        if not PROGRAM:
            return ""
        shard = ClickHouse()
        self.addCleanup(shard.close)
        server = Server("--usage", f"clickhouse://127.0.0.1:{shard.port}/rules", log=None)
        written = server.ask("GET", "/metrics").body.decode()
        server.stop()
        server.folder.cleanup()
        return written

    def secret(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "secret"
        path.touch(0o600)
        path.write_text("whsec_" + 40 * "A")
        return path

    def test_the_handbook_has_a_row_for_each(self):
        rows = re.findall(r"^\| (Tollbook\w+) \|", (SOURCE / "docs/operate/run.md").read_text(), re.M)
        self.assertEqual(rows, list(rules()))


if __name__ == "__main__":
    unittest.main()
