#!/usr/bin/env python3
"""Folded captures: size, time and memory of many ranks, made of the four of gpt_ddp4 with times of their own.

  bench/fold/many_ranks.py build/reprise [--ranks 512]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import rank_copies  # noqa: E402  (needs the path above)


def measured(*command):
    """Seconds and resident MB."""
    begin = time.monotonic()
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command} ended with {process.returncode}")
    return f"{time.monotonic() - begin:.1f} s, {used.ru_maxrss / 1000:.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=512)
    flags = parser.parse_args()
    reprise = os.path.abspath(flags.program)
    with tempfile.TemporaryDirectory(prefix="reprise_fold_") as scratch:
        folder = pathlib.Path(scratch)
        converted, plain, folded = folder / "four", folder / "plain", folder / "folded"
        measured(reprise, "convert", ROOT / "traces/gloo/gpt_ddp4", "-o", converted)
        rank_copies.write(converted, plain, flags.ranks)
        print("convert --fold:", measured(reprise, "convert", plain, "-o", folded, "--fold"))
        print("convert --expand:", measured(reprise, "convert", folded, "-o", folder / "again", "--expand"))
        for of in plain, folded:
            size = sum(file.stat().st_size for file in of.iterdir())
            print(f"{of.name}: {size / 1e6:.1f} MB")
            for command in (["stats", of], ["validate", of],
                            ["simulate", of, "--machine", "recorded", "-o", folder / f"{of.name}_run"]):
                print(f"  {command[0]}:", measured(reprise, *command))


if __name__ == "__main__":
    main()
