"""Runs and trace sets of Reprise, as pandas frames. Reads only: nothing on disk is changed.

    run = reprise.Run("run")            # a directory written by `reprise replay`
    traces = reprise.TraceSet("trace")  # a directory of .et files, or one such file

Units are in the names of columns (`_ns`, `_bytes`, …). What is damaged or missing does not stop
reading: it is left out, with a DamagedWarning, and listed in `notes`. docs/python.md has examples.
Needs pandas, protobuf and zstandard: pip install 'reprise-trace[analysis]'.
"""
import importlib

# Each name with its module, which is imported when the name is used: what needs no pandas runs without.
_MODULES = {
    "Argument": "trace_node",
    "DamagedWarning": "damage",
    "Node": "trace_node",
    "Run": "run",
    "TraceSet": "trace_set",
}
__all__ = sorted(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name.startswith(__name__):
            raise
        raise ModuleNotFoundError(f"reprise.{name} needs pandas, protobuf and zstandard, and {missing.name} is missing: "
                                  "pip install 'reprise-trace[analysis]'", name=missing.name) from missing


def __dir__():
    return sorted([*globals(), *__all__])
