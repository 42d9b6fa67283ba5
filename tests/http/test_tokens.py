"""Bearer tokens under each algorithm, with keys made by openssl: tokens of tollbook's own and of other
issuers, forgeries, claims at their edges, and key files that hold something else.
"""
import base64
import hashlib
import hmac
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ENVIRONMENT, NOW, PATIENCE, TOLLBOOK, Server, Wire, hit, run

NOW_S = 1793782800  # NOW
LOGS = "/v2/pullzones/101/logs?limit=1"


def b64(data):
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def openssl(*words, stdin=None):
    return subprocess.run(["openssl", *map(str, words)], input=stdin, check=True,
                          capture_output=True, timeout=PATIENCE).stdout


def raw_signature(der):
    """The two numbers of a DER signature, 32 bytes each, as RFC 7518 wants them."""
    first = der[4:4 + der[3]]
    second = der[6 + der[3]:]
    return b"".join(n.lstrip(b"\0").rjust(32, b"\0") for n in (first, second))


class Keys:
    """Files in a folder: rsa and ec with their public halves, and some that suit nobody."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-token-")
        self.path = Path(self.folder.name)
        for name, *options in (("rsa", "RSA", "rsa_keygen_bits:2048"),
                               ("weak", "RSA", "rsa_keygen_bits:1024"),
                               ("ec", "EC", "ec_paramgen_curve:P-256"),
                               ("p384", "EC", "ec_paramgen_curve:P-384")):
            openssl("genpkey", "-algorithm", options[0], "-pkeyopt", options[1], "-out",
                    self.path / name)
            openssl("pkey", "-in", self.path / name, "-pubout", "-out", self.path / f"{name}.pub")
        openssl("req", "-x509", "-new", "-key", self.path / "rsa", "-subj", "/CN=x", "-out",
                self.path / "certificate")
        openssl("pkey", "-in", self.path / "rsa", "-aes128", "-passout", "pass:x", "-out",
                self.path / "locked")
        for name, text in (("secret", b"s" * 32 + b"\n"), ("short", b"s" * 31 + b"\n"),
                           ("empty", b""), ("long", b"s" * 65537), ("full", b"s" * 65536),
                           ("half", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")):
            (self.path / name).write_bytes(text)
        for file in self.path.iterdir():
            file.chmod(0o600)

    def sign(self, header, claims, key):
        """A token as another issuer would make it."""
        text = f"{b64(header)}.{b64(claims)}".encode()
        if header["alg"].upper().startswith("HS"):
            done = hmac.new(key, text, hashlib.sha256).digest()
        else:
            done = openssl("dgst", "-sha256", "-sign", self.path / key, stdin=text)
            if header["alg"].upper() == "ES256":
                done = raw_signature(done)
        return f"{text.decode()}.{b64(done)}"


def setUpModule():
    global KEYS
    KEYS = Keys()


def tearDownModule():
    KEYS.folder.cleanup()


def issue(key, *options, now=NOW, account="1"):
    return subprocess.run([TOLLBOOK, "token", "--token-key", KEYS.path / key, "--account", account,
                           *options], env={**ENVIRONMENT, "TOLLBOOK_NOW": now}, check=False,
                          capture_output=True, timeout=PATIENCE)


CLAIMS = {"sub": "1", "scope": "User", "exp": NOW_S + 60}


class Algorithm:
    """Tests of one algorithm; the server has the key that checks."""
    name = private = public = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.stop()
        cls.server.start("--token-key", KEYS.path / cls.public, "--token-alg", cls.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def status(self, token, target=LOGS, **headers):
        fields = {"Authorization": f"Bearer {token}",
                  **{k.replace("_", "-"): v for k, v in headers.items()}}
        with Wire(self.server.port) as wire:
            return wire.ask("GET", target, fields).status

    def signed(self, claims, header=None):
        return KEYS.sign({"alg": self.name, "typ": "JWT", **(header or {})}, claims, self.key())

    def key(self):
        return b"s" * 32 if self.name == "HS256" else self.private

    # holds: auth.logs-bearer
    def test_tokens_of_the_command_line_and_of_others(self):
        done = issue(self.private, "--token-alg", self.name)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        token = done.stdout.decode().strip()
        header = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
        self.assertEqual(header, {"alg": self.name, "typ": "JWT"})
        for good in (token, self.signed(CLAIMS)):
            self.assertEqual(self.status(good), 200)
            self.assertEqual(self.status(good, "/statistics"), 200)
            self.assertEqual(self.status(good, "/v2/pullzones/201/logs"), 403)
            self.assertEqual(self.status(good, "/keys"), 403)
            self.assertEqual(self.status(good, AccessKey=""), 200)  # an empty header is no key
        self.assertEqual(self.status(self.signed({**CLAIMS, "sub": str(2**63 - 1)}), "/statistics"),
                         200)

    def test_a_batch_id_is_its_account_s(self):
        """Neither sees the other's batch, nor is held back by it."""
        bodies = {account: b"".join(hit(101, 9000 + i) for i in range(account + 1)) for account in (1, 2)}
        fields = {account: {"Authorization": "Bearer " + self.signed({**CLAIMS, "sub": str(account), "scope": "Ingest"}),
                            "Idempotency-Key": "own"} for account in bodies}

        def ask(method, target, account, body=None):
            with Wire(self.server.port) as wire:
                return wire.ask(method, target, fields[account], body)

        for accepted, known in ((1, 0), (0, 1)):
            for account, body in bodies.items():
                lines = account + 1
                report = ask("POST", "/ingest/logs", account, body).json()
                self.assertEqual((report["accepted"], report["knownLines"]), (accepted * lines, known * lines))
                segments = ask("GET", "/ingest/segments?batch=own", account).json()["segments"]
                self.assertEqual([one["accepted"] for one in segments], [lines])
        answer = ask("POST", "/ingest/logs", 1, bodies[2])
        self.assertEqual((answer.status, answer.error), (409, "batch.conflict"))

    def test_claims_that_do_not_hold(self):
        without = {k: {n: v for n, v in CLAIMS.items() if n != k} for k in CLAIMS}
        for claims in (
                *without.values(), {**CLAIMS, "exp": NOW_S}, {**CLAIMS, "exp": str(NOW_S + 60)},
                {**CLAIMS, "exp": None}, {**CLAIMS, "exp": -1}, {**CLAIMS, "exp": NOW_S + 0.5},
                {**CLAIMS, "exp": 2**63}, {**CLAIMS, "nbf": NOW_S + 1}, {**CLAIMS, "nbf": "now"},
                {**CLAIMS, "nbf": NOW_S + 9.5}, {**CLAIMS, "nbf": None},
                {**CLAIMS, "sub": 1}, {**CLAIMS, "sub": "01"}, {**CLAIMS, "sub": "-1"},
                {**CLAIMS, "sub": "0"}, {**CLAIMS, "sub": "1e3"}, {**CLAIMS, "sub": str(2**63)},
                {**CLAIMS, "sub": ""}, {**CLAIMS, "scope": ""}, {**CLAIMS, "scope": "Operator"},
                {**CLAIMS, "scope": "User Operator"}, {**CLAIMS, "scope": "user"},
                {**CLAIMS, "scope": ["User"]}, [], "x", 1):
            token = self.signed(claims)
            self.assertEqual(self.status(token), 403, claims)
            self.assertEqual(self.status(token, "/statistics"), 401, claims)
        for claims in ({**CLAIMS, "exp": NOW_S + 1}, {**CLAIMS, "nbf": NOW_S},
                       {**CLAIMS, "scope": " SubuserBilling  User "}):
            self.assertEqual(self.status(self.signed(claims)), 200, claims)
        self.assertEqual(self.status(self.signed({**CLAIMS, "scope": "SubuserBilling"})), 403)
        self.assertEqual(self.status(self.signed({**CLAIMS, "scope": "SubuserBilling"}), "/billing"),
                         200)

    def test_other_algorithms_and_signatures(self):
        good = self.signed(CLAIMS)
        head, claims, signature = good.split(".")
        other = {"HS256": "RS256", "RS256": "ES256", "ES256": "RS256"}[self.name]
        forged = [KEYS.sign({"alg": "HS256"}, CLAIMS, key) for key in self.known_bytes()]
        for alg in ("none", "None", "NONE", "nOnE", "", "HS384", "HS512", "RS384", "ES384", "PS256",
                    "EdDSA", other, None, 1, ["HS256"]):
            start = f"{b64({'alg': alg, 'typ': 'JWT'})}.{claims}"
            forged += [start, f"{start}.", f"{start}.{signature}"]
        forged += [KEYS.sign({"alg": other}, CLAIMS, {"RS256": "rsa", "ES256": "ec"}[other])]
        forged += [self.signed(CLAIMS, {"alg": alg}) for alg in (self.name.lower(), self.name.title())]
        tampered = b64({**CLAIMS, "sub": "2"})
        forged += [f"{head}.{tampered}.{signature}", f"{head}.{claims}.", f"{head}.{claims}",
                   f"{head}.{claims}.{signature[:-4]}", f"{head}.{claims}.{signature}AAAA",
                   f"{head}.{claims}.{signature}.{signature}", f".{claims}.{signature}",
                   f"{b64({'typ': 'JWT'})}.{claims}.{signature}", f"e30.{claims}.{signature}"]
        for token in forged:
            self.assertEqual(self.status(token), 403, token)
            self.assertEqual(self.status(token, "/statistics"), 401, token)
        self.assertEqual(self.status(good), 200)

    def test_one_spelling_of_a_token(self):
        good = self.signed(CLAIMS)
        head, claims, signature = good.split(".")
        digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        other = signature[:-1] + digits[digits.index(signature[-1]) ^ 1]  # the same bytes
        twice = b64(b'{"alg":"none","alg":"%s"}' % self.name.encode())
        claimed = b64(b'{"sub":"2",' + json.dumps(CLAIMS).encode()[1:])
        for token in (f"{good}=", f"{good}==", f"{head}=.{claims}.{signature}",
                      f"{head}.{claims}==.{signature}", f"{head}.{claims}.{other}",
                      f"{head}.{claims}.{signature[:9]}\t{signature[9:]}", f" {good}", f"{good} x",
                      self.raw(twice, claims), self.raw(head, claimed)):
            self.assertEqual(self.status(token), 403, token)
            self.assertEqual(self.status(token, "/statistics"), 401, token)
        for header in ({"crit": ["b64"], "b64": False}, {"crit": ["exp"]}, {"crit": []},
                       {"crit": None}, {"crit": "b64", "b64": True}):
            self.assertEqual(self.status(self.signed(CLAIMS, header)), 403, header)
        self.assertEqual(self.status(self.signed(CLAIMS, {"kid": "1", "b64": True})), 200)

    def raw(self, head, claims):
        """Signed as it stands."""
        text = f"{head}.{claims}".encode()
        if self.name == "HS256":
            done = hmac.new(self.key(), text, hashlib.sha256).digest()
        else:
            done = openssl("dgst", "-sha256", "-sign", KEYS.path / self.private, stdin=text)
            done = raw_signature(done) if self.name == "ES256" else done
        return f"{text.decode()}.{b64(done)}"

    def known_bytes(self):
        """What an outsider knows of the key, and could try as a secret."""
        if self.name == "HS256":
            return [b"", b"s" * 31, b"s" * 32 + b"\n"]
        pem = (KEYS.path / self.public).read_bytes()
        der = openssl("pkey", "-pubin", "-in", KEYS.path / self.public, "-outform", "DER")
        return [pem, pem.rstrip(), pem + b"\0", der, b""]

    def test_garbage(self):
        deep = "[" * 3000
        for token in ("", " ", ".", "..", "...", "a", "a.b", "a.b.c", "=.=.=", "A" * 4096, "A" * 4097,
                      "A" * 10000, "." * 4000, f"{b64(deep.encode())}.e30.x", "\xff.\xfe.\xfd",
                      f"{b64(b'{')}.{b64(CLAIMS)}.x", f"{b64(b'null')}.{b64(b'null')}.x"):
            self.assertEqual(self.status(token), 403, token[:50])
        long = self.signed({**CLAIMS, "note": "x" * 4000})
        self.assertEqual(self.status(long), 403)  # more than 4096 characters
        with Wire(self.server.port) as wire:
            for text in (f"bearer {self.signed(CLAIMS)}", f"BEARER {self.signed(CLAIMS)}",
                         self.signed(CLAIMS)):
                self.assertEqual(wire.ask("GET", LOGS, {"Authorization": text}).status, 200)
            for text in ("Basic dTpw", "Bearer", f"Bearer{self.signed(CLAIMS)}"):
                self.assertEqual(wire.ask("GET", LOGS, {"Authorization": text}).status, 403)
            challenge = wire.ask("GET", LOGS).headers["www-authenticate"]
            self.assertEqual(challenge, 'AccessKey realm="tollbook", Bearer realm="tollbook"')


