"""Standing in for PyTorch: ``install_as_torch()`` lets ``import torch``, ``torchvision`` and ``functorch`` find Rushlight."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys

from .base.errors import hinted

_ALIASES = {"torch": "rushlight", "torchvision": "rushlight.vision", "functorch": "rushlight._functorch"}


class _Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of ``torch`` and ``torchvision`` names with Rushlight's modules of the same place."""

    def find_spec(self, name, path=None, target=None):
        head, _, rest = name.partition(".")
        if head not in _ALIASES:
            return None
        ours = _ALIASES[head] + ("." + rest if rest else "")
        return importlib.util.spec_from_loader(name, self, origin=ours)

    def create_module(self, spec):
        try:
            module = importlib.import_module(spec.origin)
        except ModuleNotFoundError as error:
            if not (spec.origin == error.name or spec.origin.startswith(f"{error.name}.")):
                raise
            raise ModuleNotFoundError(
                hinted(
                    f"No module named '{spec.name}'",
                    f"Rushlight does not have {spec.name} yet; `rushlight info` prints the version",
                ),
                name=spec.name,
            ) from None
        spec.loader_state = (module.__spec__, getattr(module, "__loader__", None))
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec on our module: it gets its own back.
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__, module.__loader__ = spec.loader_state


_stand = _Stand()


def install_as_torch():
    """Let ``import torch``, ``import torch.nn.functional``, ``import torchvision`` find Rushlight in this process.

    Calling it again changes nothing. RuntimeError where the real PyTorch was imported already.
    """
    if _stand in sys.meta_path:
        return
    for name in _ALIASES:
        present = sys.modules.get(name)
        if present is not None and not getattr(present, "__name__", "").startswith("rushlight"):
            raise RuntimeError(
                hinted(
                    f"{name} is already imported from {getattr(present, '__file__', 'elsewhere')}",
                    "call install_as_torch() before anything imports PyTorch: two frameworks under one name would mix",
                )
            )
    sys.meta_path.insert(0, _stand)
    for name in ("torch", "torchvision"):
        importlib.import_module(name)


def uninstall():
    """Undo `install_as_torch`: the names are free again."""
    if _stand in sys.meta_path:
        sys.meta_path.remove(_stand)
    for name in [n for n in sys.modules if n.partition(".")[0] in _ALIASES]:
        if getattr(sys.modules[name], "__name__", "").startswith("rushlight"):
            del sys.modules[name]
