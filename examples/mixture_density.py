"""Answer a question that has several answers: a network that gives a mixture of normal distributions instead of a number.

    python examples/mixture_density.py --steps 1000

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options, point_lines, side_by_side

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
distributions = torch.distributions


def question(count):
    """Points x of a wave, and the places y where it has that height (more than one for most): each (count,)."""
    y = 2 * torch.rand(count) - 1
    x = 0.7 * y + 0.6 * torch.sin(2.5 * torch.pi * y) + 0.05 * torch.randn(count)
    return x, y


class MixtureNetwork(nn.Module):
    """From numbers (n,) to n mixtures of normal distributions."""

    def __init__(self, hidden, parts):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.logits, self.means, self.widths = (nn.Linear(hidden, parts) for _ in range(3))

    def forward(self, x):
        hidden = self.body(x[:, None])
        normal = distributions.Normal(self.means(hidden), F.softplus(self.widths(hidden)) + 0.01)
        return distributions.MixtureSameFamily(distributions.Categorical(logits=self.logits(hidden)), normal)


def main(arguments=None):
    chosen = options(__doc__, steps=1000, batch=256, hidden=32, parts=5).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    model = MixtureNetwork(chosen.hidden, chosen.parts)
    plain = nn.Sequential(nn.Linear(1, chosen.hidden), nn.Tanh(), nn.Linear(chosen.hidden, 1))
    optimizer = torch.optim.Adam([*model.parameters(), *plain.parameters()], lr=0.01)
    for _ in (progress := Progress(chosen.steps)):
        x, y = question(chosen.batch)
        loss = -model(x).log_prob(y).mean()
        squared = F.mse_loss(plain(x[:, None]).squeeze(1), y)
        optimizer.zero_grad()
        (loss + squared).backward()
        optimizer.step()
        progress.show(loss=loss.item(), squared=squared.item())

    draw(loss, model, chosen.draw)
    x, y = question(3000)
    with torch.no_grad():
        drawn, answers = model(x).sample(), plain(x[:, None]).squeeze(1)
    titles = "the truth", "drawn from the mixtures", "single answers: means of the truth"
    print("\n" + "".join(f"{title:39}" for title in titles).rstrip())
    side_by_side(*(point_lines(torch.stack([x, values], 1), -1.4, 1.4, 36, 20) for values in (y, drawn, answers)))
    mixture = model(torch.zeros(1))
    shares, normal = mixture.mixture_distribution.probs[0], mixture.component_distribution
    print("\nanswers to x = 0, the likeliest first:")
    for part in shares.argsort(descending=True).tolist():
        print(f"  {shares[part]:4.0%} near {normal.mean[0, part]:5.2f}, +- {normal.stddev[0, part]:.2f}")
    return loss.item()


if __name__ == "__main__":
    main()
