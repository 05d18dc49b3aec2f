#!/usr/bin/env python3
"""Loads the GPU with one product over and over, then leaves it idle; nvml.txt gets the watts that NVML itself gave meanwhile.

    power.py [--small]    (--small: a product on the CPU, for a try without a GPU)"""
import pathlib
import statistics
import sys
import threading
import time

import torch

SECONDS, SIZE = 12, 8192
small = "--small" in sys.argv
device = "cuda" if torch.cuda.is_available() else "cpu"


def sample(watts, stop):
    try:
        import pynvml
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    except Exception as error:  # reported: a machine may have no NVML
        watts["none"] = str(error)
        return
    while not stop.is_set():
        watts.setdefault("samples", []).append((time.monotonic(), pynvml.nvmlDeviceGetPowerUsage(handle) / 1000))
        time.sleep(0.1)


def main():
    size, seconds = (256, 2) if small else (SIZE, SECONDS)
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    watts, stop = {}, threading.Event()
    sampler = threading.Thread(target=sample, args=(watts, stop))
    sampler.start()
    begin, products = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        for _ in range(20):
            a @ b
        products += 20
        if device == "cuda":
            torch.cuda.synchronize()
    end = time.monotonic()
    time.sleep(seconds / 3)
    stop.set()
    sampler.join()
    lines = [f"{2e-12 * size ** 3 * products / (end - begin):.1f} TFLOP/s over {end - begin:.1f} s"]
    if "none" in watts:
        lines.append(f"no watts of NVML: {watts['none']}")
    else:
        under_load = [one for at, one in watts["samples"] if begin + 2 < at < end]
        lines.append(f"NVML: {statistics.mean(under_load):.1f} W under load ({len(under_load)} samples),"
                     f" {watts['samples'][-1][1]:.1f} W after it")
    pathlib.Path("nvml.txt").write_text("\n".join(lines) + "\n")


main()
