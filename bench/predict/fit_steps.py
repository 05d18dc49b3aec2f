#!/usr/bin/env python3
"""Fits a machine to your own measured steps of GPTs, and says how far off it is on steps that were left out.

    bench/predict/fit_steps.py TABLE.csv --machine a100-hgx -o mine.json [--binary build/reprise] [--parts 3]

TABLE.csv has the columns gpus, global_batch, micro_batch, hidden, heads, layers, sequence, tp, dp, pp, iteration_ms, and may have
vocabulary and virtual (chunks of a stage). Rows are divided into parts of neighbours; each part is predicted by a fit to the others. The form of
the model is in cluster_steps.md. A number that the machine file has from a measurement stays close to it; give more with --number.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster_steps import calibrated, line_of, machine_file, print_rows  # noqa: E402
from step_fit import Parameter, fit, summary  # noqa: E402
from step_tables import Predictor, read_rows  # noqa: E402

# Defaults and the deviations that are believed of their logarithms, as in cluster_steps.md.
DEVICE = [("device.efficiency.gemm", 0.2, 1), ("device.efficiency.memory", 0.2, 1),
          ("device.classes.gemm.start", 1, 1e9), ("host.launch_time", 1, 1e9)]
DEFAULT_START_US = 5
# The search starts where launches bound small steps: from below, where they bound none, no slope leads there.
FIRST = {"host.launch_time": 40}


def number_at(machine, path):
    at = machine
    for part in path.split("."):
        at = at.get(part, {})
    return at.get("value")


def parameters_of(machine, extra):
    found = []
    links = [(f"links.{name}.efficiency", 0.1 if link["efficiency"]["source"] == "measured" else 0.2, 1)
             for name, link in machine.get("links", {}).items()]
    for path, deviation, largest in DEVICE + links + [(path, 0.5, 1e9) for path in extra]:
        value = number_at(machine, path)
        if value is None and path == "device.classes.gemm.start":
            value = DEFAULT_START_US
        if value is None:
            sys.exit(f"{machine['name']} has no number {path}; `reprise list machines --json` shows its numbers")
        found.append(Parameter(path, value, deviation, largest, FIRST.get(path)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--machine", required=True, help="a built-in machine, `reprise list machines`")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--binary", default="build/reprise")
    parser.add_argument("--number", action="append", default=[], help="a further number to fit, by its path")
    parser.add_argument("--parts", type=int, default=3, help="that are left out in turn")
    parser.add_argument("--rounds", type=int, default=6, help="steps of the search")
    parser.add_argument("--cache", help="folder that keeps sets and times")
    parser.add_argument("--jobs", type=int, default=2)
    flags = parser.parse_args()
    rows = read_rows(flags.table)
    parts = max(2, min(flags.parts, len(rows)))
    with Predictor(flags.binary, flags.machine, flags.cache, flags.jobs) as predictor:
        parameters = parameters_of(predictor.machine, flags.number)
        tested, times = [], []
        for part in range(parts):
            out = rows[part * len(rows) // parts:(part + 1) * len(rows) // parts]
            numbers = fit(predictor, [row for row in rows if row not in out], parameters, rounds=flags.rounds)
            tested += out
            times += predictor.predict(out, predictor.with_numbers(numbers))
        error = summary(tested, times)["mean"]
        print_rows(tested, times)
        print(line_of("rows left out", summary(tested, times)))
        numbers = fit(predictor, rows, parameters, rounds=flags.rounds)
        machine = machine_file(predictor, numbers, flags.table.name, len(rows), error, flags.output.stem)
        flags.output.write_text(json.dumps(machine, indent=2) + "\n")
        for path, value in numbers.items():
            print(f"    {path} = {value:.4g}")
        print(f"{flags.output}: {calibrated(flags.table.name, len(rows), error)}")


if __name__ == "__main__":
    main()
