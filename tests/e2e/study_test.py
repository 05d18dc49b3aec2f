#!/usr/bin/env python3
"""A study's grid, simulated: what must follow from its configurations alone."""
import json
import sys

import program
from program import ProgramTest


class StudyTest(ProgramTest):
    def rows(self, *chosen, expect=0):
        out = self.dir / "grid"
        keys = [part for key in chosen for part in ("--sweep", key)]
        done = self.run_program("simulate", "--grid", "charllm", "--hardware", "h200x32", *keys, "-o", out, "--force",
                                expect=expect)
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

    def test_rows_are_of_the_machine_and_have_power(self):
        rows = self.rows("model=mixtral-8x7b", "setting=base", "micro-batch=4")
        for row in rows.values():
            self.assertEqual((row["machine"], row["ranks"]), ("h200-study", 32))
            self.assertAlmostEqual(row["tokens_per_joule"], row["tokens"] / row["energy_joules"])
            self.assertAlmostEqual(row["mean_watts"] * 32 * row["step_time_ns"] * 1e-9 / row["energy_joules"], 1, places=2)
            self.assertLessEqual(row["mean_watts"], row["peak_watts"])
            self.assertLessEqual(row["peak_watts"], 700.001)
        self.assertIn("did you mean", self.rows("model=mixtral-8x7", expect=2))
        self.assertIn("the grid has no key", self.rows("tp=1", expect=2))

    def test_padding_balances_the_all_to_all_of_8x22b(self):
        for model, equal in (("mixtral-8x22b", True), ("mixtral-8x7b", False)):
            steps = {self.run_json("simulate", model, "--machine", "h200-study", "--ranks", "16", "--tp", "1", "--pp", "1",
                                   "--ep", "8", "--global-batch", "16", "--micro-batch", "1", "--sequence", "1024",
                                   "--routing", routing)["step_time_ns"]
                     for routing in ("balanced", "zipf:1")}
            self.assertEqual(len(steps) == 1, equal, model)


if __name__ == "__main__":
    sys.exit(program.main())
