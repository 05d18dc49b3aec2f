#!/usr/bin/env python3
"""Exports of Nsight Systems, converted: work, launches, waits, operators, steps, NCCL's transfers, ranks; and what is refused."""
import json
import shutil
import sqlite3

import program
from nsight_export import ALL_REDUCE, HOST, MARK, Export, Process, write_pair

BAD_INPUT = 3
SECRET = "secret_model_v9"


def write_step(process, at):
    """An operator with a kernel, a copy, a fill, and a kernel on another stream that waits for the first."""
    process.range(f"iteration {at // 1000}", at, at + 400)
    process.range(f"aten::mm, seq = {at}, op_id = 12, sizes = [[16, 32], [32, 64]]", at + 10, at + 60)
    process.kernel("ampere_bf16_gemm<128>", at + 100, at + 140, launched=at + 20)
    process.wait(at + 70, at + 75, process.stream, 21)
    process.kernel("void at::native::vectorized_elementwise_kernel<4, Add>", at + 145, at + 150, launched=at + 80, stream=21)
    process.copy(at + 160, at + 170, launched=at + 90, count=4096)
    process.fill(at + 180, at + 181, launched=at + 95, count=512)
    process.range(SECRET, at + 100, at + 130)


def write_single(path, **options):
    export = Export(path, **options)
    process = Process(export, 4242)
    for step in range(3):
        write_step(process, 1000 + 1000 * step)
    process.range("a mark", 1005, None, kind=MARK)
    export.close()


