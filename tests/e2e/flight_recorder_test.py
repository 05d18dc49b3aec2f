#!/usr/bin/env python3
"""Dumps of PyTorch's flight recorder, converted: sizes, groups, times, where ranks stand in a hang, and what is refused."""
import json
import math
import pickle

import program
from flight_recorder_dump import FRAMES, MS, WORLD, Dump, write_job

BAD_INPUT = 3
ITEM = {"Float": 4, "BFloat16": 2}


def raw_sums(folder):
    """Of the files alone: transfers, bytes sent and received, and milliseconds, by kind. What one launch carried out has its time."""
    sums = {}
    for path in sorted(folder.iterdir()):
        waiting = []
        for entry in pickle.loads(path.read_bytes())["entries"]:
            kind = entry["profiling_name"].split(":")[1].split(" ")[0]
            if kind == "coalesced":
                for name in waiting:
                    sums[name][3] += entry["duration_ms"]
                waiting = []
                continue
            row = sums.setdefault(kind, [0, 0, 0, 0.0])
            row[0] += 1
            for at, side in ((1, "input"), (2, "output")):
                row[at] += sum(math.prod(size) * ITEM[dtype] for size, dtype in zip(entry[f"{side}_sizes"], entry[f"{side}_dtypes"]))
            row[3] += entry.get("duration_ms", 0)
            if "duration_ms" not in entry:
                waiting.append(kind)
    return sums


