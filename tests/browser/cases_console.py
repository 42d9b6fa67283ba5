"""The console in a browser: who may come in and what they are offered, addresses, a server that goes away,
sessions that end, hostile names."""
import json
import os
from pathlib import Path

from pages import COUNT, LOG, NASTY, ConsoleCase, events


class Session(ConsoleCase):
    def test_a_wrong_key_a_right_one_and_signing_out(self):
        page = self.page()
        page.goto(self.server.url + "/")
        page.type("#key", "0" * 48)
        page.keys("Enter")
        page.wait("document.querySelector('#key-says').textContent.length > 10")
        self.assertEqual(page.script("return document.querySelector('#key').getAttribute('aria-invalid')"), "true")
        page.clear("#key")
        page.type("#key", self.server.keys["user"])
        page.click(page.named("button", "Sign in"))
        self.whole(page)
        page.quiet("/console/session - .* 40[13]")
        self.assertIn("acme", page.text(".who"))
        page.reload()
        self.whole(page)
        page.click(page.named("button", "Sign out"))
        page.find("form#sign-in")
        page.reload()
        page.find("form#sign-in")
        self.assertEqual(page.promise("return (await fetch('/console/session')).status"), 401)

    def test_the_key_is_kept_nowhere(self):
        page = self.sign_in(self.page())
        places = page.promise("""return [document.documentElement.outerHTML, location.href, document.cookie,
            JSON.stringify(localStorage), JSON.stringify(sessionStorage), JSON.stringify(history.state)].join()""")
        self.assertNotIn(self.server.keys["user"], places)
        self.assertNotIn(self.server.keys["user"], self.server.messages())
        cookies = page.browser.cdp("Network.getCookies", urls=[self.server.url])["cookies"]
        self.assertEqual([(one["httpOnly"], one["sameSite"]) for one in cookies], [(True, "Strict")])

    def test_a_key_that_may_see_nothing(self):
        page = self.page()
        page.goto(self.server.url + "/console/")
        page.type("#key", self.server.keys["ingest"])
        page.keys("Enter")
        page.wait("document.querySelector('#key-says').textContent.includes('Ingest')")

    def test_a_revoked_key_ends_its_session(self):
        key = self.server.make_key_over_http()
        page = self.signed_in(key["Key"], "/logs?zone=101")
        answer = self.server.ask("DELETE", f"/keys/{key['Id']}", "operator")
        self.assertEqual(answer.status, 204, answer.body)
        page.click(page.named("link", "Containers"))
        page.find("form#sign-in")
        self.assertIn("session has ended", page.text())
        page.type("#key", self.server.keys["user"])
        page.keys("Enter")
        self.whole(page)
        self.assertIn("/console/containers", page.url())

    def test_two_tabs(self):
        first = self.signed_in(path="/containers")
        second = first.another()
        second.first(COUNT)
        self.open(second, "/logs?zone=101")
        second.click(second.named("button", "Sign out"))
        second.find("form#sign-in")
        first.front()
        first.find("form#sign-in")
        first.type("#key", self.server.keys["user"])
        first.keys("Enter")
        self.whole(first)
        second.front()
        self.whole(second)
        self.assertIn("/logs?zone=101", second.url())

    def test_two_keys_in_two_tabs(self):
        first = self.signed_in(path="/containers")
        second = first.another()
        second.first(COUNT)
        self.open(second, "/containers")
        answer = second.promise("""const answer = await fetch('/console/session', {method: 'POST', body: JSON.stringify({key: arguments[0]}),
            headers: {'X-Tollbook-Console': '1', 'Content-Type': 'application/json'}});
            new BroadcastChannel('tollbook').postMessage('in');
            return answer.status""", self.server.keys["other"])
        self.assertEqual(answer, 200)
        first.front()
        first.wait("document.querySelector('.who').textContent.includes('borealis')")
        self.whole(first)
        self.assertNotIn("acme", first.text("main"))

    def test_an_operators_zone_has_traffic_alone(self):
        page = self.signed_in("operator", "/zones/201?account=2&tab=settings")
        self.assertTrue(page.script("return document.querySelector('nav[aria-label=\"Parts of this zone\"]').hidden"))
        self.assertTrue(page.script("return Boolean(document.querySelector('.tile'))"))
        self.assertEqual(page.text(".trouble"), "")
        page.quiet()

    def test_what_each_role_is_offered(self):
        seen = {}
        for key in ("user", "billing", "operator", "empty"):
            page = self.signed_in(key)
            seen[key] = [address.split("?")[0] for address in self.views(page)]
            offers = page.promise("return (await (await fetch('/console/session')).json()).offers")
            for address in self.views(page) if key == "empty" else ():  # (The others': cases_views.py.)
                with self.subTest(key=key, view=address):
                    self.open(page, address.removeprefix("/console"))
                    self.assertEqual(page.text("main .trouble"), "")
                    self.assertNotIn("Not for this key", page.text("main"))
                    page.quiet()
            if not {"logs", "operator"} & set(offers):
                self.open(page, "/logs")
                self.assertIn("Not for this key", page.text("main"))
        self.assertFalse([one for one in seen["user"] if "/operator/" in one])
        self.assertFalse([one for one in seen["billing"] if "/operator/" in one])
        self.assertIn("/console/logs", seen["user"])


