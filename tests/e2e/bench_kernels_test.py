#!/usr/bin/env python3
"""reprise bench kernels, as a user calls it. Times are not looked at."""
import sys

import program

USAGE = 2
QUICK = ("--repeat", 1, "--min-time-ms", 0, "--peers", "off")


class BenchKernels(program.ProgramTest):
    def bench(self, *args, **kwargs):
        return self.run_program("bench", "kernels", *args, **kwargs)

    def test_json_and_table_on_the_host(self):
        result = self.run_json("bench", "kernels", "--device", "host", "--filter", "sum all", *QUICK)
        [row] = result["results"]
        self.assertEqual((row["case"], row["operator"]), ("sum all", "aten::sum"))
        self.assertGreater(row["gb_per_s"], 0)
        self.assertEqual(result["peers"], [])
        table = self.bench("--device", "host", "--filter", "sum all", *QUICK).stdout
        self.assertIn("# 1 measured, 0 skipped", table)

    def test_types_are_cases_of_their_own(self):
        listed = self.run_json("bench", "kernels", "--device", "host", "--list", "--filter", "topk",
                               "--dtype", "float32,bfloat16")["cases"]
        self.assertEqual([row["dtype"] for row in listed], ["float32", "bfloat16"])

    def test_what_cannot_be_asked_for(self):
        self.assertIn("float33", self.bench("--dtype", "float33", expect=USAGE).stderr)
        done = self.bench("--device", "host", "--filter", "no such kernel", expect=USAGE)
        self.assertIn("--list", done.stderr)
        self.bench("--device", "abacus", expect=USAGE)
        self.bench("--repeat", 0, expect=USAGE)
        self.bench("--device", "host", "--device-index", 7, "--list", expect=USAGE)
        self.assertIn("add --device cuda or host", self.bench("--device", "opencl", "--torch", "x", expect=USAGE).stderr)


if __name__ == "__main__":
    sys.exit(program.main())
