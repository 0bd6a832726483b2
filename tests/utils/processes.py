"""Functions that the tests of torch.multiprocessing run in other processes; the first argument after the index names the library."""

import importlib
import os
import signal
import sys
import time


def nothing(index, library):
    return None


def fails(index, library):
    if index == 1:
        raise ValueError("from the second process")
    time.sleep(30)


def exits(index, library):
    sys.exit(3 + index)


def dies(index, library):
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted(index, library):
    raise KeyboardInterrupt


def writes(index, library, tensor, module):
    """Add to what the parent sees as well."""
    importlib.import_module(library)
    tensor[1:] += index + 1.0
    module.weight.data.fill_(7.0)


def answers(library, questions, replies):
    """Write into every tensor that comes, and say how it came."""
    importlib.import_module(library)
    for tensor in iter(questions.get, None):
        replies.put((type(tensor).__name__, tuple(tensor.stride()), tensor.tolist(), tensor.requires_grad))
        tensor.data.zero_()
        replies.put(tensor.detach() + 1)
        time.sleep(0.05)  # whoever sends a tensor lives until it has come
