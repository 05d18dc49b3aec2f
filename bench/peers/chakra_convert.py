#!/usr/bin/env python3
"""Times chakra_converter against `reprise convert` on one host trace; see README.md beside this file."""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def measure(command, directory):
    """Runs a command; returns wall seconds, CPU seconds and peak resident bytes, or None if it failed."""
    with open(os.path.join(directory, "log"), "w", encoding="utf-8") as log:
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        tail = pathlib.Path(log.name).read_text(encoding="utf-8").splitlines()[-5:]
        print(f"{command[0]} ended with {child.returncode}:", *tail, sep="\n  ", file=sys.stderr)
        return None
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def show(name, values, unit):
    print(f"{name:34} {statistics.median(values):10.2f} {unit:5} ({min(values):.2f} to {max(values):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", required=True, help="with chakra installed")
    parser.add_argument("--reprise", required=True, help="the program")
    parser.add_argument("--host-trace", required=True, help="rank0.et.json, or .gz")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    converter = os.path.abspath(os.path.join(args.venv, "bin", "chakra_converter"))
    reprise = os.path.abspath(args.reprise)
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "rank0.et.json")
        opened = gzip.open if args.host_trace.endswith(".gz") else open
        with opened(args.host_trace, "rb") as packed, open(trace, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        with open(trace, encoding="utf-8") as file:
            nodes = len(json.load(file)["nodes"])
        print(f"{os.path.basename(args.host_trace)}: {os.path.getsize(trace) / 1e6:.1f} MB, {nodes} nodes, {args.rounds} rounds")
        theirs, ours = [], []
        for _ in range(args.rounds):
            theirs.append(measure([converter, "PyTorch", "--input", trace, "--output", "theirs.0.et"], directory))
            output = os.path.join(directory, "ours")
            ours.append(measure([reprise, "convert", "--host-trace", trace, "-o", output, "--force"], directory))
            if theirs[-1] is None or ours[-1] is None:
                return 1
    for index, what, unit, scale in ((0, "wall", "s", 1), (1, "CPU", "s", 1), (2, "peak memory", "MB", 1e-6)):
        show(f"chakra_converter, {what}", [m[index] * scale for m in theirs], unit)
        show(f"reprise convert, {what}", [m[index] * scale for m in ours], unit)
        show(f"ratio, {what}", [t[index] / o[index] for t, o in zip(theirs, ours)], "times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
