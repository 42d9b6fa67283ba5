#!/usr/bin/env python3
"""server/packaging/Containerfile. The short form reads it: what it copies is what cpack makes, what it starts exists.

The long form needs no container engine: it makes the base image with debootstrap from this machine's Debian mirror, does what
the Containerfile says in it (COPY, and RUN in a chroot), and starts the server as an engine does: its command, its user, name
spaces of its own, all of the file system read-only but for the volume and /tmp. Then the health check passes, a month of the
fixtures is billed and its invoice printed, and SIGTERM ends the server with 0.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG  # noqa: E402
from test_deb import pack, run  # noqa: E402

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
FILE = SOURCE / "server/packaging/Containerfile"
SUITES = {"debian:12-slim": "bookworm"}
PATIENCE = 120
NOW = "2026-12-02T09:00:00Z"


def instructions():
    """[(name, rest)] in order."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.M)
    return [tuple(line.split(None, 1)) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]


def last(name):
    return [rest for found, rest in instructions() if found == name][-1]


def health_check():
    return last("HEALTHCHECK").split(" CMD ", 1)[1]


class Form(unittest.TestCase):
    def test_its_instructions_are_those_that_the_test_does(self):
        self.assertEqual([name for name, _ in instructions()],
                         ["FROM", "COPY", "RUN", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"])
        self.assertIn(last("FROM"), SUITES)
        for text in (last("RUN"), health_check(), json.loads(last("CMD"))[2]):
            run("sh", "-n", "-c", text)

    def test_it_copies_what_cpack_makes(self):
        *copied, folder = last("COPY").split()
        names = set(re.findall(r"_PACKAGE_NAME (\S+)\)", (SOURCE / "server/packaging/package.cmake").read_text()))
        names = {name.replace("${PROJECT_VERSION_MAJOR}", "1") for name in names}
        for path in copied:
            found = re.fullmatch(r"build/release/([\w-]+)_\*\.deb", path)
            self.assertIn(found[1], names)
            self.assertIn(f" {folder}{found[1]}_*.deb", last("RUN"))
        page = (SOURCE / "docs/operate/install.md").read_text()
        installed = re.search(r"^apt-get install -y (.*)$", page, re.M).group(1).replace("./", "").split()
        self.assertEqual(copied, installed)

    def test_what_it_starts_exists(self):
        for text in (health_check(), json.loads(last("CMD"))[2]):
            for command, rest in re.findall(r"tollbook ([a-z]+)([^&|]*)", text):
                known = run(BUILD / "tollbook", "help", command).stdout
                for option in re.findall(r"--[a-z-]+", rest):
                    self.assertIn(option + " ", known, command)

    def test_it_agrees_with_the_package(self):
        configuration = (SOURCE / "server/packaging/tollbook.conf").read_text()
        self.assertIn(f"\ndb {last('VOLUME')}/tollbook.db\n", configuration)
        self.assertEqual(last("WORKDIR"), last("VOLUME"))
        self.assertIn(f"useradd ${{root:+--prefix \"$root\"}} --system --user-group --no-create-home \\\n"
                      f"            --home-dir {last('VOLUME')} --shell /usr/sbin/nologin --comment tollbook {last('USER')}\n",
                      (SOURCE / "server/packaging/debian/postinst").read_text())
        for text in (last("CMD"), health_check(), configuration):
            self.assertIn(f":{last('EXPOSE')}", text)


# The engine's part: a script beside the root has the container's command, which sees nothing but its file system.
ENGINE = r"""set -e
python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))' # up
mount --bind "$1" "$1"
mount --bind "$2" "$1$3"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/tmp"
mount -o remount,ro,bind "$1"
shift 3
exec "$@"
"""


class Image(unittest.TestCase):
    def prepare(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="tollbook-container-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.scratch.chmod(0o755)
        self.root, self.context, self.volume = (self.scratch / name for name in ("root", "context", "volume"))

    def build(self):
        made = pack(self.scratch / "packages", dict(os.environ))
        (self.context / "build/release").mkdir(parents=True)
        for path in made.values():
            shutil.copy(path, self.context / "build/release")
        for name, rest in instructions():
            if name == "FROM":
                self.base(SUITES[rest])
            elif name == "COPY":
                *paths, folder = rest.split()
                for path in (path for pattern in paths for path in sorted(self.context.glob(pattern))):
                    shutil.copy(path, f"{self.root}{folder}")
            elif name == "RUN":
                run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", 'mount -t proc proc "$1/proc"; exec chroot "$1" /bin/sh -c "$2"',
                    "sh", self.root, rest, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})

    def base(self, suite):
        if not shutil.which("debootstrap") or os.geteuid() != 0:
            self.skipTest("debootstrap is not installed, or this is not root")
        rows = run("apt-get", "indextargets", "--format", "$(CREATED_BY) $(RELEASE) $(REPO_URI)").stdout.split("\n")
        mirrors = [row.split()[2] for row in rows if row.startswith(f"Packages {suite} ")]
        try:
            urllib.request.urlopen(f"{mirrors[0]}dists/{suite}/Release", timeout=PATIENCE).close()
        except (IndexError, OSError):
            self.skipTest(f"this machine reaches no mirror of {suite}")
        run("debootstrap", "--variant=minbase", suite, self.root, mirrors[0])

    def execute(self, *command, stdin=None):
        """Runs a command in the running container, as `podman exec` does."""
        return subprocess.run(["nsenter", "--target", str(self.inner), "--mount", "--net", "--pid", "--root", "--wd", "setpriv",
                               f"--reuid={self.owner}", f"--regid={self.group}", "--clear-groups", *command], input=stdin, capture_output=True,
                              env=self.environment, check=False, timeout=PATIENCE)

    def within(self, *command, **more):
        done = self.execute(*command, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def start(self):
        """The server's process in `process`, the first one of the container; `inner` is its number outside."""
        owner = re.search(rf"^{last('USER')}:x:(\d+):(\d+):", (self.root / "etc/passwd").read_text(), re.M)
        self.owner, self.group = int(owner[1]), int(owner[2])
        self.volume.mkdir()
        folder = (self.root / last("VOLUME").lstrip("/")).stat()  # an engine gives a new volume the owner of the folder
        os.chown(self.volume, folder.st_uid, folder.st_gid)
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TOLLBOOK_NOW": NOW}
        self.said = open(self.scratch / "said", "wb")
        self.addCleanup(self.said.close)
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", ENGINE, "sh", self.root, self.volume, last("VOLUME"),
             "chroot", f"--userspec={self.owner}:{self.group}", self.root, "/bin/sh", "-c", f"cd {last('WORKDIR')}; exec {shlex.join(json.loads(last('CMD')))}"],
            stderr=self.said, env=self.environment)
        self.addCleanup(self.process.kill)
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.until(lambda: children.read_text().split())
        self.inner = int(children.read_text().split()[0])

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                self.fail((self.scratch / "said").read_text())
            time.sleep(0.05)

    def test_the_image_serves_bills_and_prints(self):
        if not LONG:
            return
        self.prepare()
        self.build()
        self.start()
        self.until(lambda: self.execute("/bin/sh", "-c", health_check()).returncode == 0)
        status = Path(f"/proc/{self.inner}/status").read_text()
        self.assertRegex(status, rf"\nUid:(\s{self.owner}){{4}}\n")
        self.assertNotEqual(self.owner, 0)
        self.assertNotEqual(self.execute("touch", "/etc/x").returncode, 0)
        self.assertNotIn("\nlibtollbook-dev", (self.root / "var/lib/dpkg/status").read_text())
        self.assertEqual(list((self.root / "var/lib/apt/lists").iterdir()) if (self.root / "var/lib/apt/lists").exists() else [], [])
        self.environment["TOLLBOOK_KEY"] = self.within("tollbook", "setup").stdout.decode().strip()
        place = ("--server", f"http://127.0.0.1:{last('EXPOSE')}")
        for words, file in ((("apply", *place, "-"), "catalog.json"), (("book", *place, "-"), "book.json"), (("ingest", *place, "-"), "requests.log")):
            self.within("tollbook", *words, stdin=(SOURCE / "fixtures" / file).read_bytes())
        pdf = self.within("tollbook", "invoice", *place, "--account", "1", "--month", "2026-11", "--format", "pdf").stdout
        (self.scratch / "invoice.pdf").write_bytes(pdf)
        self.assertIn("acme", run("pdftotext", self.scratch / "invoice.pdf", "-").stdout)
        self.within("tollbook", "backup", "--dir", "/var/lib/tollbook", "--keep", "2")
        self.within("tollbook", "verify")
        self.within("tollbook", "status", *place, "--min-free-mb", "0")
        os.kill(self.inner, 15)
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertIn("stopping: requests in progress are finished first", (self.scratch / "said").read_text())


if __name__ == "__main__":
    unittest.main()
