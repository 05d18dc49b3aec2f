#!/usr/bin/env python3
"""The bundle of scripts/bundle where there is nothing else: a root with the C library, a shell, /proc
and /dev. Needs the right to make one (root, or user namespaces)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import program
import skips

ENVIRONMENT = 4
# What glibc's own packages install: a machine has these whatever else it lacks.
GLIBC = ("libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1",
         "libutil.so.1", "libresolv.so.2")
LIBRARIES = pathlib.Path("/lib/x86_64-linux-gnu")
LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
DEVICES = ("null", "zero", "random", "urandom")
UNSHARE = ["unshare", "--mount", "--pid", "--fork"] + ([] if os.getuid() == 0 else ["--map-root-user"])
MOUNT = "set -e; mount -t proc proc $ROOT/proc; for d in %s; do mount --bind /dev/$d $ROOT/dev/$d; done; " % (
    " ".join(DEVICES)) + 'mount -t tmpfs tmpfs $ROOT/dev/shm; exec chroot $ROOT /bin/sh -c "$1"'


def missing():
    if not LOADER.exists() or not (LIBRARIES / "libc.so.6").exists():
        return "no glibc in Debian's places"
    with tempfile.TemporaryDirectory() as scratch:
        tried = subprocess.run([*UNSHARE, "/bin/sh", "-c", f"mount -t tmpfs tmpfs {scratch} && chroot / true"],
                               capture_output=True, text=True, check=False)
    return f"may not make an empty root: {tried.stderr.strip()}" if tried.returncode else ""


@skips.skip_class_if("empty_root", missing())
class BundleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program.need("patchelf", "zstd")
        cls.scratch = tempfile.TemporaryDirectory(prefix="reprise_bundle_")
        cls.root = pathlib.Path(cls.scratch.name) / "root"
        archive = pathlib.Path(cls.scratch.name) / "bundle.tar.zst"
        made = subprocess.run([program.ROOT / "scripts" / "bundle", "-o", archive], capture_output=True,
                              text=True, check=False)
        if made.returncode != 0:
            raise AssertionError(f"scripts/bundle: {made.stdout}{made.stderr}")
        print(made.stdout)
        for directory in ("bin", "lib64", "proc", "dev/shm", "tmp", "some where", LIBRARIES.relative_to("/")):
            (cls.root / directory).mkdir(parents=True)
        for device in DEVICES:
            (cls.root / "dev" / device).touch()
        shutil.copy(LOADER, cls.root / "lib64")
        shutil.copy("/bin/sh", cls.root / "bin" / "sh")
        for name in GLIBC:
            shutil.copy(LIBRARIES / name, cls.root / LIBRARIES.relative_to("/"))
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", cls.root / "some where"], check=True)
        bundle, = (cls.root / "some where").iterdir()
        cls.bundle = f"/some where/{bundle.name}"

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def inside(self, command, expect=0):
        """Runs a shell command in the empty root, at the bundle."""
        done = subprocess.run([*UNSHARE, "/bin/sh", "-c", MOUNT, "sh", f"cd '{self.bundle}'; {command}"],
                              capture_output=True, text=True, timeout=300, check=False,
                              env={"ROOT": str(self.root), "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, expect, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def test_nothing_of_the_machine_is_needed(self):
        version = subprocess.run([program.REPRISE, "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(self.inside("bin/reprise --version").stdout, version.stdout)
        devices = self.inside("bin/reprise devices").stdout
        self.assertIn("host:0", devices)
        self.assertIn("opencl: no devices", devices)
        self.assertIn("libnvidia-opencl.so.1", devices)

    def test_replay(self):
        """As root, with fewer cores than ranks and no ssh: nothing for the user to guess."""
        done = self.inside("cd /; PATH=\"$OLDPWD/bin\"; mpirun -n 2 reprise replay "
                           "\"$OLDPWD/share/reprise/traces/quickstart\" -o /tmp/run --device host --check "
                           "--iterations 1; code=$?; cd \"$OLDPWD\"; exit $code")
        self.assertIn("every transfer correct", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertIn("Coverage  ", self.inside("bin/reprise report /tmp/run").stdout)

    def test_converts(self):
        self.inside("bin/reprise convert share/reprise/captures/quickstart -o /tmp/trace && "
                    "bin/reprise validate /tmp/trace --timing")

    def test_older_glibc_is_named(self):
        """The launcher with a need that no machine meets."""
        launcher = self.root / self.bundle.lstrip("/") / "bin" / "reprise"
        text = launcher.read_text()
        needed = text.split("\nneeded=")[1].split("\n")[0]
        (launcher.parent / "later").write_text(text.replace(f"needed={needed}", "needed=2.999"))
        (launcher.parent / "later").chmod(0o755)
        done = self.inside("bin/later --version", expect=ENVIRONMENT)
        self.assertIn("needs glibc 2.999 or newer, this machine has glibc 2.", done.stderr)

    def test_libraries_are_its_own(self):
        """Nothing but glibc and the loader comes from outside, whatever LD_LIBRARY_PATH says."""
        root = self.root / self.bundle.lstrip("/")
        env = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)}
        for name in ("reprise", "mpirun", "orted"):
            listed = subprocess.run(["ldd", root / "libexec" / name], capture_output=True, text=True, check=True,
                                    env=env).stdout
            for line in filter(lambda line: "=>" in line, listed.split("\n")):
                library, path = line.split()[0], line.split("=> ")[1]
                if library not in GLIBC and not library.startswith(("libstdc++", "libgcc_s")):
                    self.assertTrue(path.startswith(str(root)), line)

    def test_licences(self):
        licences = self.root / self.bundle.lstrip("/") / "share" / "licences"
        for package in ("libopenmpi3", "ocl-icd-libopencl1", "libdnnl2", "nlohmann-json3-dev"):
            self.assertTrue((licences / f"{package}.txt").exists(), package)
        self.assertIn("(source openmpi ", (licences / "packages.txt").read_text())
        self.assertTrue((licences / "LGPL-2.1").exists())


if __name__ == "__main__":
    sys.exit(program.main())
