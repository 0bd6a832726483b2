"""Train a small network to tell the arms of a spiral apart, and save what it has learnt.

Run it with PyTorch (`python classify_points.py`) or with Rushlight (`rushlight run classify_points.py`).
"""

import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def spiral(count, arms=3):
    """`count` points on each arm, and the number of each point's arm."""
    points, labels = [], []
    for arm in range(arms):
        radius = torch.linspace(0.1, 1, count)
        angle = 4 * radius + 2 * torch.pi * arm / arms + 0.15 * torch.randn(count)
        points.append(torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1))
        labels.append(torch.full((count,), arm))
    return torch.cat(points), torch.cat(labels)


def accuracy(model, data):
    """The share of points that the model gives their own arm."""
    with torch.no_grad():
        points, labels = next(iter(DataLoader(data, batch_size=len(data))))
        return (model(points).argmax(1) == labels).float().mean().item()


torch.manual_seed(0)
train, test = random_split(TensorDataset(*spiral(200)), [480, 120])
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
loss_of = nn.CrossEntropyLoss()

for epoch in range(1, 41):
    for points, labels in DataLoader(train, batch_size=32, shuffle=True):
        loss = loss_of(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch}: loss {loss.item():.4f}, test accuracy {accuracy(model, test):.1%}")

path = os.path.join(tempfile.gettempdir(), "spiral.pth")
torch.save(model.state_dict(), path)
model.load_state_dict(torch.load(path))
print(f"saved, loaded again: test accuracy {accuracy(model, test):.1%}")
os.remove(path)
