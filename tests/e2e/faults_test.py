#!/usr/bin/env python3
"""What befalls single ranks of a run: no other rank hangs, what was recorded stays readable, and the
message names the rank that was first. Times are limits on the whole run from the fault on."""
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import program

RANKS = 4
AT_FAULT = 2
CHECK_FAILED, BAD_INPUT, ENVIRONMENT = 1, 3, 4
WATCHDOG_S = 2
MPIRUN_ENDS_S = 10
SOON_S = 50  # on a loaded machine, and before the watchdog's default of a minute


def child_processes(parent):
    """Pids of the processes that a process has started, and their environments."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found[int(stat.parent.name)] = (stat.parent / "environ").read_bytes().split(b"\0")
        except OSError:  # ended meanwhile
            continue
    return found


def rank_processes(parent):
    """Pids of the ranks that mpirun started, by rank."""
    return {int(variable.split(b"=")[1]): pid for pid, variables in child_processes(parent).items()
            for variable in variables if variable.startswith(b"OMPI_COMM_WORLD_RANK=")}


def is_stopped(pid):
    """Whether every thread of a process stands still; fails where the process has ended."""
    states = set()
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # a thread that ended meanwhile
            states.add(stat.read_text().rsplit(")", 1)[1].split()[0])
    if not states or "Z" in states:
        raise ProcessLookupError(pid)
    return states == {"T"}


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class FaultTest(program.ConvertedTest):
    """Replays of one capture, which are given something to cope with."""

    def setUp(self):
        super().setUp()
        self.run_path = self.dir / "run"

    def command(self, *options, ranks=RANKS, prefix=()):
        start = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        return [*start, *map(str, prefix), program.REPRISE, "replay", str(self.trace), "-o",
                str(self.run_path), *map(str, options)]

    @contextlib.contextmanager
    def started(self, *options, env=program.ENVIRONMENT, **kwargs):
        replay = subprocess.Popen(self.command(*options, **kwargs), env=env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            yield replay
        finally:
            replay.kill()
            replay.communicate()

    @contextlib.contextmanager
    def replaying(self, *options, **kwargs):
        """A replay that has begun to record on every rank."""
        with self.started(*options, **kwargs) as replay:
            try:
                program.wait_until(lambda: self.all_recorded(kwargs.get("ranks", RANKS)), "records of every rank", while_running=replay)
            except AssertionError as error:
                replay.kill()
                raise AssertionError(f"{error}\n{replay.communicate()[1]}") from error
            yield replay

    def all_recorded(self, ranks):
        return all(self.steps(rank) > 0 for rank in range(ranks))

    def steps(self, rank, warmup=0):
        file = self.run_path / f"rank{rank}.sqlite"
        try:
            with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
                return database.execute("SELECT count(*) FROM steps WHERE warmup = ?", (warmup,)).fetchone()[0]
        except sqlite3.OperationalError:  # not there yet
            return 0

    def end_within(self, replay, limit_s):
        """Exit code and stderr; fails where it takes longer."""
        try:
            _, errors = replay.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.fail(f"still running {limit_s} s after the fault")
        return replay.returncode, errors

    def check_kept(self, *needles):
        """The run is readable, has all ranks' steps, and its notes say what happened."""
        report = self.run_json("report", self.run_path)
        self.assertEqual(len(report["ranks"]), RANKS)
        self.assertGreater(report["step_time_replayed_ns"], 0)
        self.assertTrue(report["notes"][0].startswith("not merged"), report["notes"])
        for needle in needles:
            self.assertIn(needle, "\n".join(report["notes"]))

    def script(self, text):
        """A program to start in place of reprise, which ends by becoming what it was given."""
        path = self.dir / "start.sh"
        path.write_text(f'#!/bin/bash\n{text}\nexec "$@"\n')
        path.chmod(0o755)
        return path


