"""POST /mc/apps/{appId}/deploy with a hook: how applications go from one status to the next, over hooks
that fail, hang, are killed, print without end or leave something behind, over restarts and catalogues.

The hook does what its application is called; what it did is in files of the test's folder.
"""
import json
import os
import signal
import tempfile
import time
import unittest
from pathlib import Path

from harness import CATALOG, NOW, PATIENCE, Case, Server, run, together

HOOK = r"""#!/bin/sh
echo "$1 $2 $TOLLBOOK_APP_ID $TOLLBOOK_APP_ACCOUNT $TOLLBOOK_APP_NAME" >>"$FOLDER/calls"
case $1 in
fail) echo "no such image"; exit 7;;
killed) kill -9 $$;;
hang) sleep 600 & echo $! >"$FOLDER/child"; wait;;
stubborn) trap '' TERM; while :; do :; done;;
loud) head -c 10000000 /dev/zero | tr '\0' 'x' | fold -w 99; printf 'a\033b\n'; exit 3;;
endless) exec yes more;;
behind) sleep 600 & echo $! >"$FOLDER/behind"; exit 0;;
looks) ls /proc/self/fd >"$FOLDER/looks"; cat >>"$FOLDER/looks"; exit 0;;
tells) echo "pulls"; printf 'a\033b\377c <b>\n'
  while [ ! -e "$FOLDER/open" ]; do read -r _ <"$FOLDER/pipe"; done; echo "no such image"; exit 4;;
gate*) while [ ! -e "$FOLDER/open" ]; do read -r _ <"$FOLDER/pipe"; done; exit 0;;
esac
"""
APPS = ("good", "fail", "killed", "hang", "stubborn", "loud", "endless", "behind", "looks", "halted", "tells",
        *(f"gate{i}" for i in range(8)))


