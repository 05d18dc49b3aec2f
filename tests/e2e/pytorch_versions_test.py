#!/usr/bin/env python3
"""One job, captured with reprise_capture.py by PyTorch 2.2 and 2.15: a step of a small transformer on a CPU. The sets are equal but for
what the versions do differently, and have the counts, durations and bytes of the raw files."""
import collections
import gzip
import json

import program

CAPTURES = program.ROOT / "tests" / "converters" / "pytorch_versions"
VERSIONS = ("2.2", "2.15")
ITEM_BYTES = {"float32": 4, "float64": 8, "int64": 8, "unknown": 0}  # unknown: of undefined tensors


def raw(version):
    """Of the raw files, by name: operations, their nanoseconds, the bytes of their tensors, and the names of their callers."""
    kineto, host = (json.loads(gzip.decompress((CAPTURES / version / f"rank0.{kind}.json.gz").read_bytes())) for kind in ("kineto", "et"))
    count, duration_ns, input_bytes = collections.Counter(), collections.Counter(), collections.Counter()
    for event in kineto["traceEvents"]:
        if event.get("cat") == "cpu_op":
            count[event["name"]] += 1
            duration_ns[event["name"]] += round(event["dur"] * 1000)

    def tensor_bytes(value):
        if not isinstance(value, list):
            return 0
        if len(value) == 6 and isinstance(value[5], str) and all(isinstance(part, int) for part in value[:5]):
            return value[3] * value[4]
        return sum(map(tensor_bytes, value))

    for node in host["nodes"]:
        input_bytes[node["name"]] += tensor_bytes(node["inputs"]["values"])
    return count, duration_ns, input_bytes


def tensors(value):
    if isinstance(value, dict) and "storage_id" in value:
        return [value]
    return [tensor for part in value for tensor in tensors(part)] if isinstance(value, list) else []


class PytorchVersions(program.ProgramTest):
    def nodes(self, version):
        out, text = self.dir / version, self.dir / f"{version}.json"
        self.run_program("convert", CAPTURES / version, "-o", out, "--strict")
        self.run_program("validate", out)
        self.run_program("export", out, "--to", "json", "-o", text)
        return json.loads(text.read_text())["ranks"][0]["nodes"]

    def test_sums_are_those_of_the_raw_files(self):
        for version in VERSIONS:
            with self.subTest(version):
                count, duration_ns, input_bytes = raw(version)
                found = collections.defaultdict(lambda: [0, 0, 0])
                for node in self.nodes(version):
                    if node["op_kind"] == "work":
                        sums = found[node["name"]]
                        sums[0] += 1
                        sums[1] += node["duration_ns"]
                        sums[2] += sum(tensor["elements"] * ITEM_BYTES[tensor["dtype"]] for tensor in tensors(node["inputs"]))
                self.assertEqual(len(found), 25)
                for name, sums in found.items():
                    expected = [count[name], duration_ns[name], input_bytes[name]]
                    if name in ("aten::copy_", "aten::fill_"):  # most are parts of other operations
                        self.assertTrue(all(0 < part < whole for part, whole in zip(sums, expected)), name)
                    else:
                        self.assertEqual(sums, expected, name)

    def test_sets_are_equal_but_for_what_is_new(self):
        old, new = map(self.nodes, VERSIONS)
        self.assertEqual((len(old), len(new)), (340, 340))

        def shapes(values):
            # Undefined tensors are written as None since.
            return [(tensor["dtype"], tensor["shape"]) for tensor in tensors(values) if tensor["dtype"] != "unknown"]

        differ = collections.Counter()
        for before, after in zip(old, new):
            for key in ("type", "op_kind", "op_class", "actor", "step"):
                self.assertEqual(before[key], after[key], after)
            self.assertEqual([edge["reason"] for edge in before["deps"]], [edge["reason"] for edge in after["deps"]])
            self.assertEqual((shapes(before["inputs"]), shapes(before["outputs"])), (shapes(after["inputs"]), shapes(after["outputs"])), after)
            if before["name"] != after["name"]:
                differ[before["name"], after["name"]] += 1
        # A linear of three dimensions calls another view since.
        self.assertEqual(differ, {("aten::view", "aten::_unsafe_view"): 6})
        # Strides are in host traces since PyTorch 2.5. Without them tensors count as contiguous.
        self.assertTrue(all(tensor["strides"] == contiguous(tensor["shape"]) for node in old for tensor in tensors(node["inputs"])))
        self.assertTrue(any(tensor["strides"] != contiguous(tensor["shape"]) for node in new for tensor in tensors(node["inputs"])))


def contiguous(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


if __name__ == "__main__":
    program.main()
