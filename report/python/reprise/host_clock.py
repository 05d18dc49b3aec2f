"""Times of several hosts on the clock of rank 0's host, from the comparisons that a run keeps (core/host_clock.h)."""
import numpy

# Two clocks are not known to drift apart faster.
MOST_DRIFT = 100e-6


class HostClock:
    """This host's clock against a reference: rows of time, offset (this clock minus the reference) and
    uncertainty, all in ns. A line between neighbours; outside of them the slope from first to last."""

    def __init__(self, rows):
        rows = sorted(rows)
        self.at_ns, self.offset_ns = (numpy.array([row[i] for row in rows], dtype="int64") for i in (0, 1))

    @classmethod
    def parse(cls, text):
        """Of "at offset uncertainty; at offset uncertainty"; None if it is not that."""
        try:
            rows = [tuple(map(int, row.split())) for row in text.split(";")]
        except ValueError:
            return None
        return cls(rows) if all(len(row) == 3 for row in rows) else None

    def inverse(self):
        """From the reference to this host's clock."""
        return HostClock(zip(self.at_ns - self.offset_ns, -self.offset_ns))

    def to_reference(self, times_ns):
        """int64 in, int64 out. Differences alone are floating point: times since 1970 are too long for it."""
        begin_ns, offset_ns = self.at_ns[0], self.offset_ns[0]
        at, offsets = (self.at_ns - begin_ns).astype("float64"), (self.offset_ns - offset_ns).astype("float64")
        times = (times_ns - begin_ns).astype("float64")
        drift = numpy.clip(offsets[-1] / at[-1], -MOST_DRIFT, MOST_DRIFT) if at[-1] > 0 else 0.0
        outside = numpy.minimum(times, 0) + numpy.maximum(times - at[-1], 0)
        change = numpy.interp(times, at, offsets) + drift * outside
        return times_ns - offset_ns - numpy.rint(change).astype("int64")


def mappings(hosts, facts):
    """{host: function of an int64 array, to the clock of rank 0's host}, and a note if there is something
    to know. `hosts`: by rank; `facts`: a list of (rank, name, value). Empty, with a note, if hosts can't be related."""
    if len(set(hosts.values())) == 1:
        return {}, None
    clocks = _clocks(hosts, facts, "clock_readings")
    if clocks is not None:
        return {host: clock.to_reference for host, clock in clocks.items()}, None
    clocks = _clocks(hosts, facts, "wall_readings")
    if clocks is None:
        return {}, "the hosts' clocks are not related: times stay those of their own hosts"
    home = hosts[min(hosts)]
    back = clocks.pop(home).inverse()
    return ({host: lambda times_ns, clock=clock: back.to_reference(clock.to_reference(times_ns))
             for host, clock in clocks.items()},
            "the hosts' clocks are related by their wall clocks only")


def _clocks(hosts, facts, name):
    """By host, of which one rank has the readings; None unless every host has some."""
    clocks = {}
    for rank, fact, value in facts:
        clock = HostClock.parse(value) if fact == name else None
        if clock is not None:
            clocks.setdefault(hosts.get(rank), clock)
    return clocks if set(hosts.values()) <= set(clocks) else None
