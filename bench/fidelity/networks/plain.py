"""Two trainings beside the suite, whose size is an argument: `--networks bench/fidelity/networks/plain.py:transformer:hidden=160`."""
import torch
import torch.nn.functional as F
from torch import nn


def classifier_step(model, optimizer, batch):
    def step():
        optimizer.zero_grad()
        inputs, target = batch()
        loss = F.cross_entropy(model(inputs), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def transformer(layers=3, hidden=320, heads=5, tokens=96, batch=3, words=800):
    """PyTorch's own encoder layers, with AdamW."""
    layer = nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, dropout=0.0, activation="gelu", batch_first=True,
                                       norm_first=True)
    model = nn.Sequential(nn.Embedding(words, hidden), nn.TransformerEncoder(layer, layers, enable_nested_tensor=False),
                          nn.LayerNorm(hidden), nn.Linear(hidden, words), nn.Flatten(0, 1))

    def draw():
        text = torch.randint(0, words, (batch, tokens + 1))
        return text[:, :-1], text[:, 1:].flatten()

    return classifier_step(model, torch.optim.AdamW(model.parameters(), lr=1e-3), draw)


def convolutions(width=40, stages=4, size=64, batch=8):
    """Convolution, batch norm and ReLU, twice before each halving; SGD with momentum."""
    layers, channels = [], 3
    for stage in range(stages):
        for _ in range(2):
            layers += [nn.Conv2d(channels, width << stage, 3, padding=1, bias=False), nn.BatchNorm2d(width << stage),
                       nn.ReLU(inplace=True)]
            channels = width << stage
        layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))

    def draw():
        return torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))

    return classifier_step(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4), draw)
