#!/usr/bin/env python3
"""Predicts the kernel time of networks on one GPU from their captures on another; bench/predict/README.md.

DIRECTORY has GPU.NETWORK.kineto.json.gz of every network on both GPUs. Each network is predicted by machines that are
fitted to the other networks. Prints a Markdown table."""
import argparse
import itertools
import json
import pathlib
import sqlite3
import subprocess
import tempfile

ENDING = ".kineto.json.gz"
MACHINES = {"h100": "h100-hgx", "mi300": "mi300x-8"}


class Pairs:
    def __init__(self, reprise, captures, scratch):
        self.reprise, self.scratch = reprise, scratch
        self.sets = {}  # by (GPU, network)
        for path in sorted(captures.glob("*" + ENDING)):
            gpu, network = path.name[:-len(ENDING)].split(".", 1)
            self.sets[gpu, network] = scratch / path.name[:-len(ENDING)]
            self.run("convert", path, "-o", self.sets[gpu, network])
        self.networks = sorted({network for _, network in self.sets})
        self.gpus = sorted({gpu for gpu, _ in self.sets})

    def run(self, *args):
        done = subprocess.run([self.reprise, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"reprise {args[0]}: {done.stderr}")
        return done.stdout

    def simulate(self, gpu, network, machine, captured_on):
        run = self.scratch / "run"
        out = json.loads(self.run("simulate", self.sets[gpu, network], "-o", run, "--machine", machine,
                                  "--captured-on", captured_on, "--json", "--force"))
        return out["linked_device_time_ns"], out["linked_device_time_recorded_ns"]

    def recorded(self, gpu, network):
        return self.simulate(gpu, network, MACHINES[gpu], MACHINES[gpu])[1]

    def peaks(self, gpu):
        """The machine at its peaks."""
        machine = next(m for m in json.loads(self.run("list", "machines", "--json"))["machines"]
                       if m["name"] == MACHINES[gpu])
        for efficiency in machine["device"]["efficiency"].values():
            efficiency["value"] = 1
        machine["device"]["least_kernel_time"]["value"] = 0
        path = self.scratch / f"peaks_{gpu}.json"
        path.write_text(json.dumps(machine))
        return path

    def fitted(self, gpu, networks):
        path = self.scratch / f"fitted_{gpu}.json"
        self.run("calibrate", *(self.sets[gpu, network] for network in networks), "-o", path, "--machine",
                 MACHINES[gpu], "--force")
        return path

    def rows(self):
        """Source, target, network; then relative errors: fitted, one constant ratio, ratio of peaks, defaults."""
        recorded = {key: self.recorded(*key) for key in self.sets}
        for source, target in itertools.permutations(self.gpus, 2):
            for network in self.networks:
                others = [other for other in self.networks if other != network]
                actual = recorded[target, network]
                ratio = (sum(recorded[target, other] for other in others) /
                         sum(recorded[source, other] for other in others))
                fits = [self.fitted(gpu, others) for gpu in (target, source)]
                predicted = [self.simulate(source, network, *fits)[0], recorded[source, network] * ratio,
                             self.simulate(source, network, self.peaks(target), self.peaks(source))[0],
                             self.simulate(source, network, MACHINES[target], MACHINES[source])[0]]
                yield (source, target, network, recorded[source, network], actual,
                       *(ns / actual - 1 for ns in predicted))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--reprise", default="build/reprise")
    args = parser.parse_args()
    if not list(args.directory.glob("*" + ENDING)):
        raise SystemExit(f"{args.directory}: no GPU.NETWORK{ENDING}")
    print("| from | to | network | recorded there, ms | recorded here, ms | fitted | one constant | ratio of peaks | "
          "default efficiencies |\n|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for source, target, network, before, actual, *errors in Pairs(args.reprise, args.directory,
                                                                      pathlib.Path(scratch)).rows():
            print(f"| {source} | {target} | {network} | {before / 1e6:.3f} | {actual / 1e6:.3f} | " +
                  " | ".join(f"{100 * error:+.1f} %" for error in errors) + " |", flush=True)


if __name__ == "__main__":
    main()
