"""What documents print of the log of documents: nothing before a checkpoint covers them; then its name, their entry and the first
checkpoint's root, the same at each later time, from the command line and from a server. Their stored text stays."""
import json
import unittest

from harness import Server, run
from test_proof import BOOK, NAME, open_note

URL = "https://billing.example.com/b"
NUMBER = "2026-000002"


class Documents(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.server.stop()
        self.key = self.server.path / "key"
        self.vkey = run("proof", "key", "--new", self.key, "--name", NAME).stdout.decode().strip()
        self.add("first", "2026-01-01")
        rows = [{"zone": zone, "hour": "2026-10-05T05:00:00Z", "region": "DE", "requests": 7, "bytes": 10**11} for zone in (101, 201)]
        run("import", "--db", self.server.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
        run("proof", "start", "--db", self.server.db, "--proof-key-file", self.key)  # whose checkpoint covers no document
        run("invoice", "--db", self.server.db, "--month", "2026-10", "--finalize")

    def tearDown(self):
        self.server.close()

    def add(self, name, day):
        run("book", "add", "--db", self.server.db, "-",
            stdin=json.dumps({**BOOK, "book": name, "effective_from": f"{day}T00:00:00Z"}).encode())

    def document(self, form, *words, number=NUMBER):
        return run("invoice", "--db", self.server.db, "--number", number, "--format", form, *words).stdout

    def sign(self):
        run("proof", "close-days", "--db", self.server.db, "--proof-key-file", self.key)

    def test_a_document_names_its_entry_and_the_first_checkpoint(self):
        text, first = self.document("json"), self.document("html", "--public-url", URL, number="2026-000001")
        for before in (first, self.document("html", "--public-url", URL)):
            self.assertNotIn(b"Log of documents", before)
            self.assertNotIn(b"<svg", before)
        self.sign()
        size, root = open_note(run("proof", "checkpoint", "--db", self.server.db).stdout.decode(), self.vkey)
        spaced = " ".join(root.hex()[i:i + 4] for i in range(0, 16, 4))
        index = int(run("query", "--db", self.server.db, "--format", "tsv", f"SELECT id FROM proof_entry WHERE subject='{NUMBER}'"
                        " AND type='invoice'").stdout.split()[1])
        self.assertLess(index, size)
        line = f"Log of documents {NAME}, entry {index}, checkpoint {spaced}"
        plain, coded = self.document("html").decode(), self.document("html", "--public-url", URL).decode()
        self.assertIn(f">{line}<", plain)
        self.assertNotIn("<svg", plain)
        self.assertIn(f">{line}<", coded)
        self.assertIn(f'<a href="{URL}/billing/invoices/{NUMBER}/proof">', coded)
        self.assertIn("<svg", coded)
        pdf = self.document("pdf", "--public-url", URL)
        self.assertNotEqual(pdf, self.document("pdf"))
        self.add("second", "2026-12-01")
        self.sign()
        self.assertEqual(self.document("json"), text)
        self.assertEqual(self.document("html", "--public-url", URL).decode(), coded)
        self.server.start("--public-url", URL)
        for accept, wanted in (("application/pdf", pdf), ("text/html", coded.encode())):
            answer = self.server.get(f"/billing/invoices/{NUMBER}", "other", Accept=accept)
            self.assertEqual((answer.status, answer.body), (200, wanted))

    def test_an_address_is_of_http_and_needs_no_escape(self):
        for url in ("billing.example.com", "https://", "https://a/", "https://a'b", "https://a\"b", "https://a?b", "https://a b",
                    "https://" + "a" * 250, "https:///a"):
            self.assertIn(b"--public-url", run("serve", "--db", self.server.db, "--public-url", url, expect=2).stderr)
            self.assertIn(b"--public-url", run("invoice", "--db", self.server.db, "--number", NUMBER, "--public-url", url, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
