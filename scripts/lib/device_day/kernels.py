#!/usr/bin/env python3
"""Times PyTorch's operators on the GPU: products, attention, norms and a copy, with the rates that they reach.

    kernels.py [--small]    (--small: small shapes, on the CPU where there is no GPU)"""
import statistics
import sys
import time

import torch
import torch.nn.functional as F

small = "--small" in sys.argv
device = "cuda" if torch.cuda.is_available() else "cpu"


def seconds_of(call):
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(3):
        call()
    times = []
    for _ in range(7):
        synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            call()
        synchronize()
        times.append((time.perf_counter() - begin) / 10)
    return statistics.median(times)


def tensor(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device=device, dtype=dtype)


def main():
    print(f"{'operator':34} {'us':>9} {'rate':>16}")
    for dtype in (torch.bfloat16, torch.float32):
        for m, n, k in ((128, 128, 128),) if small else ((8192, 3072, 1024), (8192, 1024, 4096), (4096, 4096, 4096)):
            a, b = tensor(m, k, dtype=dtype), tensor(k, n, dtype=dtype)
            took = seconds_of(lambda a=a, b=b: a @ b)
            print(f"{f'mm {m}x{n}x{k} {str(dtype)[6:]}':34} {1e6 * took:9.1f} {2e-12 * m * n * k / took:9.1f} TFLOP/s")
    batch, heads, length = (1, 2, 64) if small else (8, 16, 1024)
    q, k, v = (tensor(batch, heads, length, 64) for _ in range(3))
    took = seconds_of(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    print(f"{f'attention {batch}x{heads}x{length}x64 causal':34} {1e6 * took:9.1f}"
          f" {2e-12 * batch * heads * length * length * 64 / took:9.1f} TFLOP/s")
    rows, width = (64, 64) if small else (8192, 4096)
    x, weight = tensor(rows, width), tensor(width)
    for name, call in (("layer_norm", lambda: F.layer_norm(x, (width,), weight)), ("softmax", lambda: x.softmax(1)),
                       ("copy", x.clone), ("gelu", lambda: F.gelu(x))):
        took = seconds_of(call)
        print(f"{f'{name} {rows}x{width} bfloat16':34} {1e6 * took:9.1f} {4e-9 * rows * width / took:9.1f} GB/s")


main()
