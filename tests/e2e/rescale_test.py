#!/usr/bin/env python3
"""reprise rescale: captured jobs with other numbers of ranks, micro-batches and layers, and what is refused."""
import collections
import json
import sys

import program

USAGE, BAD_INPUT = 2, 3


def shapes(value):
    if isinstance(value, dict) and "shape" in value:
        return tuple(value["shape"])
    return tuple(map(shapes, value)) if isinstance(value, list) else None


class Rescale(program.ProgramTest):
    def rank(self, trace, rank):
        """Counts of work by name and shapes, the transfers in order, and counts of labels."""
        out = self.dir / "nodes.json"
        self.run_program("export", trace, "--to", "json", "--rank", rank, "-o", out, "--force")
        exported = json.loads(out.read_text())
        nodes = exported.get("nodes") or exported["ranks"][0]["nodes"]
        work = collections.Counter((node["name"], shapes(node.get("inputs", [])), shapes(node.get("outputs", [])))
                                   for node in nodes if node["op_kind"] == "work")
        transfers = [(node["comm"]["kind"], node["comm"]["in_bytes"], node["comm"]["out_bytes"]) for node in nodes if "comm" in node]
        return work, transfers, collections.Counter(node.get("rescaled", "no") for node in nodes)

    def rescale(self, trace, dp, *options, name="rescaled", expect=0):
        out = self.dir / name
        done = self.run_program("rescale", trace, "--dp", dp, "-o", out, "--force", *options, expect=expect)
        return out if expect == 0 else done.stderr

    def test_gradients_of_more_replicas(self):
        trace = self.convert("gloo/gpt_ddp4")
        for dp in 2, 8:
            with self.subTest(dp):
                rescaled = self.rescale(trace, dp)
                # Of fewer ranks, some waited for those that are left out.
                self.run_program("validate", rescaled, *(["--timing"] if dp > 4 else []))
                for rank in range(dp):
                    work, transfers, labels = self.rank(rescaled, rank)
                    before = self.rank(trace, rank % 4)
                    self.assertEqual((work, transfers), before[:2])
                    self.assertEqual(labels["group"], len(transfers))
                    self.assertEqual(before[2], {"no": sum(labels.values())})
        self.assertEqual(json.loads((rescaled / "rescaled.json").read_text())["data_parallel"], {"from": 4, "to": 8})
        steps = [self.run_json("simulate", of, "--machine", "recorded", "-o", self.dir / "run", "--force")["step_time_ns"]
                 for of in (trace, rescaled)]
        self.assertEqual(*steps)  # each replica twice

    def test_shards_are_those_of_that_size(self):
        """The same job captured on two and on four ranks."""
        captured = {ranks: self.convert(f"gloo_comms/gpt_fsdp{ranks}") for ranks in (2, 4)}
        for before, after in ((2, 4), (4, 2)):
            rescaled = self.rescale(captured[before], after)
            for rank in range(after):
                with self.subTest(after=after, rank=rank):
                    self.assertEqual(self.rank(rescaled, rank)[:2], self.rank(captured[after], rank)[:2])

    # What a program does once with all micro-batches: it makes the batch and puts results together.
    OF_WHOLE_BATCHES = {"aten::random_", "aten::index", "aten::copy_", "aten::cat"}

    def test_micro_batches_are_those_captured_in_that_number(self):
        """The same pipeline captured with four and with seven micro-batches."""
        captured = {number: self.convert(f"gloo_comms/gpt_pp2_micro{number}") for number in (4, 7)}
        for before, after in ((4, 7), (7, 4)):
            rescaled = self.dir / f"micro{after}"
            done = self.run_program("rescale", captured[before], "--micro-batches", after, "-o", rescaled, "--force").stdout
            self.assertIn(f"{after} micro-batches from {before}", done)
            self.run_program("validate", rescaled)
            for rank in range(2):
                with self.subTest(before=before, rank=rank):
                    got, expected = self.rank(rescaled, rank), self.rank(captured[after], rank)
                    self.assertEqual(got[1], expected[1])
                    self.assertEqual(got[2]["repeat"] > 0, after > before)
                    for one, other in ((got, expected), (expected, got)):
                        more = one[0] - other[0]
                        self.assertLessEqual({name for name, _, _ in more}, self.OF_WHOLE_BATCHES)
                        self.assertLessEqual(more.total(), 6)
            self.run_program("replay", rescaled, "-o", self.dir / "run", "--force", ranks=2)
            manifest = json.loads((rescaled / "rescaled.json").read_text())
            self.assertEqual(manifest["micro_batches"], {"from": before, "to": after})

    def test_layers_are_those_captured_in_that_number(self):
        """The same model captured with two and with four layers."""
        captured = {2: self.convert("gloo/gpt_layers2"), 4: self.convert("gloo/gpt_single")}
        for before, after in ((2, 4), (4, 2)):
            with self.subTest(before):
                rescaled = self.dir / f"layers{after}"
                done = self.run_program("rescale", captured[before], "--layers", after, "-o", rescaled, "--force").stdout
                self.assertIn(f"{after} layers from {before}", done)
                self.run_program("validate", rescaled)
                got, expected = self.rank(rescaled, 0), self.rank(captured[after], 0)
                self.assertEqual(got[:2], expected[:2])
                self.assertEqual(got[2]["repeat"] > 0, after > before)
                self.assertEqual(json.loads((rescaled / "rescaled.json").read_text())["layers"], {"from": before, "to": after})
                self.run_program("replay", rescaled, "-o", self.dir / "run", "--force")

    def test_layers_of_tensor_parallel_ranks(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        rescaled = self.dir / "deeper"
        self.run_program("rescale", trace, "--layers", 8, "-o", rescaled)
        self.run_program("validate", rescaled)
        for rank in range(4):
            before, after = self.rank(trace, rank), self.rank(rescaled, rank)
            gemms = [sum(n for (name, *_), n in of[0].items() if name in ("aten::mm", "aten::addmm", "aten::bmm")) for of in (before, after)]
            self.assertGreater(gemms[1], 1.8 * gemms[0])
            self.assertEqual(len(after[1]), 2 * len(before[1]))
        self.run_program("replay", rescaled, "-o", self.dir / "run", "--force", ranks=4)

    def test_tensor_ranks_are_those_captured_in_that_number(self):
        """The same model captured on two and on four tensor-parallel ranks, divided by hand and by DTensor with its sequence."""
        for name in "tp", "sp":
            with self.subTest(name):
                self.compare_tensor_ranks(name)

    def compare_tensor_ranks(self, name):
        captured = {ranks: self.convert(f"gloo_comms/gpt_{name}{ranks}") for ranks in (2, 4)}
        for before, after in ((2, 4), (4, 2)):
            rescaled = self.dir / f"{name}{after}"
            done = self.run_program("rescale", captured[before], "--tp", after, "--group", f"{'all' if name == 'sp' else 'tp'}=tp",
                                    "-o", rescaled).stdout
            self.assertIn(f"tensor parallelism {after} from {before}", done)
            self.run_program("validate", rescaled)
            for rank in range(after):
                with self.subTest(after=after, rank=rank):
                    got, expected = self.rank(rescaled, rank), self.rank(captured[after], rank)
                    self.assertEqual(got[:2], expected[:2])
                    self.assertGreater(got[2]["group"], 0)
                    self.assertGreater(got[2]["shard"], 0)
            manifest = json.loads((rescaled / "rescaled.json").read_text())
            self.assertEqual(manifest["tensor_parallel"], {"from": before, "to": after})
            self.run_program("replay", rescaled, "-o", self.dir / "run", "--force", ranks=after)

    def test_tensor_ranks_that_are_not_known(self):
        def refused(trace, number, code=BAD_INPUT):
            return self.run_program("rescale", trace, "--tp", number, "-o", self.dir / "refused", expect=code).stderr
        tensor = self.convert("gloo_comms/gpt_tp2")
        self.assertIn("as many tensor-parallel ranks already", refused(tensor, 2, USAGE))
        self.assertIn("give at least 2", refused(tensor, 1))
        self.assertIn("7 ranks can't divide it", refused(tensor, 7))
        self.assertIn("no transfers among tensor-parallel ranks", refused(self.convert("gloo/gpt_ddp4"), 2))
        heads = self.dir / "one_head"
        self.run_program("generate", "gpt-small", "--tp", "4", "--pp", "1", "-o", heads)  # as many heads as ranks
        self.assertIn("2 and 4 ranks divide these 4 heads", refused(heads, 8))
        self.assertIn("give --tp, too", self.run_program("rescale", heads, "--dp", 2, "--kv-heads", 4, "-o", self.dir / "refused",
                                                         expect=USAGE).stderr)

    def test_one_head_of_each_tensor_rank(self):
        """Heads of queries, and those of keys and values that they share, at other numbers of ranks."""
        jobs = self.dir / "jobs"
        for tp in 4, 8:
            self.run_program("generate", "llama3.2-1b", "--zero", 0, "--overlap", "none", "--tp", tp, "--dp", 1, "--global-batch", 1, "-o", jobs / str(tp))
        for before, after in (8, 4), (4, 8):
            rescaled = self.dir / f"to{after}"
            self.run_program("rescale", jobs / str(before), "--tp", after, "--kv-heads", 8, "-o", rescaled)
            self.run_program("validate", rescaled)
            self.assertEqual(self.rank(rescaled, 0)[:2], self.rank(jobs / str(after), 0)[:2])

    def test_tensor_ranks_and_replicas(self):
        job = self.dir / "job"
        self.run_program("generate", "gpt-small", "--tp", "2", "--pp", "1", "--dp", "2", "--zero", "0", "-o", job)
        out = self.rescale(job, 8, "--tp", "4", "--layers", "6")
        manifest = json.loads((out / "rescaled.json").read_text())
        self.assertEqual([manifest[of] for of in ("layers", "tensor_parallel", "data_parallel")],
                         [{"from": 4, "to": 6}, {"from": 2, "to": 4}, {"from": 2, "to": 8}])
        self.assertEqual(set(manifest["source_ranks"]), {0})
        self.run_program("validate", out)

    def test_groups_that_are_named_are_known_in_both_axes(self):
        job = self.dir / "job"
        self.run_program("generate", "gpt-small", "--tp", "2", "--pp", "1", "--dp", "2", "--zero", "0", "--expand", "-o", job)
        groups = json.loads((job / "comm_groups_info.json").read_text())
        tensor = next(group for group, info in groups.items() if info["description"].startswith("TENSOR"))
        self.run_program("validate", self.rescale(job, 4, "--tp", "4", "--group", f"{tensor}=tp"))

    def test_one_copy_is_of_replicas(self):
        done = self.run_program("rescale", self.convert("gloo_comms/gpt_tp2"), "--tp", 4, "--one-copy",
                                "-o", self.dir / "refused", expect=USAGE)
        self.assertIn("give --dp, too", done.stderr)

    def test_layers_that_are_not_found(self):
        def refused(trace, number, code=BAD_INPUT):
            return self.run_program("rescale", trace, "--layers", number, "-o", self.dir / "refused", expect=code).stderr
        single = self.convert("gloo/gpt_single")
        self.assertIn("as many already", refused(single, 4, USAGE))
        for number in 10 ** 6, 2 ** 63 - 1:
            self.assertIn("--limits job_nodes=N", refused(single, number))
        for without in "gloo/resnet18", "gloo_comms/gpt_pp4", "gloo_comms/collectives4":
            self.assertIn("at least two layers", refused(self.convert(without), 8))
        # Buckets of gradients end within layers.
        self.assertIn("differs from layer to layer", refused(self.convert("gloo/gpt_ddp4"), 8))

    def test_layers_micro_batches_and_replicas(self):
        job = self.dir / "job"
        options = ("--zero", "0", "--tp", "1", "--micro-batch", "1")
        self.run_program("generate", "llama-small", *options, "--dp", "2", "--global-batch", "8", "-o", job)
        out = self.rescale(job, 4, "--micro-batches", "6", "--layers", "4")
        manifest = json.loads((out / "rescaled.json").read_text())
        self.assertEqual([manifest[of] for of in ("layers", "micro_batches", "data_parallel")],
                         [{"from": 2, "to": 4}, {"from": 4, "to": 6}, {"from": 2, "to": 4}])
        self.run_program("validate", out)

    def test_micro_batches_and_replicas(self):
        job = self.dir / "job"
        self.run_program("generate", "llama-small", "--fsdp", "--dp", "2", "--global-batch", "8", "--micro-batch", "1", "-o", job)
        both = self.rescale(job, 8, "--micro-batches", "6")
        manifest = json.loads((both / "rescaled.json").read_text())
        self.assertEqual((manifest["micro_batches"], manifest["data_parallel"]), ({"from": 4, "to": 6}, {"from": 2, "to": 8}))
        self.assertGreater(manifest["changed"]["repeat"], 0)
        self.run_program("validate", both)
        self.run_program("generate", "llama-small", "--fsdp", "--dp", "8", "--global-batch", "48", "--micro-batch", "1", "-o",
                         self.dir / "expected")
        steps = [self.run_json("simulate", of, "--machine", "h100-hgx", "-o", self.dir / "run", "--force")
                 for of in (both, self.dir / "expected")]
        self.assertEqual(*(step["step_time_ns"] for step in steps))
        self.assertEqual(*(step["tokens_per_second"] for step in steps))

    def test_micro_batches_that_are_not_found(self):
        def refused(trace, number, code=BAD_INPUT):
            return self.run_program("rescale", trace, "--micro-batches", number, "-o", self.dir / "refused", expect=code).stderr
        pipeline = self.convert("gloo_comms/gpt_pp2_micro4")
        self.assertIn("as many already", refused(pipeline, 4, USAGE))
        self.assertIn("would have to be left out", refused(pipeline, 1))
        for number in 10 ** 6, 2 ** 63 - 1:
            self.assertIn("--limits job_nodes=N", refused(pipeline, number))
        # As many micro-batches as ranks: the first ranks have no second pair of passes.
        self.assertIn("more micro-batches than ranks", refused(self.convert("gloo_comms/gpt_pp4"), 8))
        # Layers come again, too, and where they are computed again with both passes.
        for without in "gloo/gpt_ddp4", "gloo/gpt_recompute", "transformers/qwen3_moe":
            self.assertIn("comes a second time", refused(self.convert(without), 2))
        self.assertIn("comes a second time", refused(self.convert("gloo_comms/collectives4"), 2))
        chunks = self.dir / "chunks"
        self.run_program("generate", "gpt-small", "--pp", "2", "--schedule", "interleaved:2", "--dp", "1", "--global-batch", "12",
                         "--micro-batch", "1", "-o", chunks)
        self.assertIn("multiples of 2", refused(chunks, 15))

    def test_replays(self):
        rescaled = self.rescale(self.convert("gloo/gpt_ddp4"), 2)
        self.run_program("replay", rescaled, "-o", self.dir / "run", ranks=2)

    def test_one_copy_is_the_median(self):
        trace = self.convert("gloo/gpt_ddp4")
        rescaled = self.rescale(trace, 8, "--one-copy")
        ranks = json.loads((rescaled / "ranks.json").read_text())
        self.assertEqual([one["ranks"] for one in ranks["classes"]], [["0-7"]])
        self.run_program("validate", rescaled, "--timing")

    def test_shards(self):
        trace = self.convert("gloo_comms/gpt_fsdp4")
        _, before, _ = self.rank(trace, 0)
        for dp in 2, 8, 3:
            with self.subTest(dp):
                rescaled = self.rescale(trace, dp)
                self.run_program("validate", rescaled, *(["--timing"] if dp > 4 else []))
                work, transfers, labels = self.rank(rescaled, 0)
                self.assertEqual(labels["group"], len(transfers))
                for (kind, put_in, got), (_, was_in, was_got) in zip(transfers, before, strict=True):
                    part, whole = sorted((put_in, got))
                    self.assertEqual(whole, part * dp, kind)
                    if dp != 3:  # 3 ranks pad their parts
                        self.assertEqual(whole, max(was_in, was_got))
                # The optimizer's tensors are one rank's parts of parameters: what a matrix of 256 × 1024 leaves of its rows.
                states = {shape for (name, inputs, _) in work if "addcdiv" in name or "adam" in name
                          for shape in self.flat(inputs) if len(shape) == 2}
                self.assertIn((-(-1024 // dp), 256), states)

    def flat(self, value):
        if value is None:
            return []
        if all(isinstance(one, int) for one in value):
            return [value]
        return [shape for one in value for shape in self.flat(one)]

    def test_thousands_of_ranks(self):
        rescaled = self.rescale(self.convert("gloo_comms/gpt_fsdp4"), 10240)
        self.assertEqual(json.loads((rescaled / "ranks.json").read_text())["world_size"], 10240)
        self.run_program("validate", rescaled)
        steps = []
        for trace in self.dir / "gloo_comms_gpt_fsdp4", rescaled:
            done = self.run_program("simulate", trace, "--machine", "recorded", "-o", self.dir / "run", "--force", "--json")
            steps.append(json.loads(done.stdout)["step_time_ns"])
        self.assertEqual(*steps)
        self.assertIn("4 ranks stand for 10240", json.loads(done.stdout)["notes"][0])
        done = self.run_program("simulate", rescaled, "--machine", "recorded", "--jitter", "0.1", "-o", self.dir / "run", "--force",
                                expect=BAD_INPUT)
        self.assertIn("choose some with --ranks", done.stderr)

    def test_generated_job_keeps_its_tokens_and_not_its_memory(self):
        job = self.dir / "job"
        self.run_program("generate", "llama-small", "--fsdp", "--dp", "4", "--global-batch", "16", "-o", job)
        rescaled = self.rescale(job, 8)
        before, after = (self.run_json("simulate", trace, "--machine", "h100-hgx", "-o", self.dir / "run", "--force")
                         for trace in (job, rescaled))
        ratio = after["tokens_per_second"] / before["tokens_per_second"] * after["step_time_ns"] / before["step_time_ns"]
        self.assertAlmostEqual(ratio, 2, places=3)
        self.assertGreater(after["memory"]["peak_bytes"], 0)  # of its nodes
        self.assertLess(after["memory"]["peak_bytes"], before["memory"]["peak_bytes"])

    def test_is_shared_like_any_set(self):
        rescaled = self.rescale(self.convert("gloo/gpt_ddp4"), 8)
        found = self.run_program("audit", rescaled, expect=1).stdout
        self.assertIn("rescaled.json/source/name", found)
        self.assertNotIn("rescaled.json/source/content", found)
        self.run_program("anonymize", rescaled, "-o", self.dir / "shared", "--policy", "replay")
        self.run_program("audit", self.dir / "shared")
        self.run_program("validate", self.dir / "shared")
        self.run_program("pack", rescaled, "-o", self.dir / "set.tar", "--not-anonymized")
        self.run_program("unpack", self.dir / "set.tar", "-o", self.dir / "unpacked")
        self.assertTrue((self.dir / "unpacked" / "rescaled.json").exists())

    def test_one_replica_stands_for_those_without_files(self):
        trace = self.convert("gloo/gpt_ddp4")
        for rank in 0, 1, 3:
            (trace / f"gpt_ddp4.{rank}.et").unlink()
        said = self.run_program("rescale", trace, "--dp", 8, "-o", self.dir / "rescaled").stderr
        self.assertIn("no file of rank 0-1, 3", said)
        for options in [], ["--one-copy"]:
            rescaled = self.rescale(trace, 8, *options)
            self.run_program("validate", rescaled)
            self.assertEqual([one["ranks"] for one in json.loads((rescaled / "ranks.json").read_text())["classes"]], [["0-7"]])

    def test_expert_ranks_are_those_generated_in_that_number(self):
        """The same job generated with two and with four expert-parallel ranks."""
        made = {}
        for ep in 2, 4:
            made[ep] = self.dir / f"ep{ep}"
            self.run_program("generate", "qwen3-moe-small", "--dp", 8, "--ep", ep, "--global-batch", 8, "--micro-batch", 1, "-o", made[ep])
        for before, after in ((2, 4), (4, 2)):
            with self.subTest(before):
                rescaled = self.dir / f"to{after}"
                done = self.run_program("rescale", made[before], "--ep", after, "-o", rescaled).stdout
                self.assertIn(f"expert parallelism {after} from {before}, with even routing: 8 ranks", done)
                self.run_program("validate", rescaled)
                got, expected = self.rank(rescaled, 0), self.rank(made[after], 0)
                self.assertEqual(got[:2], expected[:2])
                self.assertGreater(min(got[2]["group"], got[2]["shard"]), 0)
                manifest = json.loads((rescaled / "rescaled.json").read_text())
                self.assertEqual(manifest["expert_parallel"], {"from": before, "to": after})
                self.assertEqual(manifest["routing"], "even")

        def refused(trace, ep, code=BAD_INPUT):
            return self.run_program("rescale", trace, "--ep", ep, "-o", self.dir / "refused", expect=code).stderr

        self.assertIn("does not divide the 8 ranks that share experts; give 4", refused(made[2], 3))
        self.assertIn("as many expert-parallel ranks already", refused(made[2], 2, USAGE))
        self.assertIn("all ranks of the job divide its experts", refused(self.convert("gloo_comms/moe_ep4"), 2))
        self.assertFalse((self.dir / "refused").exists())

    def test_what_is_refused(self):
        ddp = self.convert("gloo/gpt_ddp4")
        self.assertIn("the set itself", self.rescale(ddp, 8, name=ddp.name, expect=USAGE))
        once = self.rescale(ddp, 8)
        self.assertIn("rescaled already", self.rescale(once, 16, name="again", expect=BAD_INPUT))
        self.assertIn("as many data-parallel ranks already", self.rescale(ddp, 4, name="same", expect=USAGE))
        self.assertIn("expected NAME=KIND", self.rescale(ddp, 8, "--group", "0=x", name="kind", expect=USAGE))
        self.assertIn("no such process groups", self.rescale(ddp, 8, "--group", "7=dp", name="group", expect=USAGE))
        self.assertIn("no transfers among data-parallel ranks", self.rescale(ddp, 8, "--group", "0=tp", name="tp", expect=BAD_INPUT))
        for case in "gpt_pp4", "gpt_tp4", "moe_ep4":
            with self.subTest(case):
                self.assertIn("no transfers among data-parallel ranks",
                              self.rescale(self.convert(f"gloo_comms/{case}"), 8, name=case, expect=BAD_INPUT))
        experts = self.dir / "gloo_comms_moe_ep4"
        self.assertIn("all_to_all", self.rescale(experts, 8, "--group", "default_pg=dp", name="experts", expect=BAD_INPUT))
        self.assertEqual([path.name for path in self.dir.iterdir() if "tmp" in path.name], [])


if __name__ == "__main__":
    sys.exit(program.main())
