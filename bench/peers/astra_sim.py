#!/usr/bin/env python3
"""Trace sets in ASTRA-sim: ranks that finish, simulated against recorded time, bytes of transfers; see README.md beside this
file."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))
import measure  # noqa: E402
from wire import fields, read_varint  # noqa: E402

KINDS = ["all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter",
         "reduce_scatter", "barrier"]
SEND, RECV, COLLECTIVE = 5, 6, 7
REPLAY, NETWORK = "replay", "network"


def reprise(args, *command):
    return subprocess.run([args.reprise, *map(str, command)], capture_output=True, text=True, check=False)


def messages(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        size, at = read_varint(data, at)
        yield data[at:at + size]
        at += size


def attributes(node):
    """Integer attributes of a Node message by name."""
    out = {}
    for number, value in fields(node):
        if number == 10:
            parts = dict(fields(value))
            number = next((v for k, v in parts.items() if k in (7, 9, 11, 13, 27) and isinstance(v, int)), None)
            if number is not None:
                out[parts[1].decode()] = number
    return out


def bytes_by_kind(directory):
    """(comm_size, comm_in_bytes) of all ranks by kind, as a reader of the messages finds them."""
    sizes = collections.Counter()
    sent = collections.Counter()
    for path in sorted(directory.glob("*.et")):
        for index, message in enumerate(messages(path)):
            kind = 0 if index == 0 else dict((n, v) for n, v in fields(message) if n == 3).get(3, 0)
            if kind < SEND:
                continue
            found = attributes(message)
            name = {SEND: "send", RECV: "recv"}.get(kind) or KINDS[found["comm_type"]]
            sizes[name] += found["comm_size"]
            sent[name] += found["comm_in_bytes"]
    return sizes, sent


def simulate(program, directory, timeout):
    """Finishing times in ns of the ranks that finish, and what it said last."""
    done = None
    try:
        done = subprocess.run([directory / "run.sh"], capture_output=True, text=True, check=False, timeout=timeout,
                              env={**os.environ, "ASTRA_SIM": str(program)})
        text = done.stdout
    except subprocess.TimeoutExpired:
        text = (directory / "astra_sim.txt").read_text(errors="replace") + "\nstuck: stopped after the time limit"
    times = {int(rank): int(ns) for rank, ns in re.findall(r"sys\[(\d+)\] finished, (\d+) cycles", text)}
    return times, text.strip().splitlines()[-1] if text.strip() else ""


def check_set(args, program, capture, work):
    """One row of the table; None if it has one rank. The second value: what is wrong."""
    name = pathlib.Path(capture).name
    plain = work / f"{name}.set"
    made = reprise(args, "convert", capture, "-o", plain)
    if made.returncode != 0:
        return None, [f"{name}: {made.stderr.strip()}"]
    ranks = len(list(plain.glob("*.et")))
    if ranks < 2:
        return None, []
    wrong = []
    timing = json.loads(reprise(args, "validate", "--timing", "--json", plain).stdout)["timing"]
    recorded_ns = max(row["recorded_ns"] for row in timing if row["scope"] == "rank")
    stats = json.loads(reprise(args, "stats", "--json", plain).stdout)
    sizes, sent = bytes_by_kind(plain)
    for row in stats["transfers"]:
        if sent[row["kind"]] != row["in_bytes"]:
            wrong.append(f"{name}: {row['kind']}: {sent[row['kind']]} bytes in the files, {row['in_bytes']} in stats")
    cells = {}
    for mode in (REPLAY, NETWORK):
        directory = work / f"{name}.{mode}"
        options = ["--mode", mode, "--topology", args.topology, "--bandwidth", args.bandwidth, "--latency", args.latency]
        exported = reprise(args, "export", plain, "--to", "astra-sim", "-o", directory, *options)
        if exported.returncode != 0:
            return None, wrong + [f"{name}: {exported.stderr.strip()}"]
        times, last = simulate(program, directory, args.timeout)
        cells[mode] = (len(times), max(times.values(), default=0))
        if len(times) < ranks:
            wrong.append(f"{name}: {mode}: {len(times)} of {ranks} ranks finished; {last}")
    replay_ns = cells[REPLAY][1]
    row = [name, str(ranks), f"{cells[REPLAY][0]} / {cells[NETWORK][0]}", f"{recorded_ns / 1e6:.2f}", f"{replay_ns / 1e6:.2f}",
           f"{100 * (replay_ns / recorded_ns - 1):+.2f} %", f"{cells[NETWORK][1] / 1e6:.2f}",
           ", ".join(f"{kind} {size / 1e6:.3f}" for kind, size in sorted(sizes.items()))]
    return row, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=pathlib.Path, help="ASTRA-sim's analytical simulator, built")
    parser.add_argument("--reprise", default="build/reprise", help="the program")
    parser.add_argument("--topology", default="ring")
    parser.add_argument("--bandwidth", default="50")
    parser.add_argument("--latency", default="500")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a simulation")
    parser.add_argument("captures", nargs="+", help="captures of several ranks")
    args = parser.parse_args()
    if not os.access(args.program, os.X_OK):
        parser.error(f"{args.program}: no program; README.md beside this file says which one is expected")
    rows = [["set", "ranks", "finished (replay / network)", "recorded, ms", "replay mode, ms", "difference", "network mode, ms",
             "MB by kind"]]
    failures = []
    with tempfile.TemporaryDirectory(prefix="reprise_astra_") as directory:
        for number, capture in enumerate(args.captures):
            work = pathlib.Path(directory) / str(number)
            work.mkdir()
            row, wrong = check_set(args, args.program.resolve(), capture, work)
            failures += wrong
            if row:
                rows.append(row)
                print("| " + " | ".join(row) + " |", flush=True)
    return measure.report(rows, failures)


if __name__ == "__main__":
    sys.exit(main())
