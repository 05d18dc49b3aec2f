#!/usr/bin/env python3
"""A network's steps in PyTorch, for fidelity.py: one thread, the same step over and over.

    steps.py NETWORK capture DIRECTORY    traces three steps, as reprise_capture.py does
    steps.py NETWORK steps FILE           untraced steps until it is killed; a line of seconds and page faults for each, of rank 0

A network of several ranks needs a process of each, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
NETWORK is a name of networks/, or FILE.py:FUNCTION[:NAME=NUMBER,…]: FUNCTION(NAME=…) returns the step, a function without arguments."""
import importlib.util
import os
import pathlib
import resource
import sys
import time

import networks

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARMUP = 12
TRACED = 3


def capture_module():
    spec = importlib.util.spec_from_file_location("reprise_capture", ROOT / "report/python/reprise_capture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def rank():
    return int(os.environ.get("RANK", 0))


def capture(step, directory):
    trace = capture_module().start(directory, steps=(WARMUP, WARMUP + TRACED - 1))
    for _ in range(2 * WARMUP):
        step()
        trace.step()


def steps(step, file):
    for _ in range(WARMUP):
        step()
    with open(file if rank() == 0 else os.devnull, "w", encoding="utf-8", buffering=1) as out:
        while True:
            faults, begin = page_faults(), time.monotonic()
            step()
            seconds = time.monotonic() - begin
            out.write(f"{seconds} {page_faults() - faults}\n")


def main():
    import torch
    network, what, target = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(rank())
    if networks.find(network).ranks > 1:
        torch.distributed.init_process_group("gloo")
    {"capture": capture, "steps": steps}[what](networks.build(network), target)


if __name__ == "__main__":
    main()
