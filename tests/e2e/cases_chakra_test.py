#!/usr/bin/env python3
"""Inputs that are no PyTorch captures: what they lack is no number, and what simulators allow runs (tests/converters/cases)."""
import json
import shutil

import program

CASES = program.ROOT / "tests" / "converters" / "cases"
BAD_INPUT = 3


class SimulatorsInputs(program.ProgramTest):
    def converted(self, case, *args):
        out = self.dir / "set"
        text = self.run_program("convert", CASES / case, "-o", out, *args).stdout
        return out, text

    def test_transfers_without_times_are_modelled(self):
        out, text = self.converted("12_times_but_no_transfer_times/w.txt", "--ranks", 8)
        self.assertIn("without recorded times", text)
        result = self.run_json("simulate", out, "--machine", "h100-hgx", "--captured-on", "h100-hgx", "-o", self.dir / "run")
        # 2 x 7/8 x 1 GiB at 450 GB/s for each, the second after the first, which begins at 3 ms.
        self.assertGreater(result["step_time_ns"], 3_000_000 + 2 * 4_176_000)
        self.assertIn("No time was recorded", " ".join(result["warnings"]))

    def test_they_never_count_as_nothing_without_a_word(self):
        out, _ = self.converted("12_times_but_no_transfer_times/w.txt", "--ranks", 8)
        recorded = self.run_json("simulate", out, "--machine", "recorded", "-o", self.dir / "recorded")
        self.assertIn("No time was recorded for 16 nodes, and they count as 0", " ".join(recorded["warnings"]))

    def test_simai_says_units_and_ranks(self):
        out, text = self.converted("13_simai/w.txt")
        self.assertIn("8 ranks", text)
        self.assertEqual(len(list(out.glob("*.et"))), 8)
        stats = self.run_json("stats", out)
        self.assertIn(5_250_000 * 8, [row["duration_ns"] for row in stats["classes"]])

    def test_groups_and_ranks_beside_one_file(self):
        for name in ("comm_group.json", "w.json", "groups_of_the_job.json"):
            source = self.dir / name.replace(".json", "")
            shutil.copytree(CASES / "16_one_rank_with_groups", source)
            (source / "comm_group.json").rename(source / name)
            out = self.dir / ("set_" + name)
            self.run_program("convert", source / "w.0.et", "-o", out)
            self.assertEqual(json.loads((out / "comm_groups.json").read_text()), {"1": [0, 1], "5": [0, 2]}, name)
            refused = self.run_program("simulate", out, "--machine", "recorded", "-o", self.dir / "x", expect=BAD_INPUT).stderr
            self.assertIn("--ranks 0", refused)
        self.run_program("simulate", out, "--machine", "h100-hgx", "--ranks", 0, "-o", self.dir / "run")
        refused = self.run_program("export", out, "--to", "astra-sim", "-o", self.dir / "astra", expect=BAD_INPUT).stderr
        self.assertIn("--ranks 0", refused)
        self.assertIn("those of rank 0 are written",
                      self.run_program("export", out, "--to", "chakra-json", "-o", self.dir / "json").stdout)

    def test_a_part_of_a_set_is_exported(self):
        out = self.dir / "part"
        self.run_program("convert", program.TRACES / "gloo_comms" / "gpt_tp4", "-o", out)
        next(out.glob("*.3.et")).unlink()
        whole, part = self.dir / "whole", self.dir / "two"
        refused = self.run_program("export", out, "--to", "astra-sim", "-o", whole, expect=BAD_INPUT).stderr
        self.assertIn("--ranks 0-2", refused)
        done = self.run_program("export", out, "--to", "astra-sim", "--ranks", "0,2", "-o", part).stdout
        self.assertIn("2 ranks, ", done)
        self.assertEqual(len(list(part.glob("*.et"))), 2)
        groups = json.loads((part / "comm_groups.json").read_text())
        self.assertTrue(all(ranks == [0, 1] for ranks in groups.values()), groups)
        gone = self.run_program("export", out, "--to", "astra-sim", "--ranks", "0,3", "-o", whole, expect=2).stderr
        self.assertIn("no file of rank 3", gone)
        alone = self.run_program("export", out, "--to", "astra-sim", "--ranks", "1", "-o", whole, expect=2).stderr
        self.assertIn("reprise simulate --ranks", alone)

    def check_ring(self, case):
        out, _ = self.converted(case)
        self.run_program("validate", "--timing", out)
        self.run_program("simulate", out, "--machine", "recorded", "-o", self.dir / "dry")
        self.run_program("simulate", out, "--machine", "h100-hgx", "--captured-on", "h100-hgx", "-o", self.dir / "simulated")
        self.run_program("simulate", out, "--machine", "recorded", "-o", self.dir / "recorded")
        self.run_program("replay", out, "-o", self.dir / "run", "--iterations", 3, ranks=2, timeout=50)
        report = self.run_program("report", self.dir / "run").stdout
        self.assertNotIn("cycle", report)
        return out

    def test_ring_of_sends(self):
        out = self.check_ring("23_ring_of_sends")
        rows = {row["kind"]: row for row in self.run_json("stats", out)["transfers"]}
        self.assertEqual((rows["send"]["count"], rows["send"]["in_bytes"]), (2, 2 * 131072))
        self.assertEqual((rows["recv"]["count"], rows["recv"]["out_bytes"]), (2, 2 * 131072))

    def test_ring_of_small_sends(self):
        self.check_ring("23b_ring_of_small_sends")

    def test_cpu_nodes_alone_and_a_gpu_machine(self):
        trace = self.convert("gloo/resnet18")
        for more in ((), ("--captured-on", "h100-hgx")):
            refused = self.run_program("simulate", trace, "--machine", "h100-hgx", *more, "-o", self.dir / "run",
                                       expect=BAD_INPUT).stderr
            self.assertIn("was captured on a CPU (its nodes are of host threads alone)", refused)


if __name__ == "__main__":
    program.main()
