#!/usr/bin/env python3
"""One rank of PyTorch's gloo on the sizes given: mean time of a collective, as JSON on rank 0.

Started by collectives.py under mpirun; needs torch."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist


def start(kind, tensor, gathered, scattered):
    """The same collective as reprise bench collectives KIND, out of place where gloo has such."""
    if kind == "all_reduce":
        dist.all_reduce(tensor)
    elif kind == "broadcast":
        dist.broadcast(tensor, 0)
    elif kind == "all_gather":
        dist.all_gather_into_tensor(gathered, scattered)
    elif kind == "all_to_all":
        dist.all_to_all_single(gathered, tensor)
    elif kind == "reduce":
        dist.reduce(tensor, 0)
    else:
        sys.exit(f"gloo is not compared on {kind}")


def main():
    kind, iterations, warmup = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sizes = [int(text) for text in sys.argv[4].split(",")]
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    ranks = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    results = []
    for size in sizes:
        tensor = torch.ones(size // 4 // ranks * ranks)
        gathered = torch.empty_like(tensor)
        scattered = torch.ones(tensor.numel() // ranks)
        for _ in range(warmup):
            start(kind, tensor, gathered, scattered)
        dist.barrier()
        begin = time.perf_counter_ns()
        for _ in range(iterations):
            start(kind, tensor, gathered, scattered)
        spent = torch.tensor([(time.perf_counter_ns() - begin) / iterations])
        dist.all_reduce(spent)
        results.append({"bytes": size, "time_ns": spent.item() / ranks})
        tensor.fill_(1)  # sums of ones grow beyond float32 otherwise
    if rank == 0:
        print(json.dumps(results))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
