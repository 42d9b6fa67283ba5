#!/usr/bin/env python3
"""The Debian packages: made by cpack of this build, judged by lintian, installed, run, upgraded, removed.

They are installed into a bare folder by dpkg itself, with the maintainer scripts run from outside of it
(DPKG_ROOT), and the command line of the unit runs as the user that the package made. Nothing is built:
what cpack packs is what the build has.

The commands of "Install" and "Set up" in docs/operate/install.md are run as they stand there. Those that configure and pack see
only the programs and libraries that Debian's base system has and that tests/dependencies installs for them. Those that
install and use the packages run on this machine's files with a layer of memory above them (overlayfs, chroot) and a network
of their own: what they write is gone at the end.
"""
import hashlib
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import elf  # noqa: E402
import script  # noqa: E402, F401: skips are told

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
LOWER, OLD_SCHEMA = "1.0.9-1", "v7.sql"
PATIENCE = 60
DATABASE = "var/lib/tollbook/tollbook.db"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def page(section):
    """The first block of shell commands of a section of docs/operate/install.md."""
    text = (SOURCE / "docs/operate/install.md").read_text()
    return re.search(rf"^## {section}\n.*?^```sh\n(.*?)^```", text, re.M | re.S).group(1)


def closure(packages):
    """These packages, all that they depend on, and the base system."""
    known, provided, base = {}, {}, {"apt"}
    for row in run("dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Priority}\t${Depends}, ${Pre-Depends}\t"
                   "${Provides}\n").stdout.splitlines():
        name, essential, priority, needs, provides = row.split("\t")
        known[name] = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", needs)
        if essential == "yes" or priority == "required":
            base.add(name)
        for other in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", provides):
            provided.setdefault(other, []).append(name)
    found, left = set(), [*base, *packages]
    while left:
        name = left.pop()
        if name in known and name not in found:
            found.add(name)
            left += known[name]
        elif name not in known:
            left += provided.get(name, [])
    return found


def bare_environment(folder):
    """An environment in which only the base system's programs and libraries are found, and those that the page installs.
    Where something comes from elsewhere than from Debian it is the environment as it is."""
    sections = re.search(r"^tests/dependencies (.*)$", page("Install"), re.M).group(1).split()
    wanted = run(SOURCE / "tests" / "dependencies", "--list", *sections).stdout.split()
    packages = closure(wanted)
    if not set(wanted) <= packages:
        return dict(os.environ)
    files = {os.path.realpath(line) for line in run("dpkg-query", "-L", *packages).stdout.splitlines()
             if "/bin/" in line or "/sbin/" in line or line.endswith(".pc")}
    for name, places in (("bin", ["/usr/bin", "/usr/sbin"]),
                         ("pkgconfig", [*Path("/usr/lib").glob("*/pkgconfig"), "/usr/lib/pkgconfig", "/usr/share/pkgconfig"])):
        (folder / name).mkdir(parents=True)
        for path in (path for place in places if os.path.isdir(place) for path in Path(place).iterdir()):
            if os.path.realpath(path) in files and not (folder / name / path.name).exists():
                (folder / name / path.name).symlink_to(path)
    return {"PATH": str(folder / "bin"), "PKG_CONFIG_LIBDIR": str(folder / "pkgconfig"), "HOME": str(folder), "LC_ALL": "C.UTF-8"}


def pack(folder, environment):
    """{package: file}. Ninja has no target that would look whether everything is built."""
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder,
        "-D", "CPACK_CMAKE_GENERATOR=Ninja", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", env=environment)
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


# systemctl in the layer: what systemd does with the unit to start it, as far as the commands of the page can see.
SYSTEMCTL = """#!/usr/bin/python3
import os, re, socket, subprocess, sys
assert sys.argv[1:4] == ["enable", "--now", "tollbook.service"], sys.argv
assert all(os.path.exists("/usr/lib/systemd/system/" + unit) for unit in sys.argv[3:]), sys.argv
unit = open("/usr/lib/systemd/system/tollbook.service").read()
def line(name):
    return re.search(rf"^{name}=(.*)$", unit, re.M).group(1).replace("$TOLLBOOK_OPTIONS", "")
assert line("Type") == "notify"
ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ready.bind("/run/notify")
os.chmod("/run/notify", 0o666)
ready.settimeout(60)
user = {"user": line("User"), "group": line("Group"), "extra_groups": [], "cwd": "/", "umask": int(line("UMask"), 8)}
subprocess.run(["sh", "-c", line("ExecStartPre")], check=True, **user)
subprocess.Popen(["sh", "-c", "exec " + line("ExecStart")], stdout=subprocess.DEVNULL, env={**os.environ, "NOTIFY_SOCKET": "/run/notify"}, **user)
assert ready.recv(100) == b"READY=1"
"""

