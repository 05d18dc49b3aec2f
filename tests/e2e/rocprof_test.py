#!/usr/bin/env python3
"""Results of rocprofv3, converted: work, launches, operators, steps, RCCL's transfers, ranks, in either form; and what is refused."""
import gzip
import json
import shutil
import sqlite3

import program
from rocprof_results import GEMM, HOST, REDUCE, Process, entry_of, write_database, write_json, write_member

SECRET = "secret_model_v9"
ADD = "void at::native::vectorized_elementwise_kernel<4, Add>(int)"


def single(number=4242, **options):
    """Steps of an operator with a kernel, a copy, a kernel on another stream, and a graph of two kernels."""
    process = Process(number, **options)
    for step in range(3):
        at = 1000 + 1000 * step
        process.range(f"iteration {step + 1}", at, at + 400)
        process.range(f"aten::mm, seq = {at}, op_id = 12, sizes = [[16, 32], [32, 64]]", at + 10, at + 60)
        process.kernel(GEMM, at + 100, at + 140, launched=at + 20)
        process.wait(at + 70, at + 75, 1, 21)
        process.kernel(ADD, at + 145, at + 150, launched=at + 80, stream=21)
        process.copy(at + 160, at + 170, launched=at + 90, count=4096)
        process.range(SECRET, at + 100, at + 130)
        graph = process.call("hipGraphLaunch", at + 180, at + 185)
        for part in (0, 1):
            process.kernel(f"part_{part}", at + 200 + 10 * part, at + 205 + 10 * part, correlation=graph)
        process.call("hipDeviceSynchronize", at + 300, at + 350)
        process.call("hsa_signal_wait_scacquire", at + 301, at + 349, "HSA_CORE_API")
    process.call("roctxMarkA", 1005, 1005, "MARKER_CORE_RANGE_API", "a mark")
    return process


