#!/usr/bin/env python3
"""The Python package, from the sources and with Debian's pandas, protobuf and zstandard: runs tests/python. wheel_test.py has it as
pip installs it. About 30 s."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import program

NEEDED = "import pandas, google.protobuf, zstandard, nbclient, ipykernel"


def interpreter():
    """A Python that has what the package needs: this one, else Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", NEEDED], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    python = interpreter()
    if python is None:
        print("no Python with pandas, protobuf, zstandard, nbclient and ipykernel (scripts/packages.txt, [test])")
        return 1
    with tempfile.TemporaryDirectory(prefix="reprise_python_") as scratch:
        return subprocess.run([python, __file__, pathlib.Path(program.REPRISE).resolve(), "--inside"], cwd=scratch,
                              env={**os.environ, "HOME": scratch, "PYTHONDONTWRITEBYTECODE": "1",
                                   "PYTHONPATH": str(program.ROOT / "report" / "python"),
                                   "REPRISE_TRACE_LIBRARY": str(pathlib.Path(program.REPRISE).resolve().parent / "libreprise_trace.so")}, check=False).returncode


def inside():
    tests = unittest.defaultTestLoader.discover(program.ROOT / "tests" / "python")
    # A loader that finds nothing tests nothing.
    if tests.countTestCases() < 10:
        return 1
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(inside() if "--inside" in sys.argv else main())
