"""Trainings of two ranks, each with one thread on a core of its own.

The process group exists: steps.py has joined it. Every rank draws batches of its own. `how` is a key of HOW."""
import torch
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from .language import next_token_step, small_gpt2, small_llama
from .vision import small_convnext, small_vit, with_adamw


def data_parallel(model, _blocks):
    """Averages gradients."""
    return DistributedDataParallel(model)


def sharded(model, blocks):
    """Each block gathers its parameters before its forward and its backward pass."""
    for block in blocks:
        fully_shard(block)
    return fully_shard(model)


HOW = {"ddp": data_parallel, "fsdp": sharded}


def language_model(model, blocks, how):
    words = model.config.vocab_size
    model = HOW[how](model, blocks)
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4), words=words)


def classifier(model, blocks, how):
    return with_adamw(HOW[how](model, blocks), 4, 3, 64, 64)


def llama(how):
    model = small_llama()
    return language_model(model, model.model.layers, how)


def gpt2(how):
    model = small_gpt2()
    return language_model(model, model.transformer.h, how)


def vit(how):
    model = small_vit()
    return classifier(model, model.encoder.layers, how)


def convnext(how):
    model = small_convnext()
    return classifier(model, model.features, how)
