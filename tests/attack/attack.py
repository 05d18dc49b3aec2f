#!/usr/bin/env python3
"""Mutates every kind of input and sorts what the program makes of it.

  tests/attack/attack.py build/reprise [--count N] [--seed S] [--kinds capture,set,run,package,kill,special] [--keep DIR]

Each case damages a whole input in one way: truncation, flipped bits, swapped or copied files, bombs, special files,
hostile names, a kill while it writes. The result is one of

  clean error       exit code 1 to 4 and a message, nothing left behind
  same result       as with the input that was not touched
  accounted         exit code 0 and another result, where the program says what it found odd, or where the content that
                    was changed is no fact that it could check (a name, a duration of a capture)
  different result  exit code 0, another result, and not a word of it
  crash             a signal, "internal error", a sanitizer's report
  hang              longer than --seconds
  over budget       more memory than --megabytes
  left behind       temporary files, or a partial output

The last five fail. Counts and the first examples of each are printed; --keep has the inputs.
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = ROOT / "traces"
CAPTURES = ["quickstart", "gloo/resnet18", "gloo_comms/collectives4"]
FAILURES = ["different result", "crash", "hang", "over budget", "left behind"]
HOSTILE = "\x1b]0;owned\x07\nreprise: all is well\u202e=1+1|</script>"


class Program:
    def __init__(self, path, seconds, megabytes):
        self.path, self.seconds, self.megabytes = path, seconds, megabytes

    def run(self, *arguments):
        """(exit code or "hang", peak bytes, output)."""
        with tempfile.TemporaryFile() as text:
            child = subprocess.Popen([self.path, *map(str, arguments)], stdout=text, stderr=subprocess.STDOUT,
                                     stdin=subprocess.DEVNULL)
            deadline = time.monotonic() + self.seconds
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    child.kill()
                    _, status, usage = os.wait4(child.pid, 0)
                    status = None
                    break
                time.sleep(0.002)
            child.returncode = 0
            text.seek(0)
            output = text.read().decode(errors="replace")
        code = "hang" if status is None else os.waitstatus_to_exitcode(status)
        return code, usage.ru_maxrss * 1024, output


# --- mutations of one file ---------------------------------------------------------------------

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


# --- kinds of input ----------------------------------------------------------------------------

class Kind:
    """Makes a sound input once; damages a copy of it; runs a command on it."""

    def __init__(self, program, work):
        self.program, self.work = program, work

    def result(self, output, target):
        """What counts as the result of a command that ended well."""
        return output.replace(str(target), "TARGET")


def tree(folder):
    """Content of an output; without the checksums, which follow from it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "checksums.xxh128"}


class Capture(Kind):
    name = "capture"

    def sound(self, rng, to):
        shutil.copytree(TRACES / rng.choice(CAPTURES), to)

    def damage(self, folder, rng):
        choice = rng.random()
        if choice < 0.55:
            return mutate(folder, rng)
        if choice < 0.7:
            return special(folder, rng)
        if choice < 0.8:
            return bomb(folder, rng)
        if choice < 0.9:
            return self.swap(folder, rng)
        return self.rename(folder, rng)

    @staticmethod
    def swap(folder, rng):
        """A file of another rank or of another capture."""
        files = sorted(folder.glob("rank*.json.gz"))
        target = rng.choice(files)
        kind = target.name.split(".", 1)[1]
        others = [path for capture in CAPTURES + ["gloo/gpt_ddp4"] for path in (TRACES / capture).glob(f"rank*.{kind}")]
        source = rng.choice([path for path in others if path.read_bytes() != target.read_bytes()])
        shutil.copy(source, target)
        return f"{source.parent.name}/{source.name} as {target.name}"

    @staticmethod
    def rename(folder, rng):
        path = rng.choice(sorted(folder.glob("rank*.json.gz")))
        value = json.loads(gzip.decompress(path.read_bytes()))
        key = rng.choice(["pid", "baseTimeNanoseconds", "host_name", "distributedInfo", "schema", "names", "start_ts", "time"])
        if key == "names":
            for event in value.get("traceEvents", value.get("nodes", [])):
                if "name" in event and rng.random() < 0.2:
                    event["name"] = event["name"] + HOSTILE
        else:
            value[key] = rng.choice([0, -1, 2**63 - 1, 2**63, "5", None, [], {}, HOSTILE, 1e300, {"rank": 7, "world_size": -3}])
        path.write_bytes(gzip.compress(json.dumps(value).encode(), 1))
        return f"{key} of {path.name}"

    def command(self, folder, out):
        return ["convert", folder, "-o", out, "--strict"]

    def same(self, before, after):
        return before == after

    # A mutated capture that still converts is another capture: only what two places tell can be checked.
    checks_content = False


class TraceSet(Kind):
    name = "set"

    def sound(self, rng, to):
        code, _, output = self.program.run("convert", TRACES / rng.choice(CAPTURES), "-o", to)
        assert code == 0, output

    def damage(self, folder, rng):
        # As of earlier versions, which had no checksums: only the formats themselves can show damage then.
        self.checks_content = not (folder / "checksums.xxh128").exists() or rng.random() < 0.5
        if not self.checks_content:
            (folder / "checksums.xxh128").unlink()
        return special(folder, rng) if rng.random() < 0.2 else mutate(folder, rng)

    def command(self, folder, out):
        return ["simulate", folder, "--machine", "recorded", "-o", out, "--json"]

    checks_content = True


class ReportedSet(TraceSet):
    name = "report"

    def command(self, folder, out):
        return ["report", folder, "--json"]


