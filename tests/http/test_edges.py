#!/usr/bin/env python3
"""Web servers as docs/web-servers.md sets them up, with Debian's programs: clients send what they like, the
page's `tollbook follow` ships the log, and what the server counted of itself is what is stored, by
pull zone, in requests, bytes and hits."""
import getpass
import grp
import json
import os
import random
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import edges
from edges import CATALOG, HOSTS, TEXTS, Answer, follower, moved, pasted, program, requests
from harness import ENVIRONMENT, PATIENCE, Server, random_seed, run
from follower import taken, until

SEED = random_seed()
ENVIRONMENT["TOLLBOOK_NOW"] = "2100-01-01T00:00:00Z"  # servers write the time of the day; none is ahead of this


class Case(unittest.TestCase):
    def setUp(self):
        # Not in TMPDIR, which may be for its owner alone: Apache reads as another user.
        folder = tempfile.TemporaryDirectory(prefix="tollbook-edges-", dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o755)
        self.server = Server(log=None)
        self.addCleanup(self.server.close)
        catalog = self.folder / "catalog.json"
        catalog.write_text(json.dumps(CATALOG))
        done = self.server.ask("POST", "/operations/apply", "operator", catalog.read_bytes())
        self.assertEqual(done.status, 200, done.body)

    def begin(self, kind):
        at = self.folder / "edge"
        at.mkdir()
        self.edge = kind(at)
        self.addCleanup(self.edge.close)
        self.follower = follower(self.edge.follow, self.server, self.folder, self.edge.places()).start()
        self.addCleanup(self.follower.close)

    def answer(self, zone, data):
        try:
            return Answer(self.edge.port, zone, data)
        except AssertionError as why:
            raise AssertionError(f"{why}\n{self.edge.messages()}") from None

    def rows(self, sql):
        text = run("query", "--db", self.server.db, "--format", "tsv", sql).stdout.decode(errors="replace")
        return [row.split("\t") for row in text.splitlines()[1:]]

    def holds(self, answers):
        """What the server counted is what is stored."""
        counted = sum(map(self.edge.counts, answers))
        until(lambda: counted <= sum(taken(self.server.db)) == self.edge.counted(),
              lambda: f"{taken(self.server.db)} of {self.edge.counted()}\n{self.follower.messages()}")
        self.assertEqual(self.follower.stop(), 0)
        accepted, rejected = taken(self.server.db)
        for said in self.follower.messages().splitlines():
            self.assertRegex(said, "no such file yet|since the start (was|were) refused")
        self.assertEqual("refused" in self.follower.messages(), rejected > 0, self.follower.messages())
        truth = self.edge.truth(answers)
        got = {int(zone): [int(requests), int(sent)] for zone, requests, sent in
               self.rows("SELECT zone, sum(requests), sum(bytes) FROM buckets GROUP BY 1")}
        if not self.edge.exact_bytes:
            for zones in (truth, got):
                zones.update((zone, figures[:1]) for zone, figures in zones.items())
        self.assertEqual(got, truth)
        expected = " OR ".join(f"reason LIKE '{refusal}'" for refusal in self.edge.refusals)
        self.assertEqual(self.rows(f"SELECT DISTINCT reason FROM reject WHERE NOT ({expected})"), [])
        self.assertEqual(self.rows("SELECT DISTINCT region FROM buckets"), [["DE"]])
        hits = sum(map(self.edge.hit, answers))
        known = accepted if self.edge.tells_cache else 0
        self.assertEqual(self.rows("SELECT sum(cache_known), sum(pulled) FROM buckets"),
                         [[str(known), str(known - hits)]])
        self.assertEqual(hits > 0, self.edge.caches)
        print(f"{type(self.edge).__name__}: {len(answers)} sent, {self.edge.counted()} counted, {accepted} stored, "
              f"{rejected} of no pull zone, {hits} hits", flush=True)

    def serves(self, kind):
        self.begin(kind)
        rng = random.Random(SEED)
        answers = []
        for zone, data in (one for _ in range(self.edge.rounds) for one in requests(rng)):
            answers.append(self.answer(zone, data))
            if len(answers) % 8 == 0:
                self.edge.settle()
        self.holds(answers)


