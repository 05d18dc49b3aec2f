#!/usr/bin/env python3
"""bench/predict: fits of a machine to measured steps. The measured steps are the program's own, on a machine with other numbers."""
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PREDICT = SOURCES / "bench" / "predict"
sys.path.insert(0, str(PREDICT))
import step_fit  # noqa: E402
import step_tables  # noqa: E402

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else str(SOURCES / "build" / "reprise")


def row(tp=1, dp=1, pp=1, micro_batch=1, global_batch=8, hidden=512, layers=4):
    return {"gpus": tp * dp * pp, "global_batch": global_batch, "micro_batch": micro_batch, "hidden": hidden, "heads": 16,
            "layers": layers, "sequence": 512, "vocabulary": 1024, "tp": tp, "dp": dp, "pp": pp}


ROWS = [row(), row(hidden=4096), row(tp=16, hidden=4096, layers=2), row(tp=2), row(tp=2, hidden=4096), row(pp=2, hidden=2048)]


class Line:
    """Predicts a / gemm efficiency + b * launch time, without the program."""

    def __init__(self, works):
        self.works = works

    def with_numbers(self, numbers):
        return numbers

    def predict(self, rows, numbers, whole=True):
        del rows, whole
        return [a / numbers["device.efficiency.gemm"] + b * numbers["host.launch_time"] for a, b in self.works]


class Statistics(unittest.TestCase):
    def test_kendall_counts_pairs_and_leaves_ties_out(self):
        self.assertEqual(step_fit.kendall([1, 2, 3], [10, 20, 30]), 1)
        self.assertEqual(step_fit.kendall([1, 2, 3], [30, 20, 10]), -1)
        self.assertAlmostEqual(step_fit.kendall([1, 2, 3], [10, 30, 20]), 1 / 3)
        self.assertEqual(step_fit.kendall([1, 1.01, 3], [20, 10, 30]), 1)

    def test_the_null_is_the_best_constant(self):
        ratios = [random.Random(3).uniform(0.3, 1) for _ in range(21)]

        def error(factor):
            return sum(abs(factor * x - 1) for x in ratios)
        best = step_fit.least_error_factor(ratios)
        self.assertLessEqual(error(best), min(error(i / 1000) for i in range(500, 4000)) + 1e-9)

    def test_regression_finds_a_plane(self):
        features = [[1, x, x * x % 5] for x in range(9)]
        found = step_fit.regression(features, [2 + 3 * x - y for _, x, y in features])
        for value, expected in zip(found, (2, 3, -1)):
            self.assertAlmostEqual(value, expected, 4)


class Fit(unittest.TestCase):
    parameters = [step_fit.Parameter("device.efficiency.gemm", 0.7, 1, 1),
                  step_fit.Parameter("host.launch_time", 5, 2)]

    def found(self, outlier=1.0):
        works = [(i % 4 + 1, (i % 3) ** 2 * 0.1) for i in range(12)]
        rows = [{"iteration_ms": time} for time in
                Line(works).predict([], {"device.efficiency.gemm": 0.55, "host.launch_time": 12})]
        rows[5]["iteration_ms"] *= outlier
        return step_fit.fit(Line(works), rows, self.parameters)

    def test_finds_the_numbers(self):
        numbers = self.found()
        self.assertAlmostEqual(numbers["device.efficiency.gemm"], 0.55, 2)
        self.assertAlmostEqual(numbers["host.launch_time"], 12, 0)

    def test_one_row_that_is_off_moves_little(self):
        numbers = self.found(outlier=2)
        self.assertAlmostEqual(numbers["device.efficiency.gemm"], 0.55, 1)
        self.assertLess(abs(numbers["host.launch_time"] - 12), 2)


class Program(unittest.TestCase):
    def test_extended_short_steps_are_the_whole_step(self):
        rows = [row(hidden=4096, layers=8, global_batch=16), row(pp=2, layers=8, hidden=4096, global_batch=16),
                row(tp=8, pp=4, layers=8, hidden=8192, global_batch=16)]
        with step_tables.Predictor(BINARY) as predictor:
            whole = predictor.predict(rows, predictor.machine)
            short = predictor.predict(rows, predictor.machine, whole=False)
        for a, b in zip(short, whole):
            self.assertLess(abs(a / b - 1), 0.01)

    def test_a_fit_to_steps_of_another_machine_predicts_what_was_left_out(self):
        true = {"device.efficiency.gemm": 0.5, "host.launch_time": 25, "links.infiniband.efficiency": 0.6}
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "steps.csv"
            fitted_file = pathlib.Path(folder) / "mine.json"
            with step_tables.Predictor(BINARY) as predictor:
                times = predictor.predict(ROWS, predictor.with_numbers(true))
            with open(table, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, [*ROWS[0], "iteration_ms"])
                writer.writeheader()
                writer.writerows({**of, "iteration_ms": time} for of, time in zip(ROWS, times))
            done = subprocess.run([sys.executable, PREDICT / "fit_steps.py", table, "--machine", "a100-hgx", "--binary", BINARY,
                                   "-o", fitted_file, "--parts", "2", "--rounds", "4"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("calibrated on steps.csv, 6 points, error", done.stdout)
            fitted = json.loads(fitted_file.read_text())
            self.assertEqual(fitted["host"]["launch_time"]["source"], "fitted")
            self.assertLess(abs(math.log(fitted["host"]["launch_time"]["value"] / 25)), 0.15)
            self.assertLess(abs(math.log(fitted["device"]["efficiency"]["gemm"]["value"] / 0.5)), 0.15)
            with step_tables.Predictor(BINARY) as predictor:
                new = [row(tp=2, dp=2, hidden=2048), row(hidden=4096, micro_batch=2)]
                true_times = predictor.predict(new, predictor.with_numbers(true))
                for a, b in zip(predictor.predict(new, fitted), true_times):
                    self.assertLess(abs(a / b - 1), 0.1)


if __name__ == "__main__":
    unittest.main()
