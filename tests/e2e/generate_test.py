#!/usr/bin/env python3
"""reprise generate: sets from descriptions as a user gets them, and against captures of the same jobs."""
import collections
import json
import sys

import program

CHECK_FAILED, USAGE, BAD_INPUT = 1, 2, 3
GPT = {"family": "gpt", "layers": 4, "hidden": 256, "heads": 8, "ffn": 1024, "vocab": 512, "sequence": 64,
       "dtype": "float32", "fused_qkv": False, "batch_first": True, "tied_embeddings": False}
MOE = {**GPT, "layers": 2, "experts": 8, "top_k": 2, "count_exchange": "all_to_all"}
SMALL_PRESETS = ("gpt-small", "llama-small", "mixtral-small", "vit-small", "dit-small", "dlrm-small", "qwen3-moe-small", "deepseek-small",
                 "gpt-oss-small", "llama-lora-small")
# The captures as workloads (traces/README.md has their models).
CAPTURES = {
    "gloo/gpt_single": {"layout": {}, "batch": {"global": 4, "micro": 4}},
    "gloo/gpt_ddp4": {"layout": {"dp": 4}, "batch": {"global": 16, "micro": 4}, "overlap": ["grad"]},
    "gloo_comms/gpt_tp4": {"layout": {"tp": 4, "vocab_parallel": False}, "batch": {"global": 4, "micro": 4}},
    "gloo_comms/gpt_pp4": {"layout": {"pp": 4}, "batch": {"global": 8, "micro": 2}},
    "gloo_comms/gpt_fsdp4": {"layout": {"dp": 4, "fsdp": True, "reshard_root": False},
                             "batch": {"global": 16, "micro": 4}, "overlap": ["param"]},
    "gloo_comms/gpt_hsdp4": {"model": {**GPT, "layers": 2}, "layout": {"dp": 4, "fsdp": True, "shards": 2, "reshard_root": False},
                             "batch": {"global": 16, "micro": 4}, "overlap": ["param"]},
    "gloo_comms/moe_ep4": {"model": MOE, "layout": {"dp": 4, "ep": 4}, "batch": {"global": 16, "micro": 4},
                           "routing": "zipf:0.5"},
}
FSDP_COPIES = {"aten::copy_", "fsdp::all_gather_copy_in", "fsdp::split_with_sizes_copy"}
# Operators that only one side has, by name, and why.
DATA = {"aten::random_", "aten::index"}  # the captured script draws its batch from a table on the same device
ONLY_CAPTURED = {
    "gloo/gpt_single": DATA | {"aten::copy_"},  # of tokens and labels
    # DistributedDataParallel copies buckets back into gradients after the first step.
    "gloo/gpt_ddp4": DATA | {"aten::copy_"},
    # The captured module clones what it reduces in place.
    "gloo_comms/gpt_tp4": DATA | {"aten::copy_"},
    # The captured script divides its gradients by the number of micro-batches instead of the loss.
    "gloo_comms/gpt_pp4": DATA | {"aten::copy_", "aten::div_"},
    # fully_shard's order of parameters within a unit is the module's.
    **{f"gloo_comms/{name}": DATA | FSDP_COPIES | {"fsdp::chunk_cat_mixed_dtype"} for name in ("gpt_fsdp4", "gpt_hsdp4")},
}
ONLY_GENERATED = {
    # Sums of gradients are kept beside what arrives.
    **{f"gloo_comms/{name}": FSDP_COPIES | {"fsdp::chunk_cat"} for name in ("gpt_fsdp4", "gpt_hsdp4")},
}


def tensor_shapes(value):
    """Of tensors and lists of tensors. Numbers, which captures of CPUs wrap as tensors without dimensions, are none."""
    if isinstance(value, dict):
        return tuple(value["shape"])
    if isinstance(value, list):
        return tuple(shape for shape in map(tensor_shapes, value) if shape)
    return ()


