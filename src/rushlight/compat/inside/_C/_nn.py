"""``torch._C._nn``: functions of ``nn.functional`` under their native name, and the reader of ``to``'s arguments."""

import importlib as _importlib

from ....nn.modules.conversion import _parse_to as _parse_to


def __getattr__(name):
    functional = _importlib.import_module("rushlight.nn.functional")
    try:
        return getattr(functional, name)
    except AttributeError:
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'") from None
