"""A training program as people write it: type checkers read it without an error, and what it computes has types.

It is not run by the tests of typing, but it runs: ``python tests/typing/training.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn, optim
from rushlight.func import functional_call, grad, vmap
from rushlight.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler, SequentialLR
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split


@dataclass
class Settings:
    """What a run is told."""

    classes: int = 5
    width: int = 16
    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 3e-3
    smoothing: float = 0.1
    dtype: torch.dtype = torch.float32
    device: torch.device | str = "cpu"


class Spirals(Dataset[tuple[Tensor, Tensor]]):
    """Points on spiral arms, and the number of the arm."""

    def __init__(self, count: int, classes: int, generator: torch.Generator | None = None) -> None:
        radius = torch.linspace(0.1, 1.0, count)
        arm = torch.randint(0, classes, (count,), generator=generator)
        angle = 4 * radius + 2 * math.pi * arm / classes + 0.1 * torch.randn(count, generator=generator)
        self.points: Tensor = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=1)
        self.arms: Tensor = arm

    def __len__(self) -> int:
        return self.points.size(0)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.points[index], self.arms[index]


class Countdown(IterableDataset[int]):
    """A stream of numbers."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(3, 0, -1))


class Residual(nn.Module):
    """A block that is added to its input."""

    scale: Tensor

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width, bias=True)
        self.dropout = nn.Dropout(p=dropout)
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout(F.gelu(self.linear(self.norm(x))))
        return x + y * self.gain * self.scale


class Net(nn.Module):
    """Points to scores of the arms."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.embed = nn.Sequential(nn.Linear(2, width), nn.ReLU())
        self.blocks = nn.ModuleList([Residual(width) for _ in range(2)])
        self.heads = nn.ModuleDict({"arm": nn.Linear(width, settings.classes)})

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.embed(x)
        for block in self.blocks:
            hidden = block(hidden)
        scores: Tensor = self.heads["arm"](hidden)
        return scores


class Images(nn.Module):
    """A small network of convolutions, and a recurrent layer over its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, kernel_size=(3, 3), padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.rows = nn.LSTM(input_size=16, hidden_size=8, num_layers=2, batch_first=True)

    def forward(self, images: Tensor) -> Tensor:
        features = self.pool(F.relu(self.norm(self.conv(images)), inplace=True))
        batch, channels, height, width = features.shape
        sequence = features.permute(0, 2, 1, 3).reshape(batch, height, channels * width)
        output, (hidden, cell) = self.rows(sequence)
        assert isinstance(hidden, Tensor) and isinstance(cell, Tensor)
        last: Tensor = output[:, -1]
        return last


def initialise(model: nn.Module) -> None:
    """First values of all weights."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter, gain=1.0)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


def loaders(settings: Settings) -> tuple[DataLoader[tuple[Tensor, Tensor]], DataLoader[tuple[Tensor, Tensor]]]:
    """The data to learn from, and to measure with."""
    generator = torch.Generator().manual_seed(0)
    parts: list[Subset[tuple[Tensor, Tensor]]] = random_split(
        Spirals(256, settings.classes, generator), [0.75, 0.25], generator=generator
    )
    train = DataLoader(parts[0], batch_size=settings.batch_size, shuffle=True, generator=generator, drop_last=True)
    return train, DataLoader(parts[1], batch_size=64)


def optimizer_of(model: nn.Module, settings: Settings, steps: int) -> tuple[optim.Optimizer, LRScheduler]:
    """AdamW without decay for vectors, with a warm-up."""
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
        lr=settings.learning_rate,
        betas=(0.9, 0.99),
    )
    warm = LinearLR(optimizer, start_factor=0.1, total_iters=5)
    schedule = SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, T_max=steps)], milestones=[5])
    return optimizer, schedule


@torch.no_grad()
def accuracy(model: nn.Module, data: DataLoader[tuple[Tensor, Tensor]]) -> float:
    """The share of right answers."""
    model.eval()
    right, seen = 0, 0
    for points, arms in data:
        guesses = model(points).argmax(dim=-1)
        right += int((guesses == arms).sum().item())
        seen += arms.numel()
    model.train()
    return right / max(seen, 1)


def train(settings: Settings) -> Net:
    """Learn, and say how it goes."""
    model = Net(settings).to(settings.device, dtype=settings.dtype)
    initialise(model)
    data, test = loaders(settings)
    optimizer, schedule = optimizer_of(model, settings, settings.epochs * len(data))
    criterion = nn.CrossEntropyLoss(label_smoothing=settings.smoothing)
    for epoch in range(settings.epochs):
        total = 0.0
        for points, arms in data:
            optimizer.zero_grad(set_to_none=True)
            loss: Tensor = criterion(model(points), arms)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            assert norm.isfinite().all()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(data):.3f}, accuracy {accuracy(model, test):.2f}")
    return model


def influence(model: Net, points: Tensor, arms: Tensor) -> Tensor:
    """The length of each sample's gradient."""
    weights = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss_of(weights: dict[str, Tensor], point: Tensor, arm: Tensor) -> Tensor:
        scores: Tensor = functional_call(model, weights, (point.unsqueeze(0),))
        return F.cross_entropy(scores, arm.unsqueeze(0))

    gradients: dict[str, Tensor] = vmap(grad(loss_of), in_dims=(None, 0, 0), randomness="different")(
        weights, points, arms
    )
    return torch.stack([each.flatten(1).square().sum(1) for each in gradients.values()]).sum(0).sqrt()


def main(folder: Path | None = None) -> None:
    """Train, save, load, look."""
    torch.manual_seed(0)
    settings = Settings()
    model = train(settings)
    if folder is not None:
        torch.save(model.state_dict(), folder / "model.pth")
        model.load_state_dict(torch.load(folder / "model.pth", weights_only=True))
    points, arms = next(
        iter(DataLoader(TensorDataset(torch.randn(8, 2), torch.zeros(8, dtype=torch.int64)), batch_size=8))
    )
    values, places = influence(model, points, arms).topk(3)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        best, where = torch.max(model(points).float(), dim=1)
    print(values.tolist(), places.shape, best.mean().item(), where.dtype, Images()(torch.randn(2, 1, 8, 8)).shape)


if __name__ == "__main__":
    main()
