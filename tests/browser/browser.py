"""Debian's Chromium, driven through chromedriver's WebDriver protocol by Python's standard library.

One driver and one browser serve a whole process; each test begins without cookies and storage (Browser.fresh).
Nothing sleeps for a guessed time: waiting ends with a condition, and with a bound that a busy machine keeps.

Every message that a page's console shows as an error is kept. Page.quiet() fails where there are
any: a refusal of the Content-Security-Policy is one of them.
"""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "http"))
from harness import PATIENCE  # noqa: E402

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name of a reference to an element
STEP = 0.03  # between two looks at a condition

# Nothing leaves this machine, and nothing of the user's own profile is read. Of processes there are few: each costs more
# than most tests.
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu", "--in-process-gpu",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage",
             "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
             "--no-zygote", "--renderer-process-limit=1", "--disable-site-isolation-trials", "--disable-breakpad",
             "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb", "--lang=en-US",
             "--password-store=basic", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")

KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Space": " ", "Shift": "\ue008",
        "Control": "\ue009", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015",
        "Home": "\ue011", "End": "\ue010", "PageDown": "\ue00f", "PageUp": "\ue00e",
        "Backspace": "\ue003", "Delete": "\ue017"}


class DriverError(AssertionError):
    """What chromedriver refused: its error's name, and its text's first line."""

    def __init__(self, value):
        super().__init__(f"{value['error']}: {value['message'].splitlines()[0]}")
        self.name = value["error"]


def program():
    """The browser itself: Debian's script around it reads a user's flags."""
    for path in ("/usr/lib/chromium/chromium", shutil.which("chromium")):
        if path and os.access(path, os.X_OK):
            return path
    return None


shared = contextlib.ExitStack()  # what the tests of a process share: it ends with them (pages.main)
_shared = {}


def the(make):
    """The one thing of this kind that the process has: a browser, a server. It is made when it is first asked for."""
    if make not in _shared:
        _shared[make] = make()
        shared.callback(_shared[make].close)
    return _shared[make]


