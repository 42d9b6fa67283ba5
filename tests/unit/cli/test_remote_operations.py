"""Operations with --db and with --server: the same words print and say the same, and leave the same behind."""
import json
import os
import pty
import subprocess
import unittest
from both import CATALOG, Both
from tool import TOOL


class Catalogue(Both):
    def test_it_is_applied_alike(self):
        first = {"accounts": [{"id": 1, "name": "a"}], "zones": [
            {"id": 5, "account": 1, "name": "z", "created": "2026-01-05T00:00:00Z"}]}
        regions = [{"id": 1, "code": "DE", "name": "EU: Falkenstein, DE", "billing": "ASIA"}]
        for change, said in (({}, "1 pull zone added, 1 changed, 5 deleted."), ({}, "nothing changed"),
                             ({"container_limits": [{"account": 1}]}, "1 container application, limit or registry added"),
                             ({"accounts": [{"id": 1, "name": "b"}, {"id": 9, "name": "n"}]},
                              "c.json: 1 account added, 1 changed"),
                             ({"regions": regions}, "1 edge location with usage is billed")):
            first |= change
            done = self.both("apply", "--delete", self.write("c.json", json.dumps(first)))
            self.assertIn("tollbook apply: c.json: ", done.err)
            self.assertIn(said, done.err)
        for bad, said in (('{"acounts":[]}', "acounts: "), ("{", "byte 2: "),
                          ('{"accounts":[{"id":1,"name":"a"}],"zones":[{"id":5,"account":2,"name":"z"}]}',
                           "zones[0]")):
            done = self.both("apply", "-", stdin=bad.encode(), status=2, alike=False)
            self.assertIn(said.lower(), done.err.lower())
        self.same("account", "zone", "region")

    def zones(self, db="t.db"):
        return [int(row[0]) for row in
                self.query(f"SELECT id FROM zone WHERE deleted_us={2 ** 63 - 1} ORDER BY id", db)]

    def catalogue(self, *zones, **more):
        """The three accounts, and of the zones 101 to 130 those that are named."""
        rows = [{"id": i, "account": (i - 101) % 3 + 1, "name": f"z{i}"} for i in zones]
        return self.write("c.json", json.dumps({"accounts": CATALOG["accounts"], "zones": rows, **more}))

    def test_much_goes_only_when_that_is_said(self):
        """A tenth of a kind goes, and one of several; more of it does not, and nothing else is done either."""
        lb = {"load_balancers": [{"id": 7, "account": 1, "zones": []}]}
        self.both("apply", "--delete", self.catalogue(*range(103, 133), **lb))
        done = self.both("apply", self.catalogue(*range(106, 134), **lb))
        self.assertEqual(done.err.splitlines(), [f"tollbook apply: c.json: {said}" for said in (
            "1 pull zone added, 3 deleted.", "deleted: pull zone 103 (z103)", "deleted: pull zone 104 (z104)",
            "deleted: pull zone 105 (z105)")])
        shorter = self.catalogue(*range(108, 134), 200)  # without the balancer, too
        refused = self.both("apply", shorter, status=1)
        self.assertEqual(refused.err.splitlines(), [f"tollbook apply: c.json: {said}" for said in (
            "Nothing was applied. It needs --delete (over HTTP: delete=true), for much of what is declared is not in the "
            "catalogue: load_balancers: 1 of 1.", "would be deleted: pull zone 106 (z106)",
            "would be deleted: pull zone 107 (z107)", "would be deleted: load balancer 7")])
        dry = self.both("apply", "--dry-run", shorter)
        self.assertIn("It would be: 1 pull zone added, 3 deleted. Nothing changed.", dry.err)
        self.assertIn("would be deleted: pull zone 107 (z107)", dry.err)
        self.assertIn("It needs --delete, for much goes: load_balancers: 1 of 1.", dry.err)
        self.both("apply", self.catalogue(*range(110, 134), **lb), status=1)
        self.assertEqual((self.zones(), self.zones("l.db")), ([*range(106, 134)],) * 2)
        self.assertIn("deleted: 7 more", self.both("apply", "--delete", self.catalogue(133, 134)).err)
        self.assertIn("would be deleted: pull zone 133 (z133)", self.both("apply", "--dry-run", self.catalogue()).err)
        self.assertEqual(self.zones(), [133, 134])
        self.assertIn("c.json: 1 deleted.", self.both("apply", self.catalogue(134)).err)  # one of two
        self.both("apply", self.write("c.json", '{"accounts":[]}'), status=1)
        self.assertEqual(self.query("SELECT count(*) FROM audit"), self.query("SELECT count(*) FROM audit", "l.db"))

    def test_regions_and_hostnames_that_go_are_named(self):
        """Those of the built-in table only where usage came from them; what was declared, always."""
        def apply(codes=None, hosts=((), (), ()), *words, **more):
            document = json.loads(json.dumps(CATALOG))
            for zone, names in zip(document["zones"], hosts):
                zone["hostnames"] = list(names)
            if codes is not None:
                document["regions"] = [{"id": 900 + i, "code": code, "name": f"EU: {code}", "billing": "EU"}
                                       for i, code in enumerate(("DE", "MUC1", "BER1")) if code in codes]
            done = self.both("apply", *words, self.write("c.json", json.dumps(document)), **more)
            return [line.removeprefix("tollbook apply: c.json: ") for line in done.err.splitlines()]
        refused = apply(["MUC1"], status=1)
        self.assertIn("is not in the catalogue: regions: 1 of 1.", refused[0])
        self.assertEqual(refused[1:], ["would be deleted: region 1 (DE)"])
        self.assertEqual(apply(["DE", "MUC1", "BER1"]), ["4 changed."])
        self.assertEqual(apply(status=1)[1:], ["would be deleted: region 901 (MUC1)", "would be deleted: region 902 (BER1)"])
        self.assertEqual(apply(["DE", "MUC1"]), ["1 changed, 1 deleted.", "deleted: region 902 (BER1)"])
        self.assertEqual(apply(), ["1 changed, 1 deleted.", "deleted: region 901 (MUC1)"])

        self.assertEqual(apply(None, (["a.example", "b.example"], [{"Value": "c.example"}], ())), ["2 changed."])
        self.assertEqual(apply(None, (["A.example", "d.example"], [{"Value": "c.example"}], ())),
                         ["1 changed, 1 deleted.", "deleted: hostname b.example of pull zone 101"])
        refused = apply(None, ((), (), ()), status=1)
        self.assertIn("is not in the catalogue: hostnames: 3 of 3.", refused[0])
        self.assertEqual(refused[1:], [f"would be deleted: hostname {host} of pull zone {zone}" for host, zone in (
            ("A.example", 101), ("d.example", 101), ("c.example", 102))])
        self.assertIn("would be deleted: hostname c.example of pull zone 102", apply(None, ((), (), ()), "--dry-run"))
        apply(None, (["d.example"], (), ()), "--delete")
        self.assertEqual(apply(None, (["e.example"], (), ())),  # the only one has another name
                         ["1 changed, 1 deleted.", "deleted: hostname d.example of pull zone 101"])
        gone = {**CATALOG, "zones": CATALOG["zones"][1:]}  # with its zone
        self.assertEqual(self.both("apply", self.write("c.json", json.dumps(gone))).err.splitlines()[1:],
                         ["tollbook apply: c.json: deleted: pull zone 101 (z1)"])
        self.same("account", "zone", "region", "region_billing")

    def test_a_dry_run_says_that_backdated_is_needed(self):
        self.any_clock = False
        more = self.catalogue(101, 102, 103, 104)
        back = {"now": "2026-11-01T00:00:00Z"}
        tried = self.run_tool("apply", "--dry-run", "--db", "l.db", more, **back)
        said = [line.removeprefix("tollbook apply: c.json: ") for line in tried.err.splitlines()]
        self.assertIn("It needs --backdated: the clock says 2026-11-01T00:00:00Z, and the newest change is of ", said[-1])
        self.run_tool("apply", "--db", "l.db", more, **back, status=1)
        for words in (("--backdated",), ()):
            tried = self.run_tool("apply", "--dry-run", "--db", "l.db", more, *words, **({} if not words else back))
            self.assertNotIn("It needs", tried.err)
        self.write("c.json", json.dumps(CATALOG))
        self.assertIn("Nothing would change.", tried := self.run_tool("apply", "--dry-run", "--db", "l.db", "c.json", **back).err)
        self.assertNotIn("It needs", tried)

    def ask(self, *words, answer):
        """Types the answer at a terminal: exit status and what was said."""
        terminal, ours = pty.openpty()
        done = subprocess.Popen([TOOL, "apply", *words], cwd=self.folder, env=self.environment(), stdin=ours, stderr=ours)
        os.close(ours)
        os.write(terminal, answer)
        said = b""
        try:
            while part := os.read(terminal, 4096):
                said += part
        except OSError:  # the other end is closed
            pass
        os.close(terminal)
        return done.wait(60), said.decode()

    def test_a_terminal_is_asked(self):
        less = self.catalogue(101)
        for place, db in ((self.place, "t.db"), (["--db", "l.db"], "l.db")):
            for answer, status, left in ((b"\n", 1, [101, 102, 103]), (b"yes please\n", 1, [101, 102, 103]), (b"y\n", 0, [101])):
                with self.subTest(db=db, answer=answer):
                    got = self.ask(less, *place, answer=answer)
                    self.assertEqual(got[0], status, got)
                    self.assertIn("Do it all the same, as with --delete? [y/N]", got[1])
                    self.assertEqual(self.zones(db), left)