class LostRank(FaultTest):
    def test_stopped_rank_is_named_by_the_watchdog(self):
        with self.replaying("--watchdog", WATCHDOG_S, "--iterations", 100000) as replay:
            os.kill(rank_processes(replay.pid)[AT_FAULT], signal.SIGSTOP)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, CHECK_FAILED, errors)
        self.assertIn(f"no progress on any rank for {WATCHDOG_S} s: rank {AT_FAULT} does not answer",
                      errors)
        self.assertEqual(errors.count("where it stands, and what it waits for"), 1, errors)
        self.assertRegex(errors, rf"\n +{AT_FAULT}  no answer")
        self.check_kept(f"rank {AT_FAULT} does not answer")

    def test_stopped_rank_is_named_in_warm_up(self):
        with self.started("--watchdog", WATCHDOG_S, "--warmup", 100000) as replay:
            program.wait_until(lambda: self.steps(AT_FAULT, warmup=1) > 0, "a warm-up iteration", while_running=replay)
            os.kill(rank_processes(replay.pid)[AT_FAULT], signal.SIGSTOP)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, CHECK_FAILED, errors)
        self.assertIn(f"rank {AT_FAULT} does not answer", errors)

    def test_stopped_first_rank_is_named_by_another(self):
        """The rank that would look after the others."""
        with self.replaying("--watchdog", WATCHDOG_S, "--iterations", 100000) as replay:
            os.kill(rank_processes(replay.pid)[0], signal.SIGSTOP)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, CHECK_FAILED, errors)
        self.assertIn("rank 0 does not answer", errors)
        self.check_kept("rank 0 does not answer")

    def test_killed_rank_ends_the_run(self):
        with self.replaying("--iterations", 100000) as replay:
            os.kill(rank_processes(replay.pid)[AT_FAULT], signal.SIGKILL)
            code, errors = self.end_within(replay, SOON_S)
        self.assertNotEqual(code, 0, errors)
        self.assertRegex(errors, rf"rank {AT_FAULT} .*signal 9")  # mpirun's own words
        self.check_kept(f"ended early: rank {AT_FAULT} first, killed", "ended by SIGTERM")

    def test_terminated_rank_tells_the_others(self):
        with self.replaying("--iterations", 100000) as replay:
            os.kill(rank_processes(replay.pid)[AT_FAULT], signal.SIGTERM)
            code, errors = self.end_within(replay, SOON_S)
        self.assertNotEqual(code, 0, errors)
        self.assertIn(f"rank {AT_FAULT}: ended by SIGTERM", errors)
        self.check_kept(f"ended early: rank {AT_FAULT}: ended by SIGTERM")


def has_open(pid, suffix):
    """Whether a process has a file open whose name ends so."""
    for file in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed, or ended, meanwhile
            if os.readlink(file).endswith(suffix):
                return True
    return False


def is_in_mpi(pid):
    """Whether MPI has begun to start: its threads run beside the three that Reprise has until then."""
    return len(list(pathlib.Path(f"/proc/{pid}/task").glob("*"))) > 3


class StoppedAnywhere(FaultTest):
    """A rank that stops outside of iterations, where the replay's own watchdog does not look. Where exactly it stops
    depends on the machine's load; the answer is the same everywhere."""

    def check_named(self, when, *options, rank=AT_FAULT):
        shutil.rmtree(self.run_path, ignore_errors=True)
        with self.started("--watchdog", WATCHDOG_S, *options) as replay:
            program.wait_until(lambda: rank in rank_processes(replay.pid), "a rank", while_running=replay)
            pid = rank_processes(replay.pid)[rank]
            program.wait_until(lambda: when(pid), "the stage", while_running=replay)
            os.kill(pid, signal.SIGSTOP)
            program.wait_until(lambda: not rank_processes(replay.pid), "the end of every rank", within_s=SOON_S)
            errors = self.check_mpirun_ends(replay)
        self.assertEqual(errors.count(f"rank {rank} is stopped: its process {pid} has not run for {WATCHDOG_S} s"), 1, errors)

    def check_mpirun_ends(self, replay):
        """Its errors. Where ranks end while MPI starts, mpirun of Open MPI 4.1 may die of a signal or wait for its own lock
        for ever, both in PMIx_server_finalize: no rank can help that."""
        try:
            _, errors = replay.communicate(timeout=MPIRUN_ENDS_S)
        except subprocess.TimeoutExpired:
            replay.kill()
            return replay.communicate()[1]
        if replay.returncode >= 0 and "PMIx_server_finalize" not in errors:
            self.assertEqual(replay.returncode, ENVIRONMENT, errors)
        return errors

    def test_before_mpi(self):
        self.check_named(lambda pid: True)

    def test_first_rank_before_mpi(self):
        self.check_named(lambda pid: True, rank=0)

    def test_while_mpi_starts(self):
        self.check_named(is_in_mpi)

    def test_while_setting_up(self):
        self.check_named(lambda pid: has_open(pid, f".{AT_FAULT}.et") or self.run_path.exists())

    def test_in_preparation(self):
        """Idle power is measured for as long as the test likes."""
        self.check_named(lambda pid: has_open(pid, f"rank{AT_FAULT}.sqlite"), "--idle", 3600)

    def test_while_writing(self):
        """The others have to wait for rank 0, which merges their files."""
        self.check_named(lambda pid: list(self.run_path.glob("run.sqlite*")), "--warmup", 0, "--iterations", 1, rank=0)


