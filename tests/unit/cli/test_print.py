"""`invoice --format html|pdf`: what a customer gets, from the built executable and the shared object beside
it. PDFs are the same bytes in every environment."""
import json
import os
import shutil
import subprocess
import unittest
from tool import NOW, TOOL, Case

OCTOBER = ("--month", "2026-10")
BOOK = {"book": "plain", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}}
CATALOG = {"accounts": [{"id": i, "name": f"account {i}"} for i in (1, 2)],
           "zones": [{"id": 100 + i, "account": i, "name": f"zone {i}",
                      "created": "2026-01-05T00:00:00Z"} for i in (1, 2)]}
PLACES = ({"LC_ALL": "C", "TZ": "UTC"},
          {"LC_ALL": "C.UTF-8", "LANGUAGE": "ja", "TZ": "Asia/Tokyo"},
          {"LANG": "tr_TR.UTF-8", "LANGUAGE": "zh_TW", "PANGO_LANGUAGE": "ar", "TZ": "America/New_York"})


class Print(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(BOOK)))
        self.apply(json.dumps(CATALOG))
        rows = [{"zone": 100 + i, "hour": "2026-10-03T05:00:00Z", "region": "DE", "requests": 3,
                 "bytes": 18_200_000_000} for i in (1, 2)]
        self.run_tool("import", "--db", "t.db", "-",
                      stdin="".join(json.dumps(row) + "\n" for row in rows).encode())

    def invoice(self, *words, **more):
        return self.run_tool("invoice", "--db", "t.db", *OCTOBER, *words, **more)

    def pdf(self, folder=None, **environment):
        """The bytes: run_tool's output is text."""
        done = subprocess.run([TOOL, "invoice", "--db", os.path.join(self.folder, "t.db"), *OCTOBER,
                               "--account", "1", "--format", "pdf"], capture_output=True,
                              cwd=folder or self.folder,
                              env={"PATH": os.environ["PATH"], "TOLLBOOK_NOW": NOW, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        return done.stdout

    def words(self, pdf):
        if not shutil.which("pdftotext"):
            self.skipTest("pdftotext is not installed")
        return subprocess.run(["pdftotext", "-layout", "-", "-"], input=pdf, check=True,
                              capture_output=True).stdout.decode()

    def test_a_draft_and_an_invoice_as_pdf(self):
        draft = self.pdf()
        self.assertTrue(draft.startswith(b"%PDF-") and draft.endswith(b"%%EOF\n"))
        words = self.words(draft)
        for word in ("Draft", "18.2 GB", "0.01 USD per GB", "0.18 USD", "Page 1 of 1"):
            self.assertIn(word, words)
        self.invoice("--finalize")
        words = self.words(self.pdf())
        self.assertIn("2026-000001", words)
        self.assertNotIn("Draft", words)

    def test_the_same_bytes_everywhere(self):
        self.invoice("--finalize")
        first = self.pdf()
        for place in PLACES:
            self.assertEqual(self.pdf(folder="/", **place), first, place)

    def test_a_month_is_a_file_for_each_invoice(self):
        self.invoice("--finalize")
        self.invoice("--format", "pdf", "--out", "pdfs")
        names = sorted(os.listdir(self.folder / "pdfs"))
        self.assertEqual(names, ["2026-000001.pdf", "2026-000002.pdf"])
        self.assertEqual((self.folder / "pdfs" / names[0]).read_bytes(), self.pdf())

    def test_the_page_says_the_same(self):
        self.invoice("--finalize")
        page, words = self.invoice("--account", 1, "--format", "html").out, self.words(self.pdf())
        for word in ("2026-000001", "18.2 GB", "0.01 USD per GB", "0.18 USD", "Statement"):
            self.assertIn(word, page)
            self.assertIn(word, words)


if __name__ == "__main__":
    unittest.main()
