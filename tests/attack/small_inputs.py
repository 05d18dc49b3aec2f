#!/usr/bin/env python3
"""Small inputs that ask for much: counts, ranges and values that a few digits can hold.

  tests/attack/small_inputs.py build/reprise [--only TEXT] [--seconds S] [--megabytes M] [--keep DIR]

Makes each input anew with the program under test, then forges it: an old format would be refused for its version. Each
command must end within --seconds of CPU time and --megabytes of memory, with an exit code from 0 to 4, without "internal
error" and with nothing left behind where it fails. A case may name text that the message must have, so that no other
refusal counts. Prints a line for each command.
"""
import argparse
import fcntl
import gzip
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from child import ROOT
import child
import wire

TINY = {"model": {"family": "gpt", "layers": 2, "hidden": 8, "heads": 2, "vocab": 16, "sequence": 4},
        "layout": {"tp": 2, "pp": 2, "dp": 1}, "batch": {"global": 2, "micro": 1}}
MANY = 1 << 20  # ranks: the default limit

CASES = []


def case(function):
    CASES.append(function)
    return function


def header_of(data):
    """The bytes of a file's header, and what follows."""
    size, at = wire.read_varint(data, 0)
    return data[at:at + size], data[at + size:]


def with_attribute(path, name, value):
    """Another number for one attribute of a file's header."""
    header, rest = header_of(path.read_bytes())
    out = b""
    for number, content in wire.fields(header):
        if number == 2 and dict(wire.fields(content)).get(1) == name.encode():
            kind = next(key for key, _ in wire.fields(content) if key != 1)
            content = wire.field(1, name.encode()) + wire.field(kind, value)
        out += wire.field(number, content)
    path.write_bytes(wire.varint(len(out)) + out + rest)


