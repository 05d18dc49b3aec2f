#!/usr/bin/env python3
"""Numbers that no job needs: whatever is given is refused, or gives what it says. Nothing gets faster by being made slower."""
import json
import subprocess
import sys

import program
from program import TRACES, ProgramTest

EXTREME = ["nan", "inf", "-inf", "1e300", "1e18", "1e15", "1e12", "1e-12", "1e-300", "-1", "0", "", "x", "9" * 400]


class Numbers(ProgramTest):
    def setUp(self):
        super().setUp()
        self.trace = self.dir / "trace"
        self.run_program("convert", TRACES / "quickstart", "-o", self.trace)

    def step_ns(self, *args):
        """The step that a command prints; None where it refuses, with a message."""
        done = subprocess.run([program.REPRISE, *map(str, args)], capture_output=True, text=True, timeout=120,
                              env=program.ENVIRONMENT, check=False)
        self.assertIn(done.returncode, (0, 2, 3), (args, done.stderr))
        if done.returncode:
            self.assertLess(len(done.stderr), 1500, args)
            self.assertNotIn("internal error", done.stderr, args)
            return None
        report = json.loads(done.stdout)
        return report.get("step_time_ns", report.get("step_time_replayed_ns"))

    def simulated(self, *args):
        return self.step_ns("simulate", self.trace, "-o", self.dir / "run", "--force", "--json", *args)

    def check(self, rows, base, run):
        """rows: (arguments with {} for the number, those that make it no faster, those that make it a hundred times as long)."""
        self.assertGreater(base, 0)
        for args, slower, forever in rows:
            for number in EXTREME:
                with self.subTest(args=args, number=number):
                    step = run(*[arg.format(number) for arg in args])
                    if step is None:
                        continue
                    self.assertGreater(step, 0)
                    factor = float(number or 1)  # an empty text is an option that is not there
                    if slower(factor):
                        self.assertGreaterEqual(step, base)
                    if forever(factor):
                        self.assertGreater(step, 100 * base)

    def test_of_a_set(self):
        self.check([(["--machine", "recorded", "--slow", "0={}"], lambda f: f >= 1, lambda f: f >= 1e9),
                    (["--machine", "recorded", "--jitter", "{}"], lambda f: False, lambda f: False)],
                   self.simulated("--machine", "recorded"), self.simulated)

    def test_of_a_job(self):
        job = ["predict", "gpt-small", "--machine", "h100-hgx", "--json"]
        self.check([(["--set", "device.memory.bandwidth={}"], lambda f: f < 1e12, lambda f: f < 1),
                    (["--set", "device.launch_latency={}"], lambda f: f > 1, lambda f: f > 1e3),
                    (["--link", "nvlink={}"], lambda f: f <= 1, lambda f: f < 1e-6),
                    (["--link", "nvlink={}", "--network", "flow"], lambda f: f <= 1, lambda f: f < 1e-6),
                    (["--slow", "0={}"], lambda f: f >= 1, lambda f: f >= 1e9),
                    (["--power-limit", "{}W"], lambda f: f < 700, lambda f: False)],
                   self.step_ns(*job), lambda *args: self.step_ns(*job, *args))

    def test_of_a_dry_run(self):
        def dry(*args):
            return self.step_ns("simulate", self.trace, "-o", self.dir / "run", "--force", "--machine", "recorded", "--json", *args)

        self.check([(["--time-scale", "{}"], lambda f: f >= 1, lambda f: f >= 1e9),
                    (["--time-scale", "gemm={}"], lambda f: f >= 1, lambda f: f >= 1e9),
                    (["--host-gaps", "scale:{}"], lambda f: f >= 1, lambda f: f >= 1e9)], dry(), dry)


if __name__ == "__main__":
    sys.exit(program.main())
