#!/usr/bin/env python3
"""Steps of 3.6 B and 18.4 B GPTs on 64 and 256 A100: fit on one size, test on the other, both ways.

    bench/predict/cluster_steps.py DATA_DIR [--binary build/reprise] [--cache DIR] [--write-machine FILE]

The form of the model is in cluster_steps.md. Every step time is the program's; only numbers of the machine file are fitted.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from megatron_steps import selene  # noqa: E402
from step_fit import (Parameter, errors, fit, least_error_factor, regression, summary)  # noqa: E402
from step_tables import Predictor, micro_batches, name_of, read_rows, step_flops  # noqa: E402

PARAMETERS = [
    Parameter("device.efficiency.gemm", 0.7, 0.2, 1),
    Parameter("device.efficiency.memory", 0.8, 0.2, 1),
    Parameter("links.nvlink.efficiency", 0.78, 0.1, 1),
    Parameter("links.infiniband.efficiency", 0.8, 0.2, 1),
    Parameter("device.classes.gemm.start", 5, 1),
    Parameter("host.launch_time", 5, 1),
]
PEAK = 312e12


def at_peak_ms(row):
    return step_flops(row) / (row["gpus"] * PEAK) * 1e3


def null_terms(row):
    """Five times of a step, each of which a regression gives a factor."""
    ideal = at_peak_ms(row)
    # All-reduces of full recomputation: 6 a layer, of two bytes an element; a ring moves twice (tp - 1) / tp.
    moved = (6 * row["layers"] / row["pp"] * 2 * row["global_batch"] / row["dp"] * row["sequence"] * row["hidden"] *
             2 * (row["tp"] - 1) / row["tp"])
    across = row["tp"] > 8
    return [ideal, ideal * (row["pp"] - 1) / micro_batches(row), 0 if across else moved / 300e6, moved / 100e6 if across else 0,
            micro_batches(row)]


def nulls(fitted, tested):
    """Of the tested rows: one HFU, five terms; both fitted on the others."""
    factor = least_error_factor([at_peak_ms(row) / row["iteration_ms"] for row in fitted])
    constant = [factor * at_peak_ms(row) for row in tested]
    factors = regression([[term / row["iteration_ms"] for term in null_terms(row)] for row in fitted], [1] * len(fitted))
    five = [sum(a * b for a, b in zip(factors, null_terms(row))) for row in tested]
    return summary(tested, constant), summary(tested, five)


def line_of(title, result):
    return (f"{title}: mean error {result['mean']:.1%}, median {result['median']:.1%}, worst {result['worst']:.1%}, "
            f"Kendall tau {result['tau']:.2f}")


def calibrated(on, points, error):
    left_out = "unknown" if error is None else f"{100 * error:.1f} %"
    return f"calibrated on {on}, {points} points, error {left_out} when left out"


def machine_file(predictor, numbers, on, points, error, name):
    reference = f"{on}, {points} points"
    machine = predictor.with_numbers(numbers, reference)
    machine["name"] = name
    machine["calibration"] = {
        "on": on,
        "points": {"value": points, "unit": "1", "source": "fitted", "reference": reference},
        "error": {"value": round(100 * error, 2), "unit": "%", "source": "measured",
                  "reference": "mean of |predicted / measured - 1| of rows that were left out of the fit"}}
    return machine


def print_rows(rows, times):
    for row, time, error in zip(rows, times, errors(rows, times)):
        print(f"    {name_of(row)}: predicted {time:.0f} ms, measured {row['iteration_ms']:.0f} ms, {error:+.1%}")


def published(predictor, machine, path, large):
    """Megatron-LM's own steps, on Selene: never fitted. Extended from short steps; whole ones have up to 10^8 nodes."""
    rows = [row for row in read_rows(path) if large or row["pp"] <= 4]
    for row in rows:
        row["iteration_ms"] = row["step_s"] * 1e3
    times = predictor.predict(rows, selene(machine), whole=False)
    print_rows(rows, times)
    print(line_of("  all", summary(rows, times)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="directory with a100_multi_node_steps.csv")
    parser.add_argument("--binary", default="build/reprise")
    parser.add_argument("--cache", help="folder that keeps sets and times")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write-machine", type=pathlib.Path, help="machine file, fitted to all rows")
    parser.add_argument("--defaults", action="store_true", help="no fit: numbers of the data sheets only")
    parser.add_argument("--large", action="store_true",
                        help="the cross-check with its pipelines of 16 to 64 stages, too: 16 GB of memory, long")
    parser.add_argument("--whole", action="store_true",
                        help="simulate what is reported whole, in place of extending short steps: an hour")
    parser.add_argument("--no-published", action="store_true", help="without the cross-check")
    flags = parser.parse_args()
    rows = read_rows(flags.data / "a100_multi_node_steps.csv")
    sizes = {size: [row for row in rows if row["parameters_billion"] == size] for size in (3.6, 18.4)}

    with Predictor(flags.binary, folder=flags.cache, jobs=flags.jobs) as predictor:
        def predict(some, machine):
            return predictor.predict(some, machine, whole=flags.whole)

        before = predict(rows, predictor.machine)
        print("Numbers of the data sheets, nothing fitted")
        for size, of_size in sizes.items():
            times = [time for row, time in zip(rows, before) if row["parameters_billion"] == size]
            if flags.defaults:
                print_rows(of_size, times)
            print(line_of(f"  {size} B, {len(of_size)} rows", summary(of_size, times)))
        print(line_of("  all", summary(rows, before)))
        everywhere = least_error_factor([at_peak_ms(row) / row["iteration_ms"] for row in rows])
        print(line_of(f"Null: the best HFU for all rows, {1 / everywhere:.1%}",
                      summary(rows, [everywhere * at_peak_ms(row) for row in rows])))
        if flags.defaults:
            return
        left_out = []
        for fitted, tested in ((3.6, 18.4), (18.4, 3.6)):
            on = f"the {fitted} B rows of a100_multi_node_steps.csv"
            print(f"\nFit on {fitted} B, test on {tested} B")
            numbers = fit(predictor, sizes[fitted], PARAMETERS, print)
            machine = predictor.with_numbers(numbers)
            own = summary(sizes[fitted], predict(sizes[fitted], machine))
            times = predict(sizes[tested], machine)
            result = summary(sizes[tested], times)
            left_out += [abs(error) for error in errors(sizes[tested], times)]
            print("  " + calibrated(on, len(sizes[fitted]), result["mean"]))
            print_rows(sizes[tested], times)
            print(line_of("  rows of the fit", own))
            print(line_of("  rows left out", result))
            constant, five = nulls(sizes[fitted], sizes[tested])
            print(line_of("  null, one HFU", constant))
            print(line_of("  null, five terms", five))
        on = "a100_multi_node_steps.csv"
        error = sum(left_out) / len(left_out)
        print("\nFit on all rows")
        numbers = fit(predictor, rows, PARAMETERS, print)
        machine = machine_file(predictor, numbers, on, len(rows), error, "a100-cluster-fitted")
        print("  " + calibrated(on, len(rows), error))
        for path, value in numbers.items():
            print(f"    {path} = {value:.4g}")
        some = [row for row in rows if micro_batches(row) in (4, 8)][::3]
        apart = [short / whole - 1 for short, whole in
                 zip(predictor.predict(some, machine, whole=False), predictor.predict(some, machine))]
        print(f"  short steps, extended, against whole ones, {len(some)} rows: at most {max(map(abs, apart)):.2%} apart")
        if flags.write_machine:
            flags.write_machine.write_text(json.dumps(machine, indent=2) + "\n")
        if not flags.no_published:
            print("\nCross-check, never fitted: Megatron-LM's table of A100 (arXiv 2104.04473, table 1)")
            print("  " + calibrated(on, len(rows), error))
            published(predictor, machine, pathlib.Path(__file__).with_name("megatron_a100_steps.csv"), flags.large)


if __name__ == "__main__":
    main()
