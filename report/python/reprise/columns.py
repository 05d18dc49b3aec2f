"""Columns with exact types. pandas.array goes through float64 for some lists of large integers, which
changes ids and times (1.5 and 3.1 do, each in other cases)."""
import numpy
import pandas


def integers(values, dtype="int64"):
    """A numpy array, or one with missing values where there is a None."""
    missing = numpy.fromiter((value is None for value in values), dtype=bool, count=len(values))
    numbers = numpy.array([0 if value is None else value for value in values], dtype=dtype)
    return pandas.arrays.IntegerArray(numbers, missing) if missing.any() else numbers


def booleans(values):
    missing = numpy.fromiter((value is None for value in values), dtype=bool, count=len(values))
    truths = numpy.array([bool(value) for value in values], dtype=bool)
    return pandas.arrays.BooleanArray(truths, missing) if missing.any() else truths
