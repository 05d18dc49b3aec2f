"""A trace set on disk (docs/et_format.md): a directory of <name>.<rank>.et[.gz|.zst], or one file."""
import json
import pathlib
import re

import pandas

from reprise import columns, et_stream, trace_library, trace_node
from reprise.damage import Notes

REASONS = ("unknown", "thread", "stream", "launch", "event", "sync", "data", "fwd_bwd", "group", "comm_wait",
           "control")
INFERRED = 128
UNKNOWN_COUNT = 2**64 - 1
ARGUMENTS = ("inputs", "outputs")
FIXED = ("node_id", "name", "type", "start_ns", "duration_ns")
FILE_NAME = re.compile(r"(.+)\.(\d+)\.et(?:\.gz|\.zst)?")


class TraceSet:
    """Attributes: path, name, ranks (numbers), notes (what is missing or damaged, as far as was read)."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.notes = Notes()
        self._files = {}
        self.name = self.path.name
        if self.path.is_dir():
            for file in sorted(self.path.iterdir()):
                if found := FILE_NAME.fullmatch(file.name):
                    self.name = found.group(1)
                    self._files[int(found.group(2))] = file
        elif self.path.is_file():
            found = FILE_NAME.fullmatch(self.path.name)
            self._files[int(found.group(2)) if found else 0] = self.path
        else:
            raise FileNotFoundError(f"{path}: missing")
        if not self._files and (self.path / "ranks.json").exists():
            raise ValueError(f"{path}: a folded set, whose files stand for several ranks each; `reprise generate --expand` "
                             "writes one file a rank")
        if (self.path / "folded.json").exists():
            raise ValueError(f"{path}: a folded capture; `reprise convert {path} -o DIRECTORY --expand` writes one file a rank")
        if not self._files:
            raise ValueError(f"{path}: no trace set (no <name>.<rank>.et in it)")
        self.ranks = sorted(self._files)

    def __repr__(self):
        return f"<reprise.TraceSet {self.path}: {len(self.ranks)} ranks of {self.name}>"

    @property
    def groups(self):
        """Process groups: {id: {"ranks": [global ranks in group order], "description": text}}."""
        directory = self.path if self.path.is_dir() else self.path.parent
        ranks = self._read_json(directory / "comm_groups.json")
        info = self._read_json(directory / "comm_groups_info.json")
        return {group: {"ranks": ranks.get(group, info.get(group, {}).get("ranks", [])),
                        "description": info.get(group, {}).get("description", "")}
                for group in sorted({*ranks, *info}, key=lambda text: (len(text), text))}

    def metadata(self, rank):
        """The header: attributes by name, and `version`."""
        with et_stream.open_stream(self._files[rank]) as stream:
            header = next(et_stream.messages(stream), et_stream.GlobalMetadata())
        return {"version": header.version, **trace_node.to_attributes(header.attr)}

    def iterate(self, rank):
        """Every Node, in the file's order; memory holds one. A damaged file ends with a note."""
        file = self._files[rank]
        count = 0
        expected = UNKNOWN_COUNT
        try:
            with et_stream.open_stream(file) as stream:
                messages = et_stream.messages(stream)
                header = next(messages, et_stream.GlobalMetadata())
                expected = trace_node.to_attributes(header.attr).get("node_count", UNKNOWN_COUNT)
                for message in messages:
                    yield trace_node.to_node(message)
                    count += 1
        except et_stream.DAMAGE as error:
            self.notes.add(f"{file.name}: damaged after {count} nodes ({error})")
            return
        self._check_count(file, expected, count)

    def nodes(self, rank, arguments=False):
        """One row a node: id, name, type, times, and a column for each attribute that any node has.

        Attributes that a node lacks are missing values (et_format.md says what a reader assumes).
        Dependencies are in edges(). `arguments=True` adds `inputs` and `outputs`, lists of Argument.
        """
        table = self._table(rank, "reprise_read_nodes", int(arguments))
        if table is not None and table.rows:
            return self._frame(rank, table, arguments)
        rows, texts = [], []
        for node in self.iterate(rank):
            row = {"node_id": node.id, "name": node.name, "type": node.type, "start_ns": node.start_ns,
                   "duration_ns": node.duration_ns, **node.attributes}
            row.pop("dep_reasons", None)
            if arguments:
                texts.append([self._arguments(node.id, node.name, which, lambda node=node, which=which: getattr(node, which))
                              for which in ARGUMENTS])
            rows.append(row)
        names = dict.fromkeys((*FIXED, *(name for row in rows for name in row)))
        columns_of = {name: _typed(name, [row.get(name) for row in rows]) for name in names}
        return pandas.DataFrame({**columns_of, **_argument_columns(texts)} if arguments else columns_of)

    def edges(self, rank):
        """from_node, to_node, reason, inferred: the end of from_node comes before the start of to_node."""
        table = self._table(rank, "reprise_read_edges")
        if table is not None:
            self._check_count(self._files[rank], table.expected, table.nodes)
            return self._edge_frame(table)
        rows = []
        for node in self.iterate(rank):
            reasons = node.attributes.get("dep_reasons", [])
            if len(reasons) != len(node.data_deps):
                reasons = [0] * len(node.data_deps)
            for before, reason in zip(node.data_deps, reasons):
                kind = reason % INFERRED
                rows.append((before, node.id, REASONS[kind if kind < len(REASONS) else 0], reason >= INFERRED))
            rows += [(before, node.id, "control", False) for before in node.ctrl_deps
                     if before not in node.data_deps]
        before, after, reason, inferred = zip(*rows) if rows else ((), (), (), ())
        return pandas.DataFrame({"from_node": columns.integers(before, "uint64"),
                                 "to_node": columns.integers(after, "uint64"),
                                 "reason": pandas.Categorical(reason, categories=REASONS),
                                 "inferred": columns.booleans(inferred)})

    def _arguments(self, node_id, name, which, read):
        try:
            return read()
        except ValueError as error:
            self.notes.add(f"node {node_id} ({name}): {which}: {error}")
            return []

    def _table(self, rank, read, *arguments):
        """What the trace library reads; None where there is none, or where the file is for iterate() to read, which says what is damaged."""
        file = self._files[rank]
        if trace_library.LIBRARY is None:
            return None
        try:
            table = trace_library.Table(file, read, *arguments)
            header = et_stream.GlobalMetadata.FromString(table.header)
        except (trace_library.Unreadable, *et_stream.DAMAGE):
            return None
        table.expected = trace_node.to_attributes(header.attr).get("node_count", UNKNOWN_COUNT)
        return table

    def _check_count(self, file, expected, count):
        if expected not in (UNKNOWN_COUNT, count):
            self.notes.add(f"{file.name}: {count} of {expected} nodes, the file was cut")

    def _frame(self, rank, table, arguments):
        found = table.columns
        columns_of = {column.name: column.series(table.rows) for column in (found[:-6] if arguments else found)}
        columns_of["node_id"] = columns_of["node_id"].astype("uint64")
        types = [trace_node.TYPES[number] if number < len(trace_node.TYPES) else trace_node.TYPES[0] for number in columns_of["type"].tolist()]
        columns_of["type"] = pandas.Series(types, dtype="object")
        if arguments:
            nodes = list(zip(columns_of["node_id"].tolist(), columns_of["name"]))
            columns_of.update(_argument_columns(
                [[self._arguments(*node, which, lambda texts=texts: trace_node.arguments(*texts))
                  for which, texts in zip(ARGUMENTS, (texts[:3], texts[3:]))]
                 for node, *texts in zip(nodes, *(column.values for column in found[-6:]))]))
        self._check_count(self._files[rank], table.expected, table.nodes)
        return pandas.DataFrame(columns_of)

    def _edge_frame(self, table):
        before, after, reason, inferred = (column.values for column in table.columns)
        return pandas.DataFrame({"from_node": before.astype("uint64"), "to_node": after.astype("uint64"),
                                 "reason": pandas.Categorical.from_codes(reason, categories=REASONS), "inferred": inferred})

    def _read_json(self, path):
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            self.notes.add(f"{path.name} is damaged ({error})")
            return {}
        return read if isinstance(read, dict) else {}


def _argument_columns(rows):
    return {which: pandas.Series([row[i] for row in rows], dtype="object") for i, which in enumerate(ARGUMENTS)}


def _typed(column, values):
    """Integers and booleans stay what they are where some nodes have none."""
    present = [value for value in values if value is not None]
    if column == "node_id":
        return columns.integers(values, "uint64")
    if all(isinstance(value, bool) for value in present):
        return columns.booleans(values)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return columns.integers(values, "uint64" if any(value >= 2**63 for value in present) else "int64")
    return pandas.Series(values, dtype=None if all(isinstance(value, float) for value in present) else "object")
