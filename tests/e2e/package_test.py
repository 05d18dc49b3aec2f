#!/usr/bin/env python3
"""The Debian package, made from this build tree (nothing is compiled) and run from where it is unpacked.
About 20 s. That it installs on a bare Debian is tried by hand (docs/install.md)."""
import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import program

BUILD = pathlib.Path(program.REPRISE).resolve().parent


class Package(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        program.need("cpack", "dpkg-deb", "dpkg-shlibdeps", "file", "gzip")  # CPack starts the last four
        cls.scratch = tempfile.TemporaryDirectory(prefix="reprise_package_")
        cls.root = pathlib.Path(cls.scratch.name) / "root"
        made = subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.scratch.name],
                              capture_output=True, text=True, check=False, cwd=cls.scratch.name)
        if made.returncode != 0:
            raise AssertionError(f"cpack: {made.stdout}{made.stderr}")
        cls.package, = pathlib.Path(cls.scratch.name).glob("reprise_*.deb")
        cls.library, = pathlib.Path(cls.scratch.name).glob("libreprise-dev_*.deb")
        subprocess.run(["dpkg-deb", "-x", cls.package, cls.root], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def field(self, name, package=None):
        return subprocess.run(["dpkg-deb", "-f", package or self.package, name], capture_output=True, text=True,
                              check=True).stdout.strip()

    def packaged(self, *args):
        return subprocess.run([self.root / "usr/bin/reprise", *args], capture_output=True, text=True, check=True,
                              env=program.ENVIRONMENT, cwd=self.dir, timeout=300).stdout

    def test_control_fields(self):
        version = self.run_program("--version").stdout.split()[1]
        self.assertEqual((self.field("Package"), self.field("Version")), ("reprise", version))
        self.assertTrue(self.package.name.startswith(f"reprise_{version}_"), self.package)
        depends = self.field("Depends")
        # By hand, and from the libraries that the program is linked to.
        for package in ("openmpi-bin", r"libopenmpi3 \(>=", "libsqlite3-0", "libprotobuf", "ocl-icd-libopencl1", "libc6"):
            self.assertRegex(depends, package)
        self.assertIn("pocl-opencl-icd", self.field("Recommends"))
        self.assertLess(self.package.stat().st_size, 20_000_000)

    def test_files(self):
        files = {str(path.relative_to(self.root)): path for path in self.root.rglob("*") if path.is_file()}
        for name in ("bin/reprise", "share/man/man1/reprise.1.gz", "share/bash-completion/completions/reprise",
                     "share/zsh/vendor-completions/_reprise", "share/fish/vendor_completions.d/reprise.fish",
                     "share/doc/reprise/copyright", "share/doc/reprise/changelog.gz", "share/doc/reprise/README.md",
                     "share/doc/reprise/docs/install.md", "share/doc/reprise/licences/libcli11-dev.txt",
                     "share/reprise/slurm/reprise.sbatch", "share/reprise/python/reprise_capture.py",
                     "share/reprise/python/reprise_machine.py",
                     "share/reprise/captures/quickstart/rank1.kineto.json.gz"):
            self.assertIn(f"usr/{name}", files)
        unexpected = [name for name in files if not re.match(
            r"usr/(bin/reprise$|share/(man|bash-completion|zsh|fish|doc/reprise|reprise)/)", name)]
        self.assertEqual(unexpected, [])
        for path in (self.root / "usr").rglob("*"):  # whatever the umask was
            self.assertEqual(path.stat().st_mode & 0o022, 0, path)
        self.assertFalse(os.access(files["usr/share/reprise/captures/README.md"], os.X_OK))

    def test_library(self):
        self.assertEqual((self.field("Package", self.library), self.field("Version", self.library)), ("libreprise-dev", self.field("Version")))
        for package in ("libexpected-dev", "libprotobuf-lite", "libzstd1"):
            self.assertIn(package, self.field("Depends", self.library))
        self.assertNotIn("openmpi", self.field("Depends", self.library))
        listed = subprocess.run(["dpkg-deb", "-c", self.library], capture_output=True, text=True, check=True).stdout
        names = [line.split()[5] for line in listed.splitlines() if not line.endswith("/")]
        for name in ("include/reprise/et_schema/io.h", "cmake/Reprise/RepriseConfig.cmake", "pkgconfig/reprise-trace.pc",
                     "libreprise_trace.so", "examples/count_transfers/count_transfers.cc"):
            self.assertTrue([path for path in names if path.endswith(name)], name)
        mine = {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}
        self.assertFalse(mine & {name.removeprefix("./") for name in names})

    def test_generated_files_are_the_programs(self):
        share = self.root / "usr" / "share"
        self.assertEqual(gzip.decompress((share / "man/man1/reprise.1.gz").read_bytes()).decode(), self.packaged("man"))
        self.assertEqual((share / "bash-completion/completions/reprise").read_text(), self.packaged("completion", "bash"))

    def test_runs(self):
        self.assertEqual(self.packaged("--version"), self.run_program("--version").stdout)
        self.packaged("convert", self.root / "usr/share/reprise/captures/quickstart", "-o", "trace")
        self.packaged("simulate", "trace", "-o", "run", "--machine", "recorded")
        self.assertIn("Simulated on the recorded machine", self.packaged("report", "run"))


if __name__ == "__main__":
    sys.exit(program.main())
