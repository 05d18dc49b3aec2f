#!/usr/bin/env python3
"""Holds the table of docs/definitions.md ("Keys of PyTorch's profiler") to the reader: what it calls read is looked for by
its name in converters/pytorch/kineto, what it calls ignored is not. Where PyTorch is installed (REPRISE_TORCH_PYTHON or
this interpreter), every key of its catalogue has a row."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import skips  # noqa: E402

TORCH_PYTHON = os.environ.get("REPRISE_TORCH_PYTHON", sys.executable)
# A name that the reader looks for elsewhere: of Ascend's events.
OF_OTHERS = {"Device Id"}


def rows():
    """key -> "read" or "ignored"."""
    text = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")
    [section] = re.findall(r"^### Keys of PyTorch's profiler\n(.*?)^#", text, re.MULTILINE | re.DOTALL)
    found = {}
    for keys, what in re.findall(r"^\| (`.*?) \| (read|ignored): ", section, re.MULTILINE):
        for key in re.findall(r"`([^`]+)`", keys):
            assert key not in found, f"two rows have {key}"
            found[key] = what
    return found


def source():
    """Of the reader, without comments."""
    text = "".join(path.read_text(encoding="utf-8")
                   for path in sorted((ROOT / "converters" / "pytorch" / "kineto").glob("*.cc")))
    return re.sub(r"//.*", "", text)


class ProfilerKeys(unittest.TestCase):
    def test_the_table_is_what_the_reader_does(self):
        found, code = rows(), source()
        self.assertGreater(len(found), 100)
        read = {key for key in found if re.search(rf'\[\s*"{re.escape(key)}"\s*\]|[{{,]\s*"{re.escape(key)}"', code)}
        self.assertEqual({key for key, what in found.items() if what == "read"}, read - OF_OTHERS)

    def test_every_key_of_the_catalogue_has_a_row(self):
        found = subprocess.run([TORCH_PYTHON, "-c", "import torch; print(torch.__file__)"], capture_output=True, text=True,
                               check=False)
        catalogue = pathlib.Path(found.stdout.strip() or ".").parent / "include" / "kineto" / "MetadataFieldCatalog.h"
        if not catalogue.exists():
            skips.skip("torch_python", "this needs the headers of 2.15")
        keys = re.findall(r'k\w+\{\s*"([^"]+)"\}', catalogue.read_text())
        self.assertGreater(len(keys), 100)
        self.assertEqual(set(keys) - set(rows()), set())


if __name__ == "__main__":
    unittest.main()
