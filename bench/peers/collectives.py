#!/usr/bin/env python3
"""Reprise's collectives beside bare loops of MPI's blocking and nonblocking calls, as programs of their own, by turns.

    bench/peers/collectives.py [KIND...] [--ranks 2] [-b 8] [-e 268435456] [-f 8] [--rounds 5] [--algo CHOICE]...
                               [--place out|in|both] [--launcher "mpirun OPTIONS"] [--python PYTHON-WITH-TORCH] [--reprise build/reprise]

The bare loops are bare_collectives.c, built with mpicc. In each round every program runs once for each kind, place and band of sizes; the
order turns by one each round. A row has medians over rounds, in us. `over` is Reprise's less that of the better bare call; `ratio` is the median
of the rounds' ratios, with their range; `aim` says whether `over` is at most 1 us or 10 %, whichever is larger. With --python, PyTorch's
gloo takes part, out of place."""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
NOT_OF_GLOO = ("reduce_scatter",)
NO_PLACE = ("all_to_all",)  # `bench collectives` has no in-place all_to_all
AIM_NS, AIM_SHARE = 1000, 0.10
# Sizes up to the first number run as often as the second.
BANDS = ((1 << 14, 400), (1 << 20, 60), (1 << 62, 8))


def environment():
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "MASTER_PORT": str(29500 + os.getpid() % 1000)}


def output(command):
    return subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True).stdout


def bands(first, last, factor, ranks):
    """(first, last, iterations) of each band of sizes. The least holds a float for each rank."""
    sizes = []
    while first < 4 * ranks:
        first *= factor
    while first <= last:
        sizes.append(first)
        first *= factor
    begin = 0
    for most, iterations in BANDS:
        inside = [size for size in sizes if begin < size <= most]
        if inside:
            yield inside[0], inside[-1], iterations
        begin = most


class Programs:
    """What runs by turns. Each answers {bytes: ns} of a kind, a place and a band."""

    def __init__(self, args, bare):
        self.args = args
        self.bare = bare
        self.mpirun = [*shlex.split(args.launcher), "-n", str(args.ranks)]

    def names(self, kind, place):
        with_gloo = self.args.python and place == "out" and kind not in NOT_OF_GLOO
        return ["blocking", "nonblocking", "reprise"] + (["gloo"] if with_gloo else [])

    def run(self, name, kind, place, band):
        first, last, iterations = band
        if name == "reprise":
            algorithms = [text for choice in self.args.algo for text in ("--algo", choice)]
            rows = json.loads(output([*self.mpirun, self.args.reprise, "bench", "collectives", kind, "-b", str(first),
                                      "-e", str(last), "-f", str(self.args.factor), "-n", str(iterations), "-w", "5",
                                      "-c", "0", *algorithms, "--json"]))["results"]
            return {row["bytes"]: row["time_ns"] for row in rows if row["in_place"] == (place == "in")}
        if name == "gloo":
            sizes = []
            while first <= last:
                sizes.append(first)
                first *= self.args.factor
            rows = json.loads(output([*self.mpirun, self.args.python, str(ROOT / "bench/peers/gloo_collectives.py"), kind,
                                      str(iterations), "2", ",".join(map(str, sizes))]))
            return {row["bytes"]: row["time_ns"] for row in rows}
        lines = output([*self.mpirun, self.bare, kind, name, place, str(first), str(last), str(self.args.factor),
                        str(iterations)]).splitlines()
        return {int(size): float(ns) for size, ns in map(str.split, lines)}


def measure(programs, kind, place, args):
    """By size: by program, the rounds' times."""
    times = {}
    names = programs.names(kind, place)
    for turn in range(args.rounds):
        for band in bands(args.first, args.last, args.factor, args.ranks):
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                for size, ns in programs.run(name, kind, place, band).items():
                    times.setdefault(size, {}).setdefault(name, []).append(ns)
    return names, times


def row(size, names, of_size):
    middle = {name: statistics.median(of_size[name]) for name in names}
    better = min(("blocking", "nonblocking"), key=middle.get)
    over = middle["reprise"] - middle[better]
    ratios = sorted(mine / bare for mine, bare in zip(of_size["reprise"], of_size[better]))
    met = over <= max(AIM_NS, AIM_SHARE * middle[better])
    text = f"{size:>10} " + " ".join(f"{middle[name] / 1e3:>12.2f}" for name in names)
    return met, (f"{text} {over / 1e3:>+10.2f} {statistics.median(ratios):>6.2f} "
                 f"({ratios[0]:.2f}-{ratios[-1]:.2f})  {'met' if met else 'missed'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("-b", dest="first", type=int, default=8)
    parser.add_argument("-e", dest="last", type=int, default=256 << 20)
    parser.add_argument("-f", dest="factor", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--place", choices=("out", "in", "both"), default="out")
    parser.add_argument("--algo", action="append", default=[], help="as of `reprise bench collectives`")
    parser.add_argument("--launcher", default="mpirun", help="with its options: hosts, network")
    parser.add_argument("--python", help="an interpreter with torch; without it gloo is left out")
    parser.add_argument("--reprise", default=str(ROOT / "build/reprise"))
    args = parser.parse_args()
    unknown = set(args.kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    missed = rows = 0
    with tempfile.TemporaryDirectory() as directory:
        bare = os.path.join(directory, "bare_collectives")
        subprocess.run(["mpicc", "-O2", str(ROOT / "bench/peers/bare_collectives.c"), "-o", bare], check=True)
        programs = Programs(args, bare)
        for kind in args.kinds:
            for place in ("out", "in") if args.place == "both" else (args.place,):
                if place == "in" and kind in NO_PLACE:
                    continue
                names, times = measure(programs, kind, place, args)
                print(f"\n# {kind}, {place} of place, {args.ranks} ranks, {args.rounds} rounds by turns; us\n"
                      f"# {'bytes':>8} " + " ".join(f"{name:>12}" for name in names)
                      + f" {'over':>10} {'ratio':>6}  aim")
                for size in sorted(times):
                    met, text = row(size, names, times[size])
                    missed += not met
                    rows += 1
                    print(text, flush=True)
    print(f"\n{rows - missed} of {rows} rows meet the aim")


if __name__ == "__main__":
    sys.exit(main())
