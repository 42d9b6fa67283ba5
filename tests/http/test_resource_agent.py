#!/usr/bin/env python3
"""ocf:tollbook:server, without a cluster: each action against real servers on two ports, as Pacemaker calls it, with the exit codes of
the OCF Resource Agent API."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.request
import xml.etree.ElementTree as xml
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, SOURCE, TOLLBOOK, hit, run
from follower import stored, until
from script import held_port
from test_standby import Primary

AGENT = SOURCE / "server/packaging/resource-agent"
SUCCESS, GENERIC, ARGS, UNIMPLEMENTED, INSTALLED, CONFIGURED, NOT_RUNNING, PROMOTED, FAILED_PROMOTED = 0, 1, 2, 3, 5, 6, 7, 8, 9


class Node:
    """A machine of the cluster: its folder, its port, and the agent on it."""

    def __init__(self, folder, name, port):
        self.name, self.port = name, port
        self.folder = folder / name
        self.folder.mkdir()
        self.db = self.folder / "tollbook.db"
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {}

    def know(self, servers, key_file, attribute):
        self.environment = {
            **ENVIRONMENT, "PATH": f"{attribute}:{os.environ['PATH']}", "OCF_RESOURCE_INSTANCE": "tollbook:0", "HA_RSCTMP": str(self.folder / "run"),
            "OCF_RESKEY_CRM_meta_on_node": self.name, "OCF_RESKEY_CRM_meta_timeout": "60000", "SCORE": str(self.folder / "score"),
            "OCF_RESKEY_binary": str(TOLLBOOK), "OCF_RESKEY_db": str(self.db), "OCF_RESKEY_servers": servers,
            "OCF_RESKEY_key_file": str(key_file), "OCF_RESKEY_user": "", "OCF_RESKEY_log": str(self.folder / "log"),
            "OCF_RESKEY_options": f"--listen 127.0.0.1:{self.port} --threads 2"}

    def act(self, action, **more):
        """Returns the exit code."""
        done = subprocess.run([AGENT, action], env={**self.environment, **more}, capture_output=True, text=True, timeout=PATIENCE)
        self.said = done.stdout + done.stderr
        return done.returncode

    def epoch(self):
        with urllib.request.urlopen(f"{self.url}/replica/epoch", timeout=PATIENCE) as answer:
            return json.load(answer)

    def score(self):
        return int((self.folder / "score").read_text().split()[-1])

    def pid(self):
        return int((self.folder / "run/tollbook-tollbook.pid").read_text())

    def kill(self):
        os.kill(self.pid(), signal.SIGKILL)
        until(lambda: self.act("monitor") == NOT_RUNNING, lambda: self.said)

    def messages(self):
        return self.said + ((self.folder / "log").read_text() if (self.folder / "log").exists() else "")


class Alone(unittest.TestCase):
    """What needs no server."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-agent-")
        self.addCleanup(folder.cleanup)
        self.node = Node(Path(folder.name), "alpha", 1)
        self.key = Path(folder.name) / "key"
        self.key.write_text("k\n")
        self.node.know("alpha=http://127.0.0.1:1 beta=http://127.0.0.1:2", self.key, folder.name)

    def test_meta_data(self):
        self.assertEqual(self.node.act("meta-data"), SUCCESS)
        agent = xml.fromstring(self.node.said)
        self.assertEqual((agent.tag, agent.get("name")), ("resource-agent", "server"))
        actions = [(action.get("name"), action.get("role")) for action in agent.iter("action")]
        self.assertEqual(actions, [("start", None), ("stop", None), ("monitor", "Unpromoted"), ("monitor", "Promoted"), ("promote", None),
                                   ("demote", None), ("meta-data", None), ("validate-all", None)])
        text = AGENT.read_text()
        for parameter in agent.iter("parameter"):
            self.assertIn(f"OCF_RESKEY_{parameter.get('name')}", text)
            self.assertTrue(parameter.find("longdesc").text and parameter.find("content") is not None)

    def test_validate_all(self):
        self.assertEqual(self.node.act("validate-all"), SUCCESS, self.node.said)
        for change, status, said in (({"OCF_RESKEY_binary": "/nowhere/tollbook"}, INSTALLED, "/nowhere/tollbook is not installed"),
                                     ({"OCF_RESKEY_servers": "beta=http://b"}, CONFIGURED, "this node is alpha"),
                                     ({"OCF_RESKEY_servers": "alpha=http://a"}, CONFIGURED, "NODE=URL"),
                                     ({"OCF_RESKEY_key_file": "/nowhere/key"}, ARGS, "role Replica")):
            for action in ("validate-all", "start", "promote", "demote"):
                self.assertEqual(self.node.act(action, **change), status, action)
                self.assertIn(said, self.node.said)

    def test_where_nothing_runs(self):
        self.assertEqual(self.node.act("monitor"), NOT_RUNNING)
        self.assertEqual(self.node.act("stop"), SUCCESS)
        self.assertEqual(self.node.act("monitor", OCF_RESKEY_binary="/nowhere/tollbook"), NOT_RUNNING)
        self.assertEqual(self.node.act("migrate"), UNIMPLEMENTED)

    def test_another_process_of_that_number(self):
        """It is left alone."""
        run_folder = self.node.folder / "run"
        run_folder.mkdir()
        (run_folder / "tollbook-tollbook.pid").write_text(f"{os.getpid()}\n")
        self.assertEqual(self.node.act("monitor"), NOT_RUNNING)
        self.assertEqual(self.node.act("stop"), SUCCESS)


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class Cluster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-agent-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        attribute = self.folder / "bin/crm_attribute"
        attribute.parent.mkdir()
        attribute.write_text('#!/bin/sh\necho "$@" >"$SCORE"\n')
        attribute.chmod(0o755)
        self.nodes = [Node(self.folder, name, held_port()) for name in ("alpha", "beta")]
        first = Primary(log=None)  # the database as it is before there is a cluster
        self.keys = first.keys
        key_file = self.folder / "key"
        shutil.copy(first.key_file, key_file)
        first.stop()
        shutil.copy(first.db, self.nodes[0].db)
        first.folder.cleanup()
        for node in self.nodes:
            node.know(" ".join(f"{one.name}={one.url}" for one in self.nodes), key_file, attribute.parent)
            self.addCleanup(node.act, "stop")

    def does(self, node, action, status=SUCCESS):
        self.assertEqual(node.act(action), status, f"{node.name}: {action}\n{node.messages()}")

    def send(self, node, zone):
        log = self.folder / f"log-{zone}"
        log.write_bytes(hit(zone))
        run("ingest", "--server", ",".join(one.url for one in self.nodes), "--key", self.keys["ingest"], log)

    def level(self):
        until(lambda: self.nodes[0].epoch()["piece"] == self.nodes[1].epoch()["piece"], lambda: self.nodes[1].messages())

    def test_a_failover_and_back(self):
        alpha, beta = self.nodes
        self.does(alpha, "start")
        self.does(alpha, "promote")
        self.does(alpha, "monitor", PROMOTED)
        self.assertEqual(alpha.score(), 100)
        self.does(beta, "start")
        self.does(beta, "monitor", SUCCESS)
        self.assertEqual(beta.score(), 90)
        self.send(alpha, 101)
        self.level()

        alpha.kill()
        self.does(beta, "promote")
        self.does(beta, "promote")
        self.does(beta, "start")
        self.does(beta, "monitor", PROMOTED)
        self.send(beta, 102)

        self.does(alpha, "start")
        self.does(alpha, "monitor", SUCCESS)
        self.level()
        self.assertEqual(alpha.epoch()["role"], "standby")

        # Back, as an operator moves it: demote, then promote the other one.
        self.does(beta, "demote")
        self.does(beta, "demote")
        self.does(alpha, "promote")
        self.send(alpha, 201)
        self.level()
        self.assertEqual([node.epoch()["role"] for node in self.nodes], ["primary", "standby"])
        for node in self.nodes:
            self.does(node, "stop")
            self.does(node, "monitor", NOT_RUNNING)
            self.assertEqual(stored(node.db)[0], {101: 1, 102: 1, 201: 1})


if __name__ == "__main__":
    unittest.main()
