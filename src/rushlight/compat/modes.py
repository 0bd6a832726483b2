"""``torch.overrides.TorchFunctionMode``: a block in which every call of an operation goes to a handler first.

Nothing is paid before the first such block: only then do the functions get a body that asks for a mode (`base.grafts`).
"""

from __future__ import annotations

import importlib
import threading
from types import FunctionType

from ..autograd.modes import SPECIAL, state
from ..base.errors import hinted
from ..base.grafts import graft
from ..tensor import NAMESPACES, Tensor
from ..tensor.interception import ASKING, OTHERS, UNSEEN
from ..tensor.names import make_all
from ..tensor.overrides import DisableTorchFunctionSubclass, overloaded_arguments
from ..tensor.short_paths import settle

_UNSEEN = UNSEEN | {"__dir__", "__reduce__", "__reduce_ex__", "__getstate__", "is_grad_enabled", "set_grad_enabled", "get_default_dtype",
                    "is_warn_always_enabled"}  # fmt: skip
_lock = threading.Lock()
_grafted = set()


class _Modes(threading.local):
    active = ()  # of this thread, the innermost last; assigned as a whole, which Ctrl-C cannot divide


_modes = _Modes()


class TorchFunctionMode:
    """A block in which calls of operations go to ``__torch_function__(self, func, types, args=(), kwargs=None)``.

    Inside the handler the mode is off, so that ``func(*args, **kwargs)`` does what the call would have done.

    >>> import rushlight as torch
    >>> from rushlight.overrides import TorchFunctionMode
    >>> class Told(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Told():
    ...     x = torch.ones(2).exp()
    ones
    exp
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(hinted("", "a TorchFunctionMode needs a method __torch_function__"))

    def __enter__(self):
        if _asking not in ASKING:
            _graft_all()
        _modes.active = (*_modes.active, self)
        return self

    def __exit__(self, kind, value, trace):
        _modes.active = _modes.active[:-1]

    @classmethod
    def push(cls, *args, **kwargs):
        """An instance, for a ``with`` statement."""
        return cls(*args, **kwargs)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which no ``__torch_function__`` is asked, of classes or modes; ``torch._C.DisableTorchFunction``."""

    def __enter__(self):
        off, recording, modes = state.torch_function_off + 1, state.recording and SPECIAL, _modes
        self._entered, self._active = (self._entered, state.recording), modes.active
        modes.active, state.torch_function_off, state.recording = (), off, recording  # at once, as in the base

    def __exit__(self, kind, value, trace):
        off, modes = state.torch_function_off - 1, _modes
        self._entered, before = self._entered
        modes.active, state.torch_function_off, state.recording = self._active, off, before
        state.update()


def active_modes():
    """The modes of this thread, the innermost last."""
    return _modes.active


def _graft_all():
    """Let all functions ask for a mode, each once; what Ctrl-C broke off goes on where it was."""
    with _lock:
        make_all()
        functional = importlib.import_module("rushlight.nn.functional")
        others = {function.__name__: function for function in OTHERS}
        root = vars(importlib.import_module("rushlight"))
        places = [*NAMESPACES.values(), vars(Tensor), vars(functional), root, others]
        for place in places:
            for name, function in list(place.items()):
                known = isinstance(function, FunctionType) and function.__module__.startswith("rushlight")
                hidden = name in _UNSEEN or (name.startswith("_") and not name.startswith("__"))
                if known and not hidden and function not in _grafted:
                    settle(function)
                    graft(function, _asking(function))
                    _grafted.add(function)
        _graft_attributes()
        ASKING.append(_asking)  # what is loaded later asks, too


def _graft_attributes():
    """Let the attributes of tensors ask, too: of their functions, handlers get PyTorch's names, such as ``Tensor.shape.__get__``."""
    for name, attribute in vars(Tensor).items():
        if isinstance(attribute, property) and name not in _UNSEEN and not name.startswith("_"):
            calls = {
                attribute.fget: attribute.__get__,
                attribute.fset: attribute.__set__,
                attribute.fdel: attribute.__delete__,
            }
            for function, called in calls.items():
                if function is not None and function not in _grafted:
                    graft(function, _asking(called))
                    _grafted.add(function)


def _asking(function):
    def around(plain):
        return lambda args, kwargs: call_in_modes(function, plain, args, kwargs)

    return around


def call_in_modes(function, plain, args, kwargs):
    """What the innermost mode of this thread makes of a call of ``function``; ``plain(*args, **kwargs)`` where there is none."""
    active = _modes.active
    if not active:
        return plain(*args, **kwargs)
    mode = active[-1]
    try:
        _modes.active = active[:-1]
        types = tuple(map(type, overloaded_arguments(args, kwargs, (Tensor,))))
        found = mode.__torch_function__(function, types, args, kwargs)
    finally:
        _modes.active = active
    if found is not NotImplemented:
        return found
    raise TypeError(
        hinted(
            f"no implementation found for 'torch.{function.__name__}' on types that implement __torch_function__: "
            f"{list(types)} nor was it found on the currently active mode {mode}",
            "its __torch_function__ has returned NotImplemented",
        )
    )
