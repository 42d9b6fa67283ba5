"""Every kind of document passes the official stylesheets: those of EN 16931 and Peppol for the one
profile, of EN 16931 and XRechnung for the other, with no failed assertion, warnings included.

The stylesheets are no part of this tree. They are looked for in TB_EN16931, else in the folder
shared/data/en16931 beside the project's. Saxon runs each once, over a folder.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import script  # noqa: E402,F401  (tells of skips)
import ubl_documents as made  # noqa: E402
import ubl_written  # noqa: E402

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
SHEETS = {"EN16931-UBL-validation.xslt": ubl_written.PROFILES,
          "PEPPOL-BIS-Billing-3.xslt": ("peppol",), "XRechnung-UBL.xslt": ("xrechnung",)}
SAXON = Path("/usr/share/java/Saxon-HE.jar")
SVRL = "{http://purl.oclc.org/dsdl/svrl}"


def sheets():
    given = os.environ.get("TB_EN16931")
    places = [Path(given)] if given else [p / "shared/data/en16931" for p in list(SOURCE.parents)[:2]]
    for place in places:
        if all((place / name).is_file() for name in SHEETS):
            return place
    return None


def validate(sheet, folder, reports):
    """{document: [(id, flag, text)]} of what failed."""
    subprocess.run(["java", "-Xss16m", "-cp", SAXON, "net.sf.saxon.Transform", f"-s:{folder}",
                    f"-xsl:{sheet}", f"-o:{reports}"], check=True, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)
    found = {}
    for path in sorted(Path(reports).iterdir()):
        root = ElementTree.parse(path).getroot()
        assert list(root.iter(f"{SVRL}fired-rule")), f"no rule looked at {path.name}"
        found[path.stem] = [(f.get("id"), f.get("flag"), "".join(f.itertext()).strip())
                            for f in root.iter(f"{SVRL}failed-assert")]
    return found


class Stylesheets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = sheets()
        if not cls.place:
            raise unittest.SkipTest("the stylesheets of EN 16931 are not here (TB_EN16931)")
        if not SAXON.is_file() or not shutil.which("java"):
            raise unittest.SkipTest("Saxon is not installed (libsaxonhe-java, default-jre-headless)")
        cls.documents = ubl_written.matrix(made.KINDS, made.ONLY)

    def test_every_kind_passes_those_that_apply(self):
        for sheet, profiles in SHEETS.items():
            wanted = [d for d in self.documents if d[0] in profiles]
            with tempfile.TemporaryDirectory(prefix="tollbook-svrl-") as folder:
                xml, reports = Path(folder, "in"), Path(folder, "out")
                xml.mkdir()
                reports.mkdir()
                self.assertEqual(ubl_written.write(wanted, xml), {})
                found = validate(self.place / sheet, xml, reports)
            self.assertEqual(len(found), len(wanted))
            wrong = {name: rows for name, rows in found.items() if rows}
            print(f"{sheet}: {len(wanted) - len(wrong)} of {len(wanted)} documents pass", flush=True)
            self.assertEqual(wrong, {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
