"""serve --proof-witness: each checkpoint is sent to the witnesses, and their signatures are served with it. One that is slow, lies, knows
another size or answers too much is reported, delays nothing and is asked again. What documents print of the log, over HTTP."""
import base64
import json
import re
import threading
import time
import unittest

from harness import PATIENCE, Server, Tls, run
from test_proof import BOOK, NAME, open_note, signed
from witness import TIME, Key, Witness


class Witnesses(unittest.TestCase):
    def setUp(self):
        self.good, self.other = Witness("witness.example/good", b"g" * 32), Witness("witness.example/other", b"o" * 32)
        self.server = Server()
        self.server.stop()
        self.key, self.books = self.server.path / "key", 0
        self.vkey = run("proof", "key", "--new", self.key, "--name", NAME).stdout.decode().strip()
        run("proof", "start", "--db", self.server.db, "--proof-key-file", self.key)

    def tearDown(self):
        self.good.close()
        self.other.close()
        self.server.close()

    def start(self, *options, timeout_ms=5000):
        self.server.start("--proof-key-file", self.key, *self.good.option, *self.other.option, "--proof-witness-timeout-ms", timeout_ms, *options)

    def add(self):
        """Another entry, which the server signs a checkpoint for."""
        self.books += 1
        run("book", "add", "--server", self.server.url, "--key", self.server.keys["operator"], "-",
            stdin=json.dumps({**BOOK, "book": f"book-{self.books}", "effective_from": f"2026-01-01T{self.books:02}:00:00Z"}).encode())

    def signers(self, checks=True):
        """The size of the newest checkpoint, and the witnesses that signed it; checks: each signature is looked at."""
        note = self.server.get("/proof/checkpoint", None).body.decode()
        text, _, lines = note.partition("\n\n")
        first, *others = lines.splitlines(keepends=True)
        found = []
        if not checks:
            return int(text.split("\n")[1]), sorted(line.split(" ")[1].rpartition("/")[2] for line in others)
        for line in others:
            dash, name, value = line.rstrip("\n").split(" ")
            key = next(w.key for w in (self.good, self.other) if w.key.name == name)
            value = base64.b64decode(value)
            moment = int.from_bytes(value[4:12], "big")
            self.assertEqual((dash, value[:4], moment), ("\u2014", key.id, TIME))
            self.assertTrue(signed(key.public, f"cosignature/v1\ntime {moment}\n{text}\n".encode(), value[12:]))
            found.append(name.rpartition("/")[2])
        return open_note(f"{text}\n\n{first}", self.vkey)[0], sorted(found)

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, self.server.messages())
            time.sleep(0.01)

    def until_signed(self, size, *names):
        """The newest checkpoint has this size and these signers, and keeps them."""
        self.until(lambda: self.signers(False) == (size, list(names)))
        self.assertEqual(self.signers(), (size, list(names)))

    def test_checkpoints_are_signed_whatever_a_witness_does(self):
        gate = threading.Event()

        def slow(status, answer, text):
            gate.wait(PATIENCE)
            return status, answer

        self.other.wrong = slow
        self.start(timeout_ms=600)
        self.until(lambda: self.signers(False)[1] == ["good"])  # which does not wait for the other
        size = self.signers()[0]
        self.add()
        self.until_signed(size + 1, "good")
        self.assertIn((size, size + 1), self.good.asked)  # with a proof, which the witness has checked
        self.until(lambda: "other did not sign the checkpoint: Timeout was reached" in self.server.messages())
        gate.set()
        self.other.wrong = None
        self.until_signed(size + 1, "good", "other")
        self.until(lambda: "after a failure" in self.server.messages())
        self.server.stop()
        self.start()  # none of what follows is slow, where this machine is busy either

        wrongs = (  # of both at once
            (("is wrong: the text was changed", lambda w, answer, text: (200, w.key.line(text.replace("\n", "x\n", 1)))),
             ("No known key signed this", lambda w, answer, text: (200, Key("witness.example/x", b"x" * 32).line(text)))),
            (("Its answer is too long", lambda w, answer, text: (200, answer * 200)),
             ("It answers 409 without the size", lambda w, answer, text: (409, "many\n"))),
            (("entries, and this one has signed", lambda w, answer, text: (409, "1000000\n")),
             ("It knows another log of this name", lambda w, answer, text: (409, f"{w.asked[-1][0]}\n"))),
            (("It answers 422: the log does not continue", lambda w, answer, text: (422, "")),
             ("It answers 500", lambda w, answer, text: (500, "x" * 100))))
        for pair in wrongs:
            for witness, (_, wrong) in zip((self.good, self.other), pair):
                witness.wrong = lambda status, answer, text, w=witness, wrong=wrong: wrong(w, answer, text)
            self.add()
            self.until(lambda: all(re.search(f"{w.key.name} did not sign the checkpoint: .*{said}", self.server.messages())
                                   for w, (said, _) in zip((self.good, self.other), pair)))
            self.assertEqual(self.signers(False)[1], [])
            self.good.wrong = self.other.wrong = None
            self.until(lambda: self.signers(False)[1] == ["good", "other"])
        size = self.signers()[0]
        labels = "{" + f'witness="{self.other.key.name}"' + "}"
        self.assertEqual(self.server.metric(f"tollbook_proof_witness_unsigned_entries{labels}"), 0)
        self.assertGreaterEqual(self.server.metric(f"tollbook_proof_witness_failures_total{labels}"), len(wrongs))
        self.assertGreaterEqual(self.server.metric(f"tollbook_proof_witness_signatures_total{labels}"), len(wrongs))
        self.server.stop()
        asked = len(self.good.asked)
        self.start()
        self.add()  # what it knows is forgotten, and learnt again
        self.until_signed(size + 1, "good", "other")
        self.assertIn((size, size + 1), self.good.asked[asked:])

    def test_certificates_are_checked(self):
        known, unknown = (Tls(self.server.path, name) for name in ("known", "unknown"))
        self.good.speak_tls(known.certificate, known.key)
        self.other.speak_tls(unknown.certificate, unknown.key)
        self.start("--ca", known.certificate)
        self.until(lambda: self.signers(False)[1] == ["good"])
        self.until(lambda: re.search("other did not sign the checkpoint: SSL certificate problem: .*serve --ca FILE names the authority",
                                     self.server.messages()))
        self.assertEqual(self.other.asked, [])

    def test_addresses_and_keys_that_are_wrong(self):
        url = "http://127.0.0.1:1/"
        for value, said in ((f"{url}", "URL=VKEY"), (f"ftp://a={self.good.key.vkey}", "http"), (f"{url}={self.vkey}", "not a witness's"),
                            (f"{url}={self.good.key.vkey[:-2]}", "--proof-witness")):
            done = run("serve", "--db", self.server.db, "--proof-witness", value, expect=2)
            self.assertIn(said, done.stderr.decode())
        twice = ("--proof-witness", f"{url}={self.good.key.vkey}")
        self.assertIn(b"named twice", run("serve", "--db", self.server.db, *twice, *twice, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
