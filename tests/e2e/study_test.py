#!/usr/bin/env python3
"""A study's sweep: what must follow from its configurations alone, and its figures."""
import json
import sys

import browser
import pages
import program


class StudyTest(pages.PageTest):
    def rows(self, *chosen, hardware="h200x32", expect=0):
        out = self.dir / "grid"
        done = self.run_program("sweep", f"charllm-{hardware}", *chosen, "-o", out, "--force", expect=expect)
        if expect:
            return done.stderr
        table = json.loads((out / "sweep.json").read_text())
        return {(row["layout"], row["setting"]): row for row in table["configurations"]}

    def test_gpt3_without_fsdp_overlaps_nothing_but_tensor_parallelism(self):
        rows = self.rows("model=gpt3-175b", "layout=tp1-pp32,tp8-pp4", "setting=base,cc", "micro-batch=8")
        self.assertEqual({row["dp"] for row in rows.values()}, {1})
        step = {key: row["step_time_ns"] for key, row in rows.items()}
        # Times are whole nanoseconds: other sums may round otherwise.
        self.assertAlmostEqual(step["tp1-pp32", "base"], step["tp1-pp32", "cc"], delta=2)
        self.assertLess(step["tp8-pp4", "cc"], step["tp8-pp4", "base"])

    def test_mixtral_overlaps_nothing_but_tensor_parallelism(self):
        rows = self.rows("model=mixtral-8x7b", "setting=base,cc", "micro-batch=4")
        step = {key: row["step_time_ns"] for key, row in rows.items()}
        self.assertEqual(step["ep8-tp1-pp1", "base"], step["ep8-tp1-pp1", "cc"])
        self.assertNotEqual(step["ep4-tp2-pp1", "base"], step["ep4-tp2-pp1", "cc"])

    def test_overlap_at_tp1_on_the_other_machine(self):
        rows = self.rows("model=mixtral-8x7b", "layout=ep8-tp1-pp2,ep4-tp1-pp4", "setting=base,cc", "micro-batch=4", hardware="h100x64")
        self.assertEqual({(row["machine"], row["ranks"]) for row in rows.values()}, {("h100-study", 64)})
        for layout in ("ep8-tp1-pp2", "ep4-tp1-pp4"):
            self.assertEqual(rows[layout, "base"]["step_time_ns"], rows[layout, "cc"]["step_time_ns"])

    def test_rows_are_of_the_machine_and_have_power(self):
        rows = self.rows("model=mixtral-8x7b", "setting=base", "micro-batch=4")
        for row in rows.values():
            self.assertEqual((row["machine"], row["ranks"]), ("h200-study", 32))
            self.assertAlmostEqual(row["tokens_per_joule"], row["tokens"] / row["energy_joules"])
            self.assertAlmostEqual(row["mean_watts"] * 32 * row["step_time_ns"] * 1e-9 / row["energy_joules"], 1, places=2)
            self.assertLessEqual(row["mean_watts"], row["peak_watts"])
            self.assertLessEqual(row["peak_watts"], 700.001)
        self.assertIn("did you mean", self.rows("model=mixtral-8x7", expect=2))
        self.assertIn("has no key", self.rows("tp=1", expect=2))

    def test_figures_are_the_rows(self):
        rows = {(row["layout"], row["setting"], row["micro-batch"]): row for row in self.rows_of_figures()}
        data = self.run_json("compare", self.dir / "grid")
        self.assertTrue(data["modelled"])
        self.assertIn("Every number is modelled", data["warnings"][0])
        parts = {part["figure"]: part for part in data["parts"]}
        self.assertEqual(list(parts), ["parallelism", "optimizations", "microbatch"])
        keys = {"tokens_per_second": "tokens_per_second", "tokens_per_joule": "tokens_per_joule", "power": "mean_watts", "peak_power": "peak_watts",
                "temperature": "max_celsius", "throttled": "throttled_share", "energy": "energy_joules"}
        for part in parts.values():
            quantities = {row["name"]: row["cells"] for row in part["quantities"]}
            self.assertLessEqual(keys.keys(), quantities.keys())
            for s, side in enumerate(part["sides"]):
                configuration = dict(pair.split("=") for pair in side["runs"][0]["path"].split())
                row = rows[configuration["layout"], configuration["setting"], configuration["micro-batch"]]
                self.assertEqual(side["label"].endswith("†"), not row["fits"] and part["figure"] != "microbatch")
                self.assertEqual(side["world_size"], 32)
                for name, key in keys.items():
                    self.assertTrue(quantities[name][s]["modelled"], name)
                    self.assertAlmostEqual(quantities[name][s]["value"] / (row[key] or 1), 1 if row[key] else 0, 6, (name, side["label"]))
                base = rows[configuration["layout"], "base", configuration["micro-batch"]]
                if part["figure"] == "optimizations":
                    self.assertAlmostEqual(quantities["power"][s]["ratio"]["value"], row["mean_watts"] / base["mean_watts"])
        # A layout is a line over micro-batches.
        self.assertEqual({(side["series"], side["number"]) for side in parts["microbatch"]["sides"]},
                         {(layout, float(size)) for layout, _, size in rows})

    def rows_of_figures(self):
        self.rows("model=mixtral-8x7b", "setting=base,cc", "micro-batch=2,4")
        return json.loads((self.dir / "grid" / "sweep.json").read_text())["configurations"]

    def test_page_of_figures(self):
        self.rows_of_figures()
        again = self.dir / "again.html"
        self.run_program("compare", self.dir / "grid", "--figure", "microbatch", "-o", again)
        with browser.Page() as page:
            for path, sections, charts in ((self.dir / "grid" / "figures.html", 3, 18), (again, 1, 5)):
                self.opened(page, path)
                self.assertEqual(len(self.sections(page)), sections + 1)
                captions = page.evaluate("[...document.querySelectorAll('figcaption')].map(e => e.textContent)")
                self.assertGreaterEqual(len(captions), charts)
                self.assertEqual([text for text in captions if "modelled" not in text], [])
                self.check_reachable(page)
            lines = page.evaluate("[...document.querySelectorAll('section:last-of-type figure:first-of-type svg path.zero')].length")
            self.assertEqual(lines, 2)
            pages.shot(page, "study")

    def test_figures_that_a_sweep_has_not(self):
        self.rows("model=mixtral-8x7b", "setting=base", "micro-batch=4")
        grid = self.dir / "grid"
        page = self.dir / "page.html"
        for wrong, why in (([grid, "--figure", "heatmap", "-o", page], "a sweep has none"), ([grid], "give -o FILE.html"),
                           ([grid, "--markdown", "-o", page], "of a sweep there are"), ([grid, "--fail-if", "time>1"], "of a sweep there are")):
            self.assertIn(why, self.run_program("compare", *wrong, expect=2).stderr)
        self.assertFalse(page.exists())
        table = json.loads((grid / "sweep.json").read_text())
        for row in table["configurations"]:
            row["fits"] = row["possible"] = "yes"  # never a crash
        (grid / "sweep.json").write_text(json.dumps(table))
        self.assertIn("a row's \"possible\"", self.run_program("compare", grid, "-o", page, expect=3).stderr)
        del table["configurations"][0]["layout"]
        (grid / "sweep.json").write_text(json.dumps(table))
        self.assertIn("a row's \"layout\"", self.run_program("compare", grid, "-o", page, expect=3).stderr)
        (grid / "sweep.json").write_text("{")
        self.assertIn("expected the table of a sweep", self.run_program("compare", grid, "-o", page, expect=3).stderr)

    def test_the_order_of_peaks(self):
        """docs/study.md: deep pipelines are nearer to the limit, and larger micro-batches raise the peak with tensor parallelism."""
        self.rows("model=gpt3-175b", "layout=tp1-pp32,tp4-pp8,tp8-pp4", "setting=base", "micro-batch=4,8")
        table = json.loads((self.dir / "grid" / "sweep.json").read_text())["configurations"]
        peak = {(row["layout"], row["micro-batch"]): row["peak_watts"] for row in table}
        for size in ("4", "8"):
            self.assertGreater(peak["tp1-pp32", size], peak["tp4-pp8", size])
            self.assertGreater(peak["tp4-pp8", size], peak["tp8-pp4", size])
        for layout in ("tp4-pp8", "tp8-pp4"):
            self.assertGreater(peak[layout, "8"], peak[layout, "4"])
        for row in table:
            self.assertAlmostEqual(row["nodes_joules"] - row["energy_joules"], 4 * 2880 * row["step_time_ns"] * 1e-9, delta=1e-5 * row["energy_joules"])

    def test_padding_balances_the_all_to_all_of_8x22b(self):
        for model, equal in (("mixtral-8x22b", True), ("mixtral-8x7b", False)):
            steps = {self.run_json("predict", model, "--machine", "h200-study", "--ranks", "16", "--tp", "1", "--pp", "1",
                                   "--ep", "8", "--global-batch", "16", "--micro-batch", "1", "--sequence", "1024",
                                   "--routing", routing)["step_time_ns"]
                     for routing in ("balanced", "zipf:1")}
            self.assertEqual(len(steps) == 1, equal, model)


if __name__ == "__main__":
    sys.exit(program.main())
