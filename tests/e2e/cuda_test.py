#!/usr/bin/env python3
"""`--device cuda` on the stand-ins for NVIDIA's driver and for PyTorch's library for GPUs (tests/kernels/cuda_stand_in),
beside the host backend with the same PyTorch."""
import os
import pathlib
import sys

import program
import skips

USAGE, ENVIRONMENT = 2, 4
STAND_INS = pathlib.Path(program.REPRISE).resolve().parent / "tests" / "cuda_stand_in"
TORCH = os.environ.get("REPRISE_TORCH", "")
FAULT = "REPRISE_STAND_IN_FAULT"
# What the interface gives the host's tensors and not the devices', or the other way round.
COUNTED = ("operation", "values", "denormals", "infinities", "nans")


@skips.skip_class_if("torch", "" if TORCH else "REPRISE_TORCH is not set")
class Cuda(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.driver = {"LD_LIBRARY_PATH": str(STAND_INS), "XDG_CACHE_HOME": str(STAND_INS / "cache")}

    def replay(self, trace, *options, ranks=1, expect=0, env=None):
        run = self.dir / "run"
        done = self.run_program("replay", trace, "-o", run, "--force", "--warmup", "0", "--iterations", "1", "--quiet",
                                "--allow-slow", *options, ranks=ranks, expect=expect, env={**self.driver, **(env or {})})
        return done, self.run_json("report", run) if expect == 0 else None

    def values(self, trace, *options, ranks=1):
        """What an operation's numbers are, by operation."""
        _, report = self.replay(trace, "--check-values", *options, ranks=ranks)
        return report, {row["operation"]: [row[name] for name in COUNTED[1:]] for row in report["values"]}

    def same_values(self, trace, ranks=1):
        """As the host backend has them, which reads nothing that was freed, or that is not there yet."""
        _, host = self.values(trace, "--device", "host", "--torch", TORCH, ranks=ranks)
        report, cuda = self.values(trace, "--device", "cuda", "--torch", STAND_INS / "libtorch_cuda.so", ranks=ranks)
        self.assertGreater(len(host), 10)
        self.assertEqual(cuda, host)
        self.assertEqual(program.real_of_work(report), 1)
        return report

    def test_a_language_model_computes_what_the_host_does(self):
        report = self.same_values(self.convert("gloo/gpt_single"))
        self.assertIn("PyTorch's operators", report["run"]["versions"]["device_kernels"])

    def test_an_image_model_computes_what_the_host_does(self):
        self.same_values(self.convert("gloo/resnet18"))

    def test_four_ranks_compute_what_the_host_does(self):
        self.same_values(self.convert("gloo_comms/moe_ep4"), ranks=4)


if __name__ == "__main__":
    sys.exit(program.main())
