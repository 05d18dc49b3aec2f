"""Runs and trace sets of Reprise, as pandas frames. Reads only: nothing on disk is changed.

    run = reprise.Run("run")            # a directory written by `reprise replay`
    traces = reprise.TraceSet("trace")  # a directory of .et files, or one such file

Units are in the names of columns (`_ns`, `_bytes`, …). What is damaged or missing does not stop
reading: it is left out, with a DamagedWarning, and listed in `notes`. docs/python.md has examples.
"""
from reprise.damage import DamagedWarning
from reprise.run import Run
from reprise.trace_node import Argument, Node
from reprise.trace_set import TraceSet

__all__ = ["Argument", "DamagedWarning", "Node", "Run", "TraceSet"]
