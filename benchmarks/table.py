"""The table of the README: Rushlight and PyTorch side by side, as Markdown.

    python benchmarks/table.py                    # rushlight and torch, both installed here
    python benchmarks/table.py --rounds 5 --only import add_small

Times are those of `side_by_side`. Sizes are those of the installed files, compiled Python files left out.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys

from networks import adam, cnn28, encoder, labels, mlp, training
from side_by_side import NAMES, arguments, measure_all, take_turns, time_text

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
    return training(torch, mlp(torch, 784, 512, 512, 10), torch.rand(64, 784), labels(torch, 64))


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


@workload("training step of a small CNN on 28x28 images, batch 64")
def cnn_step(torch):
    return training(torch, cnn28(torch), torch.rand(64, 1, 28, 28), labels(torch, 64))


@workload("training step of two Transformer layers, width 128, (16, 64) tokens")
def transformer_step(torch):
    nn = torch.nn
    layers = nn.Embedding(256, 128), encoder(torch, 128, 4, 512, 2, dropout=0.0), nn.Linear(128, 256)
    model = nn.Sequential(*layers, nn.Flatten(0, 1))
    return training(torch, model, torch.randint(0, 256, (16, 64)), labels(torch, 1024, 256), adam(torch, model))


@workload("60,000 images through a shuffling DataLoader, batch 64")
def data_loader(torch):
    data = importlib.import_module(torch.__name__ + ".utils.data")
    images = data.TensorDataset(torch.rand(60_000, 1, 28, 28), torch.randint(0, 10, (60_000,)))
    loader = data.DataLoader(images, batch_size=64, shuffle=True)

    def step():
        for _ in loader:
            pass

    return step


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
    best = take_turns(__file__, chosen, rounds)
    for name in chosen:
        yield WORKLOADS[name][0], [best[module, name] for module in modules], time_text


def main():
    options = arguments(__doc__, ["import", "size", *WORKLOADS], 3)
    if options.side:
        measure_all(options.side, {name: make for name, (_, make) in WORKLOADS.items()}, options.only)
        return
    modules = list(NAMES)
    print(f"| | {' | '.join(NAMES[module] for module in modules)} | PyTorch / Rushlight |")
    print("|---|---:|---:|---:|")
    for title, (ours, theirs), text in rows(modules, options.only, options.rounds):
        print(f"| {title} | {text(ours)} | {text(theirs)} | {ratio_text(theirs / ours)} |", flush=True)


if __name__ == "__main__":
    main()
