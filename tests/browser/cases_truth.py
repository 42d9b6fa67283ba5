"""Numbers on the screen are the API's: totals and tables over times, zones and roles, an account without
anything; zoom; how much a redraw draws; ten thousand zones."""
import json

from pages import CATALOG, FOLLOW, ZONES, ConsoleCase, hit, run

TIMES = {"range=24h": ("2026-11-03T10:00Z", "2026-11-04T10:00Z"), "": ("2026-10-29", "2026-11-04"),
         "range=30d": ("2026-10-06", "2026-11-04"), "range=90d": ("2026-08-07", "2026-11-04"),
         "from=2026-10-01&to=2026-10-31": ("2026-10-01", "2026-10-31"),
         "from=2026-01-01&to=2026-01-31": ("2026-01-01", "2026-01-31")}

# The figures of an element, but those in one with a data-zone or data-region of its own.
FIGURES = """const root = arguments[0] ? document.querySelector(arguments[0]) : document.querySelector('main');
    return Object.fromEntries([...root.querySelectorAll('[data-field]')]
        .filter(one => arguments[0] || !one.closest('[data-zone], [data-region]')).map(one => [one.dataset.field, one.dataset.value]))"""


def same(shown, value):
    return shown == "" if value is None else float(shown) == float(value)


class Truth(ConsoleCase):
    def insights(self, key, **query):
        text = "&".join(f"{name}={value}" for name, value in query.items())
        answer = self.server.get("/insights?" + text, key)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def compare(self, page, data, css=None):
        """Waits until each figure that is shown is the one of the answer; returns how many there are."""
        def shown():
            found = page.script(FIGURES, css)
            return {field: value for field, value in found.items() if field in data}

        def agree():
            found = shown()
            return found and all(same(value, data[field]) for field, value in found.items())
        page.wait(agree, f"the figures of {data} in {css or 'main'}, which has {shown()}")
        return len(shown())

    def test_totals_and_tables_of_an_account(self):
        for key, times in (("user", TIMES), ("other", ["range=30d"]), ("empty", ["range=90d"])):
            page = self.signed_in(key, "/events")
            for time in times:
                with self.subTest(key=key, time=time):
                    self.open(page, "/overview?" + time)
                    first, last = TIMES[time]
                    data = self.insights(key, **{"from": first, "to": last, "compare": "none", "top": 10})
                    self.assertGreaterEqual(self.compare(page, data["totals"]), 7)
                    self.assertEqual(page.script("return document.querySelector('.tile [data-field=TotalBandwidthUsed]').title"),
                                     f"{data['totals']['TotalBandwidthUsed']:,} bytes", "units in full on hover")
                    for row in data["zones"]["items"]:
                        self.assertGreaterEqual(self.compare(page, row, f"tr[data-zone='{row['id']}']"), 2)
                    for row in data["regions"]:
                        self.assertGreaterEqual(self.compare(page, row, f"tr[data-region='{row['id']}']"), 2)
                    zones = page.script("return [...document.querySelectorAll('tr[data-zone]')].map(one => Number(one.dataset.zone))")
                    self.assertEqual(zones, [row["id"] for row in data["zones"]["items"]])
                    page.quiet()

    def test_the_statistics_agree(self):
        """/insights is new; /statistics is what clients have."""
        page = self.signed_in(path="/overview?from=2026-10-01&to=2026-10-31")
        data = self.server.get("/statistics?dateFrom=2026-10-01&dateTo=2026-10-31").json()
        self.assertGreaterEqual(self.compare(page, data), 5)
        self.open(page, "/zones/102?from=2026-10-01&to=2026-10-31")
        data = self.server.get("/statistics?dateFrom=2026-10-01&dateTo=2026-10-31&pullZone=102").json()
        self.assertGreaterEqual(self.compare(page, data, "[data-zone='102']"), 5)

    def test_a_list_of_zones(self):
        page = self.signed_in(path="/zones?range=90d")
        data = self.insights("user", **{"from": "2026-08-07", "to": "2026-11-04", "compare": "none", "top": 100})
        self.assertEqual({row["id"] for row in data["zones"]["items"]}, {zone for zone in ZONES if zone // 100 == 1})
        for row in data["zones"]["items"]:
            self.assertGreaterEqual(self.compare(page, row, f"tr[data-zone='{row['id']}']"), 4)

    def test_an_operator_sees_the_account_that_is_named(self):
        page = self.signed_in("operator", "/overview?account=2&range=30d")
        data = self.insights("other", **{"from": "2026-10-06", "to": "2026-11-04", "compare": "none"})
        self.assertGreaterEqual(self.compare(page, data["totals"]), 7)

    def test_a_drag_on_a_chart_is_a_shorter_time(self):
        page = self.signed_in(path="/overview?range=30d")
        stage = page.find(".stage.tall .canvas")
        width = page.script("return arguments[0].clientWidth", stage)
        page.drag(stage, (-width // 4, 0), (width // 4, 0))
        page.wait("new URLSearchParams(location.search).get('from')")
        self.whole(page)
        asked = page.script("return Object.fromEntries(new URLSearchParams(location.search))")
        data = self.insights("user", **{"from": asked["from"], "to": asked["to"], "compare": "none"})
        days = len(self.insights("user", **{"from": asked["from"], "to": asked["to"], "by": "day"})["points"]["at"])
        self.assertTrue(10 <= days <= 20, asked)
        self.assertGreaterEqual(self.compare(page, data["totals"]), 7)
        page.back()
        page.wait("location.search.includes('range=30d')")
        self.whole(page)
        data = self.insights("user", **{"from": "2026-10-06", "to": "2026-11-04", "compare": "none"})
        self.assertGreaterEqual(self.compare(page, data["totals"]), 7)

    def test_a_table_is_saved_as_it_is_sorted(self):
        page = self.signed_in(path="/zones?range=90d&sort=name")
        page.click(page.named("button", "CSV"))
        rows = page.downloaded("zones.csv").decode().splitlines()
        self.assertEqual([row.split(",")[0] for row in rows[1:]], ["acme-static", "acme-video"])


# Counts what is drawn on canvases and put into the page.
DRAWN = """globalThis.drawn = {strokes: 0, lines: 0, nodes: 0};
    const proto = CanvasRenderingContext2D.prototype, line = proto.lineTo, stroke = proto.stroke;
    proto.lineTo = function (...at) { drawn.lines++; return line.apply(this, at); };
    proto.stroke = function (...what) { drawn.strokes++; return stroke.apply(this, what); };
    addEventListener('DOMContentLoaded', () => new MutationObserver(found => found.forEach(one => one.addedNodes.forEach(
        node => { drawn.nodes += 1 + (node.querySelectorAll?.('*').length ?? 0); }))).observe(document.body, {childList: true, subtree: true}));"""


class Budget(ConsoleCase):
    def test_what_a_redraw_of_720_hours_draws(self):
        page = self.page()
        page.first(DRAWN)
        self.signed_in(path="/overview?range=30d&by=hour", page=page)
        page.script("Object.assign(drawn, {strokes: 0, lines: 0, nodes: 0}); document.querySelectorAll('.chart')"
                    ".forEach(one => { one.dataset.draws = 0 })")
        page.click(".segments button[data-keep='24h']")
        page.wait("location.search.includes('range=24h')")
        page.back()
        page.wait("location.search.includes('range=30d')")
        self.whole(page)
        drawn = page.script("return drawn")
        # Two redraws: six charts of at most three series of 720 points, and filled bands go back again.
        self.assertLess(drawn["lines"], 2 * 6 * 3 * 720 * 2)
        self.assertLess(drawn["nodes"], 2 * 1500)


MANY = 10_000


class Many(ConsoleCase):
    """An account with ten thousand zones."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps({
            **CATALOG, "accounts": [*CATALOG["accounts"], {"id": 5, "name": "many"},
                                    *({"id": 60000 + i, "name": f"customer-{i:05}"} for i in range(MANY))],
            "zones": [*CATALOG["zones"], *({"id": 50000 + i, "account": 5, "name": f"site-{i:05}"}
                                           for i in range(MANY))]}).encode())
        run("ledger", "pay", "--db", cls.server.db, "--account", 60123, "--amount", "12.50", "--reference", "r1")
        cls.key = cls.server.make_key(5, "User")
        cls.server.start()

    def scrolled(self, page, data, number):
        """Scrolls to the end in some steps; the rows' numbers go up from `number`."""
        page.wait(f"document.querySelectorAll('tr[data-{data}]').length > 10")
        box = page.find(".table-scroll")
        for share in (0.2, 0.5, 0.9, 1):
            page.script("arguments[0].scrollTo(0, arguments[0].scrollHeight * arguments[1])", box, share)
            first = int(share * MANY) - 60
            page.wait(f"[...document.querySelectorAll('tr[data-{data}]')].some(one => Number(one.dataset.{data}) - {number} >= {first})")
            self.assertLess(page.script("return document.querySelectorAll('main tbody tr').length"), 150)
        page.wait(f"document.querySelector('tr[data-{data}=\"{number + MANY - 1}\"]')")

    def test_accounts_are_read_as_they_come_into_sight(self):
        page = self.signed_in("operator", "/operator/accounts?sort=name&search=customer")
        page.script("""globalThis.ask = fetch; globalThis.asked = 0;
            fetch = (url, options) => { asked += String(url).includes('account-list'); return ask(url, options); }""")
        self.scrolled(page, "account", 60000)
        self.whole(page)
        self.assertLess(page.script("return asked"), 30)  # of 100 pages
        names = "[...document.querySelectorAll('main tr[data-account]')].map(one => one.cells[1].textContent)"
        height = page.script("const cell = document.querySelector('main tbody td.wide'); cell.textContent = 'a note '.repeat(200);"
                             "return cell.parentNode.offsetHeight")
        self.assertEqual(height, 37)  # where rows are drawn is worked out by it
        page.click(page.named("button", "Balance"))
        page.wait(f"{names}[0] === 'customer-00123'")
        page.clear("main input[type=search]")
        page.type("main input[type=search]", "R-09998")
        page.wait(f"JSON.stringify({names}) === '[\"customer-09998\"]'")
        page.clear("main input[type=search]")
        page.type("main input[type=search]", "nobody at all")
        page.wait("location.search.includes('all') && document.querySelector('main .empty').textContent === 'Nothing matches the search.'")
        self.open(page, "/operator/accounts?search=customer-01&sort=-name")
        page.click(page.named("button", "CSV"))
        rows = page.downloaded("accounts.csv").decode().splitlines()
        self.assertEqual([row.split(",")[1] for row in rows[1:]], [f"customer-{i:05}" for i in range(1999, 999, -1)])
        page.quiet()

    def test_rows_on_the_page_stay_few(self):
        page = self.signed_in(self.key, "/zones?sort=name")
        self.scrolled(page, "zone", 50000)
        self.whole(page)
        page.quiet()
        self.file_is_whole_or_none(page)

    def file_is_whole_or_none(self, page):
        page.script("""globalThis.ask = fetch;
            fetch = (url, options) => String(url).includes('page=3') && !String(url).includes('page=3&search')
                ? Promise.resolve(new Response('{"Message":"Busy."}', {status: 503})) : ask(url, options);""")
        self.open(page, "/zones?sort=-name")  # rows that are not here yet
        page.click(page.named("button", "CSV"))
        page.wait("document.querySelector('.trouble').textContent.includes('No file was made')")
        self.assertEqual(list((page.browser.path / "downloads").glob("zones*")), [])
        page.script("fetch = ask")
        page.click(page.named("button", "CSV"))
        names = [row.split(",")[0] for row in page.downloaded("zones.csv").decode().splitlines()[1:]]
        self.assertEqual(names, [f"site-{i:05}" for i in reversed(range(MANY))])
        page.wait("document.querySelector('.trouble').textContent === ''")


class Stays(ConsoleCase):
    """What is on the page and in the hand stays as new figures come."""

    ACTIVE = "return document.activeElement.dataset.figure ?? document.activeElement.textContent"
    TABLE = """return [document.querySelector('[data-chart=series] .table-scroll').scrollTop,
        document.querySelectorAll('[data-chart=series] th')[1].getAttribute('aria-sort')]"""
    SPOKEN = "return document.querySelector('[data-chart=series] [aria-live]').textContent"
    seconds = 0

    def more(self, page):
        """A request comes in, and the page has asked for what is new."""
        total = "document.querySelector('main [data-field=TotalRequestsServed]').dataset.value"
        before = page.script(f"return {total}")
        Stays.seconds += 1
        answer = self.server.ask("POST", "/ingest/logs", "sender", hit(201, 75000 + Stays.seconds))
        self.assertEqual(answer.status, 200, answer.body)
        self.asked_again(page)
        page.wait(f"{total} !== '{before}'")

    def test_the_focus_and_a_charts_table(self):
        page = self.signed_in("other", "/overview")
        for css in ("tr[data-zone] a", "[data-chart=status] .legend button", ".tile"):
            page.script("document.querySelector(arguments[0]).focus()", css)
            before = page.script(self.ACTIVE)
            self.more(page)
            self.assertTrue(page.script("return document.activeElement.matches(arguments[0])", css), css)
            self.assertEqual(page.script(self.ACTIVE), before)
        page.click("[data-chart=series] figcaption > button")
        page.wait("document.querySelector('[data-chart=series] th button')")
        page.script("document.querySelectorAll('[data-chart=series] th button')[1].click();"
                    "document.querySelector('[data-chart=series] .table-scroll').scrollTop = 500")
        self.more(page)
        self.assertEqual(page.script(self.TABLE), [500, "descending"])
        page.script("document.querySelector('[data-chart=series] .stage').focus()")
        page.keys("Home", "Right", "Right")
        self.assertIn("02:00", page.script(self.SPOKEN))
        self.more(page)
        page.keys("Right")
        page.wait(self.SPOKEN.removeprefix("return ") + ".includes('03:00')")
        self.assertTrue(page.script("return !document.querySelector('[data-chart=series] .tip').hidden"))

    def test_figures_of_another_time_do_not_pass_for_those_that_are_asked_for(self):
        late = '''globalThis.ask = fetch; globalThis.held = [];
            fetch = (url, options) => String(url).startsWith('/insights') ? new Promise(done => held.push(done)).then(() => ask(url, options)) : ask(url, options);'''
        page = self.signed_in(path="/overview")
        page.script(late)
        faded = "[...document.querySelectorAll('main .tiles, main .panel, main .table-scroll')].filter(one => one.checkVisibility({checkOpacity: false}) " \
            "&& Number(getComputedStyle(one).opacity) < 1).length"
        for path, css in (("/overview", ".segments [data-keep='30d']"), ("/zones", ".segments [data-keep='90d']")):
            with self.subTest(path=path):
                if path != "/overview":
                    page.script("fetch = ask")
                    self.open(page, path)
                    page.script(late)
                page.click(css)
                page.wait(f"held.length && {faded}")
                page.script("fetch = ask; held.forEach(one => one())")
                self.whole(page)
                self.assertEqual(page.script(f"return {faded}"), 0)
        page.script(late)
        page.script(FOLLOW, "/console/overview")
        page.wait("getComputedStyle(document.querySelector('main .tiles:empty'), '::after').content.includes('Reading')")
        page.script("fetch = ask; held.forEach(one => one())")
        self.whole(page)

    def test_a_button_says_copied_and_its_own_name_again(self):
        page = self.signed_in("other", "/billing")
        page.script("""globalThis.wait = setTimeout; globalThis.ends = [];
            setTimeout = (f, ms, ...more) => ms === 2000 ? ends.push(f) : wait(f, ms, ...more);
            globalThis.copy = [...document.querySelectorAll('.does button')].find(one => one.textContent === 'Copy link');
            copy.click();""")
        page.wait("ends.length === 1 && copy.textContent !== 'Copy link'")
        page.script("copy.click()")
        page.wait("ends.length === 2")
        self.assertEqual(page.script("ends.forEach(f => f()); setTimeout = wait; return copy.textContent"), "Copy link")


class Time(ConsoleCase):
    """What is not over yet."""

    def test_the_running_day_is_said_to_be_so_far(self):
        page = self.signed_in(path="/overview?range=7d&by=day&compare=none")
        self.assertIn("29 Oct", page.text(".range summary"))
        page.click(page.named("button", "Table"))
        rows = page.wait("(rows => rows.length && rows)([...document.querySelectorAll('[data-chart=series] .chart-table tbody tr')]"
                         ".map(row => row.cells[0].textContent))")
        self.assertEqual([row.endswith(", so far") for row in rows], [False] * 6 + [True], rows)
        self.assertTrue(rows[0].startswith("Thu"), rows)
        self.open(page, "/overview?range=24h&by=day")
        self.assertIn("3 Nov to 4 Nov 2026", page.text(".range summary"))

    def test_keys_read_a_chart_and_what_is_of_a_part_says_so(self):
        page = self.signed_in(path="/overview?range=30d")
        drawn = page.script("return [...document.querySelectorAll('.stage')].map(one => [one.ariaLabel, one.tabIndex])")
        self.assertEqual(len(drawn), 3)
        for label, stop in drawn:
            self.assertRegex(label, r"^[A-Z].*, Tue, 6 Oct 2026 to Wed, 4 Nov 2026, so far: .* from .* to ")
            self.assertEqual(stop, 0)
        page.script("document.querySelector('[data-chart=series] .stage').focus()")
        page.keys("End")
        page.wait("!document.querySelector('[data-chart=series] .tip').hidden")
        spoken = page.script("return document.querySelector('[data-chart=series] [aria-live]').textContent")
        self.assertRegex(spoken, r"^Wed, 4 Nov 2026, so far: Requests \S+, before, .* \S+ to the same hour$")
        page.keys("Left")
        page.wait("document.querySelector('[data-chart=series] [aria-live]').textContent.startsWith('Tue, 3 Nov 2026:')")
        self.assertNotIn("same hour", page.script("return document.querySelector('[data-chart=series] [aria-live]').textContent"))

    def test_charts_on_paper_stay_in_their_panels(self):
        page = self.page(1280, 900)
        self.signed_in(path="/overview?range=30d", page=page)
        page.script("""globalThis.seen = [];
            matchMedia('print').addEventListener('change', (event) => event.matches && seen.push(...[...document.querySelectorAll('.canvas canvas')]
                .map(one => one.getBoundingClientRect().right - one.closest('.stage').getBoundingClientRect().right)))""")
        page.printed()
        seen = page.script("return seen")
        self.assertGreaterEqual(len(seen), 3)
        self.assertLess(max(seen), 1)
        self.assertEqual(page.script("return [...document.querySelectorAll('.canvas')].map(one => one.style.transform).join('')"), "")

    def test_an_answer_that_fails_does_not_pass_for_another_time(self):
        page = self.signed_in(path="/overview?range=30d")
        page.script("""globalThis.ask = fetch;
            fetch = (url, options) => String(url).startsWith('/insights') ? Promise.resolve(new Response('{"Message":"Busy."}', {status: 503})) : ask(url, options);""")
        self.open(page, "/overview?range=7d")
        self.assertIn("Busy.", page.text(".trouble"))
        self.assertTrue(page.script("return Boolean(document.querySelector('main .old .tiles'))"))

    def test_of_nothing_an_axis_has_its_zero_alone(self):
        page = self.signed_in(path="/overview?from=2020-01-01&to=2020-01-03")
        labels = page.wait("(found => found.length && found)([...document.querySelectorAll('.dygraph-axis-label-y')].map(one => one.textContent))")
        self.assertEqual(set(labels), {"0"})
        self.assertIn("Choose a longer time", page.text(".notice"))

    def test_a_feature_of_a_zone_says_the_days_it_has(self):
        page = self.signed_in(path="/zones/101?range=24h&tab=optimizer")
        self.assertIn("whole days of the last year: 3 Nov to 4 Nov 2026", page.text("main"))
        self.open(page, "/zones/101?from=2024-01-01&to=2024-02-01&tab=optimizer")
        self.assertIn("go back one year", page.text("main"))
        self.assertEqual(page.text(".trouble"), "")

    def test_a_ratio_of_nothing_is_a_gap(self):
        page = self.signed_in(path="/zones/101?range=7d&tab=optimizer")
        page.wait("document.querySelectorAll('.chart-title').length === 4")
        page.script("document.querySelectorAll('figcaption > button').forEach((button) => button.click())")
        files, _, reduction, processing = page.wait("""(tables => tables.length === 4 && tables.every(one => one.length) && tables)(
            [...document.querySelectorAll('.chart-table')].map(one => [...one.querySelectorAll('tbody tr')].map(row => row.lastElementChild.textContent)))""")
        self.assertIn("0", files)
        self.assertEqual([one == "0" for one in files], [one == "–" for one in reduction])
        self.assertEqual(["–" if one == "0" else "" for one in files], ["–" if one == "–" else "" for one in processing])

    def test_a_link_within_text_is_not_told_by_its_colour_alone(self):
        page = self.signed_in(path="/zones/999999")
        page.find(".empty a")
        self.assertEqual(page.script("return getComputedStyle(document.querySelector('.empty a')).textDecorationLine"), "underline")
