#!/usr/bin/env python3
"""Folded captures: each rank is what it was, for every command; damage and wrong uses are refused."""
import filecmp
import json
import os
import pathlib
import shutil
import sys

import program
import rank_copies

USAGE, BAD_INPUT = 2, 3
CAPTURES = ("quickstart", "gloo/gpt_ddp4", "gloo_comms/gpt_pp4", "gloo_comms/gpt_hsdp4", "gloo_comms/moe_ep4", "h100/resnet50",
            "transformers/qwen3_moe")


class Fold(program.ProgramTest):
    def folded(self, source, name="folded"):
        self.run_program("convert", source, "-o", self.dir / name, "--fold")
        return self.dir / name

    def same_files(self, a, b):
        names = sorted(os.listdir(a))
        self.assertEqual(names, sorted(os.listdir(b)))
        self.assertEqual(filecmp.cmpfiles(a, b, names, shallow=False)[0], names)

    def test_expanded_is_what_was_folded(self):
        for case in CAPTURES:
            with self.subTest(case):
                converted = self.convert(case)
                folded = self.folded(converted, converted.name + ".folded")
                size = sum(file.stat().st_size for file in folded.iterdir())
                self.assertLess(size, sum(file.stat().st_size for file in converted.iterdir()) / 5)
                self.assertEqual([file for file in folded.glob("*.et*") if ".class" not in file.name], [])
                expanded = self.dir / (converted.name + ".expanded")
                self.run_program("convert", folded, "-o", expanded, "--expand")
                self.same_files(converted, expanded)
                # The capture itself, at once.
                at_once = self.folded(program.TRACES / case, converted.name + ".at_once")
                self.run_program("convert", at_once, "-o", expanded, "--expand", "--force")
                self.same_files(converted, expanded)

    def test_sixteen_ranks_are_read_as_they_were(self):
        plain = self.dir / "plain"
        rank_copies.write(self.convert("gloo/gpt_ddp4"), plain, 16)
        folded = self.folded(plain)
        self.assertEqual(json.loads((folded / "folded.json").read_text())["classes"][0]["ranks"], ["0-15"])
        for command in ("stats", "validate"):
            texts = [self.run_program(command, of, "--json").stdout.replace(str(of), "SET") for of in (plain, folded)]
            both = [json.loads(text) for text in texts]
            for one in both:
                self.forget(one, "memory_bytes", "verified", "bytes_on_disk")
            self.maxDiff = 3000
            self.assertEqual(*both)
        # Copies of ranks fit together badly, both times.
        timing = [[line for line in self.run_program("validate", of, "--timing", expect=1).stdout.splitlines() if "timing" in line]
                  for of in (plain, folded)]
        self.assertEqual(*timing)
        runs = [self.run_json("simulate", of, "--machine", "recorded", "-o", self.dir / f"{of.name}_run") for of in (plain, folded)]
        self.assertEqual(*(run["step_time_ns"] for run in runs))
        self.assertEqual(*(json.loads((self.dir / f"{of.name}_run/manifest.json").read_text())["trace_hash"] for of in (plain, folded)))
        ranks = [self.run_json("report", self.dir / f"{of.name}_run")["ranks"] for of in (plain, folded)]
        self.assertEqual(*ranks)
        self.assertGreater(len({json.dumps({k: v for k, v in rank.items() if k != "rank"}) for rank in ranks[0]}), 12)
        for of in plain, folded:
            self.run_program("export", of, "--to", "json", "-o", self.dir / f"{of.name}.json")
            self.run_program("export", of, "--to", "astra-sim", "-o", self.dir / f"{of.name}_astra")
        self.same_files(*(self.dir / f"{of.name}_astra" for of in (plain, folded)))
        nodes = [json.loads((self.dir / f"{of.name}.json").read_text())["ranks"] for of in (plain, folded)]
        self.assertEqual(*nodes)

    def forget(self, value, *keys):
        """What says which directory it is."""
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self.forget(inner, *keys)
        for key in keys if isinstance(value, dict) else ():
            value.pop(key, None)

    def test_replay_shares_and_rescales_each_rank(self):
        plain = self.convert("gloo/gpt_ddp4")
        folded = self.folded(plain)
        hashes = []
        for of in plain, folded:
            self.run_program("replay", of, "--processes", 4, "-o", self.dir / "run", "--force", "--comms", "timed")
            hashes.append(json.loads((self.dir / "run/manifest.json").read_text())["trace_hash"])
            self.run_program("anonymize", of, self.dir / f"{of.name}_shared")
            self.run_program("rescale", of, "--dp", 8, "-o", self.dir / f"{of.name}_8")
        self.assertEqual(*hashes)
        for suffix in "shared", "8":
            self.same_files(self.dir / f"{plain.name}_{suffix}", self.dir / f"folded_{suffix}")
        # Times have recorded times; a package without anonymize needs to be told.
        package = self.dir / "p.reprise"
        self.run_program("pack", folded, "-o", package, expect=USAGE)
        self.run_program("pack", folded, "-o", package, "--not-anonymized")
        self.run_program("unpack", package, "-o", self.dir / "unpacked")
        times = "gpt_ddp4.class0.times"
        self.assertTrue(filecmp.cmp(folded / times, self.dir / "unpacked" / times, shallow=False))
        self.run_program("validate", self.dir / "unpacked")

    def refused(self, *args, expect=BAD_INPUT):
        return self.run_program(*args, expect=expect).stderr

    def test_wrong_uses(self):
        plain = self.convert("quickstart")
        folded = self.folded(plain)
        out = self.dir / "out"
        self.assertIn("folded set already", self.refused("convert", folded, "-o", out, "--fold"))
        self.assertIn("--expand", self.refused("convert", folded, "-o", out))
        self.assertIn("no folded set", self.refused("convert", plain, "-o", out, "--expand"))
        self.assertIn("is the set itself", self.refused("convert", folded, "-o", folded, "--expand", expect=USAGE))
        self.assertIn("exists", self.refused("convert", folded, "-o", plain, "--expand", expect=USAGE))
        self.refused("convert", plain, "-o", out, "--fold", "--expand", expect=USAGE)
        generated = self.dir / "generated"
        self.run_program("generate", "gpt-small", "-o", generated)
        for option in "--fold", "--expand":
            self.refused("convert", generated, "-o", out, option)
        self.assertFalse(out.exists())
        self.assertIn("--limits files=", self.refused("convert", folded, "-o", out, "--expand", "--limits", "files=1"))

    def test_damage(self):
        folded = self.folded(self.convert("quickstart"))
        times = folded / "quickstart.class0.times"
        good = times.read_bytes()
        for bad, says in ((good[:-7], "truncated: ends at byte"), (good[:500] + b"?" + good[501:], "the record at byte"),
                          (good[:12] + b"\7" + good[13:], "times of 7 ranks at byte 12"), (b"", "truncated: ends at byte 0")):
            times.write_bytes(bad)
            self.assertIn("quickstart.class0.times: ", self.refused("stats", folded))
            for command in (["stats", folded], ["simulate", folded, "--machine", "recorded", "-o", self.dir / "run"],
                            ["convert", folded, "-o", self.dir / "out", "--expand"]):
                kept = (folded / "checksums.xxh128").read_bytes()
                (folded / "checksums.xxh128").unlink()
                self.assertIn(f"quickstart.class0.times: {says}", self.refused(*command))
                (folded / "checksums.xxh128").write_bytes(kept)
        times.write_bytes(good)
        other = self.folded(self.convert("h100/resnet50"), "other")
        (folded / "checksums.xxh128").unlink()
        shutil.copy(other / "resnet50.class0.et.zst", folded / "quickstart.class0.et.zst")
        self.assertIn("quickstart.class0.times: the record", self.refused("stats", folded))
        (folded / "quickstart.class0.et.zst").unlink()
        self.assertIn("folded.json names it", self.refused("stats", folded))
        self.assertEqual([path.name for path in pathlib.Path(self.dir).glob("*.tmp-*")], [])


if __name__ == "__main__":
    sys.exit(program.main())
