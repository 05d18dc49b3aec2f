#!/usr/bin/env python3
"""What a replay computes with: numbers that a training has, counted by --check-values."""
import sys

import program

USAGE = 2


class Values(program.ProgramTest):
    def check(self, case, *options, ranks=1):
        trace = self.convert(case)
        run = self.dir / "run"
        self.run_program("replay", trace, "-o", run, "--device", "host", "--warmup", "0", "--quiet", "--check-values",
                         *options, ranks=ranks)
        return self.run_json("report", run)

    def assert_normal(self, report):
        self.assertGreater(len(report["values"]), 10)
        self.assertGreater(sum(row["values"] for row in report["values"]), 100_000)
        for row in report["values"]:
            self.assertEqual((row["infinities"], row["nans"]), (0, 0), row)
            self.assertLessEqual(row["denormals"], row["values"] // 10_000, row)

    def test_a_language_model(self):
        report = self.check("gloo/gpt_single", "--iterations", "1")
        self.assert_normal(report)
        self.assertEqual(report["run"]["options"]["flush_denormals"], "false")

    def test_experts_on_four_ranks(self):
        self.assert_normal(self.check("gloo_comms/moe_ep4", "--iterations", "1", ranks=4))

    def test_an_image_model_after_iterations(self):
        report = self.check("gloo/resnet18", "--iterations", "3", "--flush-denormals")
        self.assert_normal(report)
        self.assertEqual(report["run"]["options"]["flush_denormals"], "true")
        # Not an iteration that is measured.
        self.assertEqual(report["iterations"], 3)
        section = self.run_program("report", self.dir / "run", "--section", "values").stdout
        self.assertIn("aten::native_batch_norm", section)

    def test_nothing_to_count(self):
        trace = self.convert("gloo/resnet18")
        done = self.run_program("replay", trace, "-o", self.dir / "run", "--check-values", "--memory", "share", expect=USAGE)
        self.assertIn("--check-values", done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
