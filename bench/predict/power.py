#!/usr/bin/env python3
"""Fits a device's power to a run that a meter watched: idle watts, joules per FLOP, joules per byte.

    bench/predict/power.py RUN [--rank N] [--metric NAME] [--device NAME] [--windows N] [--format FORMAT] [--json]

The run is one of `reprise replay` with a meter, of a single device (docs/telemetry.md). Its measured time is cut into windows. The joules
of a window are

    idle watts x its length + joules per FLOP x FLOPs + joules per byte x bytes + joules per transferred byte x such bytes

with FLOPs of products and of other operations apart, each operation's spread evenly over its time. Least squares with no negative number; what
the run cannot tell apart from the rest is left out. Every fifth window is predicted by a fit of the others. Beside it stands the null model:
one constant power. The numbers come in the form of a machine file (docs/machine_format.md)."""

import argparse
import itertools
import json
import math
import os
import sqlite3
import sys

PRODUCTS = {"gemm", "attention", "conv"}
FOLDS = 5
TERMS = ("idle", "matrix", "vector", "memory", "transfer")


def fail(text):
    print("power.py: " + text, file=sys.stderr)
    sys.exit(3)


def solve(matrix, right):
    """Gauss with pivots; nothing for a matrix that is singular."""
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-9:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def fit(windows):
    """Joules by term: the best of all subsets whose numbers are not negative."""
    scale = [math.sqrt(sum(w["work"][t] ** 2 for w in windows)) for t in terms_of(windows)]
    names = terms_of(windows)
    best = None
    for size in range(1, len(names) + 1):
        for chosen in itertools.combinations(range(len(names)), size):
            columns = [[w["work"][names[c]] / scale[c] for w in windows] for c in chosen]
            joules = [w["joules"] for w in windows]
            normal = [[sum(a * b for a, b in zip(x, y)) for y in columns] for x in columns]
            found = solve(normal, [sum(a * b for a, b in zip(x, joules)) for x in columns])
            if found is None or min(found) < 0:
                continue
            error = sum((j - sum(f * column[i] for f, column in zip(found, columns))) ** 2 for i, j in enumerate(joules))
            # A term must earn its place: rounding is no reason.
            if best is None or error < best[0] * (1 - 1e-6) - 1e-18:
                best = (error, {names[c]: f / scale[c] for c, f in zip(chosen, found)})
    return best[1] if best else {}


def terms_of(windows):
    return [t for t in TERMS if any(w["work"][t] > 0 for w in windows)]


def predict(numbers, window):
    return sum(numbers.get(t, 0) * window["work"][t] for t in TERMS)


def mean_error(pairs):
    return sum(abs(p - m) / m for p, m in pairs if m > 0) / max(sum(1 for _, m in pairs if m > 0), 1)


def read(path, args):
    """Meter and operations of one rank."""
    name = os.path.join(path, f"rank{args.rank}.sqlite")
    if not os.path.exists(name):
        fail(f"{path}: has no rank{args.rank}.sqlite; expected a run directory of reprise, --rank names another rank")
    with sqlite3.connect(f"file:{name}?mode=ro", uri=True) as database:
        metrics = database.execute("SELECT metric, name, device, source, kind, unit FROM metrics").fetchall()
        meters = [m for m in metrics if m[4] == "energy" or (m[5] == "watts" and not m[1].endswith("_limit"))]
        meters = [m for m in meters if args.metric in ("", m[1]) and args.device in ("", m[2])]
        if not meters:
            fail(f"{name}: no meter of energy or power" + (", or none of that name" if args.metric or args.device else
                 "; replay where one can be read (reprise list sources)"))
        meter = sorted(meters, key=lambda m: (m[4] != "energy", m[1] != "gpu_energy", m[1] != "package_energy"))[0]
        samples = database.execute("SELECT time_ns, value FROM samples WHERE metric = ? AND value IS NOT NULL ORDER BY time_ns",
                                   (meter[0],)).fetchall()
        steps = database.execute("SELECT min(start_ns), max(start_ns + duration_ns) FROM steps WHERE NOT warmup").fetchone()
        facts = dict(database.execute("SELECT name, value FROM facts").fetchall())
        modes = ("real", "surrogate") + (("timed",) if facts.get("modelled") == "true" else ())
        operations = database.execute(
            "SELECT r.start_ns, r.duration_ns, n.class, n.kind, n.flops, n.bytes FROM records r JOIN node_info n ON n.node_id = r.node_id "
            f"WHERE n.counts_for_coverage AND r.duration_ns > 0 AND r.mode IN ({','.join('?' * len(modes))})", modes).fetchall()
    if steps[0] is None or len(samples) < 3:
        fail(f"{name}: no measured step, or fewer than three readings of {meter[1]}")
    return meter, samples, steps, operations


