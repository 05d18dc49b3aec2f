"""reprise.Run: agrees with `reprise report`, reads what can be read, changes nothing."""
import contextlib
import hashlib
import json
import sqlite3
import subprocess
import sys
import unittest
import warnings

import made
import numpy
import pandas
import reprise
from reprise import run_schema


def digest(directory):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


class AgreesWithReport(unittest.TestCase):
    """Every number that both have, of a measured run and of a simulated one of several ranks."""

    def compare(self, path):
        run, report = reprise.Run(path), made.report(path)
        self.assertEqual(run.notes, [])
        for mode, share in report["coverage"].items():
            self.assertAlmostEqual(run.coverage()[mode], share)
        steps = run.step_times()
        self.assertEqual(len(steps), report["iterations"])
        for measure, key in (("median", "_ns"), ("min", "_min_ns"), ("max", "_max_ns")):
            self.assertAlmostEqual(getattr(steps, measure)(), report["step_time_replayed" + key], delta=1)
        classes = run.classes()
        self.assertEqual(list(classes.index), [row["name"] for row in report["classes"]])
        for row in report["classes"]:
            mine = classes.loc[row["name"]]
            self.assertEqual((mine["count"], mine["recorded_ns"]), (row["count"], row["recorded_ns"]))
            if row["name"] != "comm":
                # A median of an even number is rounded.
                self.assertAlmostEqual(mine["replayed_ns"], row["replayed_ns"], delta=row["count"])
                self.assertAlmostEqual(mine["flops"], row["flops"])
                rounding = row["count"] / row["replayed_ns"] if row["replayed_ns"] else 0
                self.assertAlmostEqual(mine["gb_per_s"], row["gb_per_s"], delta=(row["gb_per_s"] or 0) * rounding + 1e-9)
        shapes = run.shapes()
        self.assertEqual(len(shapes), len(report["shapes"]))
        for row in report["shapes"]:
            mine = shapes.loc[(row["name"], row["shape"])]
            self.assertEqual((mine["count"], mine["recorded_ns"], mine["tracing_ns"]),
                             (row["count"], row["recorded_ns"], row["tracing_ns"]))
            self.assertAlmostEqual(mine["replayed_ns"], row["replayed_ns"], delta=row["count"])
        info = run.rank_info()
        self.assertEqual(list(info["host"]), [row["host"] for row in report["ranks"]])
        self.assertEqual(list(info["device"]), [row["device"] for row in report["ranks"]])
        nodes = run.nodes()
        self.assertEqual(list(nodes.groupby("rank").size()), [row["nodes"] for row in report["ranks"]])
        counted = nodes[nodes["counts_for_coverage"]]
        self.assertEqual(counted["recorded_duration_ns"].sum(), report["covered_ns"])
        self.assertEqual(run.diagnostics().groupby("name")["count"].sum().to_dict(), report["diagnostics"])
        return run, report

    def test_measured(self):
        run, report = self.compare(made.real_run())
        self.assertGreater(len(report["metrics"]), 2)
        steps = run.steps()
        measured = steps[~steps["warmup"]]
        begin, end = measured["start_ns"].min(), (measured["start_ns"] + measured["duration_ns"]).max()
        self.assertEqual(end - begin, report["measured_ns"])
        for row in report["metrics"]:
            samples = run.samples(row["metric"])
            inside = samples[samples["time_ns"].between(begin, end) & (samples["device"] == row["device"])]
            if not row["rate"]:
                self.assertAlmostEqual(inside[f"value_{row['unit']}"].mean(), row["mean"], places=3)

    def test_simulated_ranks(self):
        run, _ = self.compare(made.dry_run())
        self.assertEqual(run.ranks, [0, 1, 2, 3])
        self.assertEqual(set(run.nodes(ranks=[1, 3])["rank"]), {1, 3})
        self.assertEqual(set(run.steps(ranks=2)["rank"]), {2})
        with self.assertRaisesRegex(KeyError, "no rank 7"):
            run.nodes(ranks=[7])


