#!/usr/bin/env python3
"""A stand-in for a GPU, with a GPU's names and limits: tests/kernels/stand_ins/gpu.cc, above PoCL. tests/cli/launches_test.cc checks
that every launch of the bundled captures fits a GPU; here whole captures run."""
import contextlib
import gzip
import os
import pathlib
import re
import sqlite3
import subprocess

import program

ENVIRONMENT = 4
BUILD = pathlib.Path(program.REPRISE).resolve().parent
LAYER = BUILD / "tests" / "kernels" / "libstand_in_gpu.so"
SECOND_NS = 1_000_000_000
# Capture, its ranks, and the GPU that stands in: each takes half a minute or less.
CAPTURES = (("quickstart", 2, "h100"), ("gloo_comms/gpt_tp4", 4, "mi300x"))
# With REPRISE_LONG each of all runs on both.
MORE_CAPTURES = (("gloo/gpt_recompute", 1), ("gloo/resnet18", 1), ("phases/lora", 1))
LONG = "REPRISE_LONG" in os.environ
REFUSAL = re.compile("stand-in GPU refuses: (.*)")
# The engine waits for the device where a CPU capture's host did. Once there was a wait for each initial value, and for most operations.
MOST_WAITS_PER_KERNEL = 0.25


class GpuLimits(program.ProgramTest):
    def on(self, kind, *args, limits=None, **kwargs):
        return self.run_program(*args, env={"OPENCL_LAYERS": str(LAYER), "STAND_IN_GPU": kind, **(limits or {})}, **kwargs)

    def kernel_tests_on(self, kind, of):
        """Unit tests of the kernels."""
        done = subprocess.run([BUILD / "tests" / "test_kernels", f"--gtest_filter={of}"], capture_output=True, text=True, timeout=600,
                              env={**program.ENVIRONMENT, "OPENCL_LAYERS": str(LAYER), "STAND_IN_GPU": kind, "REPRISE_REQUIRE": "opencl"},
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\[  PASSED  \] [1-9]\d* test")
        return done

    def test_names(self):
        for kind, name in (("h100", "NVIDIA H100 80GB HBM3"), ("mi300x", "AMD Instinct MI300X"),
                           ("no_float64", "Stand-in GPU without float64")):
            self.assertIn(f"opencl:0  {name}\n", self.on(kind, "devices").stdout)

    def test_whole_captures(self):
        for capture, ranks, *chosen in CAPTURES + MORE_CAPTURES if LONG else CAPTURES:
            trace = self.convert(capture)
            for kind in ("h100", "mi300x") if LONG else chosen:
                with self.subTest(capture=capture, kind=kind):
                    run = self.dir / f"{kind}_{trace.name}"
                    done = self.on(kind, "replay", trace, "-n", str(ranks), "-o", run, "--device", "opencl", "--allow-slow", "--warmup", "0",
                                   "--iterations", "1", limits={"STAND_IN_GPU_COUNTS": "1"}, timeout=600)
                    self.assertNotRegex(done.stderr, REFUSAL)
                    counts = [(int(kernels), int(waits)) for kernels, waits in
                              re.findall(r"stand-in GPU: (\d+) kernels, (\d+) clFinish", done.stderr)]
                    of_ranks = [(kernels, waits) for kernels, waits in counts if kernels > 0]
                    self.assertEqual(len(of_ranks), ranks)
                    for kernels, waits in of_ranks:
                        self.assertLess(waits, MOST_WAITS_PER_KERNEL * kernels)
                    coverage = self.run_json("report", run)["coverage"]
                    self.assertEqual(coverage["surrogate"] + coverage["skipped"] + coverage["timed"], 0)

    def test_a_storage_larger_than_a_buffer(self):
        done = self.on("h100", "replay", self.convert("gloo/gpt_single"), "-o", self.dir / "run", "--device", "opencl", "--allow-slow",
                       limits={"STAND_IN_GPU_BUFFER_BYTES": "1000000"}, expect=ENVIRONMENT)
        self.assertIn("a buffer of", REFUSAL.search(done.stderr).group(1))
        self.assertRegex(done.stderr, r"reprise: NVIDIA H100 80GB HBM3 did not grant \d+ bytes that node \d+ \(aten::\w+\) uses first, "
                                      r"after 0\.\d+ of 0\.\d+ GB: .*CL_INVALID_BUFFER_SIZE.*it promises 1000000 to one buffer")

    def test_a_driver_without_times(self):
        done = self.on("no_times", "bench", "kernels", "--filter", "gemm", "--device", "opencl", expect=ENVIRONMENT)
        self.assertIn("the OpenCL driver gives no times: a fill ended at 0", done.stderr)

    def test_streams_ask_for_no_time_that_a_driver_lacks(self):
        for kind in ("h100", "mi300x"):
            done = self.kernel_tests_on(kind, "*StreamTest*/opencl")
            self.assertNotRegex(done.stderr, REFUSAL)

    def test_the_resolution_of_times_is_part_of_their_uncertainty(self):
        self.on("h100", "replay", self.convert("gloo/resnet18"), "-o", self.dir / "run", "--device", "opencl", "--ops", "timed,fill=real",
                "--host-gaps", "drop", "--warmup", "0", "--iterations", "1", limits={"STAND_IN_GPU_TIMER_NS": str(SECOND_NS)})
        with contextlib.closing(sqlite3.connect(self.dir / "run" / "rank0.sqlite")) as run:
            (uncertainty_ns, ) = run.execute("SELECT value FROM facts WHERE name = 'device_clock_uncertainty_ns'").fetchone()
        self.assertGreater(int(uncertainty_ns), SECOND_NS)

    def test_a_type_that_the_device_lacks(self):
        done = self.on("no_float64", "bench", "kernels", "--filter", "gemm", "--device", "opencl", "--dtype", "float64")
        self.assertIn("skipped: Stand-in GPU without float64 has no float64; try another device", done.stdout)
        capture = self.copy_capture("gloo/resnet18")
        host_trace = gzip.decompress((capture / "rank0.et.json.gz").read_bytes())
        (capture / "rank0.et.json.gz").write_bytes(gzip.compress(host_trace.replace(b"Tensor(float)", b"Tensor(double)")))
        self.run_program("convert", capture, "-o", self.dir / "float64")
        done = self.on("no_float64", "replay", self.dir / "float64", "-o", self.dir / "run", "--device", "opencl", "--allow-slow",
                       expect=ENVIRONMENT)
        self.assertRegex(done.stderr, r"^reprise: node \d+ \(aten::\w+\): Stand-in GPU without float64 has no float64; try another")

    def test_groups_that_fold_under_a_condition(self):
        """END_CONDITION of rows.cl: without it, PoCL 3.1 lets these write beyond their buffers, which ends the process here."""
        self.kernel_tests_on("h100", ":".join(f"*MatchesReference/opencl_{kernel}" for kernel in ("softmax", "layer_norm", "batch_norm")))

    def test_numbers_of_python_need_no_float64(self):
        """PyTorch records them as float64 tensors of one element. Results that need the type are left out."""
        self.kernel_tests_on("no_float64", ":".join(f"*MatchesReference/opencl_{kernel}" for kernel in ("elementwise", "fill", "copy")))


if __name__ == "__main__":
    program.main()
