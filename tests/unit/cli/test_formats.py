"""Logs of any server: the examples of docs/formats.md as they stand there, zones by host, what is unknown,
files one after another, and the same over HTTP."""
import json
import os
import re
import shlex
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tool import Case

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[3])
PAGE = (SOURCE / "docs" / "formats.md").read_text()
LATE = "2026-11-02T00:00:00Z"
CATALOG = {"accounts": [{"id": 1, "name": "acme", "currency": "USD"}],
           "zones": [{"id": 101, "account": 1, "name": "one", "type": "premium",
                      "created": "2026-01-05T00:00:00Z", "hostnames": ["a.example", "Shared.example"],
                      "settings": {"OriginUrl": "https://o.example"}},
                     {"id": 102, "account": 1, "name": "two", "type": "premium",
                      "created": "2026-01-05T00:00:00Z",
                      "hostnames": ["shared.example", {"Value": "cdn.Example"}],
                      "settings": {"OriginUrl": "https://o.example", "EnableLogging": True}}]}
NGINX = "nginx:$msec $status $bytes_sent $host \"$http_user_agent\""
S = 1793491605


def examples():
    """(the command's words without `tollbook ingest --db FILE`, whether it tells the cache status, the log)"""
    found = re.findall(r"```sh\n(tollbook ingest [^`]*)```\n(.*?)```\n(.*?)```", PAGE, re.S)
    return [(shlex.split(command.replace("\\$", "$"))[4:-1], "Cache status:" in between, log)
            for command, between, log in found]


def stats(words):
    """The counters of the buckets, a row for each zone and location."""
    return f"SELECT zone, region, {words} FROM buckets GROUP BY 1, 2 ORDER BY 1, 2"


