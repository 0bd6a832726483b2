"""Extrema: max, min, amax, amin, aminmax, argmax, argmin."""

import functools

import numpy as np

from ..base import dtypes
from ..base.arrays import count_nonzero
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .reduce import axes_of, refuse_empty_dims, spread
from .results import named_result
from .table import composite, functions, op


def refuse(array, kernel, kinds="c"):
    """PyTorch's refusal of dtypes that a kernel lacks: complex ones, and with ``kinds`` "cb" also bool."""
    if array.dtype.kind in kinds:
        name = dtypes.from_numpy(array.dtype).legacy_name
        raise NotImplementedError(hinted(f"\"{kernel}\" not implemented for '{name}'", "these numbers have no order"))


def _refuse_empty(array, name):
    if array.size == 0:
        raise RuntimeError(
            hinted(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
                "an empty tensor has no largest or smallest element",
            )
        )


def take_positions(array, positions, axis):
    """The elements at ``positions`` (reduced along ``axis``), in the reduced shape."""
    if array.ndim == 0:
        return array.copy()
    ndim, length = array.ndim, array.shape[axis]
    lines = array if axis == ndim - 1 else array.transpose(*range(axis), *range(axis + 1, ndim), axis)
    starts = (_starts_kept if array.size <= _FEW else _starts)(array.size, length, positions.shape)
    return lines.reshape(-1).take(starts + positions)


def _starts(size, length, shape):
    """Where lines of ``length`` begin among ``size`` elements, as an array of ``shape``."""
    return np.arange(0, size, length).reshape(shape)


_FEW = 4096  # elements: of so few, what is known of their lines is kept
_starts_kept = functools.lru_cache(256)(_starts)


def _arg(array, axis, largest):
    """The position of the extreme along ``axis``; the first NaN wins."""
    return array.argmax(axis) if largest else array.argmin(axis)


def _extreme_all(name, largest):
    class record:
        def forward(self):
            if self.dtype.kind == "c":
                refuse(self, f"{name}_all")
            if self.size == 0:
                _refuse_empty(self, name)
            # Where it is, and then what it is, takes NumPy less time than its reduction; the first NaN wins in both.
            return np.array(self.item(self.argmax() if largest else self.argmin()), self.dtype)

        def d_self(grad, self, result):
            if functions.interposers:  # inside transforms the value may be another one for each entry
                hit = (self == result) | (self.isnan() & result.isnan())
                return functions.where(hit, grad / hit.sum(), functions.zeros((), dtype=grad.dtype, device=grad.device))
            value = result._array
            hit = self == result if value == value else self.isnan()
            return functions.where_select(hit, grad / int(count_nonzero(hit._array)), 0)

    record.__name__, record.__doc__ = f"{name}_all", f"The {name} of all elements."
    return op(f"{name}(Tensor self) -> Tensor", names=(), node=f"{name.capitalize()}Backward1")(record)


def _extreme_dim(name, largest):
    class record:
        def forward(self, dim, keepdim):
            if self.dtype.kind == "c":
                raise RuntimeError(f"{name}(): does not support complex input")
            axis = wrap_dim(dim, self.ndim)
            if self.ndim and self.shape[axis] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
            positions = np.asarray(_arg(self, axis if self.ndim else None, largest))
            values = np.asarray(take_positions(self, positions, axis))
            if keepdim and self.ndim:
                values, positions = np.expand_dims(values, axis), np.expand_dims(positions, axis)
            return values, positions.astype(np.int64, copy=False)

        def d_self(grad, shape, dim, result1):
            return at_positions(grad, shape, dim, result1)

    record.__name__, record.__doc__ = f"{name}_dim", f"The {name} along one dimension, and where it is."
    return op(
        f"{name}(Tensor self, int dim, bool keepdim=False) -> Tensor[]", names=(), node=f"{name.capitalize()}Backward0"
    )(record)


def at_positions(grad, shape, dim, positions):
    """A gradient of the chosen elements of a tensor of ``shape``, zero elsewhere."""
    return functions.placed(grad, dim, positions, shape) if shape else grad


max_all, min_all = _extreme_all("max", True), _extreme_all("min", False)
max_dim, min_dim = _extreme_dim("max", True), _extreme_dim("min", False)
_MAX, _MIN = named_result("max", "values indices"), named_result("min", "values indices")