class Frames(unittest.TestCase):
    def test_units_and_types(self):
        run = reprise.Run(made.real_run())
        power = run.samples("cpu_power")
        self.assertIn("value_watts", power)
        self.assertTrue(power["modelled"].all())
        both = run.samples(["cpu_power", "memory_used"])
        self.assertEqual(set(both["unit"]), {"watts", "bytes"})
        self.assertEqual(len(both), len(power) + len(run.samples("memory_used")))
        with self.assertRaisesRegex(KeyError, "no metric warp_speed; there are .*cpu_power"):
            run.samples("warp_speed")
        nodes = run.nodes()
        self.assertEqual(nodes["replayed_duration_ns"].dtype, "Int64")
        self.assertEqual(nodes["counts_for_coverage"].dtype, bool)
        records = run.records()
        self.assertEqual(set(records["iteration"]), {0, 1, 2})
        joined = records.merge(nodes, on=["rank", "node_id"])
        self.assertEqual(len(joined), len(records))
        self.assertEqual(run.manifest["trace_name"], "gpt_single")
        self.assertEqual(set(run.metrics()["kind"]) - {"gauge", "counter", "energy", "state"}, set())

    def test_ids_beyond_2_63(self):
        path = made.copy(made.dry_run(), "ids")
        made.change(path / "run.sqlite", "UPDATE nodes SET node_id = -2 WHERE rowid = 1")
        self.assertEqual(reprise.Run(path).nodes()["node_id"][0], 2**64 - 2)

    def clocks(self, name, facts):
        """A run on two hosts with these facts: what a common clock takes away from each rank's times, notes."""
        path = made.copy(made.dry_run(), name)
        made.change(path / "run.sqlite", f"""
            UPDATE ranks SET host = 'b' WHERE rank >= 2;
            UPDATE steps SET start_ns = 1000000000 + 500000000 * (rank = 3);
            INSERT INTO facts VALUES {facts}""")
        run = reprise.Run(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", reprise.DamagedWarning)
            shift = run.steps()["start_ns"] - run.steps(common_clock=True)["start_ns"]
        return list(shift.groupby(run.steps()["rank"]).first()), run.notes

    def test_common_clock(self):
        """Readings at 1 s and 3 s, 100 us of drift in between; rank 3 is half a second later than rank 2."""
        self.assertEqual(
            self.clocks("clock", "(0, 'clock_readings', '0 0 0'), "
                                 "(2, 'clock_readings', '1000000000 5000 10; 3000000000 105000 10')"),
            ([0, 0, 5000, 30_000], []))
        unix = 1_800_000_000_000_000_000
        shift, notes = self.clocks("wall", f"(0, 'wall_readings', '1000000000 {1_000_000_000 - unix} 9'), "
                                           f"(2, 'wall_readings', '1000000000 {1_000_007_000 - unix} 9')")
        self.assertEqual((shift, notes), ([0, 0, 7000, 7000], ["the hosts' clocks are related by their wall clocks only"]))
        shift, notes = self.clocks("apart", "(2, 'clock_readings', 'no such thing')")
        self.assertEqual(shift, [0, 0, 0, 0])
        self.assertIn("not related", notes[0])

    def test_nothing_is_written(self):
        path = made.copy(made.real_run(), "untouched")
        before = digest(path)
        run = reprise.Run(path)
        for read in (run.nodes, run.records, run.steps, run.edges, run.collectives, run.samples, run.devices,
                     run.meters, run.facts):
            self.assertIsInstance(read(), pandas.DataFrame)
        self.assertEqual(digest(path), before)


class Damage(unittest.TestCase):
    def setUp(self):
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        warnings.simplefilter("ignore", reprise.DamagedWarning)
        self.addCleanup(quiet.__exit__, None, None, None)

    def said(self, run, text):
        self.assertTrue(any(text in note for note in run.notes), run.notes)

    def test_killed(self):
        run, whole = reprise.Run(made.unmerged(made.dry_run(), "killed")), reprise.Run(made.dry_run())
        self.said(run, "not merged: the run was killed")
        for name in ("nodes", "steps", "edges"):
            mine, complete = getattr(run, name)(), getattr(whole, name)()
            self.assertEqual(list(mine.columns), list(complete.columns))
            pandas.testing.assert_frame_equal(
                *(frame.sort_values(list(frame.columns), ignore_index=True) for frame in (mine, complete)))
        self.assertEqual(list(run.rank_info()["device"]), list(whole.rank_info()["device"]))

    def test_missing_rank(self):
        path = made.copy(made.dry_run(), "missing_rank")
        (path / "rank1.sqlite").unlink()
        run = reprise.Run(path)
        self.said(run, "rank1.sqlite is missing; run.sqlite stands in")
        self.assertEqual(len(run.nodes()), len(reprise.Run(made.dry_run()).nodes()))
        self.assertEqual(set(run.records()["rank"]), {0, 2, 3})

    def test_damaged_rank(self):
        path = made.unmerged(made.dry_run(), "damaged_rank")
        file = path / "rank2.sqlite"
        content = bytearray(file.read_bytes())
        content[len(content) // 2:] = numpy.random.default_rng(1).bytes(len(content) - len(content) // 2)
        file.write_bytes(content)
        (path / "rank3.sqlite").write_bytes(b"this is no database" * 100)
        run = reprise.Run(path)
        edges = run.edges()
        self.said(run, "rank3.sqlite: damaged: 0 rows")
        self.assertLessEqual({0, 1}, set(edges["rank"]))
        run.nodes(), run.records(), run.samples()
        self.said(run, "rank2.sqlite")

    def test_all_is_damaged(self):
        """Nothing is left, but the frames have their columns, and everything that is computed from them works."""
        path = made.unmerged(made.dry_run(), "all_damaged")
        for file in path.glob("*.sqlite"):
            file.write_bytes(b"this is no database" * 100)
        run = reprise.Run(path)
        self.assertEqual((run.coverage().sum(), len(run.step_times()), len(run.classes()), len(run.diagnostics())),
                         (0, 0, 0, 0))
        self.assertEqual((len(run.samples()), len(run.collectives()), len(run.steps(common_clock=True))), (0, 0, 0))
        self.assertEqual(len(run.rank_info()), 0)

    def test_damaged_summary(self):
        path = made.copy(made.dry_run(), "damaged_summary")
        (path / "run.sqlite").write_bytes((path / "run.sqlite").read_bytes()[:20_000])
        run = reprise.Run(path)
        self.assertEqual(len(run.nodes()), len(reprise.Run(made.dry_run()).nodes()))

    def test_manifest_gone_or_damaged(self):
        path = made.copy(made.dry_run(), "no_manifest")
        (path / "manifest.json").write_text("{")
        self.said(reprise.Run(path), "manifest.json is damaged")
        (path / "manifest.json").unlink()
        run = reprise.Run(path)
        self.said(run, "manifest.json is missing")
        self.assertEqual((run.manifest, run.ranks, run.coverage().sum()), ({}, [0, 1, 2, 3], 1))

    def test_not_a_run(self):
        empty = made.DIRECTORY / "empty"
        empty.mkdir()
        with self.assertRaisesRegex(ValueError, "not a run"):
            reprise.Run(empty)
        (empty / "manifest.json").write_text(json.dumps({"format": "another"}))
        with self.assertRaisesRegex(ValueError, "not the manifest of a run"):
            reprise.Run(empty)
        with self.assertRaises(NotADirectoryError):
            reprise.Run(empty / "nothing")

    def test_write_ahead_log(self):
        """What a killed rank had committed but not moved into its file."""
        path = made.unmerged(made.dry_run(), "log")
        away = made.DIRECTORY / "away"
        away.mkdir()
        made.change(path / "rank0.sqlite", "PRAGMA journal_mode=WAL")
        writer = sqlite3.connect(path / "rank0.sqlite")
        writer.execute("INSERT INTO facts VALUES(0, 'late', 'here')")
        writer.commit()
        for name in ("rank0.sqlite", "rank0.sqlite-wal"):
            (away / name).write_bytes((path / name).read_bytes())
        writer.close()
        self.assertIn("late", list(reprise.Run(away).facts()["name"]))


class Schemas(unittest.TestCase):
    def test_another_version_is_refused(self):
        oldest, version = run_schema.OLDEST, run_schema.VERSION
        for other in (oldest - 1, version + 1):
            path = made.copy(made.dry_run(), f"version{other}")
            made.change(path / "run.sqlite", f"PRAGMA user_version={other}")
            with self.assertRaisesRegex(ValueError, f"run.sqlite: has schema version {other}, this package reads {oldest} to {version}"):
                reprise.Run(path)

    def test_a_foreign_definition_is_refused(self):
        """The same as the program refuses (tests/run/schema_test.cc), before anything reads by it."""
        text = (made.program.ROOT / "tests/run/foreign_definitions.txt").read_text()
        foreign = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertGreaterEqual(len(foreign), 4)
        for number, statements in enumerate(foreign):
            for file, read in (("run.sqlite", reprise.Run), ("rank0.sqlite", lambda path: reprise.Run(path).records(0))):
                path = made.copy(made.real_run(), f"foreign{number}{file}")
                made.change(path / file, statements)
                with self.assertRaisesRegex(ValueError, f"{file}: reprise did not define its"):
                    read(path)
        path = made.copy(made.real_run(), "index")
        made.change(path / "rank0.sqlite", "CREATE INDEX mine ON steps(start_ns)")
        self.assertGreater(len(reprise.Run(path).records(0)), 0)

    def test_every_column_of_the_program(self):
        """Both kinds of file have the columns of report/run/schema.def, in that order."""
        for file, absent in (("rank0.sqlite", set()), ("run.sqlite", {"node_info", "records"})):
            with contextlib.closing(sqlite3.connect(made.real_run() / file)) as database:
                there = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
                views = {name for name in there if name.removesuffix("_shared").removesuffix("_rows").removesuffix("_parts") in run_schema.TABLES}
                self.assertEqual(views, there)
                there = {name for name in there if not name.endswith(("_shared", "_rows", "_parts"))}
                self.assertEqual(there, set(run_schema.TABLES) - absent)
                for name in there:
                    columns = [column[1] for column in database.execute(f"PRAGMA table_info({name})")]
                    self.assertEqual(columns, [column.name for column in run_schema.TABLES[name]])
                self.assertEqual(database.execute("PRAGMA user_version").fetchone()[0], run_schema.VERSION)


class WithoutPandas(unittest.TestCase):
    """The wheel does not bring pandas: `import reprise` works, and what needs it says how to get it."""

    def test_way_out(self):
        code = ("import sys; sys.modules['pandas'] = None; import reprise, reprise_capture\n"
                "assert 'Run' in dir(reprise), dir(reprise)\nreprise.DamagedWarning\nreprise.Run")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"reprise\.Run needs .*pandas is missing: pip install 'reprise-trace\[analysis\]'")
