"""The log explorer: questions that it answers, with their steps counted; what it shows is the API's."""
import json
from collections import Counter

from harness import Server, hit, run
from pages import CATALOG, NOW_MS, ConsoleCase, axe

HOUR, DAY = 3600000, 86400000
MIDNIGHT = NOW_MS // DAY * DAY


def line(zone, ms, cache, status, url, country, edge="DE", agent="curl/8"):
    return f"{cache}|{status}|{ms}|1000|{zone}|192.0.2.1|-|https://cdn.example{url}|{edge}|{agent}|{ms:032x}|{country}\n"


def lines():
    """Three days of zone 101: every tenth request is a 404; yesterday from 10 to 11 o'clock Germany gets 502 for one URL;
    today from 5 o'clock on one URL is not cached any more. Zone 102 has less."""
    out = []
    for n in range(71 * 60):
        ms = NOW_MS - 71 * HOUR + n * 60000
        country, url = ("DE", "US", "FR")[n % 3], f"/page-{n % 7}.html"
        cache, status = "HIT" if n % 5 else "MISS", 404 if n % 10 == 3 else 200
        if MIDNIGHT - 14 * HOUR <= ms < MIDNIGHT - 13 * HOUR and country != "US":
            url, status = ("/api/basket", 502) if country == "DE" else ("/api/basket", 200)
        if ms >= MIDNIGHT + 5 * HOUR and n % 2:
            cache, url = "MISS", "/video/live.m3u8"
        out.append(line(101, ms, cache, status, url, country))
    return "".join(out) + "".join(line(102, NOW_MS - n * 60000, "HIT", 200, "/", "DE") for n in range(1, 9))


class LogSite(Server):
    def make(self, log):
        run("init", "--db", self.db)
        run("apply", "--db", self.db, "-", stdin=json.dumps(CATALOG).encode())
        run("ingest", "--db", self.db, "-", stdin=log)
        bad = self.path / "edge-7.log"
        bad.write_text("HIT|999|1793782800000|1|101|-|-|/|DE|-|-|DE\n" * 3 + "no line of a log <img src=x>\n" + hit(101, 99).decode())
        run("ingest", "--db", self.db, bad, expect=None)
        return {name: self.make_key(account, role) for name, account, role in
                (("user", 1, "User"), ("operator", 0, "Operator"), ("empty", 3, "User"))}


def site():
    """A server for each class: a zone answers 30 requests in ten seconds."""
    return LogSite(log=lines().encode())


class LogsCase(ConsoleCase):
    """Steps of a person are counted: each click, each choice."""

    served = staticmethod(site)
    steps = 0

    def press(self, page, element):
        self.steps += 1
        page.click(element)
        self.whole(page)

    def value(self, page, kind, text):
        return page.find(f"[data-kind={kind}] [data-value='{text}']")

    def values(self, page, kind):
        return dict(page.script("""return [...document.querySelectorAll(`[data-kind=${arguments[0]}] .top-value`)]
            .map(one => [one.dataset.value, Number(one.dataset.count)])""", kind))

    def total(self, page, field):
        return int(page.script("return document.querySelector(`[data-field='${arguments[0]}']`).dataset.value", field))

    def query(self, page):
        return page.script("return Object.fromEntries(new URLSearchParams(location.search))")

    def summary(self, query):
        return self.server.get(f"/v2/pullzones/101/logs/summary?{query}").json()


