"""Small results of rocprofv3, written as `--output-format rocpd` and `--output-format json` write them: one list of records in either form.

The tables are those of rocprofiler-sdk's rocpd_tables.sql, with the columns that this project reads, and some that it does not.
"""
import json
import sqlite3

HOST = "secret-host-7"
GPU0 = 2  # the first GPU's agent; a node has one CPU and two GPUs
GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256"
REDUCE = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
DOMAINS = {
    "NONE": [], "HIP_RUNTIME_API_EXT": [], "MARKER_CORE_RANGE_API": [], "RCCL_API": [], "HSA_CORE_API": [], "KERNEL_DISPATCH": [],
    "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
                    "MEMORY_COPY_DEVICE_TO_DEVICE"]}
# Columns of their own, beside "id INTEGER PRIMARY KEY" and guid.
TABLES = {
    "string": "string TEXT",
    "info_node": "hash BIGINT, machine_id TEXT, hostname TEXT",
    "info_process": "nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT, environment JSONB DEFAULT '{}', extdata JSONB DEFAULT '{}'",
    "info_thread": "nid INTEGER, pid INTEGER, tid INTEGER",
    "info_agent": "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT",
    "info_kernel_symbol": "nid INTEGER, pid INTEGER, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER",
    "track": "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER, name_id INTEGER",
    "timestamp": "value BIGINT, phase INTEGER, track_id INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, extdata JSONB DEFAULT '{}'",
    "arg": "event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT",
    "region": "nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER",
    "kernel_dispatch":
        "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER,"
        "stream_id INTEGER, start BIGINT, end BIGINT, group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,"
        "workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER",
    "memory_copy":
        "nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER,"
        "size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER",
}
# Where another version of the schema keeps times and places: in tables beside.
MOVED = {"start BIGINT": "start_id INTEGER", "end BIGINT": "end_id INTEGER"}
PLACES = ("nid INTEGER", "pid INTEGER", "tid INTEGER", "agent_id INTEGER", "queue_id INTEGER", "stream_id INTEGER")


def pointer(stream):
    """As calls name a stream: not by the number that records have."""
    return hex(0x7f0000001000 + 64 * stream)


class Process:
    """A process with one thread that launches, and a GPU. Times in µs."""

    def __init__(self, number, device=0, environment=None):
        self.number, self.device, self.environment = number, device, environment or {}
        self.correlation = 0
        self.calls, self.kernels, self.copies = [], [], []
        self.symbols = {}

    def call(self, name, start, end, domain="HIP_RUNTIME_API_EXT", message=None, args=()):
        self.correlation += 1
        self.calls.append(dict(name=name, start=start * 1000, end=end * 1000, domain=domain, message=message, args=list(args),
                               correlation=self.correlation))
        return self.correlation

    def kernel(self, name, start, end, launched=None, stream=1, correlation=None, call="hipLaunchKernel"):
        if correlation is None:
            correlation = self.call(call, launched, launched + 2, args=[("numBlocks", "{z=1, y=2, x=4}"), ("stream", pointer(stream))])
        self.kernels.append(dict(name=name, start=start * 1000, end=end * 1000, stream=stream, correlation=correlation,
                                 symbol=self.symbols.setdefault(name, len(self.symbols) + 1), dispatch=len(self.kernels) + 1))

    def copy(self, start, end, launched, count):
        self.copies.append(dict(start=start * 1000, end=end * 1000, bytes=count, stream=1,
                                correlation=self.call("hipMemcpyAsync", launched, launched + 2)))

    def wait(self, recorded, waits, from_stream, to_stream, event="0x55d0c0ffee00"):
        """A stream waits for what another has done until the record."""
        self.call("hipEventRecordWithFlags", recorded, recorded + 1, args=[("event", event), ("stream", pointer(from_stream))])
        self.call("hipStreamWaitEvent", waits, waits + 1, args=[("stream", pointer(to_stream)), ("event", event)])

    def range(self, text, start, end):
        self.call("roctxThreadRangeA", start, end, "MARKER_CORE_RANGE_API", text)

    def rccl(self, name, start, end, **args):
        return self.call(name, start, end, "RCCL_API", args=args.items())

    def rank(self, rank, size):
        self.environment.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), SECRET_TOKEN="hunter2")
        return self