class Hs256(Algorithm, unittest.TestCase):
    name, private, public = "HS256", "secret", "secret"


class Rs256(Algorithm, unittest.TestCase):
    name, private, public = "RS256", "rsa", "rsa.pub"


class Es256(Algorithm, unittest.TestCase):
    name, private, public = "ES256", "ec", "ec.pub"


class Files(unittest.TestCase):
    """What is no key for its use is said when it is named, not by refusing every token later."""

    def serve(self, key, algorithm):
        with tempfile.TemporaryDirectory() as folder:
            db = Path(folder) / "t.db"
            run("init", "--db", db)
            return run("serve", "--db", db, "--listen", "127.0.0.1:0", "--token-key",
                       KEYS.path / key, "--token-alg", algorithm, expect=2).stderr.decode()

    def sign(self, key, algorithm, status=2):
        done = issue(key, "--token-alg", algorithm)
        self.assertEqual((done.returncode, bool(done.stdout)), (status, status == 0), done.stderr)
        return done.stderr.decode()

    def test_a_file_must_hold_what_its_algorithm_takes(self):
        cases = [
            (self.sign, "rsa.pub", "RS256", "holds a public key; tokens are signed with the private"),
            (self.sign, "ec", "RS256", "RS256 takes an RSA key of at least 2048 bits."),
            (self.sign, "weak", "RS256", "RS256 takes an RSA key of at least 2048 bits."),
            (self.sign, "rsa", "ES256", "ES256 takes a key on the curve P-256."),
            (self.sign, "p384", "ES256", "ES256 takes a key on the curve P-256."),
            (self.sign, "locked", "RS256", "its key has a passphrase."),
            (self.sign, "secret", "RS256", "not a private key in PEM form."),
            (self.sign, "rsa", "HS256", "no secret for HS256"),
            (self.sign, "rsa.pub", "HS256", "no secret for HS256"),
            (self.sign, "short", "HS256", "a secret has at least 32 bytes."),
            (self.sign, "empty", "HS256", "a secret has at least 32 bytes."),
            (self.sign, "long", "HS256", "longer than 64 KiB"),
            (self.serve, "rsa", "RS256", "openssl pkey -in FILE -pubout"),
            (self.serve, "locked", "RS256", "its key has a passphrase."),
            (self.serve, "ec.pub", "RS256", "RS256 takes an RSA key of at least 2048 bits."),
            (self.serve, "weak.pub", "RS256", "RS256 takes an RSA key of at least 2048 bits."),
            (self.serve, "p384.pub", "ES256", "ES256 takes a key on the curve P-256."),
            (self.serve, "certificate", "RS256", "openssl x509 -in FILE -noout -pubkey"),
            (self.serve, "half", "ES256", "not a public key in PEM form."),
            (self.serve, "rsa.pub", "HS256", "no secret for HS256"),
            (self.serve, "short", "HS256", "a secret has at least 32 bytes."),
        ]
        for use, key, algorithm, sentence in cases:
            said = use(key, algorithm)
            self.assertIn(sentence, said, (key, algorithm))
            self.assertIn(f"{KEYS.path / key}: ", said)

    def test_files_that_are_none(self):
        for path, word in ((".", "directory"), ("nowhere", "No such file")):
            done = issue(path)
            self.assertEqual((done.returncode, done.stdout), (3, b""))
            self.assertIn(word, done.stderr.decode())
        self.sign("full", "HS256", 0)

    def test_a_secret_that_others_may_read_is_said(self):
        for key, algorithm, warned in (("secret", "HS256", True), ("rsa", "RS256", True)):
            (KEYS.path / key).chmod(0o640)
            said = self.sign(key, algorithm, 0)
            (KEYS.path / key).chmod(0o600)
            self.assertEqual("Warning: others may read the token key" in said, warned)
            self.assertEqual(self.sign(key, algorithm, 0), "")


if __name__ == "__main__":
    unittest.main()
