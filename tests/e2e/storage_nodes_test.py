#!/usr/bin/env python3
"""Chakra's storage, batch and checkpoint nodes, from messages that upstream's own schema (upstream/et_def.proto) and protobuf make to
every command that reads a set."""
import collections
import json
import pathlib
import subprocess
import tempfile

import program
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from wire import read_varint, varint

CHECK_FAILED = 1
UPSTREAM = pathlib.Path(__file__).parent / "upstream"
PATH, DEVICE = "/mnt/secret-dataset/part-00000", "secretnvme0n1"
COMP, ALL_REDUCE, STORAGE, BATCH, CHECKPOINT = 4, 7, 8, 9, 10


def messages():
    """Upstream's message classes: {"Node": …, "GlobalMetadata": …}."""
    program.need("protoc")
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "schema"
        subprocess.run(["protoc", f"--descriptor_set_out={out}", f"-I{UPSTREAM}", "et_def.proto"], check=True)
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
            pool.Add(file)
    of = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return {name: of(pool.FindMessageTypeByName("ChakraProtoMsg." + name)) for name in ("Node", "GlobalMetadata")}


SCHEMA = messages()


def node(number, name, kind, micros, deps=(), storage=None, **attributes):
    made = SCHEMA["Node"](id=number, name=name, type=kind, duration_micros=micros, data_deps=deps, storage=storage)
    for key, value in attributes.items():
        made.attr.add(name=key, **({"bool_val": value} if isinstance(value, bool) else {"int64_val": value}))
    return made


def rank_nodes(on_cpu=True):
    """What a data loader, a step and a checkpoint do."""
    file = {"pathname": PATH, "fd": 7}
    return [
        node(1, "open", STORAGE, 11, storage={"level": 1, "fs": {"op": 1, **file, "flags": 0o2000000}}),
        node(2, "pread", STORAGE, 3000, [1], {"level": 1, "fs": {"op": 5, **file, "offset": 1 << 41, "size_bytes": 8 << 20}}),
        node(3, "readahead", STORAGE, 120, [1], {"level": 2, "page": {"op": 6, "inode": 1 << 63, "page_index": 5, "nr_pages": 32}}),
        node(4, "rq", STORAGE, 900, [1], {"level": 3, "block": {"op": 1, "queue_event": 5, "device": DEVICE, "lba": 1 << 40, "nr_sectors": 256, "req_op_flags": 9}}),
        node(5, "nvme", STORAGE, 40, [4], {"level": 4}, num_ops=10**9, tensor_size=1 << 30),
        node(6, "later", STORAGE, 8, [5], {"level": 9, "fs": {"op": 99}}),
        node(7, "next batch", BATCH, 4500, [2, 3, 6]),
        node(8, "matmul", COMP, 2000, [7], num_ops=10**9, tensor_size=1 << 20, is_cpu_op=on_cpu),
        node(9, "all_reduce", ALL_REDUCE, 700, [8], comm_type=0, comm_size=4096, is_cpu_op=False),
        node(10, "save", CHECKPOINT, 6000, [9], {"level": 1, "fs": {"op": 6, **file, "size_bytes": 1 << 24}}),
    ]


def write(path, nodes):
    data = b""
    for message in [SCHEMA["GlobalMetadata"](version="1.0.0"), *nodes]:
        data += varint(message.ByteSize()) + message.SerializeToString()
    path.write_bytes(data)


def read(path):
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        size, at = read_varint(data, at)
        found.append(data[at:at + size])
        at += size
    return [SCHEMA["Node"].FromString(message) for message in found[1:]]


