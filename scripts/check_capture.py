#!/usr/bin/env python3
"""Proves that a conversion keeps what a capture says: reads the raw Kineto files itself and compares.

  scripts/check_capture.py FILE_OR_DIRECTORY …             a table for each capture; exit 1 if a difference has no name
  scripts/check_capture.py --markdown FILE_OR_DIRECTORY …  one row for each, as in docs/measured.md

It shares nothing with the converter. Its rules, all of them:

Device work    a complete event (ph X, or B with its E) of the categories kernel, gpu_memcpy and gpu_memset, or of their
               names before PyTorch 1.13; and any event of another category that lies on a stream: its args have one of
               STREAM, and its category is none of the host's (HOST) and none of those that only mark (MARKS). Where events
               of such a category lie on streams, its others are device work, too.
Host work      an event of the categories in HOST; and of Ascend's runtime, which has no category but a "Thread Id".
Transfer       an event that is no host work and no mark, if its args have a "Collective name", or its name is in
               TRANSFER; and what gloo marks (gloo:…) beside a device; in a capture without device work, a call
               c10d::… of one of KINDS. Its bytes are the larger of
               "In msg nelems" and "Out msg nelems", times the size of "dtype"; where a transfer has none (as on the
               host), bytes are not compared.
Step           ProfilerStep#N of a host thread. Device work is of the step in whose mark its launch began, the host's of
               the step in whose mark it began. A step lasts from the end of all work of the step before to the end of
               its own; the first from its mark. What began before the first mark or after the last one is in no
               step. A capture without steps is one, from its first event to its last end,
               of what its threads marked (user_annotation), too.
Time           decimals of a microsecond as they stand, without floating point.
Named          a difference is named if the conversion's own notes give its amount: a note of events covers as many as
               it counts and their time, a note of nanoseconds as many as it counts.
"""
import argparse
import collections
import decimal
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HOST = {"cpu_op", "operator", "cuda_runtime", "cuda_driver", "runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
        "privateuse1_runtime", "privateuse1_driver", "hpu_runtime", "hip_runtime", "cann"}
MARKS = {"user_annotation", "gpu_user_annotation", "python_function", "trace", "overhead", "cuda_sync", "ac2g",
         "cpu_instant_event", "cuda_profiler_range", "collective_comm", "async"}
STREAM = ("stream", "Stream Id", "Physic Stream Id")
COPY, SET = {"gpu_memcpy", "memcpy"}, {"gpu_memset", "memset"}
TRANSFER = re.compile(r"nccl|rccl|msccl|nvshmem|hcom_|cross_device_reduce|multimem_all_?reduce|(?:one|two)_shot_all_?reduce|"
                      r"\bep::(?:inter|intra)node", re.I)
KINDS = ("reduce_scatter", "all_reduce", "all_gather", "all_to_all", "broadcast", "reduce", "gather", "scatter", "barrier",
         "send", "recv")
SIZES = {"byte": 1, "char": 1, "bool": 1, "int8": 1, "uint8": 1, "float8": 1, "half": 2, "bfloat16": 2, "float16": 2,
         "short": 2,
         "int": 4, "float": 4, "int32": 4, "float32": 4, "long": 8, "double": 8, "int64": 8, "float64": 8}

# Notes of a conversion that can name a difference (core/counters.def). NAME_ns has the time of NAME.
EVENTS = ("kineto_event_without_time", "duplicate_device_event", "device_event_of_another_step", "device_category_left_out",
          "stream_sync_left_out", "transfer_part_left_out")
CUTS = ("stream_overlap", "duration_damaged", "transfer_end_late")
NAMED_BY = {
    "count": EVENTS,
    "time": tuple(f"{name}_ns" for name in EVENTS + CUTS),
    "span": tuple(f"{name}_ns" for name in EVENTS + CUTS),
    "transfers": EVENTS + ("batched_transfer", "transfer_without_call", "call_without_transfer", "call_with_several_kernels",
                           "transfer_without_peer", "comm_without_type", "transfer_kind_unknown"),
    "bytes": ("batched_transfer", "transfer_size_unknown", "call_with_several_kernels", "transfer_mismatch",
              "transfer_sends_part"),
}


