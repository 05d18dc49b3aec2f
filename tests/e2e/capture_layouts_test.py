#!/usr/bin/env python3
"""Captures as frameworks name and lay them out: renamed copies of one give the same set."""
import shutil
import sys

import program

RANKS = 4
CASE = program.TRACES / "gloo_comms/gpt_tp4"
# Where the host trace and the Kineto file of a rank go.
LAYOUTS = {
    "Megatron-LM": ("chakra/rank-{}.json.gz", "pytorch_profile/rank-{}.json.gz"),
    "Chakra, dots": ("host.{}.json.gz", "device.{}.json.gz"),
    "Chakra, lines": ("host_{}.json.gz", "device_{}.json.gz"),
    "PARAM": ("net_et_{}.json.gz", "net_trace_{}.json.gz"),
    "TensorBoard": ("et/rank_{}.json.gz", "tb/node0_1{}7.1694128201545.pt.trace.json.gz"),
    "a folder of each rank": ("run/rank{}/et.json.gz", "run/rank{}/trace.json.gz"),
    "torchelastic": ("attempt_0/{}/host.json.gz", "attempt_0/{}/kineto.json.gz"),
    "names that only contents and processes tell": ("{0}a{0}x.json.gz", "k{0}.{0}.json.gz"),
}
BAD_INPUT, USAGE = 3, 2


class CaptureLayouts(program.ProgramTest):
    def lay_out(self, layout, below=""):
        host, kineto = layout
        for rank in range(RANKS):
            for name, ending in ((host, "et"), (kineto, "kineto")):
                to = self.dir / "capture" / below / name.format(rank)
                to.parent.mkdir(parents=True, exist_ok=True)
                source = next(CASE.glob(f"rank{rank}.{ending}.json*"))
                shutil.copy(source, to.with_name(to.name.replace(".json.gz", "".join(source.suffixes[1:]))))

    def nodes(self, name):
        return {path.name.split(".")[1]: path.read_bytes() for path in sorted((self.dir / name).glob("*.et"))}

    def setUp(self):
        super().setUp()
        # Own names may have a .meta.json beside them, which copies lack.
        self.lay_out(("rank{}.et.json.gz", "rank{}.kineto.json.gz"))
        self.run_program("convert", self.dir / "capture", "-o", self.dir / "original")
        self.original = self.nodes("original")
        self.assertEqual(len(self.original), RANKS)
        shutil.rmtree(self.dir / "capture")

    def test_layouts_give_the_same_set(self):
        for name, layout in LAYOUTS.items():
            with self.subTest(name):
                shutil.rmtree(self.dir / "capture", ignore_errors=True)
                self.lay_out(layout)
                report = self.run_json("convert", self.dir / "capture", "--name", "original", "--force", "-o", self.dir / "set")
                self.assertEqual(self.nodes("set"), self.original)
                self.assertEqual([rank["rank"] for rank in report["ranks"]], list(range(RANKS)))
                self.assertTrue(all(rank["host_trace"] and rank["device_trace"] for rank in report["ranks"]))

    def test_one_of_several_is_chosen(self):
        for iteration in (5, 10):
            self.lay_out(("rank{}_et.json.gz", "rank{}_trace.json.gz"), f"iteration_{iteration}")
        done = self.run_program("convert", self.dir / "capture", "-o", self.dir / "set", expect=BAD_INPUT)
        self.assertRegex(done.stderr, r"holds 2 captures; choose one with --capture NAME:\n"
                                      r"  iteration_5 +4 ranks, host traces and Kineto, \d+\.\d\d MB, 20\d\d-.* UTC\n"
                                      r"  iteration_10 +4 ranks")
        done = self.run_program("convert", self.dir / "capture", "--capture", "iteration_10", "--name", "original", "-v", "-o", self.dir / "set")
        self.assertEqual(self.nodes("set"), self.original)
        self.assertIn(f"  from {self.dir}/capture/iteration_10/rank3_et.json", done.stdout)

    def test_rank_pattern(self):
        self.lay_out(("w{}/of_4.json.gz", "v{}/of_4.json.gz"))
        self.run_program("convert", self.dir / "capture", "--rank-pattern", "[vw]([0-9])/", "--name", "original", "-o", self.dir / "set")
        self.assertEqual(self.nodes("set"), self.original)

    def test_choices_are_of_directories(self):
        done = self.run_program("convert", program.ROOT / "traces/README.md", "--capture", "x", "--format", "astra_text", "-o", self.dir / "set",
                                expect=USAGE)
        self.assertIn("--capture is for a directory with captures of PyTorch", done.stderr)


if __name__ == "__main__":
    program.main()
