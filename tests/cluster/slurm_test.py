#!/usr/bin/env python3
"""Slurm starts a replay: srun --mpi=pmix, and scripts/slurm/reprise.sbatch; and monitors any program.

About 40 s. Needs root and the packages of group [cluster]; says so where it has none.
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import namespaces  # noqa: E402
import program  # noqa: E402
import skips  # noqa: E402
import slurm  # noqa: E402

REPRISE = pathlib.Path(program.REPRISE).resolve()
OPTIONS = ("--check", "--device", "host", "--warmup", 0, "--host-gaps", "drop", "--allow-slow")
# All nodes share this machine's cores; srun knows nothing of Open MPI's waiting.
ENVIRONMENT = {"OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


WATCHDOG_S = 2
SOON_S = 50  # before the watchdog's default of a minute


def task_processes():
    """Pids of the replays that srun started, by rank."""
    found = {}
    for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # ended meanwhile
            if (environ.parent / "exe").resolve() == REPRISE:
                found |= {int(variable.split(b"=")[1]): int(environ.parent.name) for variable in environ.read_bytes().split(b"\0")
                          if variable.startswith(b"SLURM_PROCID=")}
    return found


class SlurmTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.TemporaryDirectory(prefix="reprise_slurm_")
        cls.addClassCleanup(directory.cleanup)
        try:
            cls.cluster = slurm.Cluster(pathlib.Path(directory.name))
        except slurm.Unavailable as why:
            skips.skip("slurm", why)
        cls.addClassCleanup(cls.cluster.close)

    def check_run(self, run, ranks):
        manifest = json.loads((run / "manifest.json").read_text())
        self.assertTrue(manifest["complete"])
        self.assertEqual(manifest["world_size"], ranks)
        self.assertEqual(program.real_of_work(self.run_json("report", run)), 1)

    def test_srun_and_sbatch(self):
        trace = self.convert("gloo_comms/moe_ep4")
        run = self.dir / "srun"
        done = self.cluster.run("srun", "--mpi=pmix", "--nodes=2", "--ntasks=4", REPRISE, "replay",
                                trace, "-o", run, "--iterations", 1, *OPTIONS, env=ENVIRONMENT)
        self.assertRegex(done.stdout, r"every transfer correct \([1-9]")
        self.check_run(run, 4)

        run = self.dir / "sbatch"
        log = self.dir / "job.log"
        self.cluster.run("sbatch", "--nodes=2", "--ntasks=4", f"--output={log}",
                         program.ROOT / "scripts/slurm/reprise.sbatch", trace, run, "--iterations", 1, *OPTIONS,
                         env={**ENVIRONMENT, "REPRISE": str(REPRISE)})
        self.cluster.wait_for_jobs()
        self.assertIn("every transfer correct", log.read_text())
        self.check_run(run, 4)

        # Too few tasks: one message, and the job's step has replay's exit code.
        done = self.cluster.run("srun", "--mpi=pmix", "--ntasks=2", REPRISE, "replay", trace, "-o",
                                self.dir / "few", check=False, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("has 4 ranks, but 2 were started", done.stderr)

    def check_stopped(self, rank, when, *options):
        """srun itself never looks after a task that is stopped."""
        trace = self.convert("gloo_comms/moe_ep4")
        run = self.dir / f"stopped_{rank}"
        replay = self.cluster.start("srun", "--mpi=pmix", "--nodes=2", "--ntasks=4", REPRISE, "replay", trace, "-o", run, *OPTIONS,
                                    "--watchdog", WATCHDOG_S, *options, env=ENVIRONMENT)
        try:
            program.wait_until(lambda: rank in task_processes(), "a rank", while_running=replay)
            pid = task_processes()[rank]
            program.wait_until(lambda: when(run), "the stage", while_running=replay)
            os.kill(pid, signal.SIGSTOP)
            _, errors = replay.communicate(timeout=SOON_S)
        finally:
            for of_rank in task_processes().values():
                os.kill(of_rank, signal.SIGKILL)
            replay.kill()
            replay.communicate()
        self.assertNotEqual(replay.returncode, 0, errors)
        return pid, errors

    def test_rank_that_stops_before_mpi(self):
        pid, errors = self.check_stopped(2, lambda run: True, "--iterations", 1)
        self.assertEqual(errors.count(f"rank 2 is stopped: its process {pid} has not run for {WATCHDOG_S} s"), 1, errors)

    def test_rank_that_stops_in_iterations(self):
        _, errors = self.check_stopped(3, lambda run: (run / "rank3.sqlite").exists(), "--iterations", 1000000)
        self.assertRegex(errors, "rank 3 (does not answer|is stopped)")

    def test_srun_around_any_program(self):
        run = self.dir / "monitored"
        self.cluster.run("srun", "--nodes=2", "--ntasks=4", REPRISE, "monitor", "-o", run, "--sample-period", "20", "--",
                         "sh", "-c", "sleep 1; exit $((SLURM_PROCID / 3 * 7))", check=False)
        manifest = json.loads((run / "manifest.json").read_text())
        self.assertEqual((manifest["world_size"], manifest["options"]["launcher"]), (4, "srun"))
        self.assertEqual(sorted(path.name for path in run.glob("rank*.sqlite")), [f"rank{k}.sqlite" for k in range(4)])
        report = self.run_json("report", run)
        self.assertEqual(sorted(row["rank"] for row in report["ranks"]), [0, 1, 2, 3])
        self.assertIn("rank 3: the command ended with exit code 7", " ".join(report["verdict"]["warnings"]))
        # One rank of each node samples; each file says when the program ran.
        sampling = []
        for path in run.glob("rank*.sqlite"):
            with sqlite3.connect(path) as file:
                sampling += file.execute("SELECT rank FROM samples LIMIT 1").fetchall()
        self.assertEqual(len(sampling), 2)
        self.assertGreater(report["measured_ns"], 0.9e9)


if __name__ == "__main__":
    namespaces.enter()
    program.main() if len(sys.argv) < 3 else unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
