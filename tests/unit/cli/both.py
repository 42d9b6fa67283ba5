"""A database with a server on it and a copy without one: the same command is given to both, with --server
and with --db, and must say and print the same.
"""
import json
import shutil
import signal
from tool import Case

CATALOG = {"accounts": [{"id": i, "name": f"a{i}"} for i in (1, 2, 3)],
           "zones": [{"id": 100 + i, "account": i, "name": f"z{i}",
                      "created": "2026-01-05T00:00:00Z"} for i in (1, 2, 3)]}


class Both(Case):
    """The server works on t.db, the command line on l.db."""

    def setUp(self):
        super().setUp()
        self.key = self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role",
                                 "Operator").out.strip()
        self.user = None
        self.apply(json.dumps(CATALOG))
        self.user = self.run_tool("key", "create", "--db", "t.db", "--account", 1).out.strip()
        self.run_tool("import", "--db", "t.db", "-", stdin=self.rows({101: 1000, 102: 500}))
        shutil.copy(self.folder / "t.db", self.folder / "l.db")
        self.serve()

    @staticmethod
    def rows(gigabytes, hour="2026-10-03T05:00:00Z", region="DE"):
        return "".join(json.dumps({"zone": zone, "hour": hour, "region": region,
                                   "bytes": gb * 10**9}) + "\n"
                       for zone, gb in gigabytes.items()).encode()

    def serve(self):
        port = self.folder / "port"
        port.unlink(missing_ok=True)
        self.server = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file",
                                 "port", "--threads", 2)
        self.wait_for(lambda: port.exists() and port.read_text().strip())
        self.url = f"http://127.0.0.1:{port.read_text().strip()}"
        self.place = ["--server", self.url, "--key", self.key]

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(60), 0)

    def same(self, *tables):
        """Both databases hold the same in these."""
        for table in tables:
            sql = f"SELECT * FROM {table}"
            self.assertEqual(self.query(sql), self.query(sql, "l.db"), table)

    def placeless(self, said):
        """Hints name the place of the command."""
        return said.replace(f" --server {self.url} --key KEY", " PLACE").replace(" --db l.db", " PLACE")

    def both(self, *words, status=0, alike=True, **more):
        here = self.run_tool(*words, "--db", "l.db", status=status, **more)
        there = self.run_tool(*words, *self.place, status=status, **more)
        self.assertEqual(there.out, here.out)
        if alike:
            self.assertEqual(self.placeless(there.err), self.placeless(here.err))
        return there
