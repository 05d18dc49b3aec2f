#!/usr/bin/env python3
"""`--device cuda` on the stand-ins for NVIDIA's driver and for PyTorch's library for GPUs (tests/kernels/cuda_stand_in),
beside the host backend with the same PyTorch."""
import os
import sys

import program
from cuda_stand_ins import STAND_INS, TORCH, StandInTest, skip_what_they_need

ENVIRONMENT = 4
FAULT = "REPRISE_STAND_IN_FAULT"


@skip_what_they_need
class Cuda(StandInTest):
    def same_values(self, trace, ranks=1):
        """As the host backend has them, which reads nothing that was freed, or that is not there yet."""
        _, host = self.replay(trace, "--check-values", "--device", "host", "--torch", TORCH, ranks=ranks)
        _, cuda = self.replay(trace, "--check-values", *self.CUDA, ranks=ranks)
        self.assertGreater(len(self.values(host)), 10)
        self.assertEqual(self.values(cuda), self.values(host))
        self.assertEqual(program.real_of_work(cuda), 1)
        return cuda

    def test_a_language_model_computes_what_the_host_does(self):
        report = self.same_values(self.convert("gloo/gpt_single"))
        self.assertIn("PyTorch's operators", report["run"]["versions"]["device_kernels"])

    def test_an_image_model_computes_what_the_host_does(self):
        self.same_values(self.convert("gloo/resnet18"))

    def test_four_ranks_compute_what_the_host_does(self):
        self.same_values(self.convert("gloo_comms/moe_ep4"), ranks=4)

    def test_a_generated_job_computes_what_the_host_does(self):
        """Compute and transfers on streams of their own; attention of GPUs, which the stand-in's PyTorch refuses."""
        trace = self.dir / "set"
        self.run_program("generate", "gpt-small", "--tp", "2", "-o", trace)
        self.same_values(trace, ranks=4)

    def python_with_torch(self, *libraries):
        """An environment whose Python has a PyTorch with these libraries."""
        home = self.dir / "venv"
        lib = home / "torch" / "lib"
        lib.mkdir(parents=True)
        (home / "bin").mkdir()
        for name, file in libraries:
            (lib / name).symlink_to(file)
        python = home / "bin" / "python3"
        python.write_text(f"#!/bin/sh\necho {home}/torch/__init__.py\n")
        python.chmod(0o755)
        return {"VIRTUAL_ENV": str(home)}

    def chosen(self, trace, *options, **env):
        done = self.run_program("replay", trace, "-o", self.dir / "run", "--force", "--warmup", "0", "--iterations", "1", "--allow-slow",
                                *options, env={**self.driver, **env})
        return next(line for line in done.stderr.splitlines() if line.startswith("device: "))

    def test_auto_takes_it_where_the_active_python_has_pytorch_for_gpus(self):
        trace = self.convert("gloo/resnet18")
        both = [("libtorch_cpu.so", TORCH), ("libtorch_cuda.so", STAND_INS / "libtorch_cuda.so")]
        env = self.python_with_torch(*both)
        self.assertEqual(self.chosen(trace, **env), "device: cuda (a GPU: Stand-in GPU)")
        self.assertEqual(self.chosen(trace, "--torch", "auto", **env), "device: cuda (--torch works on it)")
        (self.dir / "venv" / "torch" / "lib" / "libtorch_cuda.so").unlink()
        line = self.chosen(trace, VIRTUAL_ENV=str(self.dir / "venv"))
        self.assertTrue(line.startswith("device: host (no other device can be used; cuda does not use it: --torch: there is no "), line)

    def test_pytorch_that_refuses_leaves_it_to_our_kernels(self):
        done, report = self.replay(self.convert("gloo/gpt_single"), *self.CUDA,
                                   env={"REPRISE_STAND_IN_TORCH_FAULT": "aten::mm"})
        self.assertIn("PyTorch could not do aten::mm: ", done.stderr)
        self.assertEqual(program.real_of_work(report), 1)

    def test_operators_run_on_streams_in_order(self):
        log = self.dir / "log"
        self.replay(self.convert("gloo/gpt_single"), *self.CUDA,
                    env={"REPRISE_STAND_IN_LOG": str(log)})
        lines = log.read_text().splitlines()
        self.assertEqual([int(line.split()[0]) for line in lines], list(range(1, len(lines) + 1)))
        for what in ("torch aten::addmm", "kernel ", "copy", "record event"):
            self.assertTrue(any(what in line for line in lines), what)

    def test_every_fault_ends_with_its_reason(self):
        trace = self.convert("gloo/gpt_single")
        incomplete = {"LD_LIBRARY_PATH": str(STAND_INS / "incomplete")}
        for env, what in (({FAULT: "init:100"}, "no CUDA-capable device"),
                          ({FAULT: "init:803"}, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
                          (incomplete, "libcuda.so.1 lacks cuEventElapsedTime"),
                          ({FAULT: "alloc:1"}, "out of memory"),
                          ({FAULT: "launch:2"}, "CUDA_ERROR_LAUNCH_FAILED"),
                          ({FAULT: "lost:200"}, "CUDA_ERROR_UNKNOWN")):
            with self.subTest(what):
                done, _ = self.replay(trace, *self.CUDA, env=env, expect=ENVIRONMENT)
                self.assertIn(what, done.stderr)
        done, _ = self.replay(trace, "--device", "cuda", "--torch", "/none/libtorch_cpu.so", expect=ENVIRONMENT)
        self.assertIn("/none/libtorch_cuda.so", done.stderr)
        listed = self.run_program("devices", env={**self.driver, **incomplete}).stdout
        self.assertIn("cuda: no devices: libcuda.so.1 lacks cuEventElapsedTime", listed)

    def test_without_pytorch_our_kernels_run(self):
        _, report = self.replay(self.convert("gloo/gpt_single"), "--device", "cuda",
                                env={"VIRTUAL_ENV": "/none", "PATH": os.environ["PATH"]})
        self.assertIn("Reprise's own, by CUDA", report["run"]["versions"]["device_kernels"])


if __name__ == "__main__":
    sys.exit(program.main())
