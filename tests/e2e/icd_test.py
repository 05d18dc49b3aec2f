#!/usr/bin/env python3
"""OpenCL drivers that are not registered: named with --icd, or in a vendor's usual place. PoCL's own
library stands for them, with an empty registry."""
import ctypes.util
import os
import pathlib
import subprocess
import sys

import program
import skips

USAGE, ENVIRONMENT = 2, 4


def pocl():
    """The library that the registered pocl.icd names, with its path."""
    registered = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
    if not registered.exists():
        return None
    name = registered.read_text().split()[0]
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    soname = ctypes.util.find_library("pocl")
    for line in listed.split("\n"):
        if soname and line.strip().startswith(soname):
            path = pathlib.Path(line.split()[-1]).parent / name
            return path if path.exists() else None
    return None


class IcdTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        if pocl() is None:
            raise AssertionError("no PoCL, which stands for a vendor's driver here (scripts/packages.txt, [build])")

    def setUp(self):
        super().setUp()
        (self.dir / "registry").mkdir()
        self.empty = {"OCL_ICD_VENDORS": str(self.dir / "registry")}

    def devices(self, *args, env=None):
        found = self.run_json("devices", *args, env={**self.empty, **(env or {})})
        names = [device["name"] for device in found["devices"] if device["backend"] == "opencl"]
        return names, found["opencl_drivers"]

    def test_says_what_it_looked_for(self):
        names, drivers = self.devices()
        if drivers["found"]:
            skips.skip("no_vendor_driver", drivers["found"])
        self.assertEqual(names, [])
        self.assertEqual(drivers["registry"], self.empty["OCL_ICD_VENDORS"])
        self.assertIn("NVIDIA libnvidia-opencl.so.1", drivers["looked_for"])
        self.assertIn("/usr/local/nvidia/lib64", [place["directory"] for place in drivers["looked_in"]])
        text = self.run_program("devices", env=self.empty).stdout
        self.assertIn("AMD libamdocl64.so", text)
        self.assertIn("/usr/local/nvidia/lib64", text)

    def test_named(self):
        icd = self.dir / "mine.icd"
        icd.write_text(f"{pocl()}\n")
        for path in (pocl(), icd):
            names, drivers = self.devices("--icd", path)
            self.assertEqual(len(names), 1, drivers)
            self.assertEqual(drivers["named"][0]["library"], str(pocl()))

    def test_named_beside_registered(self):
        """Registered drivers stay; the same library twice is one."""
        found = self.run_json("devices")
        again = self.run_json("devices", "--icd", pocl())
        self.assertEqual(found["devices"], again["devices"])
        self.assertEqual(again["opencl_drivers"]["registered"], found["opencl_drivers"]["registered"])

    def test_usual_place(self):
        (self.dir / "lib").mkdir()
        (self.dir / "lib" / "libnvidia-opencl.so.1").symlink_to(pocl())
        (self.dir / "lib" / "pocl").symlink_to(pocl().parent / "pocl")  # its parts lie beside it
        path = os.pathsep.join(filter(None, [str(self.dir / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
        names, drivers = self.devices(env={"LD_LIBRARY_PATH": path})
        self.assertEqual(drivers["found"][0]["origin"], "NVIDIA")
        self.assertGreaterEqual(len(names), 1)

    def test_replay(self):
        trace = self.convert("gloo_comms/collectives4")
        temporary = self.dir / "temporary"
        temporary.mkdir()
        self.run_program("replay", trace, "-o", self.dir / "run", "--icd", pocl(), "--iterations", "1",
                         ranks=4, env={**self.empty, "TMPDIR": str(temporary)})
        report = self.run_json("report", self.dir / "run")
        self.assertIn("opencl", report["ranks"][0]["device"])
        self.assertEqual(list(temporary.glob("**/reprise_icd_*")), [])

    def test_unusable(self):
        trace = self.convert("gloo_comms/collectives4")
        for path, code in (("/no/such/driver.so", USAGE), (self.dir / "registry", USAGE),
                           ("libno_such_driver.so", ENVIRONMENT), (ctypes.util.find_library("z"), ENVIRONMENT)):
            done = self.run_program("devices", "--icd", path, expect=code)
            self.assertIn(f"--icd {path}", done.stderr)
            done = self.run_program("replay", trace, "-o", self.dir / "run", "--icd", path, expect=code,
                                    ranks=4)
            self.assertIn(f"--icd {path}", done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
