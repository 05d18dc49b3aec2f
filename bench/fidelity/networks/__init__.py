"""The networks of the suite: small, random weights, one thread.

A network is a function without required arguments that returns a training step (or another step of work): a function without
arguments. To add one: the function, in the file of its family or in a new file, and its row here."""
import importlib
import importlib.util
import inspect
import pathlib
from typing import NamedTuple


class Network(NamedTuple):
    name: str
    file: str  # of this folder
    function: str
    about: str
    arguments: tuple = ()  # of the function
    ranks: int = 1


SUITE = (
    Network("lora", "language", "lora", "LoRA on a small Llama"),
    Network("swin", "vision", "swin", "Swin-T"),
    Network("llama", "language", "llama", "small Llama"),
    Network("vit", "vision", "vit", "ViT"),
    Network("unet", "diffusion", "unet", "U-Net of diffusers"),
    Network("lstm", "recurrent", "lstm", "LSTM"),
    Network("graph", "graph", "graph", "graph network (`index_add`)"),
    Network("generation", "language", "generation", "generation with a KV cache"),
    Network("mobilenet", "vision", "mobilenet", "MobileNetV3-Small"),
    Network("mixtral", "language", "mixtral", "Mixtral (routing by index tensors)"),
    Network("detection", "detection", "retinanet", "detection (RetinaNet)"),
    Network("depthwise", "vision", "convnext", "depthwise convolution (ConvNeXt)"),
    Network("speech", "speech", "whisper", "speech (Whisper)"),
    Network("recommendation", "recommendation", "dlrm", "recommendation (DLRM with `EmbeddingBag`)"),
    Network("video", "vision", "video", "3-D convolution (R3D)"),
    Network("dynamic", "language", "dynamic", "dynamic shapes (BERT, masked tokens)"),
    Network("fused", "language", "fused", "a fused optimizer (GPT-2, AdamW)"),
    Network("checkpointing", "language", "checkpointing", "gradient checkpointing (Llama)"),
    Network("autocast", "language", "autocast", "mixed precision (bfloat16 autocast, GPT-2)"),
    Network("vocabulary", "language", "vocabulary", "a large vocabulary (64 k tokens, GPT-2)"),
)

# Of two ranks.
DISTRIBUTED = tuple(
    Network(f"{network}_{how}", "distributed", network, f"{about}, {title}", (how,), ranks=2)
    for network, about in (("llama", "small Llama"), ("gpt2", "GPT-2"), ("vit", "ViT"), ("convnext", "ConvNeXt"))
    for how, title in (("ddp", "data-parallel"), ("fsdp", "fully sharded")))


def find(name):
    """The network of that name, or FILE.py:FUNCTION[:NAME=NUMBER,…] of the user's; None if there is none."""
    for network in (*SUITE, *DISTRIBUTED):
        if network.name == name:
            return network
    file, colon, function = name.partition(":")
    return Network(name, file, function, name) if colon and file.endswith(".py") else None


def build(name):
    """Its step. Needs the packages of requirements.txt. A function of the user's that wants rank and world size gets 0 and 1."""
    network = find(name)
    if network.file.endswith(".py"):
        spec = importlib.util.spec_from_file_location(pathlib.Path(network.file).stem, network.file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function, _, settings = network.function.partition(":")
        pairs = (word.split("=") for word in settings.split(",") if word)
        make = getattr(module, function)
        needed = [one for one in inspect.signature(make).parameters.values() if one.default is one.empty]
        return make(*(0, 1)[:len(needed)], **{key: int(value) for key, value in pairs})
    return getattr(importlib.import_module(f"{__name__}.{network.file}"), network.function)(*network.arguments)
