#!/usr/bin/env python3
"""Makes the pictures of the console that README.md and docs/console.md show, from the fixtures that server/quickstart serves.

    tests/browser/pictures.py              writes docs/pictures/*.png
    tests/browser/pictures.py FOLDER       writes every view there, light, dark and narrow, to be looked at

The pictures are reduced to 64 colours, so that they weigh little in a checkout.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from pages import COUNT, ConsoleCase
from browser import Browser
from harness import ENVIRONMENT, SOURCE, TOLLBOOK, Server, run

DEARER = {"scenario": "dearer-europe", "patch": {"bandwidth": {"premium": {"regions": {"EU": "0.0125"}}}}}
VIEWS = {"user": ["/overview?range=30d", "/zones?range=30d", "/zones/301?range=30d", "/zones/301?tab=optimizer&range=30d",
                  "/zones/303?tab=safehop&range=30d", "/zones/301?tab=settings", "/logs?zone=301", "/logs?zone=301&last=yesterday&show=cache&status=2xx", "/events?shield=31",
                  "/containers?app=checkout", "/meters", "/meters/storage?range=30d&split=region", "/meters/port?range=7d", "/billing", "/billing/2026-000010", "/billing/2026-000010?line=6&day=2026-10-05", "/what-if"],
         "billing": ["/billing", "/what-if"],
         "operator": ["/overview", "/meters", "/accounts/3", "/logs", "/operator/accounts", "/operator/intake", "/operator/books?book=standard-2026&first=standard-2026&second=standard-2026",
                      "/operator/run", "/operator/alerts", "/do", "/do/payment?account=3", "/do/zone?account=3", "/do/tax?id=3", "/do/book", "/do/withdraw",
                      "/operator/health", "/keys"],
         "admin": ["/keys"], "finance": ["/keys", "/do"], "support": ["/keys"]}


class Fixtures(Server):
    """As server/quickstart makes it."""

    def __init__(self):
        super().__init__(log=b"as quickstart makes it")

    def make(self, log):
        subprocess.run([sys.executable, SOURCE / "fixtures/months.py", self.path], check=True)
        run("init", "--db", self.db)
        run("apply", "--delete", "--db", self.db, self.path / "catalog.json")
        run("book", "--db", self.db, self.path / "book.json")
        run("ingest", "--db", self.db, SOURCE / "fixtures/requests.log")
        run("import", "--db", self.db, SOURCE / "fixtures/buckets.ndjson")
        run("import", "--db", self.db, self.path / "months.ndjson")
        run("import", "--db", self.db, self.path / "meters.ndjson")
        run("ingest", "--db", self.db, self.path / "recent.log")
        run("import", "--db", self.db, self.path / "events.ndjson")
        for month in range(1, 11):
            subprocess.run([TOLLBOOK, "invoice", "--db", self.db, "--account", "3", "--month", f"2026-{month:02}", "--finalize"], check=True,
                           capture_output=True, env={**ENVIRONMENT, "TOLLBOOK_NOW": f"2026-{month + 1:02}-01T06:00:00Z"})
        run("ledger", "pay", "--db", self.db, "--account", 3, "--amount", "985.65", "--reference", "bank-2026-10")
        return {"user": self.make_key(3, "User"), "billing": self.make_key(3, "SubuserBilling"), "operator": self.make_key(0, "Operator"),
                "admin": self.make_key(3, "CustomerAdmin"), "finance": self.make_key(0, "Finance"), "support": self.make_key(0, "Support")}


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def pixels(data):
    """Rows of RGB triples of a PNG as Chromium writes it: eight bits, not interlaced."""
    parts = list(chunks(data))
    width, height, depth, colour = struct.unpack(">IIBB", parts[0][1][:10])
    assert depth == 8 and colour in (2, 6), "not as Chromium writes it"
    size = 3 if colour == 2 else 4
    raw, before, rows = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT")), bytes(width * size), []
    for y in range(height):
        start = y * (width * size + 1)
        line, rule = bytearray(raw[start + 1:start + 1 + width * size]), raw[start]
        for i in range(len(line)):
            left, up = line[i - size] if i >= size else 0, before[i]
            corner = before[i - size] if i >= size else 0
            if rule == 4:
                near = left + up - corner
                guess = min((abs(near - left), 0, left), (abs(near - up), 1, up), (abs(near - corner), 2, corner))[2]
            else:
                guess = (0, left, up, (left + up) // 2)[rule]
            line[i] = (line[i] + guess) & 255
        before = bytes(line)
        rows.append([before[i:i + 3] for i in range(0, len(before), size)])
    return rows


def reduced(rows, most=64):
    """A PNG of these rows with the colours that they have most of; every other colour becomes the nearest."""
    counts = {}
    for row in rows:
        for one in row:
            counts[one] = counts.get(one, 0) + 1
    palette = []  # what is often there, and differs from what is chosen already
    for one in sorted(counts, key=lambda one: -counts[one]):
        if len(palette) < most and all(sum(abs(a - b) for a, b in zip(one, other)) > 12 for other in palette):
            palette.append(one)
    nearest = {one: min(range(len(palette)), key=lambda k: sum((a - b) ** 2 for a, b in zip(one, palette[k])))
               for one in counts}
    body = b"".join(b"\0" + bytes(nearest[one] for one in row) for row in rows)

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))


class Camera(ConsoleCase):
    """Not a test: it borrows how the tests sign in and wait."""

    def __init__(self, server, browser):
        super().__init__("run")
        self.__class__.server, self.__class__.browser = server, browser

    def picture(self, page, path, left=0):
        """With few colours; what is left of there is cut off."""
        page.screenshot(path)
        path.write_bytes(reduced([row[left:] for row in pixels(path.read_bytes())]))
        print(f"{path} {path.stat().st_size}")

    def beside(self, page, path):
        """Cuts the picture of an invoice's whole page: left its head and lines, right the open line's days and hours."""
        rows = pixels(path.read_bytes())
        opened, days_end, hours, hours_end = page.script("""
            const edge = (one, side) => Math.round(one.getBoundingClientRect()[side] + scrollY);
            const panel = document.querySelector("[aria-label='The line taken apart']");
            const [days, hours] = panel.querySelectorAll("figure");
            return [edge(panel, "top"), edge(days, "bottom"), edge(panel.querySelector("h3:has(+ figure)"), "top"), edge(hours, "bottom")];""")
        left, right = rows[:opened], rows[opened - 12:days_end + 12] + rows[hours:hours_end + 12]
        ground = [rows[opened - 6][2]] * len(rows[0])
        height = max(len(left), len(right))
        left, right = ([*part, *[ground] * (height - len(part))] for part in (left, right))
        path.write_bytes(reduced([a + b for a, b in zip(left, right)]))
        print(f"{path} {path.stat().st_size}")

    def for_readme(self, folder):
        folder.mkdir(exist_ok=True)
        with self.browser.fresh(self.server.url, 1280, 860) as page:
            page.first(COUNT)
            self.signed_in(path="/overview?range=30d", page=page)
            self.picture(page, folder / "overview.png")
            self.open(page, "/logs?zone=301&show=cache")
            self.picture(page, folder / "logs.png")
            page.viewport(1280, 600)
            self.open(page, "/billing/2026-000010?why=charges")
            page.script("document.querySelector('.why-panel').scrollIntoView(); scrollBy(0, -24)")
            self.picture(page, folder / "why.png", left=204)  # past the menu
            page.viewport(720, 860)
            self.open(page, "/billing/2026-000010?line=6&day=2026-10-05")
            page.screenshot(folder / "invoice.png", whole=True)
            self.beside(page, folder / "invoice.png")
        with self.browser.fresh(self.server.url, 1280, 860) as page:
            page.first(COUNT)
            self.signed_in("operator", "/what-if?account=3&scenario=" + json.dumps(DEARER, separators=(",", ":")), page=page)
            page.click(page.named("button", "Run this scenario"))
            page.wait("document.querySelector('main [data-chart=what-if-months]')")
            self.whole(page)
            page.script("scrollTo(0, 0)")
            self.picture(page, folder / "what-if.png")
            for view, name in (("/overview", "home"), ("/operator/run?month=2026-10", "run")):
                self.open(page, view)
                self.picture(page, folder / f"{name}.png")

    def of_everything(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for key, views in VIEWS.items():
            with self.browser.fresh(self.server.url) as page:
                page.first(COUNT)
                self.signed_in(key, "/", page=page)
                for view in views:
                    self.open(page, view)
                    name = view.strip("/").replace("/", "-").replace("?", "-")
                    for look, width in (("light", 1280), ("dark", 1440), ("light", 390)):
                        page.scheme(look)
                        page.viewport(width)
                        self.whole(page)
                        page.screenshot(folder / f"{name}-{look}-{width}.png", whole=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?")
    folder = parser.parse_args().folder
    os.environ.setdefault("TB_BUILD", str(SOURCE / "build/dev"))
    server, browser = Fixtures(), None
    try:
        browser = Browser()
        camera = Camera(server, browser)
        if folder:
            camera.of_everything(folder)
        else:
            camera.for_readme(SOURCE / "docs/pictures")
    finally:
        if browser:
            browser.close()
        server.close()


if __name__ == "__main__":
    main()
