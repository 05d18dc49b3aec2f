"""What bundled captures say against what a conversion keeps, by scripts/check_capture.py, which shares nothing with it."""
import re
import subprocess
import sys
import unittest

import program

CASES = program.ROOT / "tests" / "converters" / "cases"
SCRIPT = program.ROOT / "scripts" / "check_capture.py"


def captures(folder):
    """Folders with a Kineto file of their own, and files in none of them."""
    return sorted({path.parent for pattern in ("*.json", "*.json.gz") for path in folder.rglob(pattern)})


class CheckCaptureTest(unittest.TestCase):
    def check(self, capture, *options):
        done = subprocess.run([sys.executable, SCRIPT, "--reprise", program.REPRISE, *options, capture], capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, f"{capture}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_bundled_captures(self):
        for capture in captures(program.TRACES):
            with self.subTest(capture=capture):
                self.check(capture)

    def test_cases(self):
        for capture in captures(CASES):
            with self.subTest(capture=capture):
                self.check(capture)

    def test_row_of_a_table(self):
        row = self.check(program.TRACES / "gloo" / "resnet18", "--markdown").splitlines()[-1]
        self.assertRegex(row, r"^\| \S+resnet18 \| 0 / 0 \| 0\.000 / 0\.000 \| 0 / 0 \| 89\.411 / 89\.411 \| 0\.00 % \|  \|$")

    def test_names_of_notes(self):
        """The notes that can name a difference are those of the program."""
        counters = set(re.findall(r"^COUNTER\w*\((\w+),", (program.ROOT / "core" / "counters.def").read_text(), re.M))
        used = set(re.findall(r'"(\w+)"', SCRIPT.read_text().split("EVENTS = ")[1].split("class Event")[0]))
        self.assertEqual(used - counters - {"count", "time", "span", "transfers", "bytes"}, set())

    def test_an_unnamed_difference_fails(self):
        """A program that loses a kernel without a word: the same with one event less in what it is given."""
        with program.tempfile.TemporaryDirectory() as scratch:
            scratch = program.pathlib.Path(scratch)
            kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 5, "args": {"device": 0, "stream": 7}}
            events = [{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 100, "dur": 90, "args": {}},
                      {**kernel, "ts": 110}, {**kernel, "ts": 120}]
            for name, count in (("full", 3), ("less", 2)):
                (scratch / f"{name}.json").write_text(program.json.dumps({"traceEvents": events[:count]}))
            loses = scratch / "loses"
            loses.write_text(f"#!/bin/sh\n[ \"$1\" = convert ] && {{ shift 2; set -- convert {scratch}/less.json \"$@\"; }}\n"
                             f"exec {program.REPRISE} \"$@\"\n")
            loses.chmod(0o755)
            done = subprocess.run([sys.executable, SCRIPT, "--reprise", loses, scratch / "full.json"], capture_output=True,
                                  text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"kernels +2 +1 +-1  NOT NAMED")
            self.assertRegex(done.stdout, r"device time +10\.000 us +5\.000 us +-5\.000 us  NOT NAMED")


if __name__ == "__main__":
    program.main()
