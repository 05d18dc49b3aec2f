#!/usr/bin/env python3
"""How near a replay on the host backend comes to PyTorch on the same core, and the factors for `--stretch`.

    bench/peers/fidelity.py --python PYTHON-WITH-TORCH --workload FILE.py:FUNCTION[:NAME=NUMBER,…] [--workload …]
                            [--rounds 5] [--seconds 30] [--core 1] [--reprise build/reprise] [-- REPLAY OPTIONS]

A round captures a step anew, converts it, and then lets PyTorch's untraced steps and the replay's iterations take turns on one
core, every --block seconds: whichever does not run is stopped, so that both meet the machine in the same states. What was
interrupted is left out. Recorded work is what the capture says without tracing's cost, times how much longer the untraced step
takes now than it took beside the capture. The last lines have the factors of `--stretch` for other workloads: found with the
networks of workloads.py, they can be tried on one's own. With options of replay behind `--`, `--blas` and `--stretch` for two."""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = ROOT / "bench/peers/torch_steps.py"


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none"}


def pinned(args, command):
    return ["taskset", "-c", str(args.core), *map(str, command)]


def run(args, command):
    done = subprocess.run(pinned(args, command), env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def start(args, command, log):
    return subprocess.Popen(pinned(args, command), env=environment(), stdout=log, stderr=log, start_new_session=True)


def turns(args, torch, replay):
    """Lets both run in turn until the replay has ended."""
    running, waiting = replay, torch
    os.killpg(waiting.pid, signal.SIGSTOP)
    while replay.poll() is None:
        time.sleep(args.block)
        os.killpg(running.pid, signal.SIGSTOP)
        os.killpg(waiting.pid, signal.SIGCONT)
        running, waiting = waiting, running
    os.killpg(torch.pid, signal.SIGKILL)
    torch.wait()


def uninterrupted(seconds, block):
    """What was stopped takes at least a block longer."""
    limit = statistics.median(seconds) + block / 2
    return [value for value in seconds if value < limit]


def in_turn(args, workload, trace, step_seconds, directory):
    """One replay beside PyTorch's untraced steps: seconds of these, and the replay's report."""
    times = directory / "steps"
    with open(directory / "log", "w", encoding="utf-8") as log:
        torch = start(args, [args.python, STEPS, workload, "steps", times], log)
        while torch.poll() is None and not (times.exists() and times.read_text().count("\n") > 2):
            time.sleep(0.1)
        iterations = max(9, round(args.seconds / step_seconds))
        if torch.poll() is not None:
            sys.exit(f"PyTorch's steps ended with {torch.returncode}: {(directory / 'log').read_text()}")
        replay = start(args, [args.reprise, "replay", trace, "-o", directory / "run", "--force", "--device", "host",
                              "--sample-period", "off", "--host-gaps", "untraced", "--iterations", iterations,
                              *args.options], log)
        turns(args, torch, replay)
    if replay.returncode != 0:
        sys.exit(f"replay ended with {replay.returncode}: {(directory / 'log').read_text()}")
    report = json.loads(run(args, [args.reprise, "report", directory / "run", "--json"]))
    return [float(line) for line in times.read_text().splitlines()[3:]], report


def one_round(args, workload, directory):
    capture, trace = directory / "capture", directory / "trace"
    run(args, [args.python, STEPS, workload, "capture", capture])
    run(args, [args.reprise, "convert", capture, "-o", trace, "--force"])
    meta = json.loads((capture / "rank0.meta.json").read_text())
    seconds = statistics.median(value for value in meta["step_seconds"][2:] if value)
    steps, report = in_turn(args, workload, trace, seconds, directory)
    steps = uninterrupted(steps, args.block)
    replayed = uninterrupted([ns * 1e-9 for ns in report["iteration_step_ns"]], args.block)
    untraced_s, replayed_s = statistics.median(steps), statistics.median(replayed)
    slower = untraced_s / (report["step_time_untraced_ns"] * 1e-9)
    work_s = sum(row["replayed_ns"] for row in report["classes"] if row["name"] != "comm") * 1e-9
    return {
        "steps": len(steps), "iterations": len(replayed), "untraced_s": untraced_s, "replayed_s": replayed_s,
        "step_error": replayed_s / untraced_s - 1,
        "fastest_tenth_error": fastest_tenth(replayed) / fastest_tenth(steps) - 1,
        "work_error": (1 + report["fidelity"]["untraced_work_error"]) / slower - 1,
        # With which all work would fill up the step; unlike the classes' factors it needs no estimate of tracing.
        "factor": 1 + (untraced_s - replayed_s) / work_s,
        "factors": {name: factor * slower for name, factor in report["stretches"].items()},
    }


def fastest_tenth(seconds):
    """What a step takes while nobody else has the machine."""
    return sorted(seconds)[len(seconds) // 10]


def percent(value):
    return f"{100 * value:+.1f} %"


def show_round(index, row):
    factors = " ".join(f"{name}={factor:.2f}" for name, factor in row["factors"].items())
    print(f"  {index}: untraced {1e3 * row['untraced_s']:.1f} ms ({row['steps']}), replayed {1e3 * row['replayed_s']:.1f} ms"
          f" ({row['iterations']}): step {percent(row['step_error'])}, its fastest tenth"
          f" {percent(row['fastest_tenth_error'])}, work {percent(row['work_error'])};"
          f" --stretch {row['factor']:.3f} or {factors}", flush=True)


def show_all(rows):
    for what in ("step_error", "fastest_tenth_error", "work_error"):
        values = [row[what] for row in rows]
        print(f"  {what.replace('_', ' ')}: median {percent(statistics.median(values))}"
              f" ({percent(min(values))} to {percent(max(values))})", flush=True)


def show_factors(rows):
    """Medians over all rounds; of the classes that most of them name."""
    every = {name: [row["factors"][name] for row in rows if name in row["factors"]]
             for name in sorted({name for row in rows for name in row["factors"]})}
    classes = ",".join(f"{name}={statistics.median(values):.2f}" for name, values in every.items()
                       if 2 * len(values) > len(rows))
    print(f"all work alike: --stretch {statistics.median(row['factor'] for row in rows):.3f}")
    print(f"by class, roughly: --stretch {classes}")


def main():
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", required=True, help="an interpreter with torch")
    parser.add_argument("--workload", action="append", required=True, help="FILE.py:FUNCTION[:NAME=NUMBER,...]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30, help="of replay in a round")
    parser.add_argument("--block", type=float, default=1, help="seconds of a turn")
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--reprise", default=str(ROOT / "build/reprise"))
    args = parser.parse_args(own)
    args.options = options
    every = []
    for workload in args.workload:
        print(workload, flush=True)
        rows = []
        for index in range(args.rounds):
            with tempfile.TemporaryDirectory() as directory:
                rows.append(one_round(args, workload, pathlib.Path(directory)))
            show_round(index, rows[-1])
        show_all(rows)
        every += rows
    show_factors(every)


if __name__ == "__main__":
    main()
