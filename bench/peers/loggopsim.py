#!/usr/bin/env python3
"""Trace sets in LogGOPSim, as GOAL schedules: bytes of txt2bin, operations that run, times; see README.md beside this file."""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))
import goal_schedule  # noqa: E402
import measure  # noqa: E402

EVERYTHING_EAGER = 2**31 - 1


def run(*command, timeout=None):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=timeout)


def simulated(args, schedule, ranks, eager):
    """When the last rank ends, in ms; what is wrong."""
    parameters = [part for name in "LogG" for part in (f"-{name}", getattr(args, name))]
    done = run(args.program, "-f", schedule, "-b", "-S", eager, *parameters, timeout=args.timeout)
    events = re.search(r"Events: (\d+)", done.stdout)
    last = re.search(r"Maximum finishing time at host \d+: (\d+)", done.stdout)
    kinds = collections.Counter(of.kind for rank in ranks for of in rank.operations)
    expected = kinds.total() + kinds["send"]  # a message on its way is an event of its own
    if not events or not last or int(events[1]) != expected:
        return None, f"{events[1] if events else 'no'} of {expected} events; {(done.stdout + done.stderr).strip()[-200:]}"
    return int(last[1]) / 1e6, None


def check_set(args, trace, work):
    name = pathlib.Path(trace).name
    options = ["--cpus", args.cpus]
    if args.machine:
        options += ["--machine", args.machine]
    for algo in args.algo:
        options += ["--algo", algo]
    text, binary = work / "text", work / "binary"
    for to, output in (("goal-text", text), ("goal", binary)):
        done = run(args.reprise, "export", trace, "--to", to, "-o", output, *options)
        if done.returncode:
            return None, [f"{name}: {done.stderr.strip()}"]
    own_ms = float(re.search(r"own simulation ([\d.]+) ms", done.stdout)[1])
    ranks = goal_schedule.parse(text.read_text())
    wrong = [f"{name}: {key}: sends and receives differ" for key in goal_schedule.unpaired(ranks)[:3]]
    run(args.txt2bin, "-i", text, "-o", work / "txt2bin")
    if binary.read_bytes() != (work / "txt2bin").read_bytes():
        wrong.append(f"{name}: the binary form is not what txt2bin makes of the text")
    cells = []
    for eager in args.S, EVERYTHING_EAGER:
        ms, problem = simulated(args, binary, ranks, eager)
        wrong += [f"{name}: {problem}"] if problem else []
        cells.append(f"{ms:.3f}" if ms is not None else "none")
    kinds = collections.Counter(of.kind for rank in ranks for of in rank.operations)
    ideal_ms = goal_schedule.makespan(ranks) / 1e6
    parameters = {key: float(getattr(args, key)) for key in "LogG"}
    loggp_ms = goal_schedule.makespan(ranks, **parameters) / 1e6
    return [name, str(len(ranks)), f"{kinds['calc']:,}", f"{kinds['send']:,}", f"{own_ms:.3f}", f"{ideal_ms:.3f}", f"{loggp_ms:.3f}", *cells], wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=pathlib.Path, help="LogGOPSim")
    parser.add_argument("--txt2bin", required=True, type=pathlib.Path, help="its txt2bin")
    parser.add_argument("--reprise", default="build/reprise", help="the program")
    parser.add_argument("--machine", help="for sets without recorded times")
    parser.add_argument("--cpus", default="streams", choices=["streams", "one"])
    parser.add_argument("--algo", action="append", default=[])
    parser.add_argument("-L", default="3000", help="ns")
    parser.add_argument("-o", default="500", help="ns")
    parser.add_argument("-g", default="0", help="ns")
    parser.add_argument("-G", default="1", help="ns a byte; ATLAHS' program takes fractions")
    parser.add_argument("-S", default="65535", help="bytes up to which a send does not wait for its receive")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a simulation")
    parser.add_argument("sets", nargs="+", help="trace sets")
    args = parser.parse_args()
    rows = [["set", "ranks", "calcs", "messages", "simulate, ms", "without a network, ms", "LogGP, ms", "simulator, ms", "all eager, ms"]]
    failures = []
    with tempfile.TemporaryDirectory(prefix="reprise_goal_") as directory:
        for number, trace in enumerate(args.sets):
            work = pathlib.Path(directory) / str(number)
            work.mkdir()
            row, wrong = check_set(args, trace, work)
            failures += wrong
            if row:
                rows.append(row)
    return measure.report(rows, failures)


if __name__ == "__main__":
    sys.exit(main())
