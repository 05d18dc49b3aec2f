"""Recommendation: tables of embeddings and two perceptrons."""
import torch
import torch.nn.functional as F
from torch import nn

from .training import training_step


def perceptron(*widths):
    layers = []
    for first, second in zip(widths, widths[1:]):
        layers += [nn.Linear(first, second), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Dlrm(nn.Module):
    """Dense features and bags of categories; the products of all pairs; a probability."""

    def __init__(self, tables, rows, width, dense):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = perceptron(dense, 256, width)
        self.top = perceptron(width + tables * (tables + 1) // 2, 256, 128, 1)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, offset=-1), persistent=False)

    def forward(self, dense, bags, offsets):
        states = self.bottom(dense)
        vectors = torch.stack([states, *(table(ids, offsets) for table, ids in zip(self.tables, bags))], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([states, products[:, self.pairs[0], self.pairs[1]]], dim=1)).squeeze(1)


def dlrm(tables=8, rows=20000, width=32, dense=13, batch=512, bag=6):
    model = Dlrm(tables, rows, width, dense)
    offsets = torch.arange(0, batch * bag, bag)

    def loss():
        bags = torch.randint(0, rows, (tables, batch * bag))
        wanted = torch.randint(0, 2, (batch,)).float()
        return F.binary_cross_entropy_with_logits(model(torch.randn(batch, dense), bags, offsets), wanted)

    return training_step(torch.optim.SGD(model.parameters(), lr=0.1), loss)