class Deploying(Case):
    LIMIT = 600000

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)
        os.mkfifo(self.folder / "pipe")
        hook = self.folder / "hook"
        hook.write_text(HOOK.replace("$FOLDER", str(self.folder)))
        hook.chmod(0o755)
        self.options = ("--deploy-hook", hook, "--deploy-timeout-ms", self.LIMIT)
        self.server = Server(*self.options)
        self.apply()

    def tearDown(self):
        try:
            self.server.close()
        finally:
            self.place.cleanup()

    @classmethod
    def setUpClass(cls):
        pass  # each test has a server of its own

    @classmethod
    def tearDownClass(cls):
        pass

    def apply(self, **status):
        """The catalogue; an application's declared status is "inactive" unless it is given."""
        apps = [{"id": name, "account": 1, "name": f"app {name}",
                 "status": status.get(name, "suspended" if name == "halted" else "inactive")}
                for name in APPS if status.get(name) != "gone"]
        answer = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(
            {**CATALOG, "container_apps": apps}).encode())
        self.assertEqual(answer.status, 200, answer.body)

    def deploy(self, app, status=200):
        answer = self.server.ask("POST", f"/mc/apps/{app}/deploy", "user")
        self.assertEqual(answer.status, status, answer.body)

    def status(self, app):
        items = self.server.get("/mc/apps").json()["items"]
        return next((item["status"] for item in items if item["id"] == app), None)

    def until(self, true, *what):
        end = time.monotonic() + PATIENCE
        while not true():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.005)

    def becomes(self, app, status):
        self.until(lambda: self.status(app) == status, app, status, self.server.messages())

    def calls(self):
        try:
            return (self.folder / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []

    def number_in(self, name):
        self.until(lambda: (self.folder / name).exists() and (self.folder / name).read_text())
        return int((self.folder / name).read_text())

    def open_gate(self):
        (self.folder / "open").touch()
        self.wake()

    def wake(self):
        """Whoever reads the pipe looks again. Its last reader may go at any moment."""
        try:
            fd = os.open(self.folder / "pipe", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return
        try:
            os.write(fd, b"\n" * 100)
        except BrokenPipeError:
            pass
        finally:
            os.close(fd)

    def ends(self, pid):
        def gone():
            try:
                return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            except FileNotFoundError:
                return True
        self.until(gone, "process", pid, "lives")


class Hooks(Deploying):
    def test_what_the_hook_is_given(self):
        self.deploy("good")
        self.becomes("good", "active")
        self.assertEqual(self.calls(), ["good 1 good 1 app good"])
        self.assertIn("deploying good of account 1: done", self.server.messages())
        self.deploy("good")  # what is active is deployed again
        self.until(lambda: len(self.calls()) == 2)
        self.becomes("good", "active")

    def test_it_has_no_input_and_no_other_descriptor(self):
        self.deploy("looks")
        self.becomes("looks", "active")
        self.assertLessEqual(set((self.folder / "looks").read_text().split()), set("0123"))

    def test_one_that_fails_makes_it_failing_and_the_log_says_why(self):
        self.deploy("fail")
        self.becomes("fail", "failing")
        messages = self.server.messages()
        self.assertIn("deploying fail of account 1: no such image", messages)
        self.assertIn("deploying fail of account 1: failed: the hook: it ended with status 7", messages)
        self.deploy("killed")
        self.becomes("killed", "failing")
        self.assertIn("failed: the hook: signal 9 ended it", self.server.messages())

    def test_one_that_is_no_longer_there(self):
        (self.folder / "hook").unlink()
        self.deploy("good")
        self.becomes("good", "failing")
        self.assertIn("it does not start: No such file", self.server.messages())

    def test_output_is_bounded_and_plain(self):
        self.deploy("loud")
        self.becomes("loud", "failing")
        messages = self.server.messages()
        self.assertIn("(more output, not shown)", messages)
        self.assertLess(len(messages), 400_000)
        self.assertNotIn("\033", messages)

    def test_what_it_leaves_running_holds_nothing_up(self):
        self.deploy("behind")
        self.becomes("behind", "active")
        os.kill(self.number_in("behind"), signal.SIGKILL)

    def test_the_answer_does_not_wait_for_it_and_others_are_answered(self):
        """Four at once, the others wait; meanwhile everything is answered."""
        gates = [f"gate{i}" for i in range(8)]
        together(8, lambda i: self.deploy(gates[i]))
        self.until(lambda: len(self.calls()) == 4)
        self.assertEqual({self.status(gate) for gate in gates}, {"progressing"})
        self.assertEqual(self.server.get("/statistics").status, 200)
        self.assertEqual(len(self.calls()), 4)
        self.open_gate()
        for gate in gates:
            self.until(lambda: self.wake() or self.status(gate) == "active", gate)
        self.assertEqual(len(self.calls()), 8)

    def test_of_one_application_there_is_one_at_a_time_and_the_last_request_is_met(self):
        self.deploy("gate0")
        self.until(lambda: len(self.calls()) == 1)
        for _ in range(3):
            self.deploy("gate0")
        self.deploy("good")
        self.becomes("good", "active")
        self.assertEqual(len([call for call in self.calls() if call.startswith("gate0")]), 1)
        self.open_gate()
        self.until(lambda: self.wake() or self.status("gate0") == "active")
        self.assertEqual(len([call for call in self.calls() if call.startswith("gate0")]), 2)

    def test_what_is_suspended_is_not_deployed(self):
        self.deploy("halted", 409)
        self.deploy("nope", 404)
        self.assertEqual(self.status("halted"), "suspended")
        self.assertEqual(self.calls(), [])

    def test_a_catalogue_that_speaks_while_it_runs(self):
        """Suspended, or gone: how the hook ends changes nothing. The same again: it does."""
        for app in ("gate1", "gate2", "gate3"):
            self.deploy(app)
        self.until(lambda: len(self.calls()) == 3)
        self.apply(gate1="suspended", gate2="gone")
        self.assertEqual([self.status(app) for app in ("gate1", "gate2", "gate3")],
                         ["suspended", None, "progressing"])
        self.open_gate()
        self.until(lambda: self.wake() or self.status("gate3") == "active")
        self.until(lambda: self.server.messages().count(": done") == 3)
        self.assertEqual([self.status(app) for app in ("gate1", "gate2")], ["suspended", None])
        self.apply(gate1="suspended")
        self.assertEqual(self.status("gate3"), "active")


class Output(Deploying):
    OPEN = {"succeeded": None, "exitStatus": None, "reason": "", "endedAt": None}

    def of(self, app, status=200):
        answer = self.server.get(f"/mc/apps/{app}/deployment")
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def ended(self, app, exit_status, reason, output):
        """Its status is there before its thread is free."""
        self.until(lambda: self.of(app)["state"] == "ended", app)
        self.assertEqual(self.of(app), {"state": "ended", "succeeded": not reason, "exitStatus": exit_status,
                                        "reason": reason, "endedAt": NOW, "output": output})

    def test_it_is_shown_while_it_runs_and_kept_when_it_ended(self):
        self.assertEqual(self.of("tells"), {**self.OPEN, "state": "none", "output": []})
        self.deploy("tells")
        first = ["pulls", "a?b\ufffdc <b>"]
        self.until(lambda: self.of("tells")["output"] == first, self.of("tells"))
        self.assertEqual(self.of("tells"), {**self.OPEN, "state": "running", "output": first})
        self.assertEqual(self.of("good")["output"], [])
        self.open_gate()
        self.until(lambda: self.wake() or self.status("tells") == "failing")
        self.ended("tells", 4, "it ended with status 4", [*first, "no such image"])
        self.server.stop()
        self.server.start(*self.options)
        self.ended("tells", 4, "it ended with status 4", [*first, "no such image"])
        self.deploy("tells")  # the gate is open
        self.becomes("tells", "failing")
        self.until(lambda: self.of("tells")["state"] == "ended")
        self.apply(tells="gone")
        self.of("tells", 404)
        self.apply()
        self.assertEqual(self.of("tells")["state"], "none")

    def test_what_ended_otherwise_than_by_itself_has_no_exit_status(self):
        self.deploy("killed")
        self.becomes("killed", "failing")
        self.ended("killed", None, "signal 9 ended it", [])
        self.deploy("good")
        self.becomes("good", "active")
        self.ended("good", 0, "", [])
        (self.folder / "hook").unlink()
        self.deploy("good")
        self.becomes("good", "failing")
        self.ended("good", None, "it does not start: No such file or directory", [])

    def test_it_is_bounded(self):
        self.deploy("loud")
        self.becomes("loud", "failing")
        self.ended("loud", 3, "it ended with status 3", ["x" * 99] * 1000 + ["(more output, not shown)"])

    def test_one_that_waits_for_its_turn(self):
        gates = [f"gate{i}" for i in range(5)]
        for gate in gates:
            self.deploy(gate)
        self.until(lambda: len(self.calls()) == 4)
        self.assertEqual(sorted(self.of(gate)["state"] for gate in gates), ["running"] * 4 + ["waiting"])
        self.open_gate()
        for gate in gates:
            self.until(lambda: self.wake() or self.status(gate) == "active", gate)


class Limited(Deploying):
    LIMIT = 300

    def test_one_that_hangs_is_ended_with_what_it_started(self):
        self.deploy("hang")
        self.becomes("hang", "failing")
        self.assertIn("it did not end within 300 ms", self.server.messages())
        self.ends(self.number_in("child"))

    def test_one_that_ignores_being_asked_is_made_to_end(self):
        self.deploy("stubborn")
        self.deploy("endless")
        self.becomes("stubborn", "failing")
        self.becomes("endless", "failing")


class Restarts(Deploying):
    def test_what_a_stop_cuts_off_is_begun_anew(self):
        self.deploy("hang")
        child = self.number_in("child")
        self.assertEqual(self.server.stop(), 0)
        self.ends(child)
        (self.folder / "hook").write_text("#!/bin/sh\nexit 0\n")
        self.server.start(*self.options)
        self.becomes("hang", "active")

    def test_what_a_crash_cuts_off_is_begun_anew(self):
        self.deploy("gate0")
        self.until(lambda: self.calls())
        for i in range(1, 8):
            self.deploy(f"gate{i}")
        self.server.process.kill()
        self.server.process.wait()
        self.server.log_file.close()
        self.open_gate()
        self.until(lambda: self.wake() or True)
        self.server.start(*self.options)
        for i in range(8):
            self.until(lambda: self.wake() or self.status(f"gate{i}") == "active")

    def test_without_a_hook_what_waits_is_done(self):
        self.deploy("hang")
        self.number_in("child")
        self.server.stop()
        self.server.start()
        self.becomes("hang", "active")
        self.deploy("fail")
        self.assertEqual(self.status("fail"), "active")


class Options(unittest.TestCase):
    def test_a_hook_that_cannot_be_run_is_refused_at_once(self):
        with tempfile.TemporaryDirectory() as place:
            plain = Path(place) / "plain"
            plain.write_text("#!/bin/sh\n")
            run("init", "--db", f"{place}/t.db")
            for hook in ("hook", f"{place}/none", plain, place):
                said = run("serve", "--db", f"{place}/t.db", "--deploy-hook", hook, expect=2).stderr
                self.assertIn(b"must be the path", said)


if __name__ == "__main__":
    unittest.main()