class Lost(ConsoleCase):
    """A server that cannot be reached, and one that was begun anew."""

    BANNER = "!document.querySelector('.banner').hidden"

    def test_the_page_says_so_keeps_what_it_has_and_recovers(self):
        page = self.signed_in(path="/containers")
        page.offline()
        page.click(page.named("button", "Deploy shop"))
        page.wait(self.BANNER)
        self.assertIn("does not answer", page.text(".banner"))
        self.assertIn("shop", page.text("main table"))
        page.offline(False)
        page.wait(f"!({self.BANNER})")
        page.click(page.named("button", "Deploy shop"))
        page.wait("document.querySelector('.news').textContent === 'shop runs.'")

    def test_signing_out_clears_the_page_and_ends_the_session_later(self):
        page = self.signed_in(path="/containers")
        page.offline()
        page.click(page.named("button", "Sign out"))
        page.find("form#sign-in")
        self.assertNotIn("shop", page.text())
        page.offline(False)
        page.wait("document.querySelector('.says').textContent === 'You are signed out.'")
        self.assertEqual(page.promise("return (await fetch('/console/session')).status"), 401)

    def test_what_is_read_once_is_read_when_the_server_is_back(self):
        page = self.signed_in("operator", "/operator/accounts")
        for path, there in (("/operator/health", "[aria-label='Audit log'] tbody tr"), ("/operator/alerts", "[aria-label=Alerts] .empty:not(:empty)"),
                            ("/operator/accounts", "tr[data-account]"), ("/operator/run?month=2026-10", "tr[data-account]")):
            with self.subTest(path=path):
                page.script("document.querySelector('main').dataset.before = ''")
                self.open(page, path)  # its module is here
                self.open(page, "/what-if")
                page.script("""globalThis.ask = fetch;
                    fetch = (url, options) => String(url).startsWith('/operations/') ? Promise.reject(new TypeError('gone')) : ask(url, options);""")
                self.open(page, path)
                self.assertFalse(page.script("return document.querySelector(arguments[0])", "main " + there))
                page.script("fetch = ask")
                page.wait(f"document.querySelector(\"main {there}\")")
                page.wait(f"!({self.BANNER})")

    # The server tells of the session once, with members of our own, and is gone then.
    SAYS = """const answers = arguments[0];
        globalThis.ask = fetch;
        fetch = async (url, options) => {
            if (url !== '/console/session' && url !== '/healthz') return ask(url, options);
            if (globalThis.said++) throw new TypeError('gone');
            const answer = await ask(url, options);
            return new Response(JSON.stringify({...await answer.json(), ...answers}), answer);
        };
        globalThis.said = 0;
        document.dispatchEvent(new Event('visibilitychange'));"""

    def test_the_sessions_end_clears_the_page_without_the_server(self):
        page = self.signed_in(path="/containers")
        page.script(self.SAYS, {"expires": "2026-11-04T09:00:00Z"})
        page.find("form#sign-in")
        self.assertIn("session has ended", page.text())
        self.assertNotIn("shop", page.text())

    def test_the_clock_is_asked_when_somebody_looks(self):
        page = self.signed_in(path="/overview")
        self.assertIn("29 Oct to 4 Nov 2026", page.text(".range summary"))
        page.script(self.SAYS, {"now": "2026-11-05T09:00:00Z", "expires": "2026-11-05T19:00:00Z"})
        page.wait("document.querySelector('.range summary').textContent.includes('30 Oct to 5 Nov 2026')")

    def test_a_server_begun_anew_knows_no_session(self):
        page = self.signed_in(path="/logs?zone=102&status=404")
        self.assertEqual(self.server.stop(), 0)
        page.script("document.querySelector('.chips button').click()")
        page.wait(self.BANNER)
        self.server.start()
        page.find("form#sign-in")
        self.assertIn("session has ended", page.text())
        page.type("#key", self.server.keys["user"])
        page.keys("Enter")
        self.whole(page)
        self.assertIn("/logs?zone=102", page.url())


