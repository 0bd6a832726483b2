"""Make the pictures of docs/graph.md: `python tools/draw_graph_pictures.py`. A test checks that they are up to date."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as torch
from rushlight import draw, nn

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"


class Block(nn.Module):
    """Two layers with a way around them."""

    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.widen, self.narrow = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x):
        return x + self.narrow(self.widen(self.norm(x)).relu())


class Tower(nn.Module):
    """Blocks on top of each other."""

    def __init__(self, blocks=3, size=8):
        super().__init__()
        self.stem = nn.Linear(4, size)
        self.blocks = nn.Sequential(*(Block(size) for _ in range(blocks)))
        self.head = nn.Linear(size, 2)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def expression():
    """A few operations on two leaves; `w` is used twice, and has its gradient."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.ones(3, requires_grad=True)
    y = w * w + b
    loss = (y * w).sum()
    return draw.graph(loss, names={"w": w, "b": b, "y": y, "loss": loss}, play=True).svg()


def network():
    """A small network, traced."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    with draw.trace():
        loss = nn.functional.mse_loss(model(torch.ones(16, 4)), torch.ones(16, 1))
    return draw.graph(loss, model, names={"loss": loss}).svg()


def tower():
    """A network of blocks, one level unfolded after the other."""
    model = Tower()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    with draw.trace():
        loss = model(torch.ones(16, 4)).square().mean()
    drawing = draw.graph(loss, model, names={"loss": loss})
    return drawing.svg(depth=1), drawing.svg(depth=2)


def not_a_number():
    """Where NaN begins: the derivative of sqrt at 0 is infinite."""
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    distance = (x * x).sqrt()
    loss = distance.sum()
    return draw.graph(loss, names={"x": x, "distance": distance, "loss": loss}, play=True).svg()


def pictures():
    """``{file name: SVG}`` of all of them."""
    folded, unfolded = tower()
    found = {
        "expression.svg": expression(),
        "network.svg": network(),
        "tower-folded.svg": folded,
        "tower.svg": unfolded,
        "nan.svg": not_a_number(),
    }
    here = str(Path(__file__).resolve().parent.parent) + os.sep
    # Lines of code are told from the root of the repository: whose copy of it this is belongs into no picture.
    return {name: picture.replace(here, "") for name, picture in found.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print(FOLDER / name)
