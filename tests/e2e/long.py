#!/usr/bin/env python3
"""By hand: ten replays in a row of every bundled multi-rank capture, with --check; none may hang or fail.

Usage: long.py PROGRAM [captures directory, default traces/]
"""
import pathlib
import subprocess
import sys
import tempfile
import time

import program

RUNS = 10


def main():
    captures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else program.TRACES
    failures = 0
    for case in sorted(path.parent for path in captures.glob("*/*/rank1.et.json.gz")):
        ranks = len(list(case.glob("rank*.et.json.gz")))
        with tempfile.TemporaryDirectory() as scratch:
            trace = pathlib.Path(scratch) / "trace"
            subprocess.run([program.REPRISE, "convert", case, "-o", trace], check=True,
                           stdout=subprocess.DEVNULL)
            seconds = []
            for _ in range(RUNS):
                begin = time.monotonic()
                done = subprocess.run(
                    ["mpirun", "-n", str(ranks), program.REPRISE, "replay", trace, "-o",
                     pathlib.Path(scratch) / "run", "--force", "--check", "--iterations", "1"],
                    env=program.ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False)
                seconds.append(time.monotonic() - begin)
                if done.returncode != 0:
                    failures += 1
                    print(done.stderr, file=sys.stderr)
        print(f"{case.parent.name}/{case.name}: {RUNS} runs on {ranks} ranks, "
              f"{min(seconds):.1f}-{max(seconds):.1f} s each, {failures} failures so far", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
