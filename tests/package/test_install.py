#!/usr/bin/env python3
"""cmake --install: what lies where, and that programs build against it and run.

The examples of docs/examples are compiled against the installed tree, through pkg-config and through
find_package, and asked about a small database whose month is over.
"""
import grp
import gzip
import os
import pwd
import re
import shutil
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
WARN = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
COMPILERS = [("gcc", "-std=c11", ".c"), ("clang", "-std=c11", ".c"), ("g++", "-std=c++17", ".cpp"),
             ("clang++", "-std=c++17", ".cpp")]
UNITS = ["tollbook.service", "tollbook-follow.service", "tollbook-backup.service", "tollbook-backup.timer",
         "tollbook-verify.service", "tollbook-verify.timer"]
EXAMPLES = [p for p in sorted((SOURCE / "docs" / "examples").iterdir()) if p.suffix in (".c", ".cpp")]

CATALOG = """{"accounts":[{"id":1,"name":"acme","currency":"USD"}],
 "zones":[{"id":101,"account":1,"name":"z","type":"premium","created":"2025-01-01T00:00:00Z"}]}"""
BOOK = """{"book":"b","currency":"USD","effective_from":"2025-01-01T00:00:00Z","minimum_monthly":"1.00",
 "bandwidth":{"premium":{"per":"GB","regions":{"EU":"0.01"}}}}"""
