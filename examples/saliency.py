"""Ask a network what it looked at: the gradient of its answer with respect to the image that it was shown.

    python examples/saliency.py --steps 150

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, image_lines, options, side_by_side

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
SIZE = 20
SHAPES = {
    "cross": [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (2, 0), (2, 1), (2, 3), (2, 4)],
    "corner": [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (4, 2), (4, 3), (4, 4)],
    "slope": [(0, 4), (0, 3), (1, 3), (1, 2), (2, 2), (3, 2), (3, 1), (4, 1), (4, 0)],
}


def images(count):
    """Noise (count, 1, SIZE, SIZE) with a shape somewhere in it, and the number of the shape."""
    found = 0.6 * torch.rand(count, 1, SIZE, SIZE)
    kinds = torch.randint(len(SHAPES), (count,))
    corners = torch.randint(SIZE - 5, (count, 2))
    shapes = torch.tensor(list(SHAPES.values()))  # (kinds, pixels, 2)
    rows, columns = (corners[:, None] + shapes[kinds]).unbind(-1)
    found[torch.arange(count)[:, None], 0, rows, columns] = 1.0
    return found, kinds


class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 5, padding=2, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
        )
        self.head = nn.Linear(2 * width, len(SHAPES))

    def forward(self, images):
        return self.head(self.features(images).amax((2, 3)))  # the strongest trace anywhere


def saliency(model, image):
    """How much each pixel of an image (1, SIZE, SIZE) counts for the likeliest answer: (SIZE, SIZE), from 0 to 1.

    Gradients are noisy, so this is their mean over copies of the image with a little noise.
    """
    copies = (image + 0.1 * torch.randn(16, *image.shape)).requires_grad_()
    scores = model(copies)
    (gradient,) = torch.autograd.grad(scores[:, scores.sum(0).argmax()].sum(), copies)
    strength = gradient.mean(0)[0].abs()
    return strength / strength.max().clamp(min=1e-12)


class Watch:
    """Keeps what a layer gave, by a hook, while a ``with`` block runs."""

    def __init__(self, layer):
        self.layer = layer

    def __enter__(self):
        self.handle = self.layer.register_forward_hook(self.keep)
        return self

    def keep(self, layer, inputs, output):
        self.output = output

    def __exit__(self, *error):
        self.handle.remove()


def main(arguments=None):
    chosen = options(__doc__, steps=150, batch=32, width=8).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    model = Classifier(chosen.width)
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    for _ in (progress := Progress(chosen.steps)):
        shown, kinds = images(chosen.batch)
        scores = model(shown)
        loss = F.cross_entropy(scores, kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.show(loss=loss.item(), right=(scores.argmax(1) == kinds).float().mean().item())

    draw(loss, model, chosen.draw)
    model.eval()
    shown, kinds = images(1)
    with Watch(model.features) as watch, torch.no_grad():
        answer = list(SHAPES)[model(shown).argmax()]
    trace = watch.output[0].amax(0)
    print(f"\nthe image ({list(SHAPES)[kinds]}), what the features found there, which pixels made it a {answer}:")
    side_by_side(
        image_lines(shown[0, 0]),
        image_lines(trace / trace.max().clamp(min=1e-12)),
        image_lines(saliency(model, shown[0])),
    )
    return loss.item()


if __name__ == "__main__":
    main()
