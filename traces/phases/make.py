"""Three small captures on the CPU: a prompt with a decode loop, LoRA steps, and steps of compiled code.

    python3 make.py        # needs PyTorch, a C++ compiler, and reprise_capture.py beside it

Parts are marked with record_function, so that what Reprise finds can be held against it.
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import record_function

import reprise_capture

LAYERS, HEADS, WIDTH, VOCABULARY, CONTEXT = 2, 4, 64, 256, 64


class Lora(nn.Module):
    """A frozen product with a trained one of low rank beside it (Hu et al. 2021)."""

    def __init__(self, inputs, outputs, rank=4):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False)
        self.base.weight.requires_grad_(False)
        self.down = nn.Linear(inputs, rank, bias=False)
        self.up = nn.Linear(rank, outputs, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Block(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = linear(WIDTH, 3 * WIDTH), linear(WIDTH, WIDTH)
        self.up, self.down = linear(WIDTH, 4 * WIDTH), linear(4 * WIDTH, WIDTH)

    def forward(self, x, cache=None):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        if cache is not None:
            k = cache["k"] = k if "k" not in cache else torch.cat([cache["k"], k], dim=2)
            v = cache["v"] = v if "v" not in cache else torch.cat([cache["v"], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block(linear) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, first=0, caches=None):
        places = torch.arange(first, first + tokens.shape[1])
        x = self.tokens(tokens) + self.places(places)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return self.head(self.norm(x))


def plain(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


@torch.no_grad()
def decode(directory, prompt=24, tokens=8, batch=2):
    model = Model(plain).eval()
    capture = reprise_capture.start(directory, steps=3)
    for _ in range(16):
        caches = [{} for _ in range(LAYERS)]
        given = torch.randint(VOCABULARY, (batch, prompt))
        with record_function("prefill"):
            last = model(given, 0, caches)[:, -1:].argmax(-1)
        for i in range(tokens - 1):
            with record_function("decode"):
                last = model(last, prompt + i, caches)[:, -1:].argmax(-1)
        capture.step()
    capture.close()


def train(directory, run, optimizer, update, length, batch):
    capture = reprise_capture.start(directory, steps=3)
    for _ in range(16):
        given = torch.randint(VOCABULARY, (batch, length + 1))
        optimizer.zero_grad()
        with record_function("forward"):
            loss = F.cross_entropy(run(given[:, :-1]).flatten(0, 1), given[:, 1:].flatten())
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            update()
        capture.step()
    capture.close()


def lora(directory):
    model = Model(Lora)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.endswith(("down.weight", "up.weight")) and name.count(".") == 4)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.01, foreach=False)
    train(directory, model, optimizer, optimizer.step, length=32, batch=4)
    frozen = [p for p in model.parameters() if not p.requires_grad and p.dim() == 2]
    print(f"trained {len(trained)} of {sum(p.numel() for p in trained) * 4} bytes, "
          f"frozen matrices {len(frozen)} of {sum(p.numel() for p in frozen) * 4} bytes", file=sys.stderr)


def compiled(directory):
    """Model and optimizer by torch.compile: parts of the step are code that names no operator."""
    model = Model(plain)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train(directory, torch.compile(model), optimizer, torch.compile(optimizer.step), length=64, batch=64)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    decode("decode")
    lora("lora")
    compiled("compiled")
