"""The table of the README: Rushlight and PyTorch side by side, as Markdown.

    python benchmarks/table.py                    # rushlight and torch, both installed here
    python benchmarks/table.py --rounds 5 --only import add_small

The two take turns (A B A B ...), each in a process of its own, so that a busy machine hits both; a time is the best of
all rounds. Sizes are those of the installed files, compiled Python files left out.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import time

NAMES = {"rushlight": "Rushlight", "torch": "PyTorch"}
WORKLOADS = {}


def workload(title):
    """Register a function that takes the module and returns the step to be timed."""

    def register(function):
        WORKLOADS[function.__name__] = (title, function)
        return function

    return register


@workload("`a + b`, 4 numbers")
def add_small(torch):
    a, b = torch.rand(4), torch.rand(4)
    return lambda: a + b


@workload("`a + b`, 4 numbers, tracked by autograd")
def add_tracked(torch):
    a, b = torch.rand(4, requires_grad=True), torch.rand(4)
    return lambda: a + b


@workload("41 small operations, forward and backward")
def chain(torch):
    x, y = torch.randn(4, requires_grad=True), torch.randn(4)

    def step():
        x.grad = None
        z = x
        for _ in range(20):
            z = z * 1.01 + y
        z.sum().backward()

    return step


@workload("Adam step of a small linear regression")
def adam_step(torch):
    weight, bias = torch.randn(10, 16, requires_grad=True), torch.randn(10, requires_grad=True)
    x, target = torch.rand(16), torch.randn(10)
    optimizer = torch.optim.Adam([weight, bias])

    def step():
        loss = torch.nn.functional.mse_loss(weight @ x + bias, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


@workload("training step of an MLP, 784-512-512-10, batch 64")
def mlp_step(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    images, labels = torch.rand(64, 784), torch.randint(0, 10, (64,))

    def step():
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _on_random(title, name, shape, call):
    """Register a call of one large float32 tensor."""

    def make(torch):
        x = torch.randn(*shape)
        return lambda: call(torch, x)

    make.__name__ = name
    workload(title)(make)


_on_random("`exp`, 4,000,000 numbers", "exp_4m", (4_000_000,), lambda torch, x: x.exp())
_on_random("`gelu`, 4,000,000 numbers", "gelu_4m", (4_000_000,), lambda torch, x: torch.nn.functional.gelu(x))
_on_random("`sum`, 4,000,000 numbers", "sum_4m", (4_000_000,), lambda torch, x: x.sum())
_on_random("`softmax`, 4,096 rows of 256", "softmax", (4096, 256), lambda torch, x: torch.softmax(x, -1))
_on_random("`matmul`, 1,024 x 1,024", "matmul", (1024, 1024), lambda torch, x: x @ x)


@workload("`conv2d` 3x3, 64 to 64 channels, (8, 64, 56, 56)")
def conv2d(torch):
    x, w = torch.randn(8, 64, 56, 56), torch.randn(64, 64, 3, 3)
    return lambda: torch.nn.functional.conv2d(x, w, padding=1)


def _training(torch, model, x, y, optimizer):
    loss_function = torch.nn.CrossEntropyLoss()

    def step():
        loss = loss_function(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


@workload("training step of a small CNN on 28x28 images, batch 64")
def cnn_step(torch):
    nn = torch.nn
    head = [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)]
    model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), *head)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return _training(torch, model, torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,)), optimizer)


@workload("training step of two Transformer layers, width 128, (16, 64) tokens")
def transformer_step(torch):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(256, 128), encoder, nn.Linear(128, 256), nn.Flatten(0, 1))
    tokens, targets = torch.randint(0, 256, (16, 64)), torch.randint(0, 256, (1024,))
    return _training(torch, model, tokens, targets, torch.optim.Adam(model.parameters()))


@workload("60,000 images through a shuffling DataLoader, batch 64")
def data_loader(torch):
    data = importlib.import_module(torch.__name__ + ".utils.data")
    images = data.TensorDataset(torch.rand(60_000, 1, 28, 28), torch.randint(0, 10, (60_000,)))
    loader = data.DataLoader(images, batch_size=64, shuffle=True)

    def step():
        for _ in loader:
            pass

    return step


def measure(step):
    """The best mean time of a call, in seconds: three spells of about a fifth of a second."""
    for _ in range(3):  # the first calls import and compile: how long one takes is told by a later one
        begin = time.perf_counter()
        step()
        once = time.perf_counter() - begin
    count = max(1, int(0.2 / max(once, 1e-6)))
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def measure_all(module, names):
    """In the process of one side: print each workload's time as a line of JSON."""
    torch = importlib.import_module(module)
    torch.manual_seed(0)
    for name in names:
        print(json.dumps([name, measure(WORKLOADS[name][1](torch))]), flush=True)


