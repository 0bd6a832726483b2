"""Training steps in float32 and under autocast to bfloat16, in Rushlight and in PyTorch, in one interleaved run.

python benchmarks/autocast.py [mlp cnn transformer]
"""

import importlib
import sys
import time

ROUNDS = 5
SECONDS = 0.15  # for each round of one step


def mlp(T):
    """784-512-512-10, batch 64, Adam."""
    nn = T.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, T.randn(64, 784), T.randint(0, 10, (64,))


def cnn(T):
    """Two convolutions with pooling on 28 x 28 images, batch 64, Adam."""
    nn = T.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    return model, T.randn(64, 1, 28, 28), T.randint(0, 10, (64,))


def transformer(T):
    """A block of width 256 with 8 heads, (16, 64) tokens, Adam."""
    nn = T.nn
    block = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    model = nn.Sequential(block, nn.Flatten(), nn.Linear(64 * 256, 10))
    return model, T.randn(16, 64, 256), T.randint(0, 10, (16,))


def step_of(T, make, dtype):
    """A training step; ``dtype`` is autocast's, or None."""
    T.manual_seed(0)
    model, inputs, targets = make(T)
    optimizer = T.optim.Adam(model.parameters())

    def step():
        with T.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            loss = T.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def main(names):
    modules = [importlib.import_module(name) for name in ("rushlight", "torch")]
    for make in [globals()[name] for name in names] or (mlp, cnn, transformer):
        steps = {
            (T.__name__, dtype): step_of(T, make, dtype and getattr(T, dtype))
            for T in modules
            for dtype in (None, "bfloat16")
        }
        best = dict.fromkeys(steps, float("inf"))
        for _ in range(ROUNDS):
            for key, step in steps.items():
                end = time.perf_counter() + SECONDS
                while (start := time.perf_counter()) < end:
                    step()
                    best[key] = min(best[key], time.perf_counter() - start)
        print(f"{make.__name__}: {make.__doc__}")
        for (name, dtype), seconds in best.items():
            print(f"  {name:10} {dtype or 'float32':9} {seconds * 1e6:9.0f} us")


if __name__ == "__main__":
    main(sys.argv[1:])
