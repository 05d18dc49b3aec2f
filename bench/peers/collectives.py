#!/usr/bin/env python3
"""Reprise's collectives against a bare MPI loop and PyTorch's gloo, on the same ranks, in turn.

    bench/peers/collectives.py [--ranks 2] [--kind all_reduce] [-b 64] [-e 268435456] [-f 4]
                               [--rounds 5] [--python PYTHON-WITH-TORCH] [--reprise build/reprise]

Each round starts Reprise's comparison of variants (bare MPI and MPI through Reprise alternate inside of one process) and then gloo. One table:
medians over rounds, and the spread of the ratio. Without torch the gloo columns are left out, and the output says so."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUS_FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
              "all_to_all": lambda n: (n - 1) / n, "broadcast": lambda n: 1, "reduce": lambda n: 1}


def environment():
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "MASTER_PORT": str(29500 + os.getpid() % 1000)}


def iterations(size):
    return 400 if size <= 1 << 14 else 60 if size <= 1 << 20 else 6


def run(command):
    return json.loads(subprocess.run(command, env=environment(), capture_output=True, text=True,
                                     check=True).stdout)


def reprise_round(args, size):
    """Times in ns of the bare loop and of Reprise: three turns of each inside."""
    rows = run(["mpirun", "-n", str(args.ranks), args.reprise, "bench", "collectives", args.kind,
                "-b", str(size), "-e", str(size), "-f", "2", "-n", str(iterations(size)), "-w", "2",
                "-c", "0", "--variants", "--rounds", "3", "--chunks", "1G", "--channels", "1",
                "--json"])["results"]
    times = {row["algorithm"]: row["time_ns"] for row in rows}
    best = min((name for name in times if name != "bare MPI"), key=times.get)
    return times["bare MPI"], times["mpi"], times[best], best.split(",")[0]


def gloo_round(args, size):
    if not args.python:
        return None
    return run(["mpirun", "-n", str(args.ranks), args.python,
                str(ROOT / "bench/peers/gloo_collectives.py"), args.kind, str(iterations(size)), "2",
                str(size)])[0]["time_ns"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--kind", default="all_reduce", choices=sorted(BUS_FACTOR))
    parser.add_argument("-b", dest="first", type=int, default=64)
    parser.add_argument("-e", dest="last", type=int, default=256 << 20)
    parser.add_argument("-f", dest="factor", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", help="an interpreter with torch; without it gloo is left out")
    parser.add_argument("--reprise", default=str(ROOT / "build/reprise"))
    args = parser.parse_args()
    if not args.python:
        print("# no --python with torch: gloo is left out")
    factor = BUS_FACTOR[args.kind](args.ranks)
    print(f"# {args.kind}, {args.ranks} ranks, {args.rounds} rounds in turn; us, busbw in GB/s (10^9 bytes)\n"
          f"# {'bytes':>10} {'bare MPI':>10} {'reprise':>10} {'differs by':>18} {'gloo':>10}"
          f" {'busbw':>7} {'gloo':>7} {'ahead of gloo':>16}  fastest of --algo")
    size = args.first
    while size <= args.last:
        bare, own, gloo, best = [], [], [], []
        for _ in range(args.rounds):
            plain, through, fastest, name = reprise_round(args, size)
            bare.append(plain)
            own.append(through)
            best.append((fastest, name))
            gloo.append(gloo_round(args, size))
        print_row(size, factor, bare, own, gloo, best)
        size *= args.factor


def print_row(size, factor, bare, own, gloo, best):
    differs = [mine - plain for plain, mine in zip(bare, own)]
    middle = statistics.median(own)
    share = statistics.median(mine / plain - 1 for plain, mine in zip(bare, own)) * 100
    text = (f"  {size:>10} {statistics.median(bare) / 1e3:>10.2f} {middle / 1e3:>10.2f}"
            f" {statistics.median(differs) / 1e3:>+9.2f} {share:>+6.1f} %")
    if gloo[0] is None:
        text += f" {'-':>10} {size / middle * factor:>7.2f} {'-':>7} {'-':>16}"
    else:
        other = statistics.median(gloo)
        ratios = sorted(theirs / mine for theirs, mine in zip(gloo, own))
        text += (f" {other / 1e3:>10.2f} {size / middle * factor:>7.2f} {size / other * factor:>7.2f}"
                 f" {statistics.median(ratios):>6.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")
    fastest, name = sorted(best)[len(best) // 2]
    print(f"{text}  {name} {fastest / 1e3:.2f} us", flush=True)


if __name__ == "__main__":
    sys.exit(main())