def joules_at(meter, samples):
    """A function of time: joules since the first reading."""
    times = [t for t, _ in samples]
    if meter[4] == "energy":
        totals = [v for _, v in samples]
    else:
        totals = [0.0]
        for (t0, p0), (t1, p1) in zip(samples, samples[1:]):
            totals.append(totals[-1] + 0.5 * (p0 + p1) * (t1 - t0) * 1e-9)
    at = [0]

    def value(time_ns):  # times must grow
        while at[0] + 2 < len(times) and times[at[0] + 1] <= time_ns:
            at[0] += 1
        i = at[0]
        share = (time_ns - times[i]) / max(times[i + 1] - times[i], 1)
        return totals[i] + min(max(share, 0), 1) * (totals[i + 1] - totals[i])
    return value


def cut(meter, samples, steps, operations, count):
    begin, end = max(steps[0], samples[0][0]), min(steps[1], samples[-1][0])
    if end <= begin:
        fail("the meter was not read while the steps ran")
    # No shorter than a few updates of the meter.
    changes = [t for (t, v), (_, before) in zip(samples[1:], samples) if v != before]
    update = (changes[-1] - changes[0]) / max(len(changes) - 1, 1) if len(changes) > 1 else end - begin
    count = max(2 * FOLDS, min(count, int((end - begin) / max(4 * update, 1))))
    bounds = [begin + (end - begin) * i // count for i in range(count + 1)]
    joules = joules_at(meter, samples)
    totals = [joules(b) for b in bounds]
    windows = [{"joules": totals[i + 1] - totals[i],
                "work": dict.fromkeys(TERMS, 0.0) | {"idle": (bounds[i + 1] - bounds[i]) * 1e-9}} for i in range(count)]
    for start, duration, op_class, kind, flops, of_bytes in operations:
        first = max(0, int((start - begin) * count // (end - begin)) - 1)
        for i in range(first, count):
            if bounds[i] >= start + duration:
                break
            inside = min(start + duration, bounds[i + 1]) - max(start, bounds[i])
            if inside <= 0:
                continue
            work, share = windows[i]["work"], inside / duration
            if kind == "comm":
                work["transfer"] += share * (of_bytes or 0)
            else:
                work["matrix" if op_class in PRODUCTS else "vector"] += share * (flops or 0)
                work["memory"] += share * (of_bytes or 0)
    return windows


def machine_lines(numbers, reference, of_format):
    def number(value, unit):
        return {"value": float(f"{value:.4g}"), "unit": unit, "source": "fitted", "reference": reference}
    power = {}
    if "idle" in numbers:
        power["idle"] = number(numbers["idle"], "W")
    for term in ("matrix", "vector"):
        if term in numbers:
            power[term] = {of_format: number(numbers[term] * 1e12, "pJ/FLOP")}
    if "memory" in numbers:
        power["memory"] = number(numbers["memory"] * 1e12, "pJ/B")
    return power


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--metric", default="", help="default: the device's counter of energy, else its power")
    parser.add_argument("--device", default="")
    parser.add_argument("--windows", type=int, default=200, help="most windows (default: 200)")
    parser.add_argument("--format", default="float32", help="of the operations, for the machine file (default: float32)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    meter, samples, steps, operations = read(args.run, args)
    windows = cut(meter, samples, steps, operations, args.windows)
    numbers = fit(windows)
    left_out, null = [], []
    for fold in range(FOLDS):
        rest = [w for i, w in enumerate(windows) if i % FOLDS != fold]
        own = [w for i, w in enumerate(windows) if i % FOLDS == fold]
        of_rest = fit(rest)
        watts = sum(w["joules"] for w in rest) / sum(w["work"]["idle"] for w in rest)
        left_out += [(predict(of_rest, w), w["joules"]) for w in own]
        null += [(watts * w["work"]["idle"], w["joules"]) for w in own]
    missing = [t for t in terms_of(windows) if t not in numbers]
    reference = (f"fitted to {meter[1]} of {meter[2]} ({meter[3]}) in a replay, {len(windows)} windows, error "
                 f"{100 * mean_error(left_out):.1f} % when left out, constant power {100 * mean_error(null):.1f} %")
    power = machine_lines(numbers, reference, args.format)
    if args.json:
        print(json.dumps({"meter": meter[1], "device": meter[2], "source": meter[3], "windows": len(windows), "numbers": numbers,
                          "not_told_apart": missing, "error": mean_error(left_out), "error_constant_power": mean_error(null),
                          "power": power}, indent=2))
        return
    print(f"Calibrated on {args.run}, {len(windows)} windows of {meter[1]} ({meter[3]}); mean error when left out:")
    print(f"  this fit        {100 * mean_error(left_out):6.2f} %")
    print(f"  constant power  {100 * mean_error(null):6.2f} %")
    for term in missing:
        print(f"  {term}: the run cannot tell it apart from the rest; replay operations that differ more")
    print('"power": ' + json.dumps(power, indent=2))


if __name__ == "__main__":
    main()
