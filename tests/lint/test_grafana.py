#!/usr/bin/env python3
"""docs/grafana: each dashboard has the form that Grafana publishes (@grafana/schema, which tests/run installs from npm; in the long
form), each expression of PromQL in it has a series with the labels that the panel shows, asked of a real Prometheus that scrapes a
running server by the jobs of docs/watching.md, and each request through Infinity has the columns that the panel shows. Usage
servers' expressions are asked in the long form, where ClickHouse is installed."""
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request
from datetime import datetime
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "http"))
from clickhouse import PROGRAM, ClickHouse  # noqa: E402
from harness import ENVIRONMENT, PATIENCE, SOURCE, TOLLBOOK, Server, hit, run  # noqa: E402
from script import LONG  # noqa: E402
from test_billing import BOOK  # noqa: E402

FOLDER = SOURCE / "docs/grafana"
PAGE = SOURCE / "docs/watching.md"
BOARDS = {path.name: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
INFINITY = "yesoreyeram-infinity-datasource"
# What Grafana puts for its variables; those of a dashboard as where all is chosen.
PUT = {"__rate_interval": "1m", "job": {"server.json": "tollbook", "account.json": "tollbook-account"},
       "instance": {"server.json": ".+", "account.json": "acme"}, "zone": {"server.json": "", "account.json": ".+", "customer.json": "-1"},
       "by": "hour", "__from:date:iso": "2026-10-28T09:00:00.000Z", "__to:date:iso": "2026-11-04T09:00:00.000Z"}


def filled(text, board):
    def value(match):
        put = PUT[match[1] or match[2]]
        return put if isinstance(put, str) else put[board]
    return re.sub(r"\$(?:\{([\w:]+)\}|(\w+))", value, text)


def panels(board):
    return [panel for panel in BOARDS[board]["panels"] if panel["type"] != "row"]


def variables(board):
    return BOARDS[board]["templating"]["list"][1:]


def kind(board):
    return BOARDS[board]["templating"]["list"][0]["query"]


def of_kind(plugin):
    return [board for board in BOARDS if kind(board) == plugin]


class Form(unittest.TestCase):
    def test_what_an_import_asks_for_is_what_panels_use(self):
        self.assertEqual(list(BOARDS), ["account.json", "customer.json", "server.json"])
        for name, board in BOARDS.items():
            source, = board["__inputs"]
            first = board["templating"]["list"][0]
            self.assertEqual((first["type"], first["query"]), ("datasource", source["pluginId"]))
            self.assertEqual(first["current"], {"text": f"${{{source['name']}}}", "value": f"${{{source['name']}}}"})
            asked = {(one["type"], one["id"]) for one in board["__requires"]}
            used = {("panel", panel["type"]) for panel in panels(name)} | {("grafana", "grafana"), ("datasource", source["pluginId"])}
            self.assertEqual(asked, used, name)
            for thing in (*panels(name), *(of for of in variables(name) if of["type"] == "query")):
                for of in (thing, *thing.get("targets", ())):
                    self.assertEqual(of["datasource"], {"type": source["pluginId"], "uid": "${datasource}"})

    def test_each_panel_has_a_place_a_title_and_a_description(self):
        self.assertEqual(len({board["uid"] for board in BOARDS.values()}), len(BOARDS))
        for name, board in BOARDS.items():
            places, ids = set(), [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(ids), len(set(ids)))
            for panel in board["panels"]:
                self.assertTrue(panel["title"], name)
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(places & cells, (name, panel["title"]))
                self.assertLessEqual(at["x"] + at["w"], 24)
                places |= cells
            for panel in panels(name):
                self.assertTrue(panel["description"].endswith("."), (name, panel["title"]))
                self.assertEqual([target["refId"] for target in panel["targets"]],
                                 [chr(65 + i) for i in range(len(panel["targets"]))])

    def test_they_have_grafanas_form(self):
        if not LONG:
            return
        here = Path("build/lint")
        compiler = SOURCE / here / "node_modules/typescript/bin/tsc"
        if not compiler.exists():
            why = SOURCE / here / "why"
            self.skipTest(why.read_text().strip() if why.exists() else "the linter is not installed (tests/run installs it)")
        with tempfile.TemporaryDirectory(dir=SOURCE / here) as folder:
            (Path(folder) / "boards.ts").write_text(in_typescript())
            (Path(folder) / "tsconfig.json").write_text(json.dumps({"files": ["boards.ts"], "compilerOptions": {
                "strict": True, "noEmit": True, "skipLibCheck": True, "moduleResolution": "bundler", "module": "esnext",
                "target": "es2022", "types": []}}))
            done = subprocess.run(["node", compiler, "--project", folder], capture_output=True, text=True, check=False,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stdout[:2000] + done.stderr)


def in_typescript():
    """The dashboards as values of the published types, of which text stands for enumerations."""
    options = {"stat": "Stat", "table": "Table", "timeseries": "TimeSeries"}
    lines = ["import type {Dashboard} from '@grafana/schema';"]
    lines += [f"import type * as {of} from '@grafana/schema/dist/esm/raw/composable/{of}/panelcfg/x/{word}PanelCfg_types.gen';"
              for of, word in options.items()]
    lines.append("type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T\n"
                 "  : T extends (infer U)[] ? Plain<U>[] : T extends object ? {[K in keyof T]: Plain<T[K]>} : T;")
    for name, board in BOARDS.items():
        word = Path(name).stem
        shown = {key: value for key, value in board.items() if not key.startswith("__")}
        lines.append(f"export const {word}: Plain<Dashboard> = {json.dumps(shown)};")
        for panel in panels(name):
            lines.append(f"export const {word}{panel['id']}: Plain<{panel['type']}.Options> = {json.dumps(panel['options'])};")
            if panel["type"] == "timeseries":
                custom = json.dumps(panel["fieldConfig"]["defaults"].get("custom", {}))
                lines.append(f"export const {word}{panel['id']}c: Plain<timeseries.FieldConfig> = {custom};")
    return "\n".join(lines) + "\n"


class Figures(http.server.BaseHTTPRequestHandler):
    """What node_exporter does with the file of `follow --metrics`."""

    def do_GET(self):
        body = self.server.file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Prometheus:
    def __init__(self, folder, jobs):
        config = folder / "prometheus.yml"
        config.write_text(yaml.safe_dump({"global": {"scrape_interval": "200ms"}, "scrape_configs": jobs}))
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", "--web.listen-address=127.0.0.1:0"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        said, self.address, ready = [], None, False
        while not (ready and self.address):  # it says these two in either order
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError("".join(said))
            said.append(line)
            ready = ready or "ready to receive" in line
            found = re.search(r'msg="Listening on" address=(\S+)', line)
            if found:
                self.address = found[1]
        self.reader = threading.Thread(target=self.process.stderr.read)
        self.reader.start()

    def ask(self, expr):
        """[(labels, value)] of now."""
        with urllib.request.urlopen(f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expr}),
                                    timeout=PATIENCE) as answer:
            data = json.load(answer)["data"]
        return [(one["metric"], one["value"][1]) for one in data["result"]]

    def wait(self, expr, why):
        """Until it has a series: one is gone for a moment where an answer took longer than the interval. Returns the series."""
        end = time.monotonic() + PATIENCE
        while not (series := self.ask(expr)):
            if time.monotonic() > end:
                raise AssertionError(f"{why}: {self.ask('up')} {self.ask('scrape_samples_scraped')}")
            time.sleep(0.02)
        return series

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stderr.close()


