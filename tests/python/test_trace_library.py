"""The trace library and pure Python read the same of a file: types, values, order, notes. tests/e2e/python_test.py names the library."""
import contextlib
import gzip
import shutil
import unittest
import warnings

import made
import numpy
import pandas
import reprise
import zstandard
from reprise import et_stream, trace_library
from test_trace_set import write


@contextlib.contextmanager
def pure_python():
    library, trace_library.LIBRARY = trace_library.LIBRARY, None
    try:
        yield
    finally:
        trace_library.LIBRARY = library


class Same(unittest.TestCase):
    def setUp(self):
        self.assertIsNotNone(trace_library.LIBRARY, f"{trace_library.VARIABLE} names no library")

    def both(self, path, rank, by_library=True):
        """Compares all frames of a rank; `by_library`: whether the library reads them, or leaves them to Python; None: either."""
        results = []
        for how in (contextlib.nullcontext, pure_python):
            traces = reprise.TraceSet(path)
            with how(), warnings.catch_warnings():
                warnings.simplefilter("ignore", reprise.DamagedWarning)
                frames = [traces.nodes(rank), traces.nodes(rank, arguments=True), traces.edges(rank)]
            results.append((frames, traces.notes))
        (mine, my_notes), (theirs, their_notes) = results
        for one, other in zip(mine, theirs):
            pandas.testing.assert_frame_equal(one, other, check_exact=True)
            for column in one.select_dtypes("object"):
                self.assertEqual([type(value) for value in one[column]], [type(value) for value in other[column]], column)
        self.assertEqual(my_notes, their_notes)
        if by_library is not None:
            table = reprise.TraceSet(path)._table(rank, "reprise_read_nodes", 1)  # pylint: disable=protected-access
            self.assertEqual(table is not None, by_library)
        return mine

    def test_every_capture_of_the_repository(self):
        for case in ("gloo/gpt_ddp4", "gloo_comms/collectives4", "quickstart"):
            path = made.trace(case)
            for rank in reprise.TraceSet(path).ranks[:2]:
                self.assertGreater(len(self.both(path, rank)[2]), 10)

    def test_compressed(self):
        path = made.trace("quickstart")
        for suffix in (".gz", ".zst"):
            out = made.DIRECTORY / f"library{suffix}"
            shutil.copytree(path, out)
            file, = out.glob("*.1.et")
            content = file.read_bytes()
            file.unlink()
            (out / (file.name + suffix)).write_bytes({".gz": gzip, ".zst": zstandard}[suffix].compress(content))
            self.both(out, 1)

    def test_files_of_others(self):
        """Values of all types that columns hold, absent ones, numbers beyond 2^63, ids, edges without reasons."""
        nodes = []
        for number in range(5):
            node = et_stream.NodeMessage(id=2**64 - 1 - number, name="näme" if number % 2 else "", type=number * 2,
                                         data_deps=[number, number + 1], ctrl_deps=[number, 77], start_time_micros=7, duration_micros=3)
            node.inputs.values, node.inputs.types = "[1, 'a', [2.5]]", "['Int', 'String', '']"
            for name, field, value in (("u", "uint64_val", 2**64 - 1), ("f", "float_val", 0.1), ("b", "bytes_val", b"\0\xff"),
                                       ("s", "sint32_val", -3), ("t", "bool_val", number > 2), ("w", "string_val", "ü" * number),
                                       ("i", "int32_val", -number), ("d", "double_val", 1e300), ("x", "fixed32_val", 2**32 - 1)):
                if (number + len(nodes)) % 3 or name in "ft":
                    setattr(node.attr.add(name=name), field, value)
            if number % 2:
                node.attr.add(name="l").fixed32_list.values.extend([1, 2 + number])
                node.attr.add(name="n").string_list.values.extend(["a", "", "ö"])
                node.attr.add(name="start_ns").int64_val = -5
                node.attr.add(name="dep_reasons").int32_list.values.extend([5, 128 + 2])
            node.attr.add(name="nothing")
            nodes.append(node)
        self.both(write(made.DIRECTORY / "types.0.et", et_stream.GlobalMetadata(version="x"), *nodes), 0)

    def test_what_columns_do_not_hold(self):
        """Python reads these, and says what is damaged."""
        whole = (made.trace("quickstart") / next(iter(sorted(file.name for file in made.trace("quickstart").glob("*.0.et"))))).read_bytes()
        cut = made.DIRECTORY / "half.0.et"
        cut.write_bytes(whole[:len(whole) // 2])
        self.both(cut, 0, by_library=False)
        header = et_stream.GlobalMetadata(version="x")
        header.attr.add(name="node_count").uint64_val = 7
        kinds = {"list": ("double_list", [0.5]), "flags": ("bool_list", [True])}
        for number, (name, (field, value)) in enumerate(kinds.items()):
            node = et_stream.NodeMessage(id=1, name=name)
            getattr(node.attr.add(name="a"), field).values.extend(value)
            self.both(write(made.DIRECTORY / f"kind{number}.0.et", header, node), 0, by_library=False)
        changing = [et_stream.NodeMessage(id=number) for number in range(2)]
        changing[0].attr.add(name="a").int64_val = 1
        changing[1].attr.add(name="a").string_val = "1"
        self.both(write(made.DIRECTORY / "changing.0.et", header, *changing), 0, by_library=False)
        twice = et_stream.NodeMessage(id=1)
        for value in (1, 2):
            twice.attr.add(name="a").int64_val = value
        self.both(write(made.DIRECTORY / "twice.0.et", header, twice), 0, by_library=False)

    def test_damaged_bytes(self):
        """Bytes are changed one at a time; whatever one way reads or refuses, the other does, too."""
        file, = made.trace("quickstart").glob("*.0.et")
        whole = file.read_bytes()
        random = numpy.random.default_rng(7)
        for number in range(20):
            content = bytearray(whole)
            content[random.integers(len(whole))] = random.integers(256)
            path = made.DIRECTORY / f"changed{number}.0.et"
            path.write_bytes(content)
            self.both(path, 0, by_library=None)

    def test_fewer_nodes_than_promised(self):
        header = et_stream.GlobalMetadata(version="x")
        header.attr.add(name="node_count").uint64_val = 7
        path = write(made.DIRECTORY / "fewer.0.et", header, et_stream.NodeMessage(id=1, name="a"))
        self.both(path, 0)
        with self.assertWarnsRegex(reprise.DamagedWarning, "1 of 7 nodes"):
            reprise.TraceSet(path).nodes(0)

    def test_arguments_that_are_none(self):
        node = et_stream.NodeMessage(id=1, name="b")
        node.inputs.values = "__import__('os')"
        self.both(write(made.DIRECTORY / "bad.0.et", et_stream.GlobalMetadata(version="x"), node, node), 0)


if __name__ == "__main__":
    unittest.main()
