"""POST /mc/registries/digest: against Debian's docker-registry, open and behind tokens, and against
registries that lie, hang, redirect, and answer too much."""
import contextlib
import json
import re
import select
import socket
import struct
import subprocess
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from harness import CATALOG, ENVIRONMENT, PATIENCE, TOLLBOOK, Case, Server, run, together
from registries import (DOCKER_LIST, DOCKER_MANIFEST, MANIFEST, OCI_INDEX, OCI_MANIFEST, Odd, Python,
                        Registry, Secure, Six, Tokens, digest_of)

PASSWORD = "only the registry knows"


def image(registry, name="shop", tag="1", **more):
    return {"registryId": registry, "imageNamespace": "acme", "imageName": name, "tag": tag, **more}


class Digest(Case):
    TIMEOUT = "20000"

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        folder = Path(cls.place.name)
        cls.parts = []
        try:
            cls.start_all(folder)
        except BaseException:
            cls.tearDownParts()
            raise

    @classmethod
    def start_all(cls, folder):
        cls.start_registries(folder)
        (folder / "secrets").mkdir()
        (folder / "secrets/reader").write_text(PASSWORD + "\n")
        (folder / "secrets/wrong").write_text("guessed\n")
        (folder / "secrets/reader").chmod(0o600)
        (folder / "secrets/wrong").chmod(0o640)
        cls.server = Server("--registry-secrets", folder / "secrets", "--registry-timeout-ms",
                            cls.TIMEOUT)
        answer = cls.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(cls.catalog()).encode())
        assert answer.status == 200, answer.body

    @classmethod
    def part(cls, part):
        cls.parts.append(part)
        return part

    @classmethod
    def start_registries(cls, folder):
        cls.open = cls.part(Registry(folder))
        cls.tokens = cls.part(Tokens(folder, "reader", PASSWORD))
        cls.closed = cls.part(Registry(folder, cls.tokens.realm, cls.tokens.certificate))
        cls.other = cls.part(Python())
        cls.other.answer = lambda handler: handler.reply(200, MANIFEST)
        cls.odd = cls.part(Odd(cls.other.url))
        cls.secure, cls.six = cls.part(Secure(cls.tokens)), cls.part(Six(cls.other.url))
        cls.pushed = {
            "1": cls.open.push("acme/shop", "1")[0],
            "docker": cls.open.push("acme/shop", "docker", DOCKER_MANIFEST)[0],
            "index": cls.open.push_index("acme/shop", "index", OCI_INDEX, OCI_MANIFEST)[0],
            "list": cls.open.push_index("acme/shop", "list", DOCKER_LIST, DOCKER_MANIFEST)[0],
        }

    @classmethod
    def catalog(cls):
        with_user = {"username": "reader", "secret": "reader"}
        return {**CATALOG, "registries": [
            {"id": "open", "url": cls.open.url},
            {"id": "closed", "account": 1, "url": cls.closed.url, "token_realm": cls.tokens.realm,
             **with_user},
            {"id": "closed", "account": 2, "url": cls.closed.url, "token_realm": cls.tokens.realm,
             "username": "reader", "secret": "wrong"},
            {"id": "anonymous", "url": cls.closed.url, "token_realm": cls.tokens.realm},
            {"id": "undeclared", "url": cls.closed.url},
            {"id": "unread", "url": cls.closed.url, "username": "reader", "secret": "missing"},
            {"id": "odd", "url": cls.odd.url},
            {"id": "basic", "url": cls.odd.url, **with_user},
            {"id": "mixed", "url": cls.odd.url, "token_realm": cls.odd.url + "/token"},
            {"id": "name", "url": "http://127.registry.invalid:1"},
            {"id": "secure", "url": cls.secure.url}, {"id": "six", "url": cls.six.url},
            {"id": "away", "url": "http://127.0.0.1:1"},
            {"id": "others", "account": 2, "url": cls.open.url},
        ]}

    @classmethod
    def tearDownParts(cls):
        for part in cls.parts:
            part.close()
        cls.place.cleanup()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.tearDownParts()

    def ask(self, body, key="user", media="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.server.ask("POST", "/mc/registries/digest", key, data, Content_Type=media)

    def found(self, digest, body, **more):
        answer = self.ask(body, **more)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json(), {"imageNamespace": body["imageNamespace"],
                                         "image": body["imageName"], "tag": body["tag"],
                                         "digest": digest})

    def not_found(self, body, *wrong, **more):
        """422 with these fields in its errors."""
        answer = self.ask(body, **more)
        self.assertEqual(answer.status, 422, answer.body)
        self.assertEqual(answer.json()["title"], "Validation Error")
        self.assertEqual([entry["field"] for entry in answer.json()["errors"]], list(wrong))
        self.assertTrue(all(entry["message"] for entry in answer.json()["errors"]))

    def failed(self, body, said, key="user"):
        """500 that tells the client nothing of addresses; the operator's log says why."""
        before, end = len(self.server.messages()), time.monotonic() + PATIENCE
        while True:  # of one kind of failure few are said a second
            answer = self.ask(body, key)
            self.assertEqual(answer.status, 500, answer.body)
            self.assertEqual(answer.json()["detail"], "The registry did not answer as it should.")
            self.assertEqual(answer.json()["errors"], [])
            messages = self.server.messages()[before:]
            if messages or time.monotonic() > end:
                break
        self.assertIn(said, messages)


