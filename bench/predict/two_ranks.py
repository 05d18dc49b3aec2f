#!/usr/bin/env python3
"""A captured job of two ranks: `reprise simulate` for the machine at hand against replays there.

The capture's machine and the machine at hand differ, and neither is described. One factor stands for both: how much
longer the operations of *another* capture (--other) take in a replay here than recorded. Two machine files say so, and
`simulate` scales the job's operations by it; host time and transfers stay as recorded. Then one rank is made F times as
slow: `simulate --slow RANK=F` against a replay with `--stretch F` on that rank alone. Replays and rounds take turns.

Printed are steps and errors, and beside them the null model (the step as recorded), and for the slow rank the predicted
and the measured change of the step, in which the error of the first prediction cancels out.

    bench/predict/two_ranks.py --reprise build/reprise --other CAPTURE CAPTURE_OF_TWO_RANKS

Needs an idle machine with at least two cores, Open MPI, and captures of one kind of machine. Exit code 1 if a command
failed.
"""
import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATE, BANDWIDTH = 100e9, 20e9  # FLOP/s and B/s of the capture's machine; only ratios count


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def mpi_environment():
    text = run("bash", "-c", f". {ROOT}/scripts/lib/mpi.sh && env -0")
    os.environ.update(line.split("=", 1) for line in text.split("\0") if "=" in line)


def machine(path, name, speed):
    """A machine of processors, `speed` times as fast as the capture's, whose links are the same."""
    def number(value, unit, **more):
        return {"value": value, "unit": unit, **more, "source": "fitted", "reference": "bench/predict/two_ranks.py"}
    path.write_text(json.dumps({
        "format": "reprise-machine", "version": 1, "name": name, "about": "for bench/predict/two_ranks.py",
        "device": {"name": "a CPU", "kind": "cpu",
                   "memory": {"capacity": number(16, "GB"), "bandwidth": number(BANDWIDTH * speed, "B/s")},
                   "vector": {"float32": number(RATE * speed, "FLOP/s")}},
        "node": {"devices": number(64, "1")},
        "links": {"bus": {"bandwidth": number(BANDWIDTH / 100, "B/s", per="device", ways="one"),
                          "latency": number(20, "us")}}}), encoding="utf-8")
    return path


def operations(directory):
    """Seconds of executed operations of all ranks: replayed (median of iterations), as recorded."""
    replayed = recorded = 0
    for path in sorted(pathlib.Path(directory).glob("rank*.sqlite")):
        with sqlite3.connect(path) as base:
            ours, theirs = base.execute(
                "SELECT SUM(replayed_duration_ns), SUM(recorded_duration_ns) FROM nodes "
                "WHERE kind = 'work' AND mode = 'real' AND replayed_duration_ns IS NOT NULL").fetchone()
        replayed, recorded = replayed + (ours or 0) / 1e9, recorded + (theirs or 0) / 1e9
    if not replayed or not recorded:
        sys.exit(f"{directory}: no operation was executed")
    return replayed, recorded


class Bench:
    def __init__(self, flags, directory):
        self.flags, self.dir = flags, directory

    def convert(self, capture):
        out = self.dir / pathlib.Path(capture).name
        run(self.flags.reprise, "convert", capture, "-o", out)
        return out

    def replay(self, trace, ranks, stretch=None):
        """Step in seconds of one replay; `stretch`: (rank, factor). The last run stays in run/."""
        parts = []
        for rank in range(ranks):
            part = ["-n", "1", self.flags.reprise, "replay", trace, "-o", self.dir / "run", "--force", "--quiet",
                    "--host-gaps", "keep", "--iterations", self.flags.iterations]
            if stretch and stretch[0] == rank:
                part += ["--stretch", stretch[1]]
            parts += ([":"] if parts else []) + part
        run("mpirun", *parts)
        return json.loads(run(self.flags.reprise, "report", self.dir / "run", "--json"))["step_time_replayed_ns"] / 1e9

    def simulate(self, trace, *options):
        result = json.loads(run(self.flags.reprise, "simulate", trace, "-o", self.dir / "simulated", "--force", "--json",
                                *options))
        return result["step_time_ns"] / 1e9, result["step_time_recorded_ns"] / 1e9


def error(predicted, measured):
    return f"{100 * (predicted / measured - 1):+.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", help="directory of a capture of two ranks")
    parser.add_argument("--other", required=True, action="append",
                        help="a capture of one rank from the same machine, for the factor; may be repeated")
    parser.add_argument("--reprise", default=str(ROOT / "build/reprise"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--slow", type=float, default=2.0, help="factor on the slow rank's operations")
    flags = parser.parse_args()
    flags.reprise = pathlib.Path(flags.reprise).resolve()
    mpi_environment()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(flags, pathlib.Path(name))
        trace = bench.convert(flags.capture)
        others = [bench.convert(other) for other in flags.other]
        factors, plain = [], []
        slowed = {rank: [] for rank in (0, 1)}
        for _ in range(flags.rounds):
            for other in others:
                bench.replay(other, 1)
                replayed, recorded = operations(bench.dir / "run")
                factors.append(replayed / recorded)
            plain.append(bench.replay(trace, 2))
            for rank, steps in slowed.items():
                steps.append(bench.replay(trace, 2, (rank, flags.slow)))
        factor = statistics.median(factors)
        machines = ["--captured-on", machine(bench.dir / "theirs.json", "theirs", 1),
                    "--machine", machine(bench.dir / "ours.json", "ours", 1 / factor)]
        print(f"operations take {factor:.3f} of their recorded time here ({min(factors):.3f} to {max(factors):.3f}; "
              f"{', '.join(pathlib.Path(other).name for other in flags.other)})")
        predicted, recorded = bench.simulate(trace, *machines)
        measured = statistics.median(plain)
        print(f"{'step':22} {'measured, ms':>28} {'predicted':>10} {'error':>9} {'null':>9}")

        def show(what, steps, step, null):
            middle = statistics.median(steps)
            spread = f"{1e3 * middle:.1f} ({1e3 * min(steps):.1f} to {1e3 * max(steps):.1f})"
            print(f"{what:22} {spread:>28} {1e3 * step:10.1f} {error(step, middle):>9} {error(null, middle):>9}")
        show("as it is", plain, predicted, recorded)
        for rank, steps in slowed.items():
            step, _ = bench.simulate(trace, *machines, "--slow", f"{rank}={flags.slow}")
            show(f"rank {rank} {flags.slow:g} times as slow", steps, step, recorded)
            print(f"{'  change of the step':22} {statistics.median(steps) / measured:28.3f} {step / predicted:10.3f} "
                  f"{error(step / predicted, statistics.median(steps) / measured):>9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
