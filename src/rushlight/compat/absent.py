"""Modules of devices that this build does not have: their functions, from tables of what a build for the CPU answers."""

from __future__ import annotations

import linecache
from collections.abc import Callable

from ..base.errors import hinted
from ..base.user_code import PACKAGE

HINT = "this version computes on the CPU; ask {module}.is_available() first"


def refusal(kind, line, module):
    """A function that raises the error of PyTorch's CPU build."""

    def refuse():
        raise kind(hinted(line, HINT.format(module=module)))

    return refuse


def missing(name, module):
    """What PyTorch's Python code runs into where it calls a function that only the other builds have."""
    return refusal(AttributeError, f"module 'torch._C' has no attribute '{name}'", module)


def dummy(name, module):
    """What a class or function that only the other builds have says."""
    return refusal(RuntimeError, f"Tried to instantiate dummy base class {name}", module)


def define(namespace, answers):
    """Functions in a module's ``namespace``. ``answers`` has a function that answers for each text of signatures,
    ``name(argument, option=None); ...``: the arguments are checked by Python and do not matter otherwise.
    """
    module = namespace["__name__"]
    for signatures, answer in answers.items():
        for signature in signatures.split("; "):
            name = signature.partition("(")[0]
            source = f"def {name}{signature[len(name) :]}:\n    return answer()\n"
            file = f"{PACKAGE}<{module}.{name}>"  # tracebacks show the text
            linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
            local = {"answer": answer, "__name__": module}
            exec(compile(source, file, "exec"), local)
            local[name].__doc__ = f"What ``{name}`` answers in a build for the CPU."
            namespace[name] = local[name]


def dummy_class(name, module, line=None, kind=RuntimeError, base=object):
    """A class that cannot be made in this build; annotations and isinstance tests need it."""
    refuse = refusal(kind, line or f"Tried to instantiate dummy base class {name}", module)

    def __new__(cls, *args, **kwargs):
        refuse()

    return type(
        name, (base,), {"__new__": __new__, "__module__": module, "__doc__": f"``{module}.{name}``: not in this build."}
    )


class StreamContext:
    """``with torch.cuda.stream(stream)``: without a device nothing changes."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, type, value, traceback):
        return None


class NoDevice:
    """``with torch.cuda.device(0)``: entering needs the device."""

    enter_refusal: Callable  # a function that raises

    def __init__(self, device):
        self.idx = device if isinstance(device, int) else getattr(device, "index", None)

    def __enter__(self):
        type(self).enter_refusal()

    def __exit__(self, type, value, traceback):
        return False
