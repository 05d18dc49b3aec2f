"""Trainings of two ranks, each with one thread on a core of its own: gradients averaged (DDP), or parameters sharded (FSDP).

The process group exists: steps.py has joined it. Every rank draws batches of its own."""
import torch
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from .language import next_token_step, small_gpt2, small_llama
from .vision import small_convnext, small_vit, with_adamw


def data_parallel(model, _blocks):
    return DistributedDataParallel(model)


def sharded(model, blocks):
    """Each block gathers its parameters before its forward and its backward pass."""
    for block in blocks:
        fully_shard(block)
    return fully_shard(model)


def llama(distribute):
    model = small_llama()
    words = model.config.vocab_size
    model = distribute(model, model.model.layers)
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4), words=words)


def gpt2(distribute):
    model = small_gpt2()
    words = model.config.vocab_size
    model = distribute(model, model.transformer.h)
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4), words=words)


def vit(distribute):
    model = small_vit()
    return with_adamw(distribute(model, model.encoder.layers), 4, 3, 64, 64)


def convnext(distribute):
    model = small_convnext()
    return with_adamw(distribute(model, model.features), 4, 3, 64, 64)


def llama_ddp():
    return llama(data_parallel)


def llama_fsdp():
    return llama(sharded)


def gpt2_ddp():
    return gpt2(data_parallel)


def gpt2_fsdp():
    return gpt2(sharded)


def vit_ddp():
    return vit(data_parallel)


def vit_fsdp():
    return vit(sharded)


def convnext_ddp():
    return convnext(data_parallel)


def convnext_fsdp():
    return convnext(sharded)
