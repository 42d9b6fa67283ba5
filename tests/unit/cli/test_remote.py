"""--server: the same work through a running server."""
import json
import os
import re
import signal
import ssl
import subprocess
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tool import Case, lines


REPLY = {"out": "", "said": [], "answer": None, "no": False, "next": ""}


class Answers(Case):
    """What a client says of a server that answers each request with the same."""

    def answering(self, status, answer, tls=None, **headers):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.dumps(answer).encode()
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": len(body)}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST
            log_message = lambda *_: None

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None  # a client that does not trust the certificate goes
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"

    def test_a_full_disk_is_the_servers_and_each_wait_is_said(self):
        url = self.answering(503, {"ErrorKey": "server.disk_full", "Field": None, "Message": "The disk is full."}, Retry_After=0)
        log = self.write("a.log", lines(0, 3))
        for words, subject in ((("ingest", log), f"a.log: {url} says"), (("key", "list"), url)):
            done = self.run_tool(*words, "--server", url, "--key", "k", status=3)
            said = [line.split(": ", 1)[1] for line in done.err.splitlines()]
            full = f"{subject}: The disk is full. (HTTP 503)"
            self.assertEqual(said, [f"{full} It is asked again in 0 seconds: {left} {'try is' if left == 1 else 'tries are'} left."
                                    for left in (5, 4, 3, 2, 1)] + [full])

    def test_a_follower_that_runs_once_asks_as_often(self):
        url = self.answering(503, {"ErrorKey": "server.disk_full", "Field": None, "Message": "The disk is full."}, Retry_After=0)
        (self.folder / self.write("key", "k")).chmod(0o600)
        done = self.run_tool("follow", "--once", "--server", url, "--key-file", "key", self.write("a.log", lines(0, 3)), status=3)
        self.assertEqual(re.findall(r"(\d) tr\w+ \w+ left", done.err), list("54321"), done.err)

    def test_a_busy_server_is_asked_again_without_a_word(self):
        url = self.answering(503, {"ErrorKey": "server.busy", "Field": None, "Message": "Busy."}, Retry_After=0)
        done = self.run_tool("key", "list", "--server", url, "--key", "k", status=3)
        self.assertEqual(done.err, f"tollbook key list: {url}: Busy. (HTTP 503)\n")

    def test_an_older_server_is_not_sent_what_it_would_ignore(self):
        """It would apply what --dry-run asks it to try."""
        self.any_clock = False
        url = self.answering(200, {**REPLY, "operations": [{"name": "apply", "parameters": [{"name": "document"}]}]})
        words = ("apply", "--server", url, "--key", "k", self.write("c.json", '{"accounts":[]}'))
        self.run_tool(*words)
        self.assertIn("The server is older than --dry-run", self.run_tool(*words, "--dry-run", status=2).err)

    def test_an_authority_of_ones_own(self):
        pem, crt = self.folder / "tls.pem", self.folder / "tls.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                        "-subj", "/CN=stats", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", crt],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, pem)
        url = self.answering(200, REPLY, tls=context)
        words = ("key", "list", "--server", url, "--key", "k")
        done = self.run_tool(*words, status=3)
        self.assertRegex(done.err, re.escape(url) + r": .*certificate.*\. --ca FILE, or the variable SSL_CERT_FILE, names the ")
        self.assertNotIn("Check the URL", done.err)
        self.run_tool(*words, "--ca", crt)
        self.variables = {"SSL_CERT_FILE": str(crt)}
        self.run_tool(*words)
        self.assertIn("--ca t.db: there is no certificate in it", self.run_tool(
            "serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--ca", "t.db", status=2).err)
        self.assertIn("; now it is none.pem.\n", self.run_tool(*words, "--ca", "none.pem", status=3).err)
        self.assertIn("--ca needs --server URL", self.run_tool("key", "list", "--db", "t.db", "--ca", crt, status=2).err)

    def environment(self, now=None, key=None):
        return {**super().environment(*[now] if now else [], key=key), **getattr(self, "variables", {})}

    def test_every_command_for_a_server_takes_an_authority(self):
        commands = re.findall(r"^  (\w+(?: [\w-]+)?) {2,}", self.run_tool("help").out, re.M)
        self.assertIn("ingest", commands)
        remote = 0
        for command in commands:
            shown = self.run_tool("help", *command.split()).out
            remote += "\n  --server URL" in shown
            self.assertEqual("\n  --server URL" in shown or command == "serve", "\n  --ca FILE" in shown, command)
        self.assertGreater(remote, 30)


