#!/usr/bin/env python3
"""`reprise generate` beside STAGE (symbolic_tensor_graph) on one layout: time, memory, FLOPs, bytes; see README.md beside this file."""

import argparse
import collections
import json
import pathlib
import resource
import subprocess
import tempfile
import time

MODEL = {"layers": 4, "hidden": 1024, "heads": 16, "kv_heads": 8, "ffn": 4096, "vocab": 32000, "sequence": 512}


def timed(command, cwd=None):
    """Seconds of CPU, seconds, and the largest resident set of any child so far, in MB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": round(cpu, 2), "s": round(time.monotonic() - start, 2), "mb": after.ru_maxrss // 1024}


def sums(reprise, files):
    flops, nodes, transfers = 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        for number, file in enumerate(files):
            out = pathlib.Path(directory) / f"{number}.json"
            subprocess.run([reprise, "export", file, "--to", "json", "-o", out], check=True, capture_output=True)
            for node in json.loads(out.read_text())["nodes"]:
                nodes += 1
                if "comm" in node:
                    transfers[node["comm"]["kind"]] += max(node["comm"]["in_bytes"], node["comm"]["out_bytes"])
                else:
                    flops += max(0, node.get("num_ops", -1))
    return {"nodes": nodes, "num_ops": flops, **transfers}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", required=True, help="checkout of astra-sim/symbolic_tensor_graph")
    parser.add_argument("--python", required=True, help="with numpy, sympy, pandas, protobuf, graphviz, tqdm")
    parser.add_argument("--reprise", required=True, help="the program")
    parser.add_argument("--tp", type=int, default=2)
    parser.add_argument("--pp", type=int, default=2)
    parser.add_argument("--dp", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        job = {"model": {"family": "llama", **MODEL},
               "layout": {"tp": args.tp, "pp": args.pp, "dp": args.dp, "sequence_parallel": args.tp > 1},
               "batch": {"global": 4 * args.dp, "micro": 2}}
        (scratch / "job.json").write_text(json.dumps(job))
        rows = {"reprise": timed([args.reprise, "generate", scratch / "job.json", "-o", scratch / "set", "--expand"])}
        (scratch / "stage").mkdir()
        # STAGE's micro-batch is that of all data-parallel ranks.
        rows["stage"] = timed([args.python, "main.py", "--output_dir", f"{scratch}/stage/", "--output_name", "w.%d.et",
                               "--dp", str(args.dp), "--tp", str(args.tp), "--pp", str(args.pp), "--sp", "1",
                               "--weight_sharded", "0", "--dvocal", str(MODEL["vocab"]), "--dmodel", str(MODEL["hidden"]),
                               "--dff", str(MODEL["ffn"]), "--batch", str(4 * args.dp), "--micro_batch", str(2 * args.dp),
                               "--seq", str(MODEL["sequence"]), "--head", str(MODEL["heads"]), "--kvhead",
                               str(MODEL["kv_heads"]), "--num_stacks", str(MODEL["layers"]), "--model_type", "llama"],
                              cwd=args.stage)
        for name, files in (("reprise", scratch / "set"), ("stage", scratch / "stage")):
            rows[name] |= sums(args.reprise, sorted(files.glob("*.et")))
            print(name, json.dumps(rows[name]))


if __name__ == "__main__":
    main()
