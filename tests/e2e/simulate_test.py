#!/usr/bin/env python3
"""reprise simulate: captured sets on their own machine and on others."""
import csv
import ctypes
import json
import pathlib
import sqlite3
import sys

import browser
import pages
import program
from program import TRACES, ProgramTest


def number(value, unit, **more):
    return {"value": value, "unit": unit, **more, "source": "measured", "reference": "this test"}


def cpu_machine(devices):
    """A machine of so many processors, all on one link."""
    return {"format": "reprise-machine", "version": 1, "name": "cpus", "about": "for this test",
            "device": {"name": "a CPU", "kind": "cpu", "recorded_as": ["EPYC"],
                       "memory": {"capacity": number(16, "GB"), "bandwidth": number(20, "GB/s")},
                       "vector": {"float32": number(100, "GFLOP/s")}},
            "node": {"devices": number(devices, "1")},
            "links": {"bus": {"bandwidth": number(4, "GB/s", per="device", ways="one"), "latency": number(20, "us")}}}


class Xxh128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh128(data):
    """As the rows of a sweep have it: of the library that the program uses."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype, function.argtypes = Xxh128, [ctypes.c_char_p, ctypes.c_size_t]
    value = function(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


class SimulateTest(ProgramTest):
    def machine(self, **changes):
        machine = cpu_machine(8)
        for path, value in changes.items():
            at = machine
            *groups, last = path.split("__")
            for group in groups:
                at = at[group]
            at[last] = value
        path = self.dir / "cpus.json"
        path.write_text(json.dumps(machine))
        return path

    def times(self, run):
        """Start and duration of every node and step of a run."""
        rows = []
        for path in sorted(pathlib.Path(run).glob("rank*.sqlite")):
            with sqlite3.connect(path) as base:
                rows += base.execute("SELECT rank, node_id, replayed_start_ns, replayed_duration_ns FROM nodes "
                                     "ORDER BY rank, node_id").fetchall()
                rows += base.execute("SELECT rank, step, start_ns, duration_ns FROM steps ORDER BY step").fetchall()
        self.assertGreater(len(rows), 10)
        return rows

    def simulate(self, trace, *args, expect=0):
        run = self.dir / f"run{len(list(self.dir.glob('run*')))}"
        done = self.run_program("simulate", trace, "-o", run, "--quiet", *args, expect=expect)
        return done if expect else run

    def dry(self, trace):
        run = self.dir / "dry"
        self.run_program("simulate", trace, "-o", run, "--machine", "recorded", "--quiet", "--force")
        return self.times(run)

    def test_a_captures_own_machine_gives_its_dry_run_to_the_nanosecond(self):
        machine = self.machine()
        captures = [TRACES / "quickstart", *sorted((TRACES / "gloo").iterdir()),
                    *sorted((TRACES / "gloo_comms").iterdir())]
        self.assertGreaterEqual(len(captures), 10)
        for capture in captures:
            with self.subTest(capture=capture.name):
                trace = self.dir / f"trace_{capture.name}"
                self.run_program("convert", capture, "-o", trace)
                dry = self.dry(trace)
                own = ["--machine", machine, "--captured-on", machine]
                for args in (["--machine", "recorded"], own, [*own, "--network", "flow"]):
                    self.assertEqual(self.times(self.simulate(trace, *args)), dry, args)

    def test_a_gpu_capture_on_its_own_machine_and_on_another(self):
        trace = self.convert("h100/gpt_350m")
        # Its profiler made the step five times as long: that is said, with the way out.
        for gaps, said in (("keep", True), ("untraced", False)):
            text = self.run_program("simulate", trace, "-o", self.dir / gaps, "--machine", "h200-hgx", "--host-gaps", gaps).stdout
            self.assertEqual("--host-gaps untraced deducts what tracing is estimated to have taken" in " ".join(text.split()), said, text)
        # The machine is found by the device's name in the capture.
        self.assertEqual(self.times(self.simulate(trace, "--machine", "h100-hgx")), self.dry(trace))
        run = self.dir / "v100"
        result = self.run_json("simulate", trace, "-o", run, "--machine", "v100-dgx")
        self.assertEqual((result["ranks"], result["machine"], result["captured_on"]), (1, "v100-dgx", "h100-hgx"))
        self.assertGreater(result["linked_device_time_ns"], result["linked_device_time_recorded_ns"])
        # An ordinary run: report, compare and export take it, and call it modelled.
        report = self.run_program("report", run).stdout
        self.assertIn("Simulated on v100-dgx:", report)
        self.assertIn("Every time is modelled", report)
        compared = self.run_program("compare", f"a={run}", f"b={run}").stdout
        self.assertIn("modelled", compared)
        self.run_program("export", run, "--to", "perfetto", "-o", self.dir / "v100.pftrace")
        with sqlite3.connect(run / "rank0.sqlite") as base:
            sources = {row[0] for row in base.execute("SELECT DISTINCT time_from FROM nodes")}
        self.assertEqual(sources, {"recorded", "scaled", "whole"})

    def test_what_if(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        machine = self.machine()
        own = ["--machine", machine, "--captured-on", machine]

        def step(*args):
            run = self.dir / "what_if"
            return self.run_json("simulate", trace, "-o", run, "--force", *args)["step_time_ns"]
        base = step(*own)
        self.assertEqual(step("--machine", "recorded"), base)
        memory = self.run_json("simulate", trace, "-o", self.dir / "what_if", "--force", *own)["memory"]
        self.assertEqual((memory["fits"], memory["of_bytes"]), (True, 16_000_000_000))
        self.assertGreater(memory["peak_bytes"], 4 * 500_000)  # float32 parameters of the captured model at least
        # One slow rank holds up all of them; a faster device and a slower link do what they should.
        self.assertGreater(step("--machine", "recorded", "--slow", "2=3"), base)
        faster = ["--set", "device.memory.bandwidth=200GB/s", "--set", "device.vector.float32=1TFLOP/s"]
        self.assertLess(step(*own, *faster), base)
        self.assertGreater(step(*own, "--link", "bus=0.25"), base)
        self.assertGreater(step(*own, "--link", "bus@1=0.25"), base)
        # Jitter depends on the seed and on nothing else.
        jittered = [step("--machine", "recorded", "--jitter", "0.2", "--seed", seed) for seed in (1, 1, 2)]
        self.assertEqual(jittered[0], jittered[1])
        self.assertNotEqual(jittered[0], jittered[2])
        self.assertNotEqual(jittered[0], base)

    def without_times(self, trace):
        """The same set as a generator or another program would write it: work and dependencies alone."""
        captured = self.dir / "json"
        self.run_program("export", trace, "--to", "chakra-json", "-o", captured)
        times = {"start_ns", "duration_ns", "delay_ns", "transfer_ns", "tracing_ns", "tracing_delay_ns"}
        for path in captured.glob("*.[0-9].json"):
            rank = json.loads(path.read_text())
            for node in rank["workload_graph"]:
                node["startTimeMicros"] = node["runtime"] = 0
                node["attr"] = [attribute for attribute in node["attr"] if attribute["name"] not in times]
            path.write_text(json.dumps(rank))
        out = self.dir / "without_times"
        self.run_program("convert", captured, "-o", out)
        return out

    def test_a_set_without_durations_takes_the_models_times(self):
        trace = self.without_times(self.convert("gloo_comms/gpt_tp4"))
        run = self.dir / "predicted"

        def predict(*args):
            return self.run_json("simulate", trace, "-o", run, "--force", "--machine", "a100-hgx", *args)
        base = predict()
        self.assertIsNone(base["step_time_recorded_ns"])
        self.assertIsNone(base["captured_on"])
        self.assertGreater(base["default_share"], 0.5)
        self.assertGreater(base["device_time_ns"], 0)
        report = self.run_program("report", run).stdout
        self.assertIn("Simulated on a100-hgx:", report)
        self.assertNotIn("your job", report)
        # The first thing that it says is what it rests on.
        self.assertIn("assumes the machine's default share", report[:report.index("Every time is modelled")])
        with sqlite3.connect(run / "rank0.sqlite") as base_file:
            sources = {row[0] for row in base_file.execute("SELECT DISTINCT time_from FROM nodes")}
        self.assertLessEqual({"recorded", "default"}, sources)
        faster = predict("--set", "device.memory.bandwidth=4TB/s", "--set", "device.least_kernel_time=1us")
        self.assertLess(faster["step_time_ns"], base["step_time_ns"])
        self.assertGreater(predict("--slow", "1=2")["step_time_ns"], base["step_time_ns"])
        self.assertGreater(predict("--link", "nvlink=0.001")["step_time_ns"], base["step_time_ns"])
        self.assertIn("name one with --machine",
                      self.simulate(trace, "--machine", "recorded", expect=3).stderr)

    def test_a_folded_set_is_the_same_as_its_ranks(self):
        layout = ["llama3-8b", "--tp", "2", "--pp", "2", "--dp", "4", "--global-batch", "16", "--micro-batch", "1"]
        folded, expanded = self.dir / "folded", self.dir / "expanded"
        self.run_program("generate", *layout, "-o", folded)
        self.run_program("generate", *layout, "--expand", "-o", expanded)
        layout = ["llama3-8b", "--tp", "2", "--pp", "1", "--dp", "8", "--global-batch", "16", "--micro-batch", "1"]
        across, across_expanded = self.dir / "across", self.dir / "across_expanded"
        self.run_program("generate", *layout, "-o", across)
        self.run_program("generate", *layout, "--expand", "-o", across_expanded)
        steps = [self.run_json("simulate", trace, "-o", self.dir / "run_across", "--force", "--machine", "h100-study",
                               "--network", network)["step_time_ns"]
                 for network in ("alpha-beta", "flow") for trace in (across, across_expanded)]
        # Data-parallel groups share the one adapter of a node, whichever way the set is written.
        self.assertEqual(steps[0], steps[1])
        self.assertEqual(steps[2], steps[3])
        for args in ([], ["--slow", "5=1.3"], ["--link", "nvlink@3=0.5"],
                     ["--slow", "0=2", "--link", "infiniband=0.5"],
                     ["--network", "flow", "--slow", "5=1.3", "--link", "nvlink@3=0.5",
                      "--set", "device.beside_transfers.compute=0.85"]):
            with self.subTest(args=args):
                results = []
                for trace in (folded, expanded):
                    run = self.dir / "run_of_ranks"
                    result = self.run_json("simulate", trace, "-o", run, "--force", "--machine", "h100-hgx", *args)
                    self.assertEqual(result["ranks"], 16)
                    results.append(result)
                self.assertEqual(results[1]["classes"], 16)
                self.assertLess(results[0]["classes"], 16)
                for key in ("step_time_ns", "device_time_ns", "linked_device_time_ns", "bubble_ns",
                            "exposed_communication_ns"):
                    self.assertEqual([result[key] for result in results], [results[0][key]] * 2, key)
        report = self.run_program("report", self.dir / "run_of_ranks").stdout
        self.assertIn("Simulated on h100-hgx:", report)

    def test_reports_of_folded_runs_sum_over_all_ranks(self):
        job = ["llama3-8b", "--tp", "2", "--pp", "2", "--dp", "4", "--global-batch", "16", "--micro-batch", "1"]
        reports, runs = [], []
        for expand in ([], ["--expand"]):
            trace = self.dir / f"trace{len(expand)}"
            self.run_program("generate", *job, *expand, "-o", trace)
            runs.append(self.simulate(trace, "--machine", "h100-hgx", "--slow", "5=1.3"))
            reports.append(json.loads(self.run_program("report", runs[-1], "--json").stdout))
        folded, unfolded = reports
        self.assertLess(len(folded["ranks"]), 16)
        self.assertEqual(len(unfolded["ranks"]), 16)
        for key in ("shapes", "total_ranks", "coverage", "step_time_replayed_ns"):
            self.assertEqual(folded[key], unfolded[key], key)
        # Transfers are of roles here, of groups there.
        computes, of_ranks = ([row for row in report["classes"] if row["name"] != "comm"] for report in reports)
        self.assertEqual(computes, of_ranks)
        self.assertEqual(sum(row["bytes"] * row["count"] for row in folded["collectives"]),
                         sum(row["bytes"] * row["count"] for row in unfolded["collectives"]))
        self.assertEqual({row["group"] for row in folded["collectives"]}, {"tp", "pp", "dp", "norm"})
        # Each rank is in one class.
        self.assertEqual(sum(row["alike"] for row in folded["ranks"]), 16)
        self.assertIn("5", [row["members"] for row in folded["ranks"]])
        # Nothing says that it was recorded or replayed, or is measured.
        text = self.run_program("report", runs[0], "--full").stdout
        for word in ("replayed", "  recorded", "untraced", "  error", "no source"):
            self.assertNotIn(word, text)
        self.assertIn("no recorded step: no times were recorded", text)
        self.assertIn("Ranks           16 simulated: ", self.run_program("report", runs[1]).stdout)

    def test_a_prediction_beside_a_replay(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        measured, predicted = self.dir / "measured", self.simulate(trace, "--machine", "recorded", "--slow", "1=2")
        self.run_program("simulate", trace, "-o", measured, "--machine", "recorded", "--quiet")
        manifest = json.loads((measured / "manifest.json").read_text())
        manifest["options"].update(mode="replay", ops="real", comms="real")  # as if it had run
        del manifest["options"]["machine"]
        (measured / "manifest.json").write_text(json.dumps(manifest))
        (measured / "checksums.xxh128").unlink()
        done = self.run_program("compare", f"measured={measured}", f"predicted={predicted}").stdout
        self.assertRegex(done, r"^predicted is modelled: its step is \+[0-9.]+ % against measured; by class: ")
        self.assertIn("predicted is modelled (simulated on recorded), measured was replayed (operations real, transfers real)",
                      " ".join(done.split()))
    def test_a_type_that_the_machine_lacks_is_said_first(self):
        job = ["gpt-small", "--tp", "2", "--pp", "1", "--dp", "2", "--global-batch", "16"]
        for dtype, lacking in (("bfloat16", "bfloat16"), ("float16", None)):
            run = self.dir / dtype
            result = self.run_json("predict", *job, "--dtype", dtype, "--machine", "v100-dgx", "-o", run)
            self.assertEqual(result["without_rate"], lacking)
            self.assertEqual("has no rate for bfloat16" in result["warnings"][0], lacking is not None)
            warnings = self.run_json("report", run)["verdict"]["warnings"]
            self.assertEqual(warnings[:len(result["warnings"])], result["warnings"])
        sweep = self.run_program("sweep", *job, "dtype=bfloat16,float16", "--machine", "v100-dgx", "-o", self.dir / "sweep")
        self.assertIn("has no rate for bfloat16", " ".join(sweep.stdout.split()))

    def test_executed_flops_are_at_least_the_models(self):
        for job in ("dlrm-small", "vit-small", "dit-small"):
            result = self.run_json("predict", job, "--machine", "a100-hgx", "-o", self.dir / job)
            self.assertGreaterEqual(result["hfu"], result["mfu"], job)
            self.assertGreater(result["mfu"], 0)

    def test_a_job_is_called_a_job(self):
        done = self.run_program("predict", "gpt-small", "--machine", "recorded", "-o", self.dir / "none", expect=2)
        self.assertIn("a job has none", done.stderr)
        self.assertNotIn(" set", done.stderr)
        for job in ("gpt-small", "my.json"):
            done = self.run_program("simulate", job, "--machine", "h100-hgx", "-o", self.dir / "none", expect=2)
            self.assertEqual(done.stderr, f"reprise: {job} is a job, not a trace set: reprise predict {job}\n")

    def test_a_job_is_simulated_without_a_set(self):
        job = ["gpt-small", "--tp", "2", "--pp", "2", "--ranks", "8", "--global-batch", "16"]
        trace, run = self.dir / "set", self.dir / "of_set"
        self.run_program("generate", *job, "-o", trace)
        of_set = self.run_json("simulate", trace, "-o", run, "--machine", "a100-hgx")
        direct = self.run_json("predict", *job, "-o", self.dir / "direct", "--machine", "a100-hgx")
        self.assertEqual(self.times(self.dir / "direct"), self.times(run))
        # Without a run the same object.
        self.assertEqual(self.run_json("predict", *job, "--machine", "a100-hgx"), direct)
        for key in ("step_time_ns", "ranks", "classes", "device_time_ns", "bubble_ns", "exposed_communication_ns"):
            self.assertEqual(direct[key], of_set[key], key)
        seconds = direct["step_time_ns"] / 1e9
        # A generated set keeps what its nodes do not say.
        for key in ("tokens_per_second", "mfu", "hfu"):
            self.assertEqual(direct[key], of_set[key], key)
        self.assertEqual(direct["memory"]["classes"], of_set["memory"]["classes"])
        generated = self.run_json("generate", *job, "-o", trace, "--force")
        self.assertAlmostEqual(direct["tokens_per_second"], 16 * 32 / seconds)
        # An A100 has TF32 units, which float32 products do not use unless told: 19.5 TFLOP/s.
        self.assertAlmostEqual(direct["mfu"], generated["model_flops"] / (8 * 19.5e12 * seconds))
        self.assertAlmostEqual(direct["hfu"], generated["executed_flops"] / (8 * 19.5e12 * seconds))
        memory = direct["memory"]
        self.assertEqual([row["peak"] - row["stack"] for row in memory["classes"]], [row["peak"] for row in generated["memory"]])
        for row in memory["classes"]:
            parts = ("parameters", "gradients", "optimizer", "activations", "buffers", "stack")
            self.assertEqual(sum(row[part] for part in parts), row["peak"])
        self.assertEqual((memory["fits"], memory["largest_micro_batch"]), (True, 8))
        tight = ["--set", f"device.memory.capacity={memory['peak_bytes'] // 1000}kB"]
        memory = self.run_json("predict", *job, "--machine", "a100-hgx", *tight)["memory"]
        self.assertEqual((memory["fits"], memory["largest_micro_batch"]), (False, 1))
        self.assertIn("does not fit", self.run_program("predict", *job, "--machine", "a100-hgx", *tight, "-o", run,
                                                       "--force").stdout)
        for args, code, words in [
                (["gpt-smal"], 3, "did you mean gpt-small?"),
                ([trace], 2, f"is a directory, not a job: reprise simulate {trace}"),
                (["gpt-small", "--tp", "3"], 2, "heads"),
                (["gpt-small", "--one-trace"], 2, "has no option --one-trace"),
        ]:
            with self.subTest(args=args):
                done = self.run_program("predict", *args, "-o", run, "--force", "--machine", "a100-hgx", expect=code)
                self.assertIn(words, done.stderr)
        # Without a run, a page of text.
        text = self.run_program("predict", *job, "--machine", "a100-hgx").stdout
        self.assertLess(text.index("assumes the machine's default share"), text.index("Step "))
        of = direct["job"]
        parts = [direct[key] for key in ("working_ns", "exposed_communication_ns", "bubble_ns")]
        self.assertAlmostEqual(sum(parts), direct["step_time_ns"], delta=2)
        operations, alone, bubble = (f"{100 * part / direct['step_time_ns']:.1f} %" for part in parts)
        memory = direct["memory"]
        for words in (" on a100-hgx: 8 ranks in", f"{direct['tokens_per_second']:.0f} tokens/s, ",
                      f"MFU {100 * direct['mfu']:.1f} %", f"16 sequences of {of['sequence']} tokens a step, float32",
                      f"tp {of['tp']}, pp {of['pp']}, dp {of['dp']}", f"{of['micro_batches']} micro-batches of {of['micro_batch']}",
                      f"operations {operations}, transfers alone {alone}, idle or waiting {bubble}",
                      f"fits, {(memory['of_bytes'] - memory['peak_bytes']) / 2**30:.2f} GiB are left; micro-batch"):
            self.assertIn(words, text)
        # Nearly full is not called fitting.
        full = ["--set", f"device.memory.capacity={memory['peak_bytes'] * 1.01 / 1e9:.6f}GB"]
        self.assertIn("and hardly fits", self.run_program("predict", *job, "--machine", "a100-hgx", *full).stdout)

    def sweep(self, *args, expect=0):
        return self.run_program("sweep", "gpt-small", "--ranks", "8", "--machine", "a100-hgx", "--global-batch", "16",
                                "-o", self.dir / "sweep", *args, expect=expect)

    def test_a_sweep(self):
        keys = ["tp=1,2,3", "pp=1,2", "recompute=none,full", "overlap=none,tp+grad"]
        text = self.sweep(*keys).stdout
        self.assertLess(text.index("assumes the machine's default share"), text.index("Every time is modelled"))
        self.assertIn("16 fit in memory, 0 do not, 8 cannot be", text)
        table = json.loads((self.dir / "sweep" / "sweep.json").read_text())
        rows = table["configurations"]
        self.assertEqual((table["swept"], len(rows)), (["tp", "pp", "recompute", "overlap"], 24))
        # Each row is what the configuration alone gives.
        for row in rows[:16:5]:
            alone = self.run_json("predict", "gpt-small", "--ranks", "8", "--machine", "a100-hgx", "--global-batch", "16",
                                  "--tp", row["tp"], "--pp", row["pp"], "--recompute", row["recompute"],
                                  "--overlap", row["overlap"].replace("+", ","))
            for key in ("step_time_ns", "mfu", "classes", "bubble_ns", "default_share"):
                self.assertEqual(row[key], alone[key], key)
            self.assertEqual(row["peak_bytes"], alone["memory"]["peak_bytes"])
        self.assertEqual([row["rank"] for row in rows], [*range(1, 17), *[None] * 8])
        self.assertEqual([row["step_time_ns"] for row in rows[:16]], sorted(row["step_time_ns"] for row in rows[:16]))
        cost = "peak_bytes" if rows[0]["energy_joules"] is None else "energy_joules"
        for row in rows:
            better = [other for other in rows[:16] if row["possible"]
                      and other["step_time_ns"] <= row["step_time_ns"] and other[cost] <= row[cost]
                      and (other["step_time_ns"], other[cost]) != (row["step_time_ns"], row[cost])]
            self.assertEqual(row["pareto"], row["possible"] and not better)
            self.assertEqual("reason" in row, not row["possible"])
        with (self.dir / "sweep" / "sweep.csv").open() as file:
            self.assertEqual([row["configuration"] for row in csv.DictReader(file)],
                             [row["configuration"] for row in rows])
        # A sweep that was ended in the middle of a line goes on: what is there is taken, and nothing else.
        lines = (self.dir / "sweep" / "rows.jsonl").read_text().splitlines(keepends=True)
        lines = [lines[0], *(line for line in lines if '"possible":true' in line)]
        marked = json.loads(lines[1])["row"]
        marked["step_time_ns"] = 7
        changed = json.loads(lines[1]) | {"row": marked}
        (self.dir / "sweep" / "rows.jsonl").write_text(lines[0] + json.dumps(changed, separators=(",", ":")) + "\n")
        self.assertIn("rows.jsonl: line 2: damaged or changed", self.sweep(*keys, expect=3).stderr)
        row = json.dumps(marked, separators=(",", ":"))
        line = f'{{"xxh128":"{xxh128(row.encode())}","row":{row}}}\n'
        (self.dir / "sweep" / "rows.jsonl").write_text(lines[0] + line + lines[2][:40])
        again = json.loads(self.sweep(*keys, "--json").stdout)["configurations"]
        self.assertEqual([row["step_time_ns"] for row in again if row["configuration"] == marked["configuration"]], [7])
        self.assertEqual({row["configuration"]: row.get("step_time_ns") for row in again} | {marked["configuration"]: 0},
                         {row["configuration"]: row.get("step_time_ns") for row in rows} | {marked["configuration"]: 0})
        self.assertIn("another job, machine", self.sweep(*keys, "--micro-batch", "1", expect=2).stderr)
        # What does not fit comes after what does.
        middle = sorted(row["peak_bytes"] for row in rows[:16])[7]
        tight = self.sweep(*keys, "--force", "--rank-by", "memory", "--set", f"device.memory.capacity={middle / 1e6}MB")
        self.assertRegex(tight.stdout, r"\d+ do not \(\d+ of them estimated, not simulated\), 8 cannot be")
        self.assertIn("how much it lacks:", tight.stdout)
        rows = json.loads((self.dir / "sweep" / "sweep.json").read_text())["configurations"]
        fits = [row["fits"] for row in rows]
        self.assertEqual(fits, sorted(fits, reverse=True))
        self.assertIn(False, [row["fits"] for row in rows if row["possible"]])
        # The estimate is of the peak that a simulation has, and not above it.
        every = ["--set", f"device.memory.capacity={middle / 1e6}MB", "--all", "--json"]
        simulated = json.loads(self.sweep(*keys, "--rank-by", "memory", *every).stdout)["configurations"]
        peaks = {row["configuration"]: row["peak_bytes"] for row in simulated if row["possible"]}
        for row in rows:
            if row["possible"]:
                self.assertEqual(row["left_bytes"], row["of_bytes"] - row["peak_bytes"])
                self.assertEqual(row["simulated"], row["step_time_ns"] is not None)
                self.assertLessEqual(row["peak_bytes"], peaks[row["configuration"]])
                self.assertGreater(row["peak_bytes"], 0.8 * peaks[row["configuration"]])
        self.assertEqual([row["simulated"] for row in simulated if row["possible"]], [True] * 16)
        self.assertEqual(len([row for row in rows if row["rank"]]), sum(fits))
        self.page_of_a_sweep(simulated)

    def page_of_a_sweep(self, rows):
        with browser.Page() as page:
            page.open(self.dir / "sweep" / "index.html")
            self.assertEqual(page.problems, [])
            self.assertEqual(page.evaluate("document.querySelectorAll('tbody tr').length"), len(rows))
            for kind, count in (("front", sum(row["pareto"] for row in rows)),
                                ("big", sum(row["possible"] and not row["fits"] for row in rows))):
                self.assertEqual(page.evaluate(f"document.querySelectorAll('circle.{kind}').length"), count, kind)
            self.assertEqual(page.evaluate("document.querySelectorAll('td.reason').length"),
                             sum(not row["possible"] for row in rows))
            heads = page.evaluate("[...document.querySelectorAll('th')].map(e => e.textContent)")
            for head in ("rank", "tp", "pp", "recompute", "overlap", "left, GiB", "W a device, mean", "kW in all"):
                self.assertIn(head, heads)
            # A click sorts, a second one turns the order; what has no value comes last.
            column = heads.index("left, GiB")
            values = f"[...document.querySelectorAll('tbody tr')].map(r => (r.cells[{column}]?.dataset.v ?? ''))"
            click = f"document.querySelectorAll('th button')[{column}].click()"
            page.evaluate(click)
            up = [float(value) for value in page.evaluate(values) if value]
            self.assertEqual((up, len(up)), (sorted(up), sum(row["possible"] for row in rows)))
            page.evaluate(click)
            self.assertEqual([float(value) for value in page.evaluate(values) if value], up[::-1])
            shown = "[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.dataset.text)"
            page.evaluate("words.value = 'tp=2 full'; words.dispatchEvent(new Event('input'))")
            self.assertEqual(sorted(page.evaluate(shown)),
                             sorted(row["configuration"] for row in rows if row["tp"] == "2" and row["recompute"] == "full"))
            page.evaluate("words.value = ''; fits.checked = true; fits.dispatchEvent(new Event('change'))")
            self.assertEqual(len(page.evaluate(shown)), sum(row["fits"] for row in rows))
            # Labels stand in front of points, and all points within the axes.
            self.assertTrue(page.evaluate("[...document.querySelectorAll('text.label')].every(t => !t.nextElementSibling "
                                          "|| t.nextElementSibling.matches('.label'))"))
            pages.shot(page, "sweep")
        for width in (380, 1280):
            with browser.Page() as page:
                page.resize(width, 800)
                page.open(self.dir / "sweep" / "index.html")
                self.assertEqual(page.problems, [])
                # The page is as wide as the window; what is wider scrolls by itself.
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                self.assertTrue(page.evaluate("(e => e.scrollWidth >= e.clientWidth)(document.querySelector('.scroll'))"))
                pages.shot(page, f"sweep-{width}")

    def test_bad_sweeps(self):
        for args, words in [
                (["tpp=1"], "did you mean tp?"),
                (["tp=0,2"], "at least 1"),
                (["tp=1", "tp=2"], "given twice"),
                (["tp=1,1"], "a value is given twice"),
                (["fsdp=yes"], "on or off"),
                (["tp"], "expected KEY=VALUE"),
                ([], "reprise predict gpt-small"),
                (["tp=1,2", "--link", "nvlinkk=0.5"], "did you mean nvlink?"),
                (["tp=1,2", "--slow", "8=2"], "8"),
        ]:
            with self.subTest(args=args):
                self.assertIn(words, self.sweep(*args, expect=2).stderr)
        self.assertIn("no configuration can be", self.sweep("tp=3,7", "--force", expect=3).stderr)

    def test_ten_thousand_ranks(self):
        trace, run = self.dir / "large", self.dir / "run"
        self.run_program("generate", "llama3-70b", "--tp", "8", "--pp", "8", "--dp", "160", "--global-batch", "2560",
                         "--micro-batch", "1", "-o", trace)
        result = self.run_json("simulate", trace, "-o", run, "--machine", "h100-hgx")
        self.assertEqual(result["ranks"], 10240)
        self.assertLess(result["classes"], 64)
        # 6 FLOPs for each parameter and token, and what attention adds, at 989 TFLOP/s.
        least = 6 * 69e9 * 2560 * 8192 / 10240 / 989.4e12
        self.assertGreater(result["hfu"] * result["step_time_ns"] / 1e9, least)
        self.assertLess(result["hfu"] * result["step_time_ns"] / 1e9, 1.6 * least)
        report = self.run_program("report", run).stdout
        self.assertIn("Simulated 10240 ranks on h100-hgx:", report)
        self.assertIn(f"10240 ranks in {result['classes']} classes",
                      self.run_program("report", run, "--section", "notes").stdout)
        self.run_program("report", run, "--quiet", "-o", self.dir / "large.html")
        self.assertLess((self.dir / "large.html").stat().st_size, 6e6)
        self.run_program("export", run, "--to", "perfetto", "-o", self.dir / "large.pftrace")
        self.assertIn("class 1 (×1280: ranks 1280-2559) (modelled)".encode(), (self.dir / "large.pftrace").read_bytes())

    def test_bad_input_names_the_way_out(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        machine = self.machine()
        for args, code, words in [
                (["--machine", "h100-hgxx"], 3, ["did you mean h100-hgx?"]),
                (["--machine", "h100-hgx", "--captured-on", machine], 3, ["captured on a CPU", "is a GPU machine"]),
                (["--machine", "h100-hgx"], 3, ["captured on a CPU", "is a GPU machine"]),
                (["--machine", self.dir / "none.json"], 3, ["none.json"]),
                (["--machine", machine, "--captured-on", machine, "--set", "node.nodes=x"], 2, ["is no number"]),
                (["--machine", "recorded", "--set", "node.nodes=2"], 2, ["--machine recorded"]),
                (["--machine", "recorded", "--link", "bus=0.5"], 2, ["--link"]),
                (["--machine", "recorded", "--link", "all=0.5"], 2, ["--link"]),
                (["--machine", "recorded", "--network", "flow"], 2, ["--network flow", "name a machine"]),
                (["--machine", "recorded", "--network", "tree"], 2, ["--network"]),
                (["--machine", "recorded", "--slow", "4=2"], 2, ["ranks are 0 to 3"]),
                (["--machine", "recorded", "--slow", "4"], 2, ["expected RANK=F"]),
                (["--machine", machine, "--captured-on", machine, "--link", "buss=0.5"], 2, ["did you mean bus?"]),
        ]:
            with self.subTest(args=args):
                done = self.simulate(trace, *args, expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
        few = self.dir / "few.json"
        description = cpu_machine(2)
        description["node"]["nodes"] = number(1, "1")
        few.write_text(json.dumps(description))
        done = self.simulate(trace, "--machine", few, "--captured-on", machine, expect=3)
        self.assertIn("cpus has 2 devices, and the job 4 ranks", done.stderr)
        # Nothing is left of a simulation that failed.
        self.assertEqual(list(self.dir.glob("run*")), [])


if __name__ == "__main__":
    sys.exit(program.main())
