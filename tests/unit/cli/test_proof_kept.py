"""A checkpoint that was kept elsewhere: `anchor` prints it, `verify --against` takes it. The log may have grown since; an older copy of the
file, a log that went another way and a signature by another key are differences."""
import json
import shutil
import unittest
from tool import Case

BOOK = {"currency": "USD", "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}}
NAME = "example.com/log"


class Kept(Case):
    def setUp(self):
        super().setUp()
        self.vkey = self.run_tool("proof", "key", "--new", "key", "--name", NAME).out.strip()
        self.books = 0
        self.add()

    def add(self, db="t.db", name=""):
        self.books += 1
        text = json.dumps({**BOOK, "book": f"book-{self.books}{name}", "effective_from": f"2026-01-01T{self.books:02}:00:00Z"})
        self.run_tool("book", "add", "--db", db, "-", stdin=text.encode())

    def sign(self, db="t.db"):
        self.run_tool("proof", "close-days", "--db", db, "--proof-key-file", "key")
        return self.run_tool("proof", "checkpoint", "--db", db).out

    def against(self, text, *words, db="t.db", status=0):
        done = self.run_tool("verify", "--db", db, "--format", "json", "--against", self.write("kept", text), *words, status=status)
        answer = json.loads(done.out)
        return answer["differences"], answer["notes"]

    def differs(self, said, text, *words, **more):
        self.assertIn(said, " ".join(self.against(text, "--vkey", self.vkey, *words, status=1, **more)[0]))

    def test_a_checkpoint_that_was_kept(self):
        plain = self.run_tool("anchor", "--db", "t.db").out
        self.assertEqual(plain.count("\n"), 1)
        self.run_tool("proof", "start", "--db", "t.db")
        self.assertEqual(self.run_tool("anchor", "--db", "t.db").out.count("\n"), 1)
        first = self.sign()
        printed = self.run_tool("anchor", "--db", "t.db").out
        self.assertEqual(printed.partition("\n")[2], first)
        shutil.copyfile(f"{self.folder}/t.db", f"{self.folder}/fork.db")
        self.add()
        second = self.sign()
        for text in (first, second, printed, printed.strip(), plain):
            self.assertEqual(self.against(text, "--vkey", self.vkey), ([], []))
        self.assertIn("was not checked", " ".join(self.against(printed)[1]))
        self.run_tool("verify", "--db", "t.db", "--vkey", self.vkey, "--against", first)  # the text itself

        self.differs("has 1 entries, and the checkpoint covers 2: it is an older copy", second, db="fork.db")
        self.add("fork.db", "-other")
        self.differs("The first 2 entries of the log of documents are not those", second, db="fork.db")
        self.differs("The first 2 entries of the log of documents are not those", self.sign("fork.db"))
        self.differs("The signature by", first.replace("\n1\n", "\n2\n", 1))
        other = self.run_tool("proof", "key", "--new", "other", "--name", NAME).out.strip()
        self.assertIn("No known key", " ".join(self.against(first, "--vkey", other, status=1)[0]))
        renamed = first.replace("example.com/log\n", "example.com/another\n", 1)
        self.assertIn("is of the log example.com/another", " ".join(self.against(renamed, status=1)[0]))

    def test_what_is_none(self):
        self.run_tool("proof", "start", "--db", "t.db")
        note = self.sign()
        for text, words, said in (("hello\nyou\n", (), "--against: This is not a signed note"), (note, ("--vkey", "a+b"), "--vkey: "),
                                  (note.replace("\n1\n", "\n01\n"), (), "--against: "), ("x" * 300000, (), "longer than")):
            done = self.run_tool("verify", "--db", "t.db", "--against", self.write("kept", text), *words, status=2)
            self.assertIn(said, done.err)


if __name__ == "__main__":
    unittest.main()
