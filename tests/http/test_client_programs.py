"""Published clients of the API that tollbook's is built after, unchanged: each of their reading calls against a server, and
what the client made of the answer against tollbook's own answer.

They come from npm (tests/lint/package.json). Their addresses are fixed, so each runs as behind a name server of the
operator's: names.cjs turns every name to a TLS proxy on this machine, whose certificate the client checks.
"""
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import unittest
from datetime import datetime
from pathlib import Path

from harness import CATALOG, PATIENCE, SOURCE, Server, run

MODULES = Path(os.environ.get("TB_LINT") or SOURCE / "build/lint") / "node_modules"
HERE = Path(__file__).resolve().parent / "clients"
NAMES = ("api.bunny.net", "logging.bunnycdn.com", "cdn-origin-logging.bunny.net")

# Each reading call of bunny-sdk with its query, and the address of tollbook's own answer; None where tollbook has nothing.
HOURLY = {"dateFrom": "2026-11-03T00:00:00Z", "dateTo": "2026-11-03T23:00:00Z", "hourly": True}
SPAN = "dateFrom=2026-11-03T00:00:00Z&dateTo=2026-11-03T23:00:00Z&hourly=true"
ZONE = "api.pullzone.byId(101)"
DAY_LOG = "logging.withMmWithDdWithYy(03,11,26).withPullZoneIdLog(101)"
SEARCH = {"page": 1, "perPage": 5, "search": "video", "includeCertificate": True}
ERRORS = {**HOURLY, "pullZone": 101, "loadErrors": True}
SDK = [
    ("api.pullzone", {"page": 1}, "/pullzone?page=1"),
    ("api.pullzone", SEARCH, "/pullzone?page=1&perPage=5&search=video&includeCertificate=true"),
    (ZONE, {}, "/pullzone/101"),
    (ZONE, {"includeCertificate": True}, "/pullzone/101?includeCertificate=true"),
    ("api.pullzone.byId(102)", {}, "/pullzone/102"),
    (ZONE + ".optimizer.statistics", {}, "/pullzone/101/optimizer/statistics"),
    (ZONE + ".optimizer.statistics", HOURLY, "/pullzone/101/optimizer/statistics?" + SPAN),
    (ZONE + ".originshield.queuestatistics", {}, "/pullzone/101/originshield/queuestatistics"),
    (ZONE + ".safehop.statistics", {}, "/pullzone/101/safehop/statistics"),
    (ZONE + ".waf.statistics", {}, None),
    ("api.statistics", {}, "/statistics"),
    ("api.statistics", ERRORS, f"/statistics?{SPAN}&pullZone=101&loadErrors=true"),
    ("api.statistics", {"serverZoneId": 1}, "/statistics?serverZoneId=1"),
    ("api.user", {}, "/user"),
    ("api.apikey", {}, "/apikey"),
    ("api.apikey", {"page": 1, "perPage": 5}, "/apikey?page=1&perPage=5"),
    ("api.country", {}, "/country"),
    ("api.region", {}, "/region"),
    ("api.dnszone", {}, "/dnszone"),
    ("api.dnszone.byId(1)", {}, None),
    ("api.dnszone.byId(1).exportEscaped", {}, None),
    ("api.dnszone.byId(1).statistics", {}, None),
    ("api.storagezone", {"page": 1}, "/storagezone?page=1"),
    ("api.storagezone.byId(1)", {}, None),
    ("api.storagezone.byId(1).connections", {}, None),
    ("api.storagezone.byId(1).statistics", {}, None),
    ("api.videolibrary", {"page": 1}, "/videolibrary?page=1"),
    ("api.videolibrary.byId(1)", {}, None),
    ("api.videolibrary.languages", {}, None),
    ("api.search", {"search": "acme"}, "/search?search=acme"),
    ("api.billing.affiliate", {}, "/billing/affiliate"),
    ("api.abusecase", {}, "/abusecase"),
    ("api.abusecase.byId(1)", {}, None),
    ("api.dmca.byId(1)", {}, None),
    ("api.compute.script", {}, "/compute/script"),
    ("api.compute.script.byId(1)", {}, None),
    ("api.compute.script.byId(1).code", {}, None),
    ("api.compute.script.byId(1).releases", {}, None),
    ("api.compute.script.byId(1).variables.byVariableId(1)", {}, None),
    ("api.integration.github", {}, None),
    ("api.pullzone.loadFreeCertificate", {"hostname": "x.example"}, None),
    ("api.purge", {"url": "https://acme-video.b-cdn.net/x"}, None),
    ("api.shield.shieldZones", {}, "/shield/shield-zones"),
    ("api.shield.shieldZones", {"page": 2, "perPage": 1}, "/shield/shield-zones?page=2&perPage=1"),
    ("api.shield.shieldZone.byShieldZoneId(42)", {}, "/shield/shield-zone/42"),
    ("api.shield.shieldZone.getByPullzone.byPullZoneId(101)", {}, "/shield/shield-zone/get-by-pullzone/101"),
    ("api.shield.metrics.waf.blocked.byShieldZoneId(42)", {}, None),
    ("api.shield.metrics.waf.logged.byShieldZoneId(42)", {}, None),
    ("api.shield.metrics.waf.processed.byShieldZoneId(42)", {}, None),
    ("api.shield.metrics.waf.triggered.byShieldZoneId(42)", {}, None),
    ("api.shield.rateLimit.byId(1)", {}, None),
    ("api.shield.rateLimits.byShieldZoneId(42)", {}, None),
    ("api.shield.waf.customRule.byId(1)", {}, None),
    ("api.shield.waf.customRules.byShieldZoneId(42)", {}, None),
    ("api.shield.waf.engineConfig", {}, None),
    ("api.shield.waf.enums", {}, None),
    ("api.shield.waf.profiles", {}, None),
    ("api.shield.waf.rules", {}, None),
    (DAY_LOG, {"order": "asc"}, "/11-03-26/101.log?order=asc"),
    (DAY_LOG, {"start": 1, "end": 3, "status": "5xx", "search": "z"}, "/11-03-26/101.log?start=1&end=3&status=5xx&search=z"),
]
BARE = ("api.pullzone", "api.storagezone", "api.videolibrary")  # whose lists need a page

