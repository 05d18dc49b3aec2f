#!/usr/bin/env python3
"""What simulate, generate and calibrate refuse: options without effect, wrong files, mistakes. Each message has its way out."""
import json
import shutil
import sys

import program
from program import TRACES, ProgramTest
from simulate_test import cpu_machine, number

USAGE, BAD_INPUT = 2, 3
A100 = ["--machine", "a100-hgx"]


class OptionsTest(ProgramTest):
    """One table for each kind of input: arguments, exit code, words of the message."""

    def refused(self, rows, command="simulate"):
        for args, code, *words in rows:
            with self.subTest(args=args):
                done = self.run_program(command, *args, expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
                self.assertLess(len(done.stderr), 500)
                self.assertNotIn("exception", done.stderr)
                self.assertEqual(list(self.dir.glob("out*")), [])

    def test_options_without_effect_on_a_job(self):
        out = self.dir / "out"
        job = ["gpt-small", *A100, "--json"]
        self.refused([
            ([*job, "--routing", "zipf:1.2"], USAGE, "--routing has no effect on gpt-small", "leave it out"),
            ([*job, "--seed", "3"], USAGE, "--seed has no effect", "the model has none"),
            (["mixtral-small", *A100, "--json", "--seed", "3"], USAGE, "give --routing zipf:A, too"),
            (["vit-small", *A100, "--json", "--sequence", "64"], USAGE, "--sequence has no effect", "image and patches"),
            (["dit-small", *A100, "--json", "--sequence", "64"], USAGE, "--sequence has no effect", "image and patches"),
            (["dlrm-small", *A100, "--json", "--sequence", "64"], USAGE, "--sequence has no effect"),
            (["dlrm-small", *A100, "--json", "--recompute", "full"], USAGE, "--recompute has no effect"),
            (["dlrm-small", *A100, "--json", "--ep", "2"], USAGE, "--ep has no effect", "data parallelism (4)"),
            (["llama-small", *A100, "--json", "--fsdp", "--distributed-optimizer"], USAGE,
             "--distributed-optimizer has no effect", "fsdp divides already"),
            ([*job, "--cp", "2", "--recompute", "selective"], USAGE, "--recompute has no effect", "take full"),
            ([*job, "--global-batch", "3000000000"], USAGE, "--global-batch is 3000000000; expected 1 to"),
            ([*job, "--tp", "1", "--overlap", "tp"], USAGE, "--overlap has no effect", "tp is 1"),
            ([*job, "--dp", "1", "--overlap", "grad"], USAGE, "--overlap has no effect", "dp is 1"),
            (["mixtral-small", *A100, "--json", "--overlap", "param"], USAGE, "give --zero 1, 2 or 3, too"),
            (["gpt-small", "--machine", "recorded", "--json"], USAGE, "--machine recorded", "name one"),
            ([*job, "--captured-on", "a100-hgx"], USAGE, "has no option --captured-on"),
            ([*job, "--jitter", "0.1"], USAGE, "has no option --jitter"),
            ([*job, "--rank-by", "energy"], USAGE, "has no option --rank-by"),
            ([*job, "--range", "x"], USAGE, "has no option --range"),
            ([*job, "--force"], USAGE, "there is no -o"),
            ([*job, "--name", "x"], USAGE, "--name is of the run", "without -o"),
            ([*job, "--ranks", "0-3"], USAGE, "--ranks"),
            ([*job, "--steps", "0"], USAGE, "--steps", "above 0"),
            ([*job, "--seed", "-1"], USAGE, "--seed", "at least 0"),
        ], "predict")
        self.run_program("predict", *job, "--tp", "1", "--dp", "2", "--overlap", "tp,grad")
        # It has an effect, but not the one that it is for: said with the prediction.
        note = "--recompute selective takes time and saves no memory"
        selective = self.run_json("predict", *job[:-1], "--recompute", "selective")
        self.assertIn(note, " ".join(selective["warnings"]))
        self.assertGreaterEqual(selective["memory"]["peak_bytes"], 0.99 * self.run_json("predict", *job[:-1])["memory"]["peak_bytes"])
        self.assertNotIn(note, self.run_program("predict", "megatron-22b", *A100, "--layers-per-stage", "48").stdout)

    def test_options_without_effect_on_a_sweep(self):
        job = ["gpt-small", *A100, "-o", self.dir / "out"]
        study = ["charllm-h100x64", "-o", self.dir / "out"]
        (self.dir / "bad.json").write_text('{"format": "reprise-sweep-file", "version": 1, "models": ["gpt-small"], "layout": []}')
        (self.dir / "option.json").write_text('{"format": "reprise-sweep-file", "version": 1, "models": ["gpt-small"], "layouts": [{"tpp": 2}]}')
        (self.dir / "good.json").write_text('{"format": "reprise-sweep-file", "version": 1, "models": ["gpt-small"], "layouts": [{"tp": 2}]}')
        self.refused([
            ([*job, "--tp", "8", "tp=4"], USAGE, "--tp 8 and tp=… both say tp", "leave one"),
            ([*job, "--ranks", "8", "ranks=8,16"], USAGE, "both say ranks"),
            ([*job, "name=a,b"], USAGE, "name=…: expected an option of layout or step"),
            ([*job, "routing=balanced,zipf:1"], USAGE, "routing has no effect"),
            ([*job, "--routing", "zipf:1", "tp=1,2"], USAGE, "--routing has no effect"),
            ([*job, "--jitter", "0.1", "tp=1,2"], USAGE, "has no option --jitter"),
            ([*job, "--name", "x", "tp=1,2"], USAGE, "a sweep writes none"),
            (["gpt-small", "tp=1,2", "--machine", "recorded", "-o", self.dir / "out"], USAGE, "a job has none"),
            (["gpt-small", "tp=1,2", "-o", self.dir / "out"], USAGE, "--machine is required"),
            ([self.dir, "tp=1,2", *A100, "-o", self.dir / "out"], USAGE, "is a directory"),
            ([*study, "--tp", "4"], USAGE, "--tp: the sweep file says what its jobs are"),
            ([*study, "tp=1"], USAGE, "the sweep charllm-h100x64 has no key 'tp'; it has model, layout, setting, micro-batch"),
            ([*study, "setting=bas"], USAGE, "did you mean base?"),
            ([self.dir / "bad.json", *A100, "-o", self.dir / "out"], BAD_INPUT, 'bad.json: the sweep has no field "layout"; did you mean layouts?'),
            ([self.dir / "option.json", *A100, "-o", self.dir / "out"], BAD_INPUT, "option.json: layouts: ", "did you mean tp?"),
            ([self.dir / "good.json", "-o", self.dir / "out"], USAGE, "--machine is required"),
        ], "sweep")
        # What has an effect in some configuration is taken.
        self.run_program("sweep", "gpt-small", "tp=1,2", "pp=1", *A100, "-o", self.dir / "sweep", "--overlap", "tp")
        self.assertEqual(self.run_program("sweep", "gpt-small", "tp=1", *A100, "-o", self.dir / "sweep2", "--quiet").stdout, "")
        self.assertIn("tp2", self.run_program("sweep", self.dir / "good.json", *A100, "-o", self.dir / "sweep3").stdout)

    def test_a_comparison_names_what_was_changed_and_no_results(self):
        for name, link in (("base", ()), ("slow", ("--link", "infiniband=0.5"))):
            self.run_program("predict", "gpt-small", "--dp", "8", "--machine", "h100-hgx", "--global-batch", "32", "-o", self.dir / name, "--quiet", *link)
        text = self.run_program("compare", self.dir / "base", self.dir / "slow").stdout
        self.assertRegex(text, r"(?m)^  option link\.infiniband +- +0\.5$")
        settings = self.run_json("compare", self.dir / "base", self.dir / "slow")["settings"]
        self.assertEqual([setting["name"] for setting in settings], ["option link.infiniband"])

    def test_options_without_effect_on_a_set(self):
        trace, folded, out = self.convert("gloo_comms/gpt_tp4"), self.dir / "folded", self.dir / "out"
        self.run_program("generate", "gpt-small", "-o", folded)
        self.refused([
            ([trace, "--machine", "recorded", "-o", out, "--seed", "3"], USAGE, "--seed is of --jitter"),
            ([trace, "--machine", "recorded", "-o", out, "--tp", "2"], USAGE, "has no option --tp"),
            ([trace, "--machine", "recorded", "-o", out, "--streams", "0/7"], USAGE, "has no option --streams"),
            ([trace, "--machine", "recorded", "-o", out, "--group-sizes", "keep"], USAGE, "it is for --ranks and --one-trace"),
            (["missing", "--machine", "recorded", "-o", out], BAD_INPUT, "no such directory", "reprise predict"),
            ([folded, *A100, "-o", out, "--captured-on", "a100-hgx"], USAGE, "--captured-on", "the set has none"),
            ([folded, *A100, "-o", out, "--jitter", "0.1"], USAGE, "--jitter", "the set has none"),
            ([folded, *A100, "-o", out, "--ranks", "0", "--captured-on", "a100-hgx"], USAGE, "the set has none"),
            ([folded, "--machine", "recorded", "-o", out], BAD_INPUT, "--machine recorded", "name one"),
            # Another kind of path.
            ([TRACES / "gloo_comms/gpt_tp4", *A100, "-o", out], BAD_INPUT, "is a capture", "reprise convert"),
            ([trace, "--machine", trace, "-o", out], BAD_INPUT, "is a trace set, not a machine", "reprise list machines"),
            ([trace, "--machine", trace / "gpt_tp4.0.et", "-o", out], BAD_INPUT, "is a trace file, not a machine"),
            ([trace, *A100, "--captured-on", trace, "-o", out], BAD_INPUT, "--captured-on", "not a machine"),
        ])

    def test_generate(self):
        out = self.dir / "out"
        self.refused([
            (["gpt-small", "-o", out, "--routing", "zipf:1"], USAGE, "--routing has no effect on gpt-small"),
            (["gpt-small", "-o", out, "--layers-per-stage", "1,2"], USAGE, '"layers_per_stage" adds up to 3; the model has 4'),
            (["gpt-small", "-o", out, "--layers-per-stage", "1,1,2"], USAGE, '"layers_per_stage" has 3 numbers; expected 2'),
            (["gpt-small", "-o", out, "--layers-per-stage", "1,x"], USAGE, "--layers-per-stage"),
            (["llama3", "-o", out], BAD_INPUT, "did you mean llama3-8b"),
        ], "generate")

    def test_a_sweep_replaces_a_sweep_only(self):
        run, sweep = self.dir / "run", self.dir / "sweep"
        job = ["gpt-small", *A100]
        self.run_program("predict", *job, "-o", run, "--quiet")
        files = sorted(path.name for path in run.iterdir())
        for force in ([], ["--force"]):
            done = self.run_program("sweep", *job, "tp=1,2", "-o", run, *force, expect=USAGE)
            self.assertIn("is a run; a sweep replaces a sweep only", done.stderr)
            self.assertEqual(sorted(path.name for path in run.iterdir()), files)
        one = self.run_program("sweep", *job, "tp=1", "-o", sweep)
        self.assertIn(", 1 configuration, ranked", one.stdout)
        self.assertIn("1 configuration:", (sweep / "index.html").read_text())
        files = sorted(path.name for path in sweep.iterdir())
        done = self.run_program("predict", *job, "-o", sweep, "--force", expect=USAGE)
        self.assertIn("holds no run", done.stderr)
        self.assertEqual(sorted(path.name for path in sweep.iterdir()), files)
        self.assertIn("a browser shows it", self.run_program("report", sweep, expect=BAD_INPUT).stderr)
        # A sweep that could not end leaves nothing of the one that it replaced.
        self.run_program("sweep", *job, "tp=3", "-o", sweep, "--force", expect=BAD_INPUT)
        self.assertFalse(sweep.exists())

    def test_captures_are_left_out_once(self):
        cpus = self.dir / "cpus.json"
        cpus.write_text(json.dumps(cpu_machine(8)))
        trace, copy = self.convert("gloo/gpt_single"), self.dir / "copy"
        shutil.copytree(trace, copy)
        given = ["--machine", cpus, "-o", self.dir / "out.json"]
        self.refused([
            ([trace, trace, *given], USAGE, "hold the same recording", "give each once"),
            ([trace, copy, *given], USAGE, "copy hold the same recording"),
            ([TRACES / "gloo/gpt_single", copy, *given], USAGE, "hold the same recording"),
            ([trace / "gpt_single.0.et", *given], BAD_INPUT, "is a trace file", "give the directory of its trace set"),
            ([trace, "--machine", trace, "-o", self.dir / "out.json"], BAD_INPUT, "is a trace set, not a machine"),
        ], "calibrate")
        self.assertIn("a capture does not name its device", self.run_program("calibrate", trace, *given).stderr)

    def test_machines_and_descriptions(self):
        def machine(name, change):
            described = cpu_machine(8)
            change(described)
            (self.dir / name).write_text(json.dumps(described))
            return ["gpt-small", "--json", "--machine", self.dir / name]

        def file(name, text):
            (self.dir / name).write_text(text)
            return self.dir / name
        job = ["gpt-small", *A100, "--json"]
        text = json.dumps(cpu_machine(8))
        alone = machine("alone.json", lambda m: (m.pop("links"), m["node"].update(devices=number(1, "1"),
                                                                                 nodes=number(1, "1"))))
        small = machine("small.json", lambda m: m["links"]["bus"].update(devices=number(2, "1")) or
                        m["node"].update(devices=number(2, "1")))
        nodes = machine("nodes.json", lambda m: m["node"].update(devices=number(1, "1"), nodes=number(2, "1")))
        self.refused([
            (machine("newer.json", lambda m: m.update(version=2)), BAD_INPUT, "newer.json", "version is 2; this program "
             "reads version 1"),
            (machine("none.json", lambda m: m.pop("version")), BAD_INPUT, "version missing"),
            (machine("links.json", lambda m: m.pop("links")), BAD_INPUT, "no link joins them; expected one in links"),
            (machine("minus.json", lambda m: m["device"]["memory"]["bandwidth"].update(value=-3)), BAD_INPUT,
             "device.memory.bandwidth is -3000000000 B/s; expected more than 0"),
            (machine("unit.json", lambda m: m["device"]["memory"]["bandwidth"].update(unit="GBps")), BAD_INPUT,
             "'GBps' is no unit of a bandwidth; expected B/s"),
            (machine("bits.json", lambda m: m["links"]["bus"]["bandwidth"].update(value=400)), BAD_INPUT,
             "is more than device.memory.bandwidth", "or in bits?"),
            (machine("text.json", lambda m: m["node"]["devices"].update(value="8")), BAD_INPUT, "expected a number"),
            (machine("typo.json", lambda m: m["device"].update(vectr=m["device"].pop("vector"))), BAD_INPUT,
             "device.vectr", "did you mean device.vector?"),
            (alone, BAD_INPUT, "cpus has 1 device, and the job 4 ranks; it has no link"),
            (small, BAD_INPUT, "cpus has 2 devices", "bus, joins no more; a link without `devices`"),
            (nodes, BAD_INPUT, "--set node.nodes=4 makes it large enough"),
            (["gpt-small", "--json", "--machine", file("cut.json", text[:200])], BAD_INPUT, "cut.json: byte 201: no JSON (line",
             "expected a machine file"),
            (["gpt-small", "--json", "--machine", file("empty.json", "")], BAD_INPUT, "expected a machine file"),
            (["gpt-small", "--json", "--machine", file("list.json", "[1]")], BAD_INPUT, "expected one object, a machine"),
            (["gpt-small", "--json", "--machine", file("job.json", '{"model": {"family": "gpt"}}')], BAD_INPUT,
             "describes a job, not a machine"),
            (["gpt-small", "--json", "--machine", self.dir / "missing.json"], BAD_INPUT, "no such file", "reprise list machines"),
            (["gpt-small", "--json", "--machine", "h100"], BAD_INPUT, "did you mean h100-hgx or h100-study? `reprise list"),
            (["gpt-small", "--json", "--machine", "xyz"], BAD_INPUT, "no machine 'xyz'; `reprise list machines`"),
            (["gpt-small", "--json", "--machine", "A100_HGX"], BAD_INPUT, "did you mean a100-hgx?"),
            ([*job, "--set", "node.nodes=0"], USAGE, "--set node.nodes is 0; expected a whole number"),
            ([*job, "--set", "node.devices=1.5"], USAGE, "node.devices is 1.5; expected"),
            ([*job, "--set", "device.efficiency.gemm=2"], USAGE, "gemm is 2; expected more than 0 and at most 1"),
            ([*job, "--set", "device.memory.bandwith=1TB/s"], USAGE, "did you mean device.memory.bandwidth?"),
            ([*job, "--power-limit", "-5W"], USAGE, "expected a power, as in 500W"),
            (["gpt-smal", *A100, "--json"], BAD_INPUT, "did you mean gpt-small?"),
            (["llama3", *A100, "--json"], BAD_INPUT, "did you mean llama3-8b"),
            ([self.dir / "alone.json", *A100, "--json"], BAD_INPUT, "this is a machine file", "--machine"),
            ([self.dir / "missing.json", *A100, "--json"], BAD_INPUT, "no such file", "reprise list models"),
            ([file("cutjob.json", '{"model": {"family": "gp'), *A100, "--json"], BAD_INPUT, "cutjob.json: no JSON (line 1",
             "expected the description of a job"),
            ([self.dir / "job.json", *A100, "--json"], BAD_INPUT, 'job.json: "layers" is 0'),
        ], "predict")

    def test_several_steps(self):
        job = ["gpt-small", *A100]
        one = self.run_json("predict", *job)
        three = self.run_json("predict", *job, "--steps", "3", "-o", self.dir / "three")
        # A step's time, mean of the steps; three are counted, not one that is three times as long.
        self.assertAlmostEqual(three["step_time_ns"] / one["step_time_ns"], 1, delta=0.05)
        self.assertEqual(three["device_time_ns"], 3 * one["device_time_ns"])
        self.assertAlmostEqual(three["energy_joules"] / one["energy_joules"], 1, delta=0.05)
        self.assertAlmostEqual(three["mfu"] * three["step_time_ns"] / (one["mfu"] * one["step_time_ns"]), 1, 6)
        self.assertAlmostEqual(three["hfu"] * three["step_time_ns"] / (one["hfu"] * one["step_time_ns"]), 1, 6)
        flops = [self.run_json("generate", "gpt-small", "--steps", steps, "-o", self.dir / "flops", "--force")
                 for steps in (1, 3)]
        for key in ("model_flops", "executed_flops"):
            self.assertEqual(flops[0][key], flops[1][key])
        # Gradients of one step are there at a time.
        self.assertEqual([c["gradients"] for c in three["memory"]["classes"]],
                         [c["gradients"] for c in one["memory"]["classes"]])
        self.assertAlmostEqual(three["memory"]["peak_bytes"] / one["memory"]["peak_bytes"], 1, 2)
        report = json.loads(self.run_program("report", self.dir / "three", "--json").stdout)
        self.assertEqual(report["step_time_replayed_ns"], three["step_time_ns"])
        # The set says the same, folded or not, and one of its steps may be chosen.
        trace = self.dir / "set"
        self.run_program("generate", "gpt-small", "--steps", "3", "-o", trace)
        for args, steps in ([], 3), (["--steps", "1"], 1), (["--steps", "0,2"], 2):
            with self.subTest(args=args):
                result = self.run_json("simulate", trace, *A100, "-o", self.dir / "run", "--force", *args)
                self.assertEqual(result["device_time_ns"], steps * one["device_time_ns"])
                self.assertAlmostEqual(result["step_time_ns"] / one["step_time_ns"], 1, delta=0.05)
                if steps == 3:
                    self.assertEqual(result["step_time_ns"], three["step_time_ns"])


if __name__ == "__main__":
    sys.exit(program.main())
