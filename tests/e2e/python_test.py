#!/usr/bin/env python3
"""The Python package as pip installs it: makes a virtual environment over Debian's pandas, protobuf and
zstandard (no network), and runs tests/python in it. About 30 s."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import program

NEEDED = "import pandas, google.protobuf, zstandard, nbclient, ipykernel, setuptools, wheel, venv"


def interpreter():
    """A Python that has what the package needs: this one, else Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", NEEDED], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    python = interpreter()
    if python is None:
        print("no Python with pandas, protobuf, zstandard, nbclient, ipykernel, setuptools and wheel "
              "(scripts/packages.txt, [test])")
        return 1
    with tempfile.TemporaryDirectory(prefix="reprise_python_") as scratch:
        environment = pathlib.Path(scratch) / "venv"
        # pip writes into the sources.
        sources = shutil.copytree(program.ROOT / "report" / "python", pathlib.Path(scratch) / "python")
        subprocess.run([python, "-m", "venv", "--system-site-packages", environment], check=True)
        subprocess.run([environment / "bin" / "pip", "install", "--quiet", "--no-index", "--no-deps",
                        "--no-build-isolation", "--disable-pip-version-check", sources], check=True)
        # Debian's notebook kernel is Debian's Python, which does not have the package.
        subprocess.run([environment / "bin" / "python", "-m", "ipykernel", "install", "--prefix", environment],
                       check=True, capture_output=True)
        return subprocess.run([environment / "bin" / "python", __file__, program.REPRISE, "--inside"], cwd=scratch,
                              env={**os.environ, "HOME": scratch, "PYTHONDONTWRITEBYTECODE": "1"},
                              check=False).returncode


def inside():
    tests = unittest.defaultTestLoader.discover(program.ROOT / "tests" / "python")
    # A loader that finds nothing tests nothing.
    if tests.countTestCases() < 10:
        return 1
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(inside() if "--inside" in sys.argv else main())
