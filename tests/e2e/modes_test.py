#!/usr/bin/env python3
"""Parts of a set: ranks, steps, ranges, streams, one trace on all ranks (docs/parts.md)."""
import json
import pathlib
import re
import sqlite3
import sys

import program

LIVE = ("--device", "host", "--warmup", "0", "--iterations", "1", "--check")
DRY = ("--machine", "recorded")  # simulated
STEP = "Optimizer.step#AdamW.step"


class ModesTest(program.ProgramTest):
    def replay(self, trace, *args, ranks=1, expect=0):
        """The program's output; `self.report` and `self.options` are those of the run."""
        run = self.dir / "run"
        command = "simulate" if DRY[0] in args else "replay"
        done = self.run_program(command, trace, "-o", run, "--force", *args, ranks=ranks,
                                expect=expect)
        if expect == 0:
            self.report = self.run_json("report", run)
            self.options = json.loads((run / "manifest.json").read_text())["options"]
        return done.stdout if expect == 0 else done.stderr

    def query(self, statement):
        return sqlite3.connect(self.dir / "run" / "run.sqlite").execute(statement).fetchall()

    def assert_dry_reproduces(self, within=1e-3):
        """A dry run takes as long as the recording says that the part took."""
        recorded = self.report["step_time_recorded_ns"]
        self.assertLess(abs(self.report["step_time_replayed_ns"] - recorded), within * recorded)

    # Ranks.

    def test_a_subset_of_ranks_sends_what_fits_it(self):
        """Every transfer of the smaller groups is verified, uneven all_to_all included."""
        trace = self.convert("gloo_comms/moe_ep4")
        for ranks, sizes in (("0-2", "keep"), ("3,1", "scale")):
            count = 3 if ranks == "0-2" else 2
            text = self.replay(trace, *LIVE, "--ranks", ranks, "--group-sizes", sizes, ranks=count)
            self.assertIn(f"ranks: {ranks} of 4", text)
            self.assertRegex(text, r"every transfer correct \((1[0-9]|[1-9]) verified")
            self.assertEqual(program.real_of_work(self.report), 1)
            self.assertEqual(len(self.report["ranks"]), count)
            self.assertEqual(self.options["ranks"], ranks)
            self.assertEqual(self.options["group_sizes"], sizes)

    def test_sizes_of_a_smaller_group(self):
        trace = self.convert("gloo_comms/gpt_fsdp4")
        gathered = ("SELECT sum(in_bytes), sum(out_bytes) FROM collectives "
                    "WHERE name = 'all_gather' AND rank = 0")
        self.replay(trace, *LIVE, "--ops", "timed", "--ranks", "0-1", ranks=2)
        kept = self.query(gathered)[0]
        self.replay(trace, *LIVE, "--ops", "timed", "--ranks", "0-1", "--group-sizes", "scale",
                    ranks=2)
        scaled = self.query(gathered)[0]
        self.assertEqual(kept[1], 2 * scaled[1])  # of four members, two are left
        self.assertEqual(scaled[1], 2 * scaled[0])

    def test_whoever_is_not_there_is_not_waited_for(self):
        trace = self.convert("gloo_comms/gpt_pp4")
        text = self.replay(trace, *LIVE, "--ranks", "0-1", ranks=2)
        self.assertIn("8 transfers reach nobody who takes part", text)
        modes = dict(self.query("SELECT mode, count(*) FROM nodes WHERE kind = 'comm' GROUP BY mode"))
        self.assertEqual(modes["timed"], 8)
        self.assertGreater(modes["real"], 8)
        self.assertEqual(self.query("SELECT sum(value) FROM facts "
                                    "WHERE name = 'diagnostic.transfer_outside'"), [(8,)])
        # Alone, a rank's groups have one member.
        self.replay(trace, *LIVE, "--ranks", "2")

    def test_ranks_refused(self):
        trace = self.convert("gloo_comms/gpt_pp4")
        self.assertIn("mpirun -n 2", self.replay(trace, "--ranks", "0,2", ranks=3, expect=2))
        self.assertIn("there are ranks 0-3", self.replay(trace, *DRY, "--ranks", "4", expect=2))
        self.assertIn("comes twice", self.replay(trace, *DRY, "--ranks", "1,0-1", expect=2))
        self.replay(trace, *DRY, "--ranks", "0", "--one-trace", expect=2)
        self.replay(trace, *DRY, "--ranks", "0", "--group-sizes", "half", expect=2)

    # Steps, ranges, streams.

    def test_steps(self):
        trace = self.convert("gloo/gpt_single")
        steps = self.run_json("stats", trace)["ranks"][0]["steps"]
        for index in (0, 1):
            text = self.replay(trace, *DRY, "--steps", index)
            self.assertIn(f"steps {index}: ", text)
            self.assertEqual(self.report["step_time_recorded_ns"], steps[index]["duration_ns"])
            self.assert_dry_reproduces()
        self.replay(trace, *LIVE, "--steps", "1")
        self.assertEqual(program.real_of_work(self.report), 1)
        self.assertIn("0 (ProfilerStep#8), 1 (ProfilerStep#9)",
                      self.replay(trace, *DRY, "--steps", "2", expect=2))

    def test_a_range(self):
        trace = self.convert("gloo/gpt_ddp4")
        ranges = {row["name"]: row for row in self.run_json("stats", trace)["ranges"]}
        self.assertEqual(ranges[STEP]["count"], 4)
        for name in (STEP, "DistributedDataParallel.forward"):
            text = self.replay(trace, *DRY, "--range", name)
            self.assertRegex(text, rf"range {name}: \d+ of \d+ nodes; \d+ edges from outside cut")
            self.assertEqual(self.options["range"], name)
            self.assert_dry_reproduces()
            # The longest rank's; half of them are above the median.
            self.assertGreaterEqual(self.report["step_time_recorded_ns"],
                                    ranges[name]["median_ns"])
        self.replay(trace, *LIVE, "--range", STEP, ranks=4)
        self.assertEqual(program.real_of_work(self.report), 1)
        self.assertIsNone(self.report.get("step_time_untraced_ns"))

    def test_occurrences_of_a_range(self):
        trace = self.convert("gloo/gpt_single")
        self.replay(trace, *DRY, "--range", STEP)
        both = self.query("SELECT count(*) FROM nodes")[0][0]
        self.assertEqual(self.query("SELECT count(*) FROM steps"), [(2,)])
        self.assert_dry_reproduces()
        single = 0
        for occurrence in (0, 1):
            self.replay(trace, *DRY, "--range", f"{STEP}:{occurrence}")
            single += self.query("SELECT count(*) FROM nodes")[0][0]
        self.assertEqual(single, both)
        self.replay(trace, *DRY, "--range", STEP, "--steps", "1")
        self.assertEqual(self.query("SELECT count(*) FROM steps"), [(1,)])
        self.assertIn(":0 to :1", self.replay(trace, *DRY, "--range", f"{STEP}:2", expect=2))

    def test_a_range_with_transfers(self):
        """FSDP's gathering alone, every occurrence, as collectives on all ranks."""
        trace = self.convert("gloo_comms/gpt_fsdp4")
        text = self.replay(trace, *LIVE, "--range", "FSDP::all_gather (blocks.1)", ranks=4)
        self.assertIn("every transfer correct (2 verified on rank 0)", text)

    def test_an_unknown_range_lists_what_there_is(self):
        trace = self.convert("gloo/gpt_ddp4")
        for args, ranks in ((DRY, 1), (LIVE, 4)):
            text = self.replay(trace, *args, "--range", "forward", ranks=ranks, expect=2)
            self.assertIn("DistributedDataParallel.forward", text)

    def test_streams_of_a_trace_without_any(self):
        trace = self.convert("gloo/gpt_single")
        self.assertIn("no device streams", self.replay(trace, *LIVE, "--streams", "0/7", expect=2))
        self.replay(trace, *LIVE, "--streams", "seven", expect=2)

    # One trace on all ranks.

    def test_one_trace_on_any_number_of_ranks(self):
        trace = self.convert("gloo_comms/gpt_fsdp4")
        for name in trace.glob("*.et"):
            if not name.name.endswith(".2.et"):
                name.unlink()  # one file of a larger job is enough
        for ranks in (1, 3):
            text = self.replay(trace, *LIVE, "--one-trace", ranks=ranks)
            self.assertRegex(text, rf"one trace: {ranks} ranks? replays? what rank 2 of 4 recorded")
            self.assertIn("(14 verified on rank 0)", text)
            self.assertEqual(self.options["one_trace"], "2")
        self.assertIn("no file of rank 1", self.replay(trace, "--one-trace", "1", expect=2))
        self.replay(trace, *LIVE, expect=3)  # without it, a set has all its ranks

    def test_one_trace_says_what_it_cannot_map(self):
        trace = self.convert("gloo_comms/collectives4")
        text = self.replay(trace, *LIVE, "--one-trace", "1", ranks=2)
        self.assertRegex(text, r"\d+ transfers reach nobody")

    # Times and devices.

    def test_without_what_tracing_took(self):
        """The untraced step was measured by the capture; the trace has only the traced ones."""
        trace = self.convert("gloo/resnet18")
        self.replay(trace, *DRY, "--host-gaps", "untraced")
        untraced = self.report["step_time_untraced_ns"]
        self.assertGreater(self.report["step_time_recorded_ns"], 1.5 * untraced)
        self.assertAlmostEqual(self.report["step_time_replayed_ns"] / untraced, 1, delta=0.01)
        self.assertEqual(self.options["host_gap_factor"], "untraced")
        text = self.replay(trace, *LIVE, "--host-gaps", "untraced")
        fidelity = self.report["fidelity"]
        self.assertGreater(fidelity["untraced_work_error"], fidelity["work_error"])
        self.assertIn("that tracing took of them (estimated)",
                      self.run_program("report", self.dir / "run", "--full").stdout)
        alone = self.dir / "alone"
        alone.mkdir()
        self.run_program("convert", "--host-trace",
                         program.TRACES / "gloo/resnet18/rank0.et.json.gz", "-o", alone / "alone.0.et")
        text = self.replay(alone, *DRY, "--host-gaps", "untraced", expect=2)
        self.assertIn("has no estimate of what tracing took", text)

    def test_time_scale_by_class(self):
        trace = self.convert("gloo/gpt_ddp4")
        by_class = {}
        for scale in ("1", "gemm=0.5", "0.5,gemm=1", "comm=0,rest=1"):
            self.replay(trace, *DRY, "--time-scale", scale)
            by_class[scale] = {row["name"]: row["replayed_ns"] for row in self.report["classes"]}
        plain = by_class["1"]
        self.assertAlmostEqual(by_class["gemm=0.5"]["gemm"] / plain["gemm"], 0.5, places=3)
        self.assertEqual(by_class["gemm=0.5"]["norm"], plain["norm"])
        self.assertAlmostEqual(by_class["0.5,gemm=1"]["norm"] / plain["norm"], 0.5, places=3)
        self.assertEqual(by_class["0.5,gemm=1"]["gemm"], plain["gemm"])
        self.assertLess(by_class["comm=0,rest=1"]["comm"], plain["comm"])
        self.assertEqual(by_class["comm=0,rest=1"]["gemm"], plain["gemm"])
        for wrong in ("-1", "gemm", "gemm=x", "nothing=1"):
            self.replay(trace, *DRY, f"--time-scale={wrong}", expect=2)

    def test_stretch(self):
        """What the report names makes the same trace's operations last as long as recorded."""
        trace = self.convert("gloo/gpt_single")
        self.replay(trace, *LIVE, "--stretch", "gemm=40")
        self.assertEqual(self.options["stretch.gemm"], "40")
        self.assertEqual(self.report["stretches"], {})
        stretched = {row["name"]: row["gflop_per_s"] for row in self.report["classes"]}
        self.replay(trace, *LIVE)
        self.assertNotIn("stretch.gemm", self.options)
        plain = {row["name"]: row["gflop_per_s"] for row in self.report["classes"]}
        self.assertGreater(plain["gemm"], 5 * stretched["gemm"])
        factors = ",".join(f"{name}={factor:.2f}"
                           for name, factor in self.report["stretches"].items())
        text = " ".join(self.run_program("report", self.dir / "run", "--full").stdout.split())
        self.assertEqual(re.findall(r"--stretch (\S+)", text), [factors] if factors else [])
        for wrong in ("0.5", "gemm=x", "nothing=2"):
            self.replay(trace, *LIVE, f"--stretch={wrong}", expect=2)

    def test_products_by_another_library(self):
        """Which one it was is in the run; a wrong one ends the replay on every rank."""
        trace = self.convert("gloo/gpt_single")
        own = pathlib.Path(program.REPRISE).resolve().parent / "tests/kernels/libstand_in_blas.so"
        self.replay(trace, *LIVE, "--ops", "gemm=real,rest=skip", "--blas", own)
        versions = json.loads((self.dir / "run/manifest.json").read_text())["versions"]
        self.assertEqual(versions["device_driver"], f"stand-in 1.0 ({own.resolve()})")
        self.assertIn("libm.so.6 has no sgemm_",
                      self.replay(trace, *LIVE, "--blas", "libm.so.6", expect=4))
        self.assertIn("--blas is for --device host", self.replay(trace, "--device", "opencl", "--blas", own, expect=2))

    def test_operators_by_pytorch(self):
        """What it refuses our own kernels do, what its interface has not they always do: both are told."""
        trace = self.convert("gloo/gpt_single")
        own = pathlib.Path(program.REPRISE).resolve().parent / "tests/kernels/libstand_in_torch.so"
        said = self.run_program("replay", trace, "-o", self.dir / "run", *LIVE, "--ops",
                                "elementwise=real,rest=skip", "--torch", own).stderr
        self.assertIn("PyTorch could not do aten::gelu: no gelu of kind none; our own kernel does it", said)
        manifest = json.loads((self.dir / "run/manifest.json").read_text())
        self.assertEqual(manifest["versions"]["device_driver"], f"PyTorch 2.10 ({own.resolve()}), 3 threads")
        text = self.run_program("report", self.dir / "run", "--section", "notes").stdout
        self.assertRegex(" ".join(text.split()), r"[1-9]\d* operations run by our kernels, not by PyTorch's: aten::add_")
        counted = self.run_json("report", self.dir / "run")["diagnostics"]
        self.assertGreater(counted["diagnostic.not_by_torch: aten::add_"], 0)
        self.assertNotIn("diagnostic.not_by_torch: aten::gelu", counted)
        self.assertIn("libm.so.6 has no aoti_torch_abi_version",
                      self.replay(trace, *LIVE, "--torch", "libm.so.6", expect=4))
        self.assertIn("--torch is for --device cuda or host",
                      self.replay(trace, "--device", "opencl", "--torch", own, expect=2))

    def test_the_rest(self):
        trace = self.convert("gloo/gpt_single")
        self.replay(trace, *LIVE, "--ops", "gemm=real,other=timed")
        modes = self.query("SELECT DISTINCT class, mode FROM nodes WHERE counts_for_coverage")
        for op_class, mode in modes:
            self.assertEqual(mode, "real" if op_class == "gemm" else "timed", op_class)

    def test_device_maps(self):
        trace = self.convert("gloo_comms/gpt_pp4")
        self.replay(trace, *LIVE, "--ranks", "0-1", "--device-map", "0:0,1:0", ranks=2)
        self.assertEqual(len({row["device"] for row in self.report["ranks"]}), 1)
        self.replay(trace, *LIVE, "--ranks", "0-1", "--device-map", "packed", ranks=2)
        self.assertIn("no device for local rank 1",
                      self.replay(trace, *LIVE, "--ranks", "0-1", "--device-map", "0:0", ranks=2,
                                  expect=2))
        self.assertIn("is to use device 9",
                      self.replay(trace, *LIVE, "--ranks", "0", "--device-map", "0:9", expect=2))
        self.replay(trace, *LIVE, "--ranks", "0", "--device-map", "9", expect=2)


if __name__ == "__main__":
    sys.exit(program.main())
