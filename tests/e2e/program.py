"""The program under test, as a user runs it: subprocesses, exit codes, output."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import skips

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = ROOT / "traces"
BAD_INPUT = 3  # an exit code
REPRISE = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "reprise")

# Open MPI in containers and with fewer cores than ranks: scripts/lib/mpi.sh has the reasons.
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
if shutil.which("ssh") is None:
    ENVIRONMENT["OMPI_MCA_plm_rsh_agent"] = "/bin/false"


def missing(*tools):
    """Those programs that are not installed."""
    return [tool for tool in tools if shutil.which(tool) is None]


def need(*tools):
    """Fails where one is not installed, which would else be a skip that nobody notices: scripts/test installs what
    scripts/packages.txt lists. tests/structure/packages_test.py reads these calls."""
    if missing(*tools):
        raise AssertionError(f"not installed: {', '.join(missing(*tools))} (what tests need is in scripts/packages.txt)")


def wait_until(condition, what, while_running=None, within_s=120):
    """Until the condition holds. Fails after a time that no loaded machine needs, and where the process ends before."""
    deadline = time.monotonic() + within_s
    while not condition():
        if while_running is not None and while_running.poll() is not None:
            raise AssertionError(f"ended with exit code {while_running.returncode} before there was: {what}")
        if time.monotonic() > deadline:
            raise AssertionError(f"{within_s} s without: {what}")
        time.sleep(0.02)


def real_of_work(report):
    """Of what a report's operations and transfers cover of the step: how much was real."""
    coverage = report["coverage"]
    return coverage["real"] / sum(coverage[kind] for kind in ("real", "surrogate", "timed", "skipped"))


class ProgramTest(unittest.TestCase):
    """A scratch directory per test, and ways to run the program in it."""

    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory(prefix="reprise_e2e_")
        self.dir = pathlib.Path(self._scratch.name)

    def tearDown(self):
        self._scratch.cleanup()

    def run_program(self, *args, ranks=1, expect=0, env=None, timeout=300, cwd=None):
        """Runs `reprise args` (under mpirun if ranks > 1) and holds it to its exit code."""
        command = [os.path.abspath(REPRISE), *map(str, args)]
        if ranks > 1:
            command = ["mpirun", "-n", str(ranks), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              env={**ENVIRONMENT, **(env or {})}, cwd=cwd, check=False)
        if done.returncode == 4 != expect and "is not in this build, which is without replay" in done.stderr:
            skips.skip("replay", args[0])
        self.assertEqual(done.returncode, expect,
                         f"{' '.join(command)}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done

    def run_json(self, *args, **kwargs):
        return json.loads(self.run_program(*args, "--json", **kwargs).stdout)

    def convert(self, case, expect=0):
        out = self.dir / case.replace("/", "_")
        self.run_program("convert", TRACES / case, "-o", out, expect=expect)
        return out

    def copy_capture(self, case):
        to = self.dir / "capture"
        shutil.copytree(TRACES / case, to)
        return to


class CaptureTest(ProgramTest):
    """Files of a profiler or recorder, which a test writes and converts into `dir`/set."""

    def convert(self, source, *options, **held):
        out = self.dir / "set"
        return out, self.run_program("convert", source, "-o", out, "--force", *options, **held)

    def stats(self, trace_set):
        return json.loads(self.run_program("stats", trace_set, "--json").stdout)

    def nodes(self, trace_set, rank=0):
        (path,) = trace_set.glob(f"*.{rank}.et")
        self.run_program("export", path, "--to", "json", "-o", self.dir / "nodes.json", "--force")
        return json.loads((self.dir / "nodes.json").read_text())["nodes"]

    def assert_lacks(self, directory, *texts):
        """No file of the directory has one of these texts."""
        for path in directory.iterdir():
            for text in texts:
                self.assertNotIn(text.encode(), path.read_bytes(), path)

    def refused(self, source, *texts):
        """Bad input, with the file's name and these texts, and nothing is left."""
        done = self.run_program("convert", source, "-o", self.dir / "none", expect=BAD_INPUT)
        for text in (source.name, *texts):
            self.assertIn(text, done.stderr)
        self.assertFalse((self.dir / "none").exists())


class ConvertedTest(ProgramTest):
    """The tests of a class share one converted capture, `trace`."""

    @classmethod
    def setUpClass(cls):
        cls.keep = ProgramTest("run_program")
        cls.keep.setUp()
        cls.trace = cls.keep.convert("gloo/gpt_ddp4")

    @classmethod
    def tearDownClass(cls):
        cls.keep.tearDown()


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=2)