def read_rank(path, rank):
    """Work of the first step by name and shapes, and its transfers in order."""
    work, transfers = collections.Counter(), []
    for node in json.loads(path.read_text())["ranks"][rank]["nodes"]:
        if node["step"] != 0:
            continue
        if "comm" in node:
            comm = node["comm"]
            transfers.append((comm["kind"], comm["in_bytes"], comm["out_bytes"], comm["dtype"], comm["peer"]))
        elif node["op_kind"] == "work":
            work[node["name"], tuple(shape for shape in map(tensor_shapes, node["inputs"]) if shape)] += 1
    return work, transfers


# Layouts beside those of the presets; all on 4 ranks.
LAYOUTS = [
    ["llama-small", "--zero", "2", "--tp", "2", "--dp", "2", "--global-batch", "16", "--micro-batch", "4"],
    ["qwen3-moe-small", "--zero", "2", "--overlap", "grad,param", "--global-batch", "16", "--micro-batch", "1"],
    ["deepseek-small", "--recompute", "selective", "--recompute-modules", "mlp,shared_experts"],
    ["qwen3-moe-small", "--recompute", "selective", "--recompute-modules", "core_attn,moe"],
    ["gpt-small", "--tp", "4", "--pp", "1", "--recompute", "full", "--lora", "8"],
    ["llama-lora-small", "--tp", "1", "--fsdp", "--dp", "4", "--lora-targets", "q_proj,v_proj,up_proj"],
    ["gpt-small", "--lora", "4", "--lora-targets", "linear_proj"],
    ["mixtral-small", "--lora", "8", "--lora-targets", "linear_qkv,linear_proj"],
    ["llama-small", "--micro-batch", "1", "--documents", "7,20,5", "--overlap", "none"],
    ["mixtral-small", "--tp", "2", "--sp", "--dp", "2", "--etp", "1", "--ep", "4"],
    ["qwen3-moe-small", "--tp", "1", "--dp", "4", "--etp", "2", "--ep", "2"],
    ["gpt-small", "--tp", "1", "--pp", "4", "--micro-batch", "1", "--schedule", "zb-h1"],
    ["gpt-small", "--micro-batch", "1", "--schedule", "zb-v"],
    ["gpt-small", "--tp", "1", "--pp", "2", "--dp", "2", "--micro-batch", "1", "--schedule", "dualpipe-v"],
    *([preset, "--tp", "1", "--pp", "1", "--dp", "1", "--ep", "1", "--cp", "4", "--cp-comm-type", comm, "--overlap", "none", *more]
      for preset, comm, *more in (("gpt-small", "p2p"), ("llama-small", "all_gather", "--recompute", "selective"), ("gpt-small", "a2a"))),
]


