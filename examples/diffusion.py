"""Turn noise into points on a spiral: a network learns to take away a little noise at a time (diffusion).

    python examples/diffusion.py --steps 2000

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options, point_lines, side_by_side

import rushlight as torch

nn, F = torch.nn, torch.nn.functional


def spiral(count):
    """Points (count, 2) on a spiral of a little more than one turn."""
    way = torch.rand(count).sqrt()
    angle = 2.5 * torch.pi * way
    return 2 * torch.stack([way * torch.cos(angle), way * torch.sin(angle)], 1) + 0.03 * torch.randn(count, 2)


class Denoiser(nn.Module):
    """Says what noise was added to points, from the points and how far they have been mixed with it."""

    def __init__(self, hidden, times):
        super().__init__()
        self.register_buffer("waves", torch.pi * 2.0 ** torch.arange(6) / times)
        self.net = nn.Sequential(
            nn.Linear(2 + 2 * len(self.waves), hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, points, times):
        """From points (n, 2) and whole numbers (n,) to noise (n, 2)."""
        phases = times[:, None] * self.waves
        return self.net(torch.cat([points, phases.sin(), phases.cos()], 1))


class Diffusion:
    """How much noise there is at each time: a part of the point and a part of noise, whose squares add up to one."""

    def __init__(self, times):
        self.times = times
        self.betas = torch.linspace(1e-4, 0.2, times)  # the share of noise that each time adds
        self.kept = torch.cumprod(1 - self.betas, 0)  # what is left of the point's square

    def mix(self, points, noise, times):
        kept = self.kept[times, None]
        return kept.sqrt() * points + (1 - kept).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, count):
        """Points (count, 2) as they are in the beginning, on the way and in the end."""
        points = torch.randn(count, 2)
        stages = [points]
        for time in reversed(range(self.times)):
            noise = model(points, torch.full((count,), time))
            beta = self.betas[time]
            points = (points - beta / (1 - self.kept[time]).sqrt() * noise) / (1 - beta).sqrt()
            if time:
                points = points + beta.sqrt() * torch.randn(count, 2)
            if time in (self.times // 6, 0):
                stages.append(points)
        return stages


def main(arguments=None):
    chosen = options(__doc__, steps=2000, batch=512, hidden=128, times=50).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    model, diffusion = Denoiser(chosen.hidden, chosen.times), Diffusion(chosen.times)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, chosen.steps)
    averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98))
    for _ in (progress := Progress(chosen.steps)):
        noise, times = torch.randn(chosen.batch, 2), torch.randint(chosen.times, (chosen.batch,))
        mixed = diffusion.mix(spiral(chosen.batch), noise, times)
        loss = F.mse_loss(model(mixed, times), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        averaged.update_parameters(model)  # draws better than the last weights alone
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    print("\nfrom noise to points:")
    side_by_side(*(point_lines(points, -2.5, 2.5, 36, 18) for points in diffusion.sample(averaged, 3000)))
    return loss.item()


if __name__ == "__main__":
    main()