class Work:
    """A folder, the program, and what makes sound inputs in it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def job(self, **changes):
        """The description of a tiny job as a file; a dotted name reaches into it."""
        value = json.loads(json.dumps(TINY))
        for name, to in changes.items():
            at = value
            *path, last = name.split("__")
            for key in path:
                at = at[key]
            at[last] = to
        path = self.folder / "job.json"
        path.write_text(json.dumps(value))
        return path

    def folded_set(self, change=None, name="set"):
        """A generated set; `change` gets the object of its ranks.json, and checksums are dropped."""
        target = self.folder / name
        self.run("generate", self.job(), "-o", target)
        if change:
            (target / "checksums.xxh128").unlink()
            path = target / "ranks.json"
            value = json.loads(path.read_text())
            change(value)
            path.write_text(json.dumps(value))
        return target

    def expanded_set(self):
        """The same job, a file a rank."""
        target = self.folder / "ranks"
        self.run("generate", self.job(), "--expand", "-o", target)
        return target

    def package(self, source):
        """The files of a set as a package, whatever `pack` would say of them."""
        listed = subprocess.run(["sha256sum", *sorted(os.listdir(source))], cwd=source, capture_output=True, text=True, check=True)
        files = [{"path": line.split()[1], "bytes": (source / line.split()[1]).stat().st_size, "sha256": line.split()[0]}
                 for line in listed.stdout.splitlines()]
        manifest = {"format": "reprise-package-1", "name": "set", "et_format": 1, "reprise_version": "0", "policy": None,
                    "licence": None, "files": files}
        (source / "manifest.json").write_text(json.dumps(manifest))
        package = self.folder / "forged.reprise"
        subprocess.run(["tar", "--zstd", "-cf", package, "-C", source, "manifest.json", *[file["path"] for file in files]],
                       check=True)
        (source / "manifest.json").unlink()
        return package


    def folded_capture(self, source=None):
        """That set, or one of the same job, folded by `convert`; checksums are dropped."""
        target = self.folder / "capture"
        self.run("convert", source or self.expanded_set(), "-o", target, "--fold")
        (target / "checksums.xxh128").unlink()
        return target


def many_ranks(ranks):
    """Half of the ranks in each class, groups by rule."""
    def change(value):
        half = ranks // 2
        value["world_size"] = ranks
        value["classes"][0]["ranks"] = [f"0-{half - 1}"]
        value["classes"][1]["ranks"] = [f"{half}-{ranks - 1}"]
        for role in value["groups"]:
            value["groups"][role] = {"mesh": [2, ranks // 4, 2], "axes": [{"tp": 0, "pp": 2}.get(role, 1)]}
            if role == "embd":
                value["groups"][role]["axes"] = [2]
    return change


def on_set(target, says=None):
    """The commands that read a set."""
    yield ["stats", target], says
    yield ["stats", target, "--json"], says
    yield ["validate", target], says
    yield ["validate", target, "--for", "astra-sim"] if says else ["validate", target, "--json"], says
    yield ["audit", target], says
    yield ["pack", target, "-o", "out", "--not-anonymized"], says
    yield ["anonymize", target, "out"], says
    yield ["simulate", target, "--machine", "h100-hgx", "-o", "out"], says
    yield ["report", target], says
    yield ["simulate", target, "--machine", "h100-hgx", "--ranks", "0", "-o", "out"], says
    yield ["compare", f"a={target}", f"b={target}"], says
    for kind in ("chakra-json", "astra-sim", "json", "graphml", "goal"):
        yield ["export", target, "--to", kind, "-o", "out"], says


@case
def sixteen_million_ranks(work):
    target = work.folded_set(many_ranks(1 << 24))
    yield ["unpack", work.package(target), "-o", "out"], "--limits ranks="
    yield from on_set(target, "--limits ranks=")


@case
def a_million_ranks(work):
    target = work.folded_set(many_ranks(MANY))
    yield ["unpack", work.package(target), "-o", "out"], None
    yield from (row for row in on_set(target) if row[0][0] != "simulate")


@case
def a_million_groups_of_many_roles(work):
    def change(value):
        many_ranks(MANY)(value)
        for number in range(20_000):
            value["groups"][f"r{number}"] = {"mesh": [MANY], "axes": []}
    yield from itertools.islice(on_set(work.folded_set(change), "--limits roles="), 5)


@case
def a_million_groups_of_some_roles(work):
    def change(value):
        many_ranks(MANY)(value)
        for number in range(24):
            value["groups"][f"r{number}"] = {"mesh": [MANY], "axes": []}
    target = work.folded_set(change)
    yield ["unpack", work.package(target), "-o", "out"], None
    yield from itertools.islice(on_set(target), 5)


@case
def mesh_of_many_axes(work):
    def change(value):
        value["groups"]["tp"] = {"mesh": [1] * 100_000 + [4], "axes": [100_000]}
    yield from itertools.islice(on_set(work.folded_set(change), "axes"), 3)


@case
def one_file_for_many_classes(work):
    def change(value):
        ranks = 20_000
        value["world_size"] = ranks
        value["classes"] = [{"file": value["classes"][0]["file"], "ranks": [str(rank)]} for rank in range(ranks)]
        value["groups"] = {role: {"mesh": [ranks], "axes": [0]} for role in value["groups"]}
    yield from itertools.islice(on_set(work.folded_set(change), "two classes"), 3)


@case
def many_small_classes(work):
    """As many files as a package may have in a megabyte."""
    target = work.folded_set(many_ranks(4))
    ranks = 4_000
    value = json.loads((target / "ranks.json").read_text())
    first = (target / value["classes"][0]["file"]).read_bytes()
    header = header_of(first)[0]
    header = wire.varint(len(header)) + header
    for file in target.glob("*.et"):
        file.unlink()
    value["world_size"] = ranks
    value["classes"] = [{"file": f"set.class{rank}.et", "ranks": [str(rank)]} for rank in range(ranks)]
    value["groups"] = {"tp": {"mesh": [ranks], "axes": [0]}}
    (target / "ranks.json").write_text(json.dumps(value))
    for one in value["classes"]:
        (target / one["file"]).write_bytes(header)
    yield ["unpack", work.package(target), "-o", "out"], None
    yield ["stats", target], None
    yield ["validate", target], None


@case
def sixteen_million_ranks_of_a_folded_capture(work):
    target = work.folded_capture()
    value = json.loads((target / "folded.json").read_text())
    value["classes"][-1]["ranks"] = [f"4-{1 << 24}"]
    (target / "folded.json").write_text(json.dumps(value))
    yield from on_set(target, "--limits ranks=")
    yield ["convert", target, "-o", "out", "--expand"], "--limits ranks="


@case
def records_that_unpack_to_much(work):
    """A zstd frame that announces 2^60 bytes, and one that announces 2^35."""
    target = work.folded_capture()
    times = next(target.glob("*.class0.times"))
    kept = times.read_bytes()
    first = 16 + 8 * int.from_bytes(kept[12:16], "little")
    for bits, limit in ((60, "--limits bytes="), (35, "--limits ratio=")):
        frame = b"\x28\xb5\x2f\xfd\xe0" + (1 << bits).to_bytes(8, "little")
        times.write_bytes(kept[:first] + frame + kept[first + len(frame):])
        yield from itertools.islice(on_set(target, limit), 4)
        yield ["convert", target, "-o", "out", "--expand"], limit


@case
def classes_whose_file_is_a_rank(work):
    target = work.folded_capture()
    value = json.loads((target / "folded.json").read_text())
    value["classes"][0]["file"] = f"{value['name']}.0.et"
    (target / "folded.json").write_text(json.dumps(value))
    yield from itertools.islice(on_set(target, "folded.json names it"), 4)


@case
def wide_strides(work):
    def change(value):
        value["classes"][0]["ranks"] = ["0-1:2147483647", "1"]
        value["groups"]["tp"] = [["0-0:2147483647", "1-3:2147483647", "3"]]
    yield from itertools.islice(on_set(work.folded_set(change)), 8)


@case
def class_without_ranks(work):
    def change(value):
        value["classes"].append({"file": "x.class9.et", "ranks": []})
    target = work.folded_set(change)
    shutil.copy(target / "job.class0.et", target / "x.class9.et")
    yield from itertools.islice(on_set(target, "no ranks"), 8)


@case
def header_of_two_billion_ranks(work):
    target = work.expanded_set()
    (target / "checksums.xxh128").unlink()
    for file in target.glob("*.et"):
        with_attribute(file, "world_size", 2**31 - 1)
    yield from on_set(target, "--limits ranks=")
    yield ["unpack", work.package(target), "-o", "out"], "--limits ranks="


@case
def file_of_the_last_rank(work):
    target = work.expanded_set()
    (target / "checksums.xxh128").unlink()
    (target / "job.1.et").rename(target / "job.2147483647.et")
    yield from on_set(target, "--limits ranks=")


@case
def many_transfers_in_a_large_group(work):
    """A list of a hundred thousand ranks, and a header that says as many."""
    target = work.expanded_set()
    (target / "checksums.xxh128").unlink()
    ranks = 100_000
    for file in target.glob("*.et"):
        with_attribute(file, "world_size", ranks)
    groups = json.loads((target / "comm_groups.json").read_text())
    (target / "comm_groups.json").write_text(json.dumps({name: list(range(ranks)) for name in groups}))
    yield from itertools.islice(on_set(target), 7)


@case
def damaged_rank(work):
    """No command leaves the output of the ranks before the damaged one."""
    target = work.expanded_set()
    (target / "checksums.xxh128").unlink()
    file = target / "job.3.et"
    file.write_bytes(file.read_bytes()[:-200])
    yield ["export", target, "--to", "chakra-json", "-o", "out"], "job.3.et"
    yield ["export", target, "--to", "astra-sim", "-o", "out"], "job.3.et"
    yield ["export", target, "--to", "goal-text", "-o", "out"], "job.3.et"
    yield ["anonymize", target, "out"], "job.3.et"
    yield ["pack", target, "-o", "out", "--not-anonymized"], "job.3.et"


@case
def node_twice(work):
    """The last node of a file gets the id of the one before it."""
    target = work.expanded_set()
    (target / "checksums.xxh128").unlink()
    file = target / "job.0.et"
    data = file.read_bytes()
    at, messages = 0, []
    while at < len(data):
        size, begin = wire.read_varint(data, at)
        at = begin + size
        messages.append(data[begin:at])
    (before, _), (_, end) = (wire.read_varint(message, 1) for message in messages[-2:])
    messages[-1] = wire.field(1, before) + messages[-1][end:]
    file.write_bytes(b"".join(wire.varint(len(message)) + message for message in messages))
    yield ["validate", target], "id that another node has"
    yield ["anonymize", target, "out"], "id that another node has"
    yield ["anonymize", target, "out", "--verify"], "id that another node has"


@case
def described_jobs(work):
    for changes, says in (({"steps": 1_000_000}, "--limits steps="), ({"steps": 9_999, "model__layers": 64}, "--limits job_nodes="),
                          ({"model__layers": 2**31}, "--limits layers="),
                          ({"layout__dp": 2**20, "batch__global": 2**20}, "--limits ranks="),
                          ({"layout__pp": 1, "batch__global": 1_000_000}, "--limits job_nodes="),
                          ({"model__layers": 6_000, "layout__pp": 1, "batch__global": 1000}, "--limits job_nodes="),
                          ({"model__family": "mixtral", "model__experts": 2**30, "model__top_k": 1}, "--limits layers=")):
        job = work.job(**changes)
        yield ["generate", job, "-o", "out"], says
        if says != "--limits job_nodes=" or "steps" in changes:  # many micro-batches are predicted from few
            yield ["predict", job, "--machine", "h100-hgx"], says
    yield ["predict", work.job(layout__pp=1, batch__global=1_000_000), "--machine", "h100-hgx"], None
    job = work.job()
    yield ["generate", job, "--steps", "1000000000", "-o", "out"], "--limits steps="
    yield ["generate", job, "--dp", "4096", "--global-batch", "8192", "--expand", "-o", "out"], "--limits files="
    yield ["sweep", job, "--machine", "h100-hgx", "-o", "out", *[f"{key}=" + ",".join(map(str, range(1, 200)))
                                                                 for key in ("tp", "pp", "dp", "micro-batch")]], "--limits jobs="


@case
def text_workload_of_many_ranks(work):
    text = work.folder / "job.txt"
    text.write_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 65536 checkpoints: 0 "
                    "checkpoint_initiates: 0\n1\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 1024 5\n")
    yield ["convert", text, "-o", "out"], "--limits files="


@case
def capture_of_many_ranks(work):
    for kind in ("et", "kineto"):
        shutil.copy(ROOT / f"traces/quickstart/rank0.{kind}.json.gz", work.folder)
    path = work.folder / "rank0.kineto.json.gz"
    value = json.loads(gzip.decompress(path.read_bytes()))
    value["distributedInfo"]["world_size"] = 1 << 24
    path.write_bytes(gzip.compress(json.dumps(value).encode(), 1))
    yield ["convert", "--host-trace", "rank0.et.json.gz", "--device-trace", path, "-o", "out.et"], "--limits ranks="


@case
def rows_of_a_sweep(work):
    """A changed number, a wrong type, a cut line: each is named, or predicted again."""
    job = work.job()
    command = ["sweep", job, "--machine", "h100-hgx", "micro-batch=1,2", "-o", "rows", "--quiet"]
    work.run(*command)
    rows = work.folder / "rows" / "rows.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    for change in (lambda line: line.replace('"step_time_ns":', '"step_time_ns":1'),
                   lambda line: line.replace('"machine":"', '"machine":7,"was":"'), lambda line: line[:100] + "\n",
                   lambda line: "7\n"):
        rows.write_text(lines[0] + change(lines[1]) + lines[2])
        yield command, "rows.jsonl: line 2: damaged or changed"
    lock = os.open(work.folder / "rows", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # as another sweep has it
    yield command, "another sweep"
    os.close(lock)
    for name in ("rows.jsonl", "sweep.json"):
        file = work.folder / "rows" / name
        file.write_bytes(file.read_bytes()[:50])
    yield command, "another job"


@case
def values_of_wrong_types(work):
    target = work.expanded_set()
    (target / "checksums.xxh128").unlink()
    for value in ([], 7, {"policy": {"name": 7}}, {"policy": 7}):
        (target / "anonymized.json").write_text(json.dumps(value))
        yield ["audit", target], None
    (target / "anonymized.json").unlink()
    for value in ([], 7, {"name": 7}, {"name": "x", "fields": []}, {"name": "x", "fields": {"name": 7}}):
        policy = work.folder / "policy.json"
        policy.write_text(json.dumps(value))
        yield ["anonymize", target, "out", "--policy", policy], "policy.json"
    for value in ({"models": [7]}, {"models": [], "format": 7}, {"models": ["gpt-small"], "format": "reprise-sweep-file", "version": "1"},
                  {"models": ["gpt-small"], "format": "reprise-sweep-file", "version": 1, "vary": {"tp": [{}]}},
                  {"models": ["gpt-small"], "format": "reprise-sweep-file", "version": 1, "layouts": [7]}):
        sweep = work.folder / "sweep.json"
        sweep.write_text(json.dumps(value))
        yield ["sweep", sweep, "--machine", "h100-hgx", "-o", "out"], "sweep.json"
    machine = work.folder / "machine.json"
    machine.write_text('{"format": "reprise-machine", "version": 1, "name": 1e999}')
    yield ["predict", work.job(), "--machine", machine], "machine.json"
    for value in ({"like": 7}, {"like": "machine.json"}, {"like": "h100-hgx", "links": 7}, {"like": "h100-hgx", "device": None},
                  {"like": "h100-hgx", "device": {"name": {"value": 7}}}, {"like": "h100-hgx", "device": {"power": {"limit": None}}},
                  {"like": "h100-hgx", "links": {"nvlink": {"bandwidth": {"value": []}}}}, {"like": "h100-study", "node": {"nodes": [None]}}):
        machine.write_text(json.dumps({"format": "reprise-machine", "version": 1, "name": "mine", "about": "wrong", **value}))
        yield ["predict", work.job(), "--machine", machine], "machine.json"
    for name in ("comm_groups.json", "comm_groups_info.json"):
        for value in ([], 7, {"1": 7}, {"1": ["a"]}, {"1": [0, 2**40]}, {"1": [-1]}, {"1": {"ranks": 7}}, {"1": {"description": 7}}):
            keep = (target / name).read_text()
            (target / name).write_text(json.dumps(value))
            yield ["stats", target], None
            (target / name).write_text(keep)
    folded = work.folded_set(name="folded")
    (folded / "checksums.xxh128").unlink()
    for value in ([], 7, {"format": 7}, {"classes": 7}, {"groups": [7]}, {"groups": {"tp": 7}}, {"groups": {"tp": {"mesh": 7, "axes": [0]}}},
                  {"groups": {"tp": {"mesh": [4], "axes": [-1]}}}, {"groups": {"tp": {"mesh": [2, 2], "axes": [0], "at": [1, 0]}}},
                  {"descriptions": 7}, {"descriptions": {"tp": 7}}, {"world_size": 1e300}, {"world_size": "4"}):
        keep = (folded / "ranks.json").read_text()
        (folded / "ranks.json").write_text(json.dumps(json.loads(keep) | value if isinstance(value, dict) else value))
        yield ["stats", folded], "ranks.json"
        (folded / "ranks.json").write_text(keep)
    capture = work.folded_capture(target)
    keep = (capture / "folded.json").read_text()
    for value in ([], 7, {"format": 7}, {"classes": 7}, {"classes": []}, {"classes": [7]}, {"name": 7}, {"name": "../x"},
                  {"classes": [{"file": 7}]}, {"classes": [{"file": "a", "times": "b", "ranks": [7]}]}, {"version": 1e300}):
        (capture / "folded.json").write_text(json.dumps(json.loads(keep) | value if isinstance(value, dict) else value))
        yield ["stats", capture], "folded.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the inputs")
    flags = parser.parse_args()
    program = str(pathlib.Path(flags.program).resolve())
    bad = 0
    with tempfile.TemporaryDirectory(prefix="reprise_small_") as scratch:
        for make in CASES:
            if flags.only not in make.__name__:
                continue
            folder = pathlib.Path(scratch) / make.__name__
            folder.mkdir()
            for command, says in make(Work(program, folder)):
                bad += not judge(program, folder, make.__name__, command, says, flags)
            if flags.keep:
                shutil.copytree(folder, flags.keep / make.__name__, symlinks=True)
            shutil.rmtree(folder)
    print(f"{bad} failed")
    return 1 if bad else 0


def judge(program, folder, name, command, says, flags):
    """Runs a command in the folder of its case, and prints what came of it. True: as it must be."""
    before = set(os.listdir(folder))
    # A loaded machine may take long; what counts is CPU time.
    done = child.run([program, *command], 12 * flags.seconds, 4 * flags.seconds, folder)
    code, output, seconds, megabytes = done.code, done.output, done.cpu_seconds, done.peak_bytes / 1e6
    added = set(os.listdir(folder)) - before
    wrong = []
    if code is None:
        wrong.append("no end")
    elif code < 0 or code > 4 or "internal error" in output:
        wrong.append("crash")
    if seconds > flags.seconds:
        wrong.append("time")
    if megabytes > flags.megabytes:
        wrong.append("memory")
    if code != 0 and added or any(".tmp" in path for path in added):
        wrong.append(f"left {sorted(added)}")
    if says and (says not in output or code == 0):
        wrong.append(f"does not say {says!r}")
    for path in added:
        shutil.rmtree(folder / path) if (folder / path).is_dir() else (folder / path).unlink()
    shown = " ".join(str(part).replace(str(folder) + "/", "") for part in command)
    last = output.strip().splitlines()[-1][:150] if code != 0 and output.strip() else ""
    print(f"{'FAIL ' + ', '.join(wrong) if wrong else 'ok':<12} {name:<32} {seconds:6.2f} s {megabytes:6.0f} MB  {code}  {shown}"
          f"\n{'':<14}{last}", flush=True)
    return not wrong


if __name__ == "__main__":
    sys.exit(main())