class Books(Both):
    BOOK = {"book": "standard", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
            "minimum_monthly": "1.00",
            "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01"}}}}

    def add(self, *words, **more):
        self.both("book", "add", self.write("b.json", json.dumps({**self.BOOK, **more})), *words)

    def test_what_only_reads_prints_alike(self):
        self.add()
        self.add(book="other", effective_from="2026-05-01T00:00:00Z", minimum_monthly="2.00")
        self.add("--shadow", book="next", effective_from="2027-01-01T00:00:00Z",
                 minimum_monthly="1.50")
        listed = self.both("book", "list", "--format", "table").out.splitlines()
        self.assertEqual([row.split("\t")[0] for row in listed], ["book", "standard", "other", "next"])
        self.assertEqual(json.loads(self.both("book", "show", "next").out)["minimum_monthly"], "1.50")
        self.assertIn("+ minimum_monthly\t1.5\n", self.both("book", "diff", "standard", "next").out)
        self.assertIn('"next" and "next" price alike.', self.both("book", "diff", "next", "next").err)
        self.assertIn("Nothing is noted yet", self.both("book", "report", status=1).err)
        self.both("invoice", "--month", "2026-10", "--finalize")
        self.assertEqual(self.both("book", "report", "--format", "table").out.count("\nnext\t2026-10\t"), 3)
        self.assertEqual(self.both("book", "report", "next", "--format", "table", "--month", "2026-09", status=1).out.count("\n"), 1)
        self.both("book", "activate", "next", "--progress", alike=False, status=1)
        self.same("book", "shadow_report")

    def test_bad_calls_exit_alike(self):
        self.add()
        for words in (("show", "none"), ("show", ""), ("show", "x" * 65), ("diff", "standard"),
                      ("diff", "standard", "none"), ("report", "--month", "2026-13"),
                      ("activate", "x", "--months", "0"), ("activate", "x", "--months", "121"),
                      ("activate", "x", "--max-change", "-1"), ("list", "standard")):
            self.both("book", *words, status=2, alike=False)