def import_time(module):
    """The time of ``import module`` in a fresh interpreter, without that interpreter's own start."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    # Bytecode is cached, as it is for any installed package: the first of several rounds writes it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


# ---------------------------------------------------------------- sizes


def size_of_folder(folder):
    """Bytes of the files below `folder`."""
    return sum(
        os.path.getsize(os.path.join(place, name))
        for place, _, files in os.walk(folder)
        for name in files
        if not name.endswith(".pyc")
    )


def size_of_package(name):
    """Bytes of a package: of its installed files, or of its source folder where it is used from there."""
    try:
        files = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    paths = [
        path for path in (str(file.locate()) for file in files) if os.path.isfile(path) and not path.endswith(".pyc")
    ]
    installed = sum(map(os.path.getsize, paths))
    if any(path.endswith(os.path.join(name, "__init__.py")) for path in paths):
        return installed
    spec = importlib.util.find_spec(name)
    return size_of_folder(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else installed


def required(name):
    """The packages that `name` requires and that are installed, with what these require."""
    found, waiting = set(), [name]
    while waiting:
        package = waiting.pop()
        try:
            needs = importlib.metadata.requires(package)
        except importlib.metadata.PackageNotFoundError:
            if package != "rushlight":
                continue  # for another platform
            needs = ["numpy", "llvmlite"]  # Rushlight is used from its source folder
        found.add(package)
        for need in needs or ():
            other = re.match(r"[\w.-]+", need)[0].lower()
            if "extra ==" not in need and other not in found:
                waiting.append(other)
    return found | {name}


# ---------------------------------------------------------------- the table


def time_text(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 100 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def size_text(size):
    return f"{size / 1e6:.3g} MB" if size < 1e8 else f"{size / 1e6:.0f} MB"


def ratio_text(ratio):
    return f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"


def rows(modules, names, rounds):
    """(title, value of each module, how values are written) for each row."""
    if "import" in names:
        yield (
            "`import`",
            [min(times) for times in zip(*([import_time(m) for m in modules] for _ in range(rounds)))],
            time_text,
        )
    if "size" in names:
        yield "size of the package", [size_of_package(m) for m in modules], size_text
        whole = [sum(size_of_package(package) for package in required(m)) for m in modules]
        yield "size with all that it requires", whole, size_text
    chosen = [name for name in WORKLOADS if name in names]
    best = {}
    for module in modules * rounds if chosen else ():
        command = [sys.executable, os.path.abspath(__file__), "--side", module, "--only", *chosen]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        for name, seconds in map(json.loads, output.splitlines()):
            best[module, name] = min(seconds, best.get((module, name), seconds))
    for name in chosen:
        yield WORKLOADS[name][0], [best[module, name] for module in modules], time_text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = ["import", "size", *WORKLOADS]
    parser.add_argument("--only", nargs="+", choices=everything, default=everything, metavar="ROW")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return measure_all(options.side, options.only)
    modules = list(NAMES)
    print(f"| | {' | '.join(NAMES[module] for module in modules)} | PyTorch / Rushlight |")
    print("|---|---:|---:|---:|")
    for title, (ours, theirs), text in rows(modules, options.only, options.rounds):
        print(f"| {title} | {text(ours)} | {text(theirs)} | {ratio_text(theirs / ours)} |", flush=True)


if __name__ == "__main__":
    main()