class Formats(Case):
    def environment(self, now=LATE, key=None):
        return super().environment(now, key)

    def run_tool(self, *words, now=LATE, **more):
        return super().run_tool(*words, now=now, **more)

    def setUp(self):
        super().setUp()
        self.fresh("t.db")

    def fresh(self, name):
        if name != "t.db":
            self.init(name)
        self.run_tool("apply", "--db", name, "-", stdin=json.dumps(CATALOG).encode())

    def take(self, log, *words, db="t.db", status=0, name="a.log"):
        path = self.write(name, log)
        return self.run_tool("ingest", "--db", db, *words, path, status=status)

    def test_every_example_of_the_page_is_taken_as_it_says(self):
        self.assertGreaterEqual(len(examples()), 10)
        for number, (words, told, log) in enumerate(examples()):
            with self.subTest(words):
                db = f"{number}.db"
                self.fresh(db)
                self.assertIn(" 0 rejected", self.take(log, *words, db=db).err)
                self.assertEqual(
                    self.query("SELECT zone, region, hour, requests, bytes, cached_bytes, pulled, cache_known "
                               "FROM buckets", db),
                    [["102", "DE", "2026-11-01T00:00:00Z", "1", "110492", "110492" if told else "0", "0",
                      "1" if told else "0"]])
                self.run_tool("verify", "--db", db)
                self.assertIn("nothing new", self.take(log, *words, db=db).err)

    def test_a_description_that_is_too_long_is_refused(self):
        for text, said in (("$msec $status $bytes_sent $host" + " $request_time" * 100,
                            "The description is too long: at most 64 columns"),
                           ("$msec $status $bytes_sent $host " + "x" * 5000, "more than 2048 bytes")):
            self.assertIn(said, self.take("", "--format", f"nginx:{text}", status=2).err)

    def test_json_lines_of_more_fields_or_longer_ones_than_are_learned(self):
        """How a line looks is learned for the next one, but not of every line: it is read all the same."""
        more = [",".join(f'"f{i}":{i}' for i in range(500)), f'"long":"{"x" * 70000}"',
                f'"{"k" * 70000}":1']
        log = "".join(f'{{"t":{S},"h":"a.example",{other},"s":200,"b":{n}}}\n{{"t":{S},"h":"a.example","s":200,'
                      f'"b":{n}{tail}}}\n' for n, other in enumerate(more) for tail in ("", "," + other))
        self.take(log, "--format", "json", "--map", "time=t,host=h,status=s,bytes=b", "--region", "DE")
        self.assertEqual(self.query(stats("sum(requests), sum(bytes)")), [["101", "DE", "12", "12"]])

    def test_one_run_takes_the_log_of_many_hosts(self):
        log = "".join(f'{S} 200 {n} {host} "x"\n' for n, host in enumerate(
            ["a.example", "A.EXAMPLE:443", "cdn.example.", "one.b-cdn.net", "nobody.example", "shared.example",
             "b.example"], 1))
        said = self.take(log, "--format", NGINX).err
        self.assertIn("4 accepted, 3 rejected", said)
        self.assertIn('no pull zone has the hostname "nobody.example"', said)
        self.assertNotIn("Take them with", said)
        self.assertEqual(self.query(stats("sum(requests), sum(bytes)")),
                         [["101", "-", "3", "7"], ["102", "-", "1", "3"]])
        self.assertEqual(self.query("SELECT line, byte FROM reject ORDER BY 1"),
                         [["5", "18"], ["6", "18"], ["7", "18"]])

    def test_zone_and_region_count_for_all_lines(self):
        log = f'{S} 200 5 nobody.example "x"\n'
        self.take(log, "--format", NGINX, "--zone", "7", "--region", "NY")
        self.assertEqual(self.query(stats("sum(bytes)")), [["7", "NY", "5"]])
        self.take('192.0.2.1 - - [01/Nov/2026:00:06:45 +0000] "GET / HTTP/1.1" 200 3 "-" "x"\n',
                  "--format", "combined", "--zone", "8")
        self.assertEqual(self.query(stats("sum(bytes)"))[1:], [["8", "-", "3"]])

    def test_the_hit_rate_is_over_the_lines_that_told(self):
        self.take(f'{S} 200 5 a.example "x"\n' * 6, "--format", NGINX)
        self.take("".join(f"{cache}|200|{S}000|10|101|192.0.2.1|-|https://a/|DE|x|-|-\n"
                          for cache in ("HIT", "HIT", "HIT", "MISS")), name="b.log")
        got = json.loads(self.run_tool("stats", "--db", "t.db", "--account", "1", "--from", "2026-11-01", "--to",
                                       "2026-11-01").out)
        self.assertEqual((got["TotalRequestsServed"], got["CacheHitRate"]), (10, 75))
        self.assertEqual(self.query("SELECT sum(requests), sum(cache_known), sum(pulled), sum(cached_bytes), "
                                    "sum(balancer_requests) FROM buckets"), [["10", "4", "1", "30", "7"]])
        self.run_tool("import", "--db", "t.db", "-", stdin=(
            b'{"zone":101,"hour":"2026-11-01T01:00:00Z","region":"DE","requests":9,"cache_unknown":8}\n'))
        self.assertEqual(self.query("SELECT cache_known FROM buckets WHERE hour='2026-11-01T01:00:00Z'"), [["1"]])
        self.run_tool("verify", "--db", "t.db")

    def test_request_logs_are_kept(self):
        log = f'{S}.25 200 5 cdn.example "agent \\x22 x"\n'
        self.take(log, "--format", NGINX)
        self.assertEqual(self.query("SELECT zone, lines, first_ms FROM log_block"), [["102", "1", f"{S}250"]])

    def test_files_with_heads_of_their_own(self):
        first = ("#Version: 1.0\n#Fields: date time sc-status sc-bytes x-host-header\n"
                 "2026-11-01\t00:06:45\t200\t5\ta.example\n")
        second = ("#Version: 1.0\n#Fields: date time x-host-header sc-bytes sc-status x-edge-location\n"
                  "2026-11-01\t00:06:45\tcdn.example\t7\t200\tFRA60-P5\n")
        paths = [self.write("a.log", first), self.write("b.log", second), self.write("c.log", "#Version: 1.0\n")]
        said = self.run_tool("ingest", "--db", "t.db", "--format", "cloudfront", *paths).err
        self.assertIn("in all 7 lines: 7 accepted, 0 rejected", said)
        self.assertEqual(self.query(stats("sum(requests), sum(bytes)")),
                         [["101", "-", "1", "5"], ["102", "FRA", "1", "7"]])
        grown = first + "2026-11-01\t00:07:45\t200\t6\ta.example\n"
        said = self.take(grown + second, "--format", "cloudfront", status=2).err
        self.assertIn(f"Behind byte {len(grown) + 14} a head names other columns", said)
        self.assertIn("4 accepted, 0 rejected", self.take(grown + first, "--format", "cloudfront").err)
        self.run_tool("verify", "--db", "t.db")

    def test_a_map_takes_a_field_over_from_a_preset(self):
        log = '{"ts":%s.5,"request":{"host":"a.example"},"status":200,"size":7}\n' % S
        for words in ("caddy,zone=request.host", "zone=request.host,caddy"):
            self.assertIn("1 accepted, 0 rejected", self.take(log, "--format", "json", "--map", words).err)

    def test_a_head_further_on_that_names_as_many_other_columns(self):
        log = ("#Fields: date time sc-status sc-bytes x-host-header\n2026-11-01\t00:06:45\t200\t5\ta.example\n"
               "#Fields: date time sc-status cs-bytes x-host-header\n2026-11-01\t00:06:45\t200\t900\ta.example\n")
        self.take(log, "--format", "cloudfront", status=2)
        self.assertEqual(self.query(stats("sum(bytes)")), [])
        more = log.replace("cs-bytes x-host-header", "sc-bytes x-host-header cs-bytes")
        self.assertIn("4 accepted, 0 rejected", self.take(more, "--format", "cloudfront").err)
        self.assertEqual(self.query(stats("sum(bytes)")), [["101", "-", "905"]])

    def test_a_log_under_another_description_is_another_log(self):
        log = f'{S} 200 5 a.example "x"\n'
        self.take(log, "--format", "nginx:$msec|$status|$bytes_sent|$host", status=1)
        self.assertIn("1 accepted", self.take(log, "--format", NGINX).err)
        self.assertIn("nothing new", self.take(log, "--format", NGINX).err)
        self.assertIn("1 accepted", self.take(log + log, "--format", NGINX).err)

    def test_what_fits_is_named(self):
        for number, (words, _, log) in enumerate(examples()):
            named = {"vcombined": "--format vcombined", "cloudfront": "--format cloudfront",
                     "caddy": "--map caddy", "cloudflare": "--map cloudflare", "fastly": "--map fastly"}
            name = words[-1]
            lines = [line for line in log.splitlines(True) if not line.startswith("#")]
            if name not in named or (name == "cloudfront" and len(lines[0].split("\t")) != 33):
                continue
            self.assertIn(named[name], self.take("".join(lines), status=1, name=f"{number}.log").err)

    COMMON = '192.0.2.1 - - [01/Nov/2026:00:06:45 +0000] "GET / HTTP/1.1" 200 5'
    COMBINED = COMMON + ' "-" "M"'

    def anew(self):
        for file in self.folder.glob("advised.db*"):
            file.unlink()
        self.fresh("advised.db")

    def advised(self, log, *words):
        """The command that a run of refused lines names, as words; None: it names none."""
        said = self.take(log, *words, name="advised.log", db="advised.db", status=1).err
        found = re.search(r": (tollbook ingest --db advised.db .*) advised.log$", said, re.M)
        return shlex.split(found[1].replace("CODE", "DE").replace("--db advised.db ", "")) if found else None

    def test_no_advice_gives_the_lines_of_two_hosts_to_one_zone(self):
        """Virtual hosts in front, with a port and without, of both formats, and in the client's place."""
        for number, (front, line, by) in enumerate((
                ("{} ", self.COMBINED, "pipe"), ("{} ", self.COMBINED, "vcombined"), ("{} ", self.COMMON, "pipe"),
                ("{}:443 ", self.COMBINED, "pipe"), ("{} ", self.COMBINED.replace("192.0.2.1 -", "2001:db8::7 -"), "pipe"),
                ("{} ", self.COMBINED.replace("- - [", "- john doe ["), "pipe"))):
            with self.subTest(front=front, line=line, by=by):
                log = "".join(f"{front.format(host)}{line}\n" for host in ("a.example", "cdn.example"))
                self.anew()
                words = self.advised(log, "--format", by)[2:]
                self.assertNotIn("--zone", words)
                self.assertIn("2 accepted, 0 rejected", self.take(log, *words, name=f"{number}.log", db="advised.db").err)
                self.assertEqual(self.query("SELECT zone, requests FROM buckets ORDER BY 1", "advised.db"),
                                 [["101", "1"], ["102", "1"]])
        self.anew()
        self.assertIsNone(self.advised(f"a.example {self.COMMON[10:]}\n" * 3))
        for plain in (self.COMBINED, self.COMBINED.replace("- - [", "- john doe ["), self.COMMON,
                      self.COMBINED.replace("192.0.2.1", "2001:db8::7")):
            self.anew()
            self.assertIn("combined", self.advised(plain + "\n"))

    def test_combined_lines_with_a_host_in_front_are_a_warning(self):
        with_zone = ("--format", "combined", "--zone", "101")
        for number, (log, command) in enumerate((
                (f"a.example {self.COMBINED}\n", "--format 'apache:%v %h %l"), (f"a.example:443 {self.COMBINED}\n", "--format vcombined"),
                (f"a.example {self.COMMON}\n", "--format 'apache:%v %h %l"), (f"a.example {self.COMMON[10:]}\n", "--format 'apache:%v"))):
            said = self.take(log, *with_zone, name=f"{number}.log").err
            self.assertIn("1 accepted, 0 rejected", said)
            self.assertIn("warning: a host stands in front of its first line", said)
            self.assertIn(command, said)
        for number, log in enumerate((self.COMBINED, self.COMMON, self.COMBINED.replace("- - [", "- john doe ["),
                                      self.COMBINED.replace("192.0.2.1", "2001:db8::7"))):
            self.assertNotIn("warning", self.take(log + "\n", *with_zone, name=f"plain{number}.log").err)

    def test_a_zone_and_an_edge_location_that_cannot_be_billed_are_a_warning(self):
        zone = "warning: no catalogue declares pull zone 999: its usage belongs to no account"
        region = "no region has the edge location GERMANY: usage there has no price"
        for number, (words, said, unsaid) in enumerate(((("101", "DE"), (), (zone, region)), (("999", "DE"), (zone,), (region,)),
                                                        (("101", "GERMANY"), (region,), (zone,)),
                                                        (("999", "GERMANY"), (zone, region), ()))):
            log = self.COMBINED.replace(" 200 ", f" 20{number} ") + "\n"
            got = self.take(log, "--format", "combined", "--zone", words[0], "--region", words[1], name=f"{number}.log").err
            self.assertIn("1 accepted, 0 rejected", got)
            for text in said:
                self.assertEqual(got.count(text), 1, got)
            for text in unsaid:
                self.assertNotIn(text, got)

    def test_bad_options(self):
        for words, says in (
                (("--format", "xml"), '--format: "xml" is no format'),
                (("--format", "nginx:$msec $status $host"), "--format: The description has no column for the bytes"),
                (("--format", "nginx:$msec $"), "--format: At byte 7"),
                (("--format", "nginx:log_format main '$msec $status $bytes_sent $host"), "--format: The log_format directive is cut off"),
                (("--format", "apache:%t %Q"), "--format: %Q at byte 4 is no directive"),
                (("--format", "json"), "--map: JSON lines need a map"),
                (("--format", "json", "--map", "caddy,tine=x"), '--map: "tine" at byte 7'),
                (("--format", "json", "--map", "time=t,status=s,bytes=b.n,host=h,body=b.n"),
                 '--map: "b.n" at byte 39 of the map is named before'),
                (("--format", "json", "--map", "caddy,body=size"), "--map: The map does not say which field is the bytes"),
                (("--map", "caddy"), "--map: Only format json has a map"),
                (("--zone", "5"), "--zone: Pipe lines name"),
                (("--region", "DE"), "--region: Pipe lines name"),
                (("--format", "combined"), "--zone: Combined lines have no zone"),
                (("--format", NGINX, "--region", "D E"), "--region: region must be 1 to 16"),
                (("--format", "nginx:$msec $status $bytes_sent"), "--zone: The lines have neither")):
            with self.subTest(words):
                self.assertIn(says, self.take("x\n", *words, status=2).err)


