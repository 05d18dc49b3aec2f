#!/usr/bin/env python3
"""reprise transform and simulate --what-if: rules on captured and generated jobs, and what is refused."""
import json
import sys

import program

USAGE, BAD_INPUT = 2, 3


class Transform(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.captured = self.convert("gloo/gpt_ddp4")

    def generated(self):
        job = self.dir / "job"
        if not job.exists():
            self.run_program("generate", "llama-small", "--tp", "2", "--pp", "2", "--dp", "2", "--global-batch", "8", "-o", job)
        return job

    def step(self, trace, *rules, machine="recorded"):
        options = [option for rule in rules for option in ("--what-if", rule)]
        return self.run_json("simulate", trace, "--machine", machine, "-o", self.dir / "run", "--force", *options)

    def transform(self, trace, *rules, expect=0):
        options = [option for rule in rules for option in ("--rule", rule)]
        done = self.run_program("transform", trace, "-o", self.dir / "changed", "--force", *options, expect=expect)
        return self.dir / "changed" if expect == 0 else done.stderr

    def test_a_set_and_a_simulation_say_the_same(self):
        before = self.step(self.captured)["step_time_ns"]
        for rules in (["class=gemm => scale 0.5"], ["kind=all_reduce => remove"], ["rank=0 => scale 1.2"], ["class=comm => alone"],
                      ["class=norm => serialise", "class=gemm => delay 50us"], ["kind=all_reduce => time 1ms"],
                      ["kind=all_reduce => bucket 1g"]):
            with self.subTest(rules):
                answer = self.step(self.captured, *rules)
                self.assertEqual(answer["what_if"]["step_time_without_ns"], before)
                changed = self.transform(self.captured, *rules)
                self.run_program("validate", changed)
                self.assertEqual(self.step(changed)["step_time_ns"], answer["step_time_ns"])
                self.assertNotEqual(answer["step_time_ns"], before)

    def test_nothing_runs_beside_transfers(self):
        for name in "gloo_comms/gpt_pp4", "gloo_comms/gpt_tp4", "gloo_comms/gpt_fsdp4":
            with self.subTest(name):
                changed = self.transform(self.convert(name), "class=comm => alone")
                self.run_program("validate", changed)
                self.step(changed)
                overlap = self.run_json("report", self.dir / "run")["fidelity"]["overlap"]
                self.assertTrue(overlap)
                # What a send takes may lie beside what follows it: it ends with its receive.
                if "pp4" not in name:
                    self.assertEqual([row["replayed_ns"] for row in overlap], [row["replayed_exposed_ns"] for row in overlap])

    def test_ranks_do_not_wait_for_each_other(self):
        said = self.transform(self.convert("gloo_comms/gpt_pp4"), "=> serialise", expect=BAD_INPUT)
        self.assertIn("dependency cycle", said)
        self.assertIn("no rule may make nodes wait for each other", said)

    def test_nodes_say_that_a_rule_found_them(self):
        changed = self.transform(self.captured, "kind=all_reduce => resize 0.5", "class=norm rank=1 => scale 2")
        out = self.dir / "nodes.json"
        labels = []
        for rank in 0, 1:
            self.run_program("export", changed, "--to", "json", "--rank", rank, "-o", out, "--force")
            nodes = json.loads(out.read_text())["nodes"]
            labels.append({label: sum(node.get("rescaled") == label for node in nodes) for label in ("rule", "size")})
        self.assertEqual([of["size"] for of in labels], [4, 4])
        self.assertEqual(labels[0]["rule"], 0)
        self.assertGreater(labels[1]["rule"], 0)
        said = json.loads((changed / "transformed.json").read_text())["rules"]
        self.assertEqual([one["nodes"] for one in said], [16, labels[1]["rule"]])
        self.assertEqual(said[1]["changed_ns"], 2 * said[1]["recorded_ns"])

    def test_changed_sets_replay(self):
        changed = self.transform(self.captured, "kind=all_reduce => resize 2", "class=attention => remove")
        self.run_program("replay", changed, "-o", self.dir / "replayed", ranks=4)

    def test_generated_jobs_change_with_the_model(self):
        job = self.generated()
        base = self.step(job, machine="h100-hgx")["step_time_ns"]
        nothing = self.step(job, "=> scale 1", machine="h100-hgx")
        self.assertEqual(nothing["step_time_ns"], base)
        slow = self.step(job, "rank=3 => scale 2", machine="h100-hgx")["step_time_ns"]
        all_slow = self.step(job, "=> scale 2", machine="h100-hgx")["step_time_ns"]
        self.assertTrue(base < slow <= all_slow, (base, slow, all_slow))
        slower = self.run_json("simulate", job, "--machine", "h100-hgx", "-o", self.dir / "run", "--force", "--slow", "3=2")
        without_transfers = self.step(job, "rank=3 class=gemm,attention,norm,elementwise,copy,fill,optimizer,embedding,reduction,loss,"
                                           "softmax,index,other,memcpy,random,sort,pool,conv => scale 2", machine="h100-hgx")
        self.assertEqual(without_transfers["step_time_ns"], slower["step_time_ns"])
        self.assertIn("has a recorded time", self.transform(job, "class=gemm => scale 0.5", expect=BAD_INPUT))
        # A folded set stays folded: one more class for the rank that differs.
        changed = self.transform(job, "rank=3 => alone")
        self.run_program("validate", changed)
        classes = json.loads((changed / "ranks.json").read_text())["classes"]
        before = json.loads((job / "ranks.json").read_text())["classes"]
        self.assertEqual(len(classes), len(before) + 1)
        self.assertIn(["3"], [one["ranks"] for one in classes])

    def test_gains_are_what_the_rule_brings(self):
        self.step(self.captured)
        rows = {row["name"]: row["gain_ns"] for row in self.run_json("report", self.dir / "run")["fidelity"]["gains"]}
        self.assertLessEqual(len(rows), 10)
        before = self.step(self.captured)["step_time_ns"]
        for name in "gemm", "attention", "comm":
            after = self.step(self.captured, f"class={name} => time 0ns")["step_time_ns"]
            self.assertAlmostEqual(rows[name] / (before - after), 1, delta=0.02, msg=name)
        # A rank for each class: messages between classes are followed. Kernels beside transfers are slowed down, which stays.
        before = self.step(self.generated(), machine="h100-hgx")["step_time_ns"]
        rows = {row["name"]: row["gain_ns"] for row in self.run_json("report", self.dir / "run")["fidelity"]["gains"]}
        for name in "gemm", "attention":
            after = self.step(self.generated(), f"class={name} => time 0ns", machine="h100-hgx")["step_time_ns"]
            self.assertAlmostEqual(rows[name] / (before - after), 1, delta=0.1, msg=name)
        self.assertIn("gemm", self.run_program("report", self.dir / "run", "--section", "gains").stdout)

    def test_rules_come_from_files(self):
        rules = self.dir / "rules"
        rules.write_text("# faster\nclass=gemm => scale 0.5\n")
        answer = self.run_json("simulate", self.captured, "--machine", "recorded", "-o", self.dir / "run", "--rules", rules,
                               "--what-if", "class=norm => scale 0.5")
        self.assertEqual([rule["rule"] for rule in answer["what_if"]["rules"]], ["class=gemm => scale 0.5", "class=norm => scale 0.5"])
        rules.write_text("class=gemm => scale 0.5\nclass=gem => scale 0.5\n")
        done = self.run_program("transform", self.captured, "-o", self.dir / "out", "--rules", rules, expect=BAD_INPUT)
        self.assertIn("rules:2:", done.stderr)

    def test_what_is_refused(self):
        self.assertIn("no node is like this", self.transform(self.captured, "name=nothing => remove", expect=BAD_INPUT))
        self.assertIn("must change on all of its ranks", self.transform(self.captured, "rank=0 kind=all_reduce => resize 2", expect=BAD_INPUT))
        self.assertIn("would not replay", self.transform(self.captured, "rank=0 kind=all_reduce => remove", expect=BAD_INPUT))
        self.assertIn("is no transfer", self.transform(self.captured, "class=gemm => resize 2", expect=BAD_INPUT))
        self.assertIn("expected one of the actions", self.transform(self.captured, "class=gemm => faster", expect=USAGE))
        self.assertFalse((self.dir / "changed").exists())
        self.assertIn("the set itself", self.run_program("transform", self.captured, "-o", self.captured, "--rule", "=> scale 2",
                                                         expect=USAGE).stderr)
        self.run_program("transform", self.captured, "-o", self.dir / "out", expect=USAGE)
        self.run_program("simulate", self.captured, "--machine", "recorded", "-o", self.dir / "none", "--what-if",
                         "name=nothing => remove", expect=BAD_INPUT)
        self.assertFalse((self.dir / "none").exists())

    def test_rules_are_named_where_a_set_is_shared(self):
        changed = self.transform(self.captured, "name=my_secret_op => scale 2", expect=BAD_INPUT)
        changed = self.transform(self.captured, "class=gemm => scale 2")
        self.assertIn("transformed.json/rules/0/rule", self.run_program("audit", changed, expect=1).stdout)
        self.run_program("anonymize", changed, "-o", self.dir / "shared", "--policy", "replay")
        self.run_program("audit", self.dir / "shared")
        self.run_program("pack", changed, "-o", self.dir / "set.tar", "--not-anonymized")
        self.run_program("unpack", self.dir / "set.tar", "-o", self.dir / "unpacked")
        self.assertTrue((self.dir / "unpacked" / "transformed.json").exists())


if __name__ == "__main__":
    sys.exit(program.main())
