"""Squeeze 8x8 images of one stroke through four numbers and draw what comes out again.

    python examples/autoencoder.py --steps 1000

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, image_lines, options, side_by_side

import rushlight as torch

nn = torch.nn


def strokes(count):
    """`count` images with one soft straight stroke each, in any place and direction."""
    rows = torch.arange(8.0).view(1, 8, 1)
    columns = torch.arange(8.0).view(1, 1, 8)
    angle = torch.rand(count, 1, 1) * torch.pi
    middle = 2.5 + 2 * torch.rand(count, 1, 1)
    distance = (rows - middle) * torch.cos(angle) + (columns - middle) * torch.sin(angle)
    return torch.exp(-(distance**2))


def main(arguments=None):
    chosen = options(__doc__, steps=1000, batch=64, hidden=64, code=4).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    hidden, code = chosen.hidden, chosen.code
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, code))
    decoder = nn.Sequential(
        nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 64), nn.Sigmoid(), nn.Unflatten(1, (8, 8))
    )
    model = nn.Sequential(encoder, decoder)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in (progress := Progress(chosen.steps)):
        images = strokes(chosen.batch)
        loss = nn.functional.mse_loss(model(images), images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.show(loss=loss.item())

    draw(loss, model, chosen.draw)
    images = strokes(5)
    with torch.no_grad():
        codes = encoder(images)
        again = decoder(codes)
    print("\nimages:")
    side_by_side(*(image_lines(image) for image in images))
    print("drawn from their codes:")
    side_by_side(*(image_lines(image) for image in again))
    print("the first one's code:", ", ".join(f"{number:.2f}" for number in codes[0].tolist()))
    return loss.item()


if __name__ == "__main__":
    main()