class Remote(Formats):
    """The same through a server, in pieces of a log and in a body of its own."""

    def setUp(self):
        super().setUp()
        key = self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role", "Operator")
        self.key = key.out.strip()
        port = self.folder / "port"
        self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file", "port", "--threads", 2)
        self.wait_for(lambda: port.exists() and port.read_text().strip())
        self.url = f"http://127.0.0.1:{port.read_text().strip()}"

    def take(self, log, *words, db="t.db", status=0, name="a.log"):
        if db != "t.db":
            return super().take(log, *words, db=db, status=status, name=name)
        return self.run_tool("ingest", "--server", self.url, "--key", self.key, *words, self.write(name, log),
                             status=status)

    def post(self, log, **parameters):
        query = urllib.parse.urlencode(parameters)
        request = urllib.request.Request(f"{self.url}/ingest/logs?{query}", data=log.encode(),
                                         headers={"AccessKey": self.key})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def test_every_example_of_the_page_is_taken_as_it_says(self):
        for words, told, log in examples():
            options = dict(zip((word[2:] for word in words[::2]), words[1::2]))
            lines = len(log.splitlines())
            with self.subTest(words):
                code, answer = self.post(log, **options)
                self.assertEqual((code, answer["lines"], answer["rejected"]), (200, lines, 0), answer)
                self.assertIn("nothing new", self.take(log, *words).err)  # pieces are of the same log
                known = self.query("SELECT sum(cache_known) FROM buckets")[0]
                grown = self.take(log + log.splitlines(True)[-1], *words).err
                self.assertIn("1 line: 1 accepted", grown)
                self.assertTrue(self.post(log, **options)[1]["duplicate"])
                self.assertEqual(int(self.query("SELECT sum(cache_known) FROM buckets")[0][0]),
                                 int(known[0]) + told)
        self.assertEqual(self.query("SELECT sum(requests) FROM buckets"), [[str(2 * len(examples()))]])

    def test_the_hit_rate_is_over_the_lines_that_told(self):
        """Locally alone: it imports beside."""

    def test_files_with_heads_of_their_own(self):
        first = ("#Version: 1.0\n#Fields: date time sc-status sc-bytes x-host-header\n"
                 "2026-11-01\t00:06:45\t200\t5\ta.example\n")
        self.assertIn("3 accepted", self.take(first, "--format", "cloudfront").err)
        self.assertIn("1 accepted", self.take(first + "2026-11-01\t00:07:45\t200\t6\ta.example\n", "--format",
                                              "cloudfront").err)
        self.assertEqual(self.query(stats("sum(requests), sum(bytes)")), [["101", "-", "2", "11"]])

    def test_bad_options(self):
        for options, field, says in (
                ({"format": "xml"}, "format", "is no format"), ({"format": "nginx:$msec"}, "format", "status"),
                ({"format": "json"}, "map", "need a map"), ({"map": "caddy"}, "map", "Only format json"),
                ({"format": "json", "map": "x"}, "map", '"x" at byte 1'),
                ({"format": "json", "map": "time=t,status=s,bytes=b"}, "zone", "neither"),
                ({"format": NGINX, "region": "D E"}, "region", "1 to 16")):
            with self.subTest(options):
                code, answer = self.post("x\n", **options)
                self.assertEqual(code, 400)
                self.assertIn(field, json.dumps(answer))
                self.assertIn(says, json.dumps(answer).replace('\\"', '"'))


if __name__ == "__main__":
    unittest.main()