# The same for each reading tool of bunnycdn-mcp.
DAY = {"date_from": "2026-11-03", "date_to": "2026-11-03"}
MCP = [
    ("bunny_get_account", {}, "/user"),
    ("bunny_get_billing_summary", {}, "/billing"),
    ("bunny_get_statistics", {}, "/statistics"),
    ("bunny_get_statistics", {**DAY, "pull_zone": 101, "server_zone_id": 1, "hourly": True},
     "/statistics?dateFrom=2026-11-03&dateTo=2026-11-03&pullZone=101&serverZoneId=1&hourly=true"),
    ("bunny_global_search", {"query": "acme"}, "/search?search=acme"),
    ("bunny_list_regions", {}, "/region"),
    ("bunny_list_countries", {}, "/country"),
    ("bunny_list_pull_zones", {}, "/pullzone"),
    ("bunny_list_pull_zones", {"search": "video"}, "/pullzone?search=video"),
    ("bunny_list_pull_zones", {"page": 1, "per_page": 5, "search": "static", "include_certificate": True},
     "/pullzone?page=1&perPage=5&search=static&includeCertificate=true"),
    ("bunny_get_pull_zone", {"id": 101}, "/pullzone/101"),
    ("bunny_list_dns_zones", {"page": 1, "search": "x"}, "/dnszone"),
    ("bunny_get_dns_zone", {"id": 1}, None),
    ("bunny_get_dns_statistics", {"id": 1}, None),
    ("bunny_list_storage_zones", {"include_deleted": True}, "/storagezone"),
    ("bunny_get_storage_zone", {"id": 1}, None),
    ("bunny_get_storage_zone_statistics", {"id": 1}, None),
    ("bunny_list_video_libraries", {"include_access_key": True}, "/videolibrary"),
    ("bunny_get_video_library", {"id": 1}, None),
    ("bunny_list_edge_scripts", {}, "/compute/script"),
    ("bunny_get_edge_script", {"id": 1}, None),
    ("bunny_get_edge_script_code", {"id": 1}, None),
    ("bunny_list_shield_zones", {}, "/shield/shield-zones"),
    ("bunny_get_shield_zone", {"shield_zone_id": 42}, "/shield/shield-zone/42"),
    ("bunny_get_shield_zone", {"pull_zone_id": 101}, "/shield/shield-zone/get-by-pullzone/101"),
    ("bunny_get_waf_rules", {"shield_zone_id": 42}, None),
    ("bunny_list_rate_limit_rules", {"shield_zone_id": 42}, None),
    ("bunny_get_shield_metrics", {"shield_zone_id": 42}, "/shield/metrics/overview/42"),
    ("bunny_list_mc_apps", {}, "/mc/apps"),
    ("bunny_get_mc_app", {"id": "shop"}, "/mc/apps/shop"),
    ("bunny_get_mc_app_overview", {"id": "shop"}, None),
    ("bunny_get_mc_app_statistics", {"id": "shop"}, None),
    ("bunny_list_mc_registries", {}, "/mc/registries"),
    ("bunny_list_mc_regions", {}, None),
    ("bunny_get_origin_errors", {"pull_zone_id": 101, "date": "11-03-2026"}, "/101/11-03-2026"),
]