class RealRegistry(Digest):
    # holds: digest.endpoint, digest.body
    def test_images_indexes_and_lists(self):
        for tag, digest in self.pushed.items():
            self.found(digest, image("open", tag=tag))
            self.has_fields("digest", self.ask(image("open", tag=tag)).json())

    # holds: digest.body-types
    def test_bodies_of_every_json_type(self):
        for media in ("application/json", "text/json", "application/vnd.acme+json",
                      "application/json; charset=utf-8"):
            self.found(self.pushed["1"], image("open"), media=media)
        answer = self.ask(image("open"), media="text/plain")
        self.assertEqual(answer.status, 415)
        self.assertEqual(answer.json()["status"], 415)

    def test_tokens(self):
        self.found(self.pushed["index"], image("closed", tag="index"))
        method, target, _ = self.tokens.asked[-1]
        self.assertEqual(method, "GET")
        self.assertIn("scope=repository%3Aacme%2Fshop%3Apull&service=tollbook%27s%20test%20registry",
                      target)
        self.not_found(image("closed", tag="nope"), "tag")

    def test_a_token_is_refused_to_whom_the_password_is_unknown(self):
        self.failed(image("closed"), "HTTP 401 when asked for a token as reader", "other")
        self.failed(image("anonymous"), "HTTP 401 when asked for a token.")

    def test_tokens_come_from_the_declared_realm_alone(self):
        asked = len(self.tokens.asked)
        self.failed(image("undeclared"), "is not the token_realm that the catalogue declares")
        self.assertEqual(len(self.tokens.asked), asked)

    def test_passwords_that_others_may_read_are_warned_of(self):
        said = self.server.messages()
        self.assertRegex(said, r"Warning: others may read the password of a registry \S+/wrong: chmod 600 ")
        self.assertNotIn("secrets/reader", said)
        said = run("serve", "--db", self.server.db, "--registry-secrets", "/nowhere", expect=2).stderr
        self.assertIn(b"--registry-secrets /nowhere: No such file or directory", said)

    def test_a_secret_that_is_not_there(self):
        self.failed(image("unread"), "The secret missing of")

    def test_what_is_not_there(self):
        self.not_found(image("open", tag="nope"), "tag")
        self.not_found(image("open", "nope"), "tag")
        self.not_found(image("dockerhub"), "registryId")
        self.not_found(image("others"), "registryId")
        self.found(self.pushed["1"], image("others"), key="other")

    # holds: digest.errors
    def test_bodies_that_are_wrong(self):
        whole = image("open")
        for name in whole:
            self.not_found({k: v for k, v in whole.items() if k != name}, name)
            for value in (None, "", " \t", 5, True, ["x"], {}, "x" * 101, "\u00e9" * 100):
                self.not_found({**whole, name: value}, name)
        self.not_found({}, *whole_order())
        for name in ("../../x", "a//b", "A", "a/../b", "a?b", "a%2fb", "a#b", "a b", "-a", "a.", "a..b"):
            self.not_found({**whole, "imageName": name}, "imageName")
            self.not_found({**whole, "imageNamespace": name}, "imageNamespace")
        for tag in ("../x", "a/b", ".a", "-a", "a?b", "a b", "a:b"):
            self.not_found({**whole, "tag": tag}, "tag")
        for body in (b"", b"{", b"[]", b"null", b'"x"', b"{}x", b"\xff", b'{"tag":"a","tag":"b"}'):
            self.not_found(body, None)
        self.found(self.pushed["1"], {**whole, "more": [1]})

    def test_bodies_that_are_long(self):
        """What is no digest's question is not read as one, announced or not."""
        long = json.dumps({**image("open"), "more": "x" * 70000}).encode()
        answer = self.ask(long)
        self.assertEqual(answer.status, 413)
        self.assertEqual(answer.json()["status"], 413)
        with self.server.wire() as wire:
            answer = wire.ask("POST", "/mc/registries/digest", {
                "AccessKey": self.server.keys["user"], "Content-Type": "application/json",
                "Transfer-Encoding": "chunked"}, b"%x\r\n%s\r\n0\r\n\r\n" % (len(long), long))
        self.assertEqual(answer.status, 413)
        self.found(self.pushed["1"], {**image("open"), "more": "x" * 60000})

    def test_the_body_of_401_has_errors(self):
        answer = self.ask(image("open"), "nobody")
        self.assertEqual(answer.status, 401)
        self.assertEqual(list(answer.json()),
                         ["title", "status", "detail", "instance", "errors", "id"])