class NsightTest(program.CaptureTest):
    def write(self, name="job.sqlite", writer=write_single, **options):
        path = self.dir / name
        path.unlink(missing_ok=True)
        writer(path, **options)
        return path

    def test_work_launches_and_waits(self):
        out, _ = self.convert(self.write())
        self.run_program("validate", out)
        (rank,) = self.stats(out)["ranks"]
        self.assertEqual((rank["source"], rank["machine"]["device"], rank["placement"]["host"]),
                         ("nsight systems", "NVIDIA H100 80GB HBM3", HOST))
        nodes = self.nodes(out)
        by_name = {node["name"]: [other for other in nodes if other["name"] == node["name"]] for node in nodes}
        for name, micros in (("ampere_bf16_gemm<128>", 40), ("Memcpy HtoD (Pinned -> Device)", 10), ("Memset (Device)", 1)):
            self.assertEqual([node["duration_ns"] for node in by_name[name]], [micros * 1000] * 3, name)
        # The second stream's kernel waits for the first one's.
        first = {node["id"] for node in by_name["ampere_bf16_gemm<128>"]}
        for node in by_name["void at::native::vectorized_elementwise_kernel<4, Add>"]:
            self.assertTrue([edge for edge in node["deps"] if edge["id"] in first and edge["reason"] == "event"], node)

    def test_operators_and_steps(self):
        out, _ = self.convert(self.write())
        stats = self.stats(out)
        self.assertEqual([step["name"] for step in stats["ranks"][0]["steps"]], [f"ProfilerStep#{i}" for i in (1, 2, 3)])
        nodes = self.nodes(out)
        self.assertEqual([node["op"] for node in nodes if node["name"] == "ampere_bf16_gemm<128>"], ["aten::mm"] * 3)
        self.assertEqual(next(kind["nodes"] for kind in stats["classes"] if kind["class"] == "gemm"), 3)
        self.assertIn(SECRET, json.dumps(stats))
        self.assertNotIn("a mark", json.dumps(nodes) + json.dumps(stats))

    def test_older_and_newer_tables(self):
        expected = self.nodes(self.convert(self.write())[0])
        self.assertEqual(self.nodes(self.convert(self.write(version="_V3"))[0]), expected)
        # A newer table beside an older, empty one.
        path = self.write(version="_V2")
        with sqlite3.connect(path) as file:
            file.execute("CREATE TABLE NVTX_EVENTS (start INTEGER)")
        self.assertEqual(self.nodes(self.convert(path)[0]), expected)
        # Nothing but kernels.
        path = self.write(without=("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "ENUM_CUDA_MEM_KIND",
                                   "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "TARGET_INFO_GPU",
                                   "NVTX_PAYLOAD_SCHEMA_ENTRIES", "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_SESSION_START_TIME"))
        out, _ = self.convert(path)
        self.assertEqual(sum(kind["nodes"] for kind in self.stats(out)["kinds"] if kind["kind"] == "work"), 6)

    def transfers(self, out):
        return {row["kind"]: (row["count"], row["in_bytes"], row["out_bytes"]) for row in self.stats(out)["transfers"]}

    # Of both ranks: a gather's payload is what each gives, a scatter's what each gets.
    MOVED = {"all_reduce": (2, 8192, 8192), "all_gather": (2, 2048, 4096), "reduce_scatter": (2, 2048, 1024),
             "broadcast": (2, 256, 512), "send": (2, 4096, 0), "recv": (2, 0, 4096)}

    def test_transfers_of_two_processes(self):
        out, done = self.convert(self.write(writer=write_pair))
        self.run_program("validate", out)
        self.assertEqual(self.transfers(out), self.MOVED)
        self.assertEqual([group["ranks"] for group in self.stats(out)["groups"]], [[0, 1]])
        self.assertNotIn("by_use", done.stdout + done.stderr)
        # Processes are ranks as NCCL says, although their numbers go the other way.
        reduced = [next(node for node in self.nodes(out, rank) if node["name"] == ALL_REDUCE) for rank in (0, 1)]
        self.assertEqual([node["duration_ns"] for node in reduced], [100_000, 101_000])
        self.run_program("replay", out, "-o", self.dir / "run", ranks=2)
        self.run_program("simulate", out, "--machine", "h100-hgx", "-o", self.dir / "simulated")

    def test_communicators_that_began_before(self):
        out, done = self.convert(self.write(writer=write_pair, init=False))
        self.run_program("validate", out)
        self.assertEqual(self.transfers(out), self.MOVED)
        self.assertIn("1 communicator whose members are the ranks that used it", done.stdout + done.stderr)

    def test_a_file_for_each_rank(self):
        captures = self.dir / "captures"
        captures.mkdir()
        for rank in (0, 1):
            self.write(f"captures/profile_rank_{rank}.sqlite")
        out, _ = self.convert(captures)
        self.assertEqual([rank["rank"] for rank in self.stats(out)["ranks"]], [0, 1])
        shutil.copy(captures / "profile_rank_0.sqlite", captures / "profile_rank_3.sqlite")
        self.assertIn("rank 2 is missing", self.convert(captures, expect=BAD_INPUT)[1].stderr)

    def test_names_do_not_leave(self):
        out, _ = self.convert(self.write())
        self.assertIn(": 1 rank, 39 nodes\n", self.run_program("anonymize", out, "-o", self.dir / "shared").stdout)
        self.run_program("audit", self.dir / "shared")
        self.assert_lacks(self.dir / "shared", SECRET, HOST, "iteration 1")

    def change(self, *statements, **options):
        path = self.write(**options)
        with sqlite3.connect(path) as file:
            for statement in statements:
                file.execute(statement)
        return path

    def test_what_is_refused(self):
        kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
        self.refused(self.change(f"UPDATE {kernels} SET end = start - 1 WHERE rowid = 2"), kernels, "row 2", "can't be")
        self.refused(self.change(f"UPDATE {kernels} SET start = 'soon' WHERE rowid = 3"), kernels, "row 3", "whole numbers")
        self.refused(self.change("UPDATE NVTX_EVENTS SET end = 9223372036854775807 WHERE rowid = 1"), "NVTX_EVENTS", "row 1")
        self.refused(self.change(f"DELETE FROM {kernels}"), "without a kernel", "--trace=cuda")
        self.refused(self.change(f"DROP TABLE {kernels}"), "without a kernel")
        for table in ("StringIds", kernels):  # a view may take for ever
            path = self.change(f"ALTER TABLE {table} RENAME TO kept",
                               f"CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
            self.refused(path, "Nsight Systems")
        other = self.dir / "other.sqlite"
        with sqlite3.connect(other) as file:
            file.execute("CREATE TABLE rocpd_kernel (id INTEGER)")
        self.refused(other, "SQLite database without the tables of Nsight Systems")
        report = self.dir / "job.nsys-rep"
        report.write_bytes(b"a report")
        self.refused(report, "nsys export --type sqlite")
        whole = self.write(writer=write_pair).read_bytes()
        for part in (1, 2, 3):
            cut = self.dir / "cut.sqlite"
            cut.write_bytes(whole[:len(whole) * part // 4])
            self.refused(cut)

    def test_damaged_payloads_say_nothing(self):
        path = self.change("UPDATE NVTX_EVENTS SET binaryData = substr(binaryData, 1, 40) WHERE binaryData IS NOT NULL", writer=write_pair)
        out, done = self.convert(path)
        self.assertEqual({kind: (moved[1], moved[2]) for kind, moved in self.transfers(out).items()},
                         {kind: (0, 0) for kind in self.MOVED})
        self.assertIn("unknown size", done.stdout + done.stderr)

    def test_one_file_of_several_ranks_is_no_pair(self):
        done = self.run_program("convert", "--device-trace", self.write(writer=write_pair), "--rank", 0, "-o", self.dir / "one.et",
                                expect=BAD_INPUT)
        self.assertIn("2 processes", done.stderr)


if __name__ == "__main__":
    program.main()
