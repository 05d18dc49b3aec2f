#!/usr/bin/env python3
"""OpenCL by Intel's runtime for processors instead of PoCL: another compiler (by way of SPIR-V), other limits. It comes from PyPI
(scripts/packages.txt, [pypi_opencl]). All kernels, by hand: tests/test_kernels --gtest_filter='*/opencl_*' in this environment."""
import pathlib
import subprocess

import program
import skips

BUILD = pathlib.Path(program.REPRISE).resolve().parent
INSTALLED = BUILD / "pypi_opencl"
KERNELS = ("softmax", "layer_norm", "gemm", "attention", "convolution", "elementwise", "reduction", "embedding", "copy", "optimizer")


class SecondRuntime(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        drivers = list(INSTALLED.glob("**/lib/libintelocl.so"))  # Debian's pip puts local/ before lib/
        if not drivers:
            skips.skip("intel_opencl", f"no libintelocl.so below {INSTALLED}")
        cls.driver = drivers[0]

    def setUp(self):
        super().setUp()
        (self.dir / "registry").mkdir()
        (self.dir / "registry" / "intel.icd").write_text(f"{self.driver}\n")
        self.env = {"OCL_ICD_VENDORS": str(self.dir / "registry"), "LD_LIBRARY_PATH": str(self.driver.parent), "REPRISE_REQUIRE": "opencl"}

    def test_kernels_match_their_reference(self):
        tests = ":".join(f"*MatchesReference/opencl_{kernel}" for kernel in KERNELS)
        done = subprocess.run([BUILD / "tests" / "test_kernels", f"--gtest_filter={tests}"], capture_output=True, text=True,
                              env={**program.ENVIRONMENT, **self.env}, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"[  PASSED  ] {len(KERNELS)} tests", done.stdout)

    def test_quickstart(self):
        devices = self.run_json("devices", env=self.env)["devices"]
        self.assertEqual([device["platform"] for device in devices if device["backend"] == "opencl"], ["Intel(R) OpenCL"])
        report = self.run_json("replay", self.convert("quickstart"), "-o", self.dir / "run", "--device", "opencl", "--check",
                               "--iterations", "1", ranks=2, env=self.env)
        self.assertGreaterEqual(program.real_of_work(report), 0.99)


if __name__ == "__main__":
    program.main()
