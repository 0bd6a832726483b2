"""Whole parameters that autograd saves as a place and a shape, so that their memory can go: what both forms of FSDP share."""

from __future__ import annotations

from typing import Any, NamedTuple


class Saved(NamedTuple):
    """What is kept of a tensor that is a view of the whole."""

    offset: int
    shape: Any
    strides: Any

    def taken_from(self, whole: Any) -> Any:
        """The same view of a whole that was gathered again."""
        return whole.as_strided(self.shape, self.strides, self.offset)


class Packing:
    """Keeps of a view of the whole where it lies, and other tensors as they are; does not keep the whole."""

    def __init__(self, whole: Any) -> None:
        self._begin, self._width = whole.data_ptr(), whole.element_size()
        self._end, self._dtype = self._begin + whole.numel() * self._width, whole.dtype

    def __call__(self, tensor: Any) -> Any:
        if tensor.dtype is self._dtype and self._begin <= tensor.data_ptr() < self._end:
            return Saved((tensor.data_ptr() - self._begin) // self._width, tensor.shape, tensor.stride())
        return tensor


def cast(values: Any, dtype: Any) -> Any:
    """Floating-point tensors among nested values, in another dtype."""
    if isinstance(values, dict):
        return {name: cast(value, dtype) for name, value in values.items()}
    if isinstance(values, (tuple, list)):
        return type(values)(cast(value, dtype) for value in values)
    return values.to(dtype) if hasattr(values, "is_floating_point") and values.is_floating_point() else values
