#!/usr/bin/env python3
"""Sharing, as a user does it: convert, anonymize, audit, pack, unpack, replay: the same coverage and
the same order of transfers as the original."""
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time

import program

RANKS = 4


class PackedSets(program.ProgramTest):
    def packed_bytes(self, trace, anonymized):
        """The size of the set's package; what it unpacks to is the set, byte by byte."""
        shared = trace
        if anonymized:
            shared = self.dir / (trace.name + "_shared")
            self.run_program("anonymize", trace, shared)
        package = self.dir / (shared.name + ".reprise")
        self.run_program("pack", shared, "-o", package, *([] if anonymized else ["--not-anonymized"]))
        arrived = self.dir / (shared.name + "_arrived")
        self.run_program("unpack", package, "-o", arrived)
        for file in shared.iterdir():
            self.assertEqual(file.read_bytes(), (arrived / file.name).read_bytes(), file)
        return package.stat().st_size


class SharedRuns(program.ProgramTest):
    """Runs, reports and pages of an anonymized set say nothing of who made them, where and when."""

    def own_texts(self):
        """What must not be found: paths, the user's and the host's name, the date."""
        texts = {str(self.dir), self.dir.name, str(program.ROOT), str(pathlib.Path.home()) + "/", time.strftime("%Y-%m-%dT")}
        return {text.encode() for text in texts}

    def check_silent(self, path):
        content = path.read_bytes()
        self.assertGreater(len(content), 0, path)
        for text in self.own_texts():
            self.assertNotIn(text, content, path)

    def check_run(self, run):
        for file in run.iterdir():
            self.check_silent(file)
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual((manifest["provenance"], manifest["command"], manifest["trace_path"], manifest["started_at"]), ("none", "", "", ""))
        self.assertEqual(set(manifest["hosts"]), {"host0"})
        for file in run.glob("*.sqlite"):
            database = sqlite3.connect(file)
            self.assertEqual(set(database.execute("SELECT host, pid FROM ranks")), {("host0", 0)})
            facts = {name for name, in database.execute("SELECT name FROM facts")}
            self.assertFalse(facts & {"wall_readings", "ended_at_ns"}, file)
            self.assertIn("recorded_step_ns", facts)
        self.assertIn("safe to share", self.run_program("audit", run).stdout)

    def check_outputs(self, run):
        page, outputs = self.dir / "page.html", self.dir / "outputs"
        self.run_program("report", run, "-o", page, "--quiet", "--force")
        self.check_silent(page)
        outputs.write_text(self.run_program("report", run, "--json").stdout, encoding="utf-8")
        self.assertTrue([note for note in json.loads(outputs.read_text(encoding="utf-8"))["notes"] if "--provenance full" in note])
        self.check_silent(outputs)
        other = self.dir / "other"
        shutil.copytree(run, other, dirs_exist_ok=True)
        self.run_program("compare", run, other, "-o", page, "--quiet", "--force")
        self.check_silent(page)

    def test_replayed_and_simulated_runs(self):
        trace, shared, run = self.convert("gloo/gpt_single"), self.dir / "shared", self.dir / "run"
        self.run_program("anonymize", trace, shared)
        self.run_program("simulate", shared, "-o", run, "--machine", "recorded", "--quiet")
        self.check_run(run)
        self.check_outputs(run)
        self.run_program("replay", shared, "-o", run, "--force", "--device", "host", "--iterations", 1, "--quiet")
        self.check_run(run)
        self.check_outputs(run)

    def test_provenance_is_kept_where_asked_for(self):
        trace, shared, run = self.convert("gloo/gpt_single"), self.dir / "shared", self.dir / "run"
        self.run_program("anonymize", trace, shared)
        self.run_program("simulate", shared, "-o", run, "--machine", "recorded", "--quiet", "--provenance", "full")
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual((manifest["provenance"], manifest["trace_path"]), ("full", str(shared)))
        found = json.loads(self.run_program("audit", run, "--json", expect=1).stdout)["findings"]
        self.assertLessEqual({"manifest.json command", "manifest.json trace_path", "manifest.json started_at", "ranks host"},
                             {one["field"] for one in found})
        self.run_program("simulate", trace, "-o", run, "--machine", "recorded", "--quiet", "--provenance", "none", "--force")
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual((manifest["provenance"], manifest["command"]), ("none", ""))
        # What the set itself says is in its run.
        found = json.loads(self.run_program("audit", run, "--json", expect=1).stdout)["findings"]
        self.assertEqual({(one["kind"], one["field"]) for one in found},
                         {("private name", "set name"), ("absolute time", "facts trace_base_ns")})