class Event:
    """A complete event of the raw file; its times in nanoseconds."""

    def __init__(self, raw, start, duration):
        self.name, self.args = str(raw.get("name", "")), raw.get("args") or {}
        self.category, self.process, self.thread = str(raw.get("cat") or "").lower(), raw.get("pid"), raw.get("tid")
        if not self.category and "Thread Id" in self.args:
            self.category = "cann"
        self.start, self.duration, self.step = start, duration, 0

    end = property(lambda self: self.start + self.duration)
    device = property(lambda self: self.args.get("device", self.process))
    launch = property(lambda self: self.args.get("correlation", self.args.get("connection_id")))
    stream = property(lambda self: next((self.args[name] for name in STREAM if name in self.args), None))

    def is_device_work(self):
        if self.category in COPY | SET | {"kernel"}:
            return self.stream is not None or "device" in self.args or self.category != "kernel"
        return self.stream is not None and self.category not in HOST | MARKS

    def is_transfer(self):
        if self.name.startswith("gloo:"):
            return True
        if self.category in HOST:
            return self.name.startswith("c10d::") and kind_of(self.name) != "other"
        return self.category not in MARKS | COPY | SET and ("Collective name" in self.args or bool(TRANSFER.search(self.name)))


def nanoseconds(value):
    try:
        value = decimal.Decimal(str(value)) * 1000
    except decimal.InvalidOperation:
        return None
    return value if value.is_finite() else None


