"""What a report says of a run, from its frames: pure functions, definitions of docs/run_format.md.

Frames of nodes come from of_all_ranks."""
import pandas

MODES = {"real": "real", "surrogate": "surrogate", "timed": "timed", "skip": "skipped"}


def of_all_ranks(nodes, facts):
    """`nodes` with `alike`, for how many equal ranks each row stands, and what is summed up times that."""
    classes = facts[facts["name"] == "class_ranks"]
    alike = nodes["rank"].map(dict(zip(classes["rank"], pandas.to_numeric(classes["value"])))).fillna(1).astype("int64")
    sums = ["recorded_duration_ns", "recorded_tracing_ns", "replayed_duration_ns", "flops", "bytes"]
    return nodes.assign(alike=alike, **({name: nodes[name] * alike for name in sums} if (alike > 1).any() else {}))


def coverage(nodes):
    """Shares of the recorded time of work, device nodes and transfers, by mode; zeros without any. Without recorded
    times, shares of FLOPs, of bytes, or of nodes. `capped` is part of the surrogates, `unknown` of what is timed."""
    counted = nodes[nodes["counts_for_coverage"]]
    bases = [counted["recorded_duration_ns"], counted["flops"], counted["bytes"], counted["alike"]]
    amounts = next((basis for basis in bases if basis.sum() > 0), bases[0]).astype("float64")
    shares = amounts.groupby(counted["mode"]).sum().reindex(MODES, fill_value=0).rename(MODES)
    shares["capped"] = amounts[(counted["mode"] == "surrogate") & (counted["capped"] == 1)].sum()
    shares["unknown"] = amounts[(counted["mode"] == "timed") & (counted["work_from"] == "unknown")].sum()
    return (shares / (amounts.sum() or 1)).rename("share")


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
