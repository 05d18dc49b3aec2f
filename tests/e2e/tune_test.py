#!/usr/bin/env python3
"""reprise tune, and what reads the file that it writes. Which tile wins is not looked at."""
import json
import sys

import program

USAGE = 2
BAD_INPUT = 3
QUICK = ("--size", 64, "--layout", "nn", "--dtype", "float32", "--repeat", 1, "--min-time-ms", 0)


class Tune(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.cache = self.dir / "cache"
        self.env = {"XDG_CACHE_HOME": str(self.cache)}

    def tune(self, *args, **kwargs):
        return self.run_program("tune", *QUICK, *args, env=self.env, **kwargs)

    def bench(self, tuning, expect=0):
        return self.run_program("bench", "kernels", "--filter", "sum all", "--repeat", 1,
                                "--min-time-ms", 0, "--peers", "off", "--max-run-ms", 0.001,
                                *(("--tuning", tuning) if tuning else ()), env=self.env,
                                expect=expect)

    def write(self, text):
        path = self.dir / "tuning.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    def refused(self, text, why):
        done = self.bench(self.write(text), expect=BAD_INPUT)
        self.assertIn(why, done.stderr)
        self.assertIn("tuning.json", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_the_default_file_is_added_to_and_read(self):
        self.tune()
        path = self.cache / "reprise" / "tuning.json"
        [device] = json.loads(path.read_text())["devices"]
        [entry] = device["gemm"]
        self.assertEqual((entry["program"], entry["dtype"], entry["layout"], entry["size"]),
                         ("gemm_cpu", "float32", "nn", "small"))
        self.assertEqual(set(entry["tile"]), {"n", "k"})
        done = self.run_json("tune", "--size", 64, "--layout", "nt", "--dtype", "bfloat16",
                             "--repeat", 1, "--min-time-ms", 0, env=self.env)
        self.assertEqual(done["file"], str(path))
        self.assertEqual(len(done["results"]), 5)
        [device] = json.loads(path.read_text())["devices"]
        self.assertEqual([(e["dtype"], e["layout"]) for e in device["gemm"]],
                         [("float32", "nn"), ("bfloat16", "nt")])
        self.assertNotIn("tuning file", self.bench(None).stderr)
        path.write_text("{")
        self.bench(None, expect=BAD_INPUT)
        self.tune(expect=BAD_INPUT)  # what it cannot read it does not overwrite
        self.bench("none")

    def test_a_named_file_is_not_overwritten(self):
        path = self.dir / "mine.json"
        self.tune("-o", path)
        self.assertIn("--force", self.tune("-o", path, expect=USAGE).stderr)
        self.tune("-o", path, "--force")
        self.assertFalse((self.cache / "reprise" / "tuning.json").exists())

    def test_a_device_without_tiles_writes_nothing(self):
        done = self.run_json("tune", "--device", "host", "-o", self.dir / "none.json", env=self.env)
        self.assertEqual((done["file"], done["best"]), (None, []))
        self.assertFalse((self.dir / "none.json").exists())

    def test_another_devices_file_is_ignored_aloud(self):
        tile = {"m": 128, "n": 128, "k": 32, "warp_m": 64, "warp_n": 64, "stages": 3}
        entry = {"program": "gemm_mma", "dtype": "bfloat16", "layout": "nn", "size": "large",
                 "tile": tile}
        of_other = {"reprise_tuning": 1,
                    "devices": [{"device": "GPU X", "driver": "1.2", "gemm": [entry]}]}
        self.assertIn("GPU X", self.bench(self.write(of_other)).stderr)
        # Its tiles are looked at all the same: they would fail where it is used.
        tile["stages"] = 9
        self.refused(of_other, "stages have to be 2 to 5")
        tile.update(stages=3, colour=7)
        self.refused(of_other, "no 'colour'")

    def test_what_is_no_tuning_file(self):
        self.refused("not json", "parse error")
        self.refused("[]", "no tuning file")
        self.refused({"reprise_tuning": 2, "devices": []}, "version 2")
        self.refused({"reprise_tuning": 1}, "devices")
        self.refused({"reprise_tuning": 1, "devices": [{"device": 1}]}, "type")
        entry = {"program": "gemm_cpu", "dtype": "float32", "layout": "nn", "size": "small",
                 "tile": {"n": 48, "k": 64}}
        device = {"device": "d", "driver": "1", "gemm": [entry]}
        self.refused({"reprise_tuning": 1, "devices": [device]}, "multiple of 32")
        entry["tile"]["n"] = 1e300
        self.refused({"reprise_tuning": 1, "devices": [device]}, "whole numbers")
        entry.update(tile={"n": 64, "k": 64}, layout="sideways")
        self.refused({"reprise_tuning": 1, "devices": [device]}, "sideways")
        done = self.bench(self.dir / "absent.json", expect=BAD_INPUT)
        self.assertIn("absent.json", done.stderr)

    def test_replay_reads_it_on_every_rank(self):
        traces = self.convert("gloo/gpt_ddp4")
        bad = self.write("[]")
        done = self.run_program("replay", traces, "-o", self.dir / "run", "--tuning", bad, ranks=4,
                                expect=BAD_INPUT)
        self.assertIn("no tuning file", done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
