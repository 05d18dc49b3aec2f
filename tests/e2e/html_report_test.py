#!/usr/bin/env python3
"""The HTML report as a person sees it: in Chromium, without a network. About 30 s.

Set REPRISE_SHOTS to a directory to keep screenshots.
"""
import json
import resource
import sqlite3

import browser
import pages
import program
import synthetic_run

USAGE = 2


def children_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_page(test, run, name="report.html"):
    page = test.dir / name
    test.run_program("report", run, "-o", page, "--quiet")
    return page


class Output(program.ProgramTest):
    def test_file_and_console(self):
        run, page = self.dir / "run", self.dir / "r.html"
        synthetic_run.write_run(program.REPRISE, run, ranks=2, layers=2)
        plain = self.run_program("report", run).stdout
        written = self.run_program("report", run, "-o", page).stdout
        self.assertEqual(written.split("\n\nMore: ")[0], plain.split("\n\nMore: ")[0])
        self.assertTrue(written.endswith(f"page written to {page}\n"), written)
        self.assertTrue(page.read_text().startswith("<!doctype html>"))
        refused = self.run_program("report", run, "-o", page, expect=USAGE)
        self.assertIn("--force", refused.stderr)
        self.assertEqual(self.run_program("report", run, "-o", page, "--force", "--quiet").stdout, "")
        self.assertEqual(json.loads(self.run_program("report", run, "-o", page, "--force", "--json").stdout),
                         self.run_json("report", run))
        self.assertIn(".html", self.run_program("report", run, "-o", self.dir / "r.txt", expect=USAGE).stderr)
        self.run_program("report", run, "--quiet", expect=USAGE)
        self.run_program("report", self.dir / "none", "-o", self.dir / "x.html", expect=3)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["r.html", "run"])