NOW_MS = 1793782800000  # the harness's clock
HOOK = """#!/bin/sh
printf '%s|' "$@" >>"$(dirname "$0")/purged"; echo >>"$(dirname "$0")/purged"
"""
# What bunny-sdk cannot read as tollbook's specification has it: this id is a number in the client, and it knows of the types
# of what was found only those of the deployed service (cdn, storage, dns, script, stream).
MISREAD = re.compile(r".*\.MagicContainersEndpointId|\.SearchResults\[\d+\]\.Type")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")


class Proxy:
    """TLS in front of a server, under the names of the deployed one."""

    def __init__(self, port, folder):
        self.port, self.certificate = port, folder / "names.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "36500", "-subj", "/CN=x", "-keyout", folder / "names.key", "-out", self.certificate,
                        "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in NAMES)],
                       check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, folder / "names.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):  # until it is closed
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, outside):
        with contextlib.suppress(OSError):
            outside = self.context.wrap_socket(outside, server_side=True)
            with outside, socket.create_connection(("127.0.0.1", self.port)) as inside:
                back = threading.Thread(target=self.carry, args=(inside, outside), daemon=True)
                back.start()
                self.carry(outside, inside)
                back.join()

    @staticmethod
    def carry(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    def environment(self, **more):
        return {**os.environ, "TB_TLS_PORT": str(self.listener.getsockname()[1]), "TZ": "UTC",
                "NODE_EXTRA_CA_CERTS": str(self.certificate), "NODE_OPTIONS": f"--require={HERE / 'names.cjs'}", **more}

    def close(self):
        self.listener.close()


def name_in_client(field):
    """What bunny-sdk calls a field: its first letter small, underscores left out."""
    return field[:1].lower() + field[1:].replace("_", "")


def differences(own, read, at=""):
    """Where a value that bunny-sdk parsed is another than tollbook's own. The client leaves out what is null, and its
    dates are objects with milliseconds; fields that it does not know keep their names."""
    if isinstance(own, dict) and isinstance(read, dict):
        known = {field: name_in_client(field) if name_in_client(field) in read else field for field in own}
        strange = [f"{at}.{name}: only the client has it" for name in read.keys() - known.values()]
        return strange + [text for field, value in own.items()
                          for text in differences(value, read.get(known[field]), f"{at}.{field}")]
    if isinstance(own, list) and isinstance(read, list) and len(own) == len(read):
        return [text for i, pair in enumerate(zip(own, read)) for text in differences(*pair, f"{at}[{i}]")]
    if isinstance(own, str) and isinstance(read, str) and MOMENT.fullmatch(own) and MOMENT.fullmatch(read):
        own, read = (datetime.fromisoformat(text).replace(tzinfo=None) for text in (own, read))
    return [] if own == read and isinstance(own, bool) == isinstance(read, bool) else [f"{at}: {own!r} became {read!r}"]


def every_setting():
    """Each setting of a pull zone with the example of docs/pull-zone.md."""
    rows = re.findall(r"^\| \d+ \| `(\w+)` \|.*\| `([^|]+)` \|$", (SOURCE / "docs/pull-zone.md").read_text(), re.M)
    return {field: json.loads(example) for field, example in rows}


def setUpModule():
    for package in ("bunny-sdk", "bunnycdn-mcp"):
        if not (MODULES / package).is_dir():
            why = MODULES.parent / "why"
            raise unittest.SkipTest(why.read_text().strip() if why.exists() else
                                    f"{package} is not installed (tests/run installs it)")
    server = Programs.server = Server()
    server.stop()
    catalog = json.loads(json.dumps(CATALOG))
    catalog["zones"][0]["hostnames"] = ["video.acme.example"]
    catalog["zones"][1]["settings"] = every_setting()
    catalog["shield_zones"] = [{"id": 42, "account": 1, "zone": 101, "name": "acme"}, {"id": 43, "account": 1}]
    catalog["container_apps"] = [{"id": "shop", "account": 1, "name": "shop", "description": "sells", "status": "active"}]
    catalog["registries"] = [{"id": "77", "account": 1, "url": "https://own.example:5000", "username": "u", "secret": "s"}]
    run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
    events = [{"shield_zone": 42, "timestamp": NOW_MS - i * 1000, "logId": f"e{i}", "log": "x", "ip": "192.0.2.1",
               "feature": feature, "action": action, "ruleId": "941"}
              for i, (feature, action) in enumerate([("waf", "block"), ("waf", "log"), ("rateLimit", "block")])]
    run("import", "--db", server.db, "-", stdin="".join(json.dumps(event) + "\n" for event in events).encode())
    hook = server.path / "hook"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    server.start("--purge-hook", hook)
    Programs.proxy = Proxy(server.port, server.path)


def tearDownModule():
    Programs.proxy.close()
    Programs.server.close()


class Programs(unittest.TestCase):
    server = proxy = None

    def own(self, address):
        answer = self.server.get(address)
        self.assertEqual(answer.status, 200, address)
        return answer.body.decode() if ".log" in address else answer.json()


class Sdk(Programs):
    """bunny-sdk: TypeScript, generated by Kiota from the API's description."""

    @classmethod
    def setUpClass(cls):
        rows = [row[:2] for row in SDK] + [(path, {}) for path in BARE]
        done = subprocess.run(["node", HERE / "sdk.mjs", MODULES, cls.server.keys["user"]], capture_output=True, check=False,
                              input=json.dumps([{"path": path, "query": query} for path, query in rows]).encode(),
                              env=cls.proxy.environment(), timeout=PATIENCE)
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        said = json.loads(done.stdout)
        cls.reads = said["reads"]
        cls.answers = {(path, str(query)): answer for (path, query), answer in zip(rows, said["answers"])}

    def answer(self, path, query):
        return self.answers[path, str(query)]

    def test_it_reads_what_tollbook_has(self):
        self.assertEqual(sorted({re.sub(r"\([^)]*\)", "", row[0]) for row in SDK}), sorted(self.reads))
        for path, query, address in SDK:
            with self.subTest(path=path, query=query):
                answer = self.answer(path, query)
                if address is None:
                    self.assertIn(answer.get("error"), (404, 405))
                else:
                    self.assertIn("value", answer)
                    found = differences(self.own(address), answer["value"])
                    self.assertEqual([text for text in found if not MISREAD.match(text)], [])

    def test_lists_need_a_page(self):
        """Without `page` the answer is the bare list of the API's description, which Kiota reads as no items."""
        for path in BARE:
            self.assertNotIn("items", self.answer(path, {})["value"], path)
            self.assertIn("items", self.answer(path, {"page": 1})["value"], path)

    def test_its_figures(self):
        found, zone, total, log = (self.answer(*row)["value"] for row in (
            ("api.pullzone", SEARCH), (ZONE, {}), ("api.statistics", ERRORS), (DAY_LOG, {"order": "asc"})))
        self.assertEqual([item["name"] for item in found["items"]], ["acme-video"])
        self.assertEqual([host["value"] for host in zone["hostnames"]], ["acme-video.b-cdn.net", "video.acme.example"])
        self.assertEqual((total["totalRequestsServed"], total["totalBandwidthUsed"]), (40, 40780))
        self.assertEqual([total[f"error{n}xxChart"]["2026-11-03T12:00:00Z"] for n in (3, 4, 5)], [10, 10, 10])
        self.assertEqual([line.split("|")[3] for line in log.splitlines()], [str(1000 + i) for i in range(40)])


class Mcp(Programs):
    """bunnycdn-mcp: an MCP server, asked over its standard input. Its answers are the API's, written as text."""

    def setUp(self):
        self.program = subprocess.Popen(
            ["node", MODULES / "bunnycdn-mcp/index.js"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=self.proxy.environment(BUNNY_API_KEY=self.server.keys["user"]))
        self.asked = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        self.tell("notifications/initialized")

    def tearDown(self):
        self.program.stdin.close()
        self.program.stdout.close()
        self.program.terminate()
        self.program.wait(PATIENCE)

    def tell(self, method, **rest):
        self.program.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **rest}).encode() + b"\n")
        self.program.stdin.flush()

    def ask(self, method, **params):
        self.asked += 1
        self.tell(method, id=self.asked, params=params)
        said = json.loads(self.program.stdout.readline())
        self.assertEqual(said["id"], self.asked)
        return said["result"]

    def call(self, tool, **arguments):
        said = self.ask("tools/call", name=tool, arguments=arguments)
        return said.get("isError", False), said["content"][0]["text"]

    def test_its_tools_read_what_tollbook_has(self):
        tools = self.ask("tools/list")["tools"]
        self.assertEqual(len(tools), 54)
        self.assertEqual({row[0] for row in MCP}, {tool["name"] for tool in tools if tool["annotations"]["readOnlyHint"]})
        for tool, arguments, address in MCP:
            with self.subTest(tool=tool, arguments=arguments):
                failed, text = self.call(tool, **arguments)
                if address is None:
                    self.assertTrue(failed)
                    self.assertIn("404", text)
                else:
                    self.assertFalse(failed, text)
                    self.assertEqual(json.loads(text), self.own(address))

    def test_its_figures(self):
        overview = json.loads(self.call("bunny_get_shield_metrics", shield_zone_id=42)[1])["data"]["overview"]
        self.assertEqual((overview["wafTriggeredRules"], overview["ratelimitBreaches"]), (2, 1))
        errors = json.loads(self.call("bunny_get_origin_errors", pull_zone_id=101, date="11-03-2026")[1])
        self.assertEqual([log["labels"]["StatusCode"] for log in errors["logs"]], 3 * ["503"])
        total = json.loads(self.call("bunny_get_statistics", **DAY, pull_zone=101)[1])
        self.assertEqual((total["TotalRequestsServed"], total["TotalBandwidthUsed"]), (40, 40780))

    def test_its_tools_purge(self):
        self.assertEqual(self.call("bunny_purge_pull_zone_cache", id=101)[0], False)
        self.assertEqual(self.call("bunny_purge_url", url="https://video.acme.example/a.js")[0], False)
        calls = (self.server.path / "purged").read_text().splitlines()
        self.assertEqual([line.split("|")[:4] for line in calls],
                         [["1", "101", "all", ""], ["1", "101", "url", "https://video.acme.example/a.js"]])


if __name__ == "__main__":
    unittest.main()
