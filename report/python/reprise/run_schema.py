"""The tables of a run's SQLite files: report/run/schema.def of the sources, which the program's writer and reader come from too."""
import collections
import importlib.resources
import re

Column = collections.namedtuple("Column", "name type")
_TEXT = importlib.resources.files("reprise").joinpath("run_schema.def").read_text(encoding="utf-8")
_ROW = re.compile(r"^REPRISE_(TABLE|COLUMN|SHARED|MEDIAN)\((.*)\)$", re.MULTILINE)


def _read(text):
    """Columns by table, without those that only `nodes` has, and those; names of shared columns by table that has some."""
    tables, medians, shared = {}, {}, {}
    for kind, arguments in _ROW.findall(text):
        words = arguments.split(", ")
        if kind == "TABLE":
            name = words[0]
            tables[name] = [Column("rank", "Integer")]
        elif kind == "MEDIAN":
            medians.setdefault(name, []).append(Column(words[0], words[1]))
        else:
            tables[name].append(Column(words[0], words[1]))
            if kind == "SHARED":
                shared.setdefault(name, set()).add(words[0])
    for name, columns in medians.items():
        tables["nodes"] = tables[name] + columns
    return tables, shared


TABLES, SHARED = _read(_TEXT)
VERSION, OLDEST = (int(re.search(rf"^REPRISE_SCHEMA_{name}\((\d+)\)$", _TEXT, re.MULTILINE).group(1)) for name in ("VERSION", "OLDEST"))
