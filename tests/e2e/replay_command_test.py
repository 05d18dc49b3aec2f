#!/usr/bin/env python3
"""reprise replay: what it chooses by itself, what it shows meanwhile and at the end, and how it is repeated."""
import json
import os
import pathlib
import pty
import re
import shutil
import sqlite3
import subprocess
import sys

import program

USAGE = 2
QUICK = ("--warmup", "0", "--iterations", "1")
STAND_IN_TORCH = pathlib.Path(program.REPRISE).resolve().parent / "tests/kernels/libstand_in_torch.so"


class SingleRankTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.keep = program.ProgramTest("run_program")
        cls.keep.setUp()
        cls.trace = cls.keep.convert("gloo/gpt_single")

    @classmethod
    def tearDownClass(cls):
        cls.keep.tearDown()

    def replay(self, *args, expect=0, env=None):
        return self.run_program("replay", self.trace, "-o", self.dir / "run", "--force", *args, expect=expect, env=env)

    def manifest(self, run="run"):
        return json.loads((self.dir / run / "manifest.json").read_text())

    def facts(self):
        rows = sqlite3.connect(self.dir / "run/run.sqlite").execute("SELECT name, value FROM facts WHERE rank = 0")
        return dict(rows.fetchall())


class DefaultsTest(SingleRankTest):
    def test_the_best_backend_with_its_reason(self):
        done = self.replay(*QUICK)
        if "GPU" in done.stderr.split("\n")[0] and "no GPU" not in done.stderr:
            self.assertRegex(done.stderr, r"(?m)^device: opencl \(a GPU: .+\)$")
        else:
            self.assertRegex(done.stderr, r"(?m)^device: host \(this machine has no .+\)$")
            self.assertTrue(self.manifest()["devices"][0].startswith("host"))
        self.assertIn(f"({self.facts()['device_reason']})", done.stderr)

    def test_a_named_backend_needs_no_reason(self):
        done = self.replay(*QUICK, "--device", "host")
        self.assertNotIn("device:", done.stderr)
        self.assertNotIn("device_reason", self.facts())

    def test_what_works_on_one_backend_chooses_it(self):
        self.assertIn("device: host (--torch", self.replay(*QUICK, "--torch", STAND_IN_TORCH).stderr)
        tuning = self.dir / "tuning.json"
        tuning.write_text('{"reprise_tuning": 1, "devices": []}')
        self.assertIn("device: opencl (--icd, --tuning", self.replay(*QUICK, "--tuning", tuning).stderr)

    def test_nothing_is_said_of_a_device_that_nothing_uses(self):
        self.assertNotIn("device:", self.replay(*QUICK, "--ops", "timed").stderr)

    def test_host_gaps_without_what_tracing_took(self):
        self.replay(*QUICK)
        self.assertEqual(self.manifest()["options"]["host_gap_factor"], "untraced")
        self.replay(*QUICK, "--host-gaps", "keep")
        self.assertEqual(self.manifest()["options"]["host_gap_factor"], "1")

    def test_host_gaps_as_recorded_where_there_is_no_estimate(self):
        policy = json.loads(self.run_program("anonymize", "--print-policy", "replay").stdout)
        policy["fields"]["tracing_call_ns"] = "drop"
        (self.dir / "policy.json").write_text(json.dumps(policy))
        trace = self.dir / "trace"
        self.run_program("anonymize", self.trace, trace, "--policy", self.dir / "policy.json")
        self.run_program("replay", trace, "-o", self.dir / "run", *QUICK)
        self.assertEqual(self.manifest()["options"]["host_gap_factor"], "1")
        done = self.run_program("replay", trace, "-o", self.dir / "other", "--host-gaps", "untraced", expect=USAGE)
        self.assertIn("--host-gaps keep replays the host times as recorded", done.stderr)

    def test_the_recorded_machine_is_in_the_run(self):
        capture = self.copy_capture("gloo/gpt_single")
        meta = json.loads((capture / "rank0.meta.json").read_text())
        meta.update(processor="AMD EPYC 9654 96-Core Processor", device="NVIDIA H100 80GB HBM3", threads=3, cores=7,
                    torch="2.10.0+cu126")
        (capture / "rank0.meta.json").write_text(json.dumps(meta))
        trace = self.dir / "trace"
        self.run_program("convert", capture, "-o", trace)
        machine = {"processor": "AMD EPYC 9654 96-Core Processor", "device": "NVIDIA H100 80GB HBM3",
                   "framework": "PyTorch 2.10.0+cu126", "threads": 3, "cores": 7}
        self.assertEqual(self.run_json("stats", trace)["ranks"][0]["machine"], machine)
        for command in (("replay", *QUICK), ("simulate", "--machine", "recorded")):
            self.run_program(command[0], trace, "-o", self.dir / "run", "--force", *command[1:])
            facts = self.facts()
            for name, value in machine.items():
                self.assertEqual(facts[f"recorded_{name}"], str(value))
        # Shared: the hardware stays, the local part of a version does not; a policy of statistics drops all.
        for policy, expected in (("replay", {**machine, "framework": "PyTorch 2.10.0"}), ("statistics", None)):
            shared = self.dir / policy
            self.run_program("anonymize", trace, shared, "--policy", policy)
            self.assertEqual(self.run_json("stats", shared)["ranks"][0]["machine"], expected)


    def test_as_many_threads_as_recorded(self):
        """A job of one thread a rank is no other job on a machine with more cores; a GPU's host threads say nothing."""
        cores = len(os.sched_getaffinity(0))
        for threads, device, wanted in ((1, None, 1), (cores + 3, None, cores), (1, "NVIDIA H100 80GB HBM3", cores)):
            capture = self.dir / "capture"
            shutil.rmtree(capture, ignore_errors=True)
            self.copy_capture("gloo/gpt_single")
            meta = json.loads((capture / "rank0.meta.json").read_text())
            meta.update(threads=threads, cores=cores, device=device)
            (capture / "rank0.meta.json").write_text(json.dumps(meta))
            self.run_program("convert", capture, "-o", self.dir / "threads", "--force")
            for environment, expected in ((None, wanted), ({"OMP_NUM_THREADS": "2"}, 2)):
                self.run_program("replay", self.dir / "threads", "-o", self.dir / "run", "--force", "--device", "host", *QUICK,
                                 env=environment)
                self.assertEqual(self.facts()["compute_threads"], str(expected), (threads, device))


