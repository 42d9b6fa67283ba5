"""What the browser tests share: one Chromium and one server a process, signing in, waiting until a view is
whole, and axe."""
import atexit
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from browser import Browser, shared, the  # noqa: E402
from harness import SOURCE, Case, Server, hit, run  # noqa: E402

LINT = Path(os.environ.get("TB_LINT") or SOURCE / "build/lint")
AXE = LINT / "node_modules/axe-core/axe.min.js"

NOW_MS = 1793782800000  # the harness's clock, 2026-11-04T09:00:00Z
NASTY = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
LONG = "n" * 255
BACKWARDS = "\u05d6\u05d5\u05e0\u05d4-\u0645\u0646\u0637\u0642\u0629"
CATALOG = {
    "accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}, {"id": 3, "name": "empty"},
                 {"id": 4, "name": NASTY}],
    "zones": [{"id": number, "account": number // 100, "name": name, "created": "2026-01-05T00:00:00Z"}
              for number, name in ((101, "acme-video"), (102, "acme-static"), (201, "borealis-live"),
                                   (401, NASTY), (402, LONG), (403, BACKWARDS))],
    "shield_zones": [{"id": 42, "account": 1, "zone": 101, "name": "acme"}],
    "container_apps": [{"id": "shop", "account": 1, "name": "shop", "description": "The shop"},
                       {"id": "halted", "account": 1, "name": NASTY, "description": "", "status": "suspended"}],
    "container_limits": [{"account": 1, "maxNumberOfApplications": 5}],
}
ZONES = [zone["id"] for zone in CATALOG["zones"]]


def usage():
    """Three months of hours, a few a day: no two figures are alike."""
    return "".join(json.dumps({
        "zone": zone, "hour": f"{2026}-{month:02}-{day:02}T{(zone + 5 * k) % 24:02}:00:00Z",
        "region": ("DE", "NY", "SG")[k % 3], "requests": zone + 7 * day + k, "bytes": 1000003 * day + zone * k,
        "cached_bytes": 500001 * day, "pulled": day + k, "status_3xx": day,
        "status_4xx": k, "status_5xx": day % 3, "origin_bytes": 9999 * day + k, "origin_time_ms_sum": 977 * day, "origin_time_count": day + k}) + "\n"
        for zone in ZONES for month in (9, 10) for day in range(1, 31) for k in range(3)).encode()


def events(count=300):
    return "".join(json.dumps({
        "shield_zone": 42, "timestamp": NOW_MS - 1000 - i * 60000, "logId": f"e{i}", "ip": f"10.0.0.{i % 5}",
        "action": ("block", "log")[i % 2], "feature": "waf", "ruleId": "941100", "ruleName": 'a "rule", quoted',
        "url": f"https://z/?q={i}", "userAgent": "=1+1", "labels": {"country": "DE"}}) + "\n"
        for i in range(count)).encode()


class Site(Server):
    """A server with accounts of every kind and a key for each role."""

    def make(self, log):
        run("init", "--db", self.db)
        run("apply", "--delete", "--db", self.db, "-", stdin=json.dumps(CATALOG).encode())
        run("ingest", "--db", self.db, "-", stdin=log)
        run("import", "--db", self.db, "-", stdin=usage())
        run("import", "--db", self.db, "-", stdin=events())
        return {name: self.make_key(account, role) for name, account, role in (
            ("user", 1, "User"), ("billing", 1, "SubuserBilling"), ("other", 2, "User"), ("empty", 3, "User"),
            ("nasty", 4, "User"), ("ingest", 1, "Ingest"), ("sender", 2, "Ingest"), ("operator", 0, "Operator"),
            ("admin", 1, "CustomerAdmin"), ("finance", 0, "Finance"), ("support", 0, "Support"))}

    def make_key_over_http(self):
        """A key of account 1 that the running server knows: {Id, Key, ...}."""
        answer = self.ask("POST", "/keys", "operator", b'{"Account": 1, "Roles": ["User"]}', Content_Type="application/json")
        assert answer.status in (200, 201), answer.body
        return answer.json()


LOG = b"".join(hit(zone, i, 1000 + 7 * i, ("HIT", "MISS", "STALE")[i % 3], (200, 304, 404, 503)[i % 4],
                   ("DE", "NY", "SG")[i % 3]) for zone in ZONES for i in range(250))

# Counts the questions that are not answered yet, before any script of a page runs.
COUNT = """
globalThis.pending = 0;
const more = (promise) => {
    pending++;
    const less = () => setTimeout(() => pending--);
    promise.then(less, less);
    return promise;
};
const ask = fetch, text = Response.prototype.text;
globalThis.fetch = globalThis.counted = (...words) => more(ask(...words));
Response.prototype.text = function () { return more(text.call(this)); };
"""


# Whether the page is as a person would have it who did nothing yet: signed in, in touch, not tampered with.
SOUND = """return Boolean(document.querySelector('.frame main > .view') && globalThis.fetch === globalThis.counted && pending === 0
    && document.querySelector('.banner').hidden && !localStorage.length && !document.querySelector('main progress'))"""

