#!/usr/bin/env python3
"""The main job on real captures: convert, validate, replay on as many ranks, report."""
import sqlite3
import sys

import program

# Case → ranks and iterations; the single-rank ones are there for their operators.
CASES = {
    "quickstart": 2,
    "gloo/gpt_ddp4": 4,
    "gloo_comms/gpt_tp4": 4,
    "gloo_comms/gpt_pp4": 4,
    "gloo_comms/gpt_fsdp4": 4,
    "gloo_comms/moe_ep4": 4,
    "gloo_comms/collectives4": 4,
    "gloo/gpt_single": 1,
    "gloo/gpt_recompute": 1,
    "gloo/resnet18": 1,
}


class ReplayTest(program.ProgramTest):
    def check_case(self, case, ranks):
        trace = self.convert(case)
        timing = self.run_json("validate", trace, "--timing")["timing"]
        scopes = [row["scope"] for row in timing]
        self.assertEqual(scopes.count("rank"), ranks)
        for row in timing:
            self.assertLessEqual(abs(row["error"]), 0.01, row)
            self.assertEqual(row["violated_edges"], 0, row)
            self.assertLess(row["unexplained_ns"], 0.01 * row["recorded_ns"], row)
        run = self.dir / "run"
        self.run_program("replay", trace, "-o", run, "--check", "--iterations", "1", "--device", "opencl",
                         "--sample-period", "5", ranks=ranks)  # even the shortest step has samples
        report = self.run_json("report", run)
        coverage = report["coverage"]
        self.assertAlmostEqual(sum(coverage[k] for k in ("real", "surrogate", "timed", "skipped", "waiting", "host")), 1)
        self.assertGreaterEqual(program.real_of_work(report), 0.99, coverage)
        self.assertEqual(len(report["ranks"]), ranks)
        self.assertGreater(report["step_time_replayed_ns"], 0)
        self.assertGreater(report["step_time_recorded_ns"], 0)
        self.assertGreater(report["energy_joules"], 0)
        recorded_on = self.run_json("stats", trace)["ranks"][0].get("machine") or {"processor": ""}
        self.assertEqual(report["recorded_on"]["processor"], recorded_on["processor"])
        self.check_report(run, report, ranks)
        self.check_transfers(trace, run, ranks)

    def check_report(self, run, report, ranks):
        """The verdict comes first; the short report keeps to its size."""
        verdict = report["verdict"]
        # Most captures name no machine; only on the recorded one is a difference an error.
        same = report["recorded_on"]["processor"] and report["recorded_on"] == report["replayed_on"]
        self.assertEqual(verdict["kind"], "error" if same else "speed")
        self.assertEqual(verdict["untraced"], report["step_time_untraced_ns"] is not None)
        self.assertTrue(report["replayed_on"]["processor"])
        self.assertEqual([load["ranks"] for load in report["host_loads"]], [ranks])
        load = report["host_loads"][0]
        self.assertEqual(report["oversubscribed"], load["threads"] > load["cores"])
        self.assertTrue(any(row["shape"].startswith("[") for row in report["shapes"]) or not report["shapes"])
        text = self.run_program("report", run).stdout
        self.assertTrue(" ".join(text.split()).startswith(verdict["text"]), text)
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertIn("rror", self.run_program("report", run, "--same-machine").stdout)
        self.assertIn("shapes", self.run_program("report", run, "--section", "shape", expect=2).stderr)
        full = self.run_program("report", run, "--full").stdout
        self.assertIn(self.run_program("report", run, "--section", "ranks").stdout, full)

    def check_transfers(self, trace, run, ranks):
        """Every transfer of the trace ran once an iteration, with the recorded bytes."""
        stats = self.run_json("stats", trace)
        database = sqlite3.connect(run / "run.sqlite")
        planned, executed = database.execute(
            "SELECT count(*), sum(replayed_duration_ns IS NOT NULL) FROM nodes "
            "WHERE kind = 'comm'").fetchone()
        self.assertEqual(planned, sum(row["count"] for row in stats["transfers"]))
        if ranks > 1:
            self.assertGreater(planned, 0)
            self.assertEqual(planned, executed)
        sent, = database.execute("SELECT total(in_bytes) FROM collectives").fetchone()
        self.assertEqual(sent, sum(row["in_bytes"] for row in stats["transfers"]))


def add_case(case, ranks):
    name = "test_" + case.replace("/", "_")
    setattr(ReplayTest, name, lambda self: self.check_case(case, ranks))


for _case, _ranks in CASES.items():
    add_case(_case, _ranks)

if __name__ == "__main__":
    sys.exit(program.main())
