"""Small dumps of PyTorch's flight recorder, written as its versions 2.0 to 2.10 write them."""
import json
import pickle

START_NS = 1_790_000_000_000_000_000
MS = 1_000_000
WORLD, TP = ("0", "default_pg"), ("1", "tp of secret_model_v9")
# What must not leave a rank's file.
FRAMES = [{"name": "train_secret", "filename": "/home/alice/secret_project/train.py", "line": 12}]


class Dump:
    """One rank's: calls in the order of issue."""

    def __init__(self, rank, ranks=(0, 1, 2, 3), first=0, **header):
        self.rank, self.at, self.record = rank, START_NS, first
        self.header = {"version": "2.10", "comm_lib_version": "2.27.3", **header}
        self.groups, self.entries, self.op = {}, [], 0
        self.group(WORLD, ranks)

    def group(self, name, ranks):
        self.groups[name[0]] = {"name": name[0], "desc": name[1], "ranks": str(list(ranks))}

    # Sizes are lists of shapes. `ms`: its length, as TORCH_NCCL_ENABLE_TIMING records it.
    def call(self, name, sent, received, group=WORLD, collective=0, p2p=0, ms=None, state="completed", dtype="Float", gap=4 * MS, **more):
        self.at += gap
        self.op += 1
        is_p2p = "send" in name or "recv" in name
        ended = self.at + 80 * MS if state == "completed" else None
        entry = {"frames": FRAMES, "record_id": self.record, "pg_id": int(group[0]), "process_group": group, "thread_name": "secret_thread",
                 "thread_id": "140169951230848", "collective_seq_id": collective, "p2p_seq_id": p2p, "op_id": self.op,
                 "profiling_name": f"nccl:{name}", "time_created_ns": self.at, "input_sizes": sent, "input_dtypes": [dtype] * len(sent),
                 "output_sizes": received, "output_dtypes": [dtype] * len(received), "state": state,
                 "time_discovered_started_ns": None if state == "scheduled" else self.at + MS, "time_discovered_completed_ns": ended,
                 "retired": state == "completed", "timeout_ms": 600000, "is_p2p": is_p2p}
        if ms is not None:
            entry["duration_ms"] = ms
        self.record += 1
        self.entries.append({**entry, **more})
        return self.entries[-1]

    def value(self):
        status = {"last_enqueued_collective": len(self.entries), "last_started_collective": -1, "last_completed_collective": -1}
        return {**self.header, "pg_config": self.groups, "pg_status": {"0": status}, "entries": self.entries}

    def pickled(self, protocol=2):
        return pickle.dumps(self.value(), protocol)

    def json(self):
        """As _dump_nccl_trace_json: without frames, 0 for what is not known, texts in the status."""
        value = json.loads(json.dumps(self.value()))
        for entry in value["entries"]:
            del entry["frames"]
            for name in ("time_discovered_started_ns", "time_discovered_completed_ns"):
                entry[name] = entry[name] or 0
        for status in value["pg_status"].values():
            status.update({name: str(number) for name, number in status.items()})
        return json.dumps(value, sort_keys=True).encode()


def write_job(folder, form="pickled", steps=3, timed=True, hang=False, ranks=4):
    """Steps of an all_reduce of all and of exchanges of pairs; rank r is 0.2 ms later than the one before. With `hang`, rank 1
    does not issue the last all_reduce."""
    folder.mkdir(exist_ok=True)
    for rank in range(ranks):
        dump = Dump(rank, range(ranks))
        dump.at += rank * 200_000
        pair = [rank - rank % 2, rank - rank % 2 + 1]
        group = (str(1 + rank // 2), TP[1])
        dump.group(group, pair)
        other = 1 - rank % 2
        for step in range(1, steps + 1):
            def ms(length):
                return length if timed else None
            last = hang and step == steps
            if not (last and rank == 1):
                dump.call("all_reduce", [[256, 1024]], [[256, 1024]], collective=step, ms=None if last else ms(2 - 0.2 * rank),
                          state="scheduled" if last else "completed")
            dump.call("_all_gather_base", [[64]], [[128]], group=group, collective=2 * step - 1, ms=ms(0.5), dtype="BFloat16")
            dump.call("_reduce_scatter_base", [[128]], [[64]], group=group, collective=2 * step, ms=ms(0.25), dtype="BFloat16")
            for name in (f"send {rank % 2}->{other}", f"recv {rank % 2}<-{other}"):
                dump.call(name, [[4096]], [[4096]], group=group, collective=2 * step, p2p=step, state="scheduled", gap=1000)
            dump.call("coalesced", [], [], group=group, collective=2 * step, p2p=step, ms=ms(0.125), is_p2p=True, gap=1000)
        name = f"nccl_trace_rank_{rank}" + (".json" if form == "json" else "")
        (folder / name).write_bytes(getattr(dump, form)())


if __name__ == "__main__":
    import pathlib
    import sys
    write_job(pathlib.Path(sys.argv[1]), *sys.argv[2:3])
