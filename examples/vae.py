"""Find the two numbers behind images of boxes with a variational autoencoder, and draw images for a grid of them.

    python examples/vae.py --steps 1000

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, image_lines, options, side_by_side

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
SIZE = 8


def boxes(count):
    """Images (count, SIZE, SIZE) with a soft box in the middle, of any width and height: numbers from 0 to 1."""
    places = (torch.arange(SIZE) - (SIZE - 1) / 2).abs()
    width, height = 0.5 + (SIZE / 2 - 0.5) * torch.rand(2, count, 1)
    across, down = torch.sigmoid(4 * (width - places)), torch.sigmoid(4 * (height - places))
    return down[:, :, None] * across[:, None, :]


class Autoencoder(nn.Module):
    """From an image to a normal distribution of two numbers, and from two numbers to an image."""

    def __init__(self, hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, hidden), nn.Tanh())
        self.mean, self.log_variance = nn.Linear(hidden, 2), nn.Linear(hidden, 2)
        self.decoder = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, SIZE * SIZE), nn.Unflatten(1, (SIZE, SIZE))
        )

    def forward(self, images):
        """Logits of images like those given, and means and logarithms of variances of their codes."""
        hidden = self.encoder(images)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        noise = torch.randn_like(mean)  # drawn apart from mean and variance, so that both get gradients
        return self.decoder(mean + noise * torch.exp(log_variance / 2)), mean, log_variance


def loss_of(images, logits, mean, log_variance):
    """Minus the evidence lower bound of an image: (what is lost, how far codes are from a standard normal)."""
    lost = F.binary_cross_entropy_with_logits(logits, images, reduction="sum") / len(images)
    distance = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum() / len(images)
    return lost, distance


def main(arguments=None):
    chosen = options(__doc__, steps=1000, batch=64, hidden=64).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    model = Autoencoder(chosen.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in (progress := Progress(chosen.steps)):
        images = boxes(chosen.batch)
        lost, distance = loss_of(images, *model(images))
        loss = lost + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.show(loss=loss.item(), lost=lost.item(), distance=distance.item())

    draw(loss, model, chosen.draw)
    # Equal shares of a standard normal lie between these numbers, so each image is as likely as the next.
    across = torch.distributions.Normal(0, 1).icdf(torch.linspace(0.05, 0.95, 5))
    print("\nwhat the decoder draws while one number grows across and the other down:")
    with torch.no_grad():
        for down in across[::2]:
            images = torch.sigmoid(model.decoder(torch.stack([across, down.expand(5)], 1)))
            print()
            side_by_side(*(image_lines(image) for image in images))
    return loss.item()


if __name__ == "__main__":
    main()