def whole_order():
    return ("registryId", "imageName", "imageNamespace", "tag")


class OddRegistries(Digest):
    def test_without_a_digest_the_manifest_is_hashed(self):
        for name in ("nodigest", "nohead", "oddheader", "sha512", "two", "interim"):
            self.found(digest_of(MANIFEST), image("odd", name))

    def test_a_digest_that_is_not_the_manifests(self):
        self.failed(image("odd", "liar"), "says that the manifest's digest is sha256:000")

    def test_ten_megabytes(self):
        self.failed(image("odd", "big"), "answers more than 4194304 bytes")

    def test_headers_without_end(self):
        self.failed(image("odd", "flood"), "answers more than 65536 bytes of headers")

    def test_one_of_several_challenges(self):
        self.found(digest_of(MANIFEST), image("mixed", "mixed"))
        self.assertIn("/token?scope=repository%3Aacme%2Fmixed%3Apull&service=it",
                      [target for _, target, _ in self.odd.asked])

    def test_a_token_that_is_more_than_a_word_is_none(self):
        for name in ("led", "split"):
            self.failed(image("mixed", name), "answers no token")

    def test_no_redirection_is_followed_and_nobody_else_asked(self):
        self.failed(image("odd", "redirect"), "HTTP 307; redirects are not followed")
        self.failed(image("odd", "elsewhere_token"), "is not the token_realm")
        self.failed(image("odd", "hostile_token"), r"http://x\x1b[2J\x9b/token")
        self.assertEqual(self.other.asked, [])

    def test_no_manifest_no_answer_no_server(self):
        self.failed(image("odd", "page"), "did not answer with a manifest")
        self.failed(image("odd", "old"), "did not answer with a manifest")
        self.failed(image("odd", "many"), "did not answer with a manifest")  # a million values
        self.failed(image("odd", "failing"), "HTTP 500")

        self.failed(image("odd", "failing"), "HTTP 500 for a manifest")
        self.failed(image("odd", "closing"), self.odd.url)
        self.failed(image("away"), "http://127.0.0.1:1: ")

    def test_a_certificate_that_nobody_vouches_for(self):
        self.failed(image("secure", "nodigest"), "certificate")
        self.assertEqual(self.secure.asked, [])

    def test_an_authority_of_ones_own(self):
        server = Server("--ca", self.tokens.certificate)
        self.addCleanup(server.close)
        self.assertEqual(server.ask("POST", "/catalog?delete=true", "operator", json.dumps(self.catalog()).encode()).status, 200)
        def ask():
            return server.ask("POST", "/mc/registries/digest", "user", json.dumps(image("secure", "nodigest")).encode(),
                              Content_Type="application/json").status
        self.assertEqual(ask(), 200)
        server.stop()
        with unittest.mock.patch.dict(ENVIRONMENT, SSL_CERT_FILE=str(self.tokens.certificate)):
            server.start()
        self.assertEqual(ask(), 200)
        self.secure.asked.clear()

    def test_an_address_of_ipv6(self):
        self.found(digest_of(MANIFEST), image("six", "nodigest"))

    def test_an_image_that_is_not_open(self):
        self.not_found(image("odd", "forbidden"), "imageName")

    def test_basic_credentials_go_to_the_registry_that_declares_them(self):
        self.found(digest_of(MANIFEST), image("basic", "nodigest"))
        self.assertTrue(self.odd.asked[-1][2]["Authorization"].startswith("Basic "))
        self.found(digest_of(MANIFEST), image("odd", "nodigest"))
        self.assertNotIn("Authorization", self.odd.asked[-1][2])
        self.assertNotIn(PASSWORD, self.server.messages())


