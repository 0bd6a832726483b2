"""While Rushlight stands as torch, its classes say that they live where PyTorch has them: ``<class 'torch.Tensor'>``."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder, SourceFileLoader

from ..base.public_names import public_module
from .inside import names as names_inside

PACKAGE = __name__.partition(".")[0]
_renamed: list = []  # (class, its module of ours)


class _RenamingLoader(SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        rename_classes(module)


def renaming_spec(name, path, target):
    """How a module of ours is found, whose classes are to be renamed once it is loaded."""
    spec = PathFinder.find_spec(name, path, target)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _RenamingLoader(spec.loader.name, spec.loader.path)
    return spec


def rename_classes(module):
    """Let the classes of a module of ours have PyTorch's name for it, under which it is found, too."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__.partition(".")[0] == PACKAGE:
            _renamed.append((value, value.__module__))
            value.__module__ = public_module(value.__module__)
    name = public_module(module.__name__)
    parts, own = name.split("."), module.__name__.split(".")
    # Where classes are asked for their module's file or names, they are looked for here.
    if len(parts) == len(own) > 1 and parts[1:] == own[1:] and parts[1] not in names_inside():
        sys.modules.setdefault(name, module)


def rename_loaded():
    """`rename_classes` of all modules that are loaded."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        rename_classes(sys.modules[name])


def give_back_names():
    """Let all classes have their own names again."""
    while _renamed:
        kind, name = _renamed.pop()
        kind.__module__ = name
