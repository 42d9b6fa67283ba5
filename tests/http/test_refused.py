"""Refused lines: what the operation `refused` lists and counts, against a plain reading of what was sent at which time from
which file. TB_SEED reruns one.
"""
import json
import random
import subprocess
import time
import unittest
from collections import Counter

from harness import ENVIRONMENT, TOLLBOOK, Case, Server, random_seed, run

NOW_S = 1793782800  # 2026-11-04T09:00:00Z
HOUR = 3600
STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600]
BAD = {
    "no columns {n}": "wrong number of columns: 12 or 15 expected",
    "HIT|9{n}|1793707200000|1|101|-|-|/|DE|-|-|DE": "status is not a number from 100 to 599",
    "HIT|200|{n}|1|101|-|-|/|DE|-|-|DE": "timestamp before 2015",
    "HIT|200|1793707200000|x{n}|101|-|-|/|DE|-|-|DE": None,  # whatever it is called
}


def iso(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


class Refused(Case):
    @classmethod
    def setUpClass(cls):
        rng = random.Random(random_seed())
        cls.rng = rng
        cls.sent = []  # in the order of intake

        class Refusing(Server):
            def make(self, log):
                keys = super().make(None)
                for second in sorted(NOW_S - rng.randrange(80 * HOUR) for _ in range(14)):
                    source = self.path / f"edge-{rng.randrange(3)}.log"
                    lines = []
                    for number in range(1, rng.choice([2, 10, 60])):
                        form, reason = rng.choice(list(BAD.items()))
                        if rng.random() < 0.2:
                            text, reason = f"HIT|200|1793707200000|1|101|-|-|/{second}|DE|-|-|DE", ""
                        else:
                            text = form.format(n=rng.randrange(100, 10000))
                        lines.append(text)
                        if reason != "":
                            cls.sent.append({"second": second, "source": str(source), "line": number, "reason": reason, "text": text})
                    source.write_text("\n".join(lines) + "\n")
                    subprocess.run([TOLLBOOK, "ingest", "--db", self.db, source], capture_output=True, check=False,
                                   env={**ENVIRONMENT, "TOLLBOOK_NOW": iso(second)})
                return keys

        cls.server = Refusing(log=b"refused lines of many hours")

    def ask(self, key="operator", expect=200, **given):
        answer = self.server.ask("POST", "/operations/refused", key, json.dumps(given).encode(), Content_Type="application/json")
        self.assertEqual(answer.status, expect, answer.body)
        return answer.json().get("answer", answer.json())

    def known(self, start, end):
        """The newest first. An intake with the same bytes as one before adds nothing; times and numbers make that unlikely."""
        return [one for one in sorted(self.sent, key=lambda one: (-one["second"], -one["line"])) if start <= one["second"] < end]

    def test_it_agrees_with_a_plain_reading(self):
        rng, every = self.rng, self.ask(limit=1000)
        names = {one["text"]: one["reason"] for one in every["lines"]}
        for one in self.sent:  # the reason that the table does not tell
            one["reason"] = one["reason"] or names.get(one["text"])
        for _ in range(60):
            start = rng.choice([NOW_S - 72 * HOUR, NOW_S - rng.randrange(1, 70 * HOUR)])
            end = rng.choice([NOW_S + 1, start + rng.randrange(1, 40 * HOUR)])
            given = {"from": iso(start), "to": iso(end), "limit": rng.choice([1, 7, 1000]), "offset": rng.choice([0, 0, 5])}
            wanted = self.known(start, end)
            if rng.random() < 0.5:
                given["reason"] = rng.choice([reason for reason in names.values()] + ["no such reason"])
            if rng.random() < 0.3:
                given["source"] = rng.choice(self.sent)["source"]
            if rng.random() < 0.3:
                given["contains"] = rng.choice(["|x", "no col", "9", "nowhere"])
            wanted = [one for one in wanted if given.get("reason") in (None, one["reason"]) and
                      given.get("source") in (None, one["source"]) and given.get("contains", "") in one["text"]]
            got = self.ask(**given)
            page = wanted[given["offset"]:given["offset"] + given["limit"]]
            self.assertEqual([(one["at"], one["source"], one["line"], one["reason"], one["text"]) for one in got["lines"]],
                             [(iso(one["second"]), one["source"], one["line"], one["reason"], one["text"]) for one in page], given)
            self.assertEqual(got["hasMore"], len(wanted) > given["offset"] + given["limit"])
            self.assertEqual((got["totals"], got["complete"]), ({"lines": len(wanted)}, True))
            for member in ("reason", "source"):
                counts = Counter(one[member] for one in wanted)
                order = sorted(counts, key=lambda value: (-counts[value], value.encode()))[:10]
                self.assertEqual(got["top"][member], {"exact": True, "distinct": len(counts),
                                                      "values": [{"value": value, "lines": counts[value]} for value in order]})
            step = next(s for s in STEPS if end - start <= s * 120)
            self.assertEqual(got["stepSeconds"], step)
            self.assertEqual(got["points"], [
                {"at": iso(at), "lines": sum(at <= one["second"] < at + step for one in wanted),
                 "byReason": [sum(at <= one["second"] < at + step and one["reason"] == reason for one in wanted) for reason in got["reasons"]]}
                for at in range(start // step * step, end, step)])

    def test_wrong_times_and_other_roles_are_refused(self):
        for given in ({"from": "yesterday"}, {"to": "2026-02-30"}, {"from": "2026-11-04T08:00:00Z", "to": "2026-11-04T08:00:00Z"},
                      {"to": "2026-10-01"}, {"limit": 0}, {"limit": 1001}, {"offset": -1}, {"reason": ""}):
            self.assertEqual(self.ask(expect=400, **given)["Field"], list(given)[-1], given)
        for key in ("user", "ingest"):
            self.ask(key=key, expect=403)

    def test_the_command_prints_a_table(self):
        done = run("refused", "--server", self.server.url, "--key", self.server.keys["operator"], "--limit", 3, "--format", "csv")
        rows = done.stdout.decode().splitlines()
        self.assertEqual((rows[0], len(rows)), ("taken in,source,line,byte,reason,text", 4))
        newest = self.known(NOW_S - 72 * HOUR, NOW_S + 1)[0]
        self.assertTrue(rows[1].startswith(f"{iso(newest['second'])},{newest['source']},{newest['line']},"), rows[1])


class Many(Case):
    """More lines than are looked at: the newest 500,000 of them, and the answer says so. Of a segment 100,000 are kept."""

    @classmethod
    def setUpClass(cls):
        class RefusingMany(Server):
            def make(self, log):
                keys = super().make(None)
                for n in range(6):
                    source = self.path / f"{n}.log"
                    source.write_text(f"{n}\n" * 100001)
                    subprocess.run([TOLLBOOK, "ingest", "--db", self.db, source], capture_output=True, check=False,
                                   env={**ENVIRONMENT, "TOLLBOOK_NOW": iso(NOW_S - 6 * HOUR + n * HOUR)})
                return keys

        cls.server = RefusingMany(log=b"too many refused lines")

    def test_what_is_too_much_is_said(self):
        answer = self.server.ask("POST", "/operations/refused", "operator", b'{"limit": 1}', Content_Type="application/json").json()
        got = answer["answer"]
        self.assertEqual((got["complete"], got["totals"]["lines"], got["from"]), (False, 500000, iso(NOW_S - 5 * HOUR)))
        self.assertEqual([one["lines"] for one in got["top"]["source"]["values"]], [100000] * 5)
        self.assertIn("of the newest 500,000", answer["said"][0])
        few = self.server.ask("POST", "/operations/refused", "operator", b'{"contains": "3"}', Content_Type="application/json").json()["answer"]
        self.assertEqual((few["complete"], few["totals"]["lines"]), (False, 100000))


if __name__ == "__main__":
    unittest.main()
