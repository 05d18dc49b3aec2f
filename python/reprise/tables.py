"""Tables of a run's SQLite files as frames, whatever the version of their schema."""
import pathlib
import shutil
import sqlite3
import tempfile
import urllib.parse

import pandas

from reprise import columns

# The newest schema that was known when this was written. Later ones are read as well: columns that
# are new are passed through under their names.
NEWEST_SCHEMA = 4

BOOLEANS = {"warmup", "inferred", "op_recorded", "async", "counts_for_coverage", "modelled", "closed"}
# SQLite has signed integers only: what lies beyond 2^63 came back negative.
IDS = {"node_id", "from_node", "to_node"}
# Columns that earlier schemas lack, and what they hold there.
LATER_COLUMNS = {
    "nodes": {"recorded_elapsed_ns": None, "recorded_delay_ns": None, "replayed_start_ns": None,
              "replayed_duration_ns": None},
    "devices": {"uuid": "", "pci_bus_id": ""},
    "metrics": {"kind": None, "states": "", "help": "", "period_ns": 0},
    "meters": {"rank": None, "device": None, "source": None, "name": None, "uuid": None,
               "pci_bus_id": None},
}


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
    if name == "value" and table == "samples":
        return pandas.array(values, dtype="float64")
    if name.endswith("_ns"):
        return columns.integers(values)
    return values


def frame(name, table):
    """`table` with the types that run_format.md gives, and the columns that an old schema lacks."""
    values = list(zip(*table.rows)) or [()] * len(table.columns)
    typed = {column: _column(name, column, list(of)) for column, of in zip(table.columns, values)}
    result = pandas.DataFrame(typed, columns=table.columns or list(LATER_COLUMNS.get(name, {})))
    for column, value in LATER_COLUMNS.get(name, {}).items():
        if column not in result:
            result[column] = pandas.array([value] * len(result),
                                          dtype="Int64" if column.endswith("_ns") else "object")
    if "is_counter" in result:  # schemas 1 and 2
        energy = (result["is_counter"] == 1) & (result["unit"] == "joules")
        result["kind"] = (result["is_counter"] == 1).map({True: "counter", False: "gauge"})
        result.loc[energy, "kind"] = "energy"
        result = result.drop(columns="is_counter")
    return result
