"""Recognises errors that mean "this part of PyTorch is not there yet", and names the part."""

from __future__ import annotations

import re
import types

import rushlight as torch


def missing_name_hint(error):
    """A ``hint:`` line that names the missing ``torch.x.y``; None for other errors, and where the error has one."""
    name = missing_name(error)
    if name is None or name in str(error).partition("\nhint: ")[2]:
        return None
    return (
        f"hint: {name} is not in Rushlight {torch.__version__}; if PyTorch has it, it is still missing here "
        "(otherwise, is the name right?)"
    )


def missing_name(error):
    """The name of PyTorch's (or torchvision's) that the program asked for in vain, or None."""
    if isinstance(error, AttributeError):
        return missing_attribute(error)
    if isinstance(error, ModuleNotFoundError):
        return torch_name(error.name or "")
    if isinstance(error, ImportError):
        found = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
        module = found and torch_name(found[2])
        return f"{module}.{found[1]}" if module else None
    return None


def missing_attribute(error):
    owner, name = error.obj, error.name
    if isinstance(owner, types.ModuleType):
        module = torch_name(owner.__name__)
        return f"{module}.{name}" if module else None
    if isinstance(owner, torch.Tensor):
        return f"torch.Tensor.{name}"
    return None


def torch_name(module):
    """``rushlight.nn`` as its user calls it, ``torch.nn``; None for other modules."""
    parts = module.split(".")
    if parts[:2] == ["rushlight", "vision"]:
        return ".".join(["torchvision", *parts[2:]])
    if parts[0] == "rushlight":
        return ".".join(["torch", *parts[1:]])
    return module if parts[0] in ("torch", "torchvision") else None
