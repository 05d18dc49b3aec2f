#!/usr/bin/env python3
"""A trace set, a run and a prediction answer the same questions by the same commands. About 30 s."""
import json
import sys

import browser
import pages
import program

BAD_INPUT = 3
KEYS = ["kind", "figures", "repeats", "sides", "verdicts", "warnings", "settings", "quantities", "collectives", "differences",
        "heat", "alignments"]
SECTIONS = ("verdict", "step", "classes", "phases", "shapes", "critical-path", "threads", "overlap", "transfers", "ranks", "notes")


class Executions(pages.PageTest):
    def three(self, case):
        """A set, a replay (its operations take their recorded time), a prediction."""
        trace = self.convert(case)
        run, prediction = self.dir / "run", self.dir / "prediction"
        ranks = len(list(trace.glob("*.et*")))
        self.run_program("replay", trace, "-o", run, "--ops", "timed", "--comms", "timed", "--iterations", 1, "--quiet", ranks=ranks)
        self.run_program("simulate", trace, "-o", prediction, "--machine", "recorded", "--slow", "1=1.5", "--quiet")
        return trace, run, prediction

    def test_how_long_why_which_rank_what_changed(self):
        trace, run, prediction = self.three("gloo/gpt_ddp4")
        recorded = self.run_json("report", trace)["step_time_recorded_ns"]
        for of in (trace, run, prediction):
            report = self.run_json("report", of)
            step_ns = report["step_time_replayed_ns"]
            self.assertGreaterEqual(step_ns, (0.5 if of == run else 1) * recorded)  # the replay is without tracing
            classes = {row["name"]: row["replayed_ns"] for row in report["classes"]}
            self.assertGreater(classes["gemm"], 0)
            # The largest difference first; of a set, which has none, the longest.
            apart = [(abs(row["replayed_ns"] - row["recorded_ns"]), row["replayed_ns"]) for row in report["shapes"]]
            self.assertEqual(apart, sorted(apart, reverse=True))
            self.assertGreater(apart[0][1], 0)
            self.assertTrue(report["fidelity"]["critical_path"])
            ranks = self.run_json("compare", of)
            self.assertEqual(len(ranks["ranks"]), 4)
            self.assertIsInstance(ranks["imbalance"], float)
        # Any two, with the same keys and the same names of what is measured.
        for sides in ((trace, run), (run, trace), (trace, prediction), (run, prediction), (trace, trace)):
            of = self.run_json("compare", *(f"{name}={path}" for name, path in zip("ab", sides)))
            self.assertEqual(list(of), KEYS)
            self.assertTrue(of["verdicts"][0])
            names = {row["name"] for row in of["quantities"]}
            self.assertLessEqual({"time", "exposed_comm", "class.gemm", "phase.forward", "collective.all_reduce"}, names)
            self.assertTrue(of["collectives"] and of["heat"][1]["ranks"])
            self.assertEqual(len(of["alignments"]), 0 if sides == (run, prediction) else 1)
        # One definition of a class's time, of a step and of a transfer, whoever says it.
        report, compared = self.run_json("report", trace), self.run_json("compare", f"a={trace}", f"b={trace}")
        values = {row["name"]: row["cells"][0]["value"] for row in compared["quantities"]}
        for row in report["classes"]:
            self.assertAlmostEqual(values[f"class.{row['name']}"], row["replayed_ns"] / 1e9, 9)
        self.assertAlmostEqual(values["time"], report["step_time_replayed_ns"] / 1e9, 9)

    def test_what_only_one_side_has_is_not_compared(self):
        trace = self.convert("gloo/gpt_ddp4")
        part = self.dir / "part"
        self.run_program("simulate", trace, "-o", part, "--machine", "recorded", "--ranks", "0-1", "--quiet")
        of = self.run_json("compare", f"a={trace}", f"b={part}")
        self.assertIn("a has 4 ranks", of["warnings"][0])
        self.assertEqual([[rank["rank"] for rank in side["ranks"]] for side in of["sides"]], [[0, 1], [0, 1]])
        # Their operations are the same.
        gemm = next(row for row in of["quantities"] if row["name"] == "class.gemm")
        self.assertAlmostEqual(gemm["cells"][1]["ratio"]["value"], 1, 6)

    def test_compiled_code_is_waited_for_and_said(self):
        """A real step of torch.compile, where coverage was once 100 % real."""
        trace, run = self.convert("phases/compiled"), self.dir / "run"
        self.run_program("replay", trace, "-o", run, "--device", "host", "--quiet")
        report = self.run_json("report", run)
        coverage = report["coverage"]
        self.assertGreater(coverage["compiled"], 0.1)
        self.assertLessEqual(coverage["compiled"], coverage["timed"])
        self.assertGreater(coverage["real"], 0.5)
        compiled = next(row for row in report["classes"] if row["name"] == "compiled")
        self.assertEqual(compiled["count"], 34)
        self.assertIn("% of the step is compiled code", self.run_program("report", run).stdout)
        self.assertIn("compiled code", self.run_program("convert", program.TRACES / "phases/compiled", "-o", self.dir / "strict", "--strict",
                                                        expect=BAD_INPUT).stderr)

    def test_a_report_of_a_set(self):
        for case in ("gloo/gpt_ddp4", "gloo_comms/moe_ep4", "h100/gpt_350m", "phases/decode", "phases/compiled"):
            trace, run = self.convert(case), self.dir / case.replace("/", "_run_")
            self.run_program("simulate", trace, "-o", run, "--machine", "recorded", "--quiet")
            report, simulated = self.run_json("report", trace), self.run_json("report", run)
            self.assertEqual(report["verdict"]["kind"], "recorded")
            # What is recorded is the same, whoever says it.
            for key in ("step_time_recorded_ns", "step_time_untraced_ns", "recorded_steps_ns", "covered_ns", "host_ns", "wait_ns",
                        "delay_ns"):
                self.assertEqual(report[key], simulated[key], (case, key))
            self.assertEqual(report["step_time_replayed_ns"], report["step_time_recorded_ns"])
            for rows in ("classes", "phases"):
                recorded = {row["name"]: (row["count"], row["recorded_ns"]) for row in simulated[rows]}
                self.assertEqual({row["name"]: (row["count"], row["recorded_ns"]) for row in report[rows]}, recorded)
            path = {row["name"]: row["recorded_ns"] for row in simulated["fidelity"]["critical_path"] if row["recorded_ns"]}
            self.assertEqual({row["name"]: row["recorded_ns"] for row in report["fidelity"]["critical_path"] if row["recorded_ns"]}, path)
            text = self.run_program("report", trace).stdout
            self.assertTrue(text.startswith("Recorded "), text)
            self.assertLessEqual(text.count("\n"), 40)
            for section in SECTIONS:
                text += self.run_program("report", trace, "--section", section).stdout
            for word in ("replayed", "modelled", "error", "Coverage"):
                self.assertNotIn(word, text)

    def test_the_page_of_a_set(self):
        trace, out = self.convert("gloo/gpt_ddp4"), self.dir / "page.html"
        self.run_program("report", trace, "-o", out, "--quiet")
        with browser.Page() as page:
            self.opened(page, out)
            sections = self.sections(page)
            for section in ("offenders", "telemetry", "energy"):
                self.assertNotIn(section, sections)
            for section in ("step-time", "critical-path", "overlap", "busbw", "shapes"):
                self.assertIn(section, sections)
            text = page.evaluate("document.getElementById('main').innerText")
            self.assertIn("Recorded 877 ms", text)
            self.assertNotIn("replayed", text.lower().replace("replayed as the real", ""))
            pages.shot(page, "recorded-set")

    def test_one_file(self):
        trace = self.convert("gloo/gpt_ddp4")
        file = sorted(trace.glob("*.1.et*"))[0]
        report = self.run_json("report", file)
        self.assertEqual([row["rank"] for row in report["ranks"]], [1])

    def test_what_has_no_times(self):
        trace = self.dir / "generated"
        self.run_program("generate", "gpt-small", "-o", trace)
        said = self.run_program("report", trace, expect=BAD_INPUT).stderr
        self.assertIn("no times are recorded", said)
        self.assertIn("reprise simulate", said)

    def test_skipped_work_takes_no_time(self):
        trace = self.convert("gloo/gpt_ddp4")
        steps = {}
        for options in ((), ("--comms", "skip"), ("--ops", "gemm=skip"), ("--ops", "skip", "--comms", "skip")):
            out = self.run_json("simulate", trace, "-o", self.dir / "run", "--force", "--machine", "recorded", *options)
            steps[options] = out["step_time_ns"]
            classes = {row["name"]: row["replayed_ns"] for row in self.run_json("report", self.dir / "run")["classes"]}
            skipped = {"comm"} if options == ("--comms", "skip") else {"gemm"} if "gemm=skip" in options else set()
            for name in skipped:
                self.assertFalse(classes[name], name)
        plain = steps.pop(())
        for options, step_ns in steps.items():
            self.assertLess(step_ns, plain, options)
        self.run_program("simulate", trace, "-o", self.dir / "x", "--machine", "recorded", "--ops", "gemm=real", expect=2)
        self.run_program("simulate", trace, "-o", self.dir / "x", "--machine", "recorded", "--host-gaps", "auto", expect=2)

    def test_changes_of_times_need_times(self):
        trace = self.dir / "generated"
        self.run_program("generate", "gpt-small", "-o", trace)
        for options in (("--time-scale", "2"), ("--host-gaps", "drop"), ("--ops", "skip"), ("--comms", "all_reduce=skip")):
            said = self.run_program("simulate", trace, "-o", self.dir / "run", "--machine", "h100-hgx", *options, expect=2).stderr
            self.assertIn("change recorded times, and the set has none", said)


if __name__ == "__main__":
    sys.exit(program.main())
