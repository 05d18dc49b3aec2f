"""What a report says of a run, from its frames: pure functions, definitions of docs/run_format.md.

Frames of nodes come from of_all_ranks."""
import numpy
import pandas

MODES = {"real": "real", "surrogate": "surrogate", "timed": "timed", "skip": "skipped"}
# What a moment of a step is, the first that applies; else the host's.
PARTS = ["real", "surrogate", "capped", "timed", "compiled", "unknown", "skipped", "waiting"]
SHARES = ["real", "surrogate", "timed", "skipped", "waiting", "host", "capped", "unknown", "compiled"]


def of_all_ranks(nodes, facts):
    """`nodes` with `alike`, for how many equal ranks each row stands, and what is summed up times that."""
    classes = facts[facts["name"] == "class_ranks"]
    alike = nodes["rank"].map(dict(zip(classes["rank"], pandas.to_numeric(classes["value"])))).fillna(1).astype("int64")
    sums = ["recorded_duration_ns", "recorded_tracing_ns", "replayed_duration_ns", "flops", "bytes"]
    return nodes.assign(alike=alike, **({name: nodes[name] * alike for name in sums} if (alike > 1).any() else {}))


def coverage(nodes, facts):
    """Shares of the recorded steps: real, surrogate, timed, skipped, and pauses, waiting and host. Zeros without nodes.
    Without recorded times, shares of FLOPs, of bytes, or of nodes. `capped` is part of the surrogates, `unknown` and
    `compiled` of what is timed."""
    counted = nodes[nodes["counts_for_coverage"]]
    if counted["recorded_duration_ns"].sum() > 0:
        of_ranks = [_of_steps(rank, facts[facts["rank"] == number]) * rank["alike"].iloc[0]
                    for number, rank in nodes.groupby("rank")]
        amounts = pandas.concat(of_ranks, axis=1).sum(axis=1)
    else:
        bases = [counted["flops"], counted["bytes"], counted["alike"]]
        basis = next((basis for basis in bases if basis.sum() > 0), bases[0]).astype("float64")
        amounts = basis.groupby(_parts(counted)).sum()
    amounts = amounts.reindex([*PARTS, "host"], fill_value=0).astype("float64")
    total = amounts.sum() or 1
    amounts["surrogate"] += amounts["capped"]
    amounts["timed"] += amounts["unknown"] + amounts["compiled"]
    return (amounts[SHARES] / total).rename("share")


def _parts(nodes):
    parts = nodes["mode"].map(MODES).astype("object")
    timed = parts == "timed"
    parts[(parts == "surrogate") & (nodes["capped"] == 1)] = "capped"
    parts[timed & (nodes["work_from"] == "unknown")] = "unknown"
    parts[(parts != "skipped") & (nodes["class"] == "compiled")] = "compiled"
    return parts


def _of_steps(nodes, facts):
    """Nanoseconds of one rank's recorded steps by what runs, each once: the first of PARTS that does."""
    values = dict(zip(facts["name"], facts["value"]))
    steps = [int(ns) for ns in values.get("recorded_steps_ns", "").split(",") if ns]
    within = nodes[nodes["step"] >= 0]
    if not steps:  # a run of an earlier version
        steps = [int(values.get("recorded_step_ns", 0))] * within["step"].nunique()
    begin = int(values.get("first_step_ns", within["recorded_start_ns"].min() if len(within) else 0))
    end = begin + sum(steps)
    start, duration, alike = (nodes[name].to_numpy() for name in ("recorded_start_ns", "recorded_duration_ns", "alike"))
    duration = duration // alike
    elapsed, counted = nodes["recorded_elapsed_ns"].to_numpy(), nodes["counts_for_coverage"].to_numpy(dtype=bool)
    transfer = (nodes["kind"] == "comm").to_numpy()
    own = start + numpy.where(transfer, numpy.maximum(elapsed - duration, 0), 0)
    parts = _parts(nodes).to_numpy()
    wait = ~counted & (nodes["kind"] == "wait").to_numpy()
    begins, ends, covered, amounts = numpy.array([]), numpy.array([]), 0, {}
    for part in PARTS:
        chosen = counted & (parts == part)
        pieces = [(own[chosen], (own + duration)[chosen])]
        if part == "waiting":
            pieces = [(start[counted], own[counted]), (start[wait], (start + duration)[wait])]
        begins = numpy.concatenate([begins, *(piece[0] for piece in pieces)])
        ends = numpy.concatenate([ends, *(piece[1] for piece in pieces)])
        before, covered = covered, _union_length(begins.clip(begin, end), ends.clip(begin, end))
        amounts[part] = covered - before
    return pandas.Series(amounts | {"host": end - begin - covered})


def _union_length(begins, ends):
    order = numpy.argsort(begins, kind="stable")
    ends = numpy.maximum.accumulate(ends[order]) if len(order) else ends
    before = numpy.concatenate([[-numpy.inf], ends[:-1]])
    return numpy.maximum(ends - numpy.maximum(begins[order], before), 0).sum()


def step_times(steps):
    """Of each measured iteration the slowest rank's step, in ns: its mean over the trace's steps."""
    measured = steps[~steps["warmup"]]
    of_ranks = measured.groupby(["iteration", "rank"])["duration_ns"].mean()
    return of_ranks.groupby("iteration").max()


def classes(nodes):
    """By class, longest recorded first; replayed_ns, flops and bytes of nodes that were replayed."""
    counted = nodes[nodes["counts_for_coverage"]]
    replayed = counted[counted["replayed_duration_ns"].notna()]
    sums = replayed.groupby("class")[["replayed_duration_ns", "flops", "bytes"]].sum()
    table = counted.groupby("class")[["alike", "recorded_duration_ns"]].sum()
    table = table.join(sums).rename(
        columns={"alike": "count", "recorded_duration_ns": "recorded_ns", "replayed_duration_ns": "replayed_ns"})
    replayed_ns = table["replayed_ns"].astype("float64")
    table["gflop_per_s"] = table["flops"] / replayed_ns.where(replayed_ns > 0)
    table["gb_per_s"] = table["bytes"] / replayed_ns.where(replayed_ns > 0)
    table.loc[table.index == "comm", ["gflop_per_s", "gb_per_s"]] = float("nan")
    return pandas.DataFrame(table).sort_values("recorded_ns", ascending=False)


def shapes(nodes):
    """By operation and shapes of its inputs, largest difference first; of operations that were replayed."""
    measured = nodes[nodes["counts_for_coverage"] & (nodes["class"] != "comm") & nodes["replayed_duration_ns"].notna()]
    times = {"recorded_duration_ns": "recorded_ns", "recorded_tracing_ns": "tracing_ns",
             "replayed_duration_ns": "replayed_ns"}
    groups = measured.fillna({"shape": ""}).groupby(["name", "shape"])
    table = groups[list(times)].sum().rename(columns=times)
    table.insert(0, "count", groups["alike"].sum())
    table["ratio"] = table["replayed_ns"] / table["recorded_ns"].where(table["recorded_ns"] > 0)
    order = (table["replayed_ns"] - table["recorded_ns"]).abs().sort_values(ascending=False, kind="stable").index
    return pandas.DataFrame(table).loc[order]
