#!/usr/bin/env python3
"""reprise validate on converted captures, and on what is wrong with them."""
import shutil
import sys

import program

CHECK_FAILED, USAGE, BAD_INPUT = 1, 2, 3


class Validate(program.ProgramTest):
    def test_timing_of_a_set(self):
        trace = self.convert("gloo_comms/gpt_pp4")
        result = self.run_json("validate", "--timing", trace)
        self.assertTrue(result["ok"])
        self.assertEqual(result["errors"], [])
        rows = result["timing"]
        self.assertEqual([(row["scope"], row["rank"]) for row in rows],
                         [("rank", 0), ("rank", 1), ("rank", 2), ("rank", 3), ("set", None)])
        for row in rows:
            self.assertLessEqual(row["error"], 0.01)
            self.assertEqual(row["violated_edges"], 0)
            self.assertLess(row["unexplained_ns"], 0.01 * row["recorded_ns"])
            self.assertGreaterEqual(row["wakeup_ns"], 0)
            self.assertGreaterEqual(row["clock_uncertainty_ns"], 0)
            self.assertGreater(row["dry_run_ns"], 0)
        self.assertEqual(rows[4]["recorded_ns"], max(row["recorded_ns"] for row in rows[:4]))

    def test_text_names_thresholds_and_verdicts(self):
        trace = self.convert("gloo/resnet18")
        text = self.run_program("validate", "--timing", trace, "-v").stdout
        for needle in ("rank 0", "set", "verdict", "ok means: error at most 1 %", "unexplained"):
            self.assertIn(needle, text)

    def test_single_file_has_no_set_scope(self):
        trace = self.convert("gloo/resnet18")
        result = self.run_json("validate", "--timing", next(trace.glob("*.0.et")))
        self.assertEqual([row["scope"] for row in result["timing"]], ["rank"])
        self.assertNotIn("timing", self.run_json("validate", trace))

    def test_ranks_of_different_models_do_not_match(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        other = self.convert("gloo_comms/moe_ep4")
        shutil.copy(next(other.glob("*.1.et")), next(trace.glob("*.1.et")))
        done = self.run_program("validate", trace, expect=CHECK_FAILED)
        self.assertIn("error:", done.stdout)
        self.assertIn("rank 1", done.stdout)

    def test_missing_rank(self):
        trace = self.convert("gloo_comms/gpt_pp4")
        next(trace.glob("*.2.et")).unlink()
        self.assertIn("rank 2", self.run_program("validate", trace, expect=BAD_INPUT).stderr)
        timed = self.run_program("validate", "--timing", trace, "-v").stdout
        self.assertIn("no file of rank 2 (4 ranks", timed)
        self.assertIn("rank 3", timed)

    def test_ranks_that_were_converted_one_by_one(self):
        capture = program.TRACES / "gloo_comms" / "gpt_tp4"
        one_by_one = self.dir / "not" / "yet" / "there"
        for rank in range(4):
            self.run_program("convert", "--host-trace", capture / f"rank{rank}.et.json.gz", "--device-trace",
                             capture / f"rank{rank}.kineto.json.gz", "--rank", rank, "-o", one_by_one / f"x.{rank}.et")
        self.assertEqual(self.run_json("validate", one_by_one)["errors"], [])
        alone = self.dir / "alone"
        alone.mkdir()
        shutil.copy(one_by_one / "x.2.et", alone)
        result = self.run_json("validate", alone)
        self.assertEqual(result["errors"], [])
        self.assertIn("no file of rank 0-1, 3 (4 ranks", result["warnings"][0])

    def test_truncated(self):
        file = next(self.convert("gloo/resnet18").glob("*.0.et"))
        file.write_bytes(file.read_bytes()[:-7])
        done = self.run_program("validate", file, expect=BAD_INPUT)
        self.assertIn(file.name, done.stderr)

    def test_not_there_and_usage(self):
        self.run_program("validate", self.dir / "nothing", expect=BAD_INPUT)
        self.run_program("validate", expect=USAGE)


if __name__ == "__main__":
    sys.exit(program.main())