class Generate(program.ProgramTest):
    def describe(self, name, job):
        path = self.dir / f"{name}.json"
        path.write_text(json.dumps({"model": GPT, "optimizer": "adamw", "separate_optimizer": True, "clip": 0,
                                    "device": "cpu", **job}))
        return path

    def both(self, capture, rank):
        name = capture.split("/")[1]
        captured, generated = self.convert(capture), self.dir / f"generated_{name}"
        self.run_program("generate", self.describe(name, CAPTURES[capture]), "-o", generated)
        sides = []
        for source in captured, generated:
            out = self.dir / f"{source.name}_nodes.json"
            self.run_program("export", source, "--to", "json", "-o", out)
            sides.append(read_rank(out, rank))
        return sides

    def test_against_captures(self):
        for capture, only_captured in ONLY_CAPTURED.items():
            with self.subTest(capture):
                (work, transfers), (made, made_transfers) = self.both(capture, 0 if "single" in capture else 1)
                self.assertEqual({name for name, _ in work - made}, only_captured)
                self.assertEqual({name for name, _ in made - work}, ONLY_GENERATED.get(capture, set()))
                self.assertGreater(sum((work & made).values()), 0.85 * sum(made.values()))
                if "ddp" in capture:  # buckets end at units, not at parameters: the sum is the same
                    self.assertEqual(sum(t[1] for t in transfers), sum(t[1] for t in made_transfers))
                elif "sdp" in capture:  # embedding and head are one unit there, two here
                    for kind in "all_gather", "reduce_scatter", "all_reduce":
                        self.assertEqual(*(sum(max(t[1:3]) for t in side if t[0] == kind)
                                           for side in (transfers, made_transfers)))
                else:
                    self.assertEqual(transfers, made_transfers)

    def test_models_of_transformers_against_captures(self):
        """By their config.json. Norms and rotations are other operators there, and rows of gates are of products of their own."""
        for name, options in (("qwen3_moe", []), ("deepseek_v3", []), ("llama_lora", ["--lora", "8", "--lora-targets", "q_proj,v_proj"])):
            with self.subTest(name):
                captured, generated = self.convert(f"transformers/{name}"), self.dir / f"generated_{name}"
                self.run_program("generate", program.TRACES / "transformers" / name / "config.json", "--sequence", 64, "--global-batch", 4,
                                 "--micro-batch", 4, *options, "-o", generated)
                flops = []
                for source in captured, generated:
                    out = self.dir / "nodes.json"
                    self.run_program("export", source, "--to", "json", "-o", out, "--force")
                    flops.append(self.product_flops(out))
                self.assertEqual(*flops)
                self.assertGreater(flops[0], 1e9 if not options else 1e8)

    def product_flops(self, path):
        """2 m k n of all products of two matrices, or of the rows of one with those of its expert."""
        flops = 0
        for node in json.loads(path.read_text())["ranks"][0]["nodes"]:
            name = node.get("op") or node["name"]
            if node["op_kind"] != "work" or name not in ("aten::mm", "aten::addmm", "aten::_grouped_mm"):
                continue
            a, b = [shape for shape in map(tensor_shapes, node["inputs"]) if len(shape) in (2, 3)][:2]
            flops += 2 * a[0] * a[-1] * b[-1]
        return flops

    def test_experts_against_a_capture(self):
        # Tokens choose experts by their values: the numbers differ, kinds, group and order do not.
        (work, transfers), (made, made_transfers) = self.both("gloo_comms/moe_ep4", 1)
        kinds = [t[0] for t in made_transfers]
        self.assertEqual([t[0] for t in transfers][:10], kinds[:10])
        self.assertEqual(kinds.count("all_to_all"), 10)  # 2 layers: counts, out, back, and both backward
        by_name = [collections.Counter() for _ in range(2)]
        for counts, nodes in zip(by_name, (work, made)):
            for (name, _), count in nodes.items():
                counts[name] += count
        for name in ("aten::addmm", "aten::mm", "aten::gelu", "aten::index", "aten::topk", "aten::argsort",
                     "aten::_index_put_impl_", "aten::native_layer_norm", "aten::bincount"):
            self.assertAlmostEqual(by_name[0][name], by_name[1][name], delta=2, msg=name)

    def test_presets_validate_and_replay(self):
        for preset in SMALL_PRESETS:
            with self.subTest(preset):
                folded = self.dir / preset
                summary = self.run_json("generate", preset, "-o", folded)
                self.assertEqual(summary["ranks"], 4)
                self.assertFalse(summary["times"])
                self.assertTrue(self.run_json("validate", folded)["ok"])
                run = self.dir / f"{preset}_run"
                self.run_program("replay", folded, "-o", run, "--iterations", "1", "--warmup", "0", ranks=4)
                self.assertIn("real 100.0 % of the", self.run_program("report", run).stdout)

    def test_layouts_validate_replay_simulate_and_export(self):
        for layout in LAYOUTS:
            with self.subTest(layout=layout):
                steps = []
                for expand in ([], ["--expand"]):
                    trace, run = self.dir / "trace", self.dir / "run"
                    self.run_program("generate", *layout, *expand, "-o", trace, "--force")
                    self.assertTrue(self.run_json("validate", trace)["ok"])
                    steps.append(self.run_json("simulate", trace, "-o", run, "--force", "--machine", "h100-hgx")["step_time_ns"])
                self.assertEqual(*steps)
                self.run_program("export", trace, "--to", "astra-sim", "-o", self.dir / "astra", "--force")
                self.run_program("replay", trace, "-o", run, "--force", "--iterations", "1", "--warmup", "0", ranks=4)
                self.assertIn("real 100.0 % of the", self.run_program("report", run).stdout)

    def test_modules_that_are_recomputed(self):
        job = ["generate", "qwen3-moe-small", "-o", self.dir / "x"]
        for options, message in (
                (["--recompute-modules", "moe"], '--recompute-modules is of "recompute": "selective"'),
                (["--recompute", "selective", "--recompute-modules", "mlp"], "its layers have core_attn, moe"),
                (["--recompute", "selective", "--recompute-modules", "layernorm"], "expected core_attn, mlp, moe, shared_experts"),
                (["--recompute", "selective", "--recompute-modules", ""], "expected core_attn")):
            self.assertIn(message, self.run_program(*job, *options, expect=2).stderr)
        described = self.describe("dense", {"layout": {"dp": 2}, "batch": {"global": 4, "micro": 1}, "recompute": "selective",
                                            "recompute_modules": ["moe"]})
        self.assertIn("which the model lacks", self.run_program("generate", described, "-o", self.dir / "x", expect=BAD_INPUT).stderr)
        text = self.run_program("predict", "llama-small", "--machine", "h100-hgx", "--recompute", "selective",
                                "--recompute-modules", "mlp,core_attn").stdout
        self.assertIn("recompute selective of core_attn, mlp", text)

    def test_adapters(self):
        job = ["generate", "llama-small", "-o", self.dir / "x", "--force"]
        for options, code, message in (
                (["--lora", "8"], 2, '"overlap" has tp'),
                (["--lora", "65", "--overlap", "none"], 2, "--lora is 65; expected 1 to 64"),
                (["--lora", "1", "--overlap", "none"], 2, "tensor parallelism of 2 does not divide --lora of 1"),
                (["--lora", "8", "--lora-targets", "q_porj"], 2, "did you mean q_proj?"),
                (["--lora-targets", "q_proj"], 2, "give --lora, too")):
            self.assertIn(message, self.run_program(*job, *options, expect=code).stderr)
        described = self.describe("experts", {"model": MOE, "batch": {"global": 4, "micro": 1}, "lora": {"rank": 4}})
        self.assertIn("is a matrix of each expert", self.run_program("generate", described, "-o", self.dir / "x", expect=BAD_INPUT).stderr)
        trained = 2 * 8 * (64 + 128 + 64 + 64)  # two layers; to queries, keys and values, and back
        options = ["--lora", "8", "--lora-targets", "linear_qkv,linear_proj", "--overlap", "grad"]
        summary = self.run_json(*job, *options)
        self.assertEqual(summary["trainable_parameters"], trained)
        facts = json.loads((self.dir / "x" / "job.json").read_text())
        self.assertEqual(facts["trainable_parameters"], trained)
        self.assertEqual(facts["parameters"], summary["parameters"])
        self.assertIn(f"{trained:.4g} of them trained", self.run_program(*job, *options).stdout)
        predict = ["predict", "llama-small", "--machine", "h100-hgx", *options]
        self.assertEqual(self.run_json(*predict)["job"]["lora"],
                         {"rank": 8, "targets": ["linear_qkv", "linear_proj"], "dropout": 0})
        self.assertIn("rank 8 of linear_qkv, linear_proj", self.run_program(*predict).stdout)
        self.assertIsNone(self.run_json("predict", "llama-small", "--machine", "h100-hgx")["job"]["lora"])

    def test_documents(self):
        job = ["predict", "llama-small", "--machine", "h100-hgx", "--micro-batch", "1", "--sequence", "64"]
        self.assertIn("micro-batches of 1, not 2",
                      self.run_program("predict", "llama-small", "--machine", "h100-hgx", "--documents", "16,16", expect=2).stderr)
        for options, message in ((["--documents", "32,16"], '"documents" add up to 48 tokens; a sequence has 64'),
                                 (["--documents", "64", "--document-length", "9"], "give one of them"),
                                 (["--seed", "3"], "leave it out")):
            self.assertIn(message, self.run_program(*job, *options, expect=2).stderr)
        large = ["llama3-8b", "--machine", "h100-hgx", "--micro-batch", "1", "--sequence", "8192"]
        whole, halves = (self.run_json("predict", *large, "--documents", lengths) for lengths in ("8192", "4096,4096"))
        self.assertEqual(whole["job"]["documents"], [8192])
        self.assertLess(halves["step_time_ns"], whole["step_time_ns"])
        self.assertIn("of 64 tokens in 2 documents", self.run_program(*job, "--documents", "32,32").stdout)
        drawn = [self.run_json(*job, "--document-length", "8", "--seed", seed)["job"]["documents"] for seed in ("1", "2")]
        self.assertEqual([sum(lengths) for lengths in drawn], [64, 64])
        self.assertNotEqual(*drawn)
        rows = self.run_json("sweep", *large, "documents=8192,4096+4096", "-o", self.dir / "sweep")["configurations"]
        self.assertEqual({row["step_time_ns"] for row in rows}, {whole["step_time_ns"], halves["step_time_ns"]})

    def test_zero_is_one_choice(self):
        job = ["predict", "gpt-small", "--machine", "h100-hgx", "--tp", "1", "--pp", "1", "--dp", "4", "--global-batch", "32"]
        for stage, option in (("1", "--distributed-optimizer"), ("3", "--fsdp")):
            named = self.run_json(*job, "--zero", stage)
            self.assertEqual(named["job"]["zero"], int(stage))
            self.assertEqual(named["step_time_ns"], self.run_json(*job, option)["step_time_ns"])
        done = self.run_program(*job, "--zero", "4", expect=2)
        self.assertIn("expected 0 (nothing is divided), 1 (optimizer states), 2 (gradients, too) or 3", done.stderr)
        self.assertIn("give one of them", self.run_program(*job, "--zero", "2", "--fsdp", expect=2).stderr)
        described = self.describe("both", {"layout": {"dp": 2, "zero": 2, "fsdp": True}, "batch": {"global": 4, "micro": 1}})
        self.assertIn('"zero" says what', self.run_program("generate", described, "-o", self.dir / "x", expect=BAD_INPUT).stderr)
        done = self.run_program("generate", "gpt-small", "--zero", "2", "--pp", "2", "-o", self.dir / "x", expect=2)
        self.assertIn('--zero 2 with pipeline parallelism needs "tied_embeddings": false', done.stderr)

    def test_folded_sets_are_read_by_rank(self):
        folded, expanded = self.dir / "folded", self.dir / "expanded"
        self.run_program("generate", "llama-small", "-o", folded)
        self.run_program("generate", "llama-small", "-o", expanded, "--expand")
        for rank in 0, 3:
            nodes = []
            for directory in folded, expanded:
                out = directory.with_suffix(f".{rank}.json")
                self.run_program("export", directory, "--rank", rank, "--to", "json", "-o", out)
                nodes.append(json.loads(out.read_text()))
            self.assertGreater(len(nodes[0]["nodes"]), 100)
            self.assertEqual(*nodes)
        done = self.run_program("stats", folded / "llama-small.class0.et", expect=BAD_INPUT)
        self.assertIn("is no rank's trace; name a rank", done.stderr)
        # Sums are those of all ranks.
        counted = [self.run_json("stats", directory) for directory in (folded, expanded)]
        for key in "nodes", "edges", "types", "kinds", "classes", "reasons", "transfers", "groups", "diagnostics":
            self.assertEqual(counted[0][key], counted[1][key], key)
        self.assertEqual([rank["ranks_alike"] for rank in counted[0]["ranks"]], [4])
        self.assertIn("a folded set, written by Reprise already",
                      self.run_program("convert", folded, "-o", self.dir / "none", expect=BAD_INPUT).stderr)
        done = self.run_program("validate", "--timing", folded, expect=BAD_INPUT)
        self.assertIn("a generated set has none", done.stderr)
        (folded / "ranks.json").write_text((folded / "ranks.json").read_text().replace('"0-3"', '"0-2"', 1))
        self.assertIn("rank 3 is in no class", self.run_program("stats", folded, expect=BAD_INPUT).stderr)

    def test_sets_may_be_shared(self):
        for preset in SMALL_PRESETS:
            with self.subTest(preset):  # as they are
                folded = self.dir / preset
                self.run_program("generate", preset, "-o", folded)
                self.assertEqual(self.run_json("audit", folded)["findings"], [])
        for preset in self.run_json("list", "models")["models"]:  # whatever preset a set is called after
            named = self.dir / "named"
            self.run_program("generate", "gpt-small", "-o", named, "--force", "--name", preset["name"])
            self.assertEqual(self.run_json("audit", named)["findings"], [], preset["name"])
        self.run_program("generate", "llama-small", "-o", self.dir / "parts", "--overlap", "none", "--lora", "8",
                         "--lora-targets", "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj")
        self.assertEqual(self.run_json("audit", self.dir / "parts")["findings"], [])
        # A software stack of one's own is a path.
        self.run_program("generate", "gpt-small", "-o", self.dir / "own", "--stack", "/home/somebody/secret.json")
        findings = self.run_json("audit", self.dir / "own", expect=CHECK_FAILED)["findings"]
        self.assertEqual({finding["field"] for finding in findings}, {"job.json/stack"})
        folded, hidden, package, unpacked = (self.dir / name for name in ("gpt-small", "a", "a.reprise", "u"))
        done = self.run_program("anonymize", folded, "-o", hidden, "--verify")
        self.assertIn("the same up to names", done.stderr)
        self.assertEqual(self.run_json("audit", hidden)["findings"], [])
        self.assertEqual(len(list(hidden.glob("trace.class*.et"))), 2)
        # What no longer is the same is found.
        ranks = json.loads((hidden / "ranks.json").read_text())
        ranks["classes"][0]["ranks"], ranks["classes"][1]["ranks"] = (["0", "2"], ["1", "3"])
        (hidden / "other").mkdir()
        for file in hidden.glob("*.et"):
            (hidden / "other" / file.name).write_bytes(file.read_bytes())
        (hidden / "other" / "ranks.json").write_text(json.dumps(ranks))
        done = self.run_program("anonymize", folded, "-o", hidden / "other", "--verify-only", expect=CHECK_FAILED)
        self.assertIn("the files stand for other ranks", done.stderr)
        self.run_program("pack", hidden, "-o", package)
        self.run_program("unpack", package, "-o", unpacked)
        for file in "ranks.json", "trace.class0.et", "trace.class1.et", "checksums.xxh128":
            self.assertEqual((hidden / file).read_bytes(), (unpacked / file).read_bytes(), file)
        self.assertTrue(self.run_json("validate", unpacked)["ok"])
        # As it is, with what it keeps of its job; not with a name in it.
        whole, back = self.dir / "whole.reprise", self.dir / "back"
        self.assertIn("finds no names", self.run_program("pack", folded, "-o", whole).stdout)
        self.run_program("unpack", whole, "-o", back)
        self.assertEqual((back / "job.json").read_bytes(), (folded / "job.json").read_bytes())
        job = json.loads((folded / "job.json").read_text())
        (folded / "job.json").write_text(json.dumps({**job, "owner": "/home/alice/secret_project"}))
        (folded / "checksums.xxh128").unlink()
        self.assertIn("/home/alice", json.dumps(self.run_json("audit", folded, expect=CHECK_FAILED)["findings"]))
        self.assertIn("is not anonymized", self.run_program("pack", folded, "-o", self.dir / "n.reprise", expect=2).stderr)

    def test_numbers_of_options(self):
        for value in "0", "-2", "many":
            done = self.run_program("generate", "gpt-small", "--sequence", value, "-o", self.dir / "n", expect=2)
            self.assertLess(len(done.stderr), 300)
            self.assertIn(value, done.stderr)

    def test_large_jobs_have_few_files(self):
        out = self.dir / "405b"
        summary = self.run_json("generate", "llama3-405b", "-o", out)
        self.assertEqual((summary["ranks"], summary["classes"]), (16384, 16))
        self.assertEqual(len(list(out.glob("*.et"))), 16)
        self.assertTrue(self.run_json("validate", out)["ok"])
        stats = self.run_json("stats", out)
        self.assertEqual(stats["nodes"], summary["nodes"])
        self.assertEqual(sum(rank["ranks_alike"] for rank in stats["ranks"]), 16384)
        self.assertIn({"role": "tp", "description": "TENSOR_MODEL_PARALLEL_GROUP", "groups": 2048, "least_ranks": 8,
                       "most_ranks": 8, "transfers": next(r["transfers"] for r in stats["roles"] if r["role"] == "tp")},
                      stats["roles"])
        self.assertEqual(sum(row["transfers"] for row in stats["roles"]), sum(t["count"] for t in stats["transfers"]))
        for form, way_out in ("json", "choose one with --rank (the first of the classes are 0,"), (
                "astra-sim", "or give --all"):
            done = self.run_program("export", out, "--to", form, "-o", self.dir / "none", expect=BAD_INPUT)
            self.assertIn(way_out, done.stderr)
        done = self.run_program("report", out, expect=BAD_INPUT)
        self.assertIn("simulate the set, and take the run", done.stderr)
        self.run_program("stats", out / "llama3-405b.16383.et")

    def test_what_cannot_be(self):
        for arguments, code, needle in (
                (["lama3-8b"], BAD_INPUT, "did you mean llama3-8b?"),
                (["gpt-small", "--tp", "3"], USAGE, "tensor parallelism of 3 does not divide 4 attention heads\nWith the rest as it is, this breaks no rule: --tp 1, 2 or 4\n"),
                (["gpt-small", "--pp", "8"], USAGE, "but 4 layers"),
                (["gpt-small", "--ranks", "6", "--tp", "4"], USAGE, "is not a multiple of 8 (tp 4 x pp 2 x cp 1)\nWith"),
                # Three data-parallel ranks cannot share the batch.
                (["gpt-small", "--ranks", "12"], USAGE, "is not a multiple of 6"),
                (["gpt-small", "--global-batch", "7"], USAGE, "a global batch of 7 is not a multiple of 2"),
                (["gpt-small", "--tp", "0"], USAGE, "--tp"),
                (["gpt-small", "--schedule", "1f1"], USAGE, "did you mean 1f1b?"),
                (["gpt-small", "--schedule", "zb-h1", "--pp", "1"], USAGE, "needs one (\"pp\" above 1)\nWith the rest as it is, this breaks no rule: --pp 2 or 4\n"),
                (["gpt-small", "--cp", "2", "--cp-comm-type", "alltoall"], USAGE, "expected p2p (a ring), all_gather"),
                (["gpt-small", "--cp-comm-type", "a2a"], USAGE, "and cp is 1; leave it out"),
                (["gpt-small", "--cp", "4", "--cp-comm-type", "a2a"], USAGE, "\"heads\" 4 / tp 2 = 2 do not divide"),
                (["gpt-small", "--etp", "2"], USAGE, "needs a model with experts"),
                (["mixtral-small", "--etp", "2", "--ep", "4"], USAGE, "etp 2 x ep 4 = 8 does not divide the 4 ranks of a stage"),
                (["gpt-small", "--overlap", "gard"], USAGE, "did you mean grad?")):
            out = self.dir / "none"  # not left behind
            done = self.run_program("generate", *arguments, "-o", out, expect=code)
            self.assertIn(needle, done.stderr)
            self.assertFalse(out.exists())

    def test_descriptions_that_cannot_be(self):
        small = {"model": GPT, "batch": {"global": 8, "micro": 2}}
        for change, needle in (({"layout": {"tp": 3}}, "does not divide 8 attention heads"),
                               ({"layout": {"dp": 3}}, "a global batch of 8 is not a multiple of 6"),
                               ({"layout": {"pp": 5}}, "but 4 layers: a stage needs a layer"),
                               ({"layout": {"tp": -1}}, "\"layout.tp\" is -1; expected 1 to"),
                               ({"layout": {"dp": 2**62}}, "expected 1 to"),
                               ({"layout": {"pp": 2, "layers_per_stage": [1, 1]}}, "adds up to 2"),
                               ({"batch": {"global": 0, "micro": 1}}, "\"batch.global\" is 0")):
            description = {**small, **change}
            path = self.dir / "small.json"
            path.write_text(json.dumps(description))
            done = self.run_program("generate", path, "-o", self.dir / "none", expect=BAD_INPUT)
            self.assertIn(needle, done.stderr)
            self.assertIn(str(path), done.stderr)
        for change, needle in (({"layout": {"dp": 2**70}}, "expected a whole number"),
                               ({"layouts": {}}, "has no field \"layouts\"; did you mean layout?")):
            path.write_text(json.dumps({**small, **change}))
            done = self.run_program("generate", path, "-o", self.dir / "none", expect=BAD_INPUT)
            self.assertIn(needle, done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