def jobs_of_the_page():
    blocks = re.findall(r"^ *```yaml\n(.*?)^ *```$", PAGE.read_text(), re.M | re.S)
    return [job for block in blocks for job in yaml.safe_load(block).get("scrape_configs", [])]


class Answers(unittest.TestCase):
    """One server, with all that the dashboards show."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)
        secret = cls.path / "secret"
        secret.touch(0o600)
        secret.write_text("whsec_" + 40 * "A")
        options = ["--alert-url", "http://127.0.0.1:1/", "--alert-secret-file", secret]
        cls.usage = LONG and PROGRAM
        if cls.usage:
            shard = ClickHouse()
            cls.addClassCleanup(shard.close)
            options += ["--usage", f"clickhouse://127.0.0.1:{shard.port}/boards"]
        cls.server = Server(*options, log=None)
        cls.addClassCleanup(cls.stop)
        roles = {"Account": 1, "Roles": ["SubuserStatistics", "SubuserBilling"]}  # as the page says
        cls.server.keys["watcher"] = cls.server.ask("POST", "/keys", "operator", json.dumps(roles).encode()).json()["Key"]
        for name in ("operator", "watcher", "ingest"):
            file = cls.path / name
            file.touch(0o600)
            file.write_text(cls.server.keys[name])
        cls.server.ask("POST", "/books", "operator", json.dumps(BOOK).encode())
        cls.send(*(hit(zone, i, status=(200, 404, 503)[i % 3], edge=("DE", "NY")[i % 2]) for zone in (101, 102) for i in range(60)))
        log = cls.path / "log"
        log.write_bytes(hit(101, 1234))
        subprocess.run([TOLLBOOK, "follow", "--once", "--server", cls.server.url, "--key-file", cls.path / "ingest",
                        "--metrics", cls.path / "figures", log], env=ENVIRONMENT, check=True, timeout=PATIENCE, capture_output=True)
        run("invoice", "--server", cls.server.url, "--key-file", cls.path / "operator", "--month", "2026-10", "--finalize", expect=None)
        if not cls.usage:
            run("backup", "--db", cls.server.db, "--to", cls.path / "copy.db")
        run("verify", "--server", cls.server.url, "--key-file", cls.path / "operator")

    @classmethod
    def stop(cls):
        cls.server.stop()
        cls.server.folder.cleanup()

    @classmethod
    def send(cls, *lines):
        answer = cls.server.ask("POST", "/ingest/logs", "ingest", b"".join(lines), Content_Type="text/plain")
        assert answer.status == 200, answer.body

    # --- Prometheus ---

    def jobs(self):
        keys = {"tollbook": "operator", "tollbook-account": "watcher"}
        jobs = jobs_of_the_page()
        self.assertEqual([job["job_name"] for job in jobs], list(keys))
        for job in jobs:
            job.pop("scheme", None)
            job["scrape_interval"] = "200ms"
            job["authorization"]["credentials_file"] = str(self.path / keys[job["job_name"]])
            job["static_configs"][0]["targets"] = [f"127.0.0.1:{self.server.port}"]
        figures = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Figures)
        figures.file = self.path / "figures"
        threading.Thread(target=figures.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(figures.server_close)
        self.addCleanup(figures.shutdown)
        return jobs + [{"job_name": "node", "static_configs": [{"targets": [f"127.0.0.1:{figures.server_address[1]}"]}]}]

    def test_every_expression_has_the_series_that_its_panel_shows(self):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed (tests/dependencies test)")
        jobs = self.jobs()
        prometheus = Prometheus(self.path, jobs)
        self.addCleanup(prometheus.close)
        for job in jobs:
            prometheus.wait(f'count_over_time(up{{job="{job["job_name"]}"}}[1m]) > 3 and up == 1', "Prometheus reads " + job["job_name"])
        self.send(*(hit(101, 3000 + i, status=503) for i in range(30)))  # so that something moves
        moved = 'clamp_min(deriv(tollbook_account_zone_month_requests{zone="101"}[1m]), 0)'
        prometheus.wait(f"{moved} > 0", "requests rise")
        for board in of_kind("prometheus"):
            for variable in variables(board):
                self.variable_has_values(prometheus, board, variable)
            for panel in panels(board):
                for target in panel["targets"]:
                    self.target_has_series(prometheus, board, panel, target)

    def target_has_series(self, prometheus, board, panel, target):
        what = (board, panel["title"], target["expr"])
        if "tollbook_usage_" in target["expr"] and not self.usage or "last_(backup" in target["expr"] and self.usage:
            return
        series = prometheus.wait(filled(target["expr"], board), what)
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        for step in panel.get("transformations", ()) if panel["type"] == "table" else ():
            shown |= {name for name in step["options"].get("renameByName", ()) if not name.startswith("Value")}
        for labels, _ in series:
            self.assertLessEqual(shown, labels.keys(), what)
        if panel["type"] != "table" and target["legendFormat"] != "__auto":
            legends = [re.sub(r"\{\{(\w+)\}\}", lambda m, of=labels: of[m[1]], target["legendFormat"]) for labels, _ in series]
            self.assertEqual(len(legends), len(set(legends)), what)  # no two lines of one name

    def variable_has_values(self, prometheus, board, variable):
        query = filled(variable["query"]["query"], board)
        label = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
        if label:
            self.assertTrue([one for one, _ in prometheus.wait(label[1], query) if label[2] in one], query)
            return
        expr = re.fullmatch(r"query_result\((.*)\)", query)[1]
        pattern = re.compile(variable["regex"].strip("/").replace("(?<", "(?P<"))
        lines = [one["__name__"] + "{" + ",".join(f'{name}="{value}"' for name, value in sorted(one.items()) if name != "__name__")
                 + "} 1 1793782800000" for one, _ in prometheus.wait(expr, query)]
        self.assertEqual({(found["text"], found["value"]) for found in map(pattern.search, lines)},
                         {("acme-video", "101"), ("acme-static", "102")})

    def test_the_pages_alerts_are_rules_on_metrics_that_are_there(self):
        blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        rules, = (block for block in blocks if "groups" in yaml.safe_load(block))
        path = self.path / "rules.yml"
        path.write_text(rules)
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (tests/dependencies test)")
        done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        names = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.M))
        used = set(re.findall(r"\btollbook_account_(\w+)", rules + "".join(json.dumps(BOARDS[board]) for board in BOARDS)))
        self.assertLessEqual({re.sub("^region_month", "zone_month", name) for name in used}, names)

    # --- Infinity ---

    def test_every_request_of_infinity_has_the_columns_that_its_panel_shows(self):
        if not shutil.which("jq"):
            self.skipTest("jq is not installed (tests/dependencies test)")
        for board in of_kind(INFINITY):
            for variable in variables(board):
                if variable["type"] == "custom":
                    self.values_are_taken(variable)
                else:
                    self.target_has_columns(board, variable["name"], variable["query"]["infinityQuery"])
            for panel in panels(board):
                for target in panel["targets"]:
                    self.target_has_columns(board, panel["title"], target)

    def values_are_taken(self, variable):
        self.assertEqual([one["value"] for one in variable["options"]], variable["query"].split(","))
        for value in variable["query"].split(","):
            self.assertEqual(self.server.get(f"/insights?{variable['name']}={value}", "watcher").status, 200, value)

    def target_has_columns(self, board, title, target):
        what = (board, title)
        self.assertEqual([target[name] for name in ("type", "source", "parser", "format")], ["json", "url", "jq-backend", "table"], what)
        self.assertEqual(target["url_options"]["method"], "GET")
        query = urllib.parse.urlencode({one["key"]: filled(one["value"], board) for one in target["url_options"]["params"]})
        answer = self.server.get(target["url"] + ("?" + query if query else ""), "watcher")
        self.assertEqual(answer.status, 200, (what, answer.body))
        done = subprocess.run(["jq", "--compact-output", target["root_selector"]], input=answer.body, capture_output=True,
                              check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, (what, done.stderr))
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertTrue(rows, what)
        for column in target["columns"]:
            values = [row[column["selector"]] for row in rows]
            self.assertTrue(any(value is not None for value in values), (what, column))
            for value in values:
                self.assertTrue(value is None or fits(value, column["type"]), (what, column, value))


def fits(value, of):
    """Whether the plugin takes the value for one of this type."""
    if of == "string":
        return isinstance(value, str)
    if of == "number":
        return isinstance(value, (int, float)) or re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
    return of == "timestamp" and datetime.fromisoformat(value.replace("Z", "+00:00")) is not None


if __name__ == "__main__":
    unittest.main()