class Hostile(ConsoleCase):
    def test_names_are_text(self):
        page = self.signed_in("nasty", "/logs?zone=401")
        for path in ("/logs?zone=401", "/logs?zone=402", "/logs?zone=403", "/overview?range=90d", "/zones?range=90d", "/zones/401",
                     "/zones/402", "/zones/403", "/events?shield=42&query=" + "%3Cimg%20src%3Dx%3E"):
            with self.subTest(path=path):
                self.open(page, path)
                self.assertNotEqual(page.script("return document.title"), "owned")
                self.assertEqual(page.script("return document.querySelectorAll('main img, main script, .top img').length"), 0)
                self.assertLessEqual(page.script("return document.documentElement.scrollWidth - innerWidth"), 0)
        page.quiet()
        self.assertIn(NASTY, page.text(".who"))


class Addresses(ConsoleCase):
    def test_a_link_shows_the_same_to_who_signs_in_reloads_and_goes_back(self):
        page = self.sign_in(self.page(), path="/logs?zone=101&status=404&last=3d")
        rows = "document.querySelectorAll('.entries tbody tr:not(.unfolded)').length"
        self.assertEqual(page.script(f"return {rows}"), 62)
        page.reload()
        self.whole(page)
        self.assertEqual(page.script(f"return {rows}"), 62)
        page.click(page.named("button", "Take away the filter status"))
        page.wait(f"{rows} === 100")
        self.assertNotIn("status", page.url())
        page.back()
        page.wait(f"{rows} === 62")
        self.assertIn("status=404", page.url())
        page.click(page.named("link", "Containers"))
        self.whole(page)
        page.back()
        page.wait(f"{rows} === 62")

    def test_an_address_that_leads_nowhere(self):
        page = self.signed_in(path="/no/such/view")
        self.assertIn("no such page", page.text("main"))

    def test_another_accounts_zone_is_refused_in_words(self):
        page = self.signed_in(path="/containers")
        self.open(page, "/logs?zone=201")
        self.assertIn("does not open this pull zone", page.text(".trouble"))
        self.open(page, "/logs?zone=101")
        self.assertEqual(page.text(".trouble"), "", "it was another zone's")
        self.open(page, "/zones/201")
        self.assertEqual(page.text(".trouble"), "The requested Pull Zone was not found.", "once")
        self.open(page, "/zones/201?range=30d")
        page.wait("document.querySelector('.trouble').textContent.includes('not found')", "what still is so")

    def test_an_operator_sees_all_accounts_until_one_is_named(self):
        page = self.signed_in("operator", "/overview")
        self.assertIn("Who grew", page.text("main"))
        self.open(page, "/overview?account=2")
        self.assertNotIn("Who grew", page.text("main"))
        self.assertGreater(page.script("return document.querySelectorAll('main .panel').length"), 3)
        page.back()
        page.wait("document.querySelector('main').textContent.includes('Who grew')")

    def test_a_search_that_is_refused_shows_no_rows_of_another(self):
        page = self.signed_in(path="/zones?range=90d&search=video")
        self.assertEqual(page.script("return document.querySelectorAll('tr[data-zone]').length"), 1)
        self.open(page, "/zones?range=90d&search=" + "a" * 300)
        self.assertIn("at most 255 bytes", page.text(".trouble"))
        self.assertEqual(page.script("return [document.querySelectorAll('tr[data-zone]').length, document.querySelector('main .empty').textContent]"), [0, ""])
        self.assertEqual(page.script("return document.querySelector('input[type=search]').value"), "a" * 300)

    def test_a_scenario_that_was_cut_off_is_not_run_as_another(self):
        page = self.signed_in(path='/what-if?scenario={"scenario":"dearer","patch":{"ban')
        self.assertIn("cannot be read", page.text("main .empty"))
        self.assertNotIn("Run this scenario", page.text("main"))

    def test_a_link_with_a_scenario_waits_to_be_run(self):
        page = self.signed_in(path='/what-if?scenario={"scenario":"dearer"}')
        page.forget()
        button = page.named("button", "Run this scenario")
        self.assertEqual([one["url"] for one in page.traffic() if one["url"].endswith("/billing/what-if")], [])
        page.click(button)
        page.wait("!document.body.textContent.includes('Run this scenario')")

    def test_a_mistake_in_what_is_closed_is_shown(self):
        page = self.signed_in(path="/what-if")
        page.script("const one = document.querySelector('input[aria-label=\"Factor on usage, Europe\"]'); one.value = 'much';"
                    "document.querySelectorAll('main details').forEach(part => part.open = false)")
        page.click(page.named("button", "Run"))
        page.wait("document.activeElement.ariaLabel === 'Factor on usage, Europe' && document.activeElement.closest('details').open")

    def test_a_command_that_is_being_copied_stays(self):
        page = self.signed_in("operator", "/operator/intake")
        page.wait("document.querySelector('main .panel p')")
        page.script("globalThis.cure = document.querySelector('[aria-label=\"What needs attention\"] p'); globalThis.drawn = document.querySelector('.tile')")
        self.asked_again(page)
        page.wait("!drawn.isConnected")
        self.assertTrue(page.script("return cure.isConnected"))

    def test_a_logs_last_day_is_whole(self):
        page = self.signed_in(path="/logs?zone=101&from=2026-11-03&to=2026-11-03")
        page.wait("document.querySelectorAll('.entries tbody tr').length > 10")


