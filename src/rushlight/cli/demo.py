"""``rushlight demo``: train a classifier, print its accuracy and its graph, draw both."""

from __future__ import annotations

import os
import sys
import time

import rushlight as torch
from rushlight import nn
from rushlight.draw import Curve, Series, graph
from rushlight.utils.data import DataLoader
from rushlight.vision import datasets
from rushlight.vision.transforms import ToTensor

from .bar import training_bar
from .errors import CommandError

CURVE, GRAPH = "rushlight-curve.svg", "rushlight-graph.svg"


class DigitsNet(nn.Module):
    """Two convolutions and two linear layers for images of 8x8."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, images):
        hidden = self.pool(torch.relu(self.conv1(images)))
        hidden = self.pool(torch.relu(self.conv2(hidden)))
        hidden = torch.relu(self.fc1(hidden.flatten(1)))
        return self.fc2(hidden)


class FashionNet(nn.Module):
    """Three linear layers for images of 28x28."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(28 * 28, 256)
        self.fc2 = nn.Linear(256, 128)
        self.fc3 = nn.Linear(128, 10)

    def forward(self, images):
        hidden = torch.relu(self.fc1(images.flatten(1)))
        hidden = torch.relu(self.fc2(hidden))
        return self.fc3(hidden)


class Task:
    """What one data set is trained with."""

    def __init__(self, subject, network, epochs, batch_size, top_rate):
        self.subject, self.network, self.epochs = subject, network, epochs
        self.batch_size, self.top_rate = batch_size, top_rate


TASKS = {
    "digits": Task("handwritten digits", DigitsNet, 12, 32, 0.01),
    "fashion-mnist": Task("clothes (Fashion-MNIST)", FashionNet, 3, 64, 0.004),
}


def execute(options):
    """Run the demo; returns the exit status."""
    sys.stdout.reconfigure(errors="replace")
    prepare_folder(options.out)
    task = TASKS[options.data]
    train, test = load(options.data, options.root)
    torch.manual_seed(options.seed)
    model = task.network()
    epochs = options.epochs or task.epochs
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"Rushlight {torch.__version__} learns to recognise {task.subject}:")
    print(f"{len(train):,} images to learn from, {len(test):,} others to test it, a network of {count:,} numbers.\n")
    print(model, end="\n\n", flush=True)
    begin = time.perf_counter()
    history = train_model(model, train, test, task, epochs)
    seconds = time.perf_counter() - begin
    print(f"\n{seconds:.1f} seconds. Of the test images, {history.accuracies[-1]:.1f} % are recognised.\n")
    drawing = graph_of_loss(model, train)
    print("How the loss of four images is computed, read from below:\n")
    print(drawing.text(), end="\n\n")
    curve = history.curve(f"Rushlight learns {task.subject}")
    for picture, name, what in ((curve, CURVE, "loss and accuracy"), (drawing, GRAPH, "the graph of the loss")):
        path = os.path.join(options.out, name)
        try:
            picture.save(path)
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from error
        print(f"{what + ':':23}{path if options.out != '.' else name}")
    return 0


def prepare_folder(folder):
    """Make sure, before anything is computed, that the pictures can be written."""
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise CommandError(f"cannot write into the folder {folder}: it is a file") from None
    except OSError as error:
        raise CommandError(f"cannot write into the folder {folder}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandError(f"cannot write into the folder {folder}: Permission denied")


def load(data, root):
    """(training images, test images), as tensors with values 0 to 1."""
    if data == "digits":
        return tuple(datasets.Digits(train=train, transform=ToTensor()) for train in (True, False))
    try:
        return tuple(
            datasets.FashionMNIST(root, train=train, transform=ToTensor(), download=True) for train in (True, False)
        )
    except (RuntimeError, OSError) as error:  # no network, damaged files, no room on the disk: the message says which
        raise CommandError(str(error), status=1) from error


def train_model(model, train, test, task, epochs):
    """Train with Adam while its rate rises and falls once; one line per epoch, one bar over all steps."""
    loader = DataLoader(train, batch_size=task.batch_size, shuffle=True)
    steps = epochs * len(loader)
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=task.top_rate, total_steps=max(steps, 2))
    loss_of = nn.CrossEntropyLoss()
    history = History(len(loader))
    bar = training_bar(steps)
    for epoch in range(1, epochs + 1):
        model.train()
        for images, labels in loader:
            loss = loss_of(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            history.losses.append(loss.item())
            bar.update(1)
        history.accuracies.append(accuracy_of(model, test))
        bar.write(
            f"epoch {epoch:2}/{epochs}   loss {history.epoch_loss(epoch):.4f}   "
            f"test accuracy {history.accuracies[-1]:5.1f} %"
        )
    bar.close()
    return history


def accuracy_of(model, test):
    """The share of test images, in percent, whose label the model names."""
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in DataLoader(test, batch_size=500):
            right += (model(images).argmax(1) == labels).sum().item()
    return 100 * right / len(test)


def graph_of_loss(model, train):
    """The graph of the loss of the first four training images."""
    images, labels = next(iter(DataLoader(train, batch_size=4)))
    scores = model(images)
    return graph(nn.functional.cross_entropy(scores, labels), model, names={"scores": scores})


class History:
    """The loss of each step and the test accuracy after each epoch."""

    def __init__(self, steps_per_epoch):
        self.steps_per_epoch = steps_per_epoch
        self.losses, self.accuracies = [], []

    def epoch_loss(self, epoch):
        """The mean loss of the steps of an epoch, counted from 1."""
        losses = self.losses[(epoch - 1) * self.steps_per_epoch : epoch * self.steps_per_epoch]
        return sum(losses) / len(losses)

    def curve(self, title):
        """The chart: losses on the left axis, accuracy on the right one."""
        epochs = list(range(1, len(self.accuracies) + 1))
        steps = [(step + 1) / self.steps_per_epoch for step in range(len(self.losses))]
        lowest = 10 * int(min(self.accuracies) // 10)
        return Curve(
            [
                Series("training loss, each step", steps, self.losses, faint=True, color="#2f5fd0"),
                Series(
                    "training loss, mean of the epoch", epochs, [self.epoch_loss(e) for e in epochs], color="#2f5fd0"
                ),
                Series("test accuracy", epochs, self.accuracies, axis="right", color="#e07b1f"),
            ],
            title=title,
            x="epoch",
            left="cross-entropy",
            right="accuracy (%)",
            x_range=(0, len(epochs)),
            right_range=(min(lowest, 90), 100),
        )
