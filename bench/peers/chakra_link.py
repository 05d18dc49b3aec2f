#!/usr/bin/env python3
"""Times chakra_trace_link + chakra_converter against `reprise convert` on a pair with kernels; see README.md."""

import argparse
import gzip
import json
import multiprocessing
import os
import sys
import tempfile

from measure import compare


def load(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def with_kernels(kineto, count):
    """A captured CPU file, with a launch in each of `count` operations and a kernel on stream 7 that it started."""
    operations = [e for e in kineto["traceEvents"] if e.get("cat") == "cpu_op"]
    operations = sorted(sorted(operations, key=lambda e: -e["dur"])[:count], key=lambda e: e["ts"])
    if len(operations) < count:
        raise SystemExit(f"the file has {len(operations)} operations, fewer than {count}")
    busy_until = 0
    for correlation, op in enumerate(operations, start=1):
        args = {"External id": op["args"]["External id"], "correlation": correlation}
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": op["pid"], "tid": op["tid"],
                  "ts": op["ts"] + 0.3 * op["dur"], "dur": 0.3 * op["dur"], "args": {**args, "cbid": 211}}
        start = max(busy_until, launch["ts"] + 5)
        busy_until = start + 3
        flow = {"id": correlation, "cat": "ac2g", "name": "ac2g"}
        kineto["traceEvents"] += [
            launch,
            {**flow, "ph": "s", "pid": op["pid"], "tid": op["tid"], "ts": launch["ts"]},
            {**flow, "ph": "f", "bp": "e", "pid": 0, "tid": 7, "ts": start},
            {"ph": "X", "cat": "kernel", "name": "void gemm(float*)", "pid": 0, "tid": 7, "ts": start, "dur": 3,
             "args": {**args, "device": 0, "context": 1, "stream": 7, "grid": [64, 1, 1], "block": [128, 1, 1],
                      "registers per thread": 32, "shared memory": 0}}]
    return kineto


def replicate(host, kineto, copies):
    """The captured steps `copies` times, one after the other, under ids of their own."""
    frames = {n["id"] for n in host["nodes"] if n["name"].startswith("[pytorch|profiler|execution_trace")}
    timed = [e for e in kineto["traceEvents"] if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    ids = max(n["id"] for n in host["nodes"])
    span = max(e["ts"] + e["dur"] for e in timed) - min(e["ts"] for e in timed) + 100
    nodes = [n for n in host["nodes"] if n["id"] not in frames]
    for copy in range(1, copies):
        for node in copy_of(nodes):
            node["id"] += copy * ids
            node["ctrl_deps"] += 0 if node["ctrl_deps"] in frames else copy * ids
            for attribute in node["attrs"]:
                if attribute["name"] == "rf_id" and attribute["value"] > 0:
                    attribute["value"] += copy * ids
            host["nodes"].append(node)
        for event in copy_of(timed):
            event["ts"] += copy * span
            for key in ("External id", "Record function id", "Ev Idx"):
                event["args"][key] += copy * ids
            if event["name"].startswith("ProfilerStep#"):
                event["name"] = f"ProfilerStep#{int(event['name'][13:]) + 100 * copy}"
            kineto["traceEvents"].append(event)


def copy_of(values):
    return json.loads(json.dumps(values))


def prepare(args, host, device):
    traces = [load(os.path.join(args.pair, f"rank0.{kind}.json.gz")) for kind in ("et", "kineto")]
    replicate(*traces, args.copies)
    with_kernels(traces[1], args.kernels)
    for path, trace in zip((host, device), traces):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", required=True, help="with chakra, et_replay and HolisticTraceAnalysis installed")
    parser.add_argument("--reprise", required=True, help="the program")
    parser.add_argument("--pair", required=True, help="directory of rank0.et.json.gz and rank0.kineto.json.gz")
    parser.add_argument("--kernels", type=int, default=6500)
    parser.add_argument("--copies", type=int, default=1, help="of the captured steps, one after the other")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    tool = lambda name: os.path.abspath(os.path.join(args.venv, "bin", name))
    with tempfile.TemporaryDirectory() as directory:
        host, device = (os.path.join(directory, name) for name in ("rank0.et.json", "rank0.kineto.json"))
        # In a process of its own: a child's peak memory counts that of the process it was started from.
        maker = multiprocessing.Process(target=prepare, args=(args, host, device))
        maker.start()
        maker.join()
        if maker.exitcode != 0:
            return 1
        print(f"{args.kernels} kernels, {(os.path.getsize(host) + os.path.getsize(device)) / 1e6:.1f} MB, {args.rounds} rounds")
        linked = os.path.join(directory, "linked.json")
        link = [tool("chakra_trace_link"), "--rank", "0", "--chakra-host-trace", host, "--chakra-device-trace", device,
                "--output-file", linked]
        convert = [tool("chakra_converter"), "PyTorch", "--input", linked, "--output", "theirs.0.et"]
        own = [os.path.abspath(args.reprise), "convert", "--host-trace", host, "--device-trace", device,
               "-o", os.path.join(directory, "ours.0.et"), "--force"]
        return 0 if compare("chakra, link and convert", [link, convert], own, args.rounds, directory) else 1


if __name__ == "__main__":
    sys.exit(main())
