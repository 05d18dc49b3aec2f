#!/usr/bin/env python3
"""Files of NCCL's Inspector, converted: sizes, groups, ranks, times, versions of the format, and what is refused."""
import json

import program
from nccl_inspector_log import HOST, TP, WORLD, Log, fill, write_job

BAD_INPUT = 3


def raw_sums(folder):
    """Of the files alone: transfers, bytes of messages, and microseconds, by kind."""
    sums = {}
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            value = json.loads(line)
            for prefix in ("coll", "p2p"):
                if perf := value.get(f"{prefix}_perf"):
                    row = sums.setdefault(perf[prefix], [0, 0, 0])
                    row[0] += 1
                    row[1] += perf[f"{prefix}_msg_size_bytes"]
                    row[2] += perf[f"{prefix}_exec_time_us"]
    return sums


class InspectorTest(program.CaptureTest):
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
                comm = node["comm"]
                row = found.setdefault(comm["kind"], [0, 0, 0])
                row[0] += 1
                row[1] += comm["out_bytes"] if comm["kind"] in ("reduce_scatter", "recv") else comm["in_bytes"]
                row[2] += node["duration_ns"] // 1000
        named = {"AllReduce": "all_reduce", "ReduceScatter": "reduce_scatter", "AllGather": "all_gather", "Send": "send", "Recv": "recv"}
        self.assertEqual({named[name]: row for name, row in raw_sums(folder).items()}, found)
        by_kind = {node["comm"]["kind"]: node["comm"] for node in self.nodes(out)}
        self.assertEqual((by_kind["all_gather"]["out_bytes"], by_kind["reduce_scatter"]["in_bytes"]), (2 * 8192, 4 * 65536))

    def test_each_version_is_the_same_set(self):
        sets = []
        for version in ("4.0", "4.1", "4.2", "4.3", "4.4"):
            out, done = self.convert(self.job(version, version=version), "--name", "same")
            self.assertNotIn("not known yet", done.stdout)
            sets.append([self.nodes(out, rank) for rank in range(4)])
        self.assertTrue(all(value == sets[0] for value in sets))
        _, done = self.convert(self.job("9", version="9.1"))
        self.assertIn("4 recorders' files of versions that are not known yet", done.stdout)

    def test_ranks_groups_and_bandwidth(self):
        out, _ = self.convert(self.job(version="4.2"))
        self.assertEqual(json.loads((out / "comm_groups.json").read_text()), {"1": [0, 1], "2": [2, 3]})
        groups = json.loads((out / "comm_groups_info.json").read_text())
        self.assertEqual(groups["1"]["description"], "secret_model_v9 TP")
        rows = {row["name"]: row for row in self.run_json("report", out)["collectives"]}
        self.assertEqual((rows["all_reduce"]["bytes"], rows["all_reduce"]["recorded_ns"]), (1 << 20, 250_000))
        self.assertEqual(rows["reduce_scatter"]["bytes"], 4 * 65536)
        self.assertIn("rank 3 arrives last", self.run_program("compare", out).stdout)

    def test_starts_are_those_of_verbose_files(self):
        out, done = self.convert(self.job(verbose=True))
        self.assertNotIn("starts are not recorded", done.stdout)
        nodes = self.nodes(out)
        self.assertEqual([node["start_ns"] // 1000 for node in nodes[:2]], [0, 1200])
        self.assertEqual(nodes[0]["comm"]["noticed_end_ns"], 401_000)  # of the slower channel
        out, done = self.convert(self.job("terse"))
        self.assertIn("starts are not recorded", done.stdout)

    def test_replayed_simulated_and_shared(self):
        out, _ = self.convert(self.job())
        self.run_program("replay", out, "-o", self.dir / "run", "--ops", "timed", ranks=4)
        self.run_program("simulate", out, "--machine", "h100-hgx", "--captured-on", "a100-hgx", "-o", self.dir / "simulated")
        shared = self.dir / "shared"
        self.run_program("anonymize", out, "-o", shared)
        self.run_program("audit", shared)
        data = b"".join(path.read_bytes() for path in shared.iterdir())
        for secret in ("secret", WORLD[2:], TP[2:], "9019a1912"):
            self.assertNotIn(secret.encode(), data)

    def test_a_machines_network_is_fitted(self):
        folder = self.dir / "measured"
        folder.mkdir()
        for rank in range(4):
            log, at = Log(50 + rank), 0
            for name, moved in (("AllReduce", 1.5), ("AllGather", 3), ("ReduceScatter", 3)):
                for number in range(24):
                    size = 8192 << (number * 2 // 3)
                    took = round(15 + size * moved / 360e9 * 1e6)
                    at += took + 100
                    log.record("coll", WORLD, rank, 4, name, number, size, took, at)
            (folder / f"host-pid{50 + rank}.log").write_text(log.text())
        machine = self.dir / "mine.json"
        self.assertIn("--machine", self.run_program("calibrate", folder, "-o", machine, expect=2).stderr)
        done = self.run_program("calibrate", folder, "--machine", "h100-hgx", "-o", machine)
        self.assertRegex(done.stdout, r"collective +all_reduce +24")
        link = json.loads(machine.read_text())["links"]["nvlink"]
        self.assertEqual(link["efficiency"]["source"], "fitted")
        fits = {fit["type"]: fit for fit in json.loads(machine.read_text())["fits"] if fit["class"] == "collective"}
        self.assertLess(fits["all_reduce"]["error"], 0.1)
        self.refused_calibration(self.job("few"), "at least 50")

    def refused_calibration(self, source, text):
        done = self.run_program("calibrate", source, "--machine", "h100-hgx", "-o", self.dir / "none.json", expect=BAD_INPUT)
        self.assertIn(text, done.stderr)

    def test_one_process_with_several_devices(self):
        log = Log(7)
        for rank in range(4):
            for step in range(3):
                log.record("coll", WORLD, rank, 4, "AllReduce", step, 8192, 100, 1000 * step)
        path = self.dir / "one.log"
        path.write_text(log.text())
        out, done = self.convert(path)
        self.assertIn("4 ranks", done.stdout)
        self.run_program("validate", out)

    def test_files_of_all_processes_in_one(self):
        for version in ("4.0", "4.4"):
            folder = self.job(version, version=version)
            whole, _ = self.convert(folder, "--name", "same")
            expected = [self.nodes(whole, rank) for rank in range(4)]
            path = self.dir / "all.jsonl"
            path.write_text("".join(part.read_text() for part in sorted(folder.iterdir())))
            out, _ = self.convert(path, "--name", "same")
            self.assertEqual([self.nodes(out, rank) for rank in range(4)], expected)

    def test_what_the_recorder_dropped(self):
        folder = self.job(version="4.1")
        path = folder / f"{HOST}-pid4001.log"
        path.write_text(path.read_text().replace('"coll_dropped_total":0', '"coll_dropped_total":17'))
        _, done = self.convert(folder)
        self.assertRegex(done.stdout, r"note: \d+ transfers that the recorder overwrote")

    def test_missing_ranks_and_mixed_jobs(self):
        folder = self.job()
        (folder / f"{HOST}-pid4002.log").unlink()
        self.refused(folder, "no file of rank 2 of communicator 0x7f8c496ae9f661", "4 ranks")
        one = self.dir / "one.et"
        self.run_program("convert", folder / f"{HOST}-pid4003.log", "-o", one)
        self.run_program("validate", one)
        folder = self.job("two")
        other = Log(9)
        other.record("coll", "0xabc", 0, 1, "AllReduce", 1, 8192, 10, 100)
        (folder / "other-pid9.log").write_text(other.text())
        self.refused(folder, "of two jobs", "other-pid9.log")
        folder = self.job("versions")
        log = Log(4001, "4.1")
        fill(log, 1)
        (folder / f"{HOST}-pid4001.log").write_text(log.text())
        self.refused(folder, "of two jobs: versions v4.0 and v4.1")
        folder = self.job("twice")
        text = (folder / f"{HOST}-pid4001.log").read_text().replace('"pid":4001', '"pid":4009')
        (folder / f"{HOST}-pid4009.log").write_text(text)
        self.refused(folder, "both are rank 1 of communicator")

    def test_a_process_was_writing_its_last_record(self):
        folder = self.job()
        whole, _ = self.convert(folder, "--name", "same")
        for path in folder.iterdir():
            path.write_text(path.read_text() + '{"header": {"id": "0x1", "ra')
        out, done = self.convert(folder, "--name", "same")
        self.assertIn("4 last records without their ends", done.stdout)
        for rank in range(4):
            self.assertEqual(self.nodes(out, rank), self.nodes(whole, rank))

    def test_damage_names_file_and_byte(self):
        log = Log(1)
        log.record("coll", WORLD, 0, 1, "AllReduce", 1, 8192, 10, 100)
        text = log.text()
        path = self.dir / "host-pid1.log"
        for damaged, message in ((text[:-20], "byte"), (text.replace('"rank":0', '"rank":5'), "rank 5 of n_ranks 1"),
                                 (text + "nonsense", "byte"),
                                 (text.replace('"n_ranks":1', '"n_ranks":99999999'), "n_ranks 99999999")):
            path.write_text(damaged)
            self.refused(path, "host-pid1.log", message)
        path.write_text(json.dumps({"coll_perf": {"coll": "AllReduce"}}) + "\n" + text)
        self.refused(path, "without header and metadata")
        other = {"metadata": {"inspector_output_format_version": "v4.4", "hostname": HOST, "pid": 2},
                 "coll_perf": {"coll": "AllGather", "coll_sn": 1, "coll_msg_size_bytes": 8192, "coll_exec_time_us": 40}}
        path.write_text(text + json.dumps(other) + "\n")  # the header before it is another process's
        self.refused(path, "without header and metadata")


if __name__ == "__main__":
    program.main()
