"""Training steps in float32 and under autocast to bfloat16 beside PyTorch.

    python benchmarks/autocast.py

Times are those of `side_by_side`; the optimizer is Adam.
"""

from __future__ import annotations

import functools

from networks import adam, cnn28, labels, mlp
from side_by_side import survey


def perceptron(torch):
    """784-512-512-10, batch 64."""
    return mlp(torch, 784, 512, 512, 10), torch.randn(64, 784)


def convolutions(torch):
    """Two convolutions and two linear layers, 28x28, batch 64."""
    return cnn28(torch), torch.randn(64, 1, 28, 28)


def transformer(torch):
    """A layer of width 256 with 8 heads, (16, 64) tokens."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(64 * 256, 10)), torch.randn(16, 64, 256)


def training_step(make, enabled, torch):
    """A training step, under autocast if ``enabled``."""
    model, inputs = make(torch)
    targets, optimizer = labels(torch, len(inputs)), adam(torch, model)

    def step():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


WORKLOADS = {
    f"{make.__name__}, {dtype}": functools.partial(training_step, make, dtype == "bfloat16")
    for make in (perceptron, convolutions, transformer)
    for dtype in ("float32", "bfloat16")
}

if __name__ == "__main__":
    survey(__file__, __doc__, WORKLOADS)
