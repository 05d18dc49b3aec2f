"""A trace set of many ranks, made of those of another: each copy has times of its own."""
import json
import random

import wire

TIMES = (b"start_ns", b"duration_ns", b"delay_ns")
NAME = "copies"
MICROSECOND = 1000


def messages(data):
    at = 0
    while at < len(data):
        size, at = wire.read_varint(data, at)
        yield data[at:at + size]
        at += size


def pieces(message):
    """(number, value, bytes) of each field."""
    at = 0
    for number, value in wire.fields(message):
        begin = at
        key, at = wire.read_varint(message, at)
        if key & 7 == 0:
            _, at = wire.read_varint(message, at)
        elif key & 7 == 2:
            size, at = wire.read_varint(message, at)
            at += size
        else:
            at += 8 if key & 7 == 1 else 4
        yield number, value, message[begin:at]


def attributes(message, field):
    """{name: (kind, number)} of those in this field."""
    out = {}
    for number, value in wire.fields(message):
        if number == field:
            (_, name), (kind, content) = list(wire.fields(value))[:2]
            out[name] = kind, content
    return out


def with_numbers(message, field, new):
    """A message whose attributes have the numbers of `new`; its fields of those numbers too."""
    out = b""
    for number, value, raw in pieces(message):
        if number == field:
            (_, name), (kind, _) = list(wire.fields(value))[:2]
            if name in new:
                raw = wire.field(field, wire.field(1, name) + wire.field(kind, new[name] % 2**64))
        elif number in new:
            raw = wire.field(number, new[number])
        out += raw
    return out


def dependencies(message):
    for number, value in wire.fields(message):
        if number == 5:
            at = 0
            while at < len(value):
                node, at = wire.read_varint(value, at)
                yield node


def of_rank(nodes, draw):
    """The nodes with other durations and delays, and starts that follow from these."""
    ends = {}
    speed = draw.uniform(0.95, 1.05)
    for node in nodes:
        numbers = {name: content for name, (_, content) in attributes(node, 10).items()}
        duration = round(numbers.get(b"duration_ns", 0) * speed * draw.lognormvariate(0, 0.08))
        delay = numbers.get(b"delay_ns", 0)
        delay = round(delay * speed * draw.lognormvariate(0, 0.15)) if delay < 2**62 else 0
        before = [ends[other] for other in dependencies(node) if other in ends]
        start = max(before) + delay if before else numbers[b"start_ns"]
        ends[next(value for number, value in wire.fields(node) if number == 1)] = start + duration
        yield with_numbers(node, 10, {**dict(zip(TIMES, (start, duration, delay))),
                                      6: max(start, 0) // MICROSECOND, 7: max(duration, 0) // MICROSECOND})


def write(source, target, ranks):
    """Groups of all ranks stay groups of all ranks; sets with others are not for this."""
    target.mkdir()
    draw = random.Random(5)
    files = sorted(source.glob("*.et"))
    originals = [list(messages(file.read_bytes())) for file in files]
    for rank in range(ranks):
        header, *nodes = originals[rank % len(originals)]
        out = [with_numbers(header, 2, {b"rank": rank, b"world_size": ranks}), *of_rank(nodes, draw)]
        (target / f"{NAME}.{rank}.et").write_bytes(b"".join(wire.varint(len(one)) + one for one in out))
    for name in ("comm_groups.json", "comm_groups_info.json"):
        groups = json.loads((source / name).read_text())
        if "0" in groups:
            groups["0"]["ranks"] = list(range(ranks))
        (target / name).write_text(json.dumps(groups))
