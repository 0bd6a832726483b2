"""torch.utils: helpers around training; each one is loaded when it is first used."""

import importlib

_MODULES = ("checkpoint", "data", "deterministic", "dlpack", "hooks")


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES})
