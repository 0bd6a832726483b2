"""Learn to draw rings and discs by a contest: one network forges images, another tells them from true ones (a DCGAN).

    python examples/dcgan.py --steps 600

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, image_lines, options, side_by_side

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
CODE = 16  # how many random numbers an image is forged from


def shapes(count):
    """Images (count, 1, 16, 16) of a ring or a disc, in any place and size, with numbers from -1 to 1."""
    rows, columns = torch.arange(16.0).view(1, 16, 1), torch.arange(16.0).view(1, 1, 16)
    middle, size, hollow = 6 + 3 * torch.rand(2, count, 1, 1), 3 + 2 * torch.rand(count, 1, 1), torch.rand(count, 1, 1)
    distance = ((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2).sqrt()
    disc, hole = torch.sigmoid(3 * (size - distance)), torch.sigmoid(3 * (size - 2 - distance))
    return (2 * (disc - hole * (hollow < 0.5)) - 1)[:, None]


def forger(width):
    """From codes (n, CODE, 1, 1) to images (n, 1, 16, 16)."""
    return nn.Sequential(
        nn.ConvTranspose2d(CODE, 2 * width, 4, bias=False),  # to 4x4
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1, bias=False),  # to 8x8
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.ConvTranspose2d(width, 1, 4, stride=2, padding=1),  # to 16x16
        nn.Tanh(),
    )


def expert(width):
    """From images (n, 1, 16, 16) to scores (n,): above 0 where it takes the image for a true one."""
    return nn.Sequential(
        nn.Conv2d(1, width, 4, stride=2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(2 * width),
        nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 1, 4),
        nn.Flatten(0),
    )


def start(module):
    """The weights that this kind of network is started with."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)


def main(arguments=None):
    chosen = options(__doc__, steps=600, batch=32, width=32).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    forge, judge = forger(chosen.width).apply(start), expert(chosen.width).apply(start)
    forge_optimizer = torch.optim.Adam(forge.parameters(), lr=0.001, betas=(0.5, 0.999))
    judge_optimizer = torch.optim.Adam(judge.parameters(), lr=0.001, betas=(0.5, 0.999))
    true, false = torch.ones(chosen.batch), torch.zeros(chosen.batch)

    for _ in (progress := Progress(chosen.steps)):
        forged = forge(torch.randn(chosen.batch, CODE, 1, 1))

        # The expert learns from both kinds; what it says of forged ones shall not reach the forger here.
        judged = judge(shapes(chosen.batch)), judge(forged.detach())
        judge_loss = F.binary_cross_entropy_with_logits(judged[0], true)
        judge_loss = judge_loss + F.binary_cross_entropy_with_logits(judged[1], false)
        judge_optimizer.zero_grad()
        judge_loss.backward()
        judge_optimizer.step()

        # The forger learns from what the expert would have had to see.
        loss = F.binary_cross_entropy_with_logits(judge(forged), true)
        forge_optimizer.zero_grad()
        loss.backward()
        forge_optimizer.step()
        progress.show(loss=loss.item(), expert=judge_loss.item())

    draw(loss, forge, chosen.draw)
    forge.eval()
    with torch.no_grad():
        forged = forge(torch.randn(4, CODE, 1, 1))
    for name, images in (("true", shapes(4)), ("forged", forged)):
        print(f"\n{name} images:")
        side_by_side(*(image_lines((image[0] + 1) / 2) for image in images))
    return loss.item()


if __name__ == "__main__":
    main()
