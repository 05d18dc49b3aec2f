#!/usr/bin/env python3
"""Transfers among GPUs by NCCL, on the stand-ins for the driver, PyTorch and NCCL (tests/kernels/cuda_stand_in): each rank has a
device of its own."""
import os
import pathlib
import re
import sys

import program
import skips

CHECK_FAILED, ENVIRONMENT = 1, 4
STAND_INS = pathlib.Path(program.REPRISE).resolve().parent / "tests" / "cuda_stand_in"
TORCH = os.environ.get("REPRISE_TORCH", "")
FAULT = "REPRISE_STAND_IN_NCCL_FAULT"
STAGED = "transfers go through the memory of the hosts"


@skips.skip_class_if("torch", "" if TORCH else "REPRISE_TORCH is not set")
class CudaTransfers(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.log = self.dir / "log"
        self.groups = self.dir / "groups"
        self.groups.mkdir()
        self.driver = {"LD_LIBRARY_PATH": str(STAND_INS), "XDG_CACHE_HOME": str(STAND_INS / "cache"),
                       "REPRISE_STAND_IN_DEVICES": "4", "REPRISE_STAND_IN_LOG": str(self.log),
                       "REPRISE_STAND_IN_NCCL_FOLDER": str(self.groups)}

    def replay(self, trace, *options, ranks=4, expect=0, env=None):
        run = self.dir / "run"
        self.log.unlink(missing_ok=True)
        done = self.run_program("replay", trace, "-o", run, "--force", "--warmup", "0", "--iterations", "1", "--quiet",
                                "--allow-slow", "--device", "cuda", "--torch", STAND_INS / "libtorch_cuda.so", *options,
                                ranks=ranks, expect=expect, env={**self.driver, **(env or {})})
        return done, self.run_json("report", run) if expect == 0 else None

    def kinds(self):
        """NCCL's operations in the log, with their numbers."""
        found = re.findall(r" nccl (\w+) calls", self.log.read_text())
        return {kind: found.count(kind) for kind in found}

    def values(self, report):
        return {row["operation"]: [row[name] for name in ("values", "denormals", "infinities", "nans")]
                for row in report["values"]}

    def same_as_staged(self, capture):
        trace = self.convert(capture)
        _, staged = self.replay(trace, "--check-values", "--device-transfers", "off")
        self.assertEqual(self.kinds(), {})
        self.assertNotIn("device_transfers", staged["run"]["versions"])
        done, linked = self.replay(trace, "--check-values")
        self.assertNotIn(STAGED, done.stderr)
        self.assertEqual(linked["run"]["versions"]["device_transfers"], "NCCL 2.28.3")
        self.assertGreater(len(self.values(staged)), 3)
        self.assertEqual(self.values(linked), self.values(staged))
        self.assertEqual(os.listdir(self.groups), [])  # every group was left by all its members
        return self.kinds()

    def test_a_mixture_of_experts_exchanges_by_nccl(self):
        kinds = self.same_as_staged("gloo_comms/moe_ep4")
        self.assertIn("all_reduce", kinds)
        self.assertIn("send", kinds)  # all_to_all

    def test_each_collective(self):
        self.assertLessEqual({"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "send"},
                             self.same_as_staged("gloo_comms/collectives4").keys())

    def test_a_pipeline_sends_and_receives(self):
        kinds = self.same_as_staged("gloo_comms/gpt_pp4")
        self.assertEqual(kinds["send"], kinds["recv"])

    def test_messages_that_the_user_chose_stay_messages(self):
        trace = self.convert("gloo_comms/moe_ep4")
        _, report = self.replay(trace, "--algo", "all_reduce=ring")
        self.assertNotIn("all_reduce", self.kinds())
        self.assertIn("staged_transfer: all_reduce", str(report))
        self.assertIn("send", self.kinds())

    def test_ranks_that_share_a_device_stage(self):
        _, report = self.replay(self.convert("gloo_comms/gpt_pp4"), env={"REPRISE_STAND_IN_DEVICES": "2"})
        self.assertEqual(self.kinds(), {})
        self.assertNotIn("device_transfers", report["run"]["versions"])

    def test_one_member_that_cannot_join_stages_all(self):
        done, report = self.replay(self.convert("gloo_comms/gpt_pp4"), env={FAULT: "init:1"})
        self.assertRegex(done.stderr, STAGED + r": rank \d: NCCL: joining as member 1 of 2: unhandled system error")
        self.assertEqual(done.stderr.count(STAGED), 1)
        self.assertEqual(self.kinds(), {})
        self.assertNotIn("device_transfers", report["run"]["versions"])
        self.assertEqual(os.listdir(self.groups), [])

    def test_an_old_library_stages(self):
        done, _ = self.replay(self.convert("gloo_comms/gpt_pp4"), env={"REPRISE_STAND_IN_NCCL_VERSION": "21304"})
        self.assertIn(STAGED + ": rank 0: ", done.stderr)
        self.assertIn("NCCL 2.14 or later is needed", done.stderr)

    def test_a_failure_while_running_ends_all_ranks(self):
        done, _ = self.replay(self.convert("gloo_comms/moe_ep4"), expect=ENVIRONMENT, env={FAULT: "async:2:1"})
        self.assertRegex(done.stderr, r"rank \d: node \d+ \w+ #\d+ of group .*: NCCL: member 1 of \d: remote process exited")


if __name__ == "__main__":
    sys.exit(program.main())
