#!/usr/bin/env python3
"""reprise calibrate and reprise machine measure, and simulations on the machines that they write."""
import gzip
import json
import sqlite3
import sys

import program
from program import TRACES, ProgramTest
from simulate_test import cpu_machine

SOURCES = {"measured", "fitted", "datasheet", "default", "given"}


def numbers(value, path=""):
    """Path and number of every number of a machine file."""
    if isinstance(value, dict) and "value" in value:
        yield path, value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from numbers(below, f"{path}.{key}" if path else key)


class CalibrateTest(ProgramTest):
    def cpus(self):
        path = self.dir / "cpus.json"
        path.write_text(json.dumps(cpu_machine(8)))
        return path

    def test_a_capture_calibrates_and_is_simulated(self):
        base, fitted = self.cpus(), self.dir / "fitted.json"
        trace = self.convert("gloo/gpt_single")
        # Trace sets and captures alike.
        errors = self.run_json("calibrate", trace, TRACES / "gloo" / "gpt_recompute", "--machine", base, "-o", fitted)
        self.assertEqual(errors["machine"], "cpus-calibrated")
        self.assertEqual([row["capture"] for row in errors["left_out"]], ["gloo_gpt_single", "gpt_recompute"])
        self.assertIn("gemm", errors["classes"])
        # Two captures of one kind of step: far better than the machine's peaks, however the numbers are.
        self.assertLess(errors["total"]["error"], errors["total"]["error_peaks"])
        machine = json.loads(fitted.read_text())
        self.assertEqual(machine["calibration"]["on"], "gloo_gpt_single, gpt_recompute")
        self.assertEqual(machine["calibration"]["points"]["value"], errors["points"])
        self.assertEqual(machine["device"]["classes"]["gemm"]["start"]["source"], "fitted")
        for path, number in numbers(machine):
            self.assertIn(number["source"], SOURCES, path)
            self.assertTrue(number["unit"] and number["reference"], path)
        # As captured: the machine's own numbers cancel out. And what it is calibrated on is said.
        run = self.dir / "run"
        own = self.run_json("simulate", trace, "-o", run, "--machine", fitted, "--captured-on", fitted)
        recorded = self.run_json("simulate", trace, "-o", run, "--machine", "recorded", "--force")
        self.assertEqual(own["step_time_ns"], recorded["step_time_ns"])
        self.assertIsNone(recorded["calibrated_on"])
        # From a machine without fitted starts: no small operation takes a multiple of its time.
        mixed = self.run_json("simulate", trace, "-o", run, "--machine", fitted, "--captured-on", base, "--force")
        self.assertLess(mixed["step_time_ns"], 30 * recorded["step_time_ns"])
        self.assertEqual(own["calibrated_on"]["on"], "gloo_gpt_single, gpt_recompute")
        self.assertAlmostEqual(own["calibrated_on"]["error"], errors["total"]["error"], 6)
        self.assertIn(f"calibrated on gloo_gpt_single, gpt_recompute, {errors['points']} points, error",
                      " ".join(self.run_program("report", run).stdout.split()))
        # The file stands in the way of another one.
        self.run_program("calibrate", trace, "--machine", base, "-o", fitted, expect=2)

    def test_all_kernels_of_an_operation_are_one_point(self):
        captures = [TRACES / "h100" / name for name in ("gpt_350m", "resnet50")]
        errors = self.run_json("calibrate", *captures, "-o", self.dir / "h100.json")
        self.assertLess(errors["unknown_share"], 0.02)
        self.assertEqual(json.loads((self.dir / "h100.json").read_text())["device"]["name"], "NVIDIA H100-SXM5-80GB")

    def test_generated_jobs_take_fitted_times(self):
        fitted, job, run = self.dir / "fitted.json", self.dir / "job", self.dir / "run"
        self.run_program("calibrate", self.convert("gloo/gpt_single"), "--machine", self.cpus(), "-o", fitted)
        text = fitted.read_text()
        self.assertNotIn('"error"', text)  # one capture: none was left out
        # A GPU machine that is fitted, by hand here: generated jobs have streams.
        gpu = next(m for m in json.loads(self.run_program("list", "machines", "--json").stdout)["machines"]
                   if m["name"] == "h100-hgx")
        gpu["device"]["classes"] = json.loads(text)["device"]["classes"]
        fitted.write_text(json.dumps(gpu))
        self.run_program("generate", "llama3-8b", "--tp", "2", "--dp", "1", "--global-batch", "1", "-o", job)
        self.run_program("simulate", job, "-o", run, "--machine", fitted, "--quiet")
        with sqlite3.connect(run / "rank0.sqlite") as base:
            sources = {row[0] for row in base.execute("SELECT DISTINCT time_from FROM node_info")}
        self.assertIn("fitted", sources)

    def test_this_machine_is_measured(self):
        this = self.dir / "this.json"
        quick = ["--repeat", "1", "--min-time-ms", "0", "--max-run-ms", "5", "--ranks", "2"]
        self.run_program("machine", "measure", "-o", this, *quick)
        machine = json.loads(this.read_text())
        self.assertEqual(machine["device"]["kind"], "cpu")
        found = dict(numbers(machine))
        for path in ("device.memory.capacity", "device.memory.bandwidth", "device.vector.float32",
                     "device.efficiency.memory", "node.devices", "links.host.bandwidth", "links.host.latency"):
            self.assertIn(path, found)
        for path, number in found.items():
            self.assertEqual(number["source"], "measured", path)
            self.assertIn("reprise machine measure", number["reference"], path)
        result = self.run_json("simulate", self.convert("quickstart"), "-o", self.dir / "run", "--machine", this,
                               "--captured-on", self.cpus())
        self.assertEqual(result["ranks"], 2)
        self.assertGreater(result["step_time_ns"], 0)
        self.run_program("machine", "measure", "-o", this, expect=2)

    def test_bad_input_names_the_way_out(self):
        trace, base, out = self.convert("gloo/gpt_single"), self.cpus(), self.dir / "out.json"
        empty = self.dir / "empty"
        empty.mkdir()
        generated = self.dir / "generated"
        self.run_program("generate", "llama3-8b", "--tp", "2", "--dp", "1", "--global-batch", "1", "-o", generated)
        shapeless = self.dir / "shapeless"
        shapeless.mkdir()
        (shapeless / "k.json").write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [
            {"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9,
             "args": {"External id": 1}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 3,
             "args": {"correlation": 7, "External id": 1}},
            {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 8, "dur": 20,
             "args": {"correlation": 7, "External id": 1, "device": 0, "stream": 7}}]}))
        for args, code, words in [
                ([trace], 3, ["which no built-in machine has", "--machine"]),
                ([trace, "--machine", "a100-hgx"], 3, ["host threads only", "is a gpu machine"]),
                ([empty, "--machine", base], 3, ["empty", "reprise convert"]),
                ([self.dir / "none", "--machine", base], 3, ["none"]),
                ([generated], 3, ["no durations", "captures of real steps"]),
                ([shapeless / "k.json"], 3, ["k.json", "record_shapes=True"]),
                ([trace, "--machine", "nothing"], 3, ["no machine 'nothing'"]),
        ]:
            with self.subTest(args=args):
                done = self.run_program("calibrate", *args, "-o", out, expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
                # Nothing is left, and nothing of a conversion either.
                self.assertEqual(list(self.dir.glob("out.json*")), [])
        self.run_program("calibrate", trace, "--machine", base, "-o", self.dir / "name", expect=2)
        self.run_program("calibrate", "-o", out, expect=2)

    def product_table(self, name="gemm.csv.gz", rate=0.5, watts=False):
        """Products on an H100 that reach `rate` of the peak, and half of it at k = 200; 4 us to start. With watts: 120 W idle,
        0.6 pJ/FLOP, 80 pJ/B, and none in the first row."""
        rows = ["gemm_dtype,m,n,k,time_ms" + (",power_watts" if watts else "")]
        for m in (256, 1000, 2048, 4096, 8192):
            for n in (512, 1024, 3000, 8192, 16384):
                for k in (256, 1024, 4096, 8192, 12288):
                    ns = 4000 + max(2 * m * n * k * (1 + 200 / k) / (989.4e3 * rate), 2 * (m * k + k * n + m * n) / 3350)
                    rows.append(f"bfloat16,{m},{n},{k},{ns * 1e-6:.9g}")
                    if watts:
                        joules = 2 * m * n * k * 0.6e-12 + 2 * (m * k + k * n + m * n) * 80e-12
                        rows[-1] += f",{120 + joules / (ns * 1e-9):.6g}" if len(rows) > 2 else ","
        path = self.dir / name
        with gzip.open(path, "wt") as out:
            out.write("\n".join(rows) + "\n")
        return path

    def test_a_table_of_kernels_calibrates_and_jobs_are_predicted(self):
        table, fitted = self.product_table(), self.dir / "fitted.json"
        done = self.run_program("calibrate", table, "--machine", "h100-hgx", "-o", fitted)
        self.assertRegex(done.stdout, r"gemm +bfloat16 +125 ")
        errors = self.run_json("calibrate", table, "--machine", "h100-hgx", "-o", fitted, "--force")
        bfloat16 = errors["tables"][0]["types"]["bfloat16"]
        self.assertEqual((bfloat16["rows"], bfloat16["outliers"]), (125, 0))
        self.assertLess(bfloat16["error_left_out"], 0.03)
        self.assertGreater(bfloat16["error_constant"], bfloat16["error_left_out"])
        gemm = json.loads(fitted.read_text())["device"]["classes"]["gemm"]
        self.assertAlmostEqual(gemm["rate"]["value"], 0.5, delta=0.02)
        self.assertAlmostEqual(gemm["half_k"]["value"], 200, delta=40)
        self.assertIn("gemm.csv.gz", gemm["rate"]["reference"])
        machine = json.loads(fitted.read_text())
        self.assertIn(("gemm", "gemm.csv.gz", 125), {(fit["class"], fit["table"], fit["rows"]) for fit in machine["fits"]})
        self.assertNotIn("calibration", machine)  # its products are no job's: a software stack still changes them
        # The other classes are the machine's own, and a job takes longer by what its products do.
        step = self.run_json("predict", "llama3-8b", "--tp", 8, "--pp", 1, "--dp", 1, "--machine", fitted)["step_time_ns"]
        own = self.run_json("predict", "llama3-8b", "--tp", 8, "--pp", 1, "--dp", 1, "--machine", "h100-hgx")["step_time_ns"]
        self.assertGreater(step, own)

    def test_watts_of_a_table_give_power(self):
        table, fitted = self.product_table(watts=True), self.dir / "fitted.json"
        console = self.run_program("calibrate", table, "--machine", "h100-hgx", "-o", fitted).stdout
        self.assertRegex(console, r"gemm +bfloat16 +124 +0 ")
        self.assertRegex(console, r"device\.power\.low_voltage .*: not determined by these rows")
        watts = self.run_json("calibrate", table, "--machine", "h100-hgx", "-o", fitted, "--force")["watts"]
        errors = watts["errors"][0]
        self.assertEqual((errors["class"], errors["type"], errors["rows"], errors["at_limit"]), ("gemm", "bfloat16", 124, 0))
        self.assertLess(errors["error_left_out"], 0.03)
        self.assertGreater(errors["error_constant"], 0.1)
        power = json.loads(fitted.read_text())["device"]["power"]
        for number, value in ((power["idle"], 120), (power["matrix"]["bfloat16"], 0.6), (power["memory"], 80)):
            self.assertAlmostEqual(number["value"] / value, 1, delta=0.1)
            self.assertEqual(number["source"], "fitted")
        self.assertEqual(power["low_voltage"]["source"], "default")
        # Without watts nothing is said about them, and the machine's power is as it was.
        self.assertIsNone(self.run_json("calibrate", self.product_table("times.csv.gz"), "--machine", "h100-hgx", "-o", fitted,
                                        "--force")["watts"])
        self.assertEqual(json.loads(fitted.read_text())["device"]["power"]["idle"]["source"], "default")

    def test_collectives_calibrate_and_jobs_are_predicted(self):
        table, fitted = self.dir / "nccl.csv", self.dir / "fitted.json"
        rows = ["operation,members,bytes,type,time_us"]
        for members in (2, 4, 8):
            for power in range(10, 31):
                size, edges = 2 ** power, members - 1
                passes = {"all_gather": 1, "all_reduce": 2}
                for operation, count in passes.items():
                    moved = count * edges / members * size
                    us = min(30 + count * edges * 2 + moved / 100e3, 9 + count * edges + moved / 25e3)
                    rows.append(f"{operation},{members},{size},bfloat16,{us:.6g}")
        table.write_text("\n".join(rows) + "\n")
        done = self.run_program("calibrate", table, "--machine", "a100-hgx", "--numbers-of", "h100-hgx", "-o", fitted)
        self.assertRegex(done.stdout, r"collective +all_reduce +63 ")
        self.assertRegex(done.stdout, r"peaks +other")
        machine = json.loads(fitted.read_text())
        self.assertAlmostEqual(machine["links"]["nvlink"]["efficiency"]["value"], 100 / 300, delta=0.02)
        self.assertAlmostEqual(machine["collectives"]["short_start"]["value"], 9000, delta=500)
        self.assertEqual({(fit["class"], fit["type"], fit["rows"]) for fit in machine["fits"] if fit["table"] == "nccl.csv"},
                         {("collective", "all_reduce", 63), ("collective", "all_gather", 63)})
        # The other classes' fits are the machine's own, and a job waits longer for such a network.
        self.assertIn("gemm", {fit["class"] for fit in machine["fits"]})
        job = ["predict", "llama3-8b", "--tp", 8, "--pp", 1, "--dp", 1, "--machine"]
        self.assertGreater(self.run_json(*job, fitted)["step_time_ns"], self.run_json(*job, "a100-hgx")["step_time_ns"])

    def test_errors_of_the_built_in_machines(self):
        rows = self.run_json("list", "machines", "--errors")["errors"]
        machines = {machine["name"]: machine for machine in self.run_json("list", "machines")["machines"]}
        self.assertGreater(len(rows), 20)
        for row in rows:
            fits = machines[row["name"]]["fits"]
            self.assertIn({key: row[key] for key in fits[0]}, fits)
            self.assertLess(row["error"], row["constant"])
        shown = self.run_program("list", "machines", "--errors").stdout
        self.assertEqual(len(shown.splitlines()), len(rows) + 3)
        self.run_program("list", "models", "--errors", expect=2)

    def test_refused_tables(self):
        out = self.dir / "out.json"
        table, again = self.product_table(), self.product_table("again.csv.gz")
        other = self.dir / "other.csv"
        other.write_text("a,b\n1,2\n")
        broken = self.dir / "broken.csv"
        broken.write_text("m,n,k,type,time_us\n8,8,8,bfloat16,0\n")
        negative = self.dir / "negative.csv"
        negative.write_text("m,n,k,type,time_us,watts\n8,8,8,bfloat16,1,-5\n")
        columns = self.dir / "columns.json"
        columns.write_text("{}")
        h100 = ["--machine", "h100-hgx"]
        for args, code, words in [
                ([table], 2, ["does not name its device", "--machine"]),
                ([table, again, *h100], 2, ["both of class gemm"]),
                ([other, *h100], 3, ["other.csv: line 1", "no file of columns fits", "--columns"]),
                ([broken, *h100], 3, ["broken.csv: line 2", "time_us is '0'"]),
                ([negative, *h100], 3, ["negative.csv: line 2", "watts is '-5'"]),
                ([table, *h100, "--columns", columns], 3, ["columns.json", "reprise-table-columns"]),
                ([self.dir / "captures", *h100, "--numbers-of", "h200-hgx"], 2, ["--numbers-of is for tables"]),
                ([table, *h100, "--numbers-of", "h300-hgx"], 3, ["no machine 'h300-hgx'"]),
                ([table, "--machine", self.cpus()], 3, ["gemm.csv.gz: line 2", "has no rate for products of bfloat16"]),
        ]:
            with self.subTest(args=args):
                done = self.run_program("calibrate", *args, "-o", out, expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
                self.assertEqual(list(self.dir.glob("out.json*")), [])


if __name__ == "__main__":
    sys.exit(program.main())
