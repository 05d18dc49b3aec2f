"""Runs as large as wanted, without a replay: ranks on hosts with eight metered devices each.

The tables are those of a run that the program itself wrote (reprise monitor), so the schema is in
one place. Numbers are drawn from a fixed seed.
"""
import json
import pathlib
import random
import sqlite3
import subprocess
import tempfile

DEVICES = 8  # of a host
LAYER = [("aten::layer_norm", "norm", 0.05), ("aten::mm", "gemm", 1.0),
         ("aten::scaled_dot_product", "attention", 0.7), ("aten::addmm", "gemm", 1.1),
         ("aten::gelu", "elementwise", 0.12)]
FLOPS = {"gemm": 4e11, "attention": 1.5e11, "norm": 1e8, "elementwise": 1e8, "optimizer": 5e8}
BYTES = {"gemm": 3e8, "attention": 2e8, "norm": 1e8, "elementwise": 2e8, "optimizer": 1e9}
MS = 1_000_000
CONDITIONS = "idle,applications_clocks,power_cap,thermal"
THERMAL = 8


def schema_of(program):
    """The statements that make a rank's file, and a manifest."""
    with tempfile.TemporaryDirectory() as scratch:
        run = pathlib.Path(scratch) / "run"
        subprocess.run([program, "monitor", "-o", run, "--", "true"], check=True, capture_output=True)
        with sqlite3.connect(run / "rank0.sqlite") as database:
            version, = database.execute("PRAGMA user_version").fetchone()
            tables = [sql for sql, in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
        return version, tables, json.loads((run / "manifest.json").read_text())


def operations(layers, slowness):
    """(name, class, milliseconds, phase, group or None, whether what follows waits for it)"""
    for phase, factor in (("forward", slowness), ("backward", 2 * slowness)):
        for layer in range(layers):
            for name, op_class, ms in LAYER:
                yield name, op_class, ms * factor, phase, None, True
            yield "nccl:all_reduce", "comm", 0.3, "communication", "tp", True
            if phase == "backward":
                yield "nccl:reduce_scatter", "comm", 0.9 + 0.2 * (layer % 3), "communication", "dp", False
    for _ in range(max(1, layers // 2)):
        yield "aten::_fused_adam_", "optimizer", 0.4, "optimizer", None, True


class Pass:
    """One pass of all ranks over the trace; `scale` of each rank's compute."""

    def __init__(self, plan, groups, scale, rng, begin_ns):
        ranks = len(scale)
        free = [begin_ns] * ranks
        network = [begin_ns] * ranks
        self.times = []  # by operation: [(start, end, own)] of all ranks
        for name, op_class, ms, phase, group, waits in plan:
            if group is None:
                if op_class == "optimizer":
                    free = [max(a, b) for a, b in zip(free, network)]
                row = []
                for r in range(ranks):
                    start = free[r] + 2_000
                    free[r] = start + int(ms * MS * scale[r] * rng.uniform(0.97, 1.05))
                    row.append((start, free[r], free[r] - start))
            else:
                row = [None] * ranks
                for members in groups[group]:
                    arrivals = [free[r] if waits else max(free[r], network[r]) for r in members]
                    last = max(arrivals)
                    own = int(ms * MS * rng.uniform(0.95, 1.2))
                    for r, arrival in zip(members, arrivals):
                        row[r] = (arrival, last + own, own)
                        network[r] = max(network[r], last + own)
                        if waits:
                            free[r] = last + own
            self.times.append(row)
        self.begin_ns = begin_ns
        self.ends = [max(a, b) for a, b in zip(free, network)]


def write_run(program, directory, ranks=16, layers=6, iterations=3, period_ms=10, slowness=1,
              name=lambda text: text):
    """`slowness`: milliseconds for the longest operations; `name` changes every name in the run."""
    rng = random.Random(1)
    version, tables, manifest = schema_of(program)
    directory = pathlib.Path(directory)
    directory.mkdir()
    plan = list(operations(layers, slowness))
    hosts = [name(f"node{r // DEVICES:02}") for r in range(ranks)]
    groups = {"tp": [list(range(i, min(i + DEVICES, ranks))) for i in range(0, ranks, DEVICES)],
              "dp": [list(range(i, ranks, DEVICES)) for i in range(min(DEVICES, ranks))]}
    slow = ranks // 3
    recorded = Pass(plan, groups, [rng.uniform(1.0, 1.03) for _ in range(ranks)], rng, 0)
    replays, at = [], 10_000 * MS
    for _ in range(iterations + 1):
        scale = [rng.uniform(1.1, 1.16) * (1.25 if r == slow else 1) for r in range(ranks)]
        replays.append(Pass(plan, groups, scale, rng, at))
        at = max(replays[-1].ends) + 5 * MS
    step_ns = max(recorded.ends)
    manifest.update(world_size=ranks, iterations=iterations, warmup=1, complete=True, hosts=hosts, trace_name=name("synthetic"),
                    devices=[name("opencl: synthetic device")] * ranks, command="reprise replay synthetic",
                    options={"mode": "full", "iterations": str(iterations)}, recorded_step_ns=step_ns)
    (directory / "manifest.json").write_text(json.dumps(manifest))
    for rank in range(ranks):
        with sqlite3.connect(directory / f"rank{rank}.sqlite", isolation_level=None) as database:
            database.execute("PRAGMA synchronous=OFF")
            database.execute(f"PRAGMA user_version={version}")
            for sql in tables:
                database.execute(sql)
            database.execute("BEGIN")
            write_rank(database, rank, hosts, plan, groups, recorded, replays, name)
            if rank % DEVICES == 0:
                write_samples(database, rank, min(DEVICES, ranks - rank), replays, period_ms, rng, name)
            database.execute("COMMIT")


def columns(database, table):
    return [column[1] for column in database.execute(f"PRAGMA table_info({table})")]


def insert(database, table, rows):
    """Rows of all columns of a table, or of a view of rows with shared columns (docs/run_format.md)."""
    shared = columns(database, f"{table}_shared")
    if not shared:
        return insert_all(database, table, rows)
    own = columns(database, f"{table}_rows")
    numbers = {}
    names = columns(database, table)
    split = [dict(zip(names, row)) for row in rows]
    keys = [numbers.setdefault(tuple(row[name] for name in shared[1:]), len(numbers) + 1) for row in split]
    insert_all(database, f"{table}_shared", [(number, *values) for values, number in numbers.items()])
    first = database.execute(f"SELECT count(*) + 1 FROM {table}_rows").fetchone()[0]
    insert_all(database, f"{table}_rows", [(key, *(row[name] for name in own[1:])) for key, row in zip(keys, split)])
    if split:
        insert_all(database, f"{table}_parts", [(first, first + len(split) - 1, 0, 0)])


def insert_all(database, table, rows):
    rows = list(rows)
    if rows:
        database.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)


def write_rank(database, rank, hosts, plan, groups, recorded, replays, name):
    insert(database, "ranks", [(rank, hosts[rank], "", 1, 1)])
    insert(database, "facts", [(rank, "recorded_step_ns", str(max(recorded.ends))), (rank, "first_step_ns", "0"),
                               (rank, "clock_readings", "0 0 1000"), (rank, "trace.unknown_operator", "2"),
                               (rank, "device_flops_per_second", "5e14"), (rank, "device_bytes_per_second", "2e12")])
    insert(database, "devices", [(rank, "opencl:0", "opencl", name("synthetic device"), "none", "1", 100, 1 << 36, "",
                                  pci(rank), 16, 0, 4, "nvlink", name("switch x4"))])
    nodes, edges, transfers, records = [], [], [], []
    last, last_of, place = None, {}, {}
    for i, (op, op_class, _, phase, group, waits) in enumerate(plan):
        start, end, own = recorded.times[i][rank]
        before = [(n, reason) for n, reason in ((last, "stream"), (last_of.get(group), "group"))
                  if n is not None and (reason == "stream" or group)]
        if op_class == "optimizer" and "dp" in last_of:
            before.append((last_of["dp"], "comm_wait"))
        edges += [(rank, n, i + 1, "launch" if group and reason == "stream" else reason, 0) for n, reason in before]
        ended = max((recorded.times[n - 1][rank][1] for n, _ in before), default=0)
        nodes.append((rank, i + 1, name(op), op_class, "comm" if group else "work",
                      f"group {group}" if group else "stream 0/7", "real", name(f"{op_class}_kernel"), FLOPS.get(op_class, 0),
                      BYTES.get(op_class, 0), 0, start, own, 1, end - start, max(0, start - ended), phase, 0,
                      "[4096,1024] [1024,1024]", "message" if group else "arguments", 0, ""))
        records += [(rank, i + 1, k, 0, "real", p.times[i][rank][0], p.times[i][rank][1] - p.times[i][rank][0])
                    for k, p in enumerate(replays)]
        if group:
            members = next(m for m in groups[group] if rank in m)
            place[group] = place.get(group, -1) + 1
            size = (1 << 20) << (i % 7)
            transfers.append((rank, i + 1, op.split(":")[1], name(f"{group}{members[0]}"), "recorded", place[group], place[group],
                              "bfloat16", size, size, "[]", "[]", -1, -1, -1, "sum", 1, 0 if waits else 1, len(members), "", -1, "received"))
            last_of[group] = i + 1
        if waits:
            last = i + 1
    insert(database, "node_info", nodes)
    insert(database, "edges", edges)
    insert(database, "collectives", transfers)
    insert(database, "records", records)
    insert(database, "steps", [(rank, k, 1 if k == 0 else 0, 0, p.begin_ns, p.ends[rank] - p.begin_ns)
                               for k, p in enumerate(replays)])


def pci(rank):
    return f"0000:{rank % DEVICES:02x}:00.0"


def write_samples(database, rank, devices, replays, period_ms, rng, name):
    """Devices warm up; the third throttles when it is hot."""
    kinds = [("power", "watts", "gauge", ""), ("temperature", "celsius", "gauge", ""), ("sm_clock", "hertz", "gauge", ""),
             ("gpu_utilization", "fraction", "gauge", ""), ("power_limit", "watts", "gauge", ""),
             ("throttle_reasons", "count", "state", CONDITIONS)]
    metrics, samples = [], []
    for d in range(devices):
        insert(database, "meters", [(rank, f"gpu-{pci(d)}", "nvml", name("synthetic device"), "", pci(d))])
        metrics += [(rank, 10 * d + k, metric, unit, f"gpu-{pci(d)}", "nvml", kind, 0, states, "", period_ms * MS)
                    for k, (metric, unit, kind, states) in enumerate(kinds)]
    host = 10 * devices
    metrics += [(rank, host, "package_energy", "joules", "package-0", "rapl", "energy", 0, "", "", period_ms * MS),
                (rank, host + 1, "cpu_utilization", "fraction", name("host"), "procfs", "gauge", 0, "", "", period_ms * MS),
                (rank, host + 2, "context_switches", "count", name("host"), "procfs", "counter", 0, "", "", period_ms * MS)]
    begin_ns = replays[0].begin_ns - 2_000 * MS
    insert(database, "facts", [(rank, "idle_begin_ns", str(begin_ns)), (rank, "idle_end_ns", str(begin_ns + 1_900 * MS))])
    end_ns = max(replays[-1].ends) + 200 * MS
    total, switches, hot = 0.0, 0, [35.0 + 2 * d for d in range(devices)]
    for time_ns in range(begin_ns, end_ns, period_ms * MS):
        busy = any(p.begin_ns <= time_ns < max(p.ends) for p in replays)
        for d in range(devices):
            hot[d] += ((78 + 3 * d if busy else 32) - hot[d]) * 0.004 * period_ms / 5
            throttled = busy and d == 2 and hot[d] > 76
            clock = (1200 if throttled else 1755 if busy else 345) + rng.uniform(-15, 15)
            watts = (60 if not busy else 430 + 10 * d - 90 * throttled) * rng.uniform(0.9, 1.1)
            values = (watts, hot[d], clock * 1e6, rng.uniform(0.9, 1) if busy else 0.0, 700.0, THERMAL if throttled else 0)
            samples += [(rank, 10 * d + k, time_ns, value) for k, value in enumerate(values)]
        total += (220 if busy else 90) * period_ms * 1e-3
        switches += rng.randrange(200)
        samples += [(rank, host, time_ns, total), (rank, host + 1, time_ns, rng.uniform(0.2, 0.4) if busy else 0.02),
                    (rank, host + 2, time_ns, switches)]
    insert(database, "metrics", metrics)
    insert(database, "samples", samples)