class StoppedUnderLauncher(FaultTest):
    """replay --processes, which looks after what no rank can see."""

    def command(self, *options, ranks=RANKS, prefix=()):
        return [*super().command(*options, ranks=1), "--processes", str(ranks)]

    def launched(self, replay):
        """mpirun, or the only process."""
        program.wait_until(lambda: child_processes(replay.pid), "a process", while_running=replay)
        return next(iter(child_processes(replay.pid)))

    def test_rank_is_named(self):
        with self.started("--watchdog", WATCHDOG_S) as replay:
            mpirun = self.launched(replay)
            program.wait_until(lambda: AT_FAULT in rank_processes(mpirun), "a rank", while_running=replay)
            os.kill(rank_processes(mpirun)[AT_FAULT], signal.SIGSTOP)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, ENVIRONMENT, errors)
        self.assertIn(f"rank {AT_FAULT} is stopped", errors)

    def test_all_ranks_stop(self):
        with self.started("--watchdog", WATCHDOG_S, "--idle", 3600) as replay:
            mpirun = self.launched(replay)
            program.wait_until(lambda: len(rank_processes(mpirun)) == RANKS, "all ranks", while_running=replay)
            for pid in rank_processes(mpirun).values():
                os.kill(pid, signal.SIGSTOP)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, ENVIRONMENT, errors)
        self.assertRegex(errors, "rank [0-3] was stopped")  # whichever was first, as the launcher saw it

    def test_launcher_that_does_not_end(self):
        """A stand-in for mpirun, whose ranks are two sleeps, waits after them for ever."""
        mpirun = self.script("for rank in 0 1; do OMPI_COMM_WORLD_RANK=$rank sleep 2 & done; wait; set -- sleep 3600")
        mpirun = mpirun.rename(self.dir / "mpirun")
        with self.started(ranks=2, env={**program.ENVIRONMENT, "PATH": f"{mpirun.parent}:{os.environ['PATH']}"}) as replay:
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, ENVIRONMENT, errors)
        self.assertIn("did not end within 10 s of its last rank", errors)

    def test_only_process_stops(self):
        self.trace = self.convert("gloo/gpt_single")
        with self.started("--watchdog", WATCHDOG_S, "--iterations", 100000, ranks=1) as replay:
            only = self.launched(replay)
            os.kill(only, signal.SIGSTOP)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, ENVIRONMENT, errors)
        self.assertIn(f"rank 0 was stopped: its process {only}", errors)


class PausedRank(FaultTest):
    def pause(self, replay, for_s):
        """Stops one rank for so long; false where the replay is over."""
        try:
            pid = rank_processes(replay.pid)[AT_FAULT]
            os.kill(pid, signal.SIGSTOP)
            program.wait_until(lambda: is_stopped(pid), "a stopped rank")
            time.sleep(for_s)  # the fault itself
            os.kill(pid, signal.SIGCONT)
        except (KeyError, ProcessLookupError):
            return False
        return True

    def check_survives(self, pauses, for_s, *options):
        """A replay of which one rank is stopped so often ends as any other. One that ends before was too short: again."""
        for iterations in (8, 32, 128, 512):
            shutil.rmtree(self.run_path, ignore_errors=True)
            with self.started("--iterations", iterations, *options) as replay:
                program.wait_until(lambda: self.all_recorded(RANKS) or replay.poll() is not None, "records of every rank")
                lasted = True
                for _ in range(pauses):
                    lasted = lasted and self.pause(replay, for_s)
                    time.sleep(0.1)  # what is left to it to run
                code, errors = self.end_within(replay, 300)
            self.assertEqual(code, 0, errors)
            notes = "\n".join(self.run_json("report", self.run_path)["notes"])
            self.assertNotIn("not merged", notes)
            if lasted:
                return
        self.fail(f"{iterations} iterations are over before {pauses} pauses of {for_s} s")

    def test_stop_of_five_seconds_is_survived(self):
        self.check_survives(1, 5)

    def test_slow_rank_is_waited_for(self):
        """A tenth of the time to run; its pauses alone are half the watchdog's patience."""
        self.check_survives(5, 0.9, "--watchdog", WATCHDOG_S)