class Scenarios(Both):
    def add(self, document, **more):
        return self.both("scenario", "add", self.write("s.json", json.dumps(document)), **more)

    def test_they_are_kept_listed_and_shown_alike(self):
        self.both("book", "add", self.write("b.json", json.dumps(Books.BOOK)))
        price = {"bandwidth": {"premium": {"regions": {"EU": "0.011"}}}}
        one = {"scenario": "one", "base": "standard", "patch": price}
        done = self.add(one)
        self.assertRegex(done.err, r'^tollbook scenario add: s.json: scenario "one" \(sha256 \w{12}\) is'
                                   r' kept.\n$')
        self.assertIn("was there already: nothing changed", self.add(one).err)
        done = self.add({**one, "usage": [{"account": 9, "factor": "2"}]})
        self.assertIn("Warning: one: usage[0] changes nothing: there is no account 9.", done.err)
        self.assertEqual(self.both("scenario", "list", "--format", "table").out.count("\none\t"), 2)
        digits = self.both("scenario", "list", "--format", "table").out.splitlines()[1].split("\t")[2]
        self.assertEqual(json.loads(self.both("scenario", "show", "one@" + digits).out), one)
        self.assertIn("usage", self.both("scenario", "show", "one").out)
        self.same("scenario")

    def test_bad_ones_are_refused_alike(self):
        self.both("book", "add", self.write("b.json", json.dumps(Books.BOOK)))
        for document, said in (({"scenario": "x", "extra": 1}, "extra"),
                               ({"scenario": "x", "base": "none", "patch": {}}, "none"),
                               ({"scenario": "x", "patch": {"colour": 1}}, "patch.colour")):
            self.assertIn(said, self.add(document, status=2, alike=False).err)
        for words in (("show", "none"), ("show", "one@1"), ("show", "x" * 300), ("show",)):
            self.both("scenario", *words, status=2, alike=False)
        self.assertEqual(self.query("SELECT count(*) FROM scenario"), [["0"]])


