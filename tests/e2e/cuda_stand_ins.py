"""Replays on the stand-ins for NVIDIA's driver, PyTorch's library for GPUs and NCCL (tests/kernels/cuda_stand_in)."""
import os
import pathlib
import shutil

import program
import skips

STAND_INS = pathlib.Path(program.REPRISE).resolve().parent / "tests" / "cuda_stand_in"
TORCH = os.environ.get("REPRISE_TORCH", "")
HAS_COMPILER = shutil.which("clang-14") and pathlib.Path("/usr/lib/clc/nvptx64--nvidiacl.bc").exists()


def skip_what_they_need(tests):
    """A decorator of a class of tests."""
    tests = skips.skip_class_if("torch", "" if TORCH else "REPRISE_TORCH is not set")(tests)
    return skips.skip_class_if("nvptx", "" if HAS_COMPILER else "scripts/check_targets --install")(tests)


class StandInTest(program.ProgramTest):
    CUDA = ("--device", "cuda", "--torch", STAND_INS / "libtorch_cuda.so")

    def setUp(self):
        super().setUp()
        self.driver = {"LD_LIBRARY_PATH": str(STAND_INS), "XDG_CACHE_HOME": str(STAND_INS / "cache")}

    def replay(self, trace, *options, ranks=1, expect=0, env=None):
        """One iteration, and its report."""
        run = self.dir / "run"
        done = self.run_program("replay", trace, "-o", run, "--force", "--warmup", "0", "--iterations", "1", "--quiet",
                                "--allow-slow", *options, ranks=ranks, expect=expect, env={**self.driver, **(env or {})})
        return done, self.run_json("report", run) if expect == 0 else None

    def values(self, report):
        """What --check-values counted of each operation's numbers."""
        return {row["operation"]: [row[name] for name in ("values", "denormals", "infinities", "nans")]
                for row in report["values"]}
