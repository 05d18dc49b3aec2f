"""One round of one network: PyTorch's untraced steps and a replay's iterations take turns on one core, or on a core for each rank.

A round captures three steps anew, converts them, takes the one of median duration, and starts both programs on these cores. Every
`block` seconds the one that runs is stopped and the other continues, so that both meet the machine in the same states. What was
interrupted is left out."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import time

import networks

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = pathlib.Path(__file__).resolve().parent / "steps.py"
LEFT_OUT = 3  # of the untraced steps, at the start
# Transfers by sockets, as gloo's are: shared memory is two to four times as fast.
SOCKETS = ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp"]


class Failure(Exception):
    """Of one program; the text says which, and what it wrote."""


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def pinned(args, command, rank=0):
    return ["taskset", "-c", str((args.core + rank) % os.cpu_count()), *map(str, command)]


def run(args, command):
    done = subprocess.run(pinned(args, command), env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command[:3]))} … ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """Processes that are stopped and continued together: one, or one for each rank, and their descendants."""

    def __init__(self, processes):
        self._processes = processes

    @classmethod
    def of_torch(cls, args, network, ranks, arguments, log):
        """steps.py on every rank."""
        joined = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} if ranks > 1 else {}
        return cls([subprocess.Popen(pinned(args, [args.python, STEPS, network, *arguments], rank), stdout=log, stderr=log,
                                     env={**environment(), **joined, **({"RANK": str(rank)} if joined else {})})
                    for rank in range(ranks)])

    @classmethod
    def of_reprise(cls, args, ranks, arguments, log):
        """The replay: under mpirun with several ranks, which exchange data as gloo does."""
        command = pinned(args, [args.reprise, *arguments])
        if ranks > 1:
            command = ["mpirun", "--bind-to", "none", "--oversubscribe", *SOCKETS]
            for rank in range(ranks):
                command += [":"][:rank] + ["-n", "1", *pinned(args, [args.reprise, *arguments], rank)]
        return cls([subprocess.Popen(command, env=environment(), stdout=log, stderr=log)])

    def returncode(self):
        """None while all run; that of the first one that failed; 0 once all have ended well."""
        codes = [process.poll() for process in self._processes]
        failed = [code for code in codes if code]
        return failed[0] if failed else (None if None in codes else 0)

    def signal(self, number):
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self):
        """Also if it is stopped."""
        self.signal(signal.SIGKILL)
        for process in self._processes:
            process.wait()

    def family(self):
        """Process numbers of what runs of it."""
        children = collections.defaultdict(list)
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                children[parent].append(int(stat.parent.name))
        family = [process.pid for process in self._processes if process.poll() is None]
        for pid in family:
            family += children[pid]
        return family


def take_turns(args, torch, replay):
    """Until the replay has ended."""
    running, waiting = replay, torch
    waiting.signal(signal.SIGSTOP)
    while replay.returncode() is None:
        time.sleep(args.block)
        if torch.returncode() is not None:
            raise Failure(f"PyTorch's steps ended with {torch.returncode()}")
        running.signal(signal.SIGSTOP)
        waiting.signal(signal.SIGCONT)
        running, waiting = waiting, running


def uninterrupted(seconds, block):
    """What was stopped takes at least a block longer than the shortest. Most may have been: the median is no measure."""
    limit = min(seconds) + block / 2
    return [value for value in seconds if value < limit]


def middle_step(meta):
    """Of the traced steps, that of median duration: something else may have held up one of them. Counted from 0."""
    seconds = [meta["step_seconds"][step] for step in meta["traced_steps"]]
    return sorted(range(len(seconds)), key=lambda k: seconds[k] or 0)[len(seconds) // 2]


def in_turn(args, network, ranks, trace, chosen, step_seconds, directory):
    """One replay beside PyTorch's untraced steps: seconds and page faults of each of these, and the replay's report."""
    times, log_file = directory / "steps", directory / "log"
    programs = []
    try:
        with open(log_file, "w", encoding="utf-8") as log:
            torch = Program.of_torch(args, network, ranks, ["steps", times], log)
            programs.append(torch)
            while torch.returncode() is None and not (times.exists() and times.read_text().count("\n") >= LEFT_OUT):
                time.sleep(0.1)
            if torch.returncode() is not None:
                raise Failure(f"PyTorch's steps ended with {torch.returncode()}")
            iterations = max(9, round(args.seconds / step_seconds))
            replay = Program.of_reprise(args, ranks, ["replay", trace, "-o", directory / "run", "--force", "--device", "host",
                                                      "--sample-period", "off", "--host-gaps", "untraced",
                                                      "--iterations", iterations, "--steps", chosen, *args.options], log)
            programs.append(replay)
            take_turns(args, torch, replay)
            if replay.returncode() != 0:
                raise Failure(f"reprise replay ended with {replay.returncode()}")
    except Failure as failure:
        raise Failure(f"{failure}:\n{log_file.read_text()}") from failure
    finally:
        for program in programs:
            program.end()
    report = json.loads(run(args, [args.reprise, "report", directory / "run", "--json"]))
    lines = [line.split() for line in times.read_text().splitlines()[LEFT_OUT:]]
    return [(float(seconds), int(page_faults)) for seconds, page_faults in lines], report


def capture_steps(args, network, ranks, capture):
    log_file = capture.parent / "capture.log"
    with open(log_file, "w", encoding="utf-8") as log:
        program = Program.of_torch(args, network, ranks, ["capture", capture], log)
        try:
            while program.returncode() is None:
                time.sleep(0.1)
        finally:
            program.end()
    if program.returncode() != 0:
        raise Failure(f"capture of {network} ended with {program.returncode()}:\n{log_file.read_text()}")


def one_round(args, network, directory):
    """The round's row of results, which results.py has."""
    capture, trace = directory / "capture", directory / "trace"
    ranks = networks.find(network).ranks
    capture_steps(args, network, ranks, capture)
    run(args, [args.reprise, "convert", capture, "-o", trace, "--force"])
    meta = json.loads((capture / "rank0.meta.json").read_text())
    seconds = statistics.median(value for value in meta["step_seconds"][2:] if value)
    steps, report = in_turn(args, network, ranks, trace, middle_step(meta), seconds, directory)
    return row_of(steps, report, args.block)


