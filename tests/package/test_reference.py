#!/usr/bin/env python3
"""Man pages and completions know every subcommand and every option of `tollbook help`.

The pages and completions are those that the build made (server/packaging/reference.py); each shell
is asked itself what it would offer.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import script  # noqa: E402, F401: skips are told

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
MADE = BUILD / "packaging" / "reference"


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)


def help_of(*words):
    return run(BUILD / "tollbook", "help", *words).stdout


def commands():
    """{"key create": ["--db", ...]} as help tells it."""
    listed = help_of().split("\n\n", 2)[2].split("\nmore: ")[0]
    names = re.findall(r"^  (\S+(?: \S+)?)  ", listed, re.M)
    return {name: re.findall(r"^  (--[\w-]+)", help_of(*name.split()), re.M) for name in names}


COMMANDS = commands()


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Pages(unittest.TestCase):
    def pages(self):
        return {path.name: path.read_text() for path in (MADE / "man1").iterdir()}

    def test_there_is_a_page_for_each_subcommand(self):
        wanted = {f"tollbook-{name.replace(' ', '-')}.1" for name in COMMANDS} | {"tollbook.1"}
        self.assertEqual(set(self.pages()), wanted)
        for name in COMMANDS:
            self.assertIn(f".BR tollbook-{name.replace(' ', '-')} (1)\n",
                          self.pages()["tollbook.1"].replace("\\-", "-"))

    def test_a_page_names_each_option(self):
        for name, options in COMMANDS.items():
            page = self.pages()[f"tollbook-{name.replace(' ', '-')}.1"].replace("\\-", "-")
            for option in options:
                self.assertIn(f".TP\n\\fB{option}\\fR", page, name)

    def test_the_configuration_file_has_what_help_says(self):
        page = (MADE / "man5" / "tollbook.conf.5").read_text().replace("\\-", "-")
        said = help_of("config").split("\nWhat it may have", 1)[1]
        options = re.findall(r"^  ([a-z][\w-]*)", said, re.M)
        self.assertGreater(len(options), 40)
        self.assertEqual(re.findall(r"^\.TP\n\\fB([\w-]+)\\fR", page, re.M), options)

    @needs("groff")
    def test_groff_has_nothing_to_say(self):
        for path in sorted(MADE.glob("man?/*")):
            shown = run("groff", "-man", "-ww", "-Tutf8", "-z", path)
            self.assertEqual((shown.returncode, shown.stdout + shown.stderr), (0, ""), path.name)


class Completions(unittest.TestCase):
    """offers(*words): what the shell offers for the last word."""

    def check(self, offers):
        self.assertLessEqual({name.split()[0] for name in COMMANDS}, offers(""))
        for name, options in COMMANDS.items():
            words = name.split()
            if len(words) == 2:
                self.assertIn(words[1], offers(words[0], ""))
            self.assertLessEqual(set(options), offers(*words, "--"), name)
        self.assertLessEqual({"skip", "stop"}, offers("ingest", "--on-error", ""))
        self.assertIn("create", offers("help", "key", ""))
        self.assertIn("config", offers("help", ""))
        self.assertNotIn("--role", offers("key", "list", "--"))

    def test_bash(self):
        made = MADE / "bash" / "tollbook"
        self.assertEqual(run("bash", "-n", made).stderr, "")

        def offers(*words):
            done = run("bash", "-c", f'complete() {{ :; }}; . "{made}"; COMP_WORDS=("$@"); '
                       "COMP_CWORD=$(($# - 1)); _tollbook; printf '%s\\n' \"${COMPREPLY[@]}\"",
                       "bash", "tollbook", *words)
            self.assertEqual(done.stderr, "")
            return set(done.stdout.split())
        self.check(offers)

    @needs("zsh")
    def test_zsh(self):
        made = MADE / "zsh" / "_tollbook"
        self.assertEqual(run("zsh", "-n", made).stderr, "")
        # What it hands to zsh's own functions.
        stubs = ("_describe() { print -rl -- ${(P)2} }\n_arguments() { print -rl -- $words '' \"$@\" }\n"
                 "words=(\"$@\"); CURRENT=$#words\n")

        def offers(*words):
            done = run("zsh", "-fc", f"{stubs} . {made}", "zsh", "tollbook", *words)
            self.assertEqual(done.stderr, "")
            found = set(re.findall(r"^\*?(--[\w-]+|[\w-]+(?=:))", done.stdout, re.M))
            if words[-2:-1] and words[-2].startswith("--"):  # the option's own words
                found |= set(re.search(rf"^{words[-2]}\[.*:\((.*)\)$", done.stdout, re.M).group(1).split())
            return found
        self.check(offers)

    @needs("fish")
    def test_fish(self):
        made = MADE / "fish" / "tollbook.fish"
        self.assertEqual(run("fish", "-n", made).stderr, "")

        def offers(*words):
            done = run("fish", "-c", f"source {made}; complete -C 'tollbook {' '.join(words)}'",
                       cwd=MADE / "fish")
            self.assertEqual(done.stderr, "")
            return {line.split("\t")[0] for line in done.stdout.splitlines()}
        self.check(offers)


if __name__ == "__main__":
    unittest.main()
