"""Whole commands, measured as a user would see them."""

import os
import pathlib
import statistics
import subprocess
import sys
import time

COLUMNS = ((0, "wall", "s", 1), (1, "CPU", "s", 1), (2, "peak memory", "MB", 1e-6))


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


def one_after_another(commands, directory):
    """What several commands cost together: times add up, the highest peak counts. None if one failed."""
    parts = []
    for command in commands:
        parts.append(measure(command, directory))
        if parts[-1] is None:
            return None
    return sum(p[0] for p in parts), sum(p[1] for p in parts), max(p[2] for p in parts)


def show(name, values, unit):
    print(f"{name:34} {statistics.median(values):10.2f} {unit:5} ({min(values):.2f} to {max(values):.2f})")


def compare(their_name, theirs, ours, rounds, directory):
    """Runs their commands and ours in turn; shows medians and ranges, and the ratios of runs that followed each
    other. False if one failed."""
    pairs = []
    for _ in range(rounds):
        pairs.append((one_after_another(theirs, directory), measure(ours, directory)))
        if None in pairs[-1]:
            return False
    for index, what, unit, scale in COLUMNS:
        show(f"{their_name}, {what}", [their[index] * scale for their, _ in pairs], unit)
        show(f"reprise convert, {what}", [our[index] * scale for _, our in pairs], unit)
        show(f"ratio, {what}", [their[index] / our[index] for their, our in pairs], "times")
    return True


def report(rows, failures):
    """Prints a table, its head first, and what was found wrong; returns the exit code."""
    print("\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows[1:]:
        print("| " + " | ".join(row) + " |")
    for line in failures:
        print(f"WRONG: {line}")
    return 1 if failures else 0