class StorageNodes(program.ProgramTest):
    def setUp(self):
        super().setUp()
        source = self.dir / "source"
        source.mkdir()
        self.nodes = rank_nodes()
        self.set = self.dir / "set"
        self.text = self.convert_ranks(source, self.nodes, self.set)
        self.stored = [each for each in self.nodes if each.type >= STORAGE]

    def convert_ranks(self, source, nodes, out):
        for rank in range(2):
            write(source / f"job.{rank}.et", nodes)
        return self.run_program("convert", source, "-o", out).stdout

    def operations(self, path):
        return {row["operation"]: row for row in self.run_json("stats", path)["storage"]}

    def test_upstreams_reader_finds_the_same_nodes(self):
        self.assertIn("storage", self.text)
        for rank in range(2):
            written = {each.id: each for each in read(self.set / f"job.{rank}.et")}
            self.assertEqual(len(written), len(self.nodes))
            for of in self.nodes:
                found = written[of.id]
                self.assertEqual((found.name, found.type, found.duration_micros), (of.name, of.type, of.duration_micros))
                self.assertEqual(found.HasField("storage"), of.HasField("storage"))
                self.assertEqual(found.storage.SerializeToString(deterministic=True), of.storage.SerializeToString(deterministic=True), of.name)
        self.run_program("validate", self.set)

    def test_stats_have_the_scripts_sums(self):
        rows = self.operations(self.set)
        expected = collections.Counter()
        for of in self.stored:
            expected["nodes"] += 2
            expected["duration_ns"] += 2 * of.duration_micros * 1000
            expected["bytes"] += 2 * (of.storage.fs.size_bytes + of.storage.block.nr_sectors * 512)
        self.assertEqual({key: sum(row[key] for row in rows.values()) for key in expected}, dict(expected))
        self.assertEqual(set(rows), {"storage fs open", "storage fs pread", "storage page readahead_async", "storage block read complete",
                                     "storage device", "storage 9 99", "batch", "checkpoint fs pwrite"})
        text = self.run_program("stats", self.set).stdout
        self.assertIn("storage: 16 nodes, 29.158 ms, 50.59 MB", text)
        self.assertIn("storage fs pread", self.run_program("-v", "stats", self.set).stdout)
        types = self.run_json("stats", self.set)["types"]
        self.assertEqual((types["storage"], types["batch"], types["checkpoint"]), (12, 2, 2))

    def test_they_replay_as_timed_nodes(self):
        run = self.dir / "run"
        self.run_program("replay", self.set, "-o", run, "--iterations", 1, "--warmup", 0, "--device", "host", "--quiet", ranks=2)
        coverage = self.run_json("report", run)["coverage"]
        self.assertGreater(coverage["timed"], 0.5)
        self.assertEqual((coverage["unknown"], coverage["compiled"]), (0, 0))
        timeline = self.dir / "timeline.json"
        self.run_program("export", run, "--to", "perfetto", "-o", timeline)
        self.assertIn(b"next batch", timeline.read_bytes())
        self.run_program("compare", self.set, run)

    def test_they_are_simulated_as_timed_nodes(self):
        device = self.dir / "device"
        self.convert_ranks(self.dir / "source", rank_nodes(on_cpu=False), device)
        step_ns = self.run_json("simulate", device, "--machine", "h100-hgx", "--captured-on", "h100-hgx", "-o", self.dir / "run")["step_time_ns"]
        # The longest way through the storage nodes alone, at their recorded times.
        self.assertGreaterEqual(step_ns, (11 + 3000 + 4500 + 6000) * 1000)

    def test_shared_sets_say_what_was_done_and_not_where(self):
        shared = self.dir / "shared"
        self.run_program("anonymize", self.set, shared)
        self.run_program("audit", shared)
        for file in shared.iterdir():
            for secret in (PATH, DEVICE, "secret"):
                self.assertNotIn(secret.encode(), file.read_bytes(), file)
        self.assertEqual(self.operations(shared), self.operations(self.set))
        for of in read(shared / next(iter(sorted(file.name for file in shared.glob("*.0.et"))))):
            self.assertFalse(of.storage.fs.fd or of.storage.fs.offset or of.storage.page.inode or of.storage.block.lba, of)
        found = json.loads(self.run_program("audit", self.set, "--json", expect=CHECK_FAILED).stdout)
        self.assertIn(PATH, json.dumps(found))

    def test_simulators(self):
        out = self.dir / "astra"
        self.assertIn("16 storage, batch and checkpoint nodes as compute", self.run_program("export", self.set, "--to", "astra-sim", "-o", out).stdout)
        for of in read(next(iter(out.glob("*.0.et")))):
            self.assertIn(of.type, (COMP, ALL_REDUCE))
            self.assertFalse(of.HasField("storage"))
        refused = self.run_program("validate", self.set, "--for", "astra-sim", expect=CHECK_FAILED)
        self.assertIn("storage, batch or checkpoint", refused.stdout + refused.stderr)

    def test_json_of_chakra_comes_back(self):
        text, again = self.dir / "text", self.dir / "again"
        self.run_program("export", self.set, "--to", "chakra-json", "-o", text)
        self.assertIn("FS_OP_PREAD", next(iter(text.glob("*.0.json"))).read_text())
        self.run_program("convert", text, "-o", again)
        self.assertEqual(self.operations(again), self.operations(self.set))
        before, after = ({each.id: each.storage.SerializeToString(deterministic=True) for each in read(next(iter(of.glob("*.0.et"))))} for of in (self.set, again))
        self.assertEqual(before, after)


if __name__ == "__main__":
    program.main()
