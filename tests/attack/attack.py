#!/usr/bin/env python3
"""Mutates every kind of input and sorts what the program makes of it.

  tests/attack/attack.py build/reprise [--count N] [--seed S] [--kinds KIND,KIND,...] [--seconds S] [--keep DIR]

Files that are damaged: capture, export (of other profilers), recorder and inspector (of transfers alone), set, report (of a set), rescale, micro_batches,
transform, run, package. Values inside of a run's files: values. Options with
values that no job needs: numbers; what is made worse: worse. Outputs of killed and failing commands: outputs. Random jobs,
folded and expanded: layouts. The result of a case is one of

  clean error       exit code 1 to 4 and a message, nothing left behind
  same result       as with the input that was not touched
  accounted         exit code 0 and another result, where the program says what it found odd, or where the content that
                    was changed is no fact that it could check (a name, a duration of a capture)
  different result  exit code 0, another result, and not a word of it
  crash             a signal, "internal error", a sanitizer's report, an error without a message
  hang              longer than it may
  over budget       more memory or time
  left behind       temporary files, or a partial output
  raw text          control characters of a name, or JSON that is none

The last six fail. Counts and the first examples of each are printed; --keep has the inputs.
"""
import argparse
import collections
import pathlib
import random
import shutil
import sys
import tempfile
import time

from damaged_inputs import Capture, Export, Inspector, Package, PipelineSet, Recorder, ReportedSet, RescaledSet, Run, RunValues, TraceSet, TransformedSet
from extreme_options import Numbers, Worse
from layouts import Layouts
from outputs import Outputs

KINDS = {kind.name: kind for kind in (Capture, Export, Recorder, Inspector, TraceSet, ReportedSet, RescaledSet, PipelineSet, TransformedSet, Run, RunValues, Package, Numbers, Worse, Outputs, Layouts)}
FAILURES = ["different result", "crash", "hang", "over budget", "left behind", "raw text"]
VERDICTS = ["clean error", "same result", "accounted", *FAILURES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new case of a kind after so long")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the inputs of failures")
    flags = parser.parse_args()
    program = str(pathlib.Path(flags.program).resolve())
    counts, failures = {}, 0
    with tempfile.TemporaryDirectory(prefix="reprise_attack_") as scratch:
        for name in flags.kinds.split(","):
            counts[name] = collections.Counter()
            kind = KINDS[name](program, pathlib.Path(scratch), random.Random(f"{flags.seed}/{name}"))
            until = time.monotonic() + flags.seconds
            for i in range(flags.count):
                if time.monotonic() > until:
                    break
                seed = f"{flags.seed}/{name}/{i}"
                verdict, done, output = kind.case(i, random.Random(seed))
                counts[name][verdict] += 1
                if verdict in FAILURES:
                    failures += 1
                    print(f"{seed}: {verdict}: {done}\n    {output[-600:]!r}", flush=True)
                    inputs = pathlib.Path(scratch) / name
                    if flags.keep:
                        shutil.copytree(inputs, flags.keep / seed.replace("/", "_"), symlinks=True, dirs_exist_ok=True)
    print(f"{'':<10}" + "".join(f"{verdict:>18}" for verdict in ["cases", *VERDICTS]))
    for name, row in counts.items():
        print(f"{name:<10}{sum(row.values()):>18}" + "".join(f"{row[verdict]:>18}" for verdict in VERDICTS))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