class Run(TraceSet):
    name = "run"

    def sound(self, rng, to):
        with tempfile.TemporaryDirectory(dir=self.work) as parent:
            trace = pathlib.Path(parent) / "set"
            super().sound(rng, trace)
            code, _, output = self.program.run("simulate", trace, "--machine", "recorded", "-o", to)
            assert code == 0, output

    def command(self, folder, out):
        return ["report", folder, "--json"]


class Package(TraceSet):
    name = "package"

    def sound(self, rng, to):
        with tempfile.TemporaryDirectory(dir=self.work) as parent:
            trace = pathlib.Path(parent) / "set"
            super().sound(rng, trace)
            to.mkdir()
            code, _, output = self.program.run("pack", trace, "-o", to / "a.reprise", "--not-anonymized")
            assert code == 0, output

    def command(self, folder, out):
        return ["unpack", folder / "a.reprise", "-o", out]


def facts(output):
    """Of JSON with times and paths of the moment: what a damaged input could change."""
    try:
        value = json.loads(output)
    except ValueError:
        return output
    drop = {"command", "started_at", "run", "path", "directory", "recorded_at", "name", "notes"}

    def clean(item):
        if isinstance(item, dict):
            return {k: clean(v) for k, v in item.items() if k not in drop}
        return [clean(v) for v in item] if isinstance(item, list) else item
    return json.dumps(clean(value), sort_keys=True)


def notes(output):
    """What a report says that it found odd."""
    try:
        return json.loads(output).get("notes", [])
    except (ValueError, AttributeError):
        return []


def attack(kind, rng, work):
    """One case: (verdict, what was done, output)."""
    folder, out = work / "input", work / "out"
    for path in (folder, out):
        shutil.rmtree(path, ignore_errors=True)
    kind.sound(rng, folder)
    command = kind.command(folder, out)
    code, _, output = kind.program.run(*command)
    if code != 0:
        return "crash", "none", f"the sound input fails with {code}: {output}"
    sound_notes = notes(output)
    before = (facts(output), {} if kind.name == "set" else tree(out) if out.exists() else {})
    shutil.rmtree(out, ignore_errors=True)
    done = kind.damage(folder, rng)
    code, peak, output = kind.program.run(*command)
    left = [path.name for path in work.iterdir() if ".tmp" in path.name]
    if code == "hang":
        return "hang", done, output
    if code < 0 or code > 4 or "internal error" in output or "Sanitizer" in output:
        return "crash", done, f"{code}: {output}"
    if peak > kind.program.megabytes * 10**6:
        return "over budget", done, f"{peak / 1e6:.0f} MB: {output}"
    if left or (code != 0 and kind.name != "set" and out.exists()):
        return "left behind", done, f"{left}: {output}"
    if code != 0:
        return ("clean error" if "reprise: " in output else "crash"), done, output
    after = (facts(output), {} if kind.name == "set" else tree(out) if out.exists() else {})
    if after == before:
        return "same result", done, output
    if not kind.checks_content or "note:" in output or notes(output) != sound_notes:
        return "accounted", done, output
    return "different result", done, output


def kill(program, rng, work):
    """A signal at a random moment: nothing, or everything; after SIGKILL a second attempt is whole."""
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    capture = TRACES / rng.choice(CAPTURES)
    number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    child = subprocess.Popen([program.path, "convert", str(capture), "-o", str(out)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(rng.random() * 0.5)
    child.send_signal(number)
    code = child.wait(program.seconds)
    done = f"signal {number} during convert {capture.name}"
    left = [path.name for path in work.iterdir() if ".tmp" in path.name]
    if left and number != signal.SIGKILL:
        return "left behind", done, str(left)
    if code not in (0, -number):
        return "crash", done, f"exit code {code}"
    if out.exists():
        verdict, _, output = program.run("validate", out)
        if verdict != 0:
            return "different result", done, output
        shutil.rmtree(out)
    whole = work / "whole"
    for target in (whole, out):
        verdict, _, output = program.run("convert", capture, "-o", target, "--name", "t")
        if verdict != 0:
            return "crash", done, output
    same = tree(whole) == tree(out)
    shutil.rmtree(whole)
    for name in left:
        shutil.rmtree(work / name)
    return ("same result" if same else "different result"), done, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default="capture,set,report,run,package,kill")
    parser.add_argument("--seconds", type=float, default=60, help="longer is a hang")
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the inputs of failures")
    flags = parser.parse_args()
    known = {kind.name: kind for kind in (Capture, TraceSet, ReportedSet, Run, Package)}
    counts, examples = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory(prefix="reprise_attack_") as scratch:
        work = pathlib.Path(scratch)
        program = Program(flags.program, flags.seconds, flags.megabytes)
        for name in flags.kinds.split(","):
            for i in range(flags.count):
                seed = f"{flags.seed}/{name}/{i}"
                rng = random.Random(seed)
                if name == "kill":
                    verdict, done, output = kill(program, rng, work)
                else:
                    verdict, done, output = attack(known[name](program, work), rng, work)
                counts[name][verdict] += 1
                if verdict in FAILURES:
                    examples.append(f"{seed}: {verdict}: {done}\n    {output[-600:]}")
                    if flags.keep and (work / "input").exists():
                        shutil.copytree(work / "input", flags.keep / seed.replace("/", "_"), symlinks=True, dirs_exist_ok=True)
    verdicts = ["clean error", "same result", "accounted", *FAILURES]
    print(f"{'':<10}" + "".join(f"{verdict:>18}" for verdict in verdicts))
    for name, row in counts.items():
        print(f"{name:<10}" + "".join(f"{row[verdict]:>18}" for verdict in verdicts))
    print("\n".join(examples[:40]))
    return 1 if examples else 0


if __name__ == "__main__":
    sys.exit(main())
