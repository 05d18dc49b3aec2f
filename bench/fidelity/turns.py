"""One round of one network: PyTorch's untraced steps and a replay's iterations take turns on one core.

A round captures three steps anew, converts them, takes the one of median duration, and starts both programs on that core. Every `block` seconds the one that runs is
stopped and the other continues, so that both meet the machine in the same states. What was interrupted is left out."""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = pathlib.Path(__file__).resolve().parent / "steps.py"
LEFT_OUT = 3  # of the untraced steps, at the start


class Failure(Exception):
    """Of one program; the text says which, and what it wrote."""


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def pinned(args, command):
    return ["taskset", "-c", str(args.core), *map(str, command)]


def run(args, command):
    done = subprocess.run(pinned(args, command), env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command[:3]))} … ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def start(args, command, log):
    # Not a session of its own alone: the group is what is stopped and continued.
    return subprocess.Popen(pinned(args, command), env=environment(), stdout=log, stderr=log, start_new_session=True)


def end(process):
    """Also if it is stopped."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def take_turns(args, torch, replay):
    """Until the replay has ended."""
    running, waiting = replay, torch
    os.killpg(waiting.pid, signal.SIGSTOP)
    while replay.poll() is None:
        time.sleep(args.block)
        if torch.poll() is not None:
            raise Failure(f"PyTorch's steps ended with {torch.returncode}")
        os.killpg(running.pid, signal.SIGSTOP)
        os.killpg(waiting.pid, signal.SIGCONT)
        running, waiting = waiting, running


def uninterrupted(seconds, block):
    """What was stopped takes at least a block longer."""
    limit = statistics.median(seconds) + block / 2
    return [value for value in seconds if value < limit]


def middle_step(meta):
    """Of the traced steps, that of median duration: something else may have held up one of them. Counted from 0."""
    seconds = [meta["step_seconds"][step] for step in meta["traced_steps"]]
    return sorted(range(len(seconds)), key=lambda k: seconds[k] or 0)[len(seconds) // 2]


def in_turn(args, network, trace, chosen, step_seconds, directory):
    """One replay beside PyTorch's untraced steps: seconds of these, and the replay's report."""
    times, log_file = directory / "steps", directory / "log"
    programs = []
    try:
        with open(log_file, "w", encoding="utf-8") as log:
            torch = start(args, [args.python, STEPS, network, "steps", times], log)
            programs.append(torch)
            while torch.poll() is None and not (times.exists() and times.read_text().count("\n") >= LEFT_OUT):
                time.sleep(0.1)
            if torch.poll() is not None:
                raise Failure(f"PyTorch's steps ended with {torch.returncode}")
            iterations = max(9, round(args.seconds / step_seconds))
            replay = start(args, [args.reprise, "replay", trace, "-o", directory / "run", "--force", "--device", "host",
                                  "--sample-period", "off", "--host-gaps", "untraced", "--iterations", iterations,
                                  "--steps", chosen, *args.options], log)
            programs.append(replay)
            take_turns(args, torch, replay)
            if replay.returncode != 0:
                raise Failure(f"reprise replay ended with {replay.returncode}")
    except Failure as failure:
        raise Failure(f"{failure}:\n{log_file.read_text()}") from failure
    finally:
        for program in programs:
            end(program)
    report = json.loads(run(args, [args.reprise, "report", directory / "run", "--json"]))
    return [float(line) for line in times.read_text().splitlines()[LEFT_OUT:]], report


def one_round(args, network, directory):
    """The round's row of results, which results.py has."""
    capture, trace = directory / "capture", directory / "trace"
    run(args, [args.python, STEPS, network, "capture", capture])
    run(args, [args.reprise, "convert", capture, "-o", trace, "--force"])
    meta = json.loads((capture / "rank0.meta.json").read_text())
    seconds = statistics.median(value for value in meta["step_seconds"][2:] if value)
    steps, report = in_turn(args, network, trace, middle_step(meta), seconds, directory)
    return row_of(steps, report, args.block)


def row_of(steps, report, block):
    steps = uninterrupted(steps, block)
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
        "real": report["coverage"]["real"],
        # The factor of --stretch with which all work would fill up the step.
        "stretch": 1 + (untraced_s - replayed_s) / work_s,
    }


def fastest_tenth(seconds):
    """What a step takes while nobody else has the machine."""
    return sorted(seconds)[len(seconds) // 10]
