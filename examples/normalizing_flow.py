"""Bend a normal distribution into two moons, step by step and reversibly: a normalizing flow of affine couplings.

    python examples/normalizing_flow.py --steps 1000

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options, point_lines, side_by_side

import rushlight as torch

nn = torch.nn


def moons(count):
    """Points (count, 2) on two half circles that reach into each other."""
    angle, upper = torch.pi * torch.rand(count), torch.rand(count) < 0.5
    x = torch.where(upper, torch.cos(angle) - 0.5, 0.5 - torch.cos(angle))
    y = torch.where(upper, torch.sin(angle) - 0.25, 0.25 - torch.sin(angle))
    return 1.5 * torch.stack([x, y], 1) + 0.08 * torch.randn(count, 2)


class Coupling(nn.Module):
    """Scales and moves one coordinate by amounts that depend on the other, which stays: so it can be undone."""

    def __init__(self, kept, hidden):
        super().__init__()
        self.kept = kept
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.amounts = nn.Linear(hidden, 2)
        nn.init.zeros_(self.amounts.weight)  # begins by changing nothing
        nn.init.zeros_(self.amounts.bias)

    def parts(self, points):
        """The coordinate that stays, the other one, the logarithm of its scale, its move: each (points, 1)."""
        stays, other = points[:, self.kept, None], points[:, 1 - self.kept, None]
        log_scale, move = self.amounts(self.net(stays)).chunk(2, dim=1)
        return stays, other, 2 * torch.tanh(log_scale / 2), move

    def join(self, stays, other):
        return torch.cat([stays, other] if self.kept == 0 else [other, stays], 1)

    def forward(self, points):
        """Points towards the normal distribution, and the logarithms of how much areas grew there."""
        stays, other, log_scale, move = self.parts(points)
        return self.join(stays, other * log_scale.exp() + move), log_scale.squeeze(1)

    def inverse(self, points):
        stays, other, log_scale, move = self.parts(points)
        return self.join(stays, (other - move) * (-log_scale).exp())


class Flow(nn.Module):
    """Couplings that keep one coordinate and the other in turn."""

    def __init__(self, layers, hidden):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(number % 2, hidden) for number in range(layers))
        self.base = torch.distributions.Normal(0.0, 1.0)

    def log_prob(self, points):
        """The logarithm of the density at each of the points (n, 2)."""
        growth = torch.zeros(len(points))
        for layer in self.layers:
            points, grown = layer(points)
            growth = growth + grown
        return self.base.log_prob(points).sum(1) + growth

    def sample(self, count):
        """New points (count, 2)."""
        points = self.base.sample((count, 2))
        for layer in reversed(self.layers):
            points = layer.inverse(points)
        return points


def main(arguments=None):
    chosen = options(__doc__, steps=1000, batch=256, layers=8, hidden=32).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    flow = Flow(chosen.layers, chosen.hidden)
    optimizer = torch.optim.Adam(flow.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, chosen.steps)
    for _ in (progress := Progress(chosen.steps)):
        loss = -flow.log_prob(moons(chosen.batch)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        progress.show(loss=loss.item())

    draw(loss, flow, chosen.draw)
    with torch.no_grad():
        drawn = flow.sample(4000)
    print(f"\n{'true points':51}the flow's own")
    side_by_side(point_lines(moons(4000), -2.6, 2.6), point_lines(drawn, -2.6, 2.6))
    return loss.item()


if __name__ == "__main__":
    main()
