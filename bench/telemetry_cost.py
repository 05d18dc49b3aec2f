#!/usr/bin/env python3
"""What sampling costs a replay: pairs of replays with and without it, in turn, first the one, then the other.

    bench/telemetry_cost.py SET [--ranks 2] [--period 20] [--rounds 15] [--iterations 5] [--reprise build/reprise]

Prints the ratio of the median step times of each pair (median of the pairs, quartiles), and what the sampler's threads
themselves took of the time that was measured, which is sharper than any difference of two noisy times."""
import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def replay(args, directory, period):
    """Median step in seconds, and the share of one core that sampling took."""
    run = pathlib.Path(directory) / "run"
    subprocess.run(["mpirun", "-n", str(args.ranks), args.reprise, "replay", args.set, "-o", str(run), "--force",
                    "--sample-period", period, "--iterations", str(args.iterations)],
                   env=ENVIRONMENT, check=True, capture_output=True)
    report = json.loads(subprocess.run([args.reprise, "report", str(run), "--json"], check=True,
                                       capture_output=True).stdout)
    with sqlite3.connect(run / "rank0.sqlite") as file:
        cpu_ns = file.execute("SELECT value FROM facts WHERE name = 'sampler_cpu_ns'").fetchone()
        span_ns, = file.execute("SELECT max(time_ns) - min(time_ns) FROM samples").fetchone()
    share = int(cpu_ns[0]) / span_ns if cpu_ns and span_ns else 0
    return report["step_time_replayed_ns"] * 1e-9, share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--period", default="20")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--reprise", default=str(ROOT / "build" / "reprise"))
    args = parser.parse_args()
    ratios, shares = [], []
    with tempfile.TemporaryDirectory() as directory:
        for k in range(args.rounds):
            times = {}
            for period in ([args.period, "off"] if k % 2 == 0 else ["off", args.period]):
                times[period], share = replay(args, directory, period)
                if period != "off":
                    shares.append(share)
            ratios.append(times[args.period] / times["off"])
            print(f"pair {k + 1}: on {times[args.period]:.4f} s, off {times['off']:.4f} s, ratio {ratios[-1]:.4f}",
                  flush=True)
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"step time, sampling on / off: median {middle:.4f}, quartiles {low:.4f} to {high:.4f}, {len(ratios)} pairs")
    print(f"sampler's threads: {100 * statistics.median(shares):.3f} % of one core at {args.period} ms "
          f"({100 * min(shares):.3f} to {100 * max(shares):.3f})")


if __name__ == "__main__":
    main()
