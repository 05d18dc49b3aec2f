"""Tables of a run's SQLite files as frames, whatever the version of their schema."""
import pathlib
import shutil
import sqlite3
import tempfile
import urllib.parse

import numpy
import pandas

from reprise import columns

# The newest schema that was known when this was written. Later ones are read as well: columns that
# are new are passed through under their names.
NEWEST_SCHEMA = 7

BOOLEANS = {"warmup", "inferred", "op_recorded", "async", "counts_for_coverage", "capped", "modelled", "closed"}
INTEGERS = {"rank", "metric", "iteration", "step"}
FLOATS = {("nodes", "flops"), ("nodes", "bytes"), ("samples", "value")}
# SQLite has signed integers only: what lies beyond 2^63 came back negative.
IDS = {"node_id", "from_node", "to_node"}
# What a frame has at least, whether the file has the table, rows and these columns or not.
COLUMNS = {name: columns_of.split() for name, columns_of in {
    "ranks": "rank host device pid closed",
    "nodes": "rank node_id name class kind actor mode kernel flops bytes step recorded_start_ns recorded_duration_ns "
             "counts_for_coverage recorded_elapsed_ns recorded_delay_ns phase recorded_tracing_ns shape "
             "work_from capped replayed_start_ns replayed_duration_ns",
    "records": "rank node_id iteration step mode start_ns duration_ns",
    "steps": "rank iteration warmup step start_ns duration_ns",
    "edges": "rank from_node to_node reason inferred",
    "collectives": "rank node_id name process_group certainty position sequence dtype in_bytes out_bytes in_splits "
                   "out_splits root peer tag reduce_op op_recorded async group_size",
    "devices": "rank device backend name vendor driver compute_units memory_bytes uuid pci_bus_id",
    "meters": "rank device source name uuid pci_bus_id",
    "metrics": "rank metric name unit device source kind modelled states help period_ns",
    "samples": "rank metric time_ns value",
    "facts": "rank name value",
}.items()}


class Table:
    """Rows of one file, with the names of their columns; `error` says why there are no more."""

    def __init__(self):
        self.columns, self.rows, self.error = [], [], None


class File:
    """One SQLite file of a run, for reading. Raises OSError or sqlite3.Error."""

    def __init__(self, path):
        self._copy = None
        path = pathlib.Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"{path}: missing")
        try:
            self._open(path)
        except sqlite3.OperationalError:
            # A log whose index has to be made anew, in a place where a reader may not: on a copy.
            self._copy = tempfile.TemporaryDirectory(prefix="reprise_")
            for suffix in ("", "-wal"):
                source = path.with_name(path.name + suffix)
                if source.exists():
                    shutil.copy(source, pathlib.Path(self._copy.name) / source.name)
            self._open(pathlib.Path(self._copy.name) / path.name)

    def _open(self, path):
        mode = "ro" if self._copy is None else "rw"
        self._connection = sqlite3.connect(f"file:{urllib.parse.quote(str(path))}?mode={mode}", uri=True)
        # Names of hosts and operations need not be UTF-8.
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        # Opening is lazy: this is what fails.
        self.tables = {name for name, in self._connection.execute("SELECT name FROM sqlite_master")}
        self.schema = self._connection.execute("PRAGMA user_version").fetchone()[0]

    def close(self):
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def read(self, name, ranks=None):
        """All that can be read of a table (of `ranks` only, if given), in the order it was written."""
        table = Table()
        if name not in self.tables:
            table.error = f"no table {name}" if name != "meters" else None  # schema 3 brought it
            return table
        where = "" if ranks is None else f" WHERE rank IN ({','.join(map(str, map(int, ranks)))})"
        try:
            cursor = self._connection.execute(f"SELECT * FROM {name}{where}")
            table.columns = [column[0] for column in cursor.description]
            while True:
                some = cursor.fetchmany(10_000)
                if not some:
                    return table
                table.rows += some
        except sqlite3.Error as error:
            table.error = str(error)
            return table


def _column(table, name, values):
    if name in BOOLEANS:
        return columns.booleans(values)
    if name in IDS:
        return columns.integers([value % 2**64 for value in values], "uint64")
    if (table, name) in FLOATS:
        return numpy.array(values, dtype="float64")
    if name.endswith("_ns") or name in INTEGERS:
        return columns.integers(values)
    return values if values else numpy.array([], dtype="object")  # pandas would guess numbers


def frame(name, table):
    """`table` with the types of run_format.md, and missing values in columns that an old schema lacks."""
    values = list(zip(*table.rows)) or [()] * len(table.columns)
    found = dict(zip(table.columns, values))
    if "is_counter" in found:  # schemas 1 and 2
        found["kind"] = ["gauge" if not counter else "energy" if unit == "joules" else "counter"
                         for counter, unit in zip(found.pop("is_counter"), found["unit"])]
    nothing = [None] * len(table.rows)
    return pandas.DataFrame({column: _column(name, column, list(found.get(column, nothing)))
                             for column in dict.fromkeys((*COLUMNS[name], *found))})
