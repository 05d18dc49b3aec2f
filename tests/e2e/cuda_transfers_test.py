#!/usr/bin/env python3
"""Transfers among GPUs by NCCL, on the stand-ins for the driver, PyTorch and NCCL (tests/kernels/cuda_stand_in): each rank has a
device of its own."""
import os
import re
import sys

import program
from cuda_stand_ins import StandInTest, skip_what_they_need

ENVIRONMENT = 4
FAULT = "REPRISE_STAND_IN_NCCL_FAULT"
STAGED = "transfers go through the memory of the hosts"


@skip_what_they_need
class CudaTransfers(StandInTest):
    def setUp(self):
        super().setUp()
        self.log = self.dir / "log"
        self.groups = self.dir / "groups"
        self.groups.mkdir()
        self.driver |= {"REPRISE_STAND_IN_DEVICES": "4", "REPRISE_STAND_IN_LOG": str(self.log),
                        "REPRISE_STAND_IN_NCCL_FOLDER": str(self.groups)}

    def replay_on_four(self, trace, *options, **held):
        self.log.unlink(missing_ok=True)
        return self.replay(trace, *self.CUDA, *options, ranks=4, **held)

    def kinds(self):
        """NCCL's operations in the log, with their numbers."""
        found = re.findall(r" nccl (\w+) calls", self.log.read_text())
        return {kind: found.count(kind) for kind in found}

    def same_as_staged(self, capture):
        trace = self.convert(capture)
        _, staged = self.replay_on_four(trace, "--check-values", "--device-transfers", "off")
        self.assertEqual(self.kinds(), {})
        self.assertNotIn("device_transfers", staged["run"]["versions"])
        done, linked = self.replay_on_four(trace, "--check-values")
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
        _, report = self.replay_on_four(trace, "--algo", "all_reduce=ring")
        self.assertNotIn("all_reduce", self.kinds())
        self.assertIn("staged_transfer: all_reduce", str(report))
        self.assertIn("send", self.kinds())

    def test_ranks_that_share_a_device_stage(self):
        _, report = self.replay_on_four(self.convert("gloo_comms/gpt_pp4"), env={"REPRISE_STAND_IN_DEVICES": "2"})
        self.assertEqual(self.kinds(), {})
        self.assertNotIn("device_transfers", report["run"]["versions"])

    def test_one_member_that_cannot_join_stages_all(self):
        done, report = self.replay_on_four(self.convert("gloo_comms/gpt_pp4"), env={FAULT: "init:1"})
        self.assertRegex(done.stderr, STAGED + r": rank \d: NCCL: joining as member 1 of 2: unhandled system error")
        self.assertEqual(done.stderr.count(STAGED), 1)
        self.assertEqual(self.kinds(), {})
        self.assertNotIn("device_transfers", report["run"]["versions"])
        self.assertEqual(os.listdir(self.groups), [])

    def test_an_old_library_stages(self):
        done, _ = self.replay_on_four(self.convert("gloo_comms/gpt_pp4"), env={"REPRISE_STAND_IN_NCCL_VERSION": "21304"})
        self.assertIn(STAGED + ": rank 0: ", done.stderr)
        self.assertIn("NCCL 2.14 or later is needed", done.stderr)

    def test_a_failure_while_running_ends_all_ranks(self):
        done, _ = self.replay_on_four(self.convert("gloo_comms/moe_ep4"), expect=ENVIRONMENT, env={FAULT: "async:2:1"})
        self.assertRegex(done.stderr, r"rank \d: node \d+ \w+ #\d+ of group .*: NCCL: member 1 of \d: remote process exited")


if __name__ == "__main__":
    sys.exit(program.main())