def row_of(steps, report, block):
    page_faults = statistics.mean(count for _, count in steps)
    steps = uninterrupted([seconds for seconds, _ in steps], block)
    replayed = uninterrupted([ns * 1e-9 for ns in report["iteration_step_ns"]], block)
    untraced_s, replayed_s = statistics.median(steps), statistics.median(replayed)
    # How much longer an untraced step takes now than it took beside the capture.
    slower = untraced_s / (report["step_time_untraced_ns"] * 1e-9)
    work_s = sum(row["replayed_ns"] for row in report["classes"] if row["name"] != "comm") * 1e-9
    return {
        "steps": len(steps), "iterations": len(replayed), "untraced_s": untraced_s, "replayed_s": replayed_s,
        "step_error": replayed_s / untraced_s - 1,
        "fastest_tenth_error": fastest_tenth(replayed) / fastest_tenth(steps) - 1,
        "work_error": (1 + report["fidelity"]["untraced_work_error"]) / slower - 1,
        # Of operations and transfers, without pauses.
        "real": report["coverage"]["real"] / sum(report["coverage"][kind] for kind in ("real", "surrogate", "timed", "skipped")),
        # A step's, the mean, and those that the recording had: another process's, so chance differs.
        "page_faults": page_faults,
        "recorded_page_faults": report["diagnostics"].get("diagnostic.page_faults", 0),
        # The factor of --stretch with which all work would fill up the step.
        "stretch": 1 + (untraced_s - replayed_s) / work_s,
        # Of a rank, the mean; the recording's with tracing. 0 without transfers.
        "exposed_recorded_s": exposed_s(report, "recorded_exposed_ns"),
        "exposed_replayed_s": exposed_s(report, "replayed_exposed_ns"),
    }


def exposed_s(report, key):
    """Seconds of a step in which a rank waits for transfers and computes nothing."""
    rows = report["fidelity"]["overlap"]
    return 1e-9 * sum(row[key] for row in rows) / max(1, len({row["rank"] for row in rows}))


def fastest_tenth(seconds):
    """What a step takes while nobody else has the machine."""
    return sorted(seconds)[len(seconds) // 10]
