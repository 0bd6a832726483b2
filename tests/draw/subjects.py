"""Networks and graphs that the tests of this folder draw."""

import rushlight as rl
from rushlight import nn


def small_network():
    """(model, input, output, loss 0.25) of a small network whose parameters are all zero."""
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    with rl.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    x = rl.ones(5, 4, requires_grad=True)
    out = model(x)
    return model, x, out, nn.functional.mse_loss(out, rl.full((5, 1), 0.5))


class Block(nn.Module):
    """Two layers with a way around them."""

    def __init__(self, size):
        super().__init__()
        self.first, self.second = nn.Linear(size, size), nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return x + self.second(self.first(self.norm(x)).tanh())


class Tower(nn.Module):
    """Blocks in a Sequential, with layers before and after them."""

    def __init__(self, blocks=3, size=4):
        super().__init__()
        self.stem = nn.Linear(2, size)
        self.body = nn.Sequential(*(Block(size) for _ in range(blocks)))
        self.head = nn.Linear(size, 1)

    def forward(self, x):
        return self.head(self.body(self.stem(x).relu()))


def unrolled(steps=3):
    """(loss, cell) of a recurrent cell that is called several times."""
    cell = nn.LSTMCell(3, 3)
    h = c = rl.zeros(1, 3)
    for _ in range(steps):
        h, c = cell(rl.ones(1, 3), (h, c))
    return (h * c).sum(), cell
