#!/usr/bin/env python3
"""What goes wrong in real life: each failure has a message that helps and the right exit code."""
import gzip
import json
import os
import shutil
import subprocess
import sys

import program

USAGE, BAD_INPUT, ENVIRONMENT = 2, 3, 4


class ConvertFailures(program.ProgramTest):
    def refuse(self, capture, *needles):
        out = self.dir / "out"
        done = self.run_program("convert", capture, "-o", out, expect=BAD_INPUT)
        for needle in needles:
            self.assertIn(needle, done.stderr)
        self.assertFalse(any(out.glob("*.et")) if out.exists() else False, "left files behind")

    def test_missing_rank(self):
        capture = self.copy_capture("gloo/gpt_ddp4")
        for file in capture.glob("rank2.*"):
            file.unlink()
        self.refuse(capture, "rank 2")

    def test_truncated_gzip(self):
        capture = self.copy_capture("gloo/gpt_ddp4")
        file = capture / "rank1.kineto.json.gz"
        file.write_bytes(file.read_bytes()[:20000])
        self.refuse(capture, "rank1.kineto.json.gz")

    def test_truncated_json(self):
        capture = self.copy_capture("gloo/resnet18")
        file = capture / "rank0.et.json.gz"
        text = gzip.decompress(file.read_bytes())
        file.write_bytes(gzip.compress(text[:len(text) // 2]))
        self.refuse(capture, "rank0.et.json.gz")

    def test_not_json(self):
        capture = self.copy_capture("gloo/resnet18")
        (capture / "rank0.et.json.gz").write_bytes(gzip.compress(b"hello, world"))
        self.refuse(capture, "rank0.et.json.gz")

    def test_wrong_schema(self):
        capture = self.copy_capture("gloo/resnet18")
        (capture / "rank0.et.json.gz").write_bytes(gzip.compress(
            json.dumps({"schema": "9.9.9-other", "nodes": []}).encode()))
        self.refuse(capture, "rank0.et.json.gz", "9.9.9-other")

    def test_not_there(self):
        done = self.run_program("convert", self.dir / "nothing", "-o", self.dir / "out",
                                expect=BAD_INPUT)
        self.assertIn("nothing", done.stderr)

    def test_existing_output_is_kept(self):
        out = self.convert("gloo/resnet18")
        before = {file: file.read_bytes() for file in out.iterdir()}
        done = self.run_program("convert", program.TRACES / "gloo/resnet18", "-o", out, expect=USAGE)
        self.assertIn("--force", done.stderr)
        self.assertEqual(before, {file: file.read_bytes() for file in out.iterdir()})

    def test_converting_twice_is_byte_identical(self):
        first = self.convert("gloo/resnet18")
        second = self.dir / "second"
        self.run_program("convert", program.TRACES / "gloo/resnet18", "-o", second, "--name",
                         "resnet18")
        for file in first.iterdir():
            self.assertEqual(file.read_bytes(), (second / file.name).read_bytes(), file.name)


class ReplayFailures(program.ConvertedTest):
    def fail_everywhere(self, trace, expect, *needles, ranks=4, env=None, args=()):
        """One rank prints it once, mpirun adds nothing, and the exit code is right."""
        done = self.run_program("replay", trace, "-o", self.dir / "run", *args, ranks=ranks, expect=expect,
                                env=env, timeout=120)
        for needle in needles:
            self.assertIn(needle, done.stderr)
        # mpirun's libevent sometimes warns of a closed file.
        spoken = [line for line in done.stderr.splitlines() if line and not line.startswith(("device: ", "[warn] Epoll"))]
        self.assertTrue(spoken[0].startswith("reprise: "), done.stderr)
        self.assertEqual(len(spoken), 1, done.stderr)
        self.assertFalse((self.dir / "run" / "run.sqlite").exists())
        return done

    def copied(self):
        to = self.dir / "set"
        shutil.copytree(self.trace, to)
        return to

    def test_wrong_number_of_ranks(self):
        self.fail_everywhere(self.trace, USAGE, "mpirun -n 4", ranks=2)

    def test_wrong_option_of_all_ranks(self):
        self.fail_everywhere(self.trace, USAGE, "--device takes one of", args=("--device", "abacus"))
        self.fail_everywhere(self.trace, USAGE, "'quick' is not a mode", args=("--ops", "gemm=quick"))

    def test_started_by_a_launcher_that_is_not_this_mpis(self):
        """Each process would run as rank 0 of 1. The variables are those that such a launcher sets for one of them."""
        for launcher, variables in (("mpiexec", {"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0"}),
                                    ("torchrun", {"TORCHELASTIC_RUN_ID": "job", "RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}),
                                    ("srun", {"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4",
                                              "SLURM_LOCALID": "0"})):
            for command in (["replay", self.trace, "-o", self.dir / "run"], ["bench", "collectives", "all_reduce"],
                            ["machine", "measure", "-o", self.dir / "here.json"]):
                with self.subTest(launcher, command=command[0]):
                    done = self.run_program(*command, env=variables, expect=USAGE)
                    self.assertIn(f"reprise: {launcher} started 4 processes, but none has found the others", done.stderr)
                    self.assertIn("Open MPI", done.stderr)
                    self.assertFalse((self.dir / "run").exists())

    def test_collective_that_does_not_exist(self):
        done = self.run_program("bench", "collectives", "all_nothing", ranks=2, expect=USAGE)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("all_nothing", done.stderr)

    def test_processes_are_started_as_root_without_variables(self):
        """Without any of Open MPI's variables that the other tests set."""
        env = {name: value for name, value in program.ENVIRONMENT.items() if not name.startswith("OMPI_")}
        command = [os.path.abspath(program.REPRISE), "replay", self.trace, "-n", "2", "-o", self.dir / "run"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("reprise: rank 0: the trace set", done.stderr)  # the ranks have been started
        self.assertNotIn("MPI_ABORT", done.stderr)

    def test_missing_rank_file(self):
        trace = self.copied()
        next(trace.glob("*.2.et")).unlink()
        self.fail_everywhere(trace, BAD_INPUT, "rank 2")

    def test_truncated_rank_file(self):
        trace = self.copied()
        file = next(trace.glob("*.3.et"))
        file.write_bytes(file.read_bytes()[:50000])
        self.fail_everywhere(trace, BAD_INPUT, file.name)

    def test_mismatched_ranks(self):
        """Rank 1 of one model among the ranks of another."""
        trace = self.copied()
        other = self.convert("gloo_comms/gpt_tp4")
        shutil.copy(next(other.glob("*.1.et")), next(trace.glob("*.1.et")))
        self.fail_everywhere(trace, BAD_INPUT, "rank")

    def no_drivers(self):
        """A chosen registry without a driver that can be loaded: no other is looked for."""
        registry = self.dir / "no_drivers"
        registry.mkdir()
        (registry / "none.icd").write_text("libno_such_driver.so\n")
        return {"OCL_ICD_VENDORS": str(registry)}

    def test_no_opencl_device(self):
        self.fail_everywhere(self.trace, ENVIRONMENT, "OpenCL", "--device host", "--icd",
                             env=self.no_drivers(), args=("--device", "opencl"))

    def test_without_opencl_the_host_backend_is_chosen(self):
        done = self.run_program("replay", self.trace, "-o", self.dir / "run", "--iterations", "1", ranks=4,
                                env=self.no_drivers())
        self.assertIn("device: host (this machine has no CUDA or OpenCL device)", done.stderr)

    def test_devices_without_opencl_explains(self):
        done = self.run_program("devices", env=self.no_drivers())
        self.assertIn("libno_such_driver.so", done.stdout)
        self.assertIn("host", done.stdout)

    def test_not_a_run(self):
        done = self.run_program("report", self.dir, expect=BAD_INPUT)
        self.assertIn(str(self.dir), done.stderr)

    def test_usage(self):
        for args in (["replay"], ["no_such_command"], ["replay", self.trace, "-o", "x", "--memory", "fast"],
                     ["replay", self.trace, "-o", "x", "--ops", "gemm=quick"]):
            self.run_program(*args, expect=USAGE)


if __name__ == "__main__":
    sys.exit(program.main())
