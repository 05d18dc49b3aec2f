#!/usr/bin/env python3
"""PyTorch 2.15's CUDA back end of the profiler: its JSON and its Perfetto file (.pftrace) of one capture give one set,
whose report has the power that the capture sampled. The files are written here by the format's definition and, where
PyTorch 2.15 is installed (REPRISE_TORCH_PYTHON or this interpreter), by PyTorch."""
import gzip
import json
import os
import struct
import subprocess
import sys
import unittest

import profiler_export
import program
import skips
import wire

BASE_NS = profiler_export.BASE_NS
TORCH_PYTHON = os.environ.get("REPRISE_TORCH_PYTHON", sys.executable)
STAGES = {"kernel": 1, "gpu_memcpy": 2}
COUNTERS = ("Power (W)", "SM Clock (MHz)")
SAMPLES = 21
BAD_INPUT = 3


def text(value):
    return value.encode()


def events():
    """Chrome's, as PyTorch has them: the host's, what they launched, and samples."""
    host, launches = profiler_export.host_events()
    host = [event for event in host if event["ph"] == "X"]
    for i, (at_ns, _) in enumerate(launches):
        correlation = 10 * (i + 1)
        host.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": profiler_export.PROCESS,
                     "tid": profiler_export.THREAD, "ts": at_ns / 1000, "dur": 8.0,
                     "args": {"cbid": 211, "correlation": correlation}})
        host.append({"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_nn", "pid": 0, "tid": 7,
                     "ts": at_ns / 1000 + 40, "dur": 100.0,
                     "args": {"device": 0, "context": 1, "stream": 7, "correlation": correlation,
                              "grid": [2, 1, 1], "block": [128, 1, 1], "registers per thread": 96}})
    for i in range(SAMPLES):
        for name, value in zip(COUNTERS, (profiler_export.milliwatts(i) / 1000, 1410.0)):
            host.append({"ph": "C", "name": name, "pid": "GPU 0 Counters",
                         "ts": i * profiler_export.SAMPLE_NS / 1000, "args": {"": value}})
    return host


def annotation(value):
    """The fields of a DebugAnnotation that hold a value."""
    if isinstance(value, list):
        return b"".join(wire.field(12, annotation(item)) for item in value)
    return wire.field(6, text(value)) if isinstance(value, str) else wire.field(4, value)


def packets(chrome):
    """The same as packets, in PyTorch's order: all begins, then all ends, then the GPU's work and the samples."""
    out = []
    names = {name: i + 1 for i, name in enumerate(dict.fromkeys(e["name"] for e in chrome))}
    categories = {name: i + 1 for i, name in enumerate(dict.fromkeys(e.get("cat", "") for e in chrome))}

    def add(body, at_us=None):
        time = b"" if at_us is None else wire.field(8, BASE_NS + round(at_us * 1000))
        out.append(wire.field(1, time + wire.field(10, 1) + body))

    def interned(number, table):
        return b"".join(wire.field(number, wire.field(1, i) + wire.field(2, text(name))) for name, i in table.items())

    add(b"", 0)
    add(wire.field(60, wire.field(1, 1) + wire.field(4, wire.field(1, profiler_export.PROCESS) +
                                                     wire.field(2, profiler_export.THREAD))))
    specs = b"".join(wire.field(1, wire.field(1, i) + wire.field(2, text(name))) for i, name in enumerate(COUNTERS))
    add(wire.field(12, interned(2, names) + interned(1, categories) + interned(24, {"Kernel": 1, "Memcpy": 2}) +
                   wire.field(1001, wire.field(1, 1) + wire.field(2, b"registers_per_thread")) +
                   wire.field(47, wire.field(1, 1) + wire.field(3, 0) + wire.field(2, specs))))
    slices = [event for event in chrome if event["ph"] == "X" and event["cat"] not in STAGES]
    for event in slices:
        arguments = b"".join(wire.field(4, wire.field(10, text(name)) + annotation(value))
                             for name, value in event["args"].items())
        add(wire.field(11, wire.field(9, 1) + wire.field(11, 1) + wire.field(10, names[event["name"]]) +
                       wire.field(3, categories[event["cat"]]) + arguments), event["ts"])
    for event in slices:
        add(wire.field(11, wire.field(9, 2) + wire.field(11, 1)), event["ts"] + event["dur"])
    for event in chrome:
        args = event["args"]
        if event.get("cat") in STAGES:
            sizes = [b"".join(wire.field(i + 1, size) for i, size in enumerate(args[name])) for name in ("grid", "block")]
            launch = (wire.field(1, sizes[0]) + wire.field(2, sizes[1]) +
                      wire.field(3, wire.field(1, 1) + wire.field(4, args["registers per thread"])))
            extra = b"".join(wire.field(6, wire.field(1, text(name)) + wire.field(2, text(str(value))))
                             for name, value in (("stream id", args["stream"]), ("correlation", args["correlation"])))
            add(wire.field(53, wire.field(2, round(event["dur"] * 1000)) + wire.field(11, 0) +
                           wire.field(14, STAGES[event["cat"]]) + wire.field(20, names[event["name"]]) +
                           wire.field(21, launch) + extra), event["ts"])
        elif event["ph"] == "C":
            value = wire.varint(3 << 3 | 1) + struct.pack("<d", args[""])
            add(wire.field(52, wire.field(4, 1) + wire.field(2, wire.field(1, COUNTERS.index(event["name"])) + value)),
                event["ts"])
    return gzip.compress(b"".join(out))