# Run in a name space of its own: a layer of memory above this machine's files, in which the script of the checkout runs.
LAYER = """set -e
python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))' # up
mount -t tmpfs tmpfs "$1"
mkdir "$1/above" "$1/work" "$1/merged"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/above,workdir=$1/work" "$1/merged" || exit 77
mount -t tmpfs tmpfs "$1/merged/run"
mount -t proc proc "$1/merged/proc"
mount --rbind /dev "$1/merged/dev"
mkdir "$1/merged/checkout"
cp -R "$2/." "$1/merged/checkout"
cd "$1/merged/checkout"
cp systemctl "$1/merged/usr/local/bin/systemctl"
chmod 755 "$1/merged/usr/local/bin/systemctl"
rm -rf "$1/merged/var/lib/apt/lists" "$1/merged/etc/apt/sources.list" "$1/merged/etc/apt/sources.list.d" # no network
exec chroot "$1/merged" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/checkout TOLLBOOK_NOW=2026-11-28T09:00:00Z \
    sh -exc 'cd /checkout; . ./script'
"""


def repack(path, version, folder):
    """The same package under another version."""
    tree = folder / path.stem
    run("dpkg-deb", "-R", path, tree)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: .*", f"Version: {version}", control.read_text(), flags=re.M))
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, folder / f"{path.stem}.lower.deb")
    return folder / f"{path.stem}.lower.deb"


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in "dpkg", "dpkg-shlibdeps", "cpack":
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not installed")
        # Not TMPDIR: others may not be allowed to look into it.
        cls.scratch = Path(tempfile.mkdtemp(prefix="tollbook-deb-", dir="/var/tmp"))
        cls.scratch.chmod(0o755)
        cls.bare = bare_environment(cls.scratch / "bare")
        cls.made = pack(cls.scratch / "now", cls.bare)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    # --- the bare folder ---

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="root-", dir=self.scratch))
        self.root.chmod(0o755)
        for folder in "etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers":
            (self.root / folder).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()
        for file in "passwd", "group", "shadow", "gshadow":
            (self.root / "etc" / file).touch()
        self.server = None

    def tearDown(self):
        self.stop()

    def dpkg(self, *words):
        return run("dpkg", f"--root={self.root}", f"--log={self.root}/dpkg.log", "--force-not-root",
                   "--force-depends", "--force-script-chrootless", *words)

    def install(self, packages):
        self.dpkg("-i", packages["libtollbook1"], packages["libtollbook-print1"], packages["tollbook"])

    def state(self, package):
        return run("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W",
                   "-f", "${db:Status-Status} ${Version}", package).stdout

    def user(self):
        line = next(line for line in (self.root / "etc/passwd").read_text().splitlines()
                    if line.startswith("tollbook:"))
        return [int(field) for field in line.split(":")[2:4]]

    # --- the unit's commands, as its user ---

    def command(self, name, more=""):
        """The unit's line, its paths in the folder; `more` stands for TOLLBOOK_OPTIONS."""
        unit = (self.root / "usr/lib/systemd/system/tollbook.service").read_text()
        line = re.search(rf"^{name}=(.*)$", unit, re.M).group(1)
        return line.replace("/usr/", f"{self.root}/usr/").replace("$TOLLBOOK_OPTIONS", more)

    def as_user(self):
        """With the installed configuration, its paths in the folder, and a free port."""
        user, group = self.user()
        text = (self.root / "etc/tollbook/tollbook.conf").read_text()
        configuration = self.root / "tollbook.conf"
        configuration.write_text(text.replace("/var/", f"{self.root}/var/").replace("\nlisten 127.0.0.1:8080\n", "\nlisten 127.0.0.1:0\n"))
        return {"user": user, "group": group, "extra_groups": [], "cwd": "/", "umask": 0o077,
                "env": {**os.environ, "TOLLBOOK_CONFIG": str(configuration)}}

    def start(self):
        port = self.root / "var/lib/tollbook/port"
        port.unlink(missing_ok=True)
        before = self.command("ExecStartPre")
        run("sh", "-c", before, **self.as_user())
        self.server = subprocess.Popen(
            ["sh", "-c", "exec " + self.command("ExecStart", f"--port-file {port}")],
            stderr=subprocess.PIPE, **self.as_user())
        end = time.monotonic() + PATIENCE
        while not port.exists() and self.server.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        if not port.exists():
            failed, self.server = self.server, None
            failed.kill()
            self.fail(failed.communicate()[1].decode())
        url = f"http://127.0.0.1:{port.read_text().strip()}/readyz"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            self.assertEqual(answer.status, 200)

    def stop(self):
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            self.server.communicate(timeout=PATIENCE)
            self.assertEqual(self.server.returncode, 0)
            self.server = None

    def tool(self, *words):
        return run(self.root / "usr/bin/tollbook", *words, "--db", self.root / DATABASE,
                   **self.as_user()).stdout

    def need_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("another user cannot run a program here")
        probe = self.scratch / "probe"
        if not probe.exists():
            shutil.copy(BUILD / "tollbook", probe)
        try:
            run(probe, "--version", user=pwd.getpwnam("nobody").pw_uid)
        except (OSError, AssertionError):
            self.skipTest("another user cannot run a program here")

    # --- tests ---

    def test_there_are_five(self):
        self.assertEqual(set(self.made), {"tollbook", "libtollbook1", "libtollbook-print1", "libtollbook-dev", "tollbook-check"})
        for path in self.made.values():
            self.assertIn("Maintainer: ", run("dpkg-deb", "-I", path).stdout)
        shown = run("dpkg-deb", "-c", self.made["tollbook"]).stdout
        for file in ("bin/tollbook", "share/man/man1/tollbook-ledger-pay.1.gz",
                     "share/bash-completion/completions/tollbook"):
            self.assertIn(f" ./usr/{file}\n", shown)

    def test_zsh_looks_where_its_completion_is(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        shown = run("dpkg-deb", "-c", self.made["tollbook"]).stdout
        folder = re.search(r" \.(/\S*)/_tollbook\n", shown).group(1)
        self.assertIn(folder, run("zsh", "-fc", "print -l $fpath").stdout.splitlines())

    def test_what_is_packed_is_hardened_and_finds_its_libraries_as_the_system_does(self):
        found = {}
        for name, package in self.made.items():
            run("dpkg-deb", "-x", package, self.root / name)
            found.update({path.name: (list(elf.lacks(path)), elf.library_path(path)) for path in elf.binaries(self.root / name)})
        self.assertEqual(len(found), 5)
        self.assertEqual(found, {name: ([], None) for name in found})

    def test_the_checker_is_small_and_stands_alone(self):
        """Stripped it has less than 2 MB, and it needs neither SQLite nor a library of the network."""
        run("dpkg-deb", "-x", self.made["tollbook-check"], self.root)
        path = self.root / "usr/bin/tollbook-check"
        self.assertLess(path.stat().st_size, 2 << 20)
        needed = set(re.findall(r"NEEDED.*\[(\w+)", run("readelf", "-d", path).stdout))
        self.assertLessEqual(needed, {"libsodium", "libz", "libc", "libm", "libjansson", "libxxhash"})
        depends = re.search(r"Depends: (.*)", run("dpkg-deb", "-I", self.made["tollbook-check"]).stdout).group(1)
        self.assertNotIn("tollbook", depends)
        self.assertTrue((self.root / "usr/share/man/man1/tollbook-check.1.gz").exists())
        self.assertIn("tollbook-check 1.", run(path, "--version").stdout)

    def test_the_page_configures_on_a_bare_machine(self):
        """With cpack, which setUpClass ran there, it is all of the recipe but the compiler's work."""
        lines = page("Install").splitlines()
        self.assertEqual([line.split(" ")[0] for line in lines], ["tests/dependencies", "cmake", "cpack", "apt-get", "systemctl"])
        configure = lines[1].split(" && ")[0].split(" ")
        run(*configure, "-B", self.root / "release", cwd=SOURCE, env=self.bare)
        self.assertEqual(lines[2], "cpack --config build/release/CPackConfig.cmake")
        self.assertIn("CMAKE_BUILD_TYPE:STRING=Release\n", (self.root / "release" / "CMakeCache.txt").read_text())

    def test_the_page_installs_and_the_first_hour_ends_with_an_invoice(self):
        self.need_another_user()
        checkout = self.root / "checkout"
        (checkout / "build" / "release").mkdir(parents=True)
        shutil.copytree(SOURCE / "fixtures", checkout / "fixtures", ignore=shutil.ignore_patterns("db", "expected"))
        for path in self.made.values():
            shutil.copy(path, checkout / "build" / "release")
        (checkout / "systemctl").write_text(SYSTEMCTL)
        install = "".join(line + "\n" for line in page("Install").splitlines() if line.startswith(("apt-get", "systemctl")))
        (checkout / "script").write_text(install + page("Set up") + page("Set up").splitlines()[0] + """
            pdftotext november.pdf -
            runuser -u tollbook -- tollbook verify --db /var/lib/tollbook/tollbook.db
            stat -c 'left: %n %U %a' /var/lib/tollbook/tollbook.db* ~/tollbook.key
            wc -l ~/tollbook.key
            """)
        (self.root / "layer").mkdir()
        done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", LAYER, "sh",
                               str(self.root / "layer"), str(checkout)], capture_output=True, text=True)
        if done.returncode == 77 or "unshare failed" in done.stderr:
            self.skipTest("this machine lets nobody mount")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("400 accepted", done.stderr)
        self.assertIn("has the role Operator", done.stderr)
        self.assertRegex(done.stdout, r"(?s)acme|Invoice")
        self.assertIn("left: /checkout/tollbook.key root 600", done.stdout)
        self.assertIn("1 /checkout/tollbook.key", done.stdout)
        self.assertNotIn("first-key", done.stdout)
        self.assertEqual(set(re.findall(r"left: /var/lib/tollbook/\S+ (\S+) ", done.stdout)), {"tollbook"})

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *self.made.values()],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_new_installation_serves_an_empty_database(self):
        self.need_another_user()
        self.install(self.made)
        folder = (self.root / "var/lib/tollbook").stat()
        self.assertEqual([folder.st_uid, folder.st_gid, folder.st_mode & 0o777], self.user() + [0o750])
        self.start()
        self.stop()
        self.assertEqual((self.root / DATABASE).stat().st_uid, self.user()[0])
        self.tool("verify")

    def test_an_upgrade_goes_on_with_an_older_database(self):
        self.need_another_user()
        self.install({name: repack(self.made[name], LOWER, self.root)
                      for name in ("tollbook", "libtollbook1", "libtollbook-print1")})
        self.assertEqual(self.state("tollbook"), f"installed {LOWER}")
        path, before = self.root / DATABASE, self.user()
        with sqlite3.connect(path) as db:
            db.executescript((SOURCE / "fixtures" / "db" / OLD_SCHEMA).read_text())
        db.close()
        os.chown(path, *before)
        self.install(self.made)
        self.assertNotIn(LOWER, self.state("tollbook"))
        self.assertEqual(self.user(), before)
        self.start()
        self.stop()
        self.tool("verify")
        held = self.tool("query", "SELECT count(*), sum(length(data)) FROM chunk")
        digest = hashlib.sha256(path.read_bytes()).digest()

        self.dpkg("--remove", "tollbook")
        self.assertFalse((self.root / "usr/bin/tollbook").exists())
        self.assertEqual(hashlib.sha256(path.read_bytes()).digest(), digest)
        said = self.dpkg("--purge", "tollbook").stderr
        self.assertIn("databases in /var/lib/tollbook are kept", said)
        self.assertEqual(hashlib.sha256(path.read_bytes()).digest(), digest)
        self.install(self.made)
        self.assertEqual(self.tool("query", "SELECT count(*), sum(length(data)) FROM chunk"), held)

    def test_a_purge_leaves_no_empty_folder(self):
        self.need_another_user()
        self.install(self.made)
        said = self.dpkg("--purge", "tollbook", "libtollbook1", "libtollbook-print1").stderr
        self.assertEqual([line for line in said.splitlines() if "directory '/etc' not empty" not in line], [])  # no package has /etc here
        for folder in "var/lib/tollbook", "var/log/tollbook", "etc/tollbook", "etc/logrotate.d/tollbook":
            self.assertFalse((self.root / folder).exists(), folder)
        self.assertFalse((self.root / "usr/lib/libtollbook.so.1").exists())


if __name__ == "__main__":
    unittest.main()
