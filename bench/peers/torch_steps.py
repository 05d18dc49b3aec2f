#!/usr/bin/env python3
"""A training loop in PyTorch, for fidelity.py: one thread, the same step over and over.

    torch_steps.py WORKLOAD capture DIRECTORY    traces one step, as reprise_capture.py does
    torch_steps.py WORKLOAD steps FILE           untraced steps until it is killed; a line of seconds for each

WORKLOAD is FILE.py:FUNCTION[:NAME=NUMBER,…]: FUNCTION(rank, world_size, NAME=…) returns the step, a function without arguments."""
import importlib.util
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARMUP = 12


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(workload):
    path, function, *rest = workload.split(":")
    settings = dict(word.split("=") for word in rest[0].split(",")) if rest else {}
    return getattr(load(path), function)(0, 1, **{name: int(value) for name, value in settings.items()})


def capture(step, directory):
    trace = load(ROOT / "python/reprise_capture.py").start(directory, steps=WARMUP)
    for _ in range(2 * WARMUP):
        step()
        trace.step()


def steps(step, file):
    for _ in range(WARMUP):
        step()
    with open(file, "w", encoding="utf-8", buffering=1) as out:
        while True:
            begin = time.monotonic()
            step()
            out.write(f"{time.monotonic() - begin}\n")


def main():
    import torch
    workload, what, target = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    {"capture": capture, "steps": steps}[what](build(workload), target)


if __name__ == "__main__":
    main()
