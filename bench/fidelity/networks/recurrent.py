"""Recurrent networks."""
import torch
import torch.nn.functional as F
from torch import nn

from .training import training_step


class Tagger(nn.Module):
    """A label for each token."""

    def __init__(self, words, hidden, labels):
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, labels)

    def forward(self, ids):
        return self.head(self.lstm(self.embedding(ids))[0])


def lstm(words=2000, hidden=256, labels=50, batch=8, length=40):
    model = Tagger(words, hidden, labels)

    def loss():
        ids = torch.randint(0, words, (batch, length))
        return F.cross_entropy(model(ids).flatten(0, 1), torch.randint(0, labels, (batch * length,)))

    return training_step(torch.optim.Adam(model.parameters(), lr=1e-3), loss)
