"""Small files of NCCL's Inspector, written as versions 4.0 to 4.4 of its format have them."""
import json

START_US = 1_790_000_000_000_000
WORLD, TP = "0x7f8c496ae9f661", "0xe62dedaa97644a"
HOST = "secret-host-7"


class Log:
    """One process's."""

    def __init__(self, process, version="4.0", host=HOST, verbose=False):
        self.version, self.verbose = version, verbose
        self.metadata = {"inspector_output_format_version": f"v{version}", "git_rev": "9019a1912-dirty",
                         "rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": START_US, "hostname": host, "pid": process}
        self.lines = []

    # Of one transfer: `more` are members of its own, `end` microseconds after the beginning.
    def record(self, prefix, communicator, rank, ranks, name, number, size, took, end, channels=2, **more):
        header = {"id": communicator, "rank": rank, "n_ranks": ranks, "nnodes": 1}
        if self.version != "4.0":
            header["comm_name"] = "secret_model_v9 TP" if communicator.startswith(TP) else "unknown"
        common = {"header": header, "metadata": {**self.metadata, "dump_timestamp_us": START_US + end + 40}}
        perf = {prefix: name, **({"coll_algo": "RING", "coll_proto": "SIMPLE"} if prefix == "coll" and self.version >= "4.2" else {}),
                f"{prefix}_sn": number, **more, f"{prefix}_msg_size_bytes": size, f"{prefix}_exec_time_us": took,
                f"{prefix}_timing_source": "kernel_gpu", f"{prefix}_algobw_gbs": 1.5, f"{prefix}_busbw_gbs": 2.5}
        if self.verbose:
            begin = START_US + end - took
            perf["event_trace_sn"] = {f"{prefix}_start_sn": 1, f"{prefix}_stop_sn": 2, "kernel_events": []}
            perf["event_trace_ts"] = {f"{prefix}_start_ts": begin - 5, f"{prefix}_stop_ts": begin - 3, "kernel_events": [
                {"channel_id": channel, "kernel_start_ts": begin + channel, "kernel_stop_ts": begin + took + channel,
                 "kernel_record_ts": begin + took} for channel in range(channels)]}
        if self.version >= "4.1":
            self.lines.append({**common, "dump_stats": {"coll_records": 1, "coll_dropped_total": 0, "coll_dropped_since_last_dump": 0,
                                                        "p2p_records": 0, "p2p_dropped_total": 0, "p2p_dropped_since_last_dump": 0}})
        alone = self.version >= "4.3"  # the marker before it has the rest
        self.lines.append({**({} if alone else common), f"{prefix}_perf": perf})

    def text(self):
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)


def fill(log, rank, steps=3, ranks=4):
    """Steps of transfers of all ranks and of pairs; rank r arrives 50 us later than the one before."""
    at = 0
    pair = f"{TP}{rank // 2}"
    for step in range(1, steps + 1):
        for name, size, took in (("AllReduce", 1 << 20, 400), ("ReduceScatter", 65536, 200)):
            at += 1000
            log.record("coll", WORLD, rank, ranks, name, step, size, took - 50 * rank, at)
        at += 1000
        log.record("coll", pair, rank % 2, 2, "AllGather", step, 8192, 100, at)
        at += 1000
        log.record("p2p", pair, rank % 2, 2, "Send" if rank % 2 == 0 else "Recv", step, 32768, 30, at, p2p_peer=1 - rank % 2)


def write_job(folder, version="4.0", steps=3, ranks=4, **options):
    folder.mkdir(exist_ok=True)
    for rank in range(ranks):
        log = Log(4000 + rank, version, **options)
        fill(log, rank, steps, ranks)
        (folder / f"{HOST}-pid{4000 + rank}.log").write_text(log.text())
