"""Small exports of Nsight Systems, written as `nsys export --type sqlite --include-blobs true` writes them."""
import sqlite3
import struct

START_UTC_NS = 1_790_000_000_000_000_000
HOST = "secret-host-7"
PUSH_POP, MARK = 59, 34
NCCL_DOMAIN = 1
# A communicator, and kernels.
WORLD = 0xfedcba9876543210
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)"
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)"
# Schemas of NCCL's payloads: number → (label, offset) of its fields.
COMMUNICATOR, SIZED, PEER, ROOTED = 16777218, 16777220, 16777226, 16777228
SCHEMAS = {
    COMMUNICATOR: [("NCCL communicator ID", None), ("No. of ranks", 8), ("Rank", 12), ("CUDA device", 16)],
    SIZED: [("NCCL communicator ID", None), ("Message size [bytes]", 8)],
    PEER: [("NCCL communicator ID", None), ("Message size [bytes]", 8), ("Peer rank", 16)],
    ROOTED: [("NCCL communicator ID", None), ("Message size [bytes]", 8), ("Root", 16)],
}
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER",
    "TARGET_INFO_SYSTEM_ENV": "name TEXT, value TEXT",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT",
    "ENUM_CUDA_MEM_KIND": "id INTEGER, label TEXT",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId INTEGER, schemaId INTEGER, idx INTEGER, name TEXT, offset INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL":
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        "demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,"
        "blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY":
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET":
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        "bytes INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventSyncId INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION":
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        "syncType INTEGER, eventSyncId INTEGER",
    "NVTX_EVENTS":
        "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER, binaryData TEXT",
}


class Export:
    """One file. `version`: what newer exports have behind their tables' names."""

    def __init__(self, path, version="", without=()):
        self.file = sqlite3.connect(path)
        self.version = version
        self.texts = {}
        for table, columns in TABLES.items():
            if table not in without:
                self.file.execute(f"CREATE TABLE {self.name(table)} ({columns})")
        self.without = without
        self.add("TARGET_INFO_SESSION_START_TIME", START_UTC_NS)
        self.add("TARGET_INFO_SYSTEM_ENV", "Hostname", HOST)
        for number, label in enumerate(("Pageable", "Pinned", "Device")):
            self.add("ENUM_CUDA_MEM_KIND", number, label)
        for device in (0, 1):
            self.add("TARGET_INFO_GPU", device, "NVIDIA H100 80GB HBM3")
        for schema, fields in SCHEMAS.items():
            for index, (label, offset) in enumerate(fields):
                self.add("NVTX_PAYLOAD_SCHEMA_ENTRIES", NCCL_DOMAIN, schema, index, label, offset)

    def name(self, table):
        return table + self.version if table.startswith(("CUPTI_ACTIVITY", "NVTX_EVENTS")) else table

    def add(self, table, *values):
        if table not in self.without:
            self.file.execute(f"INSERT INTO {self.name(table)} VALUES ({','.join('?' * len(values))})", values)

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 100
            self.add("StringIds", self.texts[value], value)
        return self.texts[value]

    def close(self):
        self.file.commit()
        self.file.close()


class Process:
    """A process with one thread that launches, and a device. Times in µs."""

    def __init__(self, export, pid, device=0):
        self.export, self.device, self.stream = export, device, 7 + 8 * device
        self.globally = (1 << 48) | (pid << 24)
        self.thread = self.globally | pid
        self.next_correlation = 1000 * pid

    def call(self, name, start, end):
        self.next_correlation += 1
        self.export.add("CUPTI_ACTIVITY_KIND_RUNTIME", start * 1000, end * 1000, self.thread, self.next_correlation,
                        self.export.text(name))
        return self.next_correlation

    def kernel(self, name, start, end, launched, stream=None):
        correlation = self.call("cudaLaunchKernel_v7000", launched, launched + 2)
        self.export.add("CUPTI_ACTIVITY_KIND_KERNEL", start * 1000, end * 1000, self.device, 1, stream or self.stream, correlation,
                        self.globally, self.export.text(name), self.export.text(name.split("<")[0]), 32, 16, 2, 1, 128, 1, 1, 1024,
                        2048, None)

    def copy(self, start, end, launched, count):
        correlation = self.call("cudaMemcpyAsync_v3020", launched, launched + 2)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start * 1000, end * 1000, self.device, 1, self.stream, correlation, self.globally,
                        count, 1, 1, 2)

    def fill(self, start, end, launched, count):
        correlation = self.call("cudaMemsetAsync_v3020", launched, launched + 2)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMSET", start * 1000, end * 1000, self.device, 1, self.stream, correlation, self.globally,
                        count, 2)

    def wait(self, recorded, waits, from_stream, to_stream):
        """A stream waits for what another has done until the record."""
        number = self.call("cudaEventRecordWithFlags_v11010", recorded, recorded + 1)
        self.export.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", from_stream, number, self.globally, 5000 + number)
        waiting = self.call("cudaStreamWaitEvent_v3020", waits, waits + 1)
        self.export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", waits * 1000, waits * 1000 + 1000, self.device, 1, to_stream, waiting,
                        self.globally, 2, 5000 + number)

    def range(self, text, start, end, payload=None, registered=False, kind=PUSH_POP):
        self.export.add("NVTX_EVENTS", start * 1000, None if end is None else end * 1000, kind, None if registered else text, self.thread,
                        self.export.text(text) if registered else None, NCCL_DOMAIN if payload else 0, payload)

    def nccl(self, call, start, end, schema, *values):
        """A call of NCCL with its payload: 64-bit numbers, but for the 32-bit ones of a communicator, a peer or a root."""
        body = struct.pack("<Qiii", *values) if schema == COMMUNICATOR else struct.pack("<QQi"[:1 + len(values)], *values)
        self.range(call, start, end, struct.pack("<4Q", NCCL_DOMAIN, schema, len(body), 32) + body, registered=True)


def write_pair(path, init=True):
    """Two processes that reduce, gather, and exchange in a group."""
    export = Export(path)
    for rank in (0, 1):
        process = Process(export, 300 - rank, device=rank)  # numbers go against ranks
        if init:
            process.nccl("ncclCommInitRank", 10, 20, COMMUNICATOR, WORLD, 2, rank, rank)
        process.nccl("ncclAllReduce", 100, 120, SIZED, WORLD, 4096)
        process.kernel(ALL_REDUCE, 200, 300 + rank, launched=105)
        process.nccl("ncclAllGather", 310, 330, SIZED, WORLD, 1024)
        process.kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096>)", 340, 380, launched=315)
        process.nccl("ncclReduceScatter", 390, 395, SIZED, WORLD, 512)
        process.kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)", 400, 420, launched=391)
        process.nccl("ncclBroadcast", 430, 435, ROOTED, WORLD, 256, 1)
        process.kernel("ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096>)", 440, 450, launched=431)
        process.range("ncclGroupStart", 500, 501, registered=True)
        process.nccl("ncclSend", 502, 503, PEER, WORLD, 2048, 1 - rank)
        process.nccl("ncclRecv", 504, 505, PEER, WORLD, 2048, 1 - rank)
        process.range("ncclGroupEnd", 506, 520, registered=True)
        process.kernel(SEND_RECV, 530, 560, launched=508)
        process.kernel("ampere_sgemm<64>", 600, 700, launched=550)
    export.close()
