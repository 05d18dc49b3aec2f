#!/usr/bin/env python3
"""`reprise compare` of trace sets, without a replay. About 40 s."""
import gzip
import json
import pathlib
import re
import shutil

import browser
import pages
import program

BAD_INPUT = 3


def ratios(difference):
    return {(group, row["name"], row.get("shapes")): row["ratio"]
            for group in ("classes", "operations", "shapes", "phases") for row in difference[group]
            if row["a"]["ns"] + row["b"]["ns"] > 0}


class CompareSets(pages.PageTest):
    def compare(self, *sides, expect=0):
        return self.run_program("compare", *sides, expect=expect)

    def difference(self, *sides):
        return json.loads(self.compare(*sides, "--json").stdout)["alignments"][0]

    def test_a_capture_against_itself(self):
        for case in ("gloo/gpt_ddp4", "gloo_comms/moe_ep4", "phases/lora"):
            trace = self.convert(case)
            of = self.difference(f"a={trace}", f"b={trace}")
            self.assertEqual(set(ratios(of).values()), {1.0}, case)
            self.assertEqual((of["aligned"]["a"]["share"], of["aligned"]["b"]["share"]), (1.0, 1.0))
            self.assertEqual({name for name, count in of["aligned"]["by"].items() if count}, {"all"})
            self.assertIn("the same time", of["verdict"])
            self.assertEqual(of["totals"]["step_ratio"], 1.0)
            activity = of["totals"]["a"]["activity"]
            self.assertEqual(activity["steps_ns"], sum(activity[key] for key in (
                "busy_ns", "launch_wait_ns", "latency_ns", "other_idle_ns")))
            lines = self.compare(f"a={trace}", f"b={trace}").stdout.rstrip("\n").split("\n")
            self.assertLessEqual(len(lines), 40)

    def test_a_capture_against_its_own_simulation(self):
        for case in ("gloo_comms/gpt_pp4", "gloo_comms/gpt_tp4"):  # pairs, and collectives
            trace, run = self.convert(case), self.dir / case.replace("/", "_run_")
            self.run_program("simulate", trace, "-o", run, "--machine", "recorded", "--quiet")
            of = self.difference(f"set={trace}", f"run={run}")
            self.assertGreater(of["totals"]["a"]["activity"]["waited_ns"], 0)
            for key in ("transfers_ns", "waited_ns", "busy_ns"):
                a, b = (of["totals"][side]["activity"][key] for side in "ab")
                self.assertAlmostEqual(b / a, 1, 2, key)

    def test_what_was_scaled_is_found_and_nothing_else(self):
        trace = self.convert("gloo/gpt_ddp4")
        for name, scale in (("plain", ()), ("scaled", ("--time-scale", "gemm=0.5"))):
            self.run_program("simulate", trace, "-o", self.dir / name, "--machine", "recorded", "--quiet", *scale)
        for a in (self.dir / "plain", trace):
            of = self.difference(f"a={a}", f"b={self.dir / 'scaled'}") if a == trace else \
                self.difference(f"set={trace}", f"b={a}")
            for row in of["classes"]:
                if row["name"] == "comm" or row["a"]["ns"] == 0:
                    continue  # what ranks wait for each other changes with what they compute
                wanted = 0.5 if row["name"] == "gemm" and a == trace else 1
                self.assertAlmostEqual(row["ratio"], wanted, 3, row["name"])
            self.assertEqual(of["aligned"]["a"]["share"], 1.0)
        self.assertIn("gemm", of["verdict"])
        # A step is compared with a step: what the sentence names is a mean of ranks and steps, too.
        gemm = next(row for row in of["classes"] if row["name"] == "gemm")
        passes = len(of["ranks"]) * of["totals"]["a"]["steps"]
        self.assertGreater(passes, 1)
        named = re.search(r" a step; mean of the ranks: gemm -([\d.]+) ms", of["verdict"])
        self.assertAlmostEqual(float(named.group(1)), -gemm["difference_ns"] / passes / 1e6, delta=0.01 * float(named.group(1)))
        self.assertEqual(self.run_json("compare", self.dir / "plain")["kind"], "ranks")

    def test_conditions_markdown_and_figures_of_sets(self):
        trace = self.convert("gloo/gpt_ddp4")
        self.run_program("simulate", trace, "-o", self.dir / "half", "--machine", "recorded", "--quiet", "--time-scale", "gemm=0.5")
        sides = (f"set={trace}", f"run={self.dir / 'half'}")
        self.compare(*sides, "--fail-if", "class.gemm>0.51 || class.elementwise>1.01")
        said = self.compare(*sides, "--fail-if", "class.gemm<=0.51", "--quiet", "-o", self.dir / "fails.html", expect=1).stderr
        self.assertRegex(said, r"run: class\.gemm<=0\.51 holds, it is 0\.5")
        # A set has no energy, and one recording of a side no interval: neither can be checked.
        self.assertIn("can't be checked", self.compare(*sides, "--fail-if", "time.low>1", expect=BAD_INPUT).stderr)
        self.assertIn("they have time", self.compare(*sides, "--fail-if", "nothing>1", expect=2).stderr)
        # One set: its ranks.
        self.compare(trace, "--fail-if", "imbalance.value>5")
        self.compare(trace, "--fail-if", "imbalance.value>=0", expect=1)
        text = self.compare(*sides, "--markdown").stdout
        self.assertIn("## run against set", text)
        self.assertRegex(text, r"\n\| gemm \| \d+ \| .* \| 0\.50x \|")
        self.assertIn("### Ranks", self.compare(trace, "--markdown").stdout)
        # Repeats of a side: an interval, and the names of conditions on it.
        repeats = (f"a={trace},{trace}", f"b={trace},{trace}")
        self.compare(*repeats, "--fail-if", "time.low>1 || time.high<1")
        of = json.loads(self.compare(*repeats, "--json").stdout)
        self.assertEqual((of["repeats"], of["quantities"][0]["cells"][1]["ratio"]), ("recordings", {"value": 1, "low": 1, "high": 1}))
        other = self.convert("gloo/gpt_single")
        self.assertIn("--allow part", self.compare(f"a={trace},{other}", f"b={trace}", expect=BAD_INPUT).stderr)
        # A sweep: other jobs beside each other.
        page_file = self.dir / "sweep.html"
        self.compare(f"ranks 4={trace}", f"ranks 1={other}", "--figure", "parallelism", "--figure", "heatmap", "-o", page_file, "--quiet")
        with browser.Page() as page:
            self.opened(page, page_file)
            pages.shot(page, "sweep_of_sets")
            charts = self.sections(page)
            self.assertGreater(charts["parallelism"], 2)
            self.assertGreater(charts["heatmap"], 10)

    def test_unrelated_swapped_and_truncated_captures(self):
        gpt, resnet = self.convert("gloo/gpt_single"), self.convert("gloo/resnet18")
        said = self.compare(gpt, resnet, expect=BAD_INPUT).stderr
        self.assertRegex(said, r"not of one job: \d+\.\d % of their operations align")
        self.assertIn("--allow trace", said)
        self.assertIn("not of one job", self.compare(gpt, resnet, "--allow", "trace").stdout)
        # The file of another stage of the pipeline in the place of this one's.
        pipeline = self.convert("gloo_comms/gpt_pp4")
        first, last = (next(pipeline.glob(f"*.{rank}.et*")) for rank in (0, 3))
        of = self.difference(first, last)
        self.assertLess(of["aligned"]["a"]["share"], 1)
        self.assertIn("rank 0", of["notes"][0])
        # A capture that lacks its end.
        half = self.dir / "half"
        shutil.copytree(program.TRACES / "gloo/gpt_single", half)
        kineto = half / "rank0.kineto.json.gz"
        data = json.loads(gzip.decompress(kineto.read_bytes()))
        times = sorted(event["ts"] for event in data["traceEvents"] if event.get("cat") == "cpu_op")
        data["traceEvents"] = [event for event in data["traceEvents"]
                               if event.get("cat") != "cpu_op" or event["ts"] < times[len(times) * 3 // 4]]
        kineto.write_bytes(gzip.compress(json.dumps(data).encode()))
        (half / "rank0.et.json.gz").unlink()
        self.run_program("convert", half, "-o", self.dir / "cut")
        of = self.difference(gpt, self.dir / "cut")
        share = of["aligned"]["a"]["share"]
        self.assertTrue(0.5 < share < 0.9, share)
        self.assertGreater(sum(row["a"]["alone_count"] for row in of["operations"]), 100)
        # A file that lacks its end.
        broken = self.dir / "broken"
        shutil.copytree(gpt, broken)
        file = next(broken.glob("*.et*"))
        file.write_bytes(file.read_bytes()[:-1000])
        self.assertIn(file.name, self.compare(gpt, broken, expect=BAD_INPUT).stderr)

    def test_ranks_of_one_set(self):
        trace = self.convert("gloo_comms/gpt_pp4")
        of = json.loads(self.compare(trace, "--json").stdout)
        self.assertEqual([rank["rank"] for rank in of["ranks"]], [0, 1, 2, 3])
        self.assertTrue(any(rank["waited_ns"] > 0 for rank in of["ranks"]))
        text = self.compare(trace).stdout
        self.assertLessEqual(len(text.rstrip("\n").split("\n")), 40)
        self.assertIn("Classes that differ most between ranks", text)

    def test_phases_of_inference_equal_the_marks(self):
        trace = self.convert("phases/decode")
        side = json.loads(self.compare(trace, trace, "--json").stdout)["sides"][0]
        inference = side["ranks"][0]["inference"]
        marks = self.marks(trace, ("prefill", "decode"))
        passes = inference["passes"]
        self.assertEqual([of["kind"] for of in passes], [name for name, _, _ in marks])
        self.assertEqual([of["context"] for of in passes], list(range(24, 32)))
        self.assertEqual((passes[0]["tokens"], passes[0]["sequences"]), (24, 2))
        # Two layers; keys and values of 2 sequences, 4 heads, 16 numbers of 4 bytes.
        self.assertEqual(inference["cache_growth_bytes"], 2 * 2 * 2 * 4 * 16 * 4)
        for of, (name, start_ns, end_ns) in zip(passes, marks):
            self.assertTrue(start_ns <= of["start_ns"] and of["end_ns"] <= end_ns, (name, of, start_ns, end_ns))
        self.assertEqual(inference["first_token_ns"], passes[0]["end_ns"] - passes[0]["start_ns"])

    def test_phases_and_frozen_weights_of_lora(self):
        trace = self.convert("phases/lora")
        side = json.loads(self.compare(trace, trace, "--json").stdout)
        weights = side["sides"][0]["ranks"][0]["weights"]
        # Adapters of rank 4 beside the four products of two layers; these and the head are frozen.
        self.assertEqual(weights, {"trained": 16, "trained_bytes": 32768, "frozen": 9, "frozen_bytes": 458752})
        self.assertIsNone(side["sides"][0]["ranks"][0]["inference"])
        marks = self.marks(trace, ("forward", "backward", "optimizer"))
        nodes = self.nodes(trace)
        counted = {row["name"]: row["a"]["count"] for row in side["alignments"][0]["phases"]}
        work = [node["start_ns"] for node in nodes if node["op_kind"] == "work" and node["op_class"] not in ("host", "metadata")]
        for name, start_ns, end_ns in marks:
            # What draws the batch comes before the first mark.
            begin_ns = 0 if name == "forward" else start_ns
            self.assertEqual(counted.get(name), sum(begin_ns <= at < end_ns for at in work), name)
        self.assertEqual(len(marks), 3)

    def nodes(self, trace):
        out = self.dir / "nodes.json"
        self.run_program("export", next(trace.glob("*.et*")), "--to", "json", "-o", out, "--force")
        return json.loads(out.read_text())["nodes"]

    def marks(self, trace, names):
        out = self.dir / "marks.json"
        self.run_program("export", next(trace.glob("*.et*")), "--to", "json", "-o", out, "--force")
        metadata = json.loads(out.read_text())["metadata"]
        return [(of["name"], of["start_ns"], of["start_ns"] + of["duration_ns"])
                for of in metadata["ranges"] if of["name"] in names]

    def test_modules_tell_layers_apart_and_overlapping_kernels_count_whole(self):
        def capture(name, layers, runtime):
            events, at = [], 0
            for layer in layers:
                events.append({"ph": "X", "cat": "python_function", "name": f"nn.Module: Layer_{layer}", "pid": 1, "tid": 1,
                               "ts": at, "dur": 99})
                for k in range(3):
                    correlation = len(events)
                    for category, event, ts, dur, tid, args in (
                            ("cpu_op", "aten::mm", at + 30 * k, 20, 1, {"External id": correlation}),
                            ("cuda_runtime", runtime, at + 30 * k + 5, 5, 1, {"correlation": correlation}),
                            # Each but the last of a layer ends 1.5 us after the next has begun.
                            ("kernel", f"gemm_{name}", at + 30 * k + 12, 31.5, 7, {"correlation": correlation, "stream": 7,
                                                                                   "device": 0, "External id": correlation})):
                        events.append({"ph": "X", "cat": category, "name": event, "pid": 1, "tid": tid, "ts": ts, "dur": dur,
                                       "args": args})
                at += 200
            file = self.dir / f"{name}.json"
            file.write_text(json.dumps({"traceEvents": events}))
            self.run_program("convert", "--device-trace", file, "-o", self.dir / f"{name}.0.et")
            return self.dir / f"{name}.0.et"

        a = capture("whole", range(6), "cudaLaunchKernel")
        b = capture("lacking", (0, 1, 3, 4, 5), "hipLaunchKernel")  # the layer in the middle
        of = self.difference(a, b)
        self.assertEqual((of["aligned"]["a"]["aligned"], of["aligned"]["a"]["operations"]), (15, 18))
        self.assertEqual(of["aligned"]["by"]["all"], 15)
        self.assertEqual(of["totals"]["a"]["device_ns"], 18 * 31_500)
        self.assertEqual(of["totals"]["a"]["overlap_ns"], 0)  # nothing was cut
        self.assertEqual(of["totals"]["b"]["device_ns"], 15 * 31_500)

    def test_the_page(self):
        trace = self.convert("phases/decode")
        page_file = self.dir / "page.html"
        hostile = f"a{pages.HOSTILE[:30]}"
        self.run_program("compare", f"{hostile}={trace}", f"b={trace}", "-o", page_file, "--quiet")
        with browser.Page() as page:
            self.opened(page, page_file)
            pages.shot(page, "recordings")
            charts = self.sections(page)
            self.assertGreater(charts["timelines"], 10)
            self.assertGreater(charts["activity"], 1)
            self.assertGreater(charts["passes"], 7)
            self.check_reachable(page)
            self.check_harmless(page)
            self.check_themes(page, "recordings")
        # The ranks of a set, with a side or alone.
        ranks = self.convert("gloo_comms/gpt_pp4")
        self.run_program("compare", ranks, "-o", page_file, "--quiet", "--force")
        with browser.Page() as page:
            self.opened(page, page_file)
            pages.shot(page, "ranks")
            self.assertGreater(self.sections(page)["ranks"], 10)
            text = page.evaluate("document.getElementById('ranks').innerText")
            self.assertIn("rank 3", text)
            self.assertIn(json.loads(self.compare(ranks, "--json").stdout)["verdict"], text)


if __name__ == "__main__":
    program.main()
