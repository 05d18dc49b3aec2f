#!/usr/bin/env python3
"""Which layout? predict without one, and what its answer is of."""
import sys

import program

JOB = ("gpt-small", "--global-batch", "16", "--machine", "a100-hgx")


class SearchTest(program.ProgramTest):
    def test_the_best_layouts_are_what_predict_says_of_them(self):
        found = self.run_json("predict", *JOB, "--ranks", "8", "--recompute", "none")
        layouts = found["layouts"]
        self.assertEqual(layouts["considered"], layouts["too_large"] + layouts["slower"] + layouts["simulated"])
        self.assertGreater(layouts["considered"], 20)
        self.assertEqual(found["kept"], {"global-batch": "16", "recompute": "none", "overlap": "none", "cp": "1"})
        self.assertEqual(len(found["best"]), 5)
        steps = [row["prediction"]["step_time_ns"] for row in found["best"]]
        self.assertEqual(steps, sorted(steps))
        for row in found["best"]:
            alone = self.run_json("predict", *JOB, "--ranks", "8", "--recompute", "none", *row["options"].split())
            largest = alone["memory"].pop("largest_micro_batch")  # a search does not look for it
            self.assertGreaterEqual(largest, 1)
            self.assertEqual(row["prediction"], alone)
            self.assertEqual(row["left_bytes"], alone["memory"]["of_bytes"] - alone["memory"]["peak_bytes"])
        text = self.run_program("predict", *JOB, "--ranks", "8", "--recompute", "none").stdout
        self.assertIn("modelled", text)
        self.assertIn(f"{layouts['considered']} layouts keep the rules", text)
        self.assertRegex(text, r"(?m)^Job gpt-small: 16 sequences of \d+ tokens a step, \w+, on 8 ranks\.$")
        for row in found["best"]:
            self.assertIn(row["options"], text)
        self.assertLessEqual(max(map(len, text.splitlines())), 120)

    def test_the_presets_batch_is_said(self):
        text = self.run_program("predict", "gpt-small", "--machine", "a100-hgx", "--ranks", "8").stdout
        self.assertRegex(" ".join(text.split()), r" Job gpt-small: 8 sequences of 32 tokens a step, float32, on 8 ranks; --global-batch changes how many\. ")

    def test_what_is_given_is_kept(self):
        found = self.run_json("predict", *JOB, "--ranks", "8", "--tp", "2", "--micro-batch", "2")
        for row in found["best"]:
            job = row["prediction"]["job"]
            self.assertEqual((job["tp"], job["micro_batch"], job["tp"] * job["pp"] * job["dp"]), (2, 2, 8))
            self.assertNotIn("--tp", row["options"])
        # With both, data parallelism follows: one layout.
        self.assertEqual(self.run_json("predict", *JOB, "--ranks", "8", "--tp", "2", "--pp", "2")["job"]["dp"], 2)

    def test_refused(self):
        for args, code, words in (
                (["--ranks", "8", "-o", self.dir / "run"], 2, "give --tp and --pp"),
                (["--ranks", "8", "--tp", "3"], 2, "--ranks 8 is not a multiple of"),
                (["--ranks", "8", "--routing", "zipf:1"], 2, "--routing has no effect"),
                (["--ranks", "16", "--set", "node.nodes=1"], 3, "16 ranks")):
            self.assertIn(words, self.run_program("predict", *JOB, *args, expect=code).stderr)
        none = self.run_program("predict", "llama3-8b", "--machine", "v100-dgx", "--dtype", "float16", "--ranks", "2",
                                "--micro-batch", "1", "--global-batch", "8").stdout
        self.assertIn("None fits. What lacks the least takes", none)


if __name__ == "__main__":
    sys.exit(program.main())
