#!/usr/bin/env python3
"""Predictions of NVIDIA's published steps in FP8 and bfloat16, of dense models and of experts. Nothing is fitted to them.

    bench/predict/nemo_steps.py [--binary build/reprise] [--machine b200-hgx] [-- more options of predict]

Every row is one `reprise predict` with the row's layout; layers are as even as can be among virtual stages, fewer at the ends. Gradients,
parameters and tensor parallelism overlap, as in NVIDIA's recipes. The tables say nothing of recomputation and offloading: neither is assumed.
"""
import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys

ROWS = pathlib.Path(__file__).resolve().parent / "nemo_steps.csv"
SIZES = ("gpus", "global_batch", "micro_batch", "sequence", "fsdp", "tp", "pp", "cp", "vp", "ep", "tokens_per_second")


def read_rows():
    with open(ROWS, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            yield {key: int(text) if key in SIZES else text for key, text in row.items()}


def spread(layers, stages):
    """As even as can be: one layer less in the last stage, the first, the last but one, and so on."""
    most = -(-layers // stages)
    parts = [most] * stages
    for i in range(most * stages - layers):
        parts[stages - 1 - i // 2 if i % 2 == 0 else i // 2] -= 1
    return parts


def options(row, layers):
    given = [row["preset"], "--machine", row["machine"], "--ranks", row["gpus"], "--tp", row["tp"], "--pp", row["pp"], "--cp", row["cp"],
             "--global-batch", row["global_batch"], "--micro-batch", row["micro_batch"], "--sequence", row["sequence"],
             "--schedule", f"interleaved:{row['vp']}" if row["vp"] > 1 else "1f1b", "--fp8", row["fp8"], "--recompute", "none",
             "--overlap", "tp,grad,param" if row["tp"] > 1 else "grad,param", "--json"]
    given += ["--ep", row["ep"]] if row["ep"] > 1 else []
    given += ["--sp"] if row["tp"] > 1 else []
    given += ["--fsdp", "--stack", "megatron-te"] if row["fsdp"] else ["--distributed-optimizer"]
    stages = row["pp"] * row["vp"]
    given += ["--layers-per-stage", ",".join(map(str, spread(layers, stages)))] if layers % stages else []
    return list(map(str, given))


DENSE = ("gpt3", "llama", "nemotron")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/reprise")
    parser.add_argument("--machine", help="rows of this one only")
    parser.add_argument("more", nargs="*", help="options of predict, behind --")
    flags = parser.parse_args()
    errors = collections.defaultdict(list)
    models = json.loads(subprocess.run([flags.binary, "list", "models", "--json"], capture_output=True, text=True, check=True).stdout)["models"]
    layers = {model["name"]: model["layers"] for model in models}
    for row in read_rows():
        if flags.machine not in (None, row["machine"]):
            continue
        done = subprocess.run([flags.binary, "predict", *options(row, layers[row["preset"]]), *flags.more], capture_output=True, text=True,
                              check=False)
        what = f"{row['container']} {row['machine']:12} {row['preset']:16} {row['gpus']:5} GPUs {row['fp8']:10}"
        if done.returncode != 0:
            print(f"{what} refused: {done.stderr.strip()}", flush=True)
            continue
        predicted = json.loads(done.stdout)["tokens_per_second"] / row["gpus"]
        error = predicted / row["tokens_per_second"] - 1
        errors[row["machine"], "dense" if row["preset"].startswith(DENSE) else "experts"].append(error)
        print(f"{what} {predicted:7.0f} tokens/s a GPU, published {row['tokens_per_second']:6}, {error:+.1%}", flush=True)
    for (machine, kind), of in errors.items():
        print(f"{machine}, {kind}: {len(of)} steps, mean of absolute errors {sum(map(abs, of)) / len(of):.1%}, "
              f"bias {sum(of) / len(of):+.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
