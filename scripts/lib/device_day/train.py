#!/usr/bin/env python3
"""Trains GPT 350M or ResNet-50 in bfloat16 for some steps, captures one of them, and times others without tracing.

    train.py gpt|resnet CAPTURE_DIRECTORY STEPS.json [--small]    (--small: a few layers, for a try on the CPU)

STEPS.json gets the seconds of each untraced step, by the host's clock between two synchronizations, before anything was
traced. reprise_capture.py lies beside this file or in ../../../report/python."""
import json
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / ".." / ".." / ".." / "report" / "python")]  # of a pack, or of the sources
import reprise_capture  # noqa: E402

WARMUP, TIMED = 10, 20


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.ln_1(x)).split(hidden, dim=2))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, hidden))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, hidden, heads, words, length):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, hidden), nn.Embedding(length, hidden)
        self.blocks = nn.Sequential(*(Block(hidden, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


def gpt(device, small):
    layers, hidden, heads, words, batch, length = (2, 64, 2, 512, 2, 64) if small else (24, 1024, 16, 50304, 8, 1024)
    model = Gpt(layers, hidden, heads, words, length).to(device)
    inputs = torch.randint(words, (batch, length + 1), device=device)
    return model, lambda: F.cross_entropy(model(inputs[:, :-1]).flatten(0, 1), inputs[:, 1:].flatten())


def resnet(device, small):
    import torchvision
    model = (torchvision.models.resnet18 if small else torchvision.models.resnet50)().to(device)
    batch, side = (2, 64) if small else (128, 224)
    images = torch.randn(batch, 3, side, side, device=device)
    classes = torch.randint(1000, (batch,), device=device)
    return model, lambda: F.cross_entropy(model(images), classes)


def main():
    small = "--small" in sys.argv
    network, directory, times = (word for word in sys.argv[1:] if word != "--small")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    torch.manual_seed(0)
    model, loss_of = {"gpt": gpt, "resnet": resnet}[network](device, small)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    seconds = []
    for _ in range(WARMUP + TIMED):
        synchronize()
        begin = time.perf_counter()
        loss = step()
        synchronize()
        seconds.append(time.perf_counter() - begin)
    seconds = seconds[WARMUP:]
    with reprise_capture.start(directory, steps=12) as capture:
        for _ in range(30):
            step()
            capture.step()
    pathlib.Path(times).write_text(json.dumps({
        "network": network, "small": small, "device": torch.cuda.get_device_name() if device == "cuda" else device,
        "torch": torch.__version__, "parameters": sum(one.numel() for one in model.parameters()), "loss": loss,
        "median_s": statistics.median(seconds), "seconds": seconds}) + "\n")
    print(f"{network}: {1e3 * statistics.median(seconds):.2f} ms a step without tracing"
          f" ({1e3 * min(seconds):.2f} to {1e3 * max(seconds):.2f}, {TIMED} steps), loss {loss:.3f}")


if __name__ == "__main__":
    main()
