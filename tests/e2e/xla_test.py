#!/usr/bin/env python3
"""Profiles of JAX (XLA's .xplane.pb): devices as ranks, work with FLOPs, transfers with groups, steps; and what is refused."""
import gzip
import shutil
import subprocess

import program
import xla_profile
from xla_profile import STEPS
from wire import field

HOST = "gpu-host-17"
SECRET = "secret_step"


class XlaTest(program.CaptureTest):
    def write(self, data, name="job.xplane.pb"):
        path = self.dir / name
        path.write_bytes(data)
        return path

    def transfers(self, out):
        return {row["kind"]: (row["count"], row["in_bytes"], row["out_bytes"]) for row in self.stats(out)["transfers"]}

    def groups(self, out):
        return [group["ranks"] for group in self.stats(out)["groups"]]

    def named(self, nodes, name):
        return [node for node in nodes if node["name"] == name]

    def sources(self, nodes, node, reason="event"):
        by_id = {other["id"]: other["name"] for other in nodes}
        return sorted(by_id[edge["id"]] for edge in node["deps"] if edge["reason"] == reason)

    def test_gpus(self):
        out, done = self.convert(self.write(xla_profile.gpu_host(HOST)), "--strict")
        self.run_program("validate", out)
        ranks = self.stats(out)["ranks"]
        self.assertEqual([(rank["rank"], rank["source"], rank["placement"]["host"]) for rank in ranks],
                         [(rank, "xla profiler", HOST) for rank in (0, 1)])
        self.assertEqual([step["name"] for step in ranks[1]["steps"]], [f"ProfilerStep#{step}" for step in (5, 6, 7)])
        for rank in (0, 1):
            nodes = self.nodes(out, rank)
            gemms = self.named(nodes, "gemm_fusion_dot_3")
            self.assertEqual([node["duration_ns"] for node in gemms], [20_000] * STEPS)
            work = gemms[0]["device_work"]
            self.assertEqual((work["grid"], work["block"], work["registers_per_thread"], work["shared_memory_bytes"]),
                             ([16, 1, 1], [128, 2, 1], 96, 1536))
            self.assertEqual((gemms[0]["op"], gemms[0]["parent"], gemms[0]["op_class"]),
                             ("gemm_fusion_dot.3", "jit(train_step)/dot_general", "gemm"))
            self.assertEqual(gemms[0]["actor"], {"kind": "stream", "id": 14, "device": rank})
            (copy, *_) = self.named(nodes, "Memcpy HtoD")
            self.assertEqual(copy["device_work"]["copied_bytes"], 4096)
            for node in nodes:
                if node["actor"]["kind"] == "stream":
                    self.assertEqual(len(self.sources(nodes, node, "launch")), 1, node)
        # The program's first device is the host's second.
        size = 256 * 16 * 4
        self.assertEqual(self.transfers(out), {"all_reduce": (2 * STEPS, 2 * STEPS * size, 2 * STEPS * size),
                                               "send": (STEPS, STEPS * size, 0), "recv": (STEPS, 0, STEPS * size)})
        kinds = [{node["comm"]["kind"]: node["comm"]["peer"] for node in self.nodes(out, rank) if "comm" in node} for rank in (0, 1)]
        self.assertEqual(kinds, [{"all_reduce": -1, "recv": 1}, {"all_reduce": -1, "send": 0}])
        self.assertEqual(self.groups(out), [[0, 1]])
        self.assertIn("1 frame of Python left out", self.run_program("stats", out, "-v").stdout)
        # Waits of the host, and ranges, are the first rank's.
        self.assertEqual([len(self.named(self.nodes(out, rank), "cuStreamSynchronize")) for rank in (0, 1)], [STEPS, 0])
        self.run_program("replay", out, "-o", self.dir / "run", ranks=2)

    def test_tpus(self):
        for own_line in (True, False):
            with self.subTest(own_line=own_line):
                out, done = self.convert(self.write(xla_profile.tpu_host("a", 4, own_line=own_line)), "--strict")
                self.run_program("validate", out)
                stats = self.stats(out)
                self.assertEqual([rank["machine"]["device"] for rank in stats["ranks"]], ["TPU v5 lite"] * 4)
                self.assertEqual([step["name"] for step in stats["ranks"][0]["steps"]], [f"ProfilerStep#{step}" for step in (40, 41, 42)])
                self.assertEqual(self.transfers(out), {
                    "all_reduce": (12, 12 * 65_536, 12 * 65_536), "all_gather": (12, 12 * 2048, 12 * 4096),
                    "send": (9, 9 * 128, 0), "recv": (9, 0, 9 * 128)})
                self.assertEqual(sorted(self.groups(out)), [[0, 1], [0, 1, 2, 3], [0, 2], [1, 3], [2, 3]])
                nodes = self.nodes(out, 1)
                (dot, *_) = dots = self.named(nodes, "fusion.1")
                self.assertEqual((dot["num_ops"], dot["tensor_bytes"], dot["op_class"], dot["parent"], dot["duration_ns"]),
                                 (4_194_304, 229_376, "gemm", "jit(train)/jit(main)/dot_general", 16_500))
                self.assertEqual(len(dots), STEPS)
                for name in ("while.9", "all-gather-done.2", "copy-done.5", "sparse", "jit(train)"):
                    self.assertEqual(self.named(nodes, name), [], name)
                # What comes after an end waits for what ended; both halves of an exchange.
                self.assertEqual(self.sources(nodes, self.named(nodes, "all-reduce.1")[0]), ["all-gather-start.2", "copy-start.5"])
                self.assertEqual(self.sources(nodes, self.named(nodes, "add.8")[0]), ["collective-permute-start.3"] * 2)
                gather = next(node for node in nodes if node.get("comm", {}).get("kind") == "all_gather")
                self.assertEqual(gather["duration_ns"], 33_400 if own_line else 34_000)
                self.assertIn("12 events of XLA left out that enclose operations", self.run_program("stats", out, "-v").stdout)
                self.assertIn("members were taken in the order of devices", done.stdout + done.stderr)

    def test_steps_of_tpus_without_a_line_of_them(self):
        out, _ = self.convert(self.write(xla_profile.tpu_host("a", 4, marked=False)))
        self.assertEqual([step["name"] for step in self.stats(out)["ranks"][0]["steps"]], [f"ProfilerStep#{step}" for step in range(STEPS)])
        nodes = self.named(self.nodes(out), "fusion.1")
        self.assertEqual([node["step"] for node in nodes], list(range(STEPS)))

    def test_cpu_back_end(self):
        out, _ = self.convert(self.write(xla_profile.cpu_host()), "--strict")
        self.run_program("validate", out)
        self.assertEqual(self.transfers(out), {"all_reduce": (6, 98_304, 98_304)})
        self.assertEqual({node["name"] for node in self.nodes(out, 1)}, {"gemm_fusion_dot.3", "all-reduce.1"})

    def test_hosts_of_a_job(self):
        """Ranks: hosts by name, then devices. Below the folder that JAX writes, beside what it writes for viewers."""
        viewers = gzip.compress(b'{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[{}]}')
        for packed in (False, True):
            folder = self.dir / f"log{packed}"
            session = xla_profile.write_job(folder, {host: xla_profile.tpu_host(host) for host in ("host-1", "host-0")})
            for path in list(session.iterdir()):
                if path.name.endswith(".json.gz"):
                    path.write_bytes(viewers)
                elif packed:
                    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
                    path.unlink()
            for source in (folder, session):
                out, _ = self.convert(source)
                self.run_program("validate", out)
                self.assertEqual([(rank["rank"], rank["placement"]["host"]) for rank in self.stats(out)["ranks"]],
                                 [(0, "host-0"), (1, "host-0"), (2, "host-1"), (3, "host-1")])
                self.assertEqual(sorted(self.groups(out)), [[0, 1], [0, 1, 2, 3], [0, 2], [1, 3], [2, 3]])
                self.assertEqual([{node["actor"]["device"] for node in self.named(self.nodes(out, rank), "fusion.1")} for rank in range(4)],
                                 [{0}, {1}, {0}, {1}])
        # A second session is a second capture.
        shutil.copytree(session, session.parent / "2026_01_31_13_00_00")
        self.assertIn("--capture", self.convert(folder, expect=program.BAD_INPUT)[1].stderr)

    def test_one_host_of_several(self):
        """Members without a profile make no group of the ranks that are there, of the same size or not."""
        out, done = self.convert(self.write(xla_profile.tpu_host("host-0")))
        self.run_program("validate", out)
        self.assertEqual(self.groups(out), [[], [0, 1]])
        self.assertEqual(self.transfers(out)["all_reduce"], (6, 6 * 65_536, 6 * 65_536))
        kinds = {kind: {node["comm"]["certainty"] for node in self.nodes(out) if node.get("comm", {}).get("kind") == kind}
                 for kind in ("all_reduce", "all_gather", "send")}
        self.assertEqual(kinds, {"all_reduce": {"unknown"}, "all_gather": {"recorded"}, "send": {"unknown"}})
        self.assertIn("with devices whose profiles are not there", done.stdout + done.stderr)
        self.run_program("convert", self.dir / "job.xplane.pb", "-o", self.dir / "none", "--strict", expect=program.BAD_INPUT)

    def test_viewers_trace_alone(self):
        folder = self.dir / "viewers"
        folder.mkdir()
        path = folder / "host.trace.json.gz"
        path.write_bytes(gzip.compress(b'{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[{"ph":"M","pid":1}]}'))
        for source in (path, folder):
            self.refused(source, "host.trace.json.gz", "without sizes", ".xplane.pb beside it")

    def test_transfers_without_their_program(self):
        """What the profile does not say is not known, and refused by --strict."""
        whole = xla_profile.gpu_host()
        out, done = self.convert(self.write(whole.replace(b"all-reduce\x1a", b"all-sluice\x1a")))
        self.run_program("validate", out)
        kinds = {row["kind"] for row in self.stats(out)["transfers"]}
        self.assertIn("all_reduce", kinds)  # by the kernel's name
        self.assertIn("6 transfers of unknown size", done.stdout + done.stderr)
        self.run_program("convert", self.dir / "job.xplane.pb", "-o", self.dir / "none", "--strict", expect=program.BAD_INPUT)
        self.assertFalse((self.dir / "none").exists())

    def test_names_do_not_leave(self):
        out, _ = self.convert(self.write(xla_profile.gpu_host(HOST)))
        self.run_program("anonymize", out, "-o", self.dir / "shared", "--force")
        self.run_program("audit", self.dir / "shared")
        for path in (self.dir / "shared").iterdir():
            for secret in (SECRET, HOST, "train_step", "gemm_fusion_dot.3"):
                self.assertNotIn(secret.encode(), path.read_bytes(), path)

    def test_refused(self):
        whole = xla_profile.gpu_host()
        for size in (len(whole) - 1, len(whole) // 2, len(whole) // 3, 400):
            self.refused(self.write(whole[:size]), "job.xplane.pb", "byte")
        self.refused(self.write(whole + b"\x0b"), "byte", "expected")
        self.refused(self.write(whole + field(1, b"\x1a\x7f")), "longer than what holds it")
        plane = xla_profile.Plane("/device:GPU:0")
        plane.line(1, "Stream #1", [plane.event("mul", 5, 4)])
        self.refused(self.write(xla_profile.space([plane], HOST)), "byte", "a time that can't be")
        plane = xla_profile.Plane("/device:GPU:0")
        plane.line(1, "Stream #1", [b"\x0a"])
        self.refused(self.write(xla_profile.space([plane], HOST)), "byte", "malformed")
        self.refused(self.write(xla_profile.space([xla_profile.task_plane()], HOST)), "without an operation of a device",
                     "jax.block_until_ready")
        packed = gzip.compress(whole)
        self.refused(self.write(packed[:len(packed) // 2], "job.xplane.pb.gz"), "job.xplane.pb.gz", "byte")
        self.refused(self.write(gzip.compress(xla_profile.space([xla_profile.task_plane()], HOST) + field(9, bytes(300 << 20))),
                                "job.xplane.pb.gz"), "limits")

    def test_bad_bytes_never_crash(self):
        whole = bytearray(xla_profile.gpu_host(devices=1))
        for at in range(0, len(whole), max(1, len(whole) // 60)):
            changed = bytes(whole[:at]) + bytes([whole[at] ^ 0x55]) + bytes(whole[at + 1:])
            path = self.write(changed)
            done = subprocess.run([program.REPRISE, "convert", path, "-o", self.dir / "set", "--force"], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertIn(done.returncode, (0, program.BAD_INPUT), (at, done.stderr))


if __name__ == "__main__":
    program.main()