class Tables:
    """The tables of one process in a database. `moved`: by the schema whose times and places stand in tables beside."""

    def __init__(self, file, process, moved=False):
        self.file, self.process, self.moved = file, process, moved
        self.ending = f"_{process.number:08x}_0a1b_7c2d"
        self.texts = {}
        for table, columns in TABLES.items():
            if moved and "event_id" in columns and table != "arg":
                columns = ", ".join(MOVED.get(column.strip(), column.strip()) for column in columns.split(",")
                                    if column.strip() not in PLACES) + ", track_id INTEGER"
            file.execute(f"CREATE TABLE rocpd_{table}{self.ending} (id INTEGER PRIMARY KEY, guid TEXT, {columns})")
            file.execute(f"CREATE VIEW IF NOT EXISTS rocpd_{table} AS SELECT * FROM rocpd_{table}{self.ending}")

    def add(self, table, **values):
        if self.moved and "start" in values:
            for key in ("start", "end"):
                values[key + "_id"] = self.add("timestamp", value=values.pop(key))
            places = {name.split()[0] for name in PLACES} & set(values)
            values["track_id"] = self.add("track", **{key: values.pop(key) for key in places})
        names = ", ".join(f'"{name}"' for name in values)
        holes = ", ".join("?" * len(values))
        return self.file.execute(f"INSERT INTO rocpd_{table}{self.ending} ({names}) VALUES ({holes})", tuple(values.values())).lastrowid

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = self.add("string", string=value)
        return self.texts[value]

    def event(self, category, correlation, message=None):
        return self.add("event", category_id=self.text(category), stack_id=correlation, parent_stack_id=0, correlation_id=0,
                        extdata=json.dumps({"message": message} if message is not None else {}))

    def write(self):
        process = self.process
        own = dict(nid=9, pid=process.number)
        self.add("info_node", id=9, hash=77, machine_id="5", hostname=HOST)
        self.add("info_process", id=process.number, command="python3 train.py", environment=json.dumps(process.environment), **own)
        self.add("info_agent", id=0, type="CPU", absolute_index=0, type_index=0, name="EPYC", product_name="EPYC", **own)
        for gpu in (0, 1):
            self.add("info_agent", id=GPU0 + gpu, type="GPU", absolute_index=GPU0 + gpu, type_index=gpu, name="gfx942",
                     product_name="AMD Instinct MI300X", **own)
        for name, number in process.symbols.items():
            self.add("info_kernel_symbol", id=number, kernel_name=name + ".kd", display_name=name, arch_vgpr_count=32, **own)
        here = dict(tid=process.number, **own)
        for call in process.calls:
            event = self.event(call["domain"], call["correlation"], call["message"])
            for position, (name, value) in enumerate(call["args"]):
                self.add("arg", event_id=event, position=position, type="size_t", name=name, value=str(value))
            self.add("region", start=call["start"], end=call["end"], name_id=self.text(call["name"]), event_id=event, **here)
        for kernel in process.kernels:
            self.add("kernel_dispatch", agent_id=GPU0 + process.device, kernel_id=kernel["symbol"], dispatch_id=kernel["dispatch"],
                     queue_id=4, stream_id=kernel["stream"], start=kernel["start"], end=kernel["end"], group_segment_size=2048,
                     workgroup_size_x=256, workgroup_size_y=1, workgroup_size_z=1, grid_size_x=1000, grid_size_y=2, grid_size_z=1,
                     event_id=self.event("KERNEL_DISPATCH", kernel["correlation"]), **here)
        for copy in process.copies:
            self.add("memory_copy", start=copy["start"], end=copy["end"], name_id=self.text("MEMORY_COPY_HOST_TO_DEVICE"),
                     dst_agent_id=GPU0 + process.device, src_agent_id=0, size=copy["bytes"], stream_id=copy["stream"],
                     event_id=self.event("MEMORY_COPY", copy["correlation"]), **here)


def write_database(path, *processes, moved=False):
    file = sqlite3.connect(path)
    for process in processes:
        Tables(file, process, moved).write()
    file.commit()
    file.close()


