"""The tables of a run's SQLite files: run/schema.def of the sources, which the program's writer and reader come from too."""
import collections
import importlib.resources
import re

Column = collections.namedtuple("Column", "name type since before")  # before: SQL for earlier versions, or None
_ROW = re.compile(r'^REPRISE_(TABLE|COLUMN|COLUMN_FROM|MEDIAN)\((.*?)(?:, "(.*)")?\)$', re.MULTILINE)


def _read(text):
    """Columns by table, without those that only `nodes` has, and those."""
    tables, medians = {}, {}
    for kind, arguments, before in _ROW.findall(text):
        words = arguments.split(", ")
        if kind == "TABLE":
            name = words[0]
            tables[name] = [Column("rank", "Integer", 1, None)]
        elif kind == "MEDIAN":
            medians.setdefault(name, []).append(Column(words[0], words[1], int(words[2]), None))
        else:
            tables[name].append(Column(words[0], words[1], int(words[3]), before or None))
    for name, columns in medians.items():
        tables["nodes"] = tables[name] + columns
    return tables


TABLES = _read(importlib.resources.files("reprise").joinpath("run_schema.def").read_text(encoding="utf-8"))
# Files of a later schema are read as well: columns that are new are passed through under their names.
NEWEST = max(column.since for columns in TABLES.values() for column in columns)
