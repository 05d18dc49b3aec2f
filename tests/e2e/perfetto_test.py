#!/usr/bin/env python3
"""What is exported for Perfetto, read by Perfetto's own trace processor. About 30 s."""
import re
import sqlite3

import program
import skips
import synthetic_run
import trace_processor


@skips.skip_class_if("perfetto", trace_processor.WHY_NOT)
class Perfetto(program.ProgramTest):
    def export(self, source):
        out = self.dir / "out.pftrace"
        text = self.run_program("export", source, "--to", "perfetto", "-o", out).stdout
        told = re.match(r"(\d+) slices, (\d+) arrows, (\d+) counter values", text)
        slices, arrows, counters = map(int, told.groups())
        return out, slices, arrows, counters

    def check_whole(self, perfetto, slices, arrows, counters):
        """Nothing was dropped, mended or misread."""
        self.assertEqual(perfetto.query("SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0"), [])
        one = perfetto.query("SELECT (SELECT count(*) FROM slice) AS slices, (SELECT count(*) FROM flow) AS arrows,"
                             " (SELECT count(*) FROM counter) AS counters, (SELECT count(*) FROM slice WHERE dur < 0) AS unended")[0]
        self.assertEqual(one, {"slices": slices, "arrows": arrows, "counters": counters, "unended": 0})

    def test_a_trace_set(self):
        trace = self.convert("gloo/gpt_ddp4")
        stats = self.run_json("stats", trace)
        out, slices, arrows, counters = self.export(trace)
        with trace_processor.TraceProcessor(out) as perfetto:
            self.check_whole(perfetto, slices, arrows, counters)
            processes = perfetto.query("SELECT name FROM process WHERE name LIKE 'rank %' ORDER BY name")
            self.assertEqual(len(processes), 4)
            named = perfetto.query("SELECT count(*) AS n FROM slice WHERE name = 'c10d::allreduce_'")[0]["n"]
            self.assertGreater(named, 0)
            self.assertGreaterEqual(slices, stats["nodes"])

    def test_a_run_recorded_beside_replayed(self):
        run = self.dir / "run"
        synthetic_run.write_run(program.REPRISE, run, ranks=3, layers=2)
        out, slices, arrows, counters = self.export(run)
        with trace_processor.TraceProcessor(out) as perfetto:
            self.check_whole(perfetto, slices, arrows, counters)
            rows = perfetto.query("""
                SELECT process.name AS rank, side.name AS side, count(*) AS slices, sum(slice.dur) AS ns
                FROM slice JOIN track ON slice.track_id = track.id JOIN track AS side ON track.parent_id = side.id
                JOIN process_track ON process_track.id = track.id JOIN process USING (upid)
                WHERE side.name IN ('recorded', 'replayed') GROUP BY 1, 2""")
            self.assertEqual(len(rows), 6)
            for row in rows:
                rank = int(row["rank"].split()[1])
                with sqlite3.connect(run / f"rank{rank}.sqlite") as file:
                    count, ns = file.execute("SELECT count(*), sum(duration_ns) FROM records" if row["side"] == "replayed" else
                                             "SELECT count(*), sum(recorded_elapsed_ns) FROM node_info").fetchone()
                if row["side"] == "replayed":
                    self.assertEqual((row["slices"], row["ns"]), (count, ns), row)
                else:
                    self.assertEqual(row["slices"], count, row)
            # An arrow goes from what ended, or was launched, to what waited: never back in time.
            wrong = perfetto.query("SELECT count(*) AS n FROM flow JOIN slice AS a ON slice_out = a.id"
                                   " JOIN slice AS b ON slice_in = b.id WHERE a.ts > b.ts + b.dur")[0]["n"]
            self.assertEqual(wrong, 0)
            units = perfetto.query("SELECT DISTINCT unit FROM counter_track WHERE name LIKE 'power %' OR name LIKE 'package_energy %'")
            self.assertEqual([row["unit"] for row in units], ["watts"])

    def test_hostile_names_are_names(self):
        run = self.dir / "run"
        hostile = "\"'; DROP TABLE slice; --<b>\N{SNOWMAN}"
        synthetic_run.write_run(program.REPRISE, run, ranks=1, layers=1, name=lambda text: text + hostile)
        out, slices, arrows, counters = self.export(run)
        with trace_processor.TraceProcessor(out) as perfetto:
            self.check_whole(perfetto, slices, arrows, counters)
            names = [row["name"] for row in perfetto.query("SELECT DISTINCT name FROM slice")]
            self.assertIn("aten::mm" + hostile, names)


if __name__ == "__main__":
    program.main()
