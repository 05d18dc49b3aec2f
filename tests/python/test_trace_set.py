"""reprise.TraceSet: agrees with `reprise export --to json`, in all compressions, also where files are cut."""
import gzip
import json
import shutil
import subprocess
import unittest

import made
import reprise
import zstandard
from google.protobuf import descriptor_pb2
from reprise import et_stream


def exported(path):
    out = made.DIRECTORY / "exported.json"
    made.reprise("export", path, "--to", "json", "-o", out, "--force")
    return json.loads(out.read_text())


def write(path, header, *nodes):
    data = b""
    for message in (header, *nodes):
        payload, length = message.SerializeToString(), message.ByteSize()
        while length > 127:
            data += bytes([length & 127 | 128])
            length >>= 7
        data += bytes([length]) + payload
    path.write_bytes(data)
    return path


class Agrees(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = made.trace("gloo/gpt_ddp4")
        cls.traces = reprise.TraceSet(cls.path)
        cls.file = cls.path / "gpt_ddp4.2.et"
        cls.json = exported(cls.file)

    def test_nodes(self):
        nodes = self.traces.nodes(2)
        theirs = self.json["nodes"]
        self.assertEqual(list(nodes["node_id"]), [node["id"] for node in theirs])
        for mine, key in (("name", "name"), ("start_ns", "start_ns"), ("duration_ns", "duration_ns"),
                          ("op_class", "op_class"), ("op_kind", "op_kind")):
            self.assertEqual(list(nodes[mine]), [node[key] for node in theirs], mine)
        transfers = nodes[nodes["type"] == "COMM_COLL_NODE"]
        self.assertEqual(list(transfers["comm_in_bytes"]),
                         [node["comm"]["in_bytes"] for node in theirs if "comm" in node])
        self.assertEqual(str(transfers["comm_in_bytes"].dtype), "Int64")
        self.assertEqual(nodes["is_cpu_op"].dtype, bool)

    def test_edges(self):
        mine = {(row.from_node, row.to_node, row.reason, row.inferred)
                for row in self.traces.edges(2).itertuples()}
        theirs = {(dep["id"], node["id"], dep["reason"], dep["inferred"])
                  for node in self.json["nodes"] for dep in node["deps"]}
        self.assertEqual(mine, theirs)
        self.assertGreater(len(mine), 1000)

    def test_arguments(self):
        for node, theirs in zip(self.traces.iterate(2), self.json["nodes"]):
            values = [argument.value if not argument.type.startswith("Tensor") else argument.shape
                      for argument in node.inputs]
            self.assertEqual(len(values), len(theirs["inputs"]), node)
            for value, other in zip(values, theirs["inputs"]):
                if isinstance(other, (bool, int, float, str)):
                    self.assertEqual(value, other)
                elif isinstance(other, dict) and "shape" in other:
                    self.assertEqual(value, other["shape"])
        self.assertTrue(self.traces.nodes(2, arguments=True)["inputs"].map(len).gt(0).any())

    def test_header_and_groups(self):
        metadata = self.traces.metadata(2)
        self.assertEqual((metadata["rank"], metadata["world_size"]), (2, 4))
        self.assertEqual(metadata["base_ns"], self.json["metadata"]["base_ns"])
        traces = reprise.TraceSet(made.trace("gloo_comms/collectives4"))
        self.assertEqual(traces.groups, {"0": {"ranks": [0, 1, 2, 3], "description": "default_pg"},
                                         "1": {"ranks": [0, 1], "description": "low"},
                                         "2": {"ranks": [2, 3], "description": "high"}})
        self.assertEqual(traces.ranks, [0, 1, 2, 3])

    def test_joins_with_a_run(self):
        nodes = reprise.Run(made.dry_run()).nodes(ranks=2).merge(self.traces.nodes(2), on="node_id")
        self.assertEqual(len(nodes), len(self.json["nodes"]))
        self.assertTrue((nodes["name_x"] == nodes["name_y"]).all())


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain = (made.trace("gloo/gpt_ddp4") / "gpt_ddp4.0.et").read_bytes()
        cls.count = len(reprise.TraceSet(made.trace("gloo/gpt_ddp4")).nodes(0))

    def packed(self):
        half = len(self.plain) // 2
        return {".et": self.plain, ".et.gz": gzip.compress(self.plain[:half]) + gzip.compress(self.plain[half:]),
                ".et.zst": zstandard.compress(self.plain[:half]) + zstandard.compress(self.plain[half:])}

    def test_compressed(self):
        for suffix, content in self.packed().items():
            path = made.DIRECTORY / f"packed.5{suffix}"
            path.write_bytes(content)
            traces = reprise.TraceSet(path)
            self.assertEqual((traces.ranks, len(traces.nodes(5)), traces.notes), ([5], self.count, []))

    def test_cut(self):
        for suffix, content in self.packed().items():
            for part in (0.2, 0.9):
                path = made.DIRECTORY / f"cut.0{suffix}"
                path.write_bytes(content[:int(len(content) * part)])
                traces = reprise.TraceSet(path)
                with self.assertWarnsRegex(reprise.DamagedWarning, r"cut\.0\.et.*(damaged after|nodes, the file)"):
                    nodes = traces.nodes(0)
                self.assertTrue(0 < len(nodes) < self.count, (suffix, part, len(nodes)))

    def test_garbage(self):
        path = made.DIRECTORY / "garbage.0.et"
        for content in (b"\xff" * 100, b"\x28\xb5\x2f\xfd" + b"x" * 100, b"\x1f\x8b" + b"x" * 100, b"no trace"):
            path.write_bytes(content)
            with self.assertWarnsRegex(reprise.DamagedWarning, "damaged after 0 nodes"):
                self.assertEqual(len(reprise.TraceSet(path).nodes(0)), 0)
        empty = made.DIRECTORY / "no_traces"
        empty.mkdir()
        with self.assertRaisesRegex(ValueError, "no trace set"):
            reprise.TraceSet(empty)

    def test_files_of_others(self):
        """No attributes of Reprise: times in µs, any types, arguments that are not finite."""
        node = et_stream.NodeMessage(id=2**64 - 1, name="a", type=4, ctrl_deps=[1], start_time_micros=7,
                                     duration_micros=3)
        node.inputs.values, node.inputs.types = "[-inf, nan, [inf], 'it\\'s', '<None>']", "[]"
        for name, field, value in (("u", "uint64_val", 2**64 - 1), ("f", "float_val", 0.5), ("b", "bytes_val", b"\0"),
                                   ("s", "sint32_val", -3)):
            setattr(node.attr.add(name=name), field, value)
        node.attr.add(name="l").fixed32_list.values.extend([1, 2])
        bad = et_stream.NodeMessage(id=1, name="b")
        bad.inputs.values = "__import__('os')"
        path = write(made.DIRECTORY / "other.0.et", et_stream.GlobalMetadata(version="x"), bad, node)
        traces = reprise.TraceSet(path)
        unfit, read = traces.iterate(0)
        self.assertEqual((read.id, read.start_ns, read.duration_ns, read.type), (2**64 - 1, 7000, 3000, "COMP_NODE"))
        self.assertEqual(read.attributes, {"u": 2**64 - 1, "f": 0.5, "b": b"\0", "s": -3, "l": [1, 2]})
        values = [argument.value for argument in read.inputs]
        self.assertEqual(str(values), "[-inf, nan, [inf], \"it's\", '<None>']")
        with self.assertRaisesRegex(ValueError, "no list of literals"):
            _ = unfit.inputs
        with self.assertWarnsRegex(reprise.DamagedWarning, "node 1"):
            frame = traces.nodes(0, arguments=True)
        self.assertEqual(list(frame["node_id"]), [1, 2**64 - 1])
        self.assertEqual(frame["u"][1], 2**64 - 1)
        self.assertTrue(frame["u"].isna()[0])
        edges = traces.edges(0)
        self.assertEqual(list(edges.iloc[0]), [1, 2**64 - 1, "control", False])

    def test_nodes_come_while_the_file_is_read(self):
        path = made.DIRECTORY / "begun.0.et"
        path.write_bytes(self.plain[:len(self.plain) // 2])
        traces = reprise.TraceSet(path)
        nodes = traces.iterate(0)
        self.assertIsInstance(next(nodes), reprise.Node)
        self.assertEqual(traces.notes, [])  # it is not known yet
        nodes.close()


class Descriptor(unittest.TestCase):
    def test_is_that_of_et_def_proto(self):
        made.program.need("protoc")
        root = made.program.ROOT
        out = made.DIRECTORY / "et_def.binpb"
        subprocess.run(["protoc", f"--descriptor_set_out={out}", f"-I{root}/et_schema", "et_def.proto"], check=True)
        shipped = (root / "report" / "python" / "reprise" / "et_def.binpb").read_bytes()
        self.assertEqual(descriptor_pb2.FileDescriptorSet.FromString(shipped),
                         descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()),
                         "make it again: protoc --descriptor_set_out=report/python/reprise/et_def.binpb -Iet_schema et_def.proto")

