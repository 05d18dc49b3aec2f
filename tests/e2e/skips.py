"""The one way in which a Python test is skipped: for a reason that tests/needs.def names, and that REPRISE_REQUIRE may
forbid."""
import os
import pathlib
import re
import sys
import unittest

NEEDS = dict(re.findall(r'^NEED\((\w+), "(.*)"\)$',
                        (pathlib.Path(__file__).resolve().parents[1] / "needs.def").read_text(), re.MULTILINE))
REQUIRED = {name for name in os.environ.get("REPRISE_REQUIRE", "").split(",") if name}
if REQUIRED - set(NEEDS):
    print(f"REPRISE_REQUIRE: no test is skipped for '{min(REQUIRED - set(NEEDS))}'; there are: {' '.join(NEEDS)}",
          file=sys.stderr)
    sys.exit(2)


def skip(need, why):
    """Skips the test, or the class whose setUpClass calls this; fails where `need` is required."""
    if need in REQUIRED:
        raise AssertionError(f"REPRISE_REQUIRE names {need}, {NEEDS[need]}: {why}")
    raise unittest.SkipTest(f"skipped for want of {need} ({NEEDS[need]}): {why}")


def skip_class_if(need, why):
    """A decorator of a class: where `why` says something, all its tests are skipped, or one fails if `need` is required."""
    def decorate(tests):
        if why:
            tests.setUpClass = classmethod(lambda cls: skip(need, why))
        return tests
    return decorate
