#!/usr/bin/env python3
"""scripts/quickstart after the build: what a newcomer sees on two screens. About 30 s."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import program

SCRIPT = program.ROOT / "scripts" / "quickstart"
LINES, COLUMNS = 60, 100


class Quickstart(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        """Twice in one directory: the second run replaces what the first one left."""
        cls.scratch = tempfile.TemporaryDirectory(prefix="reprise_quickstart_")
        cls.out = pathlib.Path(cls.scratch.name) / "out"
        cls.outputs = [cls.run_script() for _ in range(2)]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_script(cls):
        done = subprocess.run([SCRIPT, cls.out], capture_output=True, text=True, timeout=400, check=False,
                              env={**program.ENVIRONMENT, "REPRISE": program.REPRISE})
        if (done.returncode, done.stderr) != (0, ""):
            raise AssertionError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
        # As it reads with the directory that the script takes by itself.
        return done.stdout.replace(os.path.relpath(cls.out, program.ROOT), "build/quickstart")

    def parts(self, output):
        """What follows each command, by its name; the last one has what is next."""
        return {part.split("\n")[0]: part.split("\n", 1)[1] for part in output.split("\n$ ")[1:]}

    def test_two_screens(self):
        for output in self.outputs:
            lines = output.splitlines()
            self.assertLessEqual(len(lines), LINES, output)
            self.assertEqual([line for line in lines if len(line) > COLUMNS], [])

    def test_shows_each_use(self):
        for output in self.outputs:
            parts = self.parts(output)
            commands = [command.split()[1] for command in parts]
            self.assertEqual(commands, ["convert", "replay", "replay", "compare", "report"])
            convert, host, _, compare, _ = parts.values()
            self.assertIn("quickstart", convert)
            self.assertIn("opencl", compare)
            self.assertIn("host", compare)
            # The machine is named where it is not that of the capture.
            self.assertRegex(host, r"^Replay [0-9.]+ m?s; your job [0-9.]+ ms untraced(, recorded on [^:]+)?: ", output)

    def test_page_and_what_is_next(self):
        for output in self.outputs:
            page, after = output.split("\nThe page: ")[1].split("\nNext\n")
            self.assertEqual(page, "build/quickstart/report.html")
            self.assertIn("<html", (self.out / "report.html").read_text(encoding="utf-8"))
            self.assertEqual(len(after.splitlines()), 3, after)
            pages = re.findall(r"docs/\S+\.md", after)
            self.assertEqual(len(pages), 3, after)
            for named in pages:
                self.assertTrue((program.ROOT / named).exists(), named)


class BuildProgress(program.ProgramTest):
    """What scripts/build prints where there is no terminal."""

    def shown(self, lines):
        command = f". {program.ROOT}/scripts/lib/progress.sh; show_progress"
        return subprocess.run(["bash", "-c", command], input="\n".join(lines) + "\n", capture_output=True, text=True,
                              check=True).stderr.splitlines()

    def test_a_line_for_each_tenth(self):
        shown = self.shown(["ninja: Entering directory `build'", *(f"[{n}/545] Building {n}.o" for n in range(1, 546))])
        self.assertEqual(len(shown), 11, shown)
        self.assertRegex(shown[-1], r"^\[ 0:0\d\] building: 545 of 545 steps$")

    def test_nothing_to_do_is_silent(self):
        self.assertEqual(self.shown(["ninja: Entering directory `build'", "ninja: no work to do."]), [])

    def test_errors_pass(self):
        error = ["FAILED: a.o", "a.cc:1:1: error: expected ';'", "ninja: build stopped: subcommand failed."]
        self.assertEqual(self.shown(["[1/545] Building a.o", *error])[1:], error)


if __name__ == "__main__":
    sys.exit(program.main())
