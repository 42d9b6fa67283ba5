"""tollbook import: usage rows, whole or not at all."""
import gzip
import json
import unittest
from tool import Case


def row(hour=10, **counters):
    return json.dumps({"zone": 101, "hour": f"2026-11-20T{hour:02}:00:00Z", "region": "DE",
                       **counters}) + "\n"


class Import(Case):
    def take(self, *words, **more):
        return self.run_tool("import", "--db", "t.db", *words, **more)

    def sums(self):
        return self.query("SELECT sum(requests), sum(bytes), max(queued_max) FROM buckets")[0]

    def test_rows_add_up_and_the_same_file_again_changes_nothing(self):
        content = row(requests=5, bytes=100) + row(requests=1, queued_max=7) + row(9, queued_max=3)
        done = self.take(self.write("a.ndjson", content))
        self.assertEqual(done.out, "")
        self.assertIn("3 lines: 3 accepted, 0 rejected", done.err)
        self.assertEqual(self.sums(), ["6", "100", "7"])
        for again in (self.take("a.ndjson"), self.take("-", stdin=content.encode()),
                      self.take(self.write("a.gz", gzip.compress(content.encode())))):
            self.assertIn("nothing new", again.err)
        self.assertEqual(self.sums(), ["6", "100", "7"])
        self.verify()

    def test_the_last_line_needs_no_end(self):
        self.assertIn("2 accepted", self.take(self.write("a", (row(requests=1) + row(9, bytes=2))[:-1])).err)

    def test_a_bad_row_refuses_the_file(self):
        self.write("a", row(requests=5) + row(requests=1, colour=2) + row(requests=3))
        done = self.take("a", status=2)
        self.assertRegex(done.err, r"a: line 2, byte \d+: .*colour")
        self.assertIn("nothing of it is in the database", done.err)
        self.assertEqual(self.usage(), [])
        self.assertIn("2 accepted, 1 rejected", self.take("--on-error", "skip", "a").err)
        self.assertEqual(self.sums()[0], "8")

    def test_a_refused_row_is_shown_with_its_own_sentence(self):
        self.write("a", row(requests=5) + row(requests=1, colour=2))
        done = self.take("--on-error", "skip", "a")
        self.assertRegex(done.err, r'rejected line is 2, byte \d+: [^.]*"colour"')
        self.assertNotIn("..", done.err)
        self.assertIn('tollbook query --db t.db "SELECT line, byte, reason, CAST(text AS TEXT) FROM '
                      'reject"', done.err)
        self.assertIn("colour", self.query("SELECT reason FROM reject")[0][0])

    def test_a_file_that_cannot_be_opened_is_one_sentence(self):
        self.assertEqual(self.take("nope", status=2).err.count("\n"), 1)

    def test_what_an_account_takes_over_counts_for_the_overflow(self):
        def zones(*ids):
            self.run_tool("apply", "--db", "t.db", "-", stdin=json.dumps(
                {"accounts": [{"id": 1, "name": "a"}], "zones": [
                    {"id": zone, "account": 1, "name": f"z{zone}", "created": "2024-01-05T00:00:00Z"} for zone in ids]}).encode())

        def of(zone, **counters):
            return row(**counters).replace("101", str(zone), 1)
        zones(101, 102)
        self.take(self.write("a", of(101, bytes=10**18) * 4 + of(102, bytes=1)))
        self.take(self.write("b", of(103, bytes=10**18) * 4))
        self.take(self.write("c", row(7, bytes=7)))
        self.take("--withdraw", "c")  # compacts everything
        zones(101, 102, 103)
        self.assertIn("2^63 - 1", self.take(self.write("d", of(101, bytes=10**18) * 2), status=2).err)
        self.verify()
        self.take(self.write("e", row(8, bytes=1)))

    def test_an_overflow_refuses_the_file_and_names_the_row(self):
        self.write("a", row(bytes=10**18) * 10)
        self.assertIn("a: line 10", self.take("a", status=2).err)
        self.assertEqual(self.usage(), [])

    def test_an_overflow_with_what_is_stored_refuses_the_file(self):
        self.take(self.write("a", row(bytes=10**18) * 9))
        self.assertIn("b: ", self.take(self.write("b", row(9) + row(bytes=10**18)), status=2).err)
        self.assertEqual(self.sums()[1], str(9 * 10**18))
        self.verify()

    def test_a_batch_name_names_exactly_its_bytes(self):
        self.take("--batch", "x", self.write("a", row(requests=5)))
        self.take("--batch", "x", self.write("a", row(requests=6)), status=2)
        self.assertIn("1 accepted", self.take("--batch", "y", self.write("a", row(requests=5))).err)
        self.assertEqual(self.sums()[0], "10")
        log = self.run_tool("ingest", "--db", "t.db", "--batch", "x", "a", status=2)
        self.assertIn("known with other bytes", log.err)


if __name__ == "__main__":
    unittest.main()
