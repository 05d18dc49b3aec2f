#!/usr/bin/env python3
"""By hand: published captures of GPUs, which are too large for the repository and not ours to hand on.

Usage: gpu_captures.py PROGRAM DIRECTORY. docs/contributing.md says what DIRECTORY holds.
"""
import gzip
import json
import pathlib
import sys
import unittest

import share_test

CAPTURES = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else sys.exit(__doc__))
DEVICE_EVENTS = ("kernel", "gpu_memcpy", "gpu_memset")


class GpuCaptures(share_test.PackedSets):
    def test_a_quarter_of_captures_of_gpus(self):
        """Of the device's side alone there is no host trace, whose text is saved first."""
        trace, file = self.dir / "kineto_only", CAPTURES / "kineto_only" / "a100_nccl_rank0of2.json.gz"
        trace.mkdir()
        self.run_program("convert", "--device-trace", file, "-o", trace / "trace.0.et")
        self.assertLessEqual(self.packed_bytes(trace, anonymized=True) / file.stat().st_size, 0.45)
        trace, capture = self.dir / "dlrm", CAPTURES / "dlrm_v100_8rank"
        self.run_program("convert", capture, "-o", trace)
        captured = sum(f.stat().st_size for f in capture.glob("*.gz"))
        self.assertLessEqual(self.packed_bytes(trace, anonymized=True) / captured, 0.25)

    def test_nothing_is_found_in_anonymized_ones(self):
        names = ["dlrm_v100_8rank", "linear_rtx2080", *(f"kineto_only/{path.name}" for path in (CAPTURES / "kineto_only").iterdir())]
        for name in names:
            trace, anonymized = self.dir / pathlib.Path(name).name, self.dir / (pathlib.Path(name).name + ".anonymized")
            self.run_program("convert", CAPTURES / name, "-o", trace)
            self.run_program("anonymize", trace, anonymized)
            self.assertEqual(self.run_json("audit", anonymized)["findings"], [], name)

    def test_a_gpus_capture_predicts_another_gpu(self):
        trace, h100, mi300 = self.dir / "trace", self.dir / "h100.json", self.dir / "mi300.json"
        self.run_program("convert", CAPTURES / "gpu_pairs" / "h100.vit_nsfw.kineto.json.gz", "-o", trace)
        # The machine is found by the device in the capture.
        others = ("owlv2", "qwen1.5-0.5b")
        for gpu, machine in (("h100", h100), ("mi300", mi300)):
            self.run_program("calibrate", *(CAPTURES / "gpu_pairs" / f"{gpu}.{name}.kineto.json.gz" for name in others), "-o", machine)
        result = self.run_json("simulate", trace, "-o", self.dir / "run", "--machine", mi300, "--captured-on", h100)
        # As that GPU's capture says, kernels of known operations took 1.69 ms.
        self.assertAlmostEqual(result["linked_device_time_ns"] / 1.687e6, 1, delta=0.3)

    def test_pairs_of_gpus(self):
        for model in ("owlv2", "qwen1.5-0.5b", "vit_nsfw"):
            sides, sums = [], []
            for device in ("h100", "mi300"):
                capture = CAPTURES / "gpu_pairs" / f"{device}.{model}.kineto.json.gz"
                trace = self.dir / f"{device}.{model.replace('.', '_')}.et"
                self.run_program("convert", "--device-trace", capture, "-o", trace)
                events = json.loads(gzip.decompress(capture.read_bytes()))["traceEvents"]
                sums.append(sum(round(event["dur"] * 1000) for event in events if event.get("cat") in DEVICE_EVENTS))
                sides.append(f"{device}={trace}")
            of = self.run_json("compare", *sides)["alignments"][0]
            self.assertGreaterEqual(of["aligned"]["a"]["share"], 0.99, model)
            self.assertGreaterEqual(of["aligned"]["b"]["share"], 0.99, model)
            for side, total in zip("ab", sums):
                self.assertEqual(of["totals"][side]["device_ns"], total, (model, side))
                self.assertEqual(sum(row[side]["ns"] for row in of["classes"]), total, (model, side))
            for row in of["shares"]:
                ratio = row["b"]["ns"] / row["a"]["ns"]
                self.assertAlmostEqual(row["peaks_factor"] * row["use_factor"], ratio, 6)
            self.assertIn("gemm", [row["class"] for row in of["shares"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