USAGE = ('{"zone":101,"region":"DE","hour":"2025-03-05T10:00:00Z","requests":10,'
         '"bytes":250000000000}\n')


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen within a minute")
        time.sleep(0.005)


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="tollbook."))
        root = cls.scratch / "root"
        run("cmake", "--install", BUILD, "--prefix", "/opt/t", env={**os.environ, "DESTDIR": str(root)})
        cls.prefix = root / "opt" / "t"
        cls.library = next(cls.prefix.rglob("libtollbook.so.1")).parent
        cls.environment = {**os.environ, "LD_LIBRARY_PATH": str(cls.library),
                           "PKG_CONFIG_PATH": str(cls.library / "pkgconfig"),
                           "TOLLBOOK_NOW": "2025-04-02T00:00:00Z"}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def make_database(self, name):
        tool, db = self.prefix / "bin" / "tollbook", self.scratch / name
        for file, text in ("c.json", CATALOG), ("b.json", BOOK), ("u.ndjson", USAGE):
            (self.scratch / file).write_text(text)
        for words in (["init"], ["apply", "c.json"], ["book", "add", "b.json"], ["import", "u.ndjson"]):
            run(tool, *words, "--db", db, env=self.environment, cwd=self.scratch)
        return db

    def ask(self, programs):
        """Each example answers, whatever built it."""
        db = self.make_database(programs.name + ".db")

        def say(name, *more):
            return run(programs / name, db, *more, env=self.environment)
        self.assertIn('"TotalBandwidthUsed":250000000000,', say("statistics", 1, "2025-03"))
        self.assertIn('"TotalBandwidthUsed":', say("statistics"))
        rated = say("rate", 1, "2025-03")
        self.assertRegex(rated, r"(?m)^zone:101 +250000000000 byte +2\.50$")
        self.assertRegex(rated, r"(?m)^total, with tax +1 month +2\.50$")
        self.assertIn("zone:101,EU,250000000000", say("draft", 1, "2025-03"))
        invoice = say("month", 1, "2025-03")
        self.assertIn('"state":"final"', invoice)
        self.assertIn('"total":"2.50"', invoice)
        self.assertEqual(say("month", 1, "2025-03"), invoice)
        tool = self.prefix / "bin" / "tollbook"
        self.assertEqual(run(tool, "audit", "--db", db, "--format", "table", env=self.environment).count("\tinvoice\t"), 1)
        run(tool, "verify", "--db", db)

    def test_examples_build_through_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "tollbook", env=self.environment).split()
        for compiler, standard, suffix in COMPILERS:
            programs = self.scratch / compiler
            programs.mkdir()
            for source in EXAMPLES:
                if source.suffix == suffix:
                    run(compiler, standard, *WARN, source, *flags, "-o", programs / source.stem)
        for c, cpp in ("gcc", "g++"), ("clang", "clang++"):
            shutil.copy(self.scratch / cpp / "draft", self.scratch / c / "draft")
            self.ask(self.scratch / c)

    def test_examples_build_through_find_package(self):
        project = self.scratch / "project"
        project.mkdir()
        names = " ".join(source.name for source in EXAMPLES)
        (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
            project(embedder C CXX)
            find_package(tollbook 1.0 REQUIRED)
            foreach(file {names})
              string(REGEX REPLACE "[.].*" "" name ${{file}})
              add_executable(${{name}} {SOURCE}/docs/examples/${{file}})
              target_link_libraries(${{name}} tollbook::tollbook)
            endforeach()
            """)
        run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", project / "build", "-j2")
        self.ask(project / "build")

    def test_a_program_links_statically(self):
        flags = run("pkg-config", "--static", "--cflags", "--libs", "tollbook",
                    env=self.environment).replace("-ltollbook", "-l:libtollbook.a").split()
        run("gcc", SOURCE / "docs" / "examples" / "rate.c", *flags, "-o", self.scratch / "static")
        self.assertIn("usage: rate", subprocess.run([self.scratch / "static"], capture_output=True,
                                                    text=True).stderr)

    def test_the_version_is_one(self):
        version = run("pkg-config", "--modversion", "tollbook", env=self.environment).strip()
        self.assertEqual(run(self.prefix / "bin" / "tollbook", "--version").splitlines()[0], f"tollbook {version}")
        self.assertIn(f'#define TB_VERSION "{version}"',
                      (self.prefix / "include" / "tollbook" / "api.h").read_text())

    def test_everything_is_there(self):
        found = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*")}
        wanted = ["bin/tollbook", "bin/tollbook-check", "include/tollbook/tollbook.h", "etc/logrotate.d/tollbook", "etc/tollbook/tollbook.conf",
                  "share/man/man1/tollbook-serve.1", "share/man/man5/tollbook.conf.5",
                  "lib/ocf/resource.d/tollbook/server"]
        for file in wanted + [f"lib/systemd/system/{unit}" for unit in UNITS]:
            self.assertIn(file, found)
        agent = run(self.prefix / "lib/ocf/resource.d/tollbook/server", "meta-data")
        self.assertIn('<resource-agent name="server"', agent)
        for end in "libtollbook.so", "libtollbook.a", "cmake/tollbook/tollbookConfig.cmake":
            self.assertTrue(any(file.endswith(end) for file in found), end)
        headers = {path.name for path in (SOURCE / "include" / "tollbook").iterdir()}
        self.assertEqual({Path(f).name for f in found if f.startswith("include/tollbook/")}, headers)

    def test_libraries_are_found_as_the_system_finds_them(self):
        paths = {path.name: elf.library_path(path) for path in elf.binaries(self.prefix)}
        self.assertEqual(len(paths), 5)
        self.assertEqual({name: path for name, path in paths.items() if path}, {})

    def test_the_unit_starts_what_is_installed(self):
        unit = (self.prefix / "lib/systemd/system/tollbook.service").read_text()
        self.assertIn("\nExecStart=/opt/t/bin/tollbook serve $TOLLBOOK_OPTIONS\n", unit)
        self.assertIn("\nExecReload=/bin/sh -c 'kill -HUP $MAINPID'\n", unit)
        self.assertIn("\nSystemCallFilter=@system-service\n", unit)
        unit = (self.prefix / "lib/systemd/system/tollbook-follow.service").read_text()
        self.assertIn("\nExecStart=/opt/t/bin/tollbook follow --metrics ", unit)
        self.assertIn("\nSystemCallFilter=@system-service\n", unit)

    # --- units and logrotate ---

    def unit(self, name):
        return (self.prefix / "lib/systemd/system" / name).read_text()

    def test_systemd_takes_the_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        folder = self.scratch / "units"
        folder.mkdir()
        for name in UNITS:
            (folder / name).write_text(self.unit(name).replace("/opt/t/", f"{self.prefix}/"))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(folder / name for name in UNITS)],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_no_unit_may_do_more_than_the_server(self):
        def hardening(name):
            lines = self.unit(name).splitlines()
            return set(lines[lines.index("NoNewPrivileges=yes"):lines.index("CapabilityBoundingSet=") + 1])
        server = hardening("tollbook.service")
        self.assertGreater(len(server), 18)
        for name, differs in (("tollbook-backup.service", set()), ("tollbook-verify.service", set()),
                              ("tollbook-follow.service", {"ProtectHome=yes"})):  # it reads logs wherever they are
            self.assertEqual(server - hardening(name) - {"ReadWritePaths=/var/lib/tollbook"}, differs, name)
            self.assertIn("\nUser=tollbook\n", self.unit(name))

    def configuration(self, *edits):
        """The installed file, with its folders under the scratch folder; returns its path."""
        text = (self.prefix / "etc/tollbook/tollbook.conf").read_text()
        for edit in (("/var/", f"{self.scratch}/var/"), *edits):
            self.assertIn(edit[0], text)
            text = text.replace(*edit)
        path = self.scratch / "tollbook.conf"
        path.write_text(text)
        return path

    def command(self, name, **variables):
        """The ExecStart of a unit, with its folders under the scratch folder."""
        text = self.unit(name)
        line = re.search(r"^ExecStart=(.*)$", text, re.M).group(1)
        for given in re.findall(r'^Environment="(\w+)=(.*)"$', text, re.M):
            variables.setdefault(*given)
        for variable, value in variables.items():
            line = line.replace(f"${variable}", value)
        return re.sub(r"(?<![\w/])/var/", f"{self.scratch}/var/", line.replace("/opt/t/", f"{self.prefix}/")).split()

    def test_the_nightly_jobs_leave_a_healthy_database(self):
        state = self.scratch / "var/lib"
        for folder in "tollbook", "tollbook-backup":
            (state / folder).mkdir(parents=True)
        tool, db = self.prefix / "bin" / "tollbook", state / "tollbook/tollbook.db"
        shutil.move(self.make_database("nightly.db"), db)
        shutil.move(self.scratch / "nightly.db.lock", f"{db}.lock")

        # Also where commands go to a server: a check of everything takes longer than an answer may.
        away = "db {0}\nserver http://127.0.0.1:1\nkey-file {1}\n".format(db, self.scratch / "none")
        environment = {**self.environment, "TOLLBOOK_CONFIG": str(self.configuration((f"db {db}\n", away)))}

        def healthy():
            return subprocess.run([tool, "status", "--db", db, "--min-free-mb", "0"], env=environment, check=False,
                                  capture_output=True).returncode == 0
        self.assertFalse(healthy())
        for second in range(16):
            run(*self.command("tollbook-backup.service"), env={**environment, "TOLLBOOK_NOW": f"2025-04-02T00:00:{second:02}Z"})
        self.assertFalse(healthy())
        run(*self.command("tollbook-verify.service"), env=environment)
        self.assertTrue(healthy())
        copies = sorted(path.name for path in (state / "tollbook-backup").iterdir())
        self.assertEqual(copies, [f"tollbook-20250402T0000{second:02}Z.db" for second in range(2, 16)])
        run(*self.command("tollbook-backup.service", TOLLBOOK_BACKUP_OPTIONS="--keep 1"),
            env={**environment, "TOLLBOOK_NOW": "2025-04-02T00:01:00Z"})
        self.assertEqual([path.name for path in (state / "tollbook-backup").iterdir()], ["tollbook-20250402T000100Z.db"])

    def test_the_server_takes_the_installed_configuration(self):
        """Also with each line that is commented out."""
        (self.scratch / "var/lib/first").mkdir(parents=True)
        path = self.configuration(("/tollbook/tollbook.db", "/first/t.db"), (":8080", ":0"))
        environment = {**self.environment, "TOLLBOOK_CONFIG": str(path)}
        run(*self.start_before(), env=environment)
        run(*self.start_before(), env=environment)
        self.assertEqual(sorted(file.name for file in (self.scratch / "var/lib/first").iterdir()), ["t.db", "t.db.first-key", "t.db.lock"])
        port = self.scratch / "var/lib/first/port"
        server = subprocess.Popen(self.command("tollbook.service", TOLLBOOK_OPTIONS=f"--port-file {port}"), env=environment,
                                  stderr=subprocess.PIPE)
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        until(lambda: port.exists() or server.poll() is not None)
        tool = self.prefix / "bin" / "tollbook"
        run(tool, "status", "--server", f"http://127.0.0.1:{port.read_text().strip()}", env=environment)
        said = subprocess.run([tool, "status", "--min-free-mb", "0"], env=environment, check=False, capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (1, ""))
        self.assertIn("serve 127.0.0.1:", said.stdout)
        path.write_text(re.sub(r"^#(?! |$)", "", path.read_text(), flags=re.M))
        self.assertIn("\ncache-mb 256\n", path.read_text())
        run(tool, "query", "SELECT 1", env=environment)

    def start_before(self):
        line = re.search(r"^ExecStartPre=(.*)$", self.unit("tollbook.service"), re.M).group(1)
        return line.replace("/opt/t/", f"{self.prefix}/").split()

    def test_logrotate_takes_the_file_and_the_server_loses_no_line(self):
        if not shutil.which("logrotate"):
            self.skipTest("logrotate is not installed")
        folder = self.scratch / "log"
        folder.mkdir(mode=0o755)
        db, log, port = self.make_database("rotate.db"), folder / "access.log", folder / "port"
        tool = self.prefix / "bin" / "tollbook"
        with open(folder / "said", "wb") as said:
            server = subprocess.Popen([tool, "serve", "--db", db, "--listen", "127.0.0.1:0", "--access-log", log, "--port-file", port],
                                      stderr=said, env=self.environment)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        until(port.exists)
        url = f"http://127.0.0.1:{port.read_text().strip()}/healthz"

        def ask():
            with urllib.request.urlopen(url) as answer:
                answer.read()
        text = (self.prefix / "etc/logrotate.d/tollbook").read_text()
        self.assertIn("/var/log/tollbook/*.log {\n    su tollbook tollbook\n", text)
        self.assertIn("systemctl try-reload-or-restart tollbook.service", text)
        me = pwd.getpwuid(os.getuid())
        text = (text.replace("/var/log/tollbook/", f"{folder}/")
                .replace("su tollbook tollbook", f"su {me.pw_name} {grp.getgrgid(me.pw_gid).gr_name}")
                .replace("[ ! -d /run/systemd/system ] || systemctl try-reload-or-restart tollbook.service", f"kill -HUP {server.pid}"))
        configuration = self.scratch / "logrotate"
        configuration.write_text(text)
        os.chmod(configuration, 0o644)
        dry = subprocess.run(["logrotate", "-d", configuration], capture_output=True, text=True, check=False)
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertNotIn("error:", dry.stderr)
        for count in range(1, 4):
            ask()
            until(lambda: log.exists() and log.read_text().count("/healthz") == 1)
            run("logrotate", "-f", "-s", self.scratch / "rotated", configuration)
            until(lambda: (folder / "said").read_text().count("SIGHUP: reloaded the access log\n") == count)
        ask()
        until(lambda: log.read_text().count("/healthz") == 1)
        packed = sorted(path.name for path in folder.glob("access.log*"))
        self.assertEqual(packed, ["access.log", "access.log.1", "access.log.2.gz", "access.log.3.gz"])
        texts = [(folder / "access.log.1").read_text(), *(gzip.open(folder / name, "rt").read() for name in packed[2:])]
        self.assertEqual([text.count("/healthz") for text in texts], [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