class InBrowser(pages.PageTest):
    def test_a_simulated_folded_set(self):
        trace, run = self.dir / "trace", self.dir / "run"
        self.run_program("generate", "llama3-8b", "--tp", "2", "--pp", "2", "--dp", "4", "--global-batch", "16",
                         "--micro-batch", "1", "-o", trace)
        self.run_program("simulate", trace, "-o", run, "--machine", "h100-hgx", "--slow", "5=1.3", "--quiet")
        with browser.Page() as page:
            self.opened(page, write_page(self, run))
            pages.shot(page, "simulated")
            charts = self.sections(page)
            for section in ("summary", "step-time", "busbw", "roofline", "heat-map", "telemetry", "phases", "energy"):
                self.assertGreater(charts.get(section, 0), 0, section)
            for section in ("overlap", "critical-path", "offenders"):
                self.assertNotIn(section, charts)
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            page.wait_for("document.querySelectorAll('#shapes td').length > 0")
            words = page.evaluate("document.getElementById('main').textContent")
            for word in ("replayed", "Replayed", "NaN", "undefined", "0 of 16"):
                self.assertNotIn(word, words)
            for word in ("modelled", "How times were found", "class 0 (×3)", "mean of 16 ranks",
                         "Classes of equal ranks"):
                self.assertIn(word, words)
            # Above all what a reader of a prediction asked; energy is one of six.
            self.assertEqual(page.evaluate("[...document.querySelectorAll('#summary .card dt')].map((head) => head.textContent)"),
                             ["Step", "Throughput", "MFU", "Memory", "Power of a device", "Devices"])
            heads = page.evaluate("[...document.querySelectorAll('th')].map((head) => head.textContent)")
            self.assertIn("times from", heads)
            self.assertEqual([head for head in heads if "recorded" in head or head in ("error", "ratio")], [])

    def test_charts_filters_keys_and_themes(self):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, ranks=10, layers=3, slowness=5)
        path = write_page(self, run)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "light")
            charts = self.sections(page)
            for section in ("summary", "step-time", "overlap", "critical-path", "stragglers", "busbw", "roofline",
                            "heat-map", "telemetry", "phases", "energy"):
                self.assertGreater(charts.get(section, 0), 0, section)
            self.assertEqual(page.evaluate("document.querySelectorAll('#roofline path.roof').length"), 1)
            self.assertGreater(int(page.evaluate("document.documentElement.dataset.charts")), 15)
            self.check_reachable(page)
            self.check_filters(page)
            self.check_telemetry(page)
            self.opened(page, path, "#rank=3&class=gemm")
            self.assertEqual(self.rank_labels(page), ["rank 3"])
            self.check_themes(page, "report")

    def test_charts_can_be_read_on_a_phone(self):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, ranks=3, layers=2)
        path = write_page(self, run)
        with browser.Page() as page:
            page.resize(380)
            self.opened(page, path)
            pages.shot(page, "phone")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 380)
            letters = page.evaluate("[...document.querySelectorAll('figure svg')].map((svg) => "
                                    "12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)")
            self.assertGreater(len(letters), 5)
            self.assertGreaterEqual(min(letters), 10)  # pixels

    def rank_labels(self, page):
        return page.evaluate("[...document.querySelectorAll('#step-time svg text')].map(t => t.textContent)"
                             ".filter(t => t.startsWith('rank '))")

    def choose(self, page, name, value):
        page.evaluate(f"{{ const s = document.getElementById('filter-{name}'); s.value = '{value}'; "
                      "s.dispatchEvent(new Event('change')); }")

    def check_filters(self, page):
        self.assertEqual(len(self.rank_labels(page)), 10)
        self.choose(page, "rank", 3)
        self.assertEqual(self.rank_labels(page), ["rank 3"])
        self.choose(page, "class", "gemm")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#step-time .legend li')].map(l => l.textContent)"), ["gemm"])
        self.assertIn("rank=3", page.evaluate("location.hash"))
        replayed = "[...document.querySelectorAll('#step-time svg path[style]')].pop().getAttribute('d')"
        median = page.evaluate(replayed)
        self.choose(page, "iteration", 2)
        self.assertNotEqual(page.evaluate(replayed), median)
        self.assertEqual(page.evaluate("location.hash"), "#rank=3&class=gemm&iteration=2")
        page.evaluate("[...document.querySelectorAll('#filters button')].pop().click()")
        self.assertEqual((len(self.rank_labels(page)), page.evaluate("location.hash")), (10, ""))
        # The table behind a chart says the same: ten ranks of a step and its classes.
        page.evaluate("document.querySelector('#step-time details').open = true")
        self.assertEqual(page.wait_for("document.querySelectorAll('#step-time table tbody tr').length"), 10 * 7)
        self.assertEqual(page.problems, [])

    def check_telemetry(self, page):
        shown = "document.querySelector('#telemetry [role=status]').textContent"
        whole = page.evaluate(shown)
        page.evaluate("document.querySelector('#telemetry figure svg').focus()")
        page.key("+")
        zoomed = page.evaluate(shown)
        self.assertNotEqual(zoomed, whole)
        page.key("0")
        self.assertEqual(page.evaluate(shown), whole)
        box = page.evaluate("(() => { const s = [...document.querySelectorAll('#telemetry .selection')].pop().ownerSVGElement;"
                            " s.scrollIntoView({block: 'center'}); const r = s.getBoundingClientRect(); return [r.x, r.y, r.width]; })()")
        page.drag(box[0] + box[2] * 0.5, box[1] + 10, box[0] + box[2] * 0.7, box[1] + 10)
        self.assertNotEqual(page.evaluate(shown), whole)
        self.assertEqual(page.problems, [])

    def test_hostile_names_are_text(self):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, ranks=2, layers=1, name=lambda text: text + pages.HOSTILE)
        path = write_page(self, run)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "hostile")
            self.check_harmless(page)
            self.assertIn("aten::mm</script>", page.evaluate("document.getElementById('offenders').textContent"))
            self.assertIn("node00</script>", page.evaluate("document.getElementById('settings').textContent"))

    def test_half_written_run_says_what_is_missing(self):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, ranks=4, layers=2)
        (run / "rank3.sqlite").unlink()
        with sqlite3.connect(run / "rank1.sqlite") as database:
            # Killed within iteration 2.
            database.execute("UPDATE ranks SET closed = 0")
            database.execute("DELETE FROM steps WHERE iteration >= 2")
            database.execute("DELETE FROM records_rows WHERE shared IN (SELECT shared FROM records_shared WHERE iteration > 2)")
        manifest = json.loads((run / "manifest.json").read_text())
        (run / "manifest.json").write_text(json.dumps({**manifest, "complete": False}))
        path = write_page(self, run)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "killed")
            said = page.evaluate("[...document.querySelectorAll('#summary .warning')].map(w => w.textContent).join(' ')")
            self.assertIn("not complete", said)
            self.assertIn("1 rank of 4", said)
            self.assertIn("1 of 3 iterations", said)
            self.assertIn("rank 3", page.evaluate("document.getElementById('notes').textContent"))
            self.assertGreater(self.sections(page)["step-time"], 10)

    def test_a_monitored_program_has_no_coverage(self):
        run = self.dir / "run"
        self.run_program("monitor", "-o", run, "--", "sleep", "0.5")
        path = write_page(self, run)
        with browser.Page() as page:
            self.opened(page, path)
            pages.shot(page, "monitor")
            said = page.evaluate("document.getElementById('summary').textContent")
            self.assertIn("Nothing was replayed", said)
            self.assertNotIn("Coverage: real", said)
            sections = self.sections(page)
            self.assertNotIn("step-time", sections)
            self.assertGreater(sections["telemetry"], 0)

    def test_many_ranks_make_a_small_page(self):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, ranks=64, layers=12, period_ms=20, slowness=5)
        began = children_cpu_s()
        path = write_page(self, run)
        built = children_cpu_s() - began
        self.assertLess(path.stat().st_size, 10_000_000)
        with browser.Page() as page:
            opened = self.opened(page, path)
            pages.shot(page, "many")
            ready = int(page.evaluate("document.documentElement.dataset.milliseconds"))
        print(f"64 ranks: {path.stat().st_size / 1e6:.1f} MB, built in {built:.1f} CPU-seconds, ready after {ready} ms "
              f"({opened:.1f} s with the browser)")
        # Goals are 5 s and 3 s; machines that run tests are busy, and a page's time is that of the clock.
        self.assertLess(built, 20)
        self.assertLess(ready, 40_000)


if __name__ == "__main__":
    program.main()
