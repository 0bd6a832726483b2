"""Scans: running sums, products and extrema, differences, triangles."""

import functools
import math

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .elementwise.checks import BOOL, INTEGERS
from .moving import filled, write
from .recording import is_recorded
from .reduce import accumulator
from .results import named_result
from .table import composite, conj, functions, is_half, op, widened


def _scan(array, ufunc, dim, dtype):
    axis, kind = wrap_dim(dim, array.ndim), array.dtype
    if dtype is not None:
        kind = dtype.numpy
    elif kind.kind in "biu":
        kind = dtypes.INT64_ARRAY
    computed = accumulator(kind)
    if not array.ndim:
        return array.astype(kind)
    found = ufunc.accumulate(array if array.dtype is computed else array.astype(computed), axis, computed)
    if not found.flags.c_contiguous:
        found = np.ascontiguousarray(found)
    return found if computed is kind else found.astype(kind)


@op("cumsum(Tensor self, int dim, *, dtype? dtype=None) -> Tensor", inplace=True)
class cumsum:
    """Running sums along ``dim``.

    >>> import rushlight as torch
    >>> torch.tensor([1, 2, 3]).cumsum(0)
    tensor([1, 3, 6])
    """

    def forward(self, dim, dtype):
        return _scan(self, np.add, dim, dtype)

    def d_self(grad, dim):
        return _from_the_end(grad, dim)


def _from_the_end(value, dim):
    """Running sums from the end towards the front."""
    return value.flip(dim).cumsum(dim).flip(dim) if value.ndim else value


@op("cumprod(Tensor self, int dim, *, dtype? dtype=None) -> Tensor", inplace=True)
class cumprod:
    """Running products along ``dim``."""

    def forward(self, dim, dtype):
        return _scan(self, np.multiply, dim, dtype)

    def d_self(grad, self, dim, result):
        if self.numel() <= 1:
            return grad
        if functions.elements_of(self).all():
            return _from_the_end(grad * conj(result), dim) / conj(self)
        if is_recorded(grad, self):
            return _cumprod_gradient(grad, self, dim)
        return _cumprod_gradient_beside_zeros(grad, self, result, dim)


def _cumprod_gradient_beside_zeros(grad, self, result, dim):
    """The gradient by division before the first zero of each row, at that by the products of all others, and 0 behind it.

    It cannot be differentiated again: behind the first zero its own derivative is not 0.
    """
    is_zero = self == 0
    zeros = is_zero.cumsum(dim)
    terms = (grad * conj(result)).masked_fill(zeros != 0, 0)
    found = _from_the_end(terms, dim) / conj(self).masked_fill(zeros != 0, 1)
    is_first = is_zero & (zeros == 1)
    others = conj(self.masked_fill(is_first, 1).cumprod(dim))
    at_first = (grad * others).masked_fill(zeros != 1, 0).sum(dim, keepdim=True)
    return functions.where(is_first, at_first, found.masked_fill(zeros != 0, 0))


def _cumprod_gradient(grad, self, dim):
    """The same in operations that can be differentiated: for each element, the products of all others before each later place."""
    length = self.shape[dim]
    parts = []
    for place in range(length):
        before = self.narrow(dim, 0, place).prod(dim, keepdim=True)
        after = self.narrow(dim, place + 1, length - place - 1)
        ones = functions.ones_like(before)
        running = functions.cat([ones, after], dim).cumprod(dim) * before
        parts.append((grad.narrow(dim, place, length - place) * conj(running)).sum(dim, keepdim=True))
    return functions.cat(parts, dim)


