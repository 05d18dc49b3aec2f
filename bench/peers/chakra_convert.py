#!/usr/bin/env python3
"""Times chakra_converter against `reprise convert` on one host trace; see README.md beside this file."""

import argparse
import gzip
import os
import shutil
import sys
import tempfile

from measure import compare


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", required=True, help="with chakra installed")
    parser.add_argument("--reprise", required=True, help="the program")
    parser.add_argument("--host-trace", required=True, help="rank0.et.json, or .gz")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    converter = os.path.abspath(os.path.join(args.venv, "bin", "chakra_converter"))
    reprise = os.path.abspath(args.reprise)
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "rank0.et.json")
        opened = gzip.open if args.host_trace.endswith(".gz") else open
        with opened(args.host_trace, "rb") as packed, open(trace, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        # Nothing is loaded here: a child's peak memory counts that of the process it was started from.
        print(f"{os.path.basename(args.host_trace)}: {os.path.getsize(trace) / 1e6:.1f} MB, {args.rounds} rounds")
        theirs = [converter, "PyTorch", "--input", trace, "--output", "theirs.0.et"]
        ours = [reprise, "convert", "--host-trace", trace, "-o", os.path.join(directory, "ours"), "--force"]
        return 0 if compare("chakra_converter", [theirs], ours, args.rounds, directory) else 1


if __name__ == "__main__":
    sys.exit(main())
