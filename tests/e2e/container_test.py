#!/usr/bin/env python3
"""The files that images are made from: what can be said of them without a registry and a container engine. scripts/container/check.py does
their steps in bare roots, by hand. About a second."""
import importlib.util
import json
import pathlib
import re
import sys

import program

CONTAINER = program.ROOT / "scripts" / "container"


def load_check():
    spec = importlib.util.spec_from_file_location("container_check", CONTAINER / "check.py")
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


class Container(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.check = load_check()
        cls.stages = cls.check.read((program.ROOT / "Containerfile").read_text())
        cls.definition = (CONTAINER / "reprise.def").read_text()

    def values(self, stage, instruction):
        return [text for name, text in stage.steps if name == instruction]

    def test_two_stages_on_the_release_of_the_packages(self):
        self.assertEqual(len(self.stages), 2)
        self.assertIn("Debian 12 packages", (program.ROOT / "scripts/packages.txt").read_text().split("\n")[0])
        self.assertEqual({stage.suite for stage in self.stages}, {"bookworm"})

    def test_runs_as_a_user(self):
        last = self.stages[-1]
        user, = self.values(last, "USER")
        self.assertIn(f"useradd --create-home --uid 1000 {user}\n", (CONTAINER / "install").read_text())
        self.assertEqual([json.loads(text) for text in self.values(last, "ENTRYPOINT")], [["reprise"]])

    def test_packages_are_named_in_one_place(self):
        """Neither file installs a package by itself: scripts/packages.txt has all names."""
        for text in ((program.ROOT / "Containerfile").read_text(), self.definition):
            self.assertNotRegex(text, r"apt-get|apt install|dpkg")
        named = re.findall(r"apt-get install.*", (CONTAINER / "install").read_text())
        self.assertEqual([line.split("--no-install-recommends ")[1].split()[0] for line in named], ['"$packages"/reprise_*.deb'])

    def test_both_files_do_the_same(self):
        commands = [re.findall(r"(?:/\w+/)?scripts/(?:package|container/install)\b", text)
                    for text in ((program.ROOT / "Containerfile").read_text().partition("\nFROM")[2], self.definition.partition("\n\n")[2])]
        self.assertEqual(*[[re.sub(r"^/\w+/", "", command) for command in found] for found in commands])
        self.assertEqual(len(commands[0]), 2)
        self.assertEqual(re.findall(r"^From: debian:(\w+)-slim$", self.definition, re.MULTILINE), [stage.suite for stage in self.stages])
        of_image = " ".join(self.values(self.stages[-1], "ENV"))
        for setting in re.findall(r"^ +export (\S+)$", self.definition, re.MULTILINE):
            self.assertIn(setting, of_image)
            self.assertIn(f"export {setting}\n", (program.ROOT / "scripts/lib/mpi.sh").read_text() + "\n")

    def test_results_of_builds_stay_outside(self):
        ignored = (program.ROOT / ".dockerignore").read_text().splitlines()
        tracked = [line.strip("/") for line in (program.ROOT / ".gitignore").read_text().splitlines() if line.startswith("/")]
        self.assertLessEqual({re.sub(r"\*$", "*", name) for name in tracked}, set(ignored))

    def test_the_steps_are_a_script(self):
        """What the check would run is a shell script that bash reads, with each RUN in it and the use at its end."""
        for stage in self.stages:
            text = self.check.script(stage, [], stage is self.stages[-1])
            file = pathlib.Path(self.dir / "stage.sh")
            file.write_text(text)
            done = self.check.subprocess.run(["bash", "-n", file], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(text.count("as_user bash -euc"), len(self.values(stage, "RUN")) + (stage is self.stages[-1]))
        self.assertIn("entry replay", text)
        with self.assertRaisesRegex(SystemExit, "HEALTHCHECK"):
            self.check.read("FROM docker.io/library/debian:bookworm-slim\nHEALTHCHECK NONE\n")


if __name__ == "__main__":
    sys.exit(program.main())