class Keys(Both):
    def test_they_are_listed_and_revoked_alike(self):
        for words, status in ((("key", "list", "--format", "table"), 0), (("key", "revoke", "--id", 2), 0),
                              (("key", "revoke", "--id", 2), 0), (("key", "list", "--format", "table"), 0)):
            self.both(*words, status=status)
        for words in (("key", "revoke", "--id", 9), ("key", "revoke", "--id", 0),
                      ("key", "create", "--account", 9), ("key", "create", "--account", 0),
                      ("key", "create", "--account", 1, "--role", "user"),
                      ("key", "create", "--account", 0, "--role", "User", "--role", "Ingest")):
            self.both(*words, status=2, alike=False)
        self.assertEqual(self.query("SELECT count(*) FROM key"), [["2"]])

    def test_one_is_made_alike(self):
        for words in ((), ("--role", "User", "--role", "SubuserBilling")):
            made = [self.run_tool("key", "create", "--account", 1, *words, *place)
                    for place in (("--db", "l.db"), self.place)]
            self.assertEqual(made[0].err, made[1].err)
            self.assertNotEqual(made[0].out, made[1].out)
            for done in made:
                self.assertRegex(done.out, r"^[0-9a-f]{48}\n$")
        self.assertIn("key create: Key 4 is made. It is shown only once.\n", made[1].err)
        rows = [self.run_tool("key", "list", "--format", "table", *place).out.splitlines()
                for place in (("--db", "l.db"), self.place)]
        for here, there in zip(*rows):
            self.assertEqual([here.split("\t")[i] for i in (0, 1, 2, 4, 5)],
                             [there.split("\t")[i] for i in (0, 1, 2, 4, 5)])

    def test_the_secret_is_the_one_that_is_given_or_the_servers(self):
        secret = self.write("secret", self.run_tool("key", "secret").out)
        os.chmod(self.folder / "secret", 0o600)
        words = ("key", "create", "--account", 1, "--secret-file", secret)
        done = self.run_tool(*words, *self.place, status=2)
        self.assertIn("--secret-file goes with --db alone", done.err)
        done = self.run_tool(*words, "--db", "l.db")
        self.assertIn("It is shown only once, and by GET /apikey.", done.err)
        self.run_tool("key", "create", "--account", 1, "--secret-file", "none", "--db", "l.db",
                      status=3)
        self.assertEqual(self.query("SELECT count(*),count(sealed) FROM key", "l.db"), [["3", "1"]])


class Views(Both):
    def test_figures_print_alike(self):
        for words in (("--account", 1), ("--account", 1, "--zone", 101, "--hourly"),
                      ("--account", 1, "--zone", 101, "--kind", "optimizer")):
            self.assertTrue(json.loads(self.both("stats", *words).out))
        for words in (("--account", 1, "--kind", "queue"), ("--account", 9), ("--account", 0),
                      ("--account", 1, "--from", "x"), ("--account", 1, "--zone", 201),
                      ("--account", 1, "--zone", 101, "--kind", "safehop", "--latest")):
            self.both("stats", *words, status=2, alike=False)
        self.both("usage", "--balancer", 9, status=2, alike=False)
        self.both("usage", "--balancer", 7, "--month", "2026-13", status=2, alike=False)

    def test_what_is_stored_is_checked_alike(self):
        self.assertEqual(self.both("verify", "--format", "table").out, "no differences.\n")
        digest = self.both("anchor").out.split()[0]
        self.both("verify", "--against", digest)
        self.both("verify", "--against", "x", status=2, alike=False)


class LongInvoice(Both):
    def test_what_is_too_long_to_be_sent_is_named_and_the_document_stays_whole(self):
        """The first account's invoice is longer than 8 MiB; the second's follows it."""
        zones = [{"id": z, "account": 1, "name": f"z{z}", "created": "2026-01-05T00:00:00Z"}
                 for z in range(20000, 44000)]
        zones.append({"id": 102, "account": 2, "name": "z2", "created": "2026-01-05T00:00:00Z"})
        self.run_tool("apply", "--delete", *self.place, self.write("c.json", json.dumps(
            {"accounts": [{"id": i, "name": "a"} for i in (1, 2)], "zones": zones})))
        self.run_tool("book", "add", *self.place, self.write("b.json", json.dumps(Books.BOOK)))
        self.run_tool("import", *self.place, "-", stdin=self.rows(
            {z["id"]: 1 for z in zones}))
        words = ("invoice", "--month", "2026-10", "--finalize")
        done = self.run_tool(*words, *self.place, status=1)
        self.assertEqual([i["account"] for i in json.loads(done.out)["invoices"]], [2, 3])
        self.assertIn("account 1: Its invoice is too long to be sent.", done.err)
        here = self.run_tool("invoice", "--db", "t.db", "--month", "2026-10")
        self.assertEqual([i["account"] for i in json.loads(here.out)["invoices"]], [1, 2, 3])
        self.assertGreater(len(here.out), 8 << 20)


if __name__ == "__main__":
    unittest.main()