class TorchTest(SingleRankTest):
    def environment(self, answer):
        """An active virtual environment whose Python answers where torch lies."""
        python = self.dir / "venv/bin/python3"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\necho '{answer}'\n")
        python.chmod(0o755)
        return {"VIRTUAL_ENV": str(self.dir / "venv")}

    def test_auto_takes_that_of_the_active_environment(self):
        package = self.dir / "site-packages/torch"
        (package / "lib").mkdir(parents=True)
        (package / "lib/libtorch_cpu.so").symlink_to(STAND_IN_TORCH)
        self.replay(*QUICK, "--torch", "auto", env=self.environment(package / "__init__.py"))
        self.assertIn("PyTorch 2.10", self.manifest()["versions"]["device_driver"])

    def test_auto_without_torch_names_what_to_do(self):
        done = self.replay("--torch", "auto", env=self.environment(""), expect=USAGE)
        self.assertIn(f"--torch auto: {self.dir / 'venv/bin/python3'} has no PyTorch; activate the environment",
                      done.stderr)
        self.assertIn("libtorch_cpu.so", done.stderr)

    def test_auto_with_a_torch_without_its_library(self):
        done = self.replay("--torch", "auto", env=self.environment("/nowhere/torch/__init__.py"), expect=USAGE)
        self.assertIn("there is no /nowhere/torch/lib/libtorch_cpu.so", done.stderr)


class OutputTest(SingleRankTest):
    def on_a_terminal(self, *command):
        """What a terminal shows of stderr, and stdout."""
        master, terminal = pty.openpty()
        process = subprocess.Popen([str(part) for part in command], env=program.ENVIRONMENT, stdout=subprocess.PIPE,
                                   stderr=terminal, text=True)
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        os.close(master)
        out = process.communicate()[0]
        self.assertEqual(process.returncode, 0, shown.decode())
        return shown.decode(), out

    def check_progress(self, shown):
        lines = shown.split("\r\x1b[K")
        self.assertIn("replay: compiling kernels …", lines)
        self.assertRegex(lines[-3], r"^replay: warm-up [\d.]+ ms, 1/2 [\d.]+ ms …$")
        self.assertRegex(lines[-2], r"^replay: warm-up [\d.]+ ms, 1/2 [\d.]+ ms, 2/2 [\d.]+ ms …$")
        self.assertEqual(lines[-1], "")  # nothing is left of it

    def test_progress_on_a_terminal(self):
        shown, _ = self.on_a_terminal(program.REPRISE, "replay", self.trace, "-o", self.dir / "run", "--iterations", 2)
        self.check_progress(shown)

    def test_progress_under_mpirun(self):
        """Of one rank, although mpirun's ranks have a pipe for stderr."""
        trace = self.convert("gloo/gpt_ddp4")
        shown, out = self.on_a_terminal("mpirun", "-n", 2, program.REPRISE, "replay", trace, "--ranks", "0-1", "-o",
                                        self.dir / "run", "--iterations", 2)
        self.check_progress(shown)
        self.assertNotIn("\x1b", out)  # stdout is a pipe here, and looks like a terminal to the ranks

    def test_no_progress_elsewhere(self):
        self.assertEqual(self.replay(*QUICK, "--device", "host").stderr, "")

    def test_it_ends_with_the_short_report(self):
        text = self.replay(*QUICK).stdout
        short = self.run_program("report", self.dir / "run").stdout
        self.assertIn("\n".join(short.split("\n")[:4]), text)
        self.assertIn(f"reprise report {self.dir / 'run'} --full", text)
        self.assertLessEqual(text.count("\n"), 44)

    def test_quiet_and_json(self):
        self.assertEqual(self.replay(*QUICK, "--quiet").stdout, "")
        report = json.loads(self.replay(*QUICK, "--json", "--check").stdout)
        self.assertEqual(report["coverage"], self.run_json("report", self.dir / "run")["coverage"])
        self.replay(*QUICK, "--json", "--quiet", expect=USAGE)


