"""Train a small network to tell the arms of a spiral apart, and save what it has learnt.

    python examples/classify_points.py --steps 40

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

import io

from common import Progress, draw, options

import rushlight as torch

nn = torch.nn
data = torch.utils.data


def spiral(count, arms=3):
    """`count` points on each arm, and the number of each point's arm."""
    points, labels = [], []
    for arm in range(arms):
        radius = torch.linspace(0.1, 1, count)
        angle = 4 * radius + 2 * torch.pi * arm / arms + 0.15 * torch.randn(count)
        points.append(torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1))
        labels.append(torch.full((count,), arm))
    return torch.cat(points), torch.cat(labels)


@torch.no_grad()
def accuracy(model, test):
    """The share of points that the model gives their own arm."""
    points, labels = next(iter(data.DataLoader(test, batch_size=len(test))))
    return (model(points).argmax(1) == labels).float().mean().item()


def main(arguments=None):
    chosen = options(__doc__, steps=40, batch=32, hidden=64).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    train, test = data.random_split(data.TensorDataset(*spiral(200)), [480, 120])
    hidden = chosen.hidden
    model = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    loss_of = nn.CrossEntropyLoss()
    for _ in (progress := Progress(chosen.steps)):  # a step goes through all points
        for points, labels in data.DataLoader(train, batch_size=chosen.batch, shuffle=True):
            loss = loss_of(model(points), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        progress.show(loss=loss.item(), accuracy=accuracy(model, test))

    draw(loss, model, chosen.draw)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file))
    print(f"saved, loaded again: test accuracy {accuracy(model, test):.1%}")
    return loss.item()


if __name__ == "__main__":
    main()
