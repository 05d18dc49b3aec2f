#!/usr/bin/env python3
"""Steps of small GPTs on 2 to 8 A100 of one node: fit on half of the shapes, test on the others, both ways.

    bench/predict/node_steps.py DATA_DIR [--binary build/reprise] [--cache DIR] [--write-machine FILE] [--whole]

The form of the model is in cluster_steps.md. Every step time is the program's; only numbers of the machine file are fitted.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster_steps import at_peak_ms, calibrated, line_of, machine_file  # noqa: E402
from step_fit import Parameter, errors, fit, least_error_factor, summary  # noqa: E402
from step_tables import Predictor, name_of, read_rows  # noqa: E402

PARAMETERS = [
    Parameter("device.efficiency.gemm", 0.7, 0.2, 1),
    Parameter("device.efficiency.memory", 0.8, 0.2, 1),
    Parameter("links.nvlink.efficiency", 0.78, 0.1, 1),
    Parameter("device.classes.gemm.start", 5, 1),
    Parameter("host.launch_time", 5, 1, first=35),  # where it bounds some steps, and others not
]
SHAPE = ("hidden", "layers", "tp", "dp", "pp")


def halves(rows):
    """By the shape's number in sorted order: even, odd."""
    shapes = sorted({tuple(row[key] for key in SHAPE) for row in rows})
    number = {shape: i for i, shape in enumerate(shapes)}
    parts = [[], []]
    for row in rows:
        parts[number[tuple(row[key] for key in SHAPE)] % 2].append(row)
    return parts


def thinned(rows, every):
    """Each so-many-th row, by micro-batch and shape: neighbours say the same."""
    return sorted(rows, key=lambda row: [row[key] for key in ("micro_batch", "hidden", "tp", "pp", "dp", "layers", "line")])[::every]


def constant_hfu(fitted, tested, by):
    """Times by one HFU for all rows with the same key."""
    factors = {}
    for key in {by(row) for row in fitted}:
        factors[key] = least_error_factor([at_peak_ms(row) / row["iteration_ms"] for row in fitted if by(row) == key])
    return [factors[by(row)] * at_peak_ms(row) for row in tested]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="directory with a100_single_node_steps.csv")
    parser.add_argument("--binary", default="build/reprise")
    parser.add_argument("--cache", help="folder that keeps sets and times")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write-machine", type=pathlib.Path, help="machine file, fitted to all rows")
    parser.add_argument("--whole", action="store_true",
                        help="simulate every step whole in place of extending short steps (hours)")
    parser.add_argument("--every", type=int, default=8, help="of the rows that are fitted, how many stand for one")
    parser.add_argument("--by-size", action="store_true", help="fit on one hidden size and test on the other, too")
    parser.add_argument("--rows", action="store_true", help="print every row that was left out")
    flags = parser.parse_args()
    rows = read_rows(flags.data / "a100_single_node_steps.csv")
    table = "a100_single_node_steps.csv"
    even, odd = halves(rows)
    small, large = ([row for row in rows if row["hidden"] == size] for size in (1024, 2048))

    with Predictor(flags.binary, folder=flags.cache, jobs=flags.jobs, launch_bound=True) as predictor:
        def predict(some, machine):
            return predictor.predict(some, machine, whole=flags.whole)

        left_out = []
        splits = [("shapes with even numbers", even, odd), ("shapes with odd numbers", odd, even)]
        if flags.by_size:
            splits += [("hidden 1024", small, large), ("hidden 2048", large, small)]
        for title, fitted, tested in splits:
            print(f"\nFit on {title}, test on the others")
            fitted = thinned(fitted, flags.every)
            numbers = fit(predictor, fitted, PARAMETERS, print)
            machine = predictor.with_numbers(numbers)
            times = predict(tested, machine)
            result = summary(tested, times)
            if title.startswith("shapes"):
                left_out += [abs(error) for error in errors(tested, times)]
            print("  " + calibrated(f"{title} of {table}", len(fitted), result["mean"]))
            if flags.rows:
                for row, time in zip(tested, times):
                    print(f"    {name_of(row)}: predicted {time:.1f} ms, measured {row['iteration_ms']:.1f} ms, "
                          f"{time / row['iteration_ms'] - 1:+.1%}")
            print(line_of("  rows of the fit", summary(fitted, predict(fitted, machine))))
            print(line_of("  rows left out", result))
            for key in ("micro_batch", "tp"):
                parts = []
                for value in sorted({row[key] for row in tested}):
                    pairs = [(row, time) for row, time in zip(tested, times) if row[key] == value]
                    own = errors(*zip(*pairs))
                    parts.append(f"{value}: {sum(map(abs, own)) / len(own):.1%} (mean {sum(own) / len(own):+.1%})")
                print(f"    by {key}: " + ", ".join(parts))
            print(line_of("  null, one HFU", summary(tested, constant_hfu(fitted, tested, lambda row: 0))))
            print(line_of("  null, HFU by micro-batch",
                          summary(tested, constant_hfu(fitted, tested, lambda row: row["micro_batch"]))))
        print("\nNumbers of the data sheets, nothing fitted")
        print(line_of(f"  all, {len(rows)} rows", summary(rows, predict(rows, predictor.machine))))
        error = sum(left_out) / len(left_out)
        print("\nFit on all rows")
        fitted = thinned(rows, 2 * flags.every)
        numbers = fit(predictor, fitted, PARAMETERS, print)
        print("  " + calibrated(table, len(fitted), error))
        for path, value in numbers.items():
            print(f"    {path} = {value:.4g}")
        if flags.write_machine:
            machine = machine_file(predictor, numbers, table, len(fitted), error, "a100-node-fitted")
            flags.write_machine.write_text(json.dumps(machine, indent=2) + "\n")
        some = rows[::60]
        whole = predictor.predict(some, predictor.with_numbers(numbers), whole=True)
        short = predictor.predict(some, predictor.with_numbers(numbers), whole=False)
        print(f"Extended short steps against whole ones, {len(some)} rows: at most "
              f"{max(abs(a / b - 1) for a, b in zip(short, whole)):.2%} apart")


if __name__ == "__main__":
    main()
