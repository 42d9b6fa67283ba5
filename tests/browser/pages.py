"""What the browser tests share: one Chromium and one server a file, and axe."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from browser import Browser  # noqa: E402
from harness import SOURCE, Case  # noqa: E402

LINT = Path(os.environ.get("TB_LINT") or SOURCE / "build/lint")
AXE = LINT / "node_modules/axe-core/axe.min.js"


class BrowserCase(Case):
    """Tests that share one server and one browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        super().setUpClass()

    def page(self, *size):
        """A page in a new tab, without cookies and cache; its tabs are closed when the test ends."""
        return self.enterContext(self.browser.fresh(self.server.url, *size))


def axe(page):
    """What axe-core finds on the page as it is: the rule, where, and why. Skips the test where npm could
    not install it."""
    if not AXE.is_file():
        why = LINT / "why"
        raise unittest.SkipTest(why.read_text().strip() if why.is_file() else
                                "axe is not installed (tests/run installs it)")
    page.script(AXE.read_text())
    found = page.promise("return (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
            for rule in found for node in rule["nodes"]]