class RunsTest(program.ConvertedTest):
    PART = ("--ranks", "0-1", "--ops", "timed", "--host-gaps", "drop", *QUICK)

    def test_runs_are_repeats_for_compare(self):
        out = self.dir / "out"
        done = self.run_program("replay", self.trace, f"--output={out}", *self.PART, "--runs", 3)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["run1", "run2", "run3"])
        times = []
        for run in sorted(out.iterdir()):
            report = self.run_json("report", run)
            self.assertEqual(len(report["ranks"]), 2)
            times.append(report["step_time_replayed_ns"] * 1e-6)
        times.sort()
        found = re.search(r"3 runs: step (\S+) ms \(median of the runs' medians\), (\S+) to (\S+) ms", done.stdout)
        for text, value in zip(found.groups(), (times[1], times[0], times[2])):
            self.assertAlmostEqual(float(text), value, delta=value * 1e-3)
        self.assertNotIn("run 1/3", done.stderr)  # progress is for terminals
        compared = self.run_json("compare", f"a={out}", f"b={out}")
        self.assertEqual([len(side["runs"]) for side in compared["sides"]], [3, 3])
        self.assertEqual(compared["repeats"], "runs")
        # Again, fewer: what is left of the first time would count as repeats.
        self.assertIn("not empty", self.run_program("replay", self.trace, "-o", out, *self.PART, "--runs", 2,
                                                    expect=USAGE).stderr)
        done = self.run_program("replay", self.trace, "-o", out, *self.PART, "--runs", 2, "--force", "--json")
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["run1", "run2"])
        summary = json.loads(done.stdout)
        self.assertEqual({run["path"] for run in summary["runs"]}, {str(out / "run1"), str(out / "run2")})
        self.assertLessEqual(summary["min_ns"], summary["median_ns"])
        self.assertLessEqual(summary["median_ns"], summary["max_ns"])

    def test_processes_in_place_of_mpirun(self):
        done = self.run_program("replay", self.trace, "-o", self.dir / "run", *self.PART, "-n", 2)
        self.assertIn(str(self.dir / "run"), done.stdout)
        self.assertEqual(len(self.run_json("report", self.dir / "run")["ranks"]), 2)

    def test_processes_with_several_ranks(self):
        args = ("replay", self.trace, "-o", self.dir / "out", *self.PART[2:])
        self.run_program(*args, "--runs", 1, "--ranks-per-process", 2)
        self.assertEqual(len(self.run_json("report", self.dir / "out/run1")["ranks"]), 4)
        done = self.run_program(*args, "--runs", 1, "--ranks-per-process", 3, "--force", expect=USAGE)
        self.assertIn("--ranks-per-process 3: it does not divide the 4 ranks to replay", done.stderr)

    def test_a_run_that_fails_ends_them(self):
        done = self.run_program("replay", self.trace, "-o", self.dir / "out", *self.PART, "--runs", 2, "--processes",
                                3, expect=USAGE)
        self.assertIn("run 1 of 2 ended with exit code 2; 0 complete", done.stderr)
        self.assertFalse((self.dir / "out/run2").exists())

    def test_under_mpirun_it_is_refused_with_the_command(self):
        done = self.run_program("replay", self.trace, "-o", self.dir / "out", *self.PART, "--runs", 2, ranks=2,
                                expect=USAGE)
        self.assertIn(f"reprise replay {self.trace} -o {self.dir / 'out'} --processes 2 --runs 2", done.stderr)

    def test_without_mpirun_on_the_path(self):
        done = self.run_program("replay", self.trace, "-o", self.dir / "out", *self.PART, "--runs", 2, expect=4,
                                env={"PATH": "/nowhere"})
        self.assertIn("mpirun on PATH", done.stderr)

    def test_the_wrong_number_of_ranks_names_the_commands(self):
        done = self.run_program("replay", self.trace, "-o", self.dir / "run", expect=USAGE)
        self.assertIn("has 4 ranks, but 1 was started: use mpirun -n 4 reprise replay "
                      f"{self.trace} -o {self.dir / 'run'} …", done.stderr)
        self.assertIn("--processes 4", done.stderr)
        self.assertIn("with --ranks-per-process N, 4/N processes", done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