def _overloaded(name, result, elementwise, doc):
    whole, along = f"{name}_all", f"{name}_dim"

    def call(input, dim=None, keepdim=False, *, other=None):
        try:
            if dim is None and other is None:
                return getattr(functions, whole)(input)
            if other is not None or hasattr(dim, "_edge"):
                return getattr(functions, elementwise)(input, dim if other is None else other)
            return result(*getattr(functions, along)(input, dim, keepdim))
        except Exception:
            given = (input,) if dim is None else (input, dim) if keepdim is False else (input, dim, keepdim)
            functions.refuse(name, given, {} if other is None else {"other": other})
            raise

    def into(out, input, dim=None, keepdim=False, *, other=None):
        """Of two tensors the ``out=`` form is that of the elementwise operation."""
        other = dim if other is None else other
        return getattr(functions, elementwise)(input, other, out=out) if hasattr(other, "_edge") else None

    call.__name__ = call.__qualname__ = name
    call.__doc__, call.into = doc, into
    return composite(out=True, explains=True, short=whole)(call)


max = _overloaded(
    "max",
    _MAX,
    "maximum",
    """The largest element; with ``dim`` also where it is; with another tensor the larger of each pair.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 5], [7, 3]]).max(dim=1).indices
    tensor([1, 0])
    """,
)
min = _overloaded(
    "min",
    _MIN,
    "minimum",
    "The smallest element; with ``dim`` also where it is; with another tensor the smaller of each pair.",
)


def _shared(grad, self, result, dim, keepdim):
    """The gradient of an extreme over several dimensions: equal elements share it equally."""
    shape = self.shape
    hit = self == spread(result, dim, keepdim, shape)
    return hit * (spread(grad, dim, keepdim, shape) / (hit.sum(dim, True) if shape else 1))


def _many(name, ufunc, doc):
    class record:
        def forward(self, dim, keepdim):
            if self.size:
                refuse(self, f"{name[1:]}_values_cpu")
            else:
                if not dim:
                    _refuse_empty(self, name)
                refuse_empty_dims(self.shape, dim, f"{name}()")
            axes = axes_of(dim, self.ndim)
            return np.asarray(ufunc.reduce(self, axis=axes if self.ndim else None, keepdims=keepdim), None, "C")

        def d_self(grad, self, dim, keepdim, result):
            return _shared(grad, self, result, dim or None, keepdim)

    record.__name__, record.__doc__ = name, doc
    return op(f"{name}(Tensor self, int[] dim=(), bool keepdim=False) -> Tensor")(record)


amax = _many(
    "amax", np.maximum, "The largest element over ``dim`` or all; a gradient is shared equally by equal elements."
)
amin = _many(
    "amin", np.minimum, "The smallest element over ``dim`` or all; a gradient is shared equally by equal elements."
)


@op("aminmax(Tensor self, int? dim, bool keepdim) -> Tensor[]", names=(), node="AminmaxBackward0")
class aminmax_pair:
    """The smallest and the largest element in all or along one dimension."""

    by_rows = True

    def forward(self, dim, keepdim):
        if dim is None and self.size == 0:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        axis = None if dim is None else wrap_dim(dim, self.ndim)
        axis = axis if self.ndim else None
        if axis is not None and self.shape[axis] == 0:
            raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
        if self.dtype.kind == "c" and dim is not None and not self.ndim:
            name = dtypes.from_numpy(self.dtype).legacy_name
            raise RuntimeError(hinted(f"aminmax not implemented for {name}", "complex numbers have no order"))
        refuse(self, "aminmax_cpu")
        return tuple(np.asarray(ufunc.reduce(self, axis=axis, keepdims=keepdim)) for ufunc in (np.minimum, np.maximum))

    def d_self(grads, self, dim, keepdim, result0, result1):
        parts = [
            _shared(grad, self, result, dim if dim is None else (dim,), keepdim)
            for grad, result in zip(grads, (result0, result1))
            if grad is not None
        ]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@composite(out=True)
def aminmax(input, *, dim=None, keepdim=False):
    """``(min, max)`` in all or along ``dim``."""
    return named_result("aminmax", "min max")(*functions.aminmax_pair(input, dim, keepdim))


def _position(name, largest):
    class record:
        def forward(self, dim, keepdim):
            if self.dtype.kind in "cb":
                raise RuntimeError(
                    f"{name}(): does not support {'bool' if self.dtype.kind == 'b' else 'complex'} input"
                )
            if dim is None:
                if self.size == 0:
                    raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
                found = np.asarray(_arg(self.reshape(-1), 0, largest))
                return found.reshape((1,) * self.ndim) if keepdim else found
            axis = wrap_dim(dim, self.ndim)
            if not self.ndim:
                return np.zeros((), np.int64)
            if self.shape[axis] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
            found = np.asarray(_arg(self, axis, largest))
            return np.expand_dims(found, axis) if keepdim else found

    record.__name__ = name
    record.__doc__ = f"Where the {'largest' if largest else 'smallest'} element is: its flat position, or its position along ``dim``."
    return op(f"{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")(record)


argmax, argmin = _position("argmax", True), _position("argmin", False)