class Rows(ConsoleCase):
    SHOWN = "document.querySelectorAll('.entries tbody tr:not(.unfolded)').length"

    def test_request_logs_are_the_apis(self):
        page = self.signed_in(path="/logs?zone=101")
        answer = self.server.get("/v2/pullzones/101/logs?limit=10000").json()["data"]
        self.assertEqual(len(answer), 250)
        while page.script(f"return {self.SHOWN}") < 250:  # older rows come as the end is seen
            before = page.script(f"return {self.SHOWN}")
            page.script("const box = document.querySelector('.table-scroll'); box.scrollTo(0, box.scrollHeight)")
            page.wait(f"{self.SHOWN} > {before}")
        shown = page.script("return [...document.querySelectorAll('.entries time')].map(one => one.dateTime)")
        self.assertEqual(shown, [row["timestamp"] for row in answer])
        page.wait("document.querySelector('.table-foot').textContent.includes('all there are')")

    def test_a_line_unfolds_and_a_click_on_a_value_filters(self):
        page = self.signed_in(path="/logs?zone=102")
        page.click(".entries tbody button")
        newest = self.server.get("/v2/pullzones/102/logs?limit=1").json()["data"][0]
        names = page.script("return [...document.querySelectorAll('.unfolded dt')].map(one => one.textContent)")
        self.assertEqual(names, list(newest))
        page.click(page.named("button", newest["cacheStatus"]))
        page.wait(f"{self.SHOWN} > 0 && location.search.includes('cacheStatus={newest['cacheStatus']}')")
        self.whole(page)
        kinds = page.script("return [...new Set([...document.querySelectorAll('.entries tbody tr:not(.unfolded)')]"
                            ".map(row => row.cells[3].textContent))]")
        self.assertEqual(kinds, [newest["cacheStatus"]])

    def test_lines_come_as_they_are_written_and_once(self):
        page = self.signed_in("other", "/logs?zone=201")
        before = page.script(f"return {self.SHOWN}")
        line = LOG.split(b"\n")[0].replace(b"|101|", b"|201|").replace(b"1793707200000", b"1793782700000") + b"\n"
        answer = self.server.ask("POST", "/ingest/logs", "sender", line)
        self.assertEqual(answer.status, 200, answer.body)
        self.asked_again(page)
        page.wait(f"document.querySelector('.entries time').dateTime.startsWith('2026-11-04T08:58:20')")
        self.assertEqual(page.script(f"return {self.SHOWN}"), before + 1)

    def test_events_are_the_exports(self):
        page = self.signed_in(path="/events?shield=42&action=block")
        times = "[...document.querySelectorAll('.entries time')].map(one => one.dateTime)"
        expected = [json.loads(line) for line in events().splitlines()]
        expected = [one for one in expected if one["action"] == "block"]
        while page.script(f"return {self.SHOWN}") < len(expected):
            before = page.script(f"return {self.SHOWN}")
            page.script("const box = document.querySelector('.table-scroll'); box.scrollTo(0, box.scrollHeight)")
            page.wait(f"{self.SHOWN} > {before}")
        shown = page.script(f"return {times}.map(one => Date.parse(one))")
        self.assertEqual(shown, [one["timestamp"] for one in expected])
        page.click(page.named("button", "Export all as CSV"))
        data = page.downloaded("event-logs-42.csv")
        self.assertEqual(data.count(b"\r\n"), len(expected) + 1)
        self.assertIn(b"\"'=1+1\"" if b"\"'=1+1\"" in data else b"'=1+1", data)

    def test_a_shield_zone_of_no_list_is_asked_about_when_somebody_wants_it(self):
        page = self.signed_in(path="/events?shield=9")
        self.assertIn("Shield zone 9 is not one of this account's.", page.text("main"))
        page.quiet()
        page.click(page.named("button", "Look for them"))
        page.wait("document.querySelector('.trouble .error')")
        page.quiet("/shield/event-logs/9/export - .* 404")

    def test_a_container_is_deployed(self):
        """Without a hook it runs at once; one that fails shows what it printed, and why."""
        page = self.signed_in(path="/containers")
        self.assertEqual(page.script("return document.querySelector('[data-field=maxNumberOfApplications]').dataset.value"), "5")
        self.assertFalse(page.of(page.named("button", f"Deploy {NASTY}"), "enabled"))
        page.click(page.named("button", "Deploy shop"))
        page.wait("document.querySelector('.news').textContent === 'shop runs.'")
        page.wait("document.querySelector('tr[data-app=shop] [data-field=status]').dataset.value === 'active'")
        page.wait("document.querySelector('[data-field=deployment]').dataset.value === 'none'")
        self.assertIn("No output of a deployment is kept here.", page.text("[data-field=deployment]"))
        hook = self.server.path / "hook"
        hook.write_text(f"#!/bin/sh\necho \"pulls $1\"\nread -r _ <{hook}.pipe\n"
                        "echo '<b>no such image</b>'\nexit 7\n")
        hook.chmod(0o755)
        os.mkfifo(f"{hook}.pipe")
        self.server.stop()
        self.server.start("--deploy-hook", hook)
        self.addCleanup(self.server.start)
        self.addCleanup(self.server.stop)
        page = self.signed_in(path="/containers")
        page.click(page.named("button", "Deploy shop"))
        page.wait("document.querySelector('pre[aria-label=Output]').textContent === 'pulls shop'")
        self.assertIn("app=shop", page.script("return location.search"))
        Path(f"{hook}.pipe").write_bytes(b"\n")
        page.wait("document.querySelector('[data-field=deployment]').dataset.value === 'ended'")
        self.assertEqual(page.script("return document.querySelector('pre[aria-label=Output]').textContent"),
                         "pulls shop\n<b>no such image</b>")
        self.assertRegex(page.script("return document.querySelector('[data-field=deployment]').textContent"),
                         "^It failed, with exit status 7, at .*: it ended with status 7[.]$")
        page.wait("document.querySelector('.news').textContent === 'shop: the deployment failed. What it printed is under Output.'")
        page.click(page.named("button", "Output of shop"))
        page.wait("document.querySelector('section[aria-label=Deployment]').hidden")
        page.quiet()