class Journeys(LogsCase):
    served = staticmethod(lambda: site())

    def test_502s_from_germany_yesterday(self):
        page = self.signed_in(path="/zones")
        self.press(page, page.named("link", "Logs"))  # of the zone with the most requests
        self.press(page, page.named("button", "Yesterday"))
        self.press(page, self.value(page, "status", "502"))
        self.press(page, self.value(page, "country", "DE"))
        self.assertLessEqual(self.steps, 4)
        self.assertEqual(self.query(page), {"zone": "101", "last": "yesterday", "status": "502", "country": "DE"})
        self.assertEqual((self.total(page, "requests"), self.total(page, "5xx")), (20, 20))
        self.assertEqual(self.values(page, "url"), {"cdn.example/api/basket": 20})
        self.assertEqual(page.script("return document.querySelectorAll('.entries tbody tr:not(.unfolded)').length"), 20)
        self.assertTrue(page.script("return [...document.querySelectorAll('.entries tbody time')].every(one => one.dateTime.startsWith('2026-11-03T10:'))"))
        self.press(page, self.value(page, "country", "DE"))  # a click again takes the filter away
        self.assertEqual(self.query(page), {"zone": "101", "last": "yesterday", "status": "502"})

    def test_why_did_the_hit_rate_fall(self):
        page = self.signed_in(path="/logs?zone=101")
        self.press(page, page.named("button", "By cache"))  # since five o'clock it is lower
        self.press(page, page.named("button", "Today"))
        self.press(page, self.value(page, "cacheStatus", "MISS"))
        self.assertLessEqual(self.steps, 4)
        first = page.script("return document.querySelector('[data-kind=url] .top-value').dataset.value")
        self.assertEqual(first, "cdn.example/video/live.m3u8")
        misses = self.values(page, "url")
        self.assertEqual(misses[first], 120)
        self.assertGreater(misses[first], sum(misses.values()) / 2)

    def test_a_refused_line_and_why(self):
        page = self.signed_in("operator", "/operator/intake")
        self.press(page, page.named("link", "The lines of the last 72 hours"))
        self.press(page, page.script("return [...document.querySelectorAll('[data-kind=reason] .top-value')].find(one => one.dataset.count === '1')"))
        self.assertEqual(self.query(page), {"tab": "refused", "last": "3d", "reason": "wrong number of columns: 12 or 15 expected"})
        self.assertEqual(self.total(page, "lines"), 1)
        self.press(page, page.find(".entries tbody button"))
        facts = page.script("return [...document.querySelectorAll('.unfolded dd')].map(one => one.textContent)")
        self.assertLessEqual(self.steps, 3)
        self.assertIn("no line of a log <img src=x>", facts)
        self.assertIn("wrong number of columns: 12 or 15 expected", facts)
        self.assertIn("4", facts, "its line")
        self.assertTrue(any(one.endswith("edge-7.log") for one in facts))
        self.assertEqual(self.values(page, "source"), {next(one for one in facts if one.endswith("edge-7.log")): 1})
        page.quiet()


