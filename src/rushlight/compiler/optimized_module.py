"""What ``torch.compile`` makes of modules and functions: wrappers under PyTorch's names, whose call runs what they were made of."""

from __future__ import annotations

import functools
import inspect

from ..base.errors import hinted
from ..nn import Module

_OWN = {
    "_orig_mod",
    "dynamo_ctx",
    "_torchdynamo_orig_callable",
    "get_compiler_config",
    "forward",
    "__dict__",
    "training",
}


class OptimizedModule(Module):
    """A module that was given to ``torch.compile``: its attributes are those of the module, `state_dict` begins with ``_orig_mod.``.

    >>> import rushlight as torch
    >>> layer = torch.compile(torch.nn.Linear(2, 3))
    >>> list(layer.state_dict()), layer.in_features, layer(torch.ones(1, 2)).shape
    (['_orig_mod.weight', '_orig_mod.bias'], 2, torch.Size([1, 3]))
    """

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__()
        self.__dict__.pop("training")  # the module's
        self._modules["_orig_mod"] = mod
        self.__dict__["dynamo_ctx"] = OptimizeContext() if dynamo_ctx is None else dynamo_ctx

    def forward(self, *args, **kwargs):
        """The module's call."""
        return self._modules["_orig_mod"](*args, **kwargs)

    def get_compiler_config(self):
        """The settings of the backend: none are in use."""
        return None

    def __len__(self):
        if not hasattr(type(self._orig_mod), "__len__"):
            raise TypeError(
                hinted(f"{type(self._orig_mod).__name__} does not support len()", "the compiled module has no __len__")
            )
        return len(self._orig_mod)

    def __reduce__(self):
        return self.__class__, (self._orig_mod, self.dynamo_ctx)

    def __getattr__(self, name):
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if name == "_orig_mod" or module is None:
            if module is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            return module
        return getattr(module, name)

    def __setattr__(self, name, value):
        known = self.__dict__.get("_modules", {})
        if "_orig_mod" not in known or (name != "training" and (name in _OWN or name in self.__dict__)):
            return super().__setattr__(name, value)
        return setattr(known["_orig_mod"], name, value)

    def __delattr__(self, name):
        if name in _OWN or name in self.__dict__:
            return super().__delattr__(name)
        return delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


class OptimizeContext:
    """How a function is compiled, as a decorator: with which backend. Modules become `OptimizedModule`, classes stay as they are."""

    def __init__(self, backend="inductor"):
        self.backend = backend

    def __call__(self, fn):
        if isinstance(fn, Module):
            return OptimizedModule(fn, self)
        return fn if inspect.isclass(fn) else _wrapped(fn)


def _wrapped(function):
    """A function of its own around another, as programs expect one that can be told from it."""

    @functools.wraps(function)
    def compiled(*args, **kwargs):
        return function(*args, **kwargs)

    compiled._torchdynamo_orig_callable = compiled._torchdynamo_inline = function
    compiled.get_compiler_config = lambda: None
    return compiled