class Share(PackedSets):
    def replay(self, trace, name):
        run = self.dir / name
        self.run_program("replay", trace, "-o", run, "--check", "--iterations", "1", ranks=RANKS)
        report = self.run_json("report", run)
        database = sqlite3.connect(run / "run.sqlite")
        # Kernel, mode and size of every node in recorded order; every transfer by its place. Nodes
        # that start together are in any order: ids, which would tell them apart, are others.
        nodes = sorted(database.execute(
            "SELECT rank, class, kind, mode, kernel, flops, bytes, recorded_start_ns, "
            "recorded_duration_ns FROM nodes").fetchall(), key=lambda row: (row[0], row[7], row))
        order = database.execute(
            "SELECT rank, name, group_size, position, dtype, in_bytes, out_bytes, root, peer "
            "FROM collectives ORDER BY rank, process_group, position, name").fetchall()
        return run, report["coverage"], nodes, order

    def test_what_arrives_replays_as_what_was_captured(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        audit = json.loads(self.run_program("audit", trace, "--json", expect=1).stdout)
        kinds = {finding["kind"] for finding in audit["findings"]}
        self.assertLessEqual({"absolute time", "private name"}, kinds)

        shared = self.dir / "shared"
        done = self.run_program("anonymize", trace, shared, "--verify", "--json")
        self.assertIn("the same up to names", done.stderr)
        fields = json.loads(done.stdout)["fields"]
        self.assertGreater(fields["op_schema"]["drop"], 0)
        self.assertGreater(fields["name"]["map"], 0)
        audit = self.run_json("audit", shared)
        self.assertEqual(audit["findings"], [])
        self.assertIn("hidden size", [fact["fact"] for fact in audit["readable_from_shapes"]])

        original = self.replay(trace, "original")
        licence = self.dir / "licence"
        licence.write_text("as you like\n", encoding="utf-8")
        package = self.dir / "gpt.reprise"
        packed = self.run_json("pack", shared, "-o", package, "--licence", licence)
        self.assertEqual(packed["policy"]["name"], "replay")
        self.run_program("pack", shared, "-o", package, expect=2)
        arrived = self.dir / "arrived"
        self.run_program("unpack", package, "-o", arrived)
        self.assertEqual((arrived / "LICENCE.txt").read_text(encoding="utf-8"), "as you like\n")

        # Its manifest does not make it a run.
        self.run_program("export", arrived, "--to", "json", "-o", self.dir / "exported")
        replayed = self.replay(arrived, "replayed")
        self.assertEqual(replayed[1], original[1])
        self.assertGreaterEqual(program.real_of_work({"coverage": replayed[1]}), 0.99)
        self.assertEqual(replayed[2], original[2])
        self.assertEqual(replayed[3], original[3])
        self.assertGreater(len(replayed[3]), 0)

    def test_hardware_stays_and_other_names_in_its_place_do_not(self):
        capture = self.copy_capture("quickstart")
        for processor, stays in (("AMD EPYC 9654 96-Core Processor", True), ("/home/bob/processor", False)):
            for rank in range(2):
                meta = capture / f"rank{rank}.meta.json"
                content = json.loads(meta.read_text(encoding="utf-8"))
                meta.write_text(json.dumps({**content, "processor": processor}), encoding="utf-8")
            trace, shared = self.dir / "trace", self.dir / "shared"
            self.run_program("convert", capture, "-o", trace, "--force")
            self.run_program("anonymize", trace, shared, "--force")
            self.assertEqual(self.run_json("audit", shared)["findings"], [])
            for file in shared.glob("*.et"):
                self.assertEqual(processor.encode() in file.read_bytes(), stays, processor)
            if not stays:
                found = json.loads(self.run_program("audit", trace, "--json", expect=1).stdout)["findings"]
                self.assertIn(("path", "header.attr.machine_processor"), {(one["kind"], one["field"]) for one in found})

    def test_a_quarter_of_the_captures(self):
        for case in ("gloo/gpt_single", "gloo/resnet18", "gloo/gpt_ddp4"):
            trace = self.convert(case)
            captured = sum(file.stat().st_size for file in (program.TRACES / case).glob("*.gz"))
            self.assertLessEqual(self.packed_bytes(trace, anonymized=True) / captured, 0.25, case)
            self.assertLessEqual(self.packed_bytes(trace, anonymized=False) / captured, 0.36, case)

    def test_other_programs_open_packages(self):
        program.need("tar", "zstd")
        trace, package, folder = self.convert("gloo/resnet18"), self.dir / "a.reprise", self.dir / "by_tar"
        self.run_program("pack", trace, "-o", package, "--not-anonymized")
        folder.mkdir()
        subprocess.run(["tar", "--zstd", "-xf", package, "-C", folder], check=True)
        with subprocess.Popen(["zstd", "-dc", "--memory=8MiB", package], stdout=subprocess.PIPE) as zstd, \
                tarfile.open(fileobj=zstd.stdout, mode="r|") as tar:
            files = {entry.name: tar.extractfile(entry).read() for entry in tar}
        expected = {file.name: file.read_bytes() for file in trace.iterdir()}
        self.assertEqual(set(files), {*expected, "manifest.json"})
        for name, content in expected.items():
            self.assertEqual(files[name], content, name)
        for name, content in files.items():
            self.assertEqual((folder / name).read_bytes(), content, name)
        self.run_program("validate", folder)

    def test_refusals(self):
        trace = self.convert("gloo/resnet18")
        out = self.dir / "out"
        self.run_program("anonymize", trace, out, "--policy", "none", expect=2)
        self.run_program("anonymize", trace, out, "--durations", "grid:x", expect=2)
        self.run_program("anonymize", trace, trace, "--force", expect=2)
        self.run_program("anonymize", self.dir / "nothing", out, expect=3)
        self.run_program("anonymize", trace, out)
        self.run_program("anonymize", trace, out, expect=2)
        # Another policy's result is not the same, and is said not to be.
        self.run_program("anonymize", trace, out, "--policy", "simulate", "--force", "--verify",
                         expect=1)
        package = self.dir / "cut.reprise"
        self.run_program("pack", out, "-o", package)
        package.write_bytes(package.read_bytes()[:-100])
        done = self.run_program("unpack", package, "-o", self.dir / "cut", expect=3)
        self.assertIn("damaged", done.stderr)
        self.assertFalse((self.dir / "cut").exists())

    def test_presets_are_printed_as_they_can_be_read(self):
        trace = self.convert("gloo/resnet18")
        policy = self.dir / "mine.json"
        text = self.run_program("anonymize", "--print-policy", "replay").stdout
        mine = {**json.loads(text), "name": "mine"}
        del mine["fields"]["parent"]  # what a policy does not name goes
        policy.write_text(json.dumps(mine), encoding="utf-8")
        fields = self.run_json("anonymize", trace, self.dir / "out", "--policy", policy)["fields"]
        self.assertGreater(fields["parent"]["drop"], 0)
        text = self.run_program("anonymize", trace, self.dir / "short").stdout
        self.assertRegex(text, r"keep [1-9]\d* values of \d+ fields, map .*; -v lists the fields\n")
        self.assertNotRegex(text, r"type \d")
        text = self.run_program("-v", "anonymize", trace, self.dir / "long").stdout
        self.assertRegex(text, r"(?m)^keep: .*\btype \d")
        # The name of a policy of one's own says something too.
        audit = json.loads(
            self.run_program("audit", self.dir / "out", "--json", expect=1).stdout)
        self.assertEqual([finding["field"] for finding in audit["findings"]], ["policy name"])


if __name__ == "__main__":
    sys.exit(program.main())