class Exhausted(FaultTest):
    def test_no_memory_on_one_rank(self):
        """Room for a process with MPI, none for its tensors."""
        self.trace = self.large_transfers()
        start = self.script(f'[ "$OMPI_COMM_WORLD_RANK" = 1 ] && ulimit -v {self.idle_kb()}')
        begin = time.monotonic()
        done = subprocess.run(self.command("--device", "host", ranks=2, prefix=[start]),
                              env=program.ENVIRONMENT, capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, ENVIRONMENT, done.stderr)
        # Whichever stage takes the last of it.
        self.assertRegex(done.stderr, "rank 1: out of memory while (allocating|compiling kernels)")
        self.assertLess(time.monotonic() - begin, SOON_S)

    def large_transfers(self):
        """Two ranks that reduce 512 MB."""
        text = self.dir / "large.txt"
        text.write_text("DATA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 536870912 1\n")
        out = self.dir / "large"
        self.run_program("convert", text, "-o", out, "--ranks", 2)
        return out

    def idle_kb(self):
        """Address space of a rank that allocates nothing for its transfers."""
        with self.replaying("--device", "host", "--comms", "timed", "--iterations", 100000, ranks=2) as replay:
            status = pathlib.Path(f"/proc/{rank_processes(replay.pid)[1]}/status").read_text()
        shutil.rmtree(self.run_path)
        return next(int(line.split()[1]) for line in status.split("\n") if line.startswith("VmPeak"))

    def test_no_disk_on_one_rank(self):
        """Its file may not grow any more: the error is that of a full disk, and comes while running."""
        with self.replaying("--iterations", 100000) as replay:
            size = (self.run_path / f"rank{AT_FAULT}.sqlite-wal").stat().st_size
            resource.prlimit(rank_processes(replay.pid)[AT_FAULT], resource.RLIMIT_FSIZE, (size, size))
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, ENVIRONMENT, errors)
        self.assertRegex(errors, rf"rank {AT_FAULT}: .*rank{AT_FAULT}\.sqlite")
        self.check_kept(f"rank {AT_FAULT}: ")


class BadStart(FaultTest):
    def replay_fails(self, *command, env=None):
        done = subprocess.run(command, env={**program.ENVIRONMENT, **(env or {})}, capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertNotEqual(done.returncode, 0)
        return done

    def test_corrupt_trace_on_one_rank(self):
        trace = self.dir / "set"
        shutil.copytree(self.trace, trace)
        file = next(trace.glob(f"*.{AT_FAULT}.et"))
        data = bytearray(file.read_bytes())
        for at in range(len(data) // 2, len(data) // 2 + 200):
            data[at] ^= 0xA5
        file.write_bytes(data)
        self.trace = trace
        done = self.replay_fails(*self.command())
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertRegex(done.stderr, rf"rank {AT_FAULT}: .*{file.name}")
        self.assertFalse(self.run_path.exists())

    def test_too_few_slots(self):
        """mpirun's own refusal: it ends, and nothing was written."""
        command = self.command()
        command[1:1] = ["--host", "localhost:2"]
        done = self.replay_fails(*command, env={"OMPI_MCA_rmaps_base_oversubscribe": "0"})
        self.assertIn("slots", done.stdout + done.stderr)
        self.assertFalse(self.run_path.exists())


class Interrupted(FaultTest):
    def test_ctrl_c_keeps_what_was_recorded(self):
        with self.replaying("--iterations", 100000) as replay:
            os.kill(replay.pid, signal.SIGINT)
            code, errors = self.end_within(replay, SOON_S)
        self.assertNotEqual(code, 0, errors)
        self.check_kept("ended early: ")

    def test_ctrl_c_without_mpirun(self):
        self.trace = self.convert("gloo/gpt_single")
        with self.replaying("--iterations", 100000, ranks=1) as replay:
            os.kill(replay.pid, signal.SIGINT)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, 128 + signal.SIGINT, errors)
        self.assertIn("ended by SIGINT", errors)
        report = self.run_json("report", self.run_path)
        self.assertIn("ended early: ended by SIGINT; what was recorded until then is kept",
                      report["notes"])

    def test_ctrl_c_ends_a_long_gap(self):
        """The first one: a second one would end the process at once, without its records."""
        self.trace = self.convert("gloo/gpt_single")
        with self.started("--host-gaps", "scale:1e6", "--device", "host", "--idle", 0, ranks=1) as replay:
            program.wait_until((self.run_path / "rank0.sqlite").exists, "a rank's file", while_running=replay)

            def waits():
                before = cpu_ticks(replay.pid)
                time.sleep(0.5)
                return cpu_ticks(replay.pid) - before < 10  # of 50; sampling goes on

            program.wait_until(waits, "a rank that waits", while_running=replay)
            os.kill(replay.pid, signal.SIGINT)
            code, errors = self.end_within(replay, SOON_S)
        self.assertEqual(code, 128 + signal.SIGINT, errors)
        self.assertIn("ended by SIGINT", errors)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(program.main())
