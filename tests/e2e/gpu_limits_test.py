#!/usr/bin/env python3
"""Replays on what claims to be a GPU and has a GPU's limits: tests/kernels/stand_ins/gpu.cc, above PoCL. The programs are those
that a GPU gets; times mean nothing. About a minute."""
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

    def replay(self, kind, trace, *args, **kwargs):
        return self.on(kind, "replay", trace, "-o", self.dir / "run", "--force", "--device", "opencl", "--iterations", "1",
                       "--warmup", "0", *args, **kwargs)

    def test_names(self):
        for kind, name in (("h100", "NVIDIA H100 80GB HBM3"), ("mi300x", "AMD Instinct MI300X"),
                           ("no_float64", "Stand-in GPU without float64")):
            self.assertIn(f"opencl:0  {name}\n", self.on(kind, "devices").stdout)

    def test_nothing_beyond_the_limits(self):
        for kind, case, ranks in (("h100", "quickstart", 2), ("mi300x", "phases/decode", 1), ("no_float64", "gloo/gpt_single", 1)):
            with self.subTest(kind):
                done = self.replay(kind, self.convert(case), "--check", ranks=ranks)
                # A marker has no time on an H100: the device's clock does not ask for one.
                self.assertEqual(REFUSAL.findall(done.stderr), [])

    def test_a_storage_larger_than_a_buffer(self):
        done = self.replay("h100", self.convert("gloo/gpt_single"), buffer_bytes=1_000_000, expect=ENVIRONMENT)
        self.assertIn("a buffer of", REFUSAL.search(done.stderr).group(1))
        self.assertRegex(done.stderr, r"reprise: NVIDIA H100 80GB HBM3 did not grant \d+ bytes that node \d+ \(aten::\w+\) uses first, "
                                      r"after 0\.\d+ of 0\.\d+ GB: .*CL_INVALID_BUFFER_SIZE.*it promises 1000000 to one buffer")

    def test_products_of_a_type_that_the_device_lacks(self):
        done = self.on("no_float64", "bench", "kernels", "--filter", "gemm", "--device", "opencl", "--dtype", "float64")
        self.assertIn("skipped: Stand-in GPU without float64 has no float64; try another device", done.stdout)


if __name__ == "__main__":
    program.main()
