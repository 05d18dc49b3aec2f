#!/usr/bin/env python3
"""A stand-in for a GPU, with a GPU's names and limits: tests/kernels/stand_ins/gpu.cc, above PoCL. tests/cli/launches_test.cc checks
that every launch of the bundled captures fits a GPU."""
import pathlib
import re

import program

ENVIRONMENT = 4
LAYER = pathlib.Path(program.REPRISE).resolve().parent / "tests" / "kernels" / "libstand_in_gpu.so"
REFUSAL = re.compile("stand-in GPU refuses: (.*)")


class GpuLimits(program.ProgramTest):
    def on(self, kind, *args, buffer_bytes=None, **kwargs):
        env = {"OPENCL_LAYERS": str(LAYER), "STAND_IN_GPU": kind}
        if buffer_bytes is not None:
            env["STAND_IN_GPU_BUFFER_BYTES"] = str(buffer_bytes)
        return self.run_program(*args, env=env, **kwargs)

    def test_names(self):
        for kind, name in (("h100", "NVIDIA H100 80GB HBM3"), ("mi300x", "AMD Instinct MI300X"),
                           ("no_float64", "Stand-in GPU without float64")):
            self.assertIn(f"opencl:0  {name}\n", self.on(kind, "devices").stdout)

    def test_a_storage_larger_than_a_buffer(self):
        done = self.on("h100", "replay", self.convert("gloo/gpt_single"), "-o", self.dir / "run", "--device", "opencl",
                       buffer_bytes=1_000_000, expect=ENVIRONMENT)
        self.assertIn("a buffer of", REFUSAL.search(done.stderr).group(1))
        self.assertRegex(done.stderr, r"reprise: NVIDIA H100 80GB HBM3 did not grant \d+ bytes that node \d+ \(aten::\w+\) uses first, "
                                      r"after 0\.\d+ of 0\.\d+ GB: .*CL_INVALID_BUFFER_SIZE.*it promises 1000000 to one buffer")

    def test_products_of_a_type_that_the_device_lacks(self):
        done = self.on("no_float64", "bench", "kernels", "--filter", "gemm", "--device", "opencl", "--dtype", "float64")
        self.assertIn("skipped: Stand-in GPU without float64 has no float64; try another device", done.stdout)


if __name__ == "__main__":
    program.main()