def read_events(path):
    """The complete events of a Kineto file and its rank, or None if the file is something else."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    text = data.decode("utf-8", "replace").strip()
    try:
        if text.startswith("[") and not text.endswith("]"):  # Chrome's list may end without its bracket.
            text = text.rstrip(",") + "]"
        document = json.loads(text, parse_float=decimal.Decimal, strict=False)
    except ValueError:
        return None
    listed = document if isinstance(document, list) else document.get("traceEvents")
    if not isinstance(listed, list):
        return None
    base = decimal.Decimal(0 if isinstance(document, list) else document.get("baseTimeNanoseconds") or 0)
    events, begun = [], collections.defaultdict(list)
    for raw in listed:
        if not isinstance(raw, dict) or raw.get("ph") not in ("X", "B", "E"):
            continue
        start, place = nanoseconds(raw.get("ts")), (raw.get("pid"), raw.get("tid"))
        if start is None:
            continue
        if raw["ph"] == "B":
            begun[place].append((raw, start))
        elif raw["ph"] == "E":
            if begun[place]:
                raw, begin = begun[place].pop()
                events.append(Event(raw, base + begin, start - begin))
        elif (duration := nanoseconds(raw.get("dur", 0))) is not None:
            events.append(Event(raw, base + start, duration))
    about = document.get("distributedInfo") if isinstance(document, dict) else None
    numbers = re.findall(r"\d+", path.name)
    return events, (about or {}).get("rank", int(numbers[0]) if numbers else 0)


def kind_of(text):
    flat = re.sub(r"[^a-z]", "", text.lower())
    return next((kind for kind in KINDS if kind.replace("_", "") in flat), "other")


def bytes_of(event):
    """What the larger side of a transfer holds, or None where its event does not say."""
    elements = [event.args[side] for side in ("In msg nelems", "Out msg nelems") if side in event.args]
    dtype = str(event.args.get("dtype", "")).lower()
    size = next((SIZES[name] for name in (dtype, dtype.split("_")[0]) if name in SIZES), None)
    return max(map(int, elements)) * size if elements and size else None


def steps_of(events):
    """(name, begin, end) of the marks on host threads, the longest of several threads of one step."""
    marks = {}
    for event in events:
        if event.name.startswith("ProfilerStep") and event.category in ("user_annotation", "cpu_op", "operator"):
            if event.name not in marks or event.duration > marks[event.name].duration:
                marks[event.name] = event
    return sorted(((mark.name, mark.start, mark.end) for mark in marks.values()), key=lambda mark: mark[1])


def raw_quantities(events, wanted_steps):
    """What the file says, of the steps that the conversion says it holds (of a pair of files, the host trace has one)."""
    marks = steps_of(events)
    device = [event for event in events if event.is_device_work()]
    on_streams = {event.category for event in device if event.category}
    device = [event for event in events if event.is_device_work() or event.category in on_streams]
    host = [event for event in events if event.category in HOST and not event.name.startswith("ProfilerStep")]
    launches = {event.launch: event.start for event in host if event.launch is not None}
    for event in events:
        began = event.start if event.category in HOST else launches.get(event.launch, event.start)
        event.step = max(sum(begin <= began for _, begin, _ in marks) - 1, 0)
        event.inside = not marks or marks[0][1] <= began < marks[-1][2]
    held = [index for index, mark in enumerate(marks) if mark[0] in wanted_steps] or range(max(len(marks), 1))
    device = [event for event in device if event.step in held]
    work = device + [event for event in host if event.step in held]
    found = collections.Counter()
    for event in device:
        kind = "copies" if event.category in COPY else "sets" if event.category in SET else "kernels"
        found["count", kind] += 1
        found["time", "device time"] += event.duration
        found["time", f"stream {event.device}.{event.thread if event.stream is None else event.stream}"] += event.duration
    beside = [event for event in events if event.category not in HOST | on_streams and not event.is_device_work()]
    transfers = [event for event in (device + beside if device else host) if event.is_transfer() and event.step in held]
    found["count", "transfers"] = len(transfers)
    for event in transfers if all(bytes_of(event) is not None for event in transfers) else []:
        found["bytes", kind_of(str(event.args.get("Collective name", event.name)))] += bytes_of(event)
    if device:
        found["span", "first device start"] = min(event.start for event in device)
        found["span", "last device end"] = max(event.end for event in device)
    marked = [] if marks else [event for event in events if event.category == "user_annotation"]
    ends = [max([marks[i][2] if marks else 0] + [event.end for event in work + marked
                                                  if event.step == i and event.inside]) for i in held]
    begin = marks[held[0]][1] if marks else min((event.start for event in work + marked), default=0)
    found["span", "first start"], found["span", "last end"] = begin, max(ends)
    for place, end in enumerate(ends):
        found["span", f"step {place}"] = max(end - begin, 0)
        begin = max(begin, end)
    return found


def converted_quantities(rank):
    found, base = collections.Counter(), rank["metadata"]["base_ns"]
    for node in rank["nodes"]:
        comm = node.get("comm")
        if comm:
            found["count", "transfers"] += 1
            found["bytes", kind_of(comm["kind"])] += max(comm["in_bytes"] or 0, comm["out_bytes"] or 0)  # null: unknown
        if node["actor"]["kind"] == "stream":
            name = {"memcpy": "copies", "memset": "sets"}.get(node["op_class"], "kernels")
            name = "sets" if node["name"].startswith("Memset") else name
            found["count", name] += 1
            found["time", "device time"] += node["duration_ns"]
            found["time", f"stream {node['actor']['device']}.{node['actor']['id']}"] += node["duration_ns"]
    device = [(base + node["start_ns"], node["duration_ns"]) for node in rank["nodes"] if node["actor"]["kind"] == "stream"]
    if device:
        found["span", "first device start"] = min(start for start, _ in device)
        found["span", "last device end"] = max(start + duration for start, duration in device)
    steps = [(base + step["start_ns"], step["duration_ns"]) for step in rank["metadata"]["steps"]]
    if steps:
        found["span", "first start"] = min(start for start, _ in steps)
        found["span", "last end"] = max(start + duration for start, duration in steps)
    for index, (_, duration) in enumerate(steps):
        found["span", f"step {index}"] = duration
    return found


def named(kind, what, difference, lacking, notes):
    """Whether the notes cover a difference. `lacking`: device events are missing, and the notes count them all."""
    covered = sum(notes.get(counter, 0) for counter in NAMED_BY["transfers" if what == "transfers" else kind])
    return covered >= abs(difference) or (kind in ("time", "span") and lacking) or (kind == "bytes" and covered > 0)


def compare(raw, converted, notes):
    """Rows (what, raw, converted, difference, name of the difference): ok, rounding, named or NOT NAMED."""
    raw, converted = collections.Counter(raw), collections.Counter(converted)
    lost = sum(raw["count", what] - converted["count", what] for what in ("kernels", "copies", "sets"))
    lacking = lost > 0 and named("count", "kernels", lost, False, notes)
    events = sum(raw["count", what] for what in ("kernels", "copies", "sets"))
    rows = []
    sized = any(kind == "bytes" for kind, _ in raw)
    order = {"count": 0, "time": 1, "bytes": 2, "span": 3}
    for key in sorted(set(raw) | set(converted), key=lambda key: (order[key[0]], key[1])):
        if key[0] == "bytes" and not sized:
            continue  # The capture does not say.
        difference = converted[key] - raw[key]
        rounding = {"time": max(events, 1) * decimal.Decimal("0.5"), "span": 1000}.get(key[0], 0)
        verdict = ("ok" if difference == 0 else "rounding" if abs(difference) <= rounding
                   else "named" if named(*key, difference, lacking, notes) else "NOT NAMED")
        rows.append((*key, raw[key], converted[key], difference, verdict))
    return rows


def convert(program, capture, scratch):
    """(set as JSON, notes, unexplained part of the step), or (None, message, None) where the conversion refuses."""
    made, exported = scratch / "set", scratch / "set.json"
    done = subprocess.run([program, "convert", str(capture), "-o", str(made), "--force", "--json"], capture_output=True,
                          text=True, check=False)
    if done.returncode > 1:  # 1: written, but it does not replay as it is
        return None, done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"], None
    notes = collections.Counter()
    for name, note in json.loads(done.stdout)["diagnostics"].items():
        notes[name.partition(": ")[0]] += note["count"]  # Some say more behind their name.
    subprocess.run([program, "export", str(made), "--to", "json", "-o", str(exported), "--force"], capture_output=True,
                   check=True)
    checked = subprocess.run([program, "validate", str(made), "--timing", "--json"], capture_output=True, text=True,
                             check=False)
    timing = [row for row in json.loads(checked.stdout or "{}").get("timing", []) if row["scope"] == "rank"]
    part = max((row["unexplained_ns"] / max(row["recorded_ns"], 1) for row in timing), default=None)
    return json.loads(exported.read_text()), notes, part


def shown(kind, value):
    if kind in ("time", "span"):
        return f"{decimal.Decimal(value) / 1000:,.3f} us"
    return f"{value:,}"


def markdown_row(capture, rows, notes, part):
    value = {(kind, what): (raw, converted) for kind, what, raw, converted, _, _ in rows}

    def pair(kind, what, divide=1, digits=0):
        return " / ".join(f"{number / divide:.{digits}f}" for number in value.get((kind, what), (0, 0)))

    steps = [numbers for (kind, what), numbers in value.items() if what.startswith("step ")]
    lengths = " / ".join(f"{float(max(numbers[side] for numbers in steps)) / 1e6:.3f}" for side in (0, 1)) if steps else "–"
    bad = [what for _, what, _, _, _, verdict in rows if verdict == "NOT NAMED"]
    said = [f"not named: {', '.join(bad)}"] if bad else [what for _, what, _, _, _, verdict in rows if verdict == "named"]
    unexplained = "–" if part is None else f"{100 * part:.2f} %"
    return (f"| {capture} | {pair('count', 'kernels')} | {pair('time', 'device time', 1000000, 3)} "
            f"| {pair('count', 'transfers')} | {lengths} | {unexplained} | {'; '.join(said)} |")


def check(program, capture, as_row):
    """Prints a capture's table or row; the number of differences without a name."""
    paths = sorted(path for path in capture.rglob("*") if path.is_file()) if capture.is_dir() else [capture]
    capture = paths[0] if len(paths) == 1 else capture
    files = sorted(filter(None, (read_events(path) for path in paths if re.search(r"\.json(\.gz)?$", path.name))),
                   key=lambda file: file[1])
    if not files:
        print(f"{capture}: no Kineto file", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        converted, notes, part = convert(program, capture, pathlib.Path(scratch))
    if converted is None:
        print(f"| {capture} | refused: {notes[0]} ||||||" if as_row else f"{capture}: refused: {notes[0]}")
        return 0
    ranks = converted["ranks"]
    steps = [{step["name"] for step in rank["metadata"]["steps"]} for rank in ranks]
    every = set().union(*steps)
    raws = [raw_quantities(file[0], steps[i] if len(files) == len(ranks) else every) for i, file in enumerate(files)]
    pairs = [(raw, converted_quantities(rank)) for raw, rank in zip(raws, ranks)]
    if len(files) != len(ranks):  # One file of several ranks: its sums.
        both = [sum(counters, collections.Counter()) for counters in (raws, map(converted_quantities, ranks))]
        pairs = [tuple({key: value for key, value in one.items() if key[0] != "span"} for one in both)]
    bad = 0
    for index, (raw, found) in enumerate(pairs):
        rows = compare(raw, found, notes)
        bad += sum(row[5] == "NOT NAMED" for row in rows)
        name = f"{capture} rank {index}" if len(pairs) > 1 else str(capture)
        if as_row:
            print(markdown_row(name, rows, notes, part), flush=True)
            continue
        said = ", ".join(f"{count} {counter}" for counter, count in sorted(notes.items()))
        print(f"{name}: {'' if part is None else f'{100 * part:.2f} % unexplained; '}notes: {said}")
        for kind, what, said, kept, difference, verdict in rows:
            label = f"bytes of {what}" if kind == "bytes" else what
            print(f"  {label:24} {shown(kind, said):>26} {shown(kind, kept):>26} {shown(kind, difference):>20}  {verdict}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", nargs="+", type=pathlib.Path)
    parser.add_argument("--reprise", default="build/reprise", help="the program")
    parser.add_argument("--markdown", action="store_true", help="one row of a table for each rank")
    options = parser.parse_args()
    if options.markdown:
        print("| capture | kernels | device time (ms) | transfers | longest step (ms) | unexplained | differences |")
        print("|---|---|---|---|---|---|---|")
    bad = sum(check(options.reprise, capture, options.markdown) for capture in options.capture)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
