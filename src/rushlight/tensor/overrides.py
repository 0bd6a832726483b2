"""``__torch_function__``: operations on subclasses of Tensor, and on other classes that define it.

Like PyTorch's default, results of operations on a subclass are of that subclass.
"""

from __future__ import annotations

import importlib
import threading

from ..autograd.modes import SPECIAL, state
from ..base.errors import hinted
from ..ops.schema import TENSOR_CLASSES
from ..ops.table import functions
from .attributes import held_by
from .base import Tensor, method


class _Off(threading.local):
    running = None  # the operation of `default_torch_function`


_off = _Off()


class DisableTorchFunctionSubclass:
    """A context in which operations do not ask ``__torch_function__``."""

    _entered = ()  # what recording was before, where the context is entered

    def __enter__(self):
        off, recording = state.torch_function_off + 1, state.recording and SPECIAL
        self._entered = self._entered, state.recording
        state.torch_function_off, state.recording = off, recording  # at once, as Ctrl-C may come between two lines

    def __exit__(self, kind, value, trace):
        off = state.torch_function_off - 1
        self._entered, before = self._entered
        state.torch_function_off, state.recording = off, before
        state.update()  # another mode may have been turned on or off inside


class _Dispatch(threading.local):
    off = 0  # blocks around in which no ``__torch_dispatch__`` is asked


DISPATCH = _Dispatch()


class DisableTorchDispatch:
    """A block in which no ``__torch_dispatch__`` is asked; ``torch._C._DisableTorchDispatch``."""

    def __enter__(self):
        DISPATCH.off += 1

    def __exit__(self, *error):
        DISPATCH.off -= 1


def disabled_torch_dispatch(function, types, args=(), kwargs=None):
    """Run a native operation without asking ``__torch_dispatch__``: what a class's own goes to by ``super()``."""
    with DisableTorchDispatch():
        return function(*args, **(kwargs or {}))


Tensor.__torch_dispatch__ = staticmethod(disabled_torch_dispatch)  # type: ignore[attr-defined]


def is_torch_function_enabled():
    """Whether operations ask ``__torch_function__``."""
    return not state.torch_function_off


def _asks(kind, plain):
    if kind in plain or getattr(kind, "__torch_function__", None) in (None, disabled_torch_function):
        return False
    # PyTorch's own default would call the operation again, with the same tensor of PyTorch's.
    return issubclass(kind, Tensor) or not _is_of_pytorch(kind)


def _is_of_pytorch(kind):
    """Whether a class has a ``__torch_function__`` of PyTorch's own, of its tensors or parameters."""
    return (kind.__torch_function__.__module__ or "torch").partition(".")[0] == "torch"


def overloaded_arguments(args, kwargs, plain):
    """The arguments whose classes define ``__torch_function__``, subclasses before their bases, one for each class."""
    found = []
    for value in (*args, *kwargs.values()):
        for item in value if value.__class__ in (list, tuple) else (value,):
            kind = item.__class__
            if _asks(kind, plain) and not isinstance(item, type) and all(kind is not t.__class__ for t in found):
                place = next((i for i, t in enumerate(found) if issubclass(kind, t.__class__)), len(found))
                found.insert(place, item)
    return found


def torch_function(function, args, kwargs, plain):
    """Ask the ``__torch_function__`` of arguments that define one; NotImplemented where none does, or it is off."""
    if state.torch_function_off:
        return NotImplemented
    overloaded = overloaded_arguments(args, kwargs, plain)
    if not overloaded:
        return NotImplemented
    types = tuple(t.__class__ for t in overloaded)
    for value in overloaded:
        found = value.__class__.__torch_function__(function, types, args, kwargs)
        if found is not NotImplemented:
            return found
    name = getattr(function, "__name__", str(function))
    raise TypeError(
        hinted(
            f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned NotImplemented:",
            f"the types are {', '.join(f'{t.__module__}.{t.__qualname__}' for t in types)}",
        )
    )


