#!/usr/bin/env python3
"""How near a replay on the host backend comes to PyTorch on the same core, and the factors for `--stretch`.

    bench/peers/fidelity.py --python PYTHON-WITH-TORCH --workload FILE.py:FUNCTION[:NAME=NUMBER,…] [--workload …]
                            [--try FILE.py:FUNCTION…] [--rounds 5] [--seconds 30] [--core 1] [--reprise build/reprise]
                            [-- REPLAY OPTIONS]

A round captures a step anew, converts it, and then lets PyTorch's untraced steps and the replay's iterations take turns on one
core, every --block seconds: whichever does not run is stopped, so that both meet the machine in the same states. What was
interrupted is left out. Recorded work is what the capture says without tracing's cost, times how much longer the untraced step
takes now than it took beside the capture. The last lines have the factors of `--stretch` for other workloads. What is behind
--try is replayed with such a factor, the median of all that the --workload's had until then: the networks take turns too, because
the factor depends on what else the machine does. Behind `--` are options of replay, `--blas` for one."""
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


def in_turn(args, workload, trace, step_seconds, directory, options):
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
                              *args.options, *options], log)
        turns(args, torch, replay)
    if replay.returncode != 0:
        sys.exit(f"replay ended with {replay.returncode}: {(directory / 'log').read_text()}")
    report = json.loads(run(args, [args.reprise, "report", directory / "run", "--json"]))
    return [float(line) for line in times.read_text().splitlines()[3:]], report


def one_round(args, workload, directory, options):
    capture, trace = directory / "capture", directory / "trace"
    run(args, [args.python, STEPS, workload, "capture", capture])
    run(args, [args.reprise, "convert", capture, "-o", trace, "--force"])
    meta = json.loads((capture / "rank0.meta.json").read_text())
    seconds = statistics.median(value for value in meta["step_seconds"][2:] if value)
    steps, report = in_turn(args, workload, trace, seconds, directory, options)
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


def show_round(index, workload, row, options):
    factors = " ".join(f"{name}={factor:.2f}" for name, factor in row["factors"].items())
    print(f"  {index} {' '.join([name_of(workload), *options])}: untraced {1e3 * row['untraced_s']:.1f} ms ({row['steps']}),"
          f" replayed {1e3 * row['replayed_s']:.1f} ms ({row['iterations']}): step {percent(row['step_error'])}, its fastest tenth"
          f" {percent(row['fastest_tenth_error'])}, work {percent(row['work_error'])};"
          f" --stretch {row['factor']:.3f} or {factors}", flush=True)


def name_of(workload):
    return workload.split(":", maxsplit=1)[1]


def show_all(rows):
    for what in ("step_error", "fastest_tenth_error", "work_error"):
        values = [row[what] for row in rows]
        print(f"  {what.replace('_', ' ')}: median {percent(statistics.median(values))}"
              f" ({percent(min(values))} to {percent(max(values))})", flush=True)


def median_factor(rows, workloads):
    return statistics.median(row["factor"] for workload in workloads for row in rows[workload])


def show_factors(rows, workloads):
    """Medians over all rounds; of the classes that most of them name."""
    every = [row for workload in workloads for row in rows[workload]]
    of_class = {name: [row["factors"][name] for row in every if name in row["factors"]]
                for name in sorted({name for row in every for name in row["factors"]})}
    classes = ",".join(f"{name}={statistics.median(values):.2f}" for name, values in of_class.items()
                       if 2 * len(values) > len(every))
    print(f"all work alike: --stretch {median_factor(rows, workloads):.3f}")
    print(f"by class, roughly: --stretch {classes}")


def main():
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", required=True, help="an interpreter with torch")
    parser.add_argument("--workload", action="append", required=True, help="FILE.py:FUNCTION[:NAME=NUMBER,...]")
    parser.add_argument("--try", dest="tried", action="append", default=[], help="another, with the factor of those")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30, help="of replay in a round")
    parser.add_argument("--block", type=float, default=1, help="seconds of a turn")
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--reprise", default=str(ROOT / "build/reprise"))
    args = parser.parse_args(own)
    args.options = options
    rows = {workload: [] for workload in [*args.workload, *args.tried]}
    for index in range(args.rounds):
        for workload in rows:
            options = []
            if workload in args.tried:
                options = ["--stretch", f"{max(1, median_factor(rows, args.workload)):.3f}"]
            with tempfile.TemporaryDirectory() as directory:
                rows[workload].append(one_round(args, workload, pathlib.Path(directory), options))
            show_round(index, workload, rows[workload][-1], options)
    for workload, of_workload in rows.items():
        print(name_of(workload))
        show_all(of_workload)
    show_factors(rows, args.workload)


if __name__ == "__main__":
    main()