# Follows a link; what is on the page is marked where another view is to take its place.
FOLLOW = """
if (!document.querySelector('.frame main > .view')) return false;
const link = document.createElement('a');
link.href = arguments[0];
if (link.pathname !== location.pathname) document.querySelector('main > .view').dataset.left = '';
globalThis.calm = undefined;
document.body.append(link);
link.click();
link.remove();
return true;
"""


class BrowserCase(Case):
    """Tests that share one server and one browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = the(Browser)
        super().setUpClass()

    def operation(self, name, **given):
        """The reply to the operator's key."""
        answer = self.server.ask("POST", f"/operations/{name}", "operator", json.dumps(given).encode(), Content_Type="application/json")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def page(self, *size):
        """A page in a new tab, without cookies and cache; its tabs are closed when the test ends."""
        page = self.enterContext(self.browser.fresh(self.server.url, *size))
        page.first(COUNT)
        return page


def site():
    return Site(log=LOG)


class ConsoleCase(BrowserCase):
    """Tests of the console. Their classes share one server: each leaves it as it was, but for what it adds."""

    served = staticmethod(site)

    @classmethod
    def setUpClass(cls):
        cls.browser, cls.server = the(Browser), the(cls.served)

    @classmethod
    def tearDownClass(cls):
        pass

    def open(self, page, path):
        """By a link of the page where there is one that is signed in: that costs a tenth of a load."""
        if not page.script(FOLLOW, "/console" + path):
            page.goto(self.server.url + "/console" + path)
        self.whole(page)

    def whole(self, page):
        """Waits until the view is there, has the answers to all that it asked, and asks nothing more for the time
        of two frames: what is drawn anew with an answer may ask."""
        page.wait("document.querySelector('.frame h1') && pending === 0 && "
                  "!document.querySelector('[data-left], main [aria-busy]') "
                  "? performance.now() - (globalThis.calm ??= performance.now()) > 33 : (globalThis.calm = undefined)",
                  "a view with all its answers")

    def sign_in(self, page, key="user", path="/"):
        """By the form, as a person does it, at the path that is shown afterwards."""
        page.goto(self.server.url + "/console" + path)
        page.type("form#sign-in input#key", self.server.keys.get(key, key))
        page.keys("Enter")
        self.whole(page)
        page.quiet(NOT_SIGNED_IN)
        return page

    def signed_in(self, key="user", path="/", page=None):
        """A page that has a session already: the form is what another test is about. Without `page` it may be the one
        that the test before had, shown at another address."""
        key = self.server.keys.get(key, key)
        whose = (self.server.process.pid, key)
        if page is None:
            page = self.enterContext(self.browser.fresh(
                self.server.url, keeps=lambda kept: self.browser.holds == whose and kept.script(SOUND)))
            if self.browser.holds == whose:
                self.open(page, path)
                return page
            page.first(COUNT)
            self.browser.holds = whose
        answer = self.server.ask("POST", "/console/session", None, json.dumps({"key": key}).encode(),
                                 Content_Type="application/json", X_Tollbook_Console="1")
        name, value = answer.headers["set-cookie"].split(";")[0].split("=", 1)
        page.browser.cdp("Network.setCookie", url=self.server.url, name=name, value=value, httpOnly=True,
                         sameSite="Strict")
        self.open(page, path)
        return page

    @staticmethod
    def too_wide(page):
        """What stands out of the window, where it can be scrolled sideways."""
        return page.promise("""
            for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame); // charts follow their panels
            if (document.documentElement.scrollWidth <= innerWidth) return [];
            return [...document.querySelectorAll('main *, header *')].filter(one => one.getBoundingClientRect().right > innerWidth + 1
                && !one.closest('.table-scroll')).map(one => one.outerHTML.slice(0, 120)).slice(0, 5).concat('wider than the window');""")

    @staticmethod
    def asked_again(page):
        """What the page asks now and then it asks at once: the server was gone, and is back."""
        page.offline()
        page.promise("return (await import(performance.getEntriesByType('resource').map(one => one.name)"
                     ".find(name => name.includes('/js-api.')))).get('/healthz')")
        page.wait("!document.querySelector('.banner').hidden")
        page.offline(False)
        page.wait("document.querySelector('.banner').hidden")

    def views(self, page):
        """The addresses of the navigation."""
        return page.script("return [...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))")


atexit.register(shared.close)  # where a part is run alone


def main(*modules):
    """Runs the tests of these modules, with the command line's options; what they shared ends well too."""
    done = unittest.main(module=None, argv=[*sys.argv, *modules], exit=False)
    shared.close()
    sys.exit(not done.result.wasSuccessful())


NOT_SIGNED_IN = r"/console/session - .* 401"  # the browser notes it; the page asks to know


def axe(page, **options):
    """What axe-core finds on the page as it is: the rule, where, and why. Skips the test where npm could
    not install it."""
    if not AXE.is_file():
        why = LINT / "why"
        raise unittest.SkipTest(why.read_text().strip() if why.is_file() else
                                "axe is not installed (tests/run installs it)")
    if not page.script("return 'axe' in window"):
        page.script(AXE.read_text())
    found = page.promise("return (await axe.run(document, {resultTypes: ['violations'], preload: false, iframes: false, ...arguments[0]})).violations", options)
    return [f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
            for rule in found for node in rule["nodes"]]
