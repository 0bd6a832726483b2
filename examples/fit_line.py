"""Fit a line to noisy points by gradient descent, with nothing but tensors and autograd.

    python examples/fit_line.py --steps 200

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options

import rushlight as torch


def main(arguments=None):
    chosen = options(__doc__, steps=200, rate=0.1).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    x = torch.linspace(-1, 1, 100)
    y = 3 * x + 0.5 + 0.1 * torch.randn(100)
    slope = torch.zeros((), requires_grad=True)
    offset = torch.zeros((), requires_grad=True)
    for _ in (progress := Progress(chosen.steps)):
        loss = ((slope * x + offset - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for number in (slope, offset):
                number -= chosen.rate * number.grad
                number.grad = None
        progress.show(loss=loss.item(), slope=slope.item(), offset=offset.item())
    draw(loss, None, chosen.draw)
    return loss.item()


if __name__ == "__main__":
    main()