def _running_extreme(name, ufunc):
    class record:
        by_rows = True

        def forward(self, dim):
            if not self.ndim:
                if dim not in (-1, 0):
                    message = f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}"
                    raise IndexError(hinted(message, "a 0-dim tensor has one element"))
                return self.copy(), np.zeros((), np.int64)
            if not self.size:
                return self.copy(), np.empty(self.shape, np.int64)
            axis = wrap_dim(dim, self.ndim)
            values = ufunc.accumulate(self, axis=axis)
            length = self.shape[axis]
            places = np.arange(length).reshape((-1,) + (1,) * (self.ndim - axis - 1))
            hit = (self == values) | ((self != self) & (values != values))
            positions = np.maximum.accumulate(np.where(hit, places, 0), axis=axis)
            # Of zeros of either sign, NumPy's float16 keeps the first.
            return np.take_along_axis(self, positions, axis), np.ascontiguousarray(positions)

        def d_self(grad, self, dim, result1):
            return functions.placed(grad, dim, result1, tuple(self.shape)) if self.ndim else grad

    record.__name__, record.__doc__ = f"{name}_pair", f"The running {name[3:]} along one dimension, and where it is."
    op(f"{name}(Tensor self, int dim) -> Tensor[]", names=(), node=f"{name.capitalize()}Backward0")(record)
    result = named_result(name, "values indices")

    def call(input, dim):
        if input.is_complex() and input.ndim and input.numel():  # for fewer, PyTorch starts no kernel
            message = f"\"{name}_cpu\" not implemented for '{input.dtype.legacy_name}'"
            raise NotImplementedError(hinted(message, "complex numbers have no order: compare abs() or the parts"))
        return result(*getattr(functions, f"{name}_pair")(input, dim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The running {name[3:]} along ``dim``, and where it is."
    return composite(call, out=True)


cummax, cummin = _running_extreme("cummax", np.maximum), _running_extreme("cummin", np.minimum)


@op("logcumsumexp(Tensor self, int dim) -> Tensor", refuse=(*BOOL, *INTEGERS))
class logcumsumexp:
    """Logarithms of running sums of exponentials along ``dim``."""

    kernel = "logcumsumexp_out_cpu"

    by_rows = True

    def forward(self, dim):
        axis = wrap_dim(dim, self.ndim)
        if not self.ndim:
            return self.copy()
        if self.dtype.kind == "c":
            return _complex_log_sums(self, axis)
        return np.logaddexp.accumulate(widened(self), axis=axis).astype(self.dtype, copy=False)

    def d_self(grad, self, dim, result):
        if not self.ndim:
            return grad
        if self.is_complex():
            starts, ends, flowing = (v.movedim(dim, -1) for v in (self, result, grad))
            shares = (starts.unsqueeze(-1) - ends.unsqueeze(-2)).exp().triu()  # of each element in each later sum
            return (conj(shares) * flowing.unsqueeze(-2)).sum(-1).movedim(-1, dim)
        positive = functions.where(grad > 0, grad, functions.zeros_like(grad))
        negative = functions.where(grad < 0, -grad, functions.zeros_like(grad))
        least = -math.inf

        def part(weights):
            logs = functions.where(weights > 0, weights.log() - result, functions.full_like(result, least))
            return (logs.flip(dim).logcumsumexp(dim).flip(dim) + self).exp()

        return part(positive) - part(negative)


def _complex_log_sums(array, axis):
    """The same for complex numbers, one place after the other: NumPy's logaddexp knows real ones only."""
    found = np.array(array, order="C")
    places = np.moveaxis(found, axis, 0)
    for place in range(1, len(places)):
        before, here = places[place - 1], places[place : place + 1]
        larger = np.where(here.real >= before.real, here, before)
        smaller = np.where(here.real >= before.real, before, here)
        here[...] = np.where(np.isneginf(larger.real), larger, larger + np.log1p(np.exp(smaller - larger)))
    return found


def _check_ends(input, dim, *ends):
    """Refuse tensors to put before or behind ``input`` that differ in another dimension than ``dim``."""
    for end in ends:
        for place in range(input.ndim) if end is not None else ():
            if place != dim and end.shape[place] != input.shape[place]:
                raise RuntimeError(
                    hinted(
                        "diff expects the shape of tensor to prepend or append to match that of input except along the "
                        f"differencing dimension; input.size({place}) = {input.shape[place]}, but got "
                        f"tensor.size({place}) = {end.shape[place]}",
                        f"the shapes are {list(input.shape)} and {list(end.shape)}",
                    )
                )


@composite(out=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along ``dim``, taken ``n`` times."""
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input.ndim) if n or prepend is not None or append is not None else 0
    parts = [t for t in (prepend, input, append) if t is not None]
    if any(part.ndim != input.ndim for part in parts):
        raise RuntimeError(
            hinted(
                "diff expects prepend or append to be the same dimension as input",
                f"the dimensions are {', '.join(str(part.ndim) for part in parts)}",
            )
        )
    _check_ends(input, axis, prepend, append)
    value = functions.cat(parts, dim) if len(parts) > 1 and n else input
    for _ in range(min(n, value.shape[dim])):
        length = value.shape[dim]
        after, before = value.narrow(dim, 1, length - 1), value.narrow(dim, 0, length - 1)
        value = after.logical_xor(before) if value.dtype is dtypes.bool_ else after - before
    return value.clone() if value is input else value


_FEW = 4096  # elements: masks of so many are kept
_triangle_kept = functools.lru_cache(64)(np.tri)


def _triangle(name):
    class record:
        by_rows = True

        def forward(self, diagonal):
            if self.ndim < 2:
                raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
            rows, columns = self.shape[-2:]
            diagonal = max(-rows - 1, min(diagonal, columns + 1))
            make = _triangle_kept if rows * columns <= _FEW else np.tri
            mask = make(rows, columns, diagonal if name == "tril" else diagonal - 1, bool)
            return (
                np.where(mask, self, self.dtype.type(0)) if name == "tril" else np.where(mask, self.dtype.type(0), self)
            )

        def d_self(grad, diagonal):
            return getattr(grad, name)(diagonal)

    record.__name__ = name
    record.__doc__ = f"The {'lower' if name == 'tril' else 'upper'} triangle of matrices, zeros elsewhere."
    return op(f"{name}(Tensor self, int diagonal=0) -> Tensor", inplace=True)(record)


tril, triu = _triangle("tril"), _triangle("triu")


@composite(out=True)
def diag(input, diagonal=0):
    """A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector."""
    if input.ndim == 1:
        return functions.diag_embed(input, diagonal)
    if input.ndim == 2:
        return input.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
class diag_embed:
    """The last dimension as diagonals of new planes ``dim1``, ``dim2``."""

    def forward(self, offset, dim1, dim2):
        ndim = self.ndim + 1
        first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
        if first == second:
            raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
        *shape, size = self.shape
        size += abs(offset)
        for place in (first, second) if first < second else (second, first):
            shape.insert(place, size)
        found = filled(shape, 0, self.dtype)
        part = found.diagonal(offset, first, second)
        part.flags.writeable = True
        write(part, self)
        return found

    def d_self(grad, offset, dim1, dim2):
        return grad.diagonal(offset, dim1, dim2)


@composite
def diagflat(input, offset=0):
    """The elements, flattened, as the diagonal of a matrix."""
    return functions.diag_embed(input.reshape(-1), offset)


_DOUBLED = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
_SHORT = 32  # diagonals that Python adds up in less time than NumPy


@op("trace(Tensor self) -> Tensor", refuse=BOOL)
class trace:
    """The sum of a matrix's diagonal."""

    kernel = "trace"

    def forward(self):
        if self.ndim != 2:
            raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
        kind, diagonal = self.dtype, self.diagonal()
        if kind in _DOUBLED:  # added up in float64, as PyTorch does
            if diagonal.size <= _SHORT:
                return np.array(sum(diagonal.tolist()), kind)
            return np.asarray(diagonal.sum(dtype=np.float64)).astype(kind)
        found = np.asarray((diagonal.astype(np.float32) if is_half(kind) else diagonal).sum())
        wanted = np.int64 if kind.kind in "biu" else kind
        return found if found.dtype is wanted else found.astype(wanted)

    def d_self(grad, shape):
        return functions.diagonal_gradient(grad.expand(min(shape)), shape, 0, 0, 1)