class Remote(Case):
    def setUp(self):
        super().setUp()
        key = self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role", "Operator")
        self.key = key.out.strip()
        self.serve()

    def serve(self):
        port = self.folder / "port"
        port.unlink(missing_ok=True)
        self.server = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file",
                                 "port", "--threads", 2)
        self.wait_for(lambda: port.exists() and port.read_text().strip())
        self.url = f"http://127.0.0.1:{port.read_text().strip()}"
        self.place = ["--server", self.url + "/", "--key", self.key]

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(60), 0)

    def local(self, *words, **more):
        """The same command with --db, while no server runs."""
        self.stop()
        done = self.run_tool(*words, "--db", "t.db", **more)
        self.verify()
        self.serve()
        return done

    def remote(self, *words, **more):
        return self.run_tool(*words, *self.place, **more)

    def test_logs_whole_repeated_grown_and_named(self):
        log = self.write("a.log", lines(0, 100) + b"bad\n")
        done = self.remote("ingest", log)
        self.assertIn("101 lines: 100 accepted, 1 rejected", done.err)
        self.assertIn("rejected line is 101", done.err)
        self.assertIn("nothing new: its 101 lines", self.remote("ingest", log).err)
        self.assertIn("nothing new", self.remote("ingest", "-", stdin=lines(0, 100) + b"bad\n").err)
        self.write("a.log", lines(0, 100) + b"bad\n" + lines(100, 150) + b"HIT|")
        done = self.remote("ingest", log)
        self.assertIn("50 accepted", done.err)
        self.assertIn("waits", done.err)
        self.assertEqual(self.total(), 150)
        self.write("b.log", lines(200, 220))
        self.remote("ingest", "--batch", "b", "b.log")
        self.assertIn("nothing new", self.remote("ingest", "--batch", "b", "b.log").err)
        self.write("b.log", lines(200, 221))
        self.assertIn('"b" is known with other bytes',
                      self.remote("ingest", "--batch", "b", "b.log", status=2).err)
        self.assertEqual(self.total(), 170)

    def test_a_log_longer_than_a_piece(self):
        block = lines(0, 20000)  # pieces must differ in content: the edge does
        log = self.write("a.log", b"".join(block.replace(b"|DE|agent", b"|E%02d|agent" % n)
                                           for n in range(16)))
        self.assertGreater((self.folder / "a.log").stat().st_size, 32 << 20)
        self.assertIn("320000 accepted", self.remote("ingest", log).err)
        self.assertIn("nothing new: its 320000 lines", self.remote("ingest", log).err)
        self.assertIn("320000 accepted", self.remote("ingest", "--batch", "big", log).err)
        self.assertIn("nothing new", self.remote("ingest", "--batch", "big", log).err)
        self.assertEqual(self.total(), 640000)

    def test_one_log_by_both_ways_is_one_log(self):
        block = lines(0, 20000)
        parts = [block.replace(b"|DE|agent", b"|E%02d|agent" % n) for n in range(20)]
        log = self.write("a.log", b"".join(parts[:16]))
        for words, sum_ in ((["ingest"], 400000), (["ingest", "--batch", "big 1/2?&"], 800000)):
            self.write("a.log", b"".join(parts[:16]))
            self.remote(*words, log)
            if len(words) == 1:
                self.assertIn("nothing new: its 320000 lines", self.local(*words, log).err)
                self.write("a.log", b"".join(parts[:18]))
                self.assertIn("40000 accepted", self.local(*words, log).err)
                self.assertIn("nothing new: its 360000 lines", self.remote(*words, log).err)
                self.assertIn("nothing new", self.remote(*words, "-",
                                                         stdin=b"".join(parts[:18])).err)
                self.write("a.log", b"".join(parts))
                self.assertIn("40000 accepted", self.remote(*words, "-",
                                                            stdin=b"".join(parts)).err)
                self.assertIn("nothing new: its 400000 lines", self.local(*words, log).err)
            else:
                self.assertIn("nothing new: its 320000 lines", self.local(*words, log).err)
                self.write("a.log", b"".join(parts[:18]))
                self.remote(*words, log, status=2)
                self.write("a.log", b"".join(parts[16:]))
                self.local(*words[:1], "--batch", "other", log)
                self.assertIn("nothing new: its 80000 lines",
                              self.remote(*words[:1], "--batch", "other", log).err)
            self.assertEqual(self.total(), sum_)

    def test_a_cut_last_line_and_an_earlier_copy_are_told_too(self):
        content = lines(0, 100)
        done = self.remote("ingest", "-", stdin=content[:3333])
        self.assertIn("30 accepted, 1 rejected", done.err)
        self.assertIn("nothing new", self.remote("ingest", "-", stdin=content[:3333]).err)
        part = self.write("part", content[:3333])
        self.assertIn("nothing new", self.local("ingest", part).err)
        self.assertIn("nothing new", self.remote("ingest", part).err)
        log = self.write("a.log", content)
        self.assertIn("70 accepted, 0 rejected", self.remote("ingest", log).err)
        self.assertIn("nothing new", self.local("ingest", log).err)
        for size in (1000, 2000, 4000):
            for words in (["-"], [self.write("part", content[:size])]):
                done = self.remote("ingest", *words, stdin=content[:size])
                self.assertIn("nothing new", done.err)
        self.write("a.log", content + b"HIT|2")
        self.assertIn("1 rejected", self.remote("ingest", "--final", log).err)
        self.write("a.log", lines(0, 101))
        self.assertIn("1 accepted", self.local("ingest", log).err)
        self.assertEqual(self.total(), 101)
        self.stop()
        self.verify()

    def test_a_line_too_long_and_an_empty_batch(self):
        log = self.write("a.log", lines(0, 3) + b"x" * (3 << 20) + b"\n" + lines(3, 6))
        self.assertIn("6 accepted, 1 rejected", self.remote("ingest", log).err)
        self.assertIn("nothing new: its 7 lines", self.local("ingest", log).err)
        empty = self.write("e.log", b"")
        self.assertIn("0 lines", self.remote("ingest", "--batch", "e", empty).err)
        self.assertIn("nothing new", self.local("ingest", "--batch", "e", empty).err)
        self.assertIn("nothing new", self.remote("ingest", "--batch", "e", empty).err)

    def test_stop_and_combined_and_import(self):
        self.write("a.log", lines(0, 10) + b"bad\n")
        done = self.remote("ingest", "--on-error", "stop", "a.log", status=2)
        self.assertIn("ine 11", done.err)
        self.write("c.log", '192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 51 '
                            '"-" "agent"\n')
        self.assertIn("1 accepted", self.remote("ingest", "--format", "combined", "--zone", 7,
                                                "--region", "NY", "c.log").err)
        good = '{"zone":101,"hour":"2026-11-20T10:00:00Z","region":"DE","requests":5}\n'
        self.write("a.ndjson", good * 3)
        self.assertIn("3 accepted", self.remote("import", "a.ndjson").err)
        self.assertIn("nothing new", self.remote("import", "a.ndjson").err)
        self.write("b.ndjson", good + "{}\n")
        self.remote("import", "b.ndjson", status=2)
        self.assertIn("1 accepted, 1 rejected",
                      self.remote("import", "--on-error", "skip", "b.ndjson").err)
        self.assertEqual(self.total(), 1 + 15 + 5)

    def test_a_log_in_another_format_fails_and_says_which(self):
        combined = '192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 51 "-" "agent"\n'
        self.write("c.log", combined * 40)
        self.write("a.log", lines(0, 10))
        done = self.remote("ingest", "c.log", "a.log", status=1)
        self.assertIn("c.log: every line was refused. 40 of the 40 looked at are lines of the combined "
                      f"format. Take them with: tollbook ingest --server {self.url}/ --key KEY --format combined "
                      "--zone ID --region CODE c.log\n",
                      done.err)
        self.assertIn("a.log: 10 lines: 10 accepted, 0 rejected", done.err)
        done = self.remote("ingest", "c.log", status=1)
        self.assertIn("nothing new: its 40 lines were refused before", done.err)
        self.assertIn(f"tollbook ingest --server {self.url}/ --key KEY --format pipe a.log\n",
                      self.remote("import", "--on-error", "skip", "a.log", status=1).err)
        self.assertIn("were refused before",
                      self.remote("import", "--on-error", "skip", "a.log", status=1).err)
        self.assertIn("1 of them with columns", self.remote("ingest", "-", stdin=lines(0, 1).replace(
            b"|agent|", b"|a|NY|b|")).err)

    def test_refused_rows_are_shown_with_their_own_sentence(self):
        self.write("b.ndjson", '{"zone":101,"colour":5}\n')
        done = self.remote("import", "--on-error", "skip", "b.ndjson", status=1)
        self.assertRegex(done.err, r'rejected line is 1, byte \d+: [^.]*"colour"')

    def test_a_failure_says_where_the_log_stands_only_where_a_part_is_stored(self):
        self.write("a.log", lines(0, 10))
        self.write("b.log", lines(0, 10) + b"bad\n")
        key, self.place[3] = self.place[3], "0" * 48
        done = self.remote("ingest", "a.log", status=2)
        self.assertIn("401", done.err)
        self.assertEqual(done.err.count("\n"), 1)
        self.place[3] = self.remote_key("Ingest", key)
        self.remote("ingest", "a.log")
        done = self.remote("ingest", "--on-error", "stop", "b.log", status=2)
        self.assertIn("b.log: its lines 1 to 10 are in the database", done.err)
        self.assertEqual(self.remote("ingest", "nope.log", status=2).err.count("\n"), 1)
        self.assertIn("403", self.remote("key", "list", status=2).err)
        self.stop()
        self.assertEqual(self.remote("ingest", "a.log", status=3).err.count("\n"), 1)

    def remote_key(self, role, key):
        return self.run_tool("key", "create", "--account", 0, "--role", role, "--server", self.url,
                             "--key", key).out.strip()

    def test_every_command_takes_a_key_file_and_the_environment(self):
        self.write("k", self.key + "\n")
        (self.folder / "k").chmod(0o600)
        listed = self.run_tool("key", "list", "--server", self.url, "--key", self.key).out
        for words in (("--key-file", "k"), ()):
            self.assertEqual(self.run_tool("key", "list", "--server", self.url, *words, key=None if words else self.key).out, listed)
        own = {"TOLLBOOK_SERVER": self.url, "TOLLBOOK_KEY_FILE": "k"}
        os.environ.update(own)
        self.addCleanup(lambda: [os.environ.pop(name) for name in own])
        self.assertEqual(self.run_tool("key", "list").out, listed)
        self.run_tool("apply", self.write("named.json", '{"accounts":[{"id":1,"name":"Acme"}]}'))
        self.assertEqual(self.run_tool("stats", "--account", "ACME").out, self.run_tool("stats", "--account", 1).out)
        self.assertIn('No account has the name "nobody"', self.run_tool("stats", "--account", "nobody", status=2).err)
        self.run_tool("import", self.write("none.ndjson", ""))
        self.run_tool("query", "--db", "t.db", "SELECT 1")  # what --server cannot do does not ask for it
        self.write("k", "")
        self.assertIn("It holds no key", self.run_tool("key", "list", status=2).err)

    def test_the_key_comes_from_the_environment_too_and_is_hidden_from_the_process_list(self):
        server = ["--server", self.url]
        done = self.run_tool("key", "list", *server, key=self.key)
        self.assertIn("Operator", done.out)
        self.run_tool("key", "list", *server, "--key", self.key, key="0" * 48)
        self.assertIn("401", self.run_tool("key", "list", *server, key="0" * 48, status=2).err)
        self.assertIn("TOLLBOOK_KEY", self.run_tool("help", "ingest").out)
        for words in (["--key", self.key], ["--key=" + self.key]):
            process = self.start("ingest", *server, *words, "-", stdin=subprocess.PIPE)
            shown = Path(f"/proc/{process.pid}/cmdline")
            self.wait_for(lambda: b"ingest" in shown.read_bytes() and
                          self.key.encode() not in shown.read_bytes())
            self.assertIn(self.url.encode(), shown.read_bytes())
            process.stdin.write(lines(300, 310))
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
        self.assertEqual(self.total(), 10)

    def test_catalogue_and_keys(self):
        self.write("c.json", '{"accounts":[{"id":1,"name":"acme"}]}')
        self.assertIn("1 account added.", self.remote("apply", "c.json").err)
        self.assertIn("nothing changed", self.remote("apply", "c.json").err)
        said = self.remote("apply", "-", stdin=b'{"accounts":[{"id":1,"name":"acme"}],'
                           b'"container_limits":[{"account":1}]}').err
        self.assertIn("1 container application, limit or registry added.", said)
        self.remote("apply", "-", stdin=b'{"acounts":[]}', status=2)
        made = self.remote("key", "create", "--account", 1)
        self.assertRegex(made.out, r"^[0-9a-f]{48}\n$")
        self.assertIn("\n2\t1\tUser\t", self.remote("key", "list", "--format", "table").out)
        self.remote("key", "revoke", "--id", 2)
        self.remote("key", "revoke", "--id", 9, status=2)
        self.remote("key", "create", "--account", 5, status=2)
        self.place[3] = made.out.strip()
        self.assertIn("401", self.remote("key", "list", status=2).err)

    def test_a_writing_command_beside_the_server_is_told_its_address(self):
        self.write("a.log", lines(0, 10))
        done = self.run_tool("ingest", "--db", "t.db", "a.log", status=3)
        self.assertIn(f"tollbook ingest --server {self.url} --key KEY a.log", done.err)
        done = self.run_tool("ingest", "--db", "t.db", "a.log", status=3, key=self.key)  # in the environment: it need not be given
        self.assertIn(f"tollbook ingest --server {self.url} a.log", done.err)
        self.run_tool("verify", "--db", "t.db")

    def test_no_server_is_status_3(self):
        self.stop()
        self.write("a.log", lines(0, 10))
        self.assertIn(self.url, self.remote("ingest", "a.log", status=3).err)

    def test_stats_prints_the_bytes_that_the_server_answers(self):
        self.write("c.json", '{"accounts":[{"id":1,"name":"acme"}],"zones":[{"id":101,"account":1,'
                             '"name":"video","type":"premium"}]}')
        self.remote("apply", "c.json")
        self.write("a.log", lines(0, 100))
        self.remote("ingest", "a.log")
        key = self.remote("key", "create", "--account", 1).out.strip()
        here = self.run_tool("stats", "--db", "t.db", "--account", 1, "--zone", 101, "--hourly")
        there = subprocess.run(
            ["curl", "-s", "--noproxy", "*", "-H", f"AccessKey: {key}",
             f"{self.url}/statistics?pullZone=101&hourly=true"], capture_output=True).stdout
        self.assertEqual(here.stdout, there + b"\n")
        self.assertEqual(json.loads(there)["TotalRequestsServed"], 100)


if __name__ == "__main__":
    unittest.main()