class Proxied(Digest):
    """A proxy of the environment is asked for other machines, and for none that is this one."""

    @classmethod
    def start_all(cls, folder):
        cls.proxy = cls.part(Python())
        cls.proxy.answer = lambda handler: handler.reply(200, MANIFEST)
        ENVIRONMENT["http_proxy"] = cls.proxy.url
        try:
            super().start_all(folder)
        finally:
            del ENVIRONMENT["http_proxy"]

    def test_a_name_that_begins_like_a_loopback_address_is_none(self):
        self.found(self.pushed["1"], image("open"))
        self.assertEqual(self.proxy.asked, [])
        self.found(digest_of(MANIFEST), image("name"))
        self.assertEqual(self.proxy.asked[0][1],
                         "http://127.registry.invalid:1/v2/acme/shop/manifests/1")


class Slow(Digest):
    @classmethod
    def start_registries(cls, folder):
        cls.open = cls.closed = cls.tokens = cls.other = cls.secure = cls.six = cls.part(Python())
        cls.tokens.realm = cls.tokens.url
        cls.odd = cls.part(Odd(cls.other.url))


class Hanging(Slow):
    TIMEOUT = "500"

    def test_one_that_hangs_is_given_up(self):
        self.failed(image("odd", "hang"), "Timeout was reached")
        self.failed(image("odd", "drip"), "Timeout was reached")

    def test_those_who_wait_hold_up_nobody_and_are_not_too_many(self):
        """50 look-ups at once, and meanwhile everything else is answered."""
        def work(i):
            if i < 50:
                return self.ask(image("odd", "hang")).status
            return self.server.get("/mc/apps").status
        answers = together(54, work)
        self.assertEqual(answers[50:], [200] * 4)
        self.assertLessEqual(set(answers[:50]), {500, 503})
        # Three were asked; of the 16 that wait most have no time left, and are not given as much again.
        self.assertGreaterEqual(answers[:50].count(500), 3)
        self.assertLess(answers[:50].count(500), 3 + 16)

    def test_a_client_that_goes_while_its_image_is_looked_up(self):
        asked = len(self.odd.asked)
        body = json.dumps(image("odd", "hang")).encode()
        for i in range(3):
            with self.server.wire() as wire:
                wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                wire.send(b"POST /mc/registries/digest HTTP/1.1\r\nHost: x\r\nAccessKey: "
                          + self.server.keys["user"].encode()
                          + b"\r\nContent-Type: application/json\r\nContent-Length: "
                          + str(len(body)).encode() + b"\r\n\r\n" + body)
                while len(self.odd.asked) == asked + i:
                    self.server.get("/healthz")
        end = time.monotonic() + PATIENCE
        while self.ask(image("odd", "nodigest")).status != 200:  # once they are given up
            self.assertLess(time.monotonic(), end)


