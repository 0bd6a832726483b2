"""What a case prints: one line `name value [within TOLERANCE]` for each number, the value as JSON."""

import json

import torch

RELATIVE = 1e-5


def say(name, value, within=RELATIVE):
    """Print a number, a text, or a list of them; `within` is the relative difference that the case allows for its floats."""
    print(name, json.dumps(plain(value)), *(() if within == RELATIVE else (f"within {within}",)), flush=True)


def plain(value):
    if isinstance(value, torch.Tensor):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)


def norms(tensor):
    """The norms of the four quarters of a tensor, and its number of elements: they tell order and size, and nothing cancels."""
    quarters = tensor.detach().double().flatten().tensor_split(4)
    return [tensor.numel(), *(quarter.norm().item() for quarter in quarters)]


def gradient_norm(module):
    gradients = [parameter.grad.double().norm() for parameter in module.parameters() if parameter.grad is not None]
    return torch.stack(gradients).norm().item()


def cannot(name, error, message, action):
    """Under Rushlight `action` raises `error` with `message` as its first line, for now; under PyTorch it gives a number.

    A case that can do it after all prints the number too, and run.py asks for this line to become a `say`.
    """
    if "rushlight" not in torch.__version__:
        say(name, action())
        return
    try:
        value = action()
    except error as raised:
        first = str(raised).split("\n")[0]
        if first != message:
            raise
        print(name, "cannot", json.dumps(f"{type(raised).__name__}: {first}"), flush=True)
    else:
        print(name, "can", json.dumps(plain(value)), flush=True)
