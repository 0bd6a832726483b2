"""Tell whether two drawings show the same sign, also of signs never seen before: one network looks at both (Siamese).

    python examples/siamese.py --steps 400

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, image_lines, options, side_by_side

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
SIZE, CORNERS = 12, 4


def invent(count):
    """Signs: the corners (count, CORNERS, 2) of lines that a pen draws in one go."""
    return 2 + (SIZE - 5) * torch.rand(count, CORNERS, 2)


def write(signs):
    """Images (n, 1, SIZE, SIZE) of signs (n, CORNERS, 2) by a trembling hand."""
    corners = signs + 0.5 * torch.randn_like(signs)
    rows, columns = torch.meshgrid(torch.arange(float(SIZE)), torch.arange(float(SIZE)), indexing="ij")
    pixels = torch.stack([rows, columns], -1).view(1, 1, -1, 2)
    start, way = corners[:, :-1, None], (corners[:, 1:] - corners[:, :-1])[:, :, None]
    share = (((pixels - start) * way).sum(-1) / (way**2).sum(-1)).clamp(0, 1)
    distance = (pixels - start - share[..., None] * way).norm(dim=-1).amin(1)  # to the nearest line
    return torch.sigmoid(6 * (0.8 - distance)).view(-1, 1, SIZE, SIZE)


class Looker(nn.Module):
    """From an image to a point; drawings of one sign shall lie near each other."""

    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(2 * width * (SIZE // 4) ** 2, 32),
        )

    def forward(self, first, second):
        """The distance between the points of each pair of images: (n,)."""
        return F.pairwise_distance(self.features(first), self.features(second))


def contrastive(distance, same, margin=2.0):
    """Draws pairs of one sign together, and pushes others apart as far as the margin."""
    return torch.where(same, distance**2, F.relu(margin - distance) ** 2).mean()


def pairs(signs, count):
    """Two sets of images (count, 1, SIZE, SIZE), and which of the pairs show the same sign."""
    first, other = torch.randint(len(signs), (2, count))
    same = torch.rand(count) < 0.5
    second = torch.where(same, first, other)
    return write(signs[first]), write(signs[second]), first == second


@torch.no_grad()
def found_among(model, signs, choices=5):
    """How often the drawing of a sign is nearest to another drawing of it, among those of ``choices`` signs."""
    asked = torch.arange(len(signs))
    shown = (asked[:, None] + torch.arange(choices)) % len(signs)  # the first one is right
    first = write(signs[asked.repeat_interleave(choices)])
    distance = model(first, write(signs[shown.flatten()])).view(-1, choices)
    return (distance.argmin(1) == 0).float().mean().item()


def main(arguments=None):
    chosen = options(__doc__, steps=400, batch=64, width=16).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    known, unknown = invent(200), invent(200)
    model = Looker(chosen.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    for _ in (progress := Progress(chosen.steps)):
        first, second, same = pairs(known, chosen.batch)
        loss = contrastive(model(first, second), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    print(f"\nnever seen before, {found_among(model, unknown):.0%} are found among five signs. The distances of:")
    shown = write(unknown[[0, 0, 1]])
    with torch.no_grad():
        same, other = model(shown[[0, 0]], shown[[1, 2]]).tolist()
    print(f"the first two, which are the same: {same:.2f}; the first and the last: {other:.2f}\n")
    side_by_side(*(image_lines(image[0]) for image in shown))
    return loss.item()


if __name__ == "__main__":
    main()
