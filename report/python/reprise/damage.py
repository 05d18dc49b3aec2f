"""What could not be read is said, once each, and the rest is given."""
import warnings


class DamagedWarning(UserWarning):
    """Something of a run or trace is missing or damaged; what was read is without it."""


class Notes(list):
    """What a reader should know, in the order in which it was found; no note twice."""

    def add(self, text):
        if text not in self:
            self.append(text)
            warnings.warn(text, DamagedWarning, stacklevel=4)
