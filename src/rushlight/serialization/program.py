"""Classes and functions of the running program under the names that checkpoints have for them: found, never imported."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType

from ..base.public_names import public_module
from ..tensor import Tensor
from ..tensor.names import NAMESPACES, function_at

_LAYERS = "rushlight.nn.modules."
# Functions of ours that compute and do nothing else; others (save, load, hub, ...) no checkpoint may hand to a program.
_COMPUTING = frozenset(f"rushlight{part}" for part in ("", ".nn.functional", ".nn.init", ".fft", ".linalg", ".special"))
_OPERATIONS = ("torch._C._VariableFunctionsClass", "torch._C._VariableFunctions")
_OURS = ("torch", "torchvision", "rushlight")  # how names of ours begin, under the shim and without it
_UNUSABLE = frozenset(sys.stdlib_module_names)


def file_name(value):
    """(module, name) of a class or function as PyTorch's files have it."""
    return public_module(value.__module__), value.__qualname__


def _our_modules(module):
    """The loaded modules of ours in which a name of PyTorch's module may stand."""
    if module.startswith("torchvision"):
        names = ["rushlight.vision" + module.removeprefix("torchvision")]
    else:
        names = ["rushlight" + module.removeprefix("torch").removeprefix("rushlight")]
    if names[0].startswith(_LAYERS):
        names.append(_LAYERS[:-1])
    elif names[0] == "rushlight._C._nn":
        names.append("rushlight.nn.functional")
    elif names[0] == "rushlight._C":
        names.append("rushlight")
    return [sys.modules[name] for name in names if name in sys.modules]


def _member(module, name):
    """What a dotted name means in a module, going through classes only; None where it means nothing."""
    found = module
    for part in name.split("."):
        if not isinstance(found, (type, ModuleType)) or (found is not module and isinstance(found, ModuleType)):
            return None
        if found is Tensor:
            found = getattr(Tensor, part, None)  # some of its methods are made when they are asked for
        else:
            found = (vars(found) if found is module else type.__dict__["__dict__"].__get__(found)).get(part)
    return found


def lookup(module, name):
    """The class or function of the running program that a file names, or None.

    It must have been defined under that name by a module that the program has imported. What belongs to Python itself is
    not found, nor are functions of ours that do more than compute.
    """
    top = module.partition(".")[0]
    if top in _OURS:
        for ours in _our_modules(module):
            place = "torch" if ours.__name__ == "rushlight" else ours.__name__.removeprefix("rushlight.")
            found = function_at(place, name) if place in NAMESPACES else None
            if found is None:
                found = _member(ours, name)
            if isinstance(found, type) and found.__module__.partition(".")[0] in _OURS:
                return found
            if isinstance(found, FunctionType) and found.__module__ in _COMPUTING:
                return found
        return None
    home = sys.modules.get(module)
    if top in _UNUSABLE or not isinstance(home, ModuleType):
        return None
    found = _member(home, name)
    if isinstance(found, (type, FunctionType)) and found.__module__ == module:
        return found
    return None


def operation(owner, name):
    """The function that PyTorch's files take as an attribute ``name`` of a class of its own, or None."""
    if owner in _OPERATIONS:
        return lookup("torch", name)
    return lookup("torch", f"Tensor.{name}") if owner == "torch._C.TensorBase" else None


def is_found(value):
    """Whether a class or function can be found again under its name."""
    if isinstance(value, (type, FunctionType)):
        return lookup(*file_name(value)) is value
    return False


def own_member(kind, name):
    """A method that a class or one of its bases other than ``object`` defines, or None."""
    for base in type.__dict__["__mro__"].__get__(kind):
        members = type.__dict__["__dict__"].__get__(base)
        if base is not object and name in members:
            return members[name]
    return None


def why_not(kind):
    """Why objects of this class are not rebuilt unless the user says that they may be; None where nothing speaks against it."""
    if kind.__module__.partition(".")[0] in _UNUSABLE:
        return "belongs to Python itself"
    if own_member(kind, "__del__") is not None:
        return "runs code of its own when it goes (__del__)"
    restoring = own_member(kind, "__setstate__")
    if restoring is not None and getattr(restoring, "__module__", "").partition(".")[0] != "rushlight":
        return "runs code of its own when it is restored (__setstate__)"
    return None