def joules(begin_us, end_us):
    """Of the sampled power, by the trapezoidal rule at 1,000 points."""
    def watts(us):
        at = us * 1000 / profiler_export.SAMPLE_NS
        i = min(int(at), SAMPLES - 2)
        a, b = (profiler_export.milliwatts(k) / 1000 for k in (i, i + 1))
        return a + (b - a) * (at - i)
    n = 1000
    points = [begin_us + (end_us - begin_us) * k / n for k in range(n + 1)]
    return sum((watts(a) + watts(b)) / 2 * (b - a) * 1e-6 for a, b in zip(points, points[1:]))


class ProfilerCounters(program.ProgramTest):
    def convert(self, name, write):
        folder = self.dir / name
        folder.mkdir()
        write(folder)
        self.run_program("convert", folder, "-o", self.dir / f"set_{name}", "--name", "capture")
        return self.dir / f"set_{name}"

    def exported(self, trace_set):
        out = self.dir / f"{trace_set.name}.json"
        self.run_program("export", trace_set, "--to", "json", "-o", out)
        [rank] = json.loads(out.read_text())["ranks"]
        return rank

    def check_power(self, trace_set):
        report = self.run_json("report", trace_set)
        [row] = [row for row in report["energy"] if row["metric"] == "power"]
        begin, duration = profiler_export.STEP_US
        self.assertAlmostEqual(row["joules"], joules(begin, begin + duration), delta=1e-6)
        self.assertFalse(row["modelled"])
        return report

    def test_json_and_perfetto_are_one_capture(self):
        chrome = events()
        plain = self.convert("json", lambda folder: (folder / "trace_rank0.json").write_text(
            json.dumps({"baseTimeNanoseconds": BASE_NS, "traceEvents": chrome})))
        packed = self.convert("pftrace", lambda folder: (folder / "trace_rank0.pftrace").write_bytes(packets(chrome)))
        a, b = self.exported(plain), self.exported(packed)
        self.assertEqual(a["nodes"], b["nodes"])
        self.assertEqual(a["metadata"], b["metadata"])
        self.assertEqual([node["name"] for node in b["nodes"] if node.get("device_work")],
                         ["ampere_sgemm_128x64_nn"] * 2)
        for trace_set in (plain, packed):
            self.check_power(trace_set)

    def test_samples_are_shared_by_the_policy(self):
        trace_set = self.convert("json", lambda folder: (folder / "trace_rank0.json").write_text(
            json.dumps({"baseTimeNanoseconds": BASE_NS, "traceEvents": events()})))
        self.run_program("anonymize", trace_set, "-o", self.dir / "shared", "--policy", "replay")
        self.run_program("audit", self.dir / "shared")
        shared = self.exported(self.dir / "shared")["metadata"]["samples"]
        self.assertEqual([series["quantity"] for series in shared], ["power", "sm_clock"])
        self.check_power(self.dir / "shared")
        self.run_program("anonymize", trace_set, "-o", self.dir / "numbers", "--policy", "statistics")
        self.assertNotIn("samples", self.exported(self.dir / "numbers")["metadata"])

    def test_a_capture_without_counters_has_none(self):
        chrome = [event for event in events() if event["ph"] != "C"]
        trace_set = self.convert("json", lambda folder: (folder / "trace_rank0.json").write_text(
            json.dumps({"baseTimeNanoseconds": BASE_NS, "traceEvents": chrome})))
        self.assertNotIn("samples", self.exported(trace_set)["metadata"])
        self.assertEqual(self.run_json("report", trace_set)["energy"], [])

    def test_damage_is_named_with_its_place(self):
        whole = gzip.decompress(packets(events()))
        path = self.dir / "trace_rank0.pftrace"
        for data, said in ((whole[:-3], r"trace_rank0\.pftrace: byte \d+ \(unpacked\): the file ends within a packet"),
                           (gzip.compress(whole)[:-40], r"trace_rank0\.pftrace: .*byte \d+")):
            path.write_bytes(data)
            done = self.run_program("convert", path, "-o", self.dir / "x.0.et", expect=BAD_INPUT)
            self.assertRegex(done.stderr, said)
            self.assertFalse((self.dir / "x.0.et").exists())

    def test_what_pytorch_writes(self):
        found = subprocess.run([TORCH_PYTHON, "-c", "import numpy, torch, torch.profiler\n"
                                "torch._C._profiler._cuspy.encode_pftrace"], capture_output=True, text=True, check=False)
        if found.returncode != 0:
            skips.skip("torch_python", "this needs 2.15 with its CUDA back end of the profiler, and NumPy")
        exports = self.dir / "exports"
        exports.mkdir()
        subprocess.run([TORCH_PYTHON, profiler_export.__file__, exports], check=True)
        sets = [self.convert(ending, lambda folder, ending=ending:
                             (folder / f"rank0.{ending}").write_bytes((exports / f"rank0.{ending}").read_bytes()))
                for ending in ("json", "pftrace")]
        a, b = (self.exported(trace_set) for trace_set in sets)
        for node in a["nodes"]:
            work = node.get("device_work")
            if work:  # what PyTorch leaves out of its Perfetto file
                work.pop("shared_memory_bytes", None)
            if node["name"].startswith("Memcpy"):
                self.assertEqual(node["name"], "Memcpy DtoH (Device -> Pinned)")
                node["name"] = "Memcpy"
        # Two of each; an operator is three nodes: before its launch, the launch, after it.
        for kind, nodes in (("ampere_sgemm_128x64_nn", 2), ("Memcpy", 2), ("aten::mm", 6)):
            found = [[node for node in rank["nodes"] if node["name"] == kind] for rank in (a, b)]
            self.assertEqual([len(found[0]), len(found[1])], [nodes, nodes], kind)
            for one, other in zip(*found):
                for key in ("start_ns", "duration_ns", "actor", "deps", "inputs"):
                    self.assertEqual(one.get(key), other.get(key), f"{kind}: {key}")
        self.assertEqual(a["metadata"]["samples"], b["metadata"]["samples"])
        self.assertEqual([series["quantity"] for series in a["metadata"]["samples"]],
                         ["power", "temperature", "sm_clock", "memory_clock", "sm_activity", "memory_activity"])
        for trace_set in sets:
            self.check_power(trace_set)


if __name__ == "__main__":
    program.main()
