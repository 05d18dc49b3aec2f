#!/usr/bin/env python3
"""A rank that stops answering or dies: no other rank hangs, and what was recorded stays readable."""
import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

import program

RANKS = 4
CHECK_FAILED = 1


def children(parent):
    """The processes that `parent` started."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # ended meanwhile
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return sorted(found)


class LostRank(program.ProgramTest):
    def replay_and_signal(self, which):
        """Replays for long, sends a signal to one rank after all have recorded something."""
        trace = self.convert("gloo/gpt_ddp4")
        run = self.dir / "run"
        replay = subprocess.Popen(
            ["mpirun", "-n", str(RANKS), program.REPRISE, "replay", trace, "-o", run, "--watchdog", "2",
             "--iterations", "100000"],
            env=program.ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.wait_for_records(run, replay)
            os.kill(children(replay.pid)[2], which)
            _, errors = replay.communicate(timeout=120)
        finally:
            replay.kill()
        return run, replay.returncode, errors

    def wait_for_records(self, run, replay):
        """Until every rank's file has a measured step."""
        deadline = time.monotonic() + 120
        while any(self.steps(run / f"rank{rank}.sqlite") == 0 for rank in range(RANKS)):
            self.assertIsNone(replay.poll(), "the replay ended early")
            self.assertLess(time.monotonic(), deadline, "no rank recorded anything")
            time.sleep(0.1)

    @staticmethod
    def steps(file):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
                return database.execute("SELECT count(*) FROM steps WHERE NOT warmup").fetchone()[0]
        except sqlite3.OperationalError:  # not there yet
            return 0

    def check_run_is_readable(self, run):
        report = self.run_json("report", run)
        self.assertEqual(len(report["ranks"]), RANKS)
        self.assertGreater(report["step_time_replayed_ns"], 0)
        self.assertTrue(report["notes"][0].startswith("not merged"), report["notes"])

    def test_stopped_rank_is_reported_by_the_watchdog(self):
        run, code, errors = self.replay_and_signal(signal.SIGSTOP)
        self.assertEqual(code, CHECK_FAILED, errors)
        # In a transfer after 2 s, or between two iterations after 20 s.
        self.assertRegex(errors, "no progress for 20? s")
        self.check_run_is_readable(run)

    def test_killed_rank_ends_the_run(self):
        run, code, errors = self.replay_and_signal(signal.SIGKILL)
        self.assertNotEqual(code, 0, errors)
        self.check_run_is_readable(run)


if __name__ == "__main__":
    sys.exit(program.main())
