#!/usr/bin/env python3
"""Power, clocks and temperatures of simulated runs: limits, slots, and the report's energy."""
import json
import sqlite3
import subprocess
import sys

import program
from program import ROOT, ProgramTest

JOB = ["llama3-8b", "--tp", "2", "--pp", "2", "--dp", "4", "--global-batch", "16", "--micro-batch", "1", "--sequence", "4096"]


class SimulatedPowerTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.job = self.dir / "job"
        self.run_program("generate", *JOB, "-o", self.job)

    def simulate(self, *args, trace=None, machine="h100-hgx"):
        self.out = self.dir / "run"
        return self.run_json("simulate", trace or self.job, "-o", self.out, "--force", "--machine", machine, *args)

    def test_a_limit_lengthens_the_step_and_holds(self):
        step_ns, peak, mean = 0, float("inf"), float("inf")
        for limit in (None, "5kW", "700W", "600", "0.55kW", "500W"):
            result = self.simulate(*(["--power-limit", limit] if limit else []))
            power = result["power"]
            own_peak = max(device["peak_watts"] for device in power["devices"])
            self.assertGreaterEqual(result["step_time_ns"], step_ns, limit)
            self.assertLessEqual(own_peak, peak + 1e-6, limit)
            self.assertLessEqual(power["mean_watts"], mean + 1e-6, limit)
            self.assertLessEqual(own_peak, power["limit_watts"] * (1 + 1e-8), limit)
            step_ns, peak, mean = result["step_time_ns"], own_peak, power["mean_watts"]
            if limit in (None, "5kW", "700W"):
                free = result if limit is None else free
                self.assertEqual(result, free)  # more than the machine's, or than it needs
        self.assertGreater(step_ns, free["step_time_ns"])
        self.assertGreater(power["devices"][0]["throttled_by_power_ns"], 0)
        self.assertTrue(power["devices"][0]["peak_operations"])
        report = self.run_json("report", self.out)
        row = report["thermal"]["throttling"][0]
        self.assertTrue(row["modelled"])
        self.assertEqual(row["reasons"][0]["name"], "power_cap")
        self.assertTrue(row["intervals"][0]["operations"])
        self.assertEqual(row["throttled_ns"], power["devices"][0]["throttled_ns"])
        self.same_energy(result, report)

    def same_energy(self, result, report):
        """The prediction's JSON, the report's and its console have one energy for each class."""
        own = {row["name"]: row["above_idle_joules"] for row in result["power"]["classes"]}
        of_run = {row["name"]: row for row in report["attribution"]["classes"] if row["name"] in own}
        for name, joules in own.items():
            self.assertAlmostEqual(of_run[name]["above_idle_joules"] / joules, 1, delta=1e-9, msg=name)
        console = self.run_program("report", self.out, "--section", "energy").stdout
        shares = {line.split()[1]: float(line.split()[4]) for line in console.splitlines() if line.startswith("  class ")}
        for name in ("gemm", "comm"):
            self.assertAlmostEqual(shares[name], 100 * of_run[name]["joules"] / report["attribution"]["joules"], delta=0.051)

    def test_classes_of_ranks_are_no_ranks_and_what_was_not_met_is_said(self):
        job = ["llama-small", "--tp", "1", "--pp", "2", "--dp", "4", "--global-batch", "16", "--micro-batch", "2"]
        result = self.run_json("predict", *job, "-o", self.dir / "run", "--machine", "h100-hgx", "--power-limit", "143W")
        self.out = self.dir / "run"
        self.assertFalse(result["power"]["limit_met"])
        unmet = next(warning for warning in result["warnings"] if "power limit of 143 W" in warning)
        report = self.run_json("report", self.out)
        self.assertIn(unmet, report["verdict"]["warnings"])
        self.assertIn("power limit of 143 W", " ".join(self.run_program("report", self.out).stdout.split()))
        # Two stages of four equal ranks: their energies are of all, once.
        self.assertEqual(result["classes"], 2)
        self.assertAlmostEqual(sum(row["joules"] for row in report["attribution"]["ranks"]) +
                               report["attribution"]["idle_joules"], result["power"]["joules"], delta=1e-6 * result["power"]["joules"])
        self.assertEqual([row["devices"] for row in report["thermal"]["throttling"]], [4, 4])
        console = self.run_program("report", self.out, "--full").stdout
        energy = console[console.index("Who used the energy"):]
        self.assertIn("class 0, 4 ranks", energy)
        self.assertNotIn("rank 0", " ".join(energy.split()))
        self.assertIn("device-0 x 4", energy[energy.index("Power peaks"):])
        roles = {row["group"] for row in report["attribution"]["transfers"]}
        self.assertEqual(roles, {row["group"] for row in report["collectives"]} & roles)
        of_ranks = self.run_program("compare", self.out).stdout
        self.assertIn("Classes of equal ranks", of_ranks)
        self.assertNotIn(" in slot ", of_ranks)
        self.assertNotIn("rank 0", of_ranks)
        self.assertEqual([row["alike"] for row in self.run_json("compare", self.out)["ranks"]], [4, 4])

    def test_folded_sets_take_what_their_ranks_take(self):
        expanded = self.dir / "expanded"
        self.run_program("generate", *JOB, "--expand", "-o", expanded)
        for args in (["--power-limit", "450W"],
                     ["--until-steady", "--set", "device.thermal.inlet=65"]):
            with self.subTest(args=args):
                results = []
                for trace in (self.job, expanded):
                    results.append(self.simulate(*args, trace=trace))
                    report = self.run_json("report", self.out)
                    joules = results[-1]["energy_joules"]
                    # The report's own sums are over all ranks, too.
                    self.assertAlmostEqual(report["energy_joules"] / joules, 1, delta=1e-9)
                    attribution = report["attribution"]
                    self.assertTrue(attribution["modelled"])
                    measured = report["energy_joules"]
                    self.assertAlmostEqual(attribution["joules"] / measured, 1, delta=1e-9)
                    shares = sum(row["joules"] for row in attribution["classes"])
                    self.assertAlmostEqual((shares + attribution["idle_joules"]) / measured, 1, delta=1e-9)
                    power = results[-1]["power"]
                    classes = power["idle_joules"] + sum(row["above_idle_joules"] for row in power["classes"])
                    self.assertAlmostEqual(classes / joules, 1, delta=1e-9)
                    self.same_energy(results[-1], report)
                    heat = [sum(reason["ns"] for reason in row["reasons"] if reason["name"] == "sw_thermal")
                            for row in report["thermal"]["throttling"]]
                    self.assertEqual(sorted(set(heat)), sorted({d["throttled_by_heat_ns"] for d in power["devices"]}))
                self.assertLess(results[0]["classes"], 16)
                self.assertEqual([result["step_time_ns"] for result in results], [results[0]["step_time_ns"]] * 2)
                for result in results:
                    self.assertAlmostEqual(result["energy_joules"] / results[0]["energy_joules"], 1, delta=1e-9)
                    peak = max(device["max_celsius"] for device in result["power"]["devices"])
                    first = max(device["max_celsius"] for device in results[0]["power"]["devices"])
                    self.assertAlmostEqual(peak, first, delta=1e-6)
                if "device.thermal.inlet=65" in args:
                    self.assertLessEqual(peak, 85 + 1e-6)
                    self.assertGreater(sum(d["throttled_by_heat_ns"] for d in result["power"]["devices"]), 0)

    def test_the_rear_is_warmer_and_heat_balances(self):
        expanded = self.dir / "expanded"
        self.run_program("generate", *JOB, "--expand", "-o", expanded)
        result = self.simulate("--until-steady", trace=expanded)
        devices = {device["first_rank"]: device for device in result["power"]["devices"]}
        self.assertEqual(len(devices), 16)
        for rank in (0, 1, 2, 3, 8, 9, 10, 11):
            front, rear = devices[rank], devices[rank + 4]
            self.assertEqual(front["air_celsius"], 25)
            self.assertAlmostEqual(rear["air_celsius"], 25 + 0.0104 * front["mean_watts"], delta=1e-9)
            for device in (front, rear):
                self.assertAlmostEqual(device["mean_celsius"], device["air_celsius"] + 0.06 * device["mean_watts"], delta=1e-9)
        nodes = result["power"]["nodes"]
        self.assertAlmostEqual(sum(row["joules"] * (2 if row["nodes"] == "0-1" else 1) for row in nodes) / result["energy_joules"],
                               1, delta=1e-9)
        rows = self.run_json("report", self.out)["metrics"]
        self.assertTrue(all(row["modelled"] for row in rows if row["metric"] in ("temperature", "sm_clock")))
        self.assertIn("(modelled)", self.run_program("report", self.out).stdout)
        self.run_program("export", self.out, "--to", "perfetto", "-o", self.dir / "power.pftrace")
        self.run_program("report", self.out, "-o", self.dir / "power.html")
        self.assertIn("modelled", self.run_program("compare", f"a={self.out}", f"b={self.out}").stdout)

    def test_without_numbers_there_is_no_power(self):
        machines = self.run_json("list", "machines")["machines"]
        machine = next(m for m in machines if m["name"] == "h100-hgx")
        for part in ("power", "clock", "thermal"):
            del machine["device"][part]
        path = self.dir / "cold.json"
        path.write_text(json.dumps(machine))
        result = self.simulate(machine=path)
        self.assertIsNone(result["energy_joules"])
        self.assertIsNone(result["power"])
        notes = self.run_program("report", self.out, "--section", "notes").stdout
        self.assertIn("has no power numbers", " ".join(notes.split()))
        for args, code, words in [(["--machine", path, "--power-limit", "500W"], 3, "has no power numbers"),
                                  (["--machine", path, "--until-steady"], 3, "has no power numbers"),
                                  (["--machine", "recorded", "--until-steady"], 3, "name one with --machine"),
                                  (["--machine", "h100-hgx", "--power-limit", "50W"], 2, "idle power"),
                                  (["--machine", "h100-hgx", "--power-limit", "5 V"], 2, "expected a power")]:
            with self.subTest(args=args):
                done = self.run_program("simulate", self.job, "-o", self.dir / "none", *args, expect=code)
                self.assertIn(words, " ".join(done.stderr.split()))

    def test_a_fit_finds_the_numbers_that_a_meter_saw(self):
        alone = self.dir / "alone"
        self.run_program("generate", "llama3-8b", "--tp", "1", "--pp", "1", "--dp", "1", "--global-batch", "2",
                         "--micro-batch", "1", "--sequence", "4096", "-o", alone)
        self.simulate(trace=alone)
        script = ROOT / "bench" / "predict" / "power.py"
        done = subprocess.run([sys.executable, script, self.out, "--format", "bfloat16", "--json"], check=True,
                              capture_output=True, text=True)
        found = json.loads(done.stdout)
        power = json.loads((ROOT / "predict" / "machine" / "data" / "h100-hgx.json").read_text())["device"]["power"]
        for term, number in (("idle", power["idle"]["value"]), ("matrix", power["matrix"]["bfloat16"]["value"] * 1e-12),
                             ("memory", power["memory"]["value"] * 1e-12)):
            self.assertAlmostEqual(found["numbers"][term] / number, 1, delta=0.05, msg=term)
        self.assertLess(found["error"], 0.02)
        self.assertGreater(found["error_constant_power"], 0.1)
        self.assertEqual(found["power"]["idle"]["unit"], "W")
        # A run without a meter says where to get one.
        with sqlite3.connect(self.out / "rank0.sqlite") as base:
            base.execute("DELETE FROM metrics")
        done = subprocess.run([sys.executable, script, self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no meter of energy", done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
