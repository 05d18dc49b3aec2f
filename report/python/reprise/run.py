"""A run on disk (docs/run_format.md): a directory written by `reprise replay`."""
import json
import pathlib
import re
import sqlite3

import pandas

from reprise import host_clock, measures, tables
from reprise.damage import Notes

FORMAT = "reprise-run-1"
COUNTERS = ("diagnostic.", "trace.", "sampler.")


class Run:
    """Frames have a column `rank`; `ranks=` restricts them, which saves memory on large runs.

    Attributes: path, manifest (a dict, empty if there is none), ranks (numbers, of those that left
    anything), notes (what is missing or damaged, as far as was read).

    Times named `start_ns` and `time_ns` are CLOCK_MONOTONIC of the rank's host, as recorded;
    `common_clock=True` gives them on the clock of rank 0's host, where the run knows how the hosts' relate.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        if not self.path.is_dir():
            raise NotADirectoryError(f"{path}: not a directory; a run is a directory written by replay")
        self.notes = Notes()
        self.manifest = self._read_manifest()
        self._merged = self.path / "run.sqlite"
        on_disk = {int(found.group(1)) for file in self.path.iterdir()
                   if (found := re.fullmatch(r"rank(\d+)\.sqlite", file.name))}
        expected = range(self.manifest.get("world_size", 0))
        in_merged = set(self._read(self._merged, "ranks")[0]["rank"])
        self.ranks = sorted(on_disk | in_merged)
        if not self.ranks:
            raise ValueError(f"{path}: not a run (no rank's file in it: rank0.sqlite, …)")
        for rank in expected:
            if rank not in on_disk:
                self.notes.add(f"rank{rank}.sqlite is missing" +
                               ("; run.sqlite stands in" if rank in in_merged else ""))
        if self.manifest and not self.manifest.get("complete"):
            self.notes.add("not merged: the run was killed, failed, or is still going on")

    def __repr__(self):
        return f"<reprise.Run {self.path}: {len(self.ranks)} ranks of {self.manifest.get('trace_name', '?')}>"

    # --- what a run holds ---------------------------------------------------------------------------

    def rank_info(self, ranks=None):
        """rank, host, pid, device, closed (came to its end)."""
        info = self._frame("ranks", ranks)
        for column, key in (("host", "hosts"), ("device", "devices")):
            told = dict(enumerate(self.manifest.get(key, [])))  # a rank's own file may not know
            info[column] = [told.get(rank, own) for rank, own in zip(info["rank"], info[column])]
        return info

    def nodes(self, ranks=None):
        """One row a node: as recorded, as planned, and medians of the measured iterations."""
        return self._frame("nodes", ranks)

    def records(self, ranks=None, common_clock=False):
        """One row a node and iteration, warm-up included."""
        return self._on_clock(self._frame("records", ranks), "start_ns", common_clock)

    def steps(self, ranks=None, common_clock=False):
        return self._on_clock(self._frame("steps", ranks), "start_ns", common_clock)

    def edges(self, ranks=None):
        return self._frame("edges", ranks)

    def collectives(self, ranks=None):
        """One row a transfer and member; its times are those of the node."""
        collectives = self._frame("collectives", ranks)
        times = ["recorded_duration_ns", "replayed_duration_ns"]
        nodes = self._frame("nodes", ranks)
        if collectives.empty or nodes.empty:
            return collectives
        return collectives.merge(nodes[["rank", "node_id", "mode", *times]], how="left", on=["rank", "node_id"])

    def devices(self, ranks=None):
        return self._frame("devices", ranks)

    def meters(self, ranks=None):
        return self._frame("meters", ranks)

    def metrics(self, ranks=None):
        """What was sampled: name, unit, device, source, kind, modelled (not measured), …"""
        return self._frame("metrics", ranks)

    def samples(self, metric=None, ranks=None, common_clock=False):
        """Readings over time. `metric`: a name or several, as in metrics(); None: all.

        The column is `value_<unit>` if all metrics that were asked for have one unit (`value_watts`),
        else `value`, with the unit beside it.
        """
        metrics = self.metrics(ranks)
        names = [metric] if isinstance(metric, str) else metric
        if names is not None:
            unknown = set(names) - set(metrics["name"])
            if unknown:
                raise KeyError(f"no metric {', '.join(sorted(unknown))}; there are "
                               f"{', '.join(sorted(set(metrics['name'])))}")
            metrics = metrics[metrics["name"].isin(names)]
        samples = self._frame("samples", ranks)
        about = metrics[["rank", "metric", "name", "device", "source", "unit", "modelled"]].copy()
        for column in ("name", "device", "source", "unit"):  # a few words, repeated a million times
            about[column] = about[column].astype("category")
        joined = samples.merge(about, on=["rank", "metric"])
        units = set(metrics["unit"])
        if len(units) == 1:
            joined = joined.drop(columns="unit").rename(columns={"value": f"value_{units.pop()}"})
        return self._on_clock(joined, "time_ns", common_clock)

    def facts(self, ranks=None):
        """name, value: text about a rank."""
        return self._frame("facts", ranks)

    def diagnostics(self, ranks=None):
        """What was counted on the way (rank, name, count): by the plan, the converter, the sampler."""
        facts = self.facts(ranks)
        counters = facts[facts["name"].str.startswith(COUNTERS)]
        counts = pandas.to_numeric(counters["value"], errors="coerce")
        result = counters[["rank", "name"]].assign(count=counts).dropna().reset_index(drop=True)
        return result.astype({"count": "int64"})

    # --- what a report says of it; definitions as in docs/run_format.md -------------------------------

    def coverage(self, ranks=None):
        """Shares of the recorded steps by how they were replayed (docs/coverage.md): a Series. All but `capped`,
        `unknown` and `compiled`, which are parts of others, sum to 1."""
        facts = self.facts(ranks)
        return measures.coverage(measures.of_all_ranks(self.nodes(ranks), facts), facts)

    def step_times(self):
        """Replayed step of the slowest rank, by measured iteration (a Series, ns)."""
        return measures.step_times(self.steps())

    def classes(self, ranks=None):
        """Recorded and replayed time, FLOPs and bytes of one pass, by operator class.

        Of transfers, `replayed_ns` counts from their own rank's arrival (the report's from the last
        member's)."""
        return measures.classes(measures.of_all_ranks(self.nodes(ranks), self.facts(ranks)))

    def shapes(self, ranks=None):
        """Recorded and replayed time of one pass, by operation and shapes of its inputs.

        What tracing took of the recorded time, as estimated, is in `tracing_ns`."""
        return measures.shapes(measures.of_all_ranks(self.nodes(ranks), self.facts(ranks)))

    # --- reading ------------------------------------------------------------------------------------

    def _read_manifest(self):
        try:
            manifest = json.loads((self.path / "manifest.json").read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            self.notes.add("manifest.json is missing")
            return {}
        except ValueError as error:
            self.notes.add(f"manifest.json is damaged ({error})")
            return {}
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ValueError(f"{self.path}/manifest.json: not the manifest of a run ({FORMAT})")
        return manifest

    def _read(self, path, name, ranks=None):
        """A frame of what can be read, empty if there is no such file, and whether that is all."""
        table = tables.Table()
        error = None
        if path.exists():
            try:
                with tables.File(path) as file:
                    table = file.read(name, ranks)
                    error = table.error
                    if name == "nodes" and error is not None and not table.rows:
                        table = file.read("node_info", ranks)  # the view needs all records
            except (OSError, sqlite3.Error) as damage:
                error = damage
        if error is not None:
            self.notes.add(f"{path.name}: damaged: {len(table.rows)} rows of {name} could be read ({error})")
        return tables.frame(name, table), error is None

    def _frame(self, name, ranks):
        """Of a complete run from run.sqlite, unless that leaves this table to the ranks' files."""
        wanted = self.ranks if ranks is None else sorted(set(ranks) if hasattr(ranks, "__iter__") else {ranks})
        absent = set(wanted) - set(self.ranks)
        if absent:
            raise KeyError(f"no rank {', '.join(map(str, sorted(absent)))} in {self.path}")
        if self.manifest.get("complete") and name != "records":
            frame, whole = self._read(self._merged, name, None if ranks is None else wanted)
            if whole and not frame.empty:
                return frame
        parts = [self._rank_frame(name, rank) for rank in wanted]
        filled = [part for part in parts if not part.empty]
        return pandas.concat(filled, ignore_index=True) if filled else parts[0]

    def _rank_frame(self, name, rank):
        path = self.path / f"rank{rank}.sqlite"
        if not path.exists() and name != "records":
            path = self._merged
        return self._read(path, name, [rank])[0]

    # --- clocks -------------------------------------------------------------------------------------

    def _on_clock(self, frame, column, common_clock):
        if not common_clock or frame.empty:
            return frame
        ranks = self._frame("ranks", None)
        hosts = dict(zip(ranks["rank"], ranks["host"]))
        facts = self.facts()
        mapped, note = host_clock.mappings(hosts, list(zip(facts["rank"], facts["name"], facts["value"])))
        if note is not None:
            self.notes.add(note)
        times_ns = frame[column].to_numpy(dtype="int64", copy=True)
        of_host = frame["rank"].map(hosts)
        for host, to_reference in mapped.items():
            chosen = (of_host == host).to_numpy()
            times_ns[chosen] = to_reference(times_ns[chosen])
        return frame.assign(**{column: times_ns})

