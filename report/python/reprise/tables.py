"""Tables of a run's SQLite files as frames."""
import pathlib
import shutil
import sqlite3
import tempfile
import urllib.parse

import numpy
import pandas

from reprise import columns, run_schema, schema_check


class Table:
    """Rows of one file, with the names of their columns; `error` says why there are no more."""

    def __init__(self):
        self.columns, self.rows, self.error = [], [], None


class File:
    """One SQLite file of a run, for reading. Raises OSError or sqlite3.Error, and ValueError for another schema."""

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
        schema_check.check(self._connection, path)

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
            table.error = f"no table {name}"
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


def _column(kind, values):
    if kind == "Boolean":
        return columns.booleans(values)
    if kind == "Id":  # SQLite has signed integers only: what lies beyond 2^63 came back negative
        return columns.integers([value % 2**64 for value in values], "uint64")
    if kind == "Real":
        return numpy.array(values, dtype="float64")
    if kind == "Integer":
        return columns.integers(values)
    return values if values else numpy.array([], dtype="object")  # pandas would guess numbers


def frame(name, table):
    """`table` with the types of report/run/schema.def and all its columns, also where nothing could be read."""
    kinds = {column.name: column.type for column in run_schema.TABLES[name]}
    found = dict(zip(table.columns, list(zip(*table.rows)) or [()] * len(table.columns)))
    nothing = [None] * len(table.rows)
    return pandas.DataFrame({column: _column(kind, list(found.get(column, nothing))) for column, kind in kinds.items()})
