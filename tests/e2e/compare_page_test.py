#!/usr/bin/env python3
"""The page of a comparison and its figures as a person sees them: in Chromium, without a network. About 25 s.

Set REPRISE_SHOTS to a directory to keep screenshots.
"""
import json
import re

import browser
import pages
import program
import synthetic_run

FIGURES = ["parallelism", "optimizations", "microbatch", "heatmap"]
CHARTS = ["ratios", "steps", "differences", "parts", "energy", "collectives"]


class InBrowser(pages.PageTest):
    def write(self, directory, **settings):
        run = self.dir / directory
        synthetic_run.write_run(program.REPRISE, run, **{"ranks": 4, "layers": 2, "iterations": 4, "period_ms": 5, **settings})
        return run

    def compare(self, *sides, figures=(), name="compare.html"):
        page = self.dir / name
        wanted = [word for figure in figures for word in ("--figure", figure)]
        self.run_program("compare", *sides, *wanted, "-o", page, "--quiet")
        return page

    def text(self, page, selector):
        return page.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent).join(' | ')")

    def row(self, page, section, name):
        """The cells of a table's row, opened if it is folded."""
        page.evaluate(f"document.querySelectorAll('#{section} details').forEach(d => {{ d.open = true; }})")
        return page.wait_for(f"[...document.querySelectorAll('#{section} tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
                             f".find(cells => cells[0] === {json.dumps(name)})")

    def test_sides_with_repeats(self):
        old, new = [",".join(str(self.write(f"{label}{k}", slowness=slowness * (1 + k / 100))) for k in range(3))
                    for label, slowness in (("old", 3), ("new", 2))]
        sides = [f"old={old}", f"new={new}", f"again={old}"]
        data = self.run_json("compare", *sides)
        path = self.compare(*sides)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "compare-light")
            charts = self.sections(page)
            self.assertEqual([name for name in CHARTS if charts.get(name, 0) == 0], [])
            self.check_reachable(page)
            self.assertEqual(self.text(page, "#verdict .verdict").split(" | "), data["verdicts"])
            # What the numbers are stands next to them, and what better is in words.
            self.assertIn("from run to run", self.text(page, "#verdict .note"))
            ratio = next(row for row in data["quantities"] if row["name"] == "time")["cells"][1]["ratio"]
            said = f"{ratio['value']:#.3g}× ({ratio['low']:#.3g} to {ratio['high']:#.3g})"
            _, _, new, again = self.row(page, "summary", "step time")
            self.assertIn(said, new)
            self.assertIn("▲ better", new)
            self.assertIn("n = 3", new)
            self.assertIn(said, self.text(page, "#ratios svg text"))
            self.assertIn("no difference shown", again)
            # The chart's table says the same as the chart.
            self.assertIn(said, self.row(page, "ratios", "step time"))
            self.assertEqual(len(page.evaluate("[...document.querySelectorAll('#steps svg path.point')].map(p => p.tagName)")), 36)
            self.assertEqual(page.problems, [])
            self.check_themes(page, "compare")

    def test_eight_sides_and_unequal_names(self):
        labels = [f"machine {k}" for k in range(6)] + ["a machine with quite a long name of its own", "8"]
        sides = [f"{label}={self.write(str(k), slowness=1 + k / 4)}" for k, label in enumerate(labels)]
        path = self.compare(*sides)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "compare-eight")
            self.assertEqual(self.text(page, "#verdict .card dt").split(" | "), labels)
            self.assertEqual(page.evaluate("document.querySelectorAll('#verdict .verdict').length"), 7)
            self.assertIn("They are no claim and have no interval", self.text(page, "#verdict .note"))
            # One run a side: a ratio, and no judgement of it.
            slowest = self.row(page, "summary", "step time")[7]
            self.assertIn("(no interval)", slowest)
            self.assertNotIn("worse", slowest)
            # The page itself never scrolls sideways; its wide tables do.
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 1180)
            self.assertGreater(self.sections(page)["differences"], 7)

    def test_figures(self):
        sides = [f"mb {size}={self.write(f'mb{size}', slowness=2 + 4 / size)}" for size in (1, 2, 4)] + [f"base={self.write('base')}"]
        path = self.compare(*sides, figures=FIGURES)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "figures")
            self.assertEqual(list(self.sections(page)), ["notes", *FIGURES, "runs"])
            self.assertEqual(self.text(page, ".verdict"), "")
            self.check_reachable(page)
            drawn = {name: page.evaluate(f"document.querySelectorAll('#{name} figure svg').length") for name in FIGURES}
            self.assertGreaterEqual(drawn["parallelism"], 6)
            self.assertGreaterEqual(drawn["optimizations"], 7)
            self.assertGreaterEqual(drawn["microbatch"], 4)
            self.assertEqual(drawn["heatmap"], 4)
            # Rates are in words of a unit, ratios to the first are 1 for the first.
            self.assertIn("steps per second", self.text(page, "#parallelism .note"))
            self.assertIn("1×", self.text(page, "#optimizations svg text.value").split(" | "))
            self.assertIn("not drawn: base", self.text(page, "#microbatch .note"))
            self.assertIn("all_reduce", self.text(page, "#parallelism .legend"))
            self.check_shades(page)

    def check_shades(self, page):
        """One scale across sides: the first cell of a map is a rank's step, slowest for the first side, fastest for the last."""
        shades = page.evaluate("[...document.querySelectorAll('#heatmap figure svg')].map(s => s.querySelector('path[style]').style.fill)")
        shares = [int(re.search(r"(\d+)%", shade).group(1)) for shade in shades]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertGreater(shares[0] - shares[3], 50)

    def test_a_heat_map_needs_one_side_only(self):
        path = self.compare(self.write("run"), figures=["heatmap"])
        with browser.Page() as page:
            self.opened(page, path)
            self.assertEqual(list(self.sections(page)), ["notes", "heatmap", "runs"])
            self.assertNotIn("Ratios", self.text(page, "#notes"))

    def test_hostile_names_are_text(self):
        runs = [self.write(side, ranks=2, layers=1, name=lambda text: text + pages.HOSTILE) for side in ("a", "b")]
        for number, run in enumerate(runs):
            manifest = json.loads((run / "manifest.json").read_text())
            manifest["options"][pages.HOSTILE] = f"{number}{pages.HOSTILE}"
            (run / "manifest.json").write_text(json.dumps(manifest))
        label = "</script><script>throw 1</script><b>"
        with browser.Page() as page:
            for name, figures in (("compare", []), ("figures", FIGURES)):
                self.opened(page, self.compare(f"{label}={runs[0]}", f"4{label}={runs[1]}", figures=figures, name=f"{name}.html"))
                pages.shot(page, f"{name}-hostile")
                self.check_harmless(page)
                self.assertEqual(page.evaluate("document.querySelectorAll('b').length"), 0)
                self.assertIn(f"4{label}", self.text(page, "#runs td"))

    def test_sides_of_which_little_is_known(self):
        runs = []
        for name in ("a", "b"):
            runs.append(self.dir / name)
            self.run_program("monitor", "-o", runs[-1], "--sample-period", "off", "--", "true")
        with browser.Page() as page:
            for name, figures in (("compare", []), ("figures", FIGURES)):
                self.opened(page, self.compare(*runs, figures=figures, name=f"{name}.html"))
                pages.shot(page, f"{name}-little")
                self.assertEqual(page.evaluate("document.querySelectorAll('.error').length"), 0)
                # Each empty panel says why, and what is no section at all.
                self.assertGreater(len(self.text(page, "section .note, #absent li").split(" | ")), 6)
                self.assertEqual(page.evaluate("[...document.querySelectorAll('section')].filter(s => s.children.length < 2 "
                                               "|| !s.children[1].textContent).length"), 0)


if __name__ == "__main__":
    program.main()