class Browser:
    """chromedriver and one Chromium. Raises unittest.SkipTest, with the reason, where it cannot start."""

    def __init__(self):
        driver = shutil.which("chromedriver")
        if not driver or not program():
            raise unittest.SkipTest("Chromium is not installed (tests/dependencies test)")
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-browser-", ignore_cleanup_errors=True)
        self.path = Path(self.folder.name)
        self.driver = subprocess.Popen(
            [driver, "--port=0", f"--log-path={self.path / 'driver.log'}"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "HOME": self.folder.name, "TZ": "America/New_York", "LANG": "C.UTF-8"})
        self.session, self.wire = None, http.client.HTTPConnection("127.0.0.1")
        try:
            self.wire = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=3 * PATIENCE)
            self.begin()
        except unittest.SkipTest:
            self.close()
            raise
        except (OSError, AssertionError) as problem:
            self.close()
            raise unittest.SkipTest(f"Chromium does not start: {problem}") from None

    def port(self):
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise AssertionError("chromedriver ended at once")

    def begin(self):
        (self.path / "downloads").mkdir()
        options = {
            "binary": program(),
            "args": [*ARGUMENTS, f"--user-data-dir={self.path / 'profile'}", "--window-size=1280,900"],
            "prefs": {"download.default_directory": str(self.path / "downloads"),
                      "download.prompt_for_download": False}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "pageLoadStrategy": "normal",
            "timeouts": {"script": PATIENCE * 1000, "pageLoad": PATIENCE * 1000, "implicit": 0},
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.session = answer["sessionId"]
        self.home = self.ask("GET", "/window")  # stays open: a browser without a window ends
        self.first_scripts = set()
        self.holds = None  # whose session the first tab has, as pages.py knows it

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        self.wire.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        value = json.loads(self.wire.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value and "stacktrace" in value:
            raise DriverError(value)
        return value

    def ask(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def post(self, path, **body):
        return self.ask("POST", path, body)

    def cdp(self, command, **parameters):
        """A command of Chrome's DevTools protocol, to the window that is in front."""
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    @contextlib.contextmanager
    def fresh(self, origin, width=1280, height=900, keeps=None):
        """A Page without what an earlier one of this origin left behind: cookies, storage. It is
        the browser's first tab each time, since a new one costs half a second of processor; tabs that
        it opens beside itself are closed at the end. Files that may be kept for ever are kept, but where a
        test is about them (Page.uncached). keeps(page): whether what the tab shows serves as it is, which
        saves loading it."""
        page = Page(self, self.home)
        page.offline(False)
        if not keeps or not keeps(page):
            self.holds = None
            page.goto("about:blank")
            page.errors = []
            self.cdp("Network.clearBrowserCookies")
            self.cdp("Storage.clearDataForOrigin", origin=origin, storageTypes="local_storage")
        try:
            page.viewport(width, height)
            page.scheme("light")
            yield page
        finally:
            for handle in self.ask("GET", "/window/handles"):
                if handle != self.home:
                    self.holds = None  # another tab may have signed somebody else in
                    self.post("/window", handle=handle)
                    self.ask("DELETE", "/window")
            self.post("/window", handle=self.home)

    def close(self):
        """Ends the browser and its driver, whatever state they are in."""
        try:
            if self.session:
                with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                    self.wire.timeout = PATIENCE
                    self.ask("DELETE", "")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.driver.pid, 9)  # the driver's own group, its browser among it
            self.wire.close()
            self.driver.stdout.close()
            self.driver.wait(PATIENCE)
            self.folder.cleanup()


class Page:
    """A window, and what a person does there."""

    def __init__(self, browser, handle=None):
        self.browser, self.errors, self.events = browser, [], []
        self.handle = handle or browser.post("/window/new", type="tab")["handle"]
        self.front()
        self.collect()  # what other pages left
        self.errors = []

    def another(self):
        """Another tab beside this one, with the same cookies."""
        return Page(self.browser)

    def front(self):
        self.browser.post("/window", handle=self.handle)

    def uncached(self):
        """From here on every file is asked for, once."""
        self.browser.cdp("Network.clearBrowserCache")

    def goto(self, url):
        self.browser.post("/url", url=url)

    def url(self):
        return self.browser.ask("GET", "/url")

    def reload(self):
        self.browser.post("/refresh")

    def back(self):
        self.browser.post("/back")

    def forward(self):
        self.browser.post("/forward")

    def script(self, code, *arguments):
        """What the code returns: a function's body that finds its arguments in `arguments`."""
        return self.browser.post("/execute/sync", script=code, args=list(arguments))

    def promise(self, code, *arguments):
        """What the code's promise ends with: the body of an async function."""
        wrapped = f"""const done = arguments[arguments.length - 1];
            (async function () {{ {code} }}).apply(null, arguments)
                .then(value => done({{value}}), problem => done({{problem: String(problem)}}));"""
        answer = self.browser.post("/execute/async", script=wrapped, args=list(arguments))
        if "problem" in answer:
            raise AssertionError(answer["problem"])
        return answer.get("value")

    def wait(self, condition, what=None):
        """The condition's value, once it is true. It is a function, or the text of an expression in
        the page."""
        look = condition if callable(condition) else lambda: self.script_until(condition)
        end, seen = time.monotonic() + PATIENCE, None
        while time.monotonic() < end:
            try:
                seen = look()
                if seen:
                    return seen
            except DriverError as problem:  # the page goes away while it is asked
                if problem.name not in ("stale element reference", "javascript error", "no such element",
                                        "script timeout"):
                    raise
                seen = problem
            time.sleep(STEP)
        raise AssertionError(f"waited {PATIENCE} s for {what or condition}: {seen}\n{self.told()}")

    def script_until(self, expression):
        """The expression's value once it is true, or something false after a second: the page looks
        itself, which costs less than asking it again and again."""
        return self.browser.post("/execute/async", args=[], script=f"""
            const done = arguments[0], end = performance.now() + 1000;
            (function look() {{
                let value = null;
                try {{ value = ({expression}); }} catch {{ /* what it looks at is not there yet */ }}
                if (value || performance.now() > end) done(value);
                else setTimeout(look, 10);
            }})();""")

    def told(self):
        """What the page shows, for a failure's message."""
        with contextlib.suppress(AssertionError):
            return f"{self.url()}\n{self.text()[:4000]}\n{self.messages()}"
        return ""

    def all(self, css):
        return self.browser.post("/elements", using="css selector", value=css)

    def find(self, css):
        """The first element that matches and is displayed. Waits for it."""
        return self.wait(f"[...document.querySelectorAll({json.dumps(css)})].find(one => one.checkVisibility())", css)

    def named(self, role, name):
        """The element of that role and accessible name, as a screen reader finds it. Waits for it."""
        candidates = {"button": "button,[role=button],summary", "link": "a[href]", "textbox": "input,textarea",
                      "tab": "[role=tab]", "combobox": "select"}.get(role, "*")

        words = """return [...document.querySelectorAll(arguments[0])].filter(one => one.checkVisibility() && [one.textContent,
            one.ariaLabel, one.labels?.[0]?.textContent, one.title].some(text => text?.includes(arguments[1])))"""

        def look():
            for element in self.script(words, candidates, name):
                if self.of(element, "computedlabel").strip() == name and self.of(element, "computedrole") == role:
                    return element
            return None
        return self.wait(look, f"a {role} named {name!r}")

    def of(self, element, what):
        return self.browser.ask("GET", f"/element/{element[ELEMENT]}/{what}")

    def displayed(self, element):
        return self.of(element, "displayed")

    def text(self, css="body"):
        return self.script("return document.querySelector(arguments[0])?.innerText ?? '';", css)

    def click(self, target):
        """A selector's or an element's middle, by the mouse: what covers it is an error, after a while."""
        def act():
            element = self.find(target) if isinstance(target, str) else target
            try:
                self.browser.post(f"/element/{element[ELEMENT]}/click")
            except DriverError as problem:
                if problem.name == "element click intercepted" or (
                        isinstance(target, str) and problem.name == "stale element reference"):
                    return False
                raise
            return True
        self.wait(act, f"a click on {target}")

    def type(self, target, text):
        element = self.find(target) if isinstance(target, str) else target
        self.browser.post(f"/element/{element[ELEMENT]}/value", text=text)

    def clear(self, target):
        element = self.find(target) if isinstance(target, str) else target
        self.browser.post(f"/element/{element[ELEMENT]}/clear")

    def keys(self, *names, holding=()):
        """Keys to what has the focus, one after another."""
        down = [{"type": "keyDown", "value": KEYS.get(k, k)} for k in holding]
        up = [{"type": "keyUp", "value": KEYS.get(k, k)} for k in holding]
        steps = [{"type": kind, "value": KEYS.get(name, name)}
                 for name in names for kind in ("keyDown", "keyUp")]
        self.browser.post("/actions", actions=[
            {"type": "key", "id": "keyboard", "actions": down + steps + up}])

    def drag(self, element, begin, end):
        """The mouse pressed at one point of an element and let go at another: pixels from its middle."""
        def move(point):
            return {"type": "pointerMove", "duration": 0, "origin": element, "x": point[0], "y": point[1]}
        middle = ((begin[0] + end[0]) // 2, (begin[1] + end[1]) // 2)
        self.browser.post("/actions", actions=[{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [move(begin), {"type": "pointerDown", "button": 0}, move(middle), move(end),
                        {"type": "pointerUp", "button": 0}]}])

    def hover(self, element, x=0, y=0):
        self.browser.post("/actions", actions=[{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [{"type": "pointerMove", "duration": 0, "origin": element, "x": x, "y": y}]}])

    def viewport(self, width, height=900, scale=1):
        self.browser.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                         deviceScaleFactor=scale, mobile=False)

    def scheme(self, name):
        """light or dark, as the user's system would say. Nothing moves: a colour is there at once."""
        self.browser.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def first(self, code):
        """Code that runs in each of this tab's pages before their own."""
        if (self.handle, code) not in self.browser.first_scripts:
            self.browser.first_scripts.add((self.handle, code))
            self.browser.cdp("Page.enable")
            self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=code)

    def printed(self):
        """The page as it is printed: the bytes of a PDF."""
        return base64.b64decode(self.browser.post("/print"))

    def offline(self, is_so=True):
        if is_so:
            self.browser.post("/chromium/network_conditions", network_conditions={
                "offline": True, "latency": 0, "throughput": -1})
        else:
            with contextlib.suppress(DriverError):  # it was not set
                self.browser.ask("DELETE", "/chromium/network_conditions")

    def screenshot(self, path, whole=False):
        data = self.browser.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(data["data"]))

    def downloaded(self, pattern):
        """The bytes of the file that a click had the browser store. Waits for it, and takes it away."""
        folder = self.browser.path / "downloads"
        found = self.wait(lambda: [p for p in folder.glob(pattern) if p.suffix != ".crdownload" and p.stat().st_size],  # its name is there before its bytes
                          f"a download {pattern}")[0]
        data = found.read_bytes()
        found.unlink()
        return data

    # What the console and the network said.

    def collect(self):
        for entry in self.browser.post("/se/log", type="browser"):
            if entry["level"] == "SEVERE":
                self.errors.append(entry["message"])

    def collect_traffic(self):
        for entry in self.browser.post("/se/log", type="performance"):
            message = json.loads(entry["message"])
            if message["webview"] == self.handle and message["message"]["method"].startswith("Network."):
                self.events.append(message["message"])

    def messages(self):
        self.collect()
        return self.errors

    def quiet(self, *allowed):
        """No error on the page's console since the last call, but those that match an expression."""
        self.collect()
        errors = [e for e in self.errors if not any(re.search(one, e) for one in allowed)]
        self.errors = []
        if errors:
            raise AssertionError("the page's console has errors:\n" + "\n".join(errors))

    def forget(self):
        """What follows is counted from here."""
        self.collect_traffic()
        self.events = []

    def traffic(self):
        """The requests since forget(), in their order: each with url, method, status, type and bytes (of
        head and body, as they came over the wire; 0 where the browser's cache answered)."""
        self.collect_traffic()
        requests = {}
        for event in self.events:
            method, of = event["method"].split(".")[1], event["params"]
            if method == "requestWillBeSent":
                requests[of["requestId"]] = {"url": of["request"]["url"], "method": of["request"]["method"],
                                             "type": of.get("type"), "status": None, "bytes": 0,
                                             "cached": False, "done": False}
            one = requests.get(of.get("requestId"))
            if not one:
                continue
            if method == "responseReceived":
                one["status"] = one["status"] or of["response"]["status"]
                one["cached"] = of["response"].get("fromDiskCache", False)
            elif method == "responseReceivedExtraInfo":
                one["status"] = of["statusCode"]  # a 304, which the page sees as the 200 that it repeats
            elif method == "requestServedFromCache":
                one["cached"] = True
            elif method == "loadingFinished":
                one["bytes"], one["done"] = int(of["encodedDataLength"]), True
            elif method == "loadingFailed":
                one["done"] = True
        return [one for one in requests.values() if one["url"].startswith("http")]
