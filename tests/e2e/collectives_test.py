#!/usr/bin/env python3
"""How collectives are made, and more ranks than processes (docs/algorithms.md, docs/parts.md)."""
import json
import pathlib
import sys

import program

FEW_TAGS = pathlib.Path(program.REPRISE).resolve().parent / "tests" / "collectives" / "libstand_in_few_tags.so"
QUICK = ("--device", "host", "--warmup", "0", "--iterations", "1", "--host-gaps", "drop")


class CollectivesTest(program.ProgramTest):
    def replay(self, trace, *args, ranks, expect=0, env=None):
        run = self.dir / "run"
        done = self.run_program("replay", trace, "-o", run, "--force", *QUICK, *args, ranks=ranks,
                                expect=expect, env=env)
        if expect == 0:
            self.report = self.run_json("report", run)
            self.manifest = json.loads((run / "manifest.json").read_text())
        return done.stdout if expect == 0 else done.stderr

    def test_algorithms_replay_with_exact_data(self):
        trace = self.convert("gloo_comms/gpt_fsdp4")
        text = self.replay(trace, "--ops", "timed", "--check", "--algo", "ring,chunk=64KiB", "--algo",
                           "all_reduce=recursive_doubling", ranks=4)
        self.assertIn("every transfer correct", text)
        self.assertEqual(self.manifest["options"]["algo"],
                         "ring,chunk=64KiB all_reduce=recursive_doubling")

    def test_an_unknown_algorithm_names_those_that_are(self):
        trace = self.convert("gloo_comms/gpt_fsdp4")
        self.assertIn("there are measured, table, mpi, direct, ring", self.replay(trace, "--algo", "star", ranks=4, expect=2))
        self.assertIn("it knows", self.replay(trace, "--algo", "scatter=ring", ranks=4, expect=2))

    def test_chunks_between_device_and_network(self):
        # gpt_fsdp4: all_gather and reduce_scatter; collectives4: every kind.
        for case, chunk in (("gloo/gpt_ddp4", "256KiB"), ("gloo_comms/gpt_fsdp4", "4KiB"),
                            ("gloo_comms/collectives4", "12")):
            self.replay(self.convert(case), "--staging-chunk", chunk, ranks=4)
            self.assertEqual(program.real_of_work(self.report), 1, case)

    def test_processes_with_several_ranks(self):
        for case, ranks, args in (("gloo_comms/moe_ep4", 2, ("--ranks-per-process", "2")),
                                  ("gloo_comms/gpt_pp4", 1, ("--ranks-per-process", "4"))):
            trace = self.convert(case)
            text = self.replay(trace, *args, "--check", ranks=ranks)
            self.assertIn("every transfer correct", text)
            self.assertEqual(len(self.report["ranks"]), 4)
            self.assertEqual(program.real_of_work(self.report), 1)
            self.assertEqual(self.manifest["versions"]["transport"], "threaded")

    def test_sixty_four_ranks_on_eight_processes(self):
        trace = self.convert("gloo/gpt_ddp4")
        text = self.replay(trace, "--one-trace", "0", "--ranks-per-process", "8", "--ops", "timed", "--time-scale",
                           "0.01", "--check", ranks=8)
        self.assertIn("every transfer correct", text)
        self.assertEqual(len(self.report["ranks"]), 64)

    def test_a_wrong_number_of_ranks_is_refused(self):
        trace = self.convert("gloo/gpt_ddp4")
        self.assertIn("with --ranks-per-process N, 4/N processes", self.replay(trace, ranks=2, expect=2))
        refused = self.replay(trace, "--ranks-per-process", "3", ranks=2, expect=2)
        self.assertEqual(refused.count("has 4 ranks, but 6 were started"), 1)  # of two processes

    def test_an_mpi_with_too_few_tags_is_named(self):
        """Ranks that are threads have their places in the tag. One rank a process needs no more tags than every MPI grants."""
        few_tags = {"LD_PRELOAD": str(FEW_TAGS)}
        trace = self.convert("gloo_comms/moe_ep4")
        refused = self.replay(trace, "--ranks-per-process", "2", ranks=2, expect=4, env=few_tags)
        self.assertRegex(refused, r"reprise: .*at most 32767 \(MPI_TAG_UB\); start one process a rank")
        self.assertEqual(refused.count("MPI_TAG_UB"), 1, refused)
        self.replay(trace, ranks=4, env=few_tags)

    def test_variants_are_measured_all_ways_and_checks_them(self):
        args = ("bench", "collectives", "all_gather", "-b", "1K", "-e", "64K", "-f", "64", "-n", "2", "-w",
                "1", "--variants", "--rounds", "2", "--chunks", "4K", "--channels", "2")
        rows = self.run_json(*args, ranks=3)["results"]
        ways = {row["algorithm"].split(",")[0] for row in rows}
        self.assertEqual(ways, {"bare MPI", "mpi", "direct", "ring", "recursive_doubling", "hierarchical"})
        self.assertTrue(all(row["wrong"] == 0 and row["time_ns"] > 0 for row in rows))
        table = self.run_program(*args, ranks=3).stdout
        self.assertIn("against bare MPI", table)

    def test_a_bench_with_an_algorithm(self):
        result = self.run_json("bench", "collectives", "all_reduce", "-b", "64K", "-e", "64K", "-n", "2",
                               "-o", "premul_sum", "--algo", "tree,chunk=8K", ranks=2)
        self.assertEqual(result["algo"], "tree,chunk=8K")
        self.assertTrue(all(row["wrong"] == 0 for row in result["results"]))

    def test_what_runs_by_default_is_measured_once(self):
        kept = self.dir / "cache" / "reprise" / "collectives.json"
        env = {"XDG_CACHE_HOME": str(self.dir / "cache")}

        def bench(*choices):
            done = self.run_program("bench", "collectives", "all_reduce", "-b", "64K", "-e", "64K", "-n", "2", *choices,
                                    "--json", ranks=2, env=env)
            return json.loads(done.stdout)["algo"], done.stderr

        for choices in (("--algo", "table"), ("--algo", "mpi")):
            bench(*choices)
            self.assertFalse(kept.exists(), choices)
        measured, said = bench()
        self.assertEqual(said, "")
        self.assertRegex(measured, "^all_reduce=.*,from=32KiB,members=2,hosts=1$")
        written_ns = kept.stat().st_mtime_ns
        self.assertEqual(bench(), (measured, ""))
        self.assertEqual(kept.stat().st_mtime_ns, written_ns)
        row = json.loads(kept.read_text())["machines"][0]["measured"][0]
        self.assertEqual(f"all_reduce={row['algorithm']},from=32KiB,members=2,hosts=1", measured)
        # A choice of the user's comes later, so that it wins, and is all that there is to know.
        self.assertEqual(bench("--algo", "all_reduce=ring"), ("all_reduce=ring", ""))
        kept.write_text("{")
        again, said = bench()
        self.assertIn(f"{kept}", said)
        self.assertRegex(again, "^all_reduce=")


if __name__ == "__main__":
    sys.exit(program.main())