def entry_of(process):
    """What a process is in the JSON."""
    domains = {name: list(operations) for name, operations in DOMAINS.items()}

    def operation(domain, name):
        if name not in domains[domain]:
            domains[domain].append(name)
        return dict(kind=list(domains).index(domain), operation=domains[domain].index(name))

    def record(one):
        return dict(size=64, thread_id=process.number, correlation_id=dict(internal=one["correlation"], external=0),
                    start_timestamp=one["start"], end_timestamp=one["end"])

    lists = {"HIP_RUNTIME_API_EXT": "hip_api", "MARKER_CORE_RANGE_API": "marker_api", "RCCL_API": "rccl_api", "HSA_CORE_API": "hsa_api"}
    records = dict(kernel_dispatch=[], hip_api=[], hsa_api=[], marker_api=[], rccl_api=[], memory_copy=[], memory_allocation=[])
    for kernel in process.kernels:
        records["kernel_dispatch"].append(dict(
            **record(kernel), kind=5, operation=0, stream_id=dict(handle=kernel["stream"]),
            dispatch_info=dict(agent_id=dict(handle=2**63 + GPU0 + process.device), queue_id=dict(handle=4), kernel_id=kernel["symbol"],
                               dispatch_id=kernel["dispatch"], group_segment_size=2048, workgroup_size=dict(x=256, y=1, z=1),
                               grid_size=dict(x=1000, y=2, z=1))))
    for call in process.calls:
        args = dict(args=[dict(type="size_t", name=name, value=str(value)) for name, value in call["args"]]) if call["args"] else {}
        records[lists[call["domain"]]].append(dict(**record(call), **operation(call["domain"], call["name"]), **args))
    for copy in process.copies:
        records["memory_copy"].append(dict(
            **record(copy), **operation("MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE"), stream_id=dict(handle=copy["stream"]),
            src_agent_id=dict(handle=2**63), dst_agent_id=dict(handle=2**63 + GPU0 + process.device), bytes=copy["bytes"]))
    agents = [dict(id=dict(handle=2**63), type=1, logical_node_type_id=0, name="EPYC", product_name="EPYC")]
    agents += [dict(id=dict(handle=2**63 + GPU0 + gpu), type=2, logical_node_type_id=gpu, name="gfx942",
                    product_name="AMD Instinct MI300X") for gpu in (0, 1)]
    return dict(
        metadata=dict(node=dict(hostname=HOST), pid=process.number, command=["python3"], environment=process.environment),
        agents=agents, counters=[],
        strings=dict(callback_records=[], buffer_records=[dict(kind=name, operations=values) for name, values in domains.items()],
                     marker_api=[dict(key=call["correlation"], value=call["message"]) for call in process.calls if call["message"]]),
        code_objects=[],
        kernel_symbols=[dict(kernel_id=number, kernel_name=name + ".kd", formatted_kernel_name=name, arch_vgpr_count=32)
                        for name, number in process.symbols.items()],
        callback_records=dict(counter_collection=[]), buffer_records=records)


def write_json(path, *processes, **options):
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [entry_of(process) for process in processes]}, **options))


def write_member(rank, counts=True, hip=True):
    """A rank of two that reduces, gathers, and exchanges in a group; processes' numbers go against ranks."""
    process = Process(300 - rank, device=rank).rank(rank, 2)
    world = dict(comm="0x7f00")
    if counts:
        process.rccl("ncclCommInitRank", 10, 20, nranks=2, rank=rank)

    def call(name, start, end, **args):
        correlation = process.rccl(name, start, end, **(dict(world, datatype=args.pop("type", 9), **args) if counts else world))
        return {} if not hip else {"launched": start + 1}, correlation

    def kernel(name, start, end, how):
        launched, correlation = how
        process.kernel(name, start, end, **(launched or {"correlation": correlation}))

    kernel(REDUCE, 200, 300 + rank, call("ncclAllReduce", 100, 120, count=2048))
    kernel(REDUCE, 340, 380, call("ncclAllGather", 310, 330, sendcount=256, type="ncclFloat32"))
    kernel(REDUCE, 400, 420, call("ncclReduceScatter", 390, 395, recvcount=128, type=7))
    kernel(REDUCE, 440, 450, call("ncclBroadcast", 430, 435, count=256, root=1, type=1))
    process.rccl("ncclGroupStart", 500, 501)
    call("ncclSend", 502, 503, count=1024, peer=1 - rank)
    call("ncclRecv", 504, 505, count=1024, peer=1 - rank)
    group = process.rccl("ncclGroupEnd", 506, 520)
    process.kernel(REDUCE, 530, 560, **({"launched": 508} if hip else {"correlation": group}))
    process.kernel(GEMM, 600, 700, launched=550) if hip else process.kernel(GEMM, 600, 700, correlation=9999)
    return process
