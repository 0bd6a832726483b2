"""What the programs share that run with either library: `m` and its parts, cases, and `tell`, which writes down what each gives, in JSON.

A program gets the library's name and a folder, in which each process writes its own file; and, when one looks for a fault, names of
cases, which are run alone.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
NAME = sys.argv[1]
CASES = {}


def part(name):
    """A module of the library: ``part("distributed.fsdp")``."""
    return importlib.import_module(f"{NAME}.{name}")


m, d = importlib.import_module(NAME), part("distributed")
d.init_process_group("gloo")
rank, size = d.get_rank(), d.get_world_size()
nn = m.nn


def case(function):
    """Let the decorated function be a case under its name."""
    CASES[function.__name__] = function
    return function


def numbers(model):
    """Names, placements, shapes of parts, numbers and gradients of parameters that are DTensors."""
    told = []
    for name, each in model.named_parameters():
        grad = None if each.grad is None else each.grad.full_tensor().tolist()
        told.append(
            (name, [repr(p) for p in each.placements], list(each.to_local().shape), each.full_tensor().tolist(), grad)
        )
    return told


def _as_it_is(value):
    return value


def tell(plain=_as_it_is, message=_as_it_is):
    """Run all cases, and write down what they give, made ``plain``, or the errors' types and first lines, which ``message`` cuts."""
    told = {}
    for name, act in CASES.items():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        try:
            told[name] = plain(act())
        except Exception as error:
            told[name] = [type(error).__name__, message(str(error).split("\n")[0])]
        d.barrier()
    Path(sys.argv[2], f"{rank}.json").write_text(json.dumps(told))
    d.destroy_process_group()
