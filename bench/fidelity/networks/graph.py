"""Networks on graphs."""
import torch
import torch.nn.functional as F
from torch import nn

from .training import training_step


class Messages(nn.Module):
    """A message along each edge from both its ends; a node takes the mean of those that reach it."""

    def __init__(self, width):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU())
        self.update = nn.Linear(2 * width, width)

    def forward(self, nodes, source, target):
        messages = self.message(torch.cat([nodes[source], nodes[target]], dim=1))
        ones = torch.ones(len(target), 1)
        count = torch.zeros(len(nodes), 1).index_add_(0, target, ones).clamp(min=1)
        arrived = torch.zeros_like(nodes).index_add_(0, target, messages) / count
        return F.relu(self.update(torch.cat([nodes, arrived], dim=1)))


def graph(nodes=1500, edges=8000, width=96, layers=3, classes=8):
    model = nn.ModuleList([nn.Linear(32, width), *(Messages(width) for _ in range(layers)), nn.Linear(width, classes)])

    def loss():
        source, target = torch.randint(0, nodes, (2, edges))
        states = model[0](torch.randn(nodes, 32))
        for layer in model[1:-1]:
            states = layer(states, source, target)
        return F.cross_entropy(model[-1](states), torch.randint(0, classes, (nodes,)))

    return training_step(torch.optim.Adam(model.parameters(), lr=1e-3), loss)