class FlightRecorderTest(program.CaptureTest):
    def job(self, name="job", **options):
        folder = self.dir / name
        write_job(folder, **options)
        return folder

    def test_counts_bytes_and_lengths_are_those_of_the_files(self):
        folder = self.job()
        out, _ = self.convert(folder)
        self.run_program("validate", out)
        found = {}
        for rank in range(4):
            for node in self.nodes(out, rank):
                row = found.setdefault(node["comm"]["kind"], [0, 0, 0, 0.0])
                row[0] += 1
                row[1] += node["comm"]["in_bytes"]
                row[2] += node["comm"]["out_bytes"]
                row[3] += node["duration_ns"] / MS
        raw = raw_sums(folder)
        named = {"all_reduce": "all_reduce", "_all_gather_base": "all_gather", "_reduce_scatter_base": "reduce_scatter", "send": "send",
                 "recv": "recv"}
        self.assertEqual(set(raw), set(named))
        for name, kind in named.items():
            count, sent, received, ms = raw[name]
            self.assertEqual(found[kind][:3], [count, 0 if kind == "recv" else sent, 0 if kind == "send" else received])
            self.assertAlmostEqual(found[kind][3], ms, places=5)

    def test_pickles_and_json_are_the_same_set(self):
        sets = []
        for name, form, protocol in (("two", "pickled", 2), ("five", "pickled", 5), ("text", "json", None)):
            folder = self.job(name, form=form)
            if protocol:
                for path in folder.iterdir():
                    path.write_bytes(pickle.dumps(pickle.loads(path.read_bytes()), protocol))
            out, _ = self.convert(folder, "--name", "same")
            sets.append([self.nodes(out, rank) for rank in range(4)])
        self.assertEqual(sets[0], sets[1])
        self.assertEqual(sets[0], sets[2])

    def test_groups_peers_and_times(self):
        out, _ = self.convert(self.job())
        groups = json.loads((out / "comm_groups_info.json").read_text())
        self.assertEqual(groups["0"]["description"], "default_pg")
        self.assertEqual(json.loads((out / "comm_groups.json").read_text()), {"1": [0, 1], "2": [2, 3]})
        nodes = self.nodes(out, 3)
        send = next(node for node in nodes if node["comm"]["kind"] == "send")
        self.assertEqual((send["comm"]["peer"], send["comm"]["group"], send["name"]), (2, "2", "nccl:send 1->0"))
        first = nodes[0]
        # Members end at one time: rank 3, with the shortest, arrived 0.6 ms after rank 0.
        self.assertEqual((first["start_ns"], first["duration_ns"]), (0, 1_400_000))
        self.assertEqual(first["comm"]["issued_ns"] - first["start_ns"], first["comm"]["issued_ns"])
        report = self.run_json("report", out)
        row = next(row for row in report["collectives"] if row["name"] == "all_reduce")
        self.assertEqual((row["bytes"], row["group_size"], row["recorded_ns"]), (1 << 20, 4, 1_400_000))
        self.assertAlmostEqual(row["algbw_gb_per_s"], (1 << 20) / 1.4e6, places=3)
        text = self.run_program("compare", out).stdout
        self.assertIn("rank 3 arrives last", text)

    def test_a_hang_says_where_ranks_stand(self):
        out, done = self.convert(self.job(hang=True), "-v")
        self.assertIn("group 0 (default_pg): all_reduce 3 did not end: scheduled on ranks 0,2-3; rank 1 has not issued it: the last there is "
                      "all_reduce 2 (completed)", done.stdout)
        nodes = [node for node in self.nodes(out, 2) if node["comm"]["kind"] == "all_reduce"]
        self.assertEqual([node["comm"].get("state", "completed") for node in nodes], ["completed", "completed", "scheduled"])
        last = nodes[-1]
        self.assertTrue(last["untimed"] and last["comm"]["unmatched"])
        self.assertEqual(last["duration_ns"], 0)
        self.assertNotIn(" 0 ns", self.run_program("report", out, "--section", "transfers").stdout)
        report = json.loads(self.run_program("convert", self.job(hang=True), "-o", out, "--force", "--json").stdout)
        self.assertEqual(report["diagnostics"]["transfer_not_completed"]["count"], 3)
        self.assertEqual(len(report["notes"]), 1)
        self.run_program("validate", out)
        self.run_program("replay", out, "-o", self.dir / "run", "--ops", "timed", ranks=4)

    def test_no_length_is_no_zero(self):
        out, done = self.convert(self.job(timed=False))
        self.assertIn("whose lengths are not recorded", done.stdout)
        self.assertTrue(all(node["untimed"] for node in self.nodes(out)))
        run = self.dir / "run"
        self.run_program("simulate", out, "--machine", "h100-hgx", "-o", run)
        self.assertGreater(self.run_json("report", run)["collectives"][0]["replayed_ns"], 0)

    def test_simulated_on_another_machine(self):
        out, _ = self.convert(self.job())
        self.run_program("simulate", out, "--machine", "h100-hgx", "--captured-on", "a100-hgx", "-o", self.dir / "run")

    def test_clocks_of_hosts_are_fitted(self):
        folder = self.job("hosts", steps=8)
        path = folder / "nccl_trace_rank_1"
        value = pickle.loads(path.read_bytes())
        for entry in value["entries"]:
            for name in ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"):
                entry[name] = entry[name] and entry[name] + 3000 * MS
        path.write_bytes(pickle.dumps(value))
        out, _ = self.convert(folder)
        # Noticed ends are 80 ms after the issue: that is how well the offset is known.
        offset = self.run_json("stats", out)["ranks"][1]["clock_offset_ns"]
        self.assertAlmostEqual(offset / MS, -3000, delta=80)
        self.run_program("validate", out)

    def test_a_buffer_that_was_overwritten(self):
        # Rank 1 begins one call later than rank 0: what only one of them has is marked, the rest is matched by number.
        folder = self.dir / "ring"
        folder.mkdir()
        for rank, first in ((0, 4), (1, 5)):
            dump = Dump(rank, (0, 1), first=first)
            for number in range(first, 8):
                dump.at = dump.at if number > first else dump.at + first * 4 * MS
                dump.call("all_reduce", [[8]], [[8]], collective=number, ms=1.0)
            (folder / f"rank{rank}").write_bytes(dump.pickled())
        out, done = self.convert(folder)
        self.assertIn("1 transfer that not all of its ranks have", done.stdout)
        by_rank = [[(node["comm"]["sequence"], node["comm"]["index"], node["comm"].get("unmatched", False)) for node in self.nodes(out, rank)]
                   for rank in (0, 1)]
        self.assertEqual(by_rank[0], [(4, 0, True), (5, 1, False), (6, 2, False), (7, 3, False)])
        self.assertEqual(by_rank[1], by_rank[0][1:])
        self.run_program("validate", out)

    def test_ranks_that_are_missing_and_jobs_that_are_mixed(self):
        folder = self.job()
        (folder / "nccl_trace_rank_2").unlink()
        self.refused(folder, "no file of rank 2", "4 ranks")
        one = self.dir / "one.et"
        self.run_program("convert", folder / "nccl_trace_rank_3", "-o", one)
        self.run_program("validate", one)
        for name, change in (("versions", {"version": "2.9"}), ("libraries", {"comm_lib_version": "2.26.2"})):
            folder = self.job(name)
            value = pickle.loads((folder / "nccl_trace_rank_1").read_bytes())
            (folder / "nccl_trace_rank_1").write_bytes(pickle.dumps({**value, **change}))
            self.refused(folder, "of two jobs", "nccl_trace_rank_1")
        folder = self.job("groups")
        value = pickle.loads((folder / "nccl_trace_rank_1").read_bytes())
        value["pg_config"]["0"]["ranks"] = "[0, 1]"
        (folder / "nccl_trace_rank_1").write_bytes(pickle.dumps(value))
        self.refused(folder, "of two jobs: ranks of group 0")
        folder = self.job("days")
        value = pickle.loads((folder / "nccl_trace_rank_1").read_bytes())
        for entry in value["entries"]:
            entry["time_created_ns"] += 24 * 3600 * 1000 * MS
        (folder / "nccl_trace_rank_1").write_bytes(pickle.dumps(value))
        self.refused(folder, "of two jobs")
        folder = self.job("twice")
        (folder / "again_rank_1").write_bytes((folder / "nccl_trace_rank_1").read_bytes())
        self.refused(folder, "two files for rank 1")

    def test_what_is_no_plain_data_is_refused(self):
        path = self.dir / "nccl_trace_rank_0"
        dump = Dump(0, (0,))
        dump.call("all_reduce", [[8]], [[8]], collective=1)

        class Call:
            def __reduce__(self):
                return print, ("called",)

        for value, name in ((Call(), "GLOBAL"), ({1, 2}, None), (1 << 80, "more than 64 bits")):
            path.write_bytes(pickle.dumps({**dump.value(), "extra": value}, 2 if name == "GLOBAL" else 4))
            if name:
                self.refused(path, name, "byte ", "nccl_trace_rank_0")
            else:
                self.run_program("convert", path, "-o", self.dir / "one.et", "--force")
        for cut in (3, 40, len(dump.pickled()) // 2):
            path.write_bytes(dump.pickled()[:cut])
            done = self.run_program("convert", path, "-o", self.dir / "none", "--format", "flight_recorder", expect=BAD_INPUT)
            self.assertIn("nccl_trace_rank_0", done.stderr)

    def test_frames_and_names_do_not_leave(self):
        out, _ = self.convert(self.job())
        shared = self.dir / "shared"
        self.run_program("anonymize", out, "-o", shared)
        self.run_program("audit", shared)
        for folder, secrets in ((out, (FRAMES[0]["name"], "alice", "secret_thread")), (shared, ("secret", "alice", WORLD[1]))):
            data = b"".join(path.read_bytes() for path in folder.iterdir())
            for secret in secrets:
                self.assertNotIn(secret.encode(), data)


if __name__ == "__main__":
    program.main()
