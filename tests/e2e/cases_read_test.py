#!/usr/bin/env python3
"""reprise convert on files that are read in other ways than one would think: refused, or with a note."""
import gzip
import io
import json
import tarfile
import zipfile

import program
import wire

BAD_INPUT = 3
CASES = program.ROOT / "tests/converters/cases"


class Read(program.ProgramTest):
    def refused(self, name, content, said):
        path = self.dir / name
        path.write_bytes(content)
        done = self.run_program("convert", path, "-o", self.dir / "out", expect=BAD_INPUT)
        self.assertIn(said, done.stderr)
        self.assertIn(name, done.stderr)
        self.assertFalse((self.dir / "out").exists())

    def test_other_forms_are_named(self):
        text = (CASES / "18_event_list/t.json").read_bytes()
        packed, tar = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("t.json", text)
        with tarfile.open(fileobj=tar, mode="w") as archive:
            archive.add(CASES / "18_event_list/t.json", "t.json")
        self.refused("a.zip", packed.getvalue(), "is a zip archive: unpack it")
        self.refused("a.tar", tar.getvalue(), "is a tar archive: unpack it")
        self.refused("a.tar.gz", gzip.compress(tar.getvalue()), "is a tar archive: unpack it")
        self.refused("a.json", text.decode().encode("utf-16"), "UTF-16")
        self.refused("b.json", b"", "is empty")
        self.refused("c.sqlite", b"SQLite format 3\0" + bytes(100), "Nsight Systems")
        self.refused("d.nsys-rep", b"\1\2\3\4" * 100, "a report of Nsight Systems")
        # A packet of Perfetto's with a time, a sequence, and what PyTorch never writes.
        self.refused("e.pftrace", b"\n\x09\x40\xe8\x07\x50\x01\x0a\x02\x08\x00" * 20, "holds no host operation")
        self.refused("e.pftrace", b"\n\x09\x40\xe8\x07\x50\x01\x0a\x02\x08\x00" * 20, 'Perfetto\'s packets "ftrace_events" (20)')

    def test_a_refusal_says_what_the_file_holds(self):
        def packet(body, at_ns):
            return wire.field(1, wire.field(8, at_ns) + wire.field(10, 1) + body)

        # What a browser writes: a process, a thread, a track of its own, and slices of its categories.
        tracks = [wire.field(1, 1) + wire.field(3, wire.field(1, 7) + wire.field(6, b"Renderer")),
                  wire.field(1, 2) + wire.field(4, wire.field(1, 7) + wire.field(2, 8) + wire.field(5, b"Compositor")),
                  wire.field(1, 3) + wire.field(2, b"LatencyInfo\x1b[31m")]
        trace = b"".join(packet(wire.field(60, track), 1000) for track in tracks)
        for i in range(3):
            slice_of = wire.field(11, 2) + wire.field(22, b"viz" if i else b"toplevel") + wire.field(23, b"Draw")
            trace += packet(wire.field(11, wire.field(9, 1) + slice_of), 2000 + i * 100)
            trace += packet(wire.field(11, wire.field(9, 2) + wire.field(11, 2)), 2050 + i * 100)
        self.refused("browser.pftrace", trace, '"viz" (2), "toplevel" (1)')
        self.refused("browser.pftrace", trace, 'the tracks "Compositor" (1), "LatencyInfo\\x1b[31m" (1), "Renderer" (1)')
        self.refused("browser.pftrace", trace, "category cpu_op")
        # The same in JSON, of a program that gives some events no category.
        events = [{"ph": "X", "ts": i, "dur": 1, "pid": 1, "tid": 1, "name": "Draw", **({"cat": f"blink{i}"} if i else {})} for i in range(9)]
        self.refused("browser.json", json.dumps({"traceEvents": events}).encode(), "and 2 more; 1 event without a category")

    def test_an_archive_in_a_directory_is_named(self):
        (self.dir / "in").mkdir()
        self.refused("in/a.zip", b"PK\3\4" + bytes(100), "is a zip archive")
        done = self.run_program("convert", self.dir / "in", "-o", self.dir / "out", expect=BAD_INPUT)
        self.assertIn("a.zip is a zip archive", done.stderr)

    def test_a_merge_is_refused(self):
        done = self.run_program("convert", CASES / "05_two_processes_merged/t.json", "-o", self.dir / "out", expect=BAD_INPUT)
        self.assertIn("a merge of 2 processes: 100 (", done.stderr)

    def test_each_case_validates(self):
        for name in ("02_string_thread_ids", "04_kernel_at_time_zero", "07_device_category_unknown",
                     "17_nanoseconds_in_decimals", "18_event_list", "22_xpu_wait"):
            with self.subTest(name):
                self.run_program("convert", CASES / name / "t.json", "-o", self.dir / name)
                self.assertTrue(self.run_json("validate", "--timing", self.dir / name)["ok"])

    def test_what_is_left_out_is_said_with_its_time(self):
        case = json.loads((CASES / "07_device_category_unknown/t.json").read_text())
        event = case["traceEvents"][-1]
        event["args"] = {}
        (self.dir / "t.json").write_text(json.dumps(case))
        done = self.run_program("convert", self.dir / "t.json", "-o", self.dir / "out")
        self.assertRegex(done.stdout, r"1 event .* left out: category mtia_ccp_events: 300.0 us \(changes the reading\)")
        done = self.run_program("convert", self.dir / "t.json", "-o", self.dir / "no", "--strict", expect=BAD_INPUT)
        self.assertIn("device_category_left_out", done.stderr)


if __name__ == "__main__":
    program.main()