class Sharing(Slow):
    """One account's look-ups hang for ever."""

    TIMEOUT = "600000"

    def test_an_account_whose_registry_hangs_leaves_room_for_the_others(self):
        body = json.dumps(image("odd", "hang")).encode()
        with contextlib.ExitStack() as clients:
            wires = [clients.enter_context(self.server.wire()) for _ in range(3 + 16 + 1)]
            for i, wire in enumerate(wires):
                while len(self.odd.asked) < min(i, 3):  # these are not waiting any more
                    self.server.get("/healthz")
                wire.send(b"POST /mc/registries/digest HTTP/1.1\r\nHost: x\r\nAccessKey: "
                          + self.server.keys["user"].encode()
                          + b"\r\nContent-Type: application/json\r\nContent-Length: "
                          + str(len(body)).encode() + b"\r\n\r\n" + body)
            refused = select.select([wire.sock for wire in wires], [], [], PATIENCE)[0]
            self.assertEqual(len(refused), 1)
            answer = next(wire for wire in wires if wire.sock == refused[0]).read("POST")
            self.assertEqual(answer.status, 503)
            self.assertIn("16 look-ups of this account wait", answer.json()["detail"])
            self.found(digest_of(MANIFEST), image("odd", "nodigest"), key="other")
            self.assertEqual([target for _, target, _ in self.odd.asked].count(
                "/v2/acme/hang/manifests/1"), 3)


# Stands before the C library: names of .invalid are never found, and never not found.
LOST_NAMES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
typedef int look(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    while (name && strstr(name, ".invalid"))
        pause();
    return ((look *)dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, found);
}
"""


@unittest.skipIf(re.search(rb"__(asan|tsan)_init", TOLLBOOK.read_bytes()),
                 "a sanitizer wants to be the first library")
class LostNames(Slow):
    """A name server that is away holds up neither look-ups nor a stop."""

    TIMEOUT = "300"

    @classmethod
    def start_all(cls, folder):
        (folder / "lost.c").write_text(LOST_NAMES)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "lost.so", folder / "lost.c"],
                       check=True)
        ENVIRONMENT["LD_PRELOAD"] = str(folder / "lost.so")
        try:
            super().start_all(folder)
        finally:
            del ENVIRONMENT["LD_PRELOAD"]

    def test_a_name_that_is_never_found_is_given_up(self):
        for _ in range(5):  # more than there are threads
            self.failed(image("name"), "Timeout was reached")
        self.found(digest_of(MANIFEST), image("odd", "nodigest"))


class Stopping(Slow):
    """The server stops while a registry hangs."""

    TIMEOUT = "600000"

    def test_a_stop_does_not_wait_for_the_registry(self):
        with self.server.wire() as wire:
            body = json.dumps(image("odd", "hang")).encode()
            wire.send(b"POST /mc/registries/digest HTTP/1.1\r\nHost: x\r\nAccessKey: "
                      + self.server.keys["user"].encode()
                      + b"\r\nContent-Type: application/json\r\nContent-Length: "
                      + str(len(body)).encode() + b"\r\n\r\n" + body)
            while not self.odd.asked:
                self.server.get("/healthz")
            self.server.stop()
            answer = wire.read("POST")
        self.assertIn(answer.status, (500, 503))
        self.server.start()


if __name__ == "__main__":
    unittest.main()
