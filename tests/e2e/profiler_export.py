"""What PyTorch's CUDA back end of the profiler exports, with PyTorch's own code, from a window of records made here:
`python profiler_export.py FOLDER` leaves rank0.json (Chrome's events) and rank0.pftrace (Perfetto) there. Needs
PyTorch 2.15 and NumPy, no GPU: CUPTI's bindings, which only name its functions, are stood in for."""

import enum
import json
import pathlib
import sys
import types

BASE_NS = 1_790_000_000_000_000_000
PROCESS, THREAD = 4242, 4242
SAMPLE_NS = 100_000
STEP_US = (1000.0, 900.0)  # start, duration


def milliwatts(i):
    """Of sample `i`."""
    return 300_000 + 1_000 * i * i


def stand_in_for_cupti():
    """The two enumerations of cupti.cupti that the exporter reads."""
    runtime = enum.IntEnum("Runtime_api_trace_cbid", {"cudaLaunchKernel_v7000": 211, "cudaMemcpyAsync_v3020": 41,
                                                      "cudaDeviceSynchronize_v3020": 165})
    driver = enum.IntEnum("Driver_api_trace_cbid", {"cuLaunchKernel": 307})
    bindings = types.ModuleType("cupti.cupti")
    bindings.Runtime_api_trace_cbid = runtime
    bindings.Driver_api_trace_cbid = driver
    package = types.ModuleType("cupti")
    package.cupti = bindings
    sys.modules["cupti"] = package
    sys.modules["cupti.cupti"] = bindings


def host_events():
    """A step with two products: (events, [(start of the launch in ns after the base, External id)])."""
    events = [{"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "ts": 0, "args": {"name": "python"}},
              {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": PROCESS, "tid": THREAD,
               "ts": STEP_US[0], "dur": STEP_US[1], "args": {"External id": 1, "Record function id": 0, "Ev Idx": 0}}]
    launches = []
    for i in range(2):
        start = 1100.0 + 300 * i
        # The second product begins when the first ends: times alone do not say which end is whose.
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": PROCESS, "tid": THREAD,
                       "ts": start, "dur": 300.0,
                       "args": {"External id": 2 + i, "Record function id": 5 + i, "Ev Idx": 1 + i,
                                "Concrete Inputs": ["", ""], "Input type": ["float", "float"],
                                "Input Strides": [[64, 1], [64, 1]], "Input Dims": [[128, 64], [64, 64]]}})
        launches.append((int((start + 20) * 1000), 2 + i))
    return events, launches


def window(launches):
    """The records of the GPU: a kernel and a copy for each launch, a wait, samples of its sensors."""
    import numpy as np

    count = len(launches)
    starts = np.array([BASE_NS + at for at, _ in launches], dtype=np.int64)
    ids = np.arange(1, count + 1, dtype=np.int64) * 10

    def same(value):
        return np.full(count, value, dtype=np.int64)

    def one(**values):
        return {name: np.array([value]) for name, value in values.items()}

    device = {"device_id": same(0), "context_id": same(1), "stream_id": same(7), "graph_id": same(0),
              "graph_node_id": same(0), "annotation": np.full(count, None, dtype=object), "channel": same(2),
              "channel_type": same(1)}
    runtime = {"start_ns": np.concatenate([starts, starts + 10_000, [BASE_NS + 1_800_000]]),
               "end_ns": np.concatenate([starts + 8_000, starts + 18_000, [BASE_NS + 1_850_000]]),
               "cbid": np.concatenate([same(211), same(41), [165]]),
               "process_id": np.full(2 * count + 1, PROCESS), "thread_id": np.full(2 * count + 1, THREAD),
               "correlation_id": np.concatenate([ids, ids + 1, [90]])}
    times = BASE_NS + np.arange(0, 2_100_000, SAMPLE_NS, dtype=np.int64)
    samples = len(times)
    data = [milliwatts(i) | 700_000 << 32 for i in range(samples)] + [55] * samples + [1410 | 1593 << 32] * samples
    return {"columns": {
        "kernel": {"start_ns": starts + 40_000, "end_ns": starts + 140_000, "correlation_id": ids,
                   "name": np.array(["ampere_sgemm_128x64_nn"] * count, dtype=object), **device, "grid_x": same(2),
                   "grid_y": same(1), "grid_z": same(1), "block_x": same(128), "block_y": same(1), "block_z": same(1),
                   "registers_per_thread": same(96), "static_shared_memory": same(0),
                   "dynamic_shared_memory": same(49152), "priority": same(0), "queued": same(0)},
        "gpu_memcpy": {"start_ns": starts + 150_000, "end_ns": starts + 160_000, "correlation_id": ids + 1, **device,
                       "bytes": same(32768), "copy_kind": same(2), "src_kind": same(3), "dst_kind": same(2),
                       "flags": same(0)},
        "cuda_runtime": runtime,
        "cuda_sync": one(start_ns=BASE_NS + 1_800_000, end_ns=BASE_NS + 1_850_000, sync_type=3, context_id=1,
                         stream_id=7, correlation_id=90, cuda_event_id=0, cuda_event_sync_id=0),
        "overhead": {**one(start_ns=BASE_NS + 1_200_000, end_ns=BASE_NS + 1_210_000),
                     "name": np.array(["Buffer Flush"], dtype=object)},
        "external_correlation": {"correlation_id": ids, "external_id": np.array([e for _, e in launches]),
                                 "user_external_id": np.array([e for _, e in launches])},
        "environment": {"start_ns": np.concatenate([times] * 3), "device_id": np.zeros(3 * samples, dtype=np.int64),
                        "environment_kind": np.repeat([3, 2, 1], samples), "data": np.array(data, dtype=np.uint64)},
        "pm_sampling": {"start_ns": times, "device_id": np.zeros(samples, dtype=np.int64),
                        "sm__cycles_active.avg.pct_of_peak_sustained_elapsed": np.full(samples, 62.5),
                        "dram__throughput.avg.pct_of_peak_sustained_elapsed": np.full(samples, 20.0)},
    }, "thread_resource_map": {PROCESS: {THREAD: THREAD}}}


def main(folder):
    stand_in_for_cupti()
    from torch.profiler._cuspy import trace

    folder = pathlib.Path(folder)
    events, launches = host_events()
    cpu = folder / "host.json"
    cpu.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "displayTimeUnit": "ms",
                               "traceEvents": events}))
    for name in ("rank0.json", "rank0.pftrace"):
        trace.merge_trace_window_into_chrome_trace(cpu, folder / name, window(launches))
    cpu.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
