"""torch.utils: helpers around training; each one is loaded when it is first used."""

import importlib

from ..base.errors import hinted

_MODULES = (
    "_contextlib", "_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "collect_env", "data", "deterministic", "dlpack", "hooks",
    "tensorboard", "weak",
)  # fmt: skip


def set_module(obj, mod):
    """Let a function or class say that it lives in the module ``mod``."""
    if not isinstance(mod, str):
        raise TypeError(hinted("The mod argument should be a string", "the name of a module"))
    obj.__module__ = mod


def __getattr__(name):
    if name == "swap_tensors":
        return importlib.import_module("..tensor.swapping", __name__).swap_tensors
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES, "swap_tensors"})
