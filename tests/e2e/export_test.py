#!/usr/bin/env python3
"""reprise export: each format is read back by someone else's reader, or ours of a few lines."""
import collections
import gzip
import json
import re
import sys
import xml.etree.ElementTree as xml

import program
from wire import fields

USAGE, BAD_INPUT = 2, 3
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def events(trace):
    """Counts of a Perfetto trace: packets by what they hold, track events by type."""
    counts = collections.Counter()
    for number, packet in fields(trace):
        assert number == 1, number
        for field, value in fields(packet):
            if field == 60:
                counts["tracks"] += 1
            if field == 11:
                inner = list(fields(value))
                counts["event %d" % dict(inner)[9]] += 1
                counts["flows out"] += sum(1 for number, _ in inner if number == 47)
                counts["flows in"] += sum(1 for number, _ in inner if number == 48)
    return counts


class Export(program.ProgramTest):
    def export(self, source, form, *flags, expect=0, name="out"):
        out = self.dir / f"{name}.{form}"
        done = self.run_program("export", source, "--to", form, "-o", out, *flags, expect=expect)
        return out, done

    def setUp(self):
        super().setUp()
        self.trace = self.convert("gloo/gpt_ddp4")
        self.stats = self.run_json("stats", self.trace)

    def test_json_of_a_set_and_of_a_rank(self):
        whole = json.loads(self.export(self.trace, "json")[0].read_text())
        self.assertEqual([rank["metadata"]["rank"] for rank in whole["ranks"]], [0, 1, 2, 3])
        self.assertEqual(sum(len(rank["nodes"]) for rank in whole["ranks"]), self.stats["nodes"])
        self.assertEqual(whole["groups"]["0"]["ranks"], [0, 1, 2, 3])
        one = json.loads(self.export(self.trace, "json", "--rank", 2, name="one")[0].read_text())
        self.assertEqual(one, whole["ranks"][2])

    def test_graphml(self):
        root = xml.parse(self.export(self.trace, "graphml")[0]).getroot()
        nodes = root.findall(f".//{GRAPHML}node")
        edges = root.findall(f".//{GRAPHML}edge")
        self.assertEqual(len(nodes), self.stats["nodes"])
        self.assertEqual(len(edges), self.stats["edges"])
        keys = {node.get("id") for node in nodes}
        self.assertEqual(len(keys), len(nodes))
        for edge in edges:
            self.assertIn(edge.get("source"), keys)
            self.assertIn(edge.get("target"), keys)
        reasons = collections.Counter(edge.find(f"{GRAPHML}data[@key='reason']").text
                                      for edge in edges)
        self.assertEqual(reasons, {row["reason"]: row["edges"] for row in self.stats["reasons"]})

    def test_dot_refuses_what_nobody_can_read(self):
        out, done = self.export(self.trace, "dot", expect=USAGE)
        self.assertFalse(out.exists())
        self.assertEqual(list(self.dir.glob("out.dot*")), [])
        self.assertIn("--all", done.stderr)
        text = self.export(self.trace, "dot", "--rank", 0)[0].read_text()
        self.assertEqual(len(re.findall(r"^ *r0n\d+ \[", text, re.M)),
                         self.stats["ranks"][0]["nodes"])
        self.assertEqual(len(re.findall(r"^ *r0n\d+ -> r0n\d+ \[", text, re.M)),
                         self.stats["ranks"][0]["edges"])
        everything = self.export(self.trace, "dot", "--all", name="all")[0].read_text()
        self.assertIn("subgraph cluster_rank3", everything)

    def test_perfetto_of_a_trace(self):
        out, done = self.export(self.trace, "perfetto")
        counts = events(out.read_bytes())
        steps = sum(len(rank["steps"]) for rank in self.stats["ranks"])
        self.assertEqual(counts["event 1"], self.stats["nodes"] + steps)
        self.assertEqual(counts["event 1"], counts["event 2"])
        arrows = sum(row["edges"] for row in self.stats["reasons"]
                     if row["reason"] not in ("thread", "stream"))
        self.assertEqual(counts["flows in"], arrows, done.stdout)
        self.assertEqual(counts["flows out"], arrows)
        self.assertGreaterEqual(counts["tracks"], 16)

    def test_perfetto_of_a_run_compressed(self):
        run = self.dir / "run"
        self.run_program("replay", self.trace, "-o", run, "--iterations", 2, ranks=4)
        out = self.dir / "run.pftrace.gz"
        self.run_program("export", run, "--to", "perfetto", "-o", out)
        counts = events(gzip.decompress(out.read_bytes()))
        # Recorded once, replayed at least twice (skipped nodes have no record).
        self.assertGreater(counts["event 1"], 2 * self.stats["nodes"])
        self.assertEqual(counts["event 1"], counts["event 2"])
        self.assertGreater(counts["event 4"], 0, "no counter")
        self.assertGreater(counts["flows out"], 0)
        self.assertEqual(counts["flows out"], counts["flows in"])
        one, _ = self.export(run, "perfetto", "--rank", 1, "--iteration", 1)
        self.assertLess(events(one.read_bytes())["event 1"], counts["event 1"] / 4)
        _, done = self.export(run, "graphml", expect=USAGE)
        self.assertIn("perfetto and csv only", done.stderr)

    def test_outputs_are_not_replaced_unasked(self):
        out, _ = self.export(self.trace, "json")
        before = out.read_bytes()
        _, done = self.export(self.trace, "json", "--rank", 1, expect=USAGE)
        self.assertIn("--force", done.stderr)
        self.assertEqual(out.read_bytes(), before)
        self.export(self.trace, "json", "--rank", 1, "--force")
        self.assertNotEqual(out.read_bytes(), before)

    def test_what_is_not_there(self):
        self.export(self.dir / "nothing", "json", expect=BAD_INPUT)
        self.export(self.trace, "perfetto", "--rank", 4, expect=USAGE)
        self.export(self.trace, "graphml", "--step", 9, expect=USAGE)
        self.export(self.trace, "json", "--step", 9, expect=USAGE)
        self.export(self.trace, "svg", expect=USAGE)
        file = next(self.trace.glob("*.1.et"))
        file.write_bytes(file.read_bytes()[:-9])
        out, done = self.export(self.trace, "json", expect=BAD_INPUT)
        self.assertIn(file.name, done.stderr)
        self.assertEqual(list(self.dir.glob("out.*")), [], "a half-written file was left")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    sys.exit(program.main())
