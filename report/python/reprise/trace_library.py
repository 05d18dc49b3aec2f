"""The nodes of an .et file through libreprise_trace (trace_library/tables.h), where the wheel has it. Pure Python reads the same
(trace_set.py), in more time."""
import ctypes
import importlib.metadata
import os
import pathlib

import numpy
import pandas

# Names another library than the wheel's, of the same version; empty: none, pure Python reads.
VARIABLE = "REPRISE_TRACE_LIBRARY"
INTEGER, UNSIGNED, REAL, BOOLEAN, TEXT, BYTES, INTEGER_LIST, TEXT_LIST = range(8)


class _Column(ctypes.Structure):
    """reprise_column."""
    _fields_ = [("name", ctypes.c_void_p), ("name_bytes", ctypes.c_uint64), ("kind", ctypes.c_int32), ("values", ctypes.c_uint64),
                ("rows", ctypes.c_void_p), ("cells", ctypes.c_void_p), ("elements", ctypes.c_uint64), ("element", ctypes.c_void_p),
                ("texts", ctypes.c_uint64), ("text_end", ctypes.c_void_p), ("text", ctypes.c_void_p)]


class Unreadable(Exception):
    """The library cannot read the file as columns: it is damaged, or of a kind that columns do not hold."""


def _path():
    """Of the library that was installed with this package; None: there is none."""
    if VARIABLE in os.environ:
        return os.environ[VARIABLE] or None
    try:
        installed = importlib.metadata.distribution("reprise-trace")
    except importlib.metadata.PackageNotFoundError:
        return None
    package = pathlib.Path(__file__).resolve().parent
    if pathlib.Path(installed.locate_file("reprise")).resolve() != package:
        return None  # this is another copy, e.g. of the sources
    for file in installed.files or ():
        if file.name == "libreprise_trace.so":
            return str(pathlib.Path(installed.locate_file(file)).resolve())
    return None


def _load():
    path = _path()
    if path is None:
        return None
    try:
        library = ctypes.CDLL(path)
    except OSError:
        if os.environ.get(VARIABLE):
            raise
        return None  # the machine's C library is older than the wheel's name says
    library.reprise_version.restype = ctypes.c_char_p
    library.reprise_read_nodes.restype = library.reprise_read_edges.restype = library.reprise_header.restype = ctypes.c_void_p
    library.reprise_read_nodes.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    library.reprise_read_edges.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.reprise_header.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)]
    library.reprise_rows.restype = library.reprise_nodes.restype = library.reprise_columns.restype = ctypes.c_uint64
    for call in (library.reprise_rows, library.reprise_nodes, library.reprise_columns, library.reprise_free):
        call.argtypes = [ctypes.c_void_p]
    library.reprise_free.restype = library.reprise_get_column.restype = None
    library.reprise_get_column.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(_Column)]
    return library


LIBRARY = _load()


class Column:
    """A column of a Table, copied: `kind`; `rows` that have a value, None: all; `values`, a numpy array of their values, or a list."""

    def __init__(self, column):
        self.name = ctypes.string_at(column.name, column.name_bytes).decode()
        self.kind = column.kind
        self.rows = None if column.rows is None else _array(column.rows, column.values, "uint32")
        cells = _array(column.cells, column.values, "uint64")
        if self.kind in (INTEGER, REAL):
            self.values = cells.view("int64" if self.kind == INTEGER else "float64")
        elif self.kind == BOOLEAN:
            self.values = cells.astype("bool")
        elif self.kind == UNSIGNED:
            self.values = cells
        elif self.kind in (TEXT, BYTES):
            self.values = _texts(column)[cells]
        else:
            elements = _array(column.element, column.elements, "int64")
            flat = (_texts(column)[elements] if self.kind == TEXT_LIST else elements).tolist()
            ends = cells.tolist()
            self.values = _objects([flat[begin:end] for begin, end in zip([0, *ends], ends)])

    def series(self, rows):
        """`rows` values with the type that trace_set's pure Python gives, missing where a row has none."""
        if self.rows is None:
            return pandas.Series(self.values, dtype="object") if self.values.dtype == object else self.values
        if self.kind in (INTEGER, UNSIGNED, BOOLEAN):
            values, missing = numpy.zeros(rows, dtype=self.values.dtype), numpy.ones(rows, dtype=bool)
            values[self.rows], missing[self.rows] = self.values, False
            array = pandas.arrays.BooleanArray if self.kind == BOOLEAN else pandas.arrays.IntegerArray
            return array(values, missing)
        if self.kind == REAL:
            values = numpy.full(rows, numpy.nan)
        else:
            values = numpy.full(rows, None, dtype="object")
        values[self.rows] = self.values
        return pandas.Series(values) if self.kind == REAL else pandas.Series(values, dtype="object")


class Table:
    """What the library read of a file: `rows`, `nodes` (their number), `header` (a message's bytes), `columns`."""

    def __init__(self, path, read, *arguments):
        error = ctypes.create_string_buffer(1024)
        table = getattr(LIBRARY, read)(os.fsencode(path), *arguments, error, len(error))
        if table is None:
            raise Unreadable(error.value.decode("utf-8", "replace"))
        try:
            size = ctypes.c_uint64()
            header = LIBRARY.reprise_header(table, ctypes.byref(size))
            self.header = ctypes.string_at(header, size.value)
            self.rows, self.nodes = LIBRARY.reprise_rows(table), LIBRARY.reprise_nodes(table)
            self.columns = []
            for index in range(LIBRARY.reprise_columns(table)):
                column = _Column()
                LIBRARY.reprise_get_column(table, index, ctypes.byref(column))
                self.columns.append(Column(column))
        finally:
            LIBRARY.reprise_free(table)


def _array(address, count, dtype):
    """A copy: the table is freed."""
    if not count:
        return numpy.array([], dtype=dtype)
    size = count * numpy.dtype(dtype).itemsize
    return numpy.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype).copy()


def _objects(values):
    return numpy.fromiter(values, dtype="object", count=len(values))


def _texts(column):
    """Each distinct text, once: rows share them."""
    ends = _array(column.text_end, column.texts, "uint64").tolist()
    text = ctypes.string_at(column.text, ends[-1] if ends else 0)
    parts = [text[begin:end] for begin, end in zip([0, *ends], ends)]
    return _objects(parts if column.kind == BYTES else [part.decode() for part in parts])
