"""Damage to whole files: bytes, and what a file is."""
import gzip
import os


def truncate(data, rng):
    return data[:rng.randrange(len(data))]


def flip(data, rng):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 8, 64])):
        at = rng.randrange(len(out))
        out[at] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(data, rng):
    begin = rng.randrange(len(data))
    return data[:begin] + data[begin + rng.randrange(1, 5000):]


def double(data, rng):
    begin = rng.randrange(len(data))
    end = begin + rng.randrange(1, 5000)
    return data[:end] + data[begin:]


def zeros(data, rng):
    begin = rng.randrange(len(data))
    size = rng.randrange(1, 5000)
    return data[:begin] + bytes(len(data[begin:begin + size])) + data[begin + size:]


def noise(data, rng):
    begin = rng.randrange(len(data))
    return data[:begin] + rng.randbytes(rng.randrange(1, 200)) + data[begin:]


MUTATIONS = [truncate, flip, cut, double, zeros, noise]


def packed(path):
    return path.name.endswith(".gz")


def read(path, inside):
    data = path.read_bytes()
    return gzip.decompress(data) if inside and packed(path) else data


def write(path, data, inside):
    path.write_bytes(gzip.compress(data, 1) if inside and packed(path) else data)


def mutate(folder, rng, names=None):
    """Damages one file of a folder, packed or unpacked; what was done, in words."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and (names is None or names(path.name)))
    path = rng.choice(files)
    inside = packed(path) and rng.random() < 0.6
    mutation = rng.choice(MUTATIONS)
    data = read(path, inside)
    if not data:
        return f"{path.name} is empty"
    write(path, mutation(data, rng), inside)
    return f"{mutation.__name__}{' unpacked' if inside else ''} {path.name}"


def special(folder, rng):
    """A file becomes what is none."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    path.unlink()
    kind = rng.choice(["fifo", "directory", "zero", "loop", "nothing", "empty"])
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "empty":
        path.touch()
    return f"{kind} as {path.name}"


def bomb(folder, rng):
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    head = rng.choice([b"", b"{", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": [', b'{"traceEvents": [', b"\x02\x08\x01"])
    unit = rng.choice([b"\0", b"[", b'{"a":', b'"', b"\x02\x08\x01", b"1,", b" "])
    with gzip.open(path, "wb", 1) as out:  # in pieces: a child's peak memory begins with its parent's
        out.write(head)
        for _ in range(256):
            out.write(unit * ((1 << 20) // len(unit)))
    return f"bomb of {unit!r} after {head!r} as {path.name}"
