"""``torch.ops.profiler``: blocks with a name that are begun and ended by calls, as graphs hold them."""

from __future__ import annotations

from typing import Any

from ..base.errors import hinted, kind_name
from .blocks import check_name, record_function

_MISSING: Any = object()


def _entered(operation: str, result: str, name: Any, args: str | None) -> record_function:
    if name is _MISSING:
        raise RuntimeError(
            hinted(
                f"profiler::{operation}() is missing value for argument 'name'. Declaration: profiler::{operation}(str name, "
                f"str? args=None) -> {result}",
                f"torch.ops.profiler.{operation}('forward')",
            )
        )
    check_name(name, operation)
    return record_function(name, args).__enter__()


def _record_function_enter(name: str = _MISSING, args: str | None = None) -> record_function:
    """Begin a block, and give the handle that ends it: an object, where PyTorch's is a tensor of bytes."""
    return _entered("_record_function_enter", "Tensor", name, args)


def _record_function_enter_new(name: str = _MISSING, args: str | None = None) -> record_function:
    """Begin a block, and give the handle that ends it."""
    return _entered("_record_function_enter_new", "__torch__.torch.classes.profiler._RecordFunction", name, args)


def _record_function_exit(handle: record_function) -> None:
    """End the block of a handle; one that has ended stays as it is."""
    if not isinstance(handle, record_function):
        raise RuntimeError(
            hinted(
                "Overloaded torch operator invoked from Python failed to match any schema:\nprofiler::_record_function_exit() "
                f"Expected a value of type 'Tensor' for argument 'handle' but instead found type '{kind_name(handle)}'.",
                "it takes what _record_function_enter has returned",
            )
        )
    if handle.record:
        handle._end()


OPERATIONS = {
    each.__name__: each for each in (_record_function_enter, _record_function_enter_new, _record_function_exit)
}