@unittest.skipUnless(program("nginx"), "nginx is not installed")
class Nginx(Case):
    def test_hostile_clients(self):
        self.serves(edges.Nginx)

    @unittest.skipUnless(program("wrk"), "wrk is not installed")
    @unittest.skipUnless(program("logrotate"), "logrotate is not installed")
    def test_under_wrk_while_logrotate_rotates(self):
        """wrk sends hostile agents, referers and URLs as fast as it can, and the page's logrotate rotates."""
        self.begin(edges.Nginx)
        script = self.folder / "hostile.lua"
        texts = ",".join('"' + "".join(f"\\{byte:03d}" for byte in text) + '"' for text in TEXTS if text)
        script.write_text(f"""
math.randomseed({SEED & 0xffff})
local texts, hosts = {{{texts}}}, {{"a.example", "b.example", "B.Example:8080", "nobody.example"}}
local function any(of) return of[math.random(#of)] end
request = function()
    local target = "/f?" .. any(texts):gsub("[%s%c#]", "+")
    return wrk.format("GET", target, {{Host = any(hosts), ["User-Agent"] = any(texts), Referer = any(texts)}})
end
""")
        conf = self.rotation()
        with subprocess.Popen([program("wrk"), "-t1", "-c8", f"-d{PATIENCE}s", "-s", script,
                               f"http://127.0.0.1:{self.edge.port}/"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as wrk:
            for part in range(1, 4):
                self.until_counted(wrk, 500 * part)
                done = subprocess.run([program("logrotate"), "-f", "-s", self.folder / "state", conf],
                                      capture_output=True, check=False, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.until_counted(wrk, 2000)
            wrk.send_signal(signal.SIGINT)
            said = wrk.communicate(timeout=PATIENCE)[0].decode()
        self.assertEqual(wrk.returncode, 0, said)
        self.assertGreaterEqual(len(list(self.edge.logs.iterdir())), 4)
        self.holds([])

    def until_counted(self, wrk, least):
        """wrk may take as long as this machine needs."""
        until(lambda: self.edge.counted() > least or wrk.poll() is not None, self.edge.messages)
        self.assertIsNone(wrk.poll(), f"fewer than {least} requests")

    def rotation(self):
        """The page's file for logrotate, about this nginx; its log's owner is who runs this."""
        conf = self.folder / "logrotate.conf"
        conf.write_text(moved(pasted("logrotate")[0], {
            "/var/log/nginx/access.log": self.edge.logs / "tollbook.log", "/run/nginx.pid": self.edge.pid,
            "www-data adm": f"{getpass.getuser()} {grp.getgrgid(os.getgid()).gr_name}"}))
        conf.chmod(0o644)
        return conf


@unittest.skipUnless(program("apache2"), "Apache is not installed")
class Apache(Case):
    def test_vhost_combined(self):
        self.serves(edges.Apache)

    def test_a_format_of_its_own_with_a_cache(self):
        self.serves(edges.ApacheCache)


@unittest.skipUnless(program("varnishd"), "Varnish is not installed")
class Varnish(Case):
    def test_hostile_clients(self):
        self.serves(edges.Varnish)


@unittest.skipUnless(program("haproxy"), "HAProxy is not installed")
@unittest.skipUnless(program("rsyslogd"), "rsyslog is not installed")
class HAProxy(Case):
    def test_over_syslog(self):
        self.serves(edges.HAProxy)


@unittest.skipUnless(program("caddy"), "Caddy is not installed")
class Caddy(Case):
    def test_hostile_clients(self):
        self.serves(edges.Caddy)
        self.assertGreater(len(list(self.edge.logs.iterdir())), 1, "it has rotated its log")


if __name__ == "__main__":
    unittest.main()