def disabled_torch_function(function, types, args=(), kwargs=None):
    """The ``__torch_function__`` of subclasses whose operations are those of plain tensors, and give plain tensors."""
    with DisableTorchFunctionSubclass():
        return function(*args, **(kwargs or {}))


def default_torch_function(cls, function, types, args=(), kwargs=None):
    """Run the operation as on plain tensors and give its results the class ``cls``."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    if _off.running is function:  # which is another library's: it asks again, as it does not know that this one is off
        return NotImplemented
    outer, _off.running = _off.running, function
    try:
        with DisableTorchFunctionSubclass():
            return _converted(function(*args, **(kwargs or {})), cls)
    finally:
        _off.running = outer


def _converted(value, cls):
    if cls is Tensor:
        return value
    if isinstance(value, Tensor) and not isinstance(value, cls):
        return value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        items = [_converted(item, cls) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


Tensor.__torch_function__ = classmethod(default_torch_function)  # type: ignore[method-assign, assignment]


def _see_whole_calls(cls, **options):
    """Let a program's own class with a ``__torch_function__`` see calls of what is made of several operations, too."""
    super(Tensor, cls).__init_subclass__(**options)
    own = getattr(vars(cls).get("__torch_function__"), "__func__", None)
    if own not in (None, disabled_torch_function) and not cls.__module__.startswith(
        __package__.partition(".")[0] + "."
    ):
        interception = importlib.import_module(".interception", __package__)
        interception.intercept_for(cls)
        interception.intercept_attributes_of(cls)
    if cls.__torch_dispatch__ is not disabled_torch_dispatch:
        importlib.import_module("rushlight.utils.dispatch_classes").register(cls)


Tensor.__init_subclass__ = classmethod(_see_whole_calls)  # type: ignore[assignment]


def in_class_of(source, made):
    """``made``, fresh, in the class of ``source`` if that is a subclass with the default ``__torch_function__``."""
    kind = source.__class__
    if kind not in TENSOR_CLASSES:
        if kind.__torch_function__ is None:  # a tensor of a transform's level
            level = getattr(made, "level", None)
            if level is None or not level.is_above(source.level):
                return source.alike(made)
            with level.lowered():
                inside = in_class_of(source, made.value)
            return level.wrap(inside)
        if getattr(kind.__torch_function__, "__func__", None) is default_torch_function:
            return in_class(made, kind)
    return made


functions.in_class_of = in_class_of


@method
def as_subclass(self, cls):
    """A view of this tensor as an instance of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise RuntimeError(
            hinted(
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
                "class inherits from Tensor.",
                f"it is {cls!r}",
            )
        )
    with DisableTorchFunctionSubclass():
        made = functions.alias(self)
    return in_class(made, cls)


def in_class(made, cls):
    """``made``, fresh, as an instance of ``cls``; where that has slots of its own, what ``made`` holds moves into another object."""
    try:
        made.__class__ = cls
    except TypeError:
        other = object.__new__(cls)
        held_by(other).update(held_by(made))
        return other
    return made


def _make_subclass(
    cls, data, require_grad=False, dispatch_strides=False, dispatch_device=False, device_for_backend_keys=None
):
    """The memory of ``data``, outside the graph, as an instance of a subclass of Tensor: how such classes' ``__new__`` makes them."""
    with DisableTorchFunctionSubclass():
        made = in_class(data.detach()._alias(), cls)
    if require_grad:
        made.requires_grad_(True)
    return made


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]


def _make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, **options):
    """An instance of a subclass without memory of its own, whose ``__torch_dispatch__`` sees its operations."""
    make = importlib.import_module("rushlight.utils.dispatch_classes").make_wrapper
    return make(cls, size, strides=strides, storage_offset=storage_offset or 0, dtype=dtype, **options)


Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)  # type: ignore[attr-defined]
