#!/usr/bin/env python3
"""Captures whose transfers lack a part, or say it in another place, from convert to replay and export."""
import json
import sys

import program

CASES = program.ROOT / "tests" / "converters" / "cases"
BAD_INPUT = 3


class TransferCases(program.ProgramTest):
    def checked(self, case):
        target = self.dir / case
        self.run_json("convert", CASES / case, "-o", target)
        result = self.run_json("validate", target)
        self.assertTrue(result["ok"], result["errors"])
        return target, result["warnings"]

    def replay(self, trace, *options):
        run = self.dir / "_".join(["run", trace.name, *options]).replace("-", "")
        return self.run_program("replay", trace, "-o", run, "--iterations", 1, "--warmup", 0, "--device", "host", *options,
                                ranks=2)

    def test_what_convert_writes_is_replayed(self):
        for case in ("08_send_recv_peers", "09_roots", "10_alltoall_sends_part", "11_msccl", "21_group_in_call"):
            with self.subTest(case):
                trace, _ = self.checked(case)
                self.replay(trace)

    def test_groups_of_the_calls_need_no_assumption(self):
        trace, _ = self.checked("21_group_in_call")
        self.replay(trace, "--assume-groups")

    def test_an_unknown_kernel_takes_its_recorded_time(self):
        trace, warnings = self.checked("14_one_kernel_without_metadata")
        self.assertTrue(any("transfer of unknown kind" in warning for warning in warnings), warnings)
        for options in ((), ("--comms", "timed"), ("--comms", "skip")):
            with self.subTest(options):
                self.replay(trace, *options)
        stats = self.run_json("stats", trace)
        unknown = [row for row in stats["transfers"] if row["kind"] == "unknown"]
        self.assertEqual([(row["count"], row["of_unknown_size"]) for row in unknown], [(2, 2)])

    def test_sizes_that_differ_matter_only_to_what_is_carried_out(self):
        source = self.dir / "differ"
        source.mkdir()
        for rank in (0, 1):
            text = (CASES / "11_msccl" / f"rank{rank}.json").read_text()
            (source / f"rank{rank}.json").write_text(text.replace("1048576", "1048580") if rank else text)
        trace = self.dir / "differing"
        done = self.run_program("convert", source, "-o", trace, expect=1)  # written, and refused as it is
        self.assertIn("--comms timed", done.stdout)
        done = self.run_program("replay", trace, "-o", self.dir / "real", "--device", "host", ranks=2, expect=BAD_INPUT)
        self.assertIn("in_bytes 2097152 vs 2097160", done.stderr)
        self.replay(trace, "--comms", "timed")
        self.replay(trace, "--comms", "skip")

    def test_an_unknown_size_is_never_exported_as_a_number(self):
        trace, warnings = self.checked("20_unknown_size_exported")
        self.assertTrue(any("transfer of unknown size" in warning for warning in warnings), warnings)
        checked = self.run_json("validate", "--for", "astra-sim", trace, expect=1)
        self.assertIn("a collective without comm_size", " ".join(checked["errors"]))
        self.assertIn("ncclDevKernel_AllReduce", " ".join(checked["errors"]))
        done = self.run_program("export", trace, "--to", "astra-sim", "-o", self.dir / "astra")
        self.assertIn("they take their recorded time", done.stdout)
        self.assertIn("ncclDevKernel_AllReduce", done.stdout)
        self.run_program("export", trace, "--to", "json", "-o", self.dir / "set.json")
        nodes = [node for rank in json.loads((self.dir / "set.json").read_text())["ranks"] for node in rank["nodes"]]
        comms = [node["comm"] for node in nodes if "comm" in node]
        self.assertEqual([comm["in_bytes"] for comm in comms], [None, None])

    def test_a_long_list_of_ranks(self):
        trace = self.dir / "long"
        self.run_program("convert", CASES / "15_long_rank_list" / "rank0.json", "-o", trace)
        groups = json.loads((trace / "comm_groups.json").read_text())
        self.assertEqual(list(groups.values()), [list(range(0, 128, 2))])
        self.assertTrue(self.run_json("validate", trace)["ok"])


if __name__ == "__main__":
    sys.exit(program.main())
