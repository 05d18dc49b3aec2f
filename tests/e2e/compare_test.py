#!/usr/bin/env python3
"""`reprise compare` as a user and as CI run it. About 25 s."""
import json
import pathlib
import unittest

import program
import synthetic_run

FAILED, USAGE, BAD_INPUT = 1, 2, 3


class Compare(program.ProgramTest):
    def write(self, name, **settings):
        run = self.dir / name
        run.parent.mkdir(exist_ok=True)
        synthetic_run.write_run(program.REPRISE, run, **{"ranks": 2, "layers": 2, **settings})
        return run

    def compare(self, *args, expect=0):
        return self.run_program("compare", *args, expect=expect)

    def change_manifest(self, run, **values):
        path = run / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    def test_text_json_and_markdown_say_the_same(self):
        for k in (1, 2, 3):
            self.write(f"a/{k}")
            self.write(f"b/{k}", slowness=1.5)
        a, b = self.dir / "a", self.dir / "b"
        text = self.compare(a, b, "-v").stdout
        self.assertRegex(text, r"^b takes \d+ % more time than a \([\d.]+–[\d.]+\)")
        self.assertIn("Time by class", text)
        data = json.loads(self.compare(a, b, "--json").stdout)
        time = next(row for row in data["quantities"] if row["name"] == "time")
        ratio = time["cells"][1]["ratio"]
        self.assertGreater(ratio["value"], 1.2)
        self.assertTrue(ratio["low"] <= ratio["value"] <= ratio["high"])
        takes = f"{100 * (ratio['value'] - 1):.0f} % more time"
        self.assertIn(takes, text)
        self.assertIn(takes, data["verdicts"][0])
        self.assertIn(takes, self.compare(a, b, "--markdown").stdout)
        # The whole of what a step's end moved by is made of its parts.
        difference = data["differences"][0]
        self.assertAlmostEqual(sum(part["seconds"] for part in difference["rows"]), difference["seconds"], 9)
        gemm = next(row for row in data["quantities"] if row["name"] == "class.gemm")
        self.assertAlmostEqual(gemm["cells"][1]["ratio"]["value"], 1.5, delta=0.1)

    def test_single_runs_make_no_claim(self):
        a, b = self.write("a"), self.write("b", slowness=1.1)
        text = self.compare(a, b).stdout
        self.assertRegex(text, r"^b and a, one run each: no claim; ((\d+|several) repeats of each would show|times vary too much for) ±3 %")
        self.assertNotIn("95 %", text)
        data = json.loads(self.compare(a, b, "--json").stdout)
        for row in data["quantities"]:
            self.assertIsNone((row["cells"][1]["ratio"] or {"low": None})["low"], row["name"])
        # A check on an interval can't be made, and must not pass.
        self.assertIn("several runs of each side",
                      self.compare(a, b, "--fail-if", "time.low>1", expect=BAD_INPUT).stderr)

    def test_forty_lines_and_all_with_v(self):
        sides = [f"side{k}={self.write(f's{k}', slowness=1 + k / 10, layers=4)}" for k in range(4)]
        short = self.compare(*sides).stdout.rstrip("\n").split("\n")
        self.assertLessEqual(len(short), 40)
        self.assertRegex(short[-1], r"^-v shows \d+ more or longer tables?$")
        self.assertGreater(len(self.compare(*sides, "-v").stdout.split("\n")), 60)

    def test_real_replays_differ_along_their_critical_paths(self):
        trace = self.convert("gloo/gpt_single")
        runs = [self.dir / name for name in ("keep", "drop")]
        for run, gaps in zip(runs, ("keep", "drop")):
            self.run_program("replay", trace, "-o", run, "--iterations", 3, "--host-gaps", gaps)
        self.assertIn("option host_gap_factor", self.compare(*runs, expect=BAD_INPUT).stderr)
        data = json.loads(self.compare(*runs, "--allow", "mode", "--json").stdout)
        difference = data["differences"][0]
        self.assertEqual(difference["of"], "critical path")
        passes = [self.run_json("report", run)["fidelity"]["difference"]["replayed_ns"] for run in runs]
        self.assertAlmostEqual(difference["seconds"], (passes[1] - passes[0]) * 1e-9, 9)
        self.assertAlmostEqual(difference["base_seconds"], passes[0] * 1e-9, 9)
        self.assertAlmostEqual(sum(part["seconds"] for part in difference["rows"]), difference["seconds"], 9)

    def test_repeats_from_a_directory_and_from_a_list(self):
        for k in (1, 2, 3):
            self.write(f"old/run{k}")
            self.write(f"new/run{k}", slowness=1.5)
        data = json.loads(self.compare(self.dir / "old", f"new={self.dir / 'new/run1'},{self.dir / 'new/run2'}", "--json").stdout)
        self.assertEqual(data["repeats"], "runs")
        self.assertEqual([(side["label"], len(side["runs"])) for side in data["sides"]], [("old", 3), ("new", 2)])
        self.assertEqual([pathlib.Path(run["path"]).name for run in data["sides"][0]["runs"]], ["run1", "run2", "run3"])

    def test_labels_tell_sides_apart(self):
        a, b = self.write("x/run"), self.write("y/run")
        data = json.loads(self.compare(a, b, "--json").stdout)
        self.assertEqual([side["label"] for side in data["sides"]], ["x/run", "y/run"])

    def test_fail_if(self):
        a, b = self.write("a"), self.write("b", slowness=2)
        self.assertIn("b: time>1.05 holds", self.compare(a, b, "--fail-if", "time>1.05", expect=FAILED).stderr)
        self.compare(b, a, "--fail-if", "time>1.05")
        self.compare(b, a, "--fail-if", "time>1.05", "--fail-if", "class.gemm<0.6", expect=FAILED)
        self.assertIn("they have time", self.compare(a, b, "--fail-if", "tim>1", expect=USAGE).stderr)
        self.compare(a, b, "--fail-if", "time>fast", expect=USAGE)
        # A check that can't be made must not pass.
        self.compare(a, b, "--fail-if", "temperature>1", expect=BAD_INPUT)
        self.compare(a, b, "--fail-if", "temperature.value>200")

    def test_what_is_not_comparable_is_refused_and_said(self):
        a, b = self.write("a"), self.write("c", layers=3)
        self.change_manifest(b, trace_hash="another", options={"mode": "comm"})
        refused = self.compare(a, b, expect=BAD_INPUT).stderr
        self.assertIn("trace:", refused)
        self.assertIn("option mode of a is full, of c comm", refused)
        self.assertIn("--allow mode,trace", refused)
        self.compare(a, b, "--allow", "trace", expect=BAD_INPUT)
        self.assertIn("warning: not the same trace", self.compare(a, b, "--allow", "mode,trace").stdout)
        self.compare(a, self.dir / "nothing", expect=BAD_INPUT)

    def test_pages_are_refused_before_anything_is_read(self):
        a = self.write("a")
        page = self.dir / "x.html"
        page.write_text("kept")
        for wrong in ([a, a, "-o", page], [a, a, "-o", self.dir / "x.txt"], [a, a, "--figure", "heatmap"],
                      [a, a, "--quiet"], [a, a, "--json", "--markdown"], [a, "-o", self.dir / "y.html", "--figure", "parallelism"],
                      [a, a, "--figure", "pie", "-o", self.dir / "y.html"]):
            self.compare(*wrong, expect=USAGE)
        self.assertEqual(page.read_text(), "kept")
        self.compare(a, a, "-o", page, "--force", "--quiet")
        self.assertIn("<!doctype html>", page.read_text())
        self.compare(a, "-o", self.dir / "heat.html", "--figure", "heatmap", "--quiet")
        self.compare(a, "-o", self.dir / "ranks.html", "--quiet")
        self.assertIn('"kind": "ranks"', (self.dir / "ranks.html").read_text())

    def test_one_run_shows_its_ranks(self):
        run = self.write("a", ranks=4)
        data = json.loads(self.compare(run, "--json").stdout)
        self.assertEqual([rank["slot"] for rank in data["ranks"]], [0, 1, 2, 3])
        self.assertTrue(all(rank["operations_ns"] > 0 and rank["metrics"] for rank in data["ranks"]))
        self.assertIn("power_peaks", data)
        self.assertRegex(self.compare(run).stdout, r"power W +temperature C\n")
        self.assertLessEqual(len(self.compare(run).stdout.rstrip("\n").split("\n")), 40)

    def test_a_killed_run_is_compared_with_a_warning(self):
        a, b = self.write("a"), self.write("b")
        self.change_manifest(b, complete=False)
        (b / "rank1.sqlite").unlink()
        # One rank of two has no step that every rank finished: said, not guessed.
        text = self.compare(a, b, "--allow", "coverage,iterations").stdout
        self.assertIn("b: the run is not complete", text)


if __name__ == "__main__":
    program.main()