class Explorer(LogsCase):
    served = staticmethod(lambda: site())

    def test_what_it_shows_is_the_apis(self):
        page = self.signed_in(path="/logs?zone=101&status=404&last=3d")
        asked = self.query(page)
        self.assertEqual(asked["last"], "3d")
        span = page.script("return performance.getEntriesByType('resource').map(one => one.name).findLast(name => name.includes('/logs/summary'))")
        answer = self.summary(span.split("?", 1)[1])
        for name in ("requests", "bytes", "4xx", "5xx", "cached"):
            self.assertEqual(self.total(page, name), answer["totals"][name])
        for kind in answer["top"]:
            self.assertEqual(self.values(page, kind), {row["value"]: row["requests"] for row in answer["top"][kind]["values"]})
        rows = self.server.get(f"/v2/pullzones/101/logs?{span.split('?', 1)[1]}&limit=10000").json()["data"]
        self.assertEqual(answer["totals"]["requests"], len(rows))
        self.assertEqual(self.values(page, "country"), dict(Counter(row["countryCode"] for row in rows)))
        page.click(page.script("return document.querySelector('[data-chart=histogram] figcaption > button')"))
        page.wait("document.querySelector('[data-chart=histogram] tbody tr')")

    def test_dragging_zooms_a_click_filters_and_back_goes_back(self):
        page = self.signed_in(path="/logs?zone=101&last=yesterday")
        stage = page.find("[data-chart=histogram] .stage")
        page.drag(stage, (-200, 0), (-100, 0))
        page.wait("location.search.includes('from=')")
        self.whole(page)
        query = self.query(page)
        self.assertEqual(set(query), {"zone", "from", "to"})
        self.assertTrue("2026-11-03T00" < query["from"] < query["to"] < "2026-11-03T12", query)
        self.assertEqual(self.total(page, "requests"), self.summary(f"from={query['from']}&to={query['to']}")["totals"]["requests"])
        page.back()
        page.wait("location.search.includes('last=yesterday')")
        self.whole(page)
        page.click(page.find("[data-picks='4xx']"))
        page.wait("location.search.includes('status=4xx')")
        self.whole(page)
        self.assertEqual(page.script("return document.querySelector(\"[data-picks='4xx']\").ariaPressed"), "true")
        self.assertEqual(self.total(page, "requests"), self.total(page, "4xx"))
        page.click(page.find("[data-picks='4xx']"))
        page.wait("!location.search.includes('status')")
        self.whole(page)
        page.drag(stage, (0, 40), (0, 40))  # a click near the bottom of a column, where the gravest class is
        page.wait("/status=[245]xx/.test(location.search)")

    def test_any_of_the_72_hours(self):
        page = self.signed_in(path="/logs?zone=101")
        hours = page.script("return [...document.querySelectorAll('[aria-label=\"One hour\"] option:not([disabled])')].length")
        self.assertEqual(hours, 73, "the running one, and what is kept of the oldest")
        page.script("""const one = document.querySelector('[aria-label="One hour"]');
            one.value = String(Date.parse('2026-11-03T10:00Z')); one.dispatchEvent(new Event('change'))""")
        page.wait("location.search.includes('from=')")
        self.whole(page)
        self.assertEqual(self.query(page), {"zone": "101", "from": "2026-11-03T10:00Z", "to": "2026-11-03T11:00Z"})
        self.assertEqual((self.total(page, "requests"), self.total(page, "5xx")), (60, 20))
        self.assertEqual(page.script("return document.querySelector('[aria-label=\"One hour\"]').selectedOptions[0].textContent"), "10:00 to 11:00")


class Looks(LogsCase):
    def test_values_that_lines_lack_are_no_filter_and_markup_is_text(self):
        page = self.signed_in("operator", "/logs")
        self.assertIn("no line of a log <img src=x>", page.text(".entries"))
        self.assertEqual(page.script("return document.querySelectorAll('main img').length"), 0)
        self.assertEqual(self.total(page, "lines"), 4)

    def test_who_has_no_line_and_who_is_no_operator(self):
        page = self.signed_in("empty", "/logs")
        self.assertIn("Choose a pull zone.", page.text(".entries"))
        self.assertEqual(page.script("return [...document.querySelectorAll('.explorer .tiles, [data-chart=histogram]')].filter(one => one.checkVisibility()).length"), 0)
        page = self.signed_in(path="/logs?zone=102&tab=refused")
        self.assertEqual(self.total(page, "requests"), 8)
        self.assertNotIn("Refused", page.text("main"))

    def test_on_a_phone_and_to_axe(self):
        for key, path in (("user", "/logs?zone=101"), ("operator", "/logs")):
            page = self.signed_in(key, path)
            self.assertEqual(axe(page), [], path)
            page.viewport(360)
            self.assertEqual(self.too_wide(page), [])
            page.script("document.querySelector('.values').open = true")
            small = page.script("""return [...document.querySelectorAll('main button, main select, main input, main summary')].filter(one => one.checkVisibility())
                .filter(one => one.getBoundingClientRect().height < 43.9 && !one.closest('.chip, .legend, th')).map(one => one.outerHTML.slice(0, 80))""")
            self.assertEqual(small, [], path)
