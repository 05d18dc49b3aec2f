#!/usr/bin/env python3
"""reprise convert on what is no PyTorch capture, up to a replay."""
import json
import re
import sys

import program

USAGE, BAD_INPUT = 2, 3

WORKLOAD = """HYBRID_TRANSFORMER
2
embed -1 100 ALLGATHER 4096 10 NONE 0 20 ALLREDUCE 1024 0
block -1 200 NONE 0 300 ALLREDUCE 2048 100 REDUCESCATTER 8192 0
"""


def node(number, deps, **more):
    return {"id": str(number), "name": f"op{number}", "type": "COMP_NODE", "durationMicros": "10",
            "dataDeps": [str(dep) for dep in deps], **more}


class Formats(program.ProgramTest):
    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def test_formats_are_listed(self):
        names = [row["name"] for row in self.run_json("list", "formats")["formats"]]
        registered = re.findall(r"^CONVERTER\((\w+)\)$", (program.ROOT / "converters/builtin.def").read_text(), re.MULTILINE)
        self.assertEqual([name.replace("_", "") for name in names], [name.lower() for name in registered])

    def test_text_workload_to_replay(self):
        workload, trace = self.write("net.txt", WORKLOAD), self.dir / "trace"
        done = self.run_program("convert", workload, "-o", trace, expect=USAGE)
        self.assertIn("--ranks", done.stderr)
        report = self.run_json("convert", workload, "-o", trace, "--ranks", 2, "--passes", 2)
        self.assertEqual([rank["transfers"] for rank in report["ranks"]], [8, 8])
        result = self.run_json("validate", "--timing", trace)
        self.assertTrue(result["ok"])
        self.assertEqual(result["warnings"], [])
        groups = json.loads((trace / "comm_groups_info.json").read_text())
        self.assertEqual(groups["0"]["ranks"], [0, 1])
        self.assertEqual(json.loads((trace / "comm_groups.json").read_text()), {})
        run = self.dir / "run"
        self.run_program("replay", trace, "-o", run, "--device", "host", "--check",
                         ranks=2)
        self.assertTrue(run.is_dir())

    def test_one_file_to_one_file_or_a_set(self):
        text = "".join(json.dumps(part) for part in ({"version": "0.0.4"}, node(1, []), node(2, [1])))
        source = self.write("t.0.json", text)
        self.run_program("convert", source, "-o", self.dir / "one.et.zst")
        self.run_program("convert", source, "-o", self.dir / "set")
        for path in ("one.et.zst", "set"):
            result = self.run_json("validate", self.dir / path)
            self.assertTrue(result["ok"])
        self.assertTrue((self.dir / "set" / "t.0.et").is_file())

    def test_cycle_is_refused_by_name(self):
        source = self.write("t.0.json", json.dumps([node(1, [2]), node(2, [1])]))
        done = self.run_program("convert", source, "-o", self.dir / "set", expect=BAD_INPUT)
        self.assertIn("cycle of 2 nodes", done.stderr)
        self.assertIn("op1", done.stderr)
        self.assertFalse((self.dir / "set").exists())

    def test_unknown_file(self):
        source = self.write("notes.txt", "hello\n")
        done = self.run_program("convert", source, "-o", self.dir / "set", expect=BAD_INPUT)
        self.assertIn("not recognised", done.stderr)
        done = self.run_program("convert", source, "-o", self.dir / "set", "--format", "astra_text",
                                "--ranks", 2, expect=BAD_INPUT)
        self.assertIn("line 1", done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
