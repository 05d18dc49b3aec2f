#!/usr/bin/env python3
"""Megatron-LM's own tables of A100 and H100: a cross-check with data sheets, which nothing is fitted to.

    bench/predict/megatron_steps.py [--binary build/reprise] [--table a100|h100] [--least-gpus N] [--most-gpus N]

Each step is extended from four short ones (step_tables.extension), which the program simulates without a set on disk. The A100 rows are described
as in cluster_steps.md. The H100 rows: bfloat16, fused attention, no recomputation, sequence parallelism, distributed optimizer; gradients,
parameters and tensor parallelism overlap. Their interleaving is not published: 1F1B stands beside one layer a chunk.
"""
import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from step_tables import extension, micro_batches, padded_vocabulary, read_rows, workload  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def selene(machine):
    """The A100 cluster of the paper."""
    machine = copy.deepcopy(machine)
    machine["links"]["infiniband"]["bandwidth"].update(
        value=1600, unit="Gb/s", reference="Selene: 8 adapters of 200 Gb/s in each DGX A100")
    return machine


def h100_workload(row, steps, layers):
    return {
        "model": {"family": "gpt", "layers": layers, "hidden": row["hidden"], "heads": row["heads"], "kv_heads": row["heads"],
                  "ffn": 4 * row["hidden"], "gated_ffn": False, "vocab": padded_vocabulary(row["tp"], row["vocabulary"]),
                  "sequence": row["sequence"], "dtype": "bfloat16", "fused_attention": True, "causal": True},
        "layout": {"tp": row["tp"], "pp": row["pp"], "dp": row["dp"], "sequence_parallel": True, "distributed_optimizer": True},
        "batch": {"global": steps * row["dp"] * row["micro_batch"], "micro": row["micro_batch"]},
        "schedule": f"interleaved:{row['virtual']}" if row["virtual"] > 1 else "1f1b",
        "recompute": "none", "overlap": ["tp", "grad", "param"], "optimizer": "adam"}


def model_flops(row):
    """Of a GPT's step without recomputation (arXiv 2104.04473): what the tables' TFLOP/s count."""
    h, layers, s = row["hidden"], row["layers"], row["sequence"]
    return 72 * row["global_batch"] * s * layers * h * h * (1 + s / (6 * h) + row["vocabulary"] / (12 * layers * h))


class Simulator:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)

    def run(self, *arguments):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def machine(self, name):
        return next(entry for entry in self.run("list", "machines", "--json")["machines"] if entry["name"] == name)

    def step_s(self, row, describe, machine):
        machine_file, job = self.folder / "machine.json", self.folder / "job.json"
        machine_file.write_text(json.dumps(machine))
        total = 0
        for steps, layers, weight in extension(row):
            job.write_text(json.dumps(describe(row, steps, layers)))
            total += weight * self.run("predict", job, "--machine", machine_file, "--json")["step_time_ns"] / 1e9
        return total


def a100(simulator, wanted):
    machine = selene(simulator.machine("a100-hgx"))
    found = []
    for row in filter(wanted, read_rows(HERE / "megatron_a100_steps.csv")):
        step_s = simulator.step_s(row, workload, machine)
        found.append(step_s / row["step_s"] - 1)
        print(f"A100, {row['gpus']} GPUs, pp{row['pp']}: predicted {step_s:.2f} s, published {row['step_s']} s, {found[-1]:+.1%}", flush=True)
    return found


def h100(simulator, wanted):
    machine = simulator.machine("h100-hgx")
    found = []
    for row in filter(wanted, read_rows(HERE / "megatron_h100_steps.csv")):
        for virtual in (1, row["layers"] // row["pp"]):
            step_s = simulator.step_s({**row, "virtual": virtual}, h100_workload, machine)
            teraflops = model_flops(row) / step_s / row["gpus"] / 1e12
            found.append(teraflops / row["teraflops"] - 1)
            print(f"H100, {row['gpus']} GPUs, dp{row['dp']} pp{row['pp']}, {micro_batches(row)} micro-batches, {virtual} virtual stages: predicted "
                  f"{teraflops:.1f} TFLOP/s a GPU, published {row['teraflops']}, {found[-1]:+.1%}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/reprise")
    parser.add_argument("--table", choices=["a100", "h100"], help="default: both")
    parser.add_argument("--least-gpus", type=int, default=0)
    parser.add_argument("--most-gpus", type=int, default=10**9)
    flags = parser.parse_args()

    def wanted(row):
        return flags.least_gpus <= row["gpus"] <= flags.most_gpus

    with tempfile.TemporaryDirectory(prefix="megatron_") as folder:
        simulator = Simulator(flags.binary, folder)
        for name, table in (("a100", a100), ("h100", h100)):
            found = table(simulator, wanted) if flags.table in (None, name) else []
            if found:
                print(f"{name}: mean of |error| {sum(map(abs, found)) / len(found):.1%}, of {len(found)}; nothing fitted")


if __name__ == "__main__":
    main()