class RocprofTest(program.CaptureTest):
    def write(self, *processes, name="4242_results.db", **options):
        path = self.dir / name
        path.unlink(missing_ok=True)
        (write_database if name.endswith(".db") else write_json)(path, *(processes or (single(),)), **options)
        return path

    def test_work_and_launches(self):
        for name in ("4242_results.db", "4242_results.json"):
            out, _ = self.convert(self.write(name=name))
            self.run_program("validate", out)
            (rank,) = self.stats(out)["ranks"]
            self.assertEqual((rank["source"], rank["machine"]["device"], rank["placement"]["host"]),
                             ("rocprofv3", "AMD Instinct MI300X", HOST))
            self.assertEqual([step["name"] for step in rank["steps"]], [f"ProfilerStep#{i}" for i in (1, 2, 3)])
            nodes = self.nodes(out)
            by_name = {node["name"]: [other for other in nodes if other["name"] == node["name"]] for node in nodes}
            for kernel, micros in ((GEMM, 40), (ADD, 5), ("Memcpy HtoD", 10), ("part_0", 5), ("part_1", 5)):
                self.assertEqual([node["duration_ns"] for node in by_name[kernel]], [micros * 1000] * 3, kernel)
            (first, *_) = by_name[GEMM]
            work = first["device_work"]
            self.assertEqual((first["op"], work["grid"], work["block"], work["registers_per_thread"], work["shared_memory_bytes"]),
                             ("aten::mm", [4, 2, 1], [256, 1, 1], 32, 2048))
            self.assertEqual(first["actor"], {"kind": "stream", "id": 1, "device": 0})
            self.assertEqual(by_name["Memcpy HtoD"][0]["device_work"]["copied_bytes"], 4096)
            # All but the copy on the host's side have their launch.
            for node in nodes:
                if node["actor"]["kind"] == "stream" and node["op_kind"] == "work":
                    self.assertTrue([edge for edge in node["deps"] if edge["reason"] == "launch"], node)
            self.assertNotIn("a mark", json.dumps(nodes) + json.dumps(self.stats(out)))

    def test_a_stream_waits_for_another(self):
        for name in ("4242_results.db", "4242_results.json"):
            nodes = self.nodes(self.convert(self.write(name=name))[0])
            first = {node["id"] for node in nodes if node["name"] == GEMM}
            for node in nodes:
                if node["name"] == ADD:
                    self.assertTrue([edge for edge in node["deps"] if edge["id"] in first and edge["reason"] == "event" and
                                     not edge["inferred"]], node)

    def test_both_forms_and_schemas_say_the_same(self):
        expected = self.nodes(self.convert(self.write())[0])
        self.assertEqual(self.nodes(self.convert(self.write(moved=True))[0]), expected)
        self.assertEqual(self.nodes(self.convert(self.write(name="4242_results.json"))[0]), expected)
        # Members in another order: names behind the records that use them.
        self.assertEqual(self.nodes(self.convert(self.write(name="4242_results.json", sort_keys=True, indent=1))[0]), expected)

    def transfers(self, out):
        return {row["kind"]: (row["count"], row["in_bytes"], row["out_bytes"]) for row in self.stats(out)["transfers"]}

    # Of both ranks.
    MOVED = {"all_reduce": (2, 8192, 8192), "all_gather": (2, 2048, 4096), "reduce_scatter": (2, 2048, 1024),
             "broadcast": (2, 256, 512), "send": (2, 4096, 0), "recv": (2, 0, 4096)}

    def test_transfers_of_two_processes(self):
        for name in ("2_results.json", "2_results.db"):
            out, _ = self.convert(self.write(write_member(0), write_member(1), name=name), "--strict")
            self.run_program("validate", out)
            self.assertEqual(self.transfers(out), self.MOVED)
            self.assertEqual([group["ranks"] for group in self.stats(out)["groups"]], [[0, 1]])
        reduced = [next(node for node in self.nodes(out, rank) if node["name"] == REDUCE) for rank in (0, 1)]
        self.assertEqual([node["duration_ns"] for node in reduced], [100_000, 101_000])
        self.run_program("replay", out, "-o", self.dir / "run", ranks=2)

    def test_transfers_without_arguments(self):
        """As rocprofv3 records RCCL's calls today: their kinds alone. Kernels are launched by RCCL where calls of HIP are not recorded."""
        for hip in (True, False):
            for name in ("2_results.db", "2_results.json"):
                out, done = self.convert(self.write(write_member(0, counts=False, hip=hip), write_member(1, counts=False, hip=hip), name=name))
                self.run_program("validate", out)
                self.assertEqual({kind: row[0] for kind, row in self.transfers(out).items()},
                                 {kind: row[0] for kind, row in self.MOVED.items()})

    def test_a_file_for_each_rank(self):
        captures = self.dir / "captures"
        (captures / "node7").mkdir(parents=True)
        for name, processes in (("named by process", [single(500 - device, device=device) for device in (0, 1)]),
                                ("numbered by the launcher", [write_member(rank) for rank in (0, 1)])):
            for form in ("db", "json"):
                for old in (captures / "node7").iterdir():
                    old.unlink()
                for process in processes:
                    self.write(process, name=f"captures/node7/{process.number}_results.{form}")
                out, _ = self.convert(captures)
                ranks = self.stats(out)["ranks"]
                self.assertEqual([rank["rank"] for rank in ranks], [0, 1], name)
        # Both forms of each process, of which one is packed: the database is taken.
        for path in list((captures / "node7").iterdir()):
            for packed in (False, True):
                self.write(next(one for one in processes if one.number == int(path.name.split("_")[0])),
                           name=f"captures/node7/{path.name.split('.')[0]}.db")
                if packed:
                    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
                    path.unlink()
                self.assertEqual([rank["rank"] for rank in self.stats(self.convert(captures)[0])["ranks"]], [0, 1])
        # A launcher's file, without a kernel, is beside them.
        self.write(Process(7), name="captures/node7/7_results.json")
        _, done = self.convert(captures)
        self.assertIn("1 file of a process that used no GPU", done.stdout + done.stderr)
        shutil.rmtree(captures)
        captures.mkdir()
        for rank in (0, 1):
            self.write(name=f"captures/rank{rank}_results.db")
        self.assertEqual([rank["rank"] for rank in self.stats(self.convert(captures)[0])["ranks"]], [0, 1])

    def test_processes_of_one_file(self):
        """Without a launcher's numbers they count by device; packed JSON is one file of them, too."""
        processes = [single(500 - device, device=device) for device in (1, 0)]
        for name in ("job_results.db", "job_results.json"):
            path = self.write(*processes, name=name)
            if name.endswith(".json"):
                (self.dir / "job_results.json.gz").write_bytes(gzip.compress(path.read_bytes()))
                path = self.dir / "job_results.json.gz"
            out, _ = self.convert(path)
            self.assertEqual([rank["rank"] for rank in self.stats(out)["ranks"]], [0, 1])
            for rank in (0, 1):
                devices = {node["actor"]["device"] for node in self.nodes(out, rank) if node["name"] == GEMM}
                self.assertEqual(devices, {rank})

    def test_names_do_not_leave(self):
        for name in ("4242_results.db", "4242_results.json"):
            out, _ = self.convert(self.write(single().rank(0, 1), name=name))
            for path in out.iterdir():
                self.assertNotIn(b"hunter2", path.read_bytes(), path)
            self.run_program("anonymize", out, "-o", self.dir / "shared", "--force")
            self.run_program("audit", self.dir / "shared")
            self.assert_lacks(self.dir / "shared", SECRET, HOST, "iteration 1")

    def change(self, *statements):
        path = self.write()
        with sqlite3.connect(path) as file:
            (ending,) = (name[len("rocpd_region"):] for (name,) in file.execute(
                "SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_region_%' AND type = 'table'"))
            for statement in statements:
                file.execute(statement.replace("{}", ending))
        return path

    def test_databases_that_are_refused(self):
        self.refused(self.change('UPDATE rocpd_kernel_dispatch{} SET "end" = start - 1 WHERE rowid = 2'), "rocpd_kernel_dispatch_", "record 2",
                     "can't be")
        self.refused(self.change("UPDATE rocpd_region{} SET start = 'soon' WHERE rowid = 3"), "rocpd_region_", "record 3", "whole numbers")
        self.refused(self.change("UPDATE rocpd_memory_copy{} SET start = NULL WHERE rowid = 1"), "rocpd_memory_copy_", "record 1")
        self.refused(self.change("DELETE FROM rocpd_kernel_dispatch{}"), "without a kernel", "--kernel-trace")
        endless = "AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS string, i AS start FROM n"
        for table in ("string", "kernel_dispatch"):  # a view may take for ever
            self.refused(self.change(f"ALTER TABLE rocpd_{table}{{}} RENAME TO kept", f"CREATE VIEW rocpd_{table}{{}} {endless}"), "rocprofv3")
        whole = self.write().read_bytes()
        for part in (1, 2, 3):
            cut = self.dir / "cut.db"
            cut.write_bytes(whole[:len(whole) * part // 4])
            self.refused(cut)

    def test_tables_without_keys_are_not_joined(self):
        """A file that is made so that a join would take for ever is read without it."""
        path = self.change("ALTER TABLE rocpd_event{} RENAME TO kept", "CREATE TABLE rocpd_event{} (id INTEGER, stack_id INTEGER)",
                           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) "
                           "INSERT INTO rocpd_event{} SELECT 1, i FROM n", "UPDATE rocpd_region{} SET event_id = 1")
        out, _ = self.convert(path)
        self.assertEqual(sum(kind["nodes"] for kind in self.stats(out)["kinds"] if kind["kind"] == "work"), 15)

    def test_json_that_is_refused(self):
        def changed(change):
            entry = entry_of(single())
            change(entry, entry["buffer_records"]["kernel_dispatch"])
            path = self.dir / "4242_results.json"
            path.write_text(json.dumps({"rocprofiler-sdk-tool": [entry]}))
            return path

        self.refused(changed(lambda entry, kernels: kernels[1].update(end_timestamp=1)), "list kernel_dispatch", "record 2", "can't be")
        self.refused(changed(lambda entry, kernels: kernels[2].update(start_timestamp="soon")), "record 3", "whole numbers")
        self.refused(changed(lambda entry, kernels: kernels.clear()), "without a kernel", "--kernel-trace")
        whole = self.write(name="4242_results.json").read_text()
        path = self.dir / "cut_results.json"
        for part in range(1, 8):
            path.write_text(whole[:len(whole) * part // 8])
            self.refused(path, "byte")
        deep = "[" * 2_000_000
        for text, word in ((whole.replace('"dispatch_info": ', f'"deep": {deep}, "a": ', 1), "at byte"),
                           (whole + "x", "end of the file"), (whole.replace('"kernel_dispatch": [', '"kernel_dispatch": [,', 1), "at byte"),
                           (whole.replace('"dispatch_info": ', '"dispatch_info": nul, "a": ', 1), "at byte"),
                           ('{"rocprofiler-sdk-tool": 5}', "is no list")):
            path.write_text(text)
            self.refused(path, word)


if __name__ == "__main__":
    program.main()
