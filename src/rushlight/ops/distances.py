"""Distances between all pairs of rows: cdist and pdist."""

import math
from types import SimpleNamespace

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.scalars import float_argument
from ..base.shapes import broadcast_shapes
from .moving import copied
from .recording import is_recorded
from .table import composite, functions, is_half, op, widened

# The gradient is one formula that runs on arrays, as an operation of its own, or, where the gradient is itself to be
# differentiated, on Tensors.
_MODES = frozenset(("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"))
_ARRAYS = SimpleNamespace(where=np.where, sign=np.sign)
_TENSORS = SimpleNamespace(where=lambda *operands: functions.where(*operands), sign=lambda tensor: tensor.sgn())


def _length(difference, p, largest):
    """The p-norms of arrays along the last dimension; 0 where it has no elements. ``largest`` of two is for p infinite."""
    size = np.abs(difference)
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", size, size))
    if p == 0:
        return np.add.reduce(np.minimum(np.ceil(size), 1), -1)  # NaN stays NaN
    if math.isinf(p):
        return largest.reduce(size, -1, initial=0)
    return np.add.reduce(size, -1) if p == 1 else np.power(np.add.reduce(np.power(size, p), -1), 1 / p)


def _gradient_formula(m, grad, x1, x2, p, result):
    """The gradient of the distances ``result`` with respect to ``x1``.

    With p infinite each of several largest differences gets all of the gradient, as PyTorch has it, and infinite ones NaN.
    """
    safe = m.where(result == 0, 1.0, result)  # powers of zero have derivatives that are not finite
    if p == 2:
        weight = m.where(result == 0, 0.0, grad / safe)
        return x1 * weight.sum(-1)[..., None] - weight @ x2
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    size = abs(difference)
    if p == 1 or math.isinf(p):
        slope = m.sign(difference)
        if p > 1:
            length = result[..., None]
            hit = (size == length) * (1 + (size - size))  # NaN of an infinite difference
            slope = slope * m.where(length == length, hit, math.nan)
        return (grad[..., None] * slope).sum(-2)
    power = m.where(size == 0, 1.0, size)
    slope = difference * power ** (p - 2) if p > 2 else m.sign(difference) * power ** (p - 1)
    return (m.where(result == 0, 0.0, grad * safe ** (1 - p))[..., None] * slope).sum(-2)


def _gradient(grad, x1, x2, p, result):
    if p == 0:
        return functions.zeros_like(x1)
    if is_recorded(grad, result):
        return _gradient_formula(_TENSORS, grad, x1, x2, p, result)
    return functions.distance_gradient(grad, x1, x2, p, result)


@op("cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor result) -> Tensor", names=())
class distance_gradient:
    """The gradient of `cdist` with respect to its first operand."""

    untracked = True

    def forward(grad, x1, x2, p, result):
        found = _gradient_formula(_ARRAYS, *(widened(v) for v in (grad, x1, x2)), p, widened(result))
        return np.asarray(found).astype(x1.dtype, copy=False)


@op("cdist(Tensor x1, Tensor x2, float p, bool expanded) -> Tensor", names=(), node="CdistBackward0")
class cdist_pairs:
    """The p-norms of the differences of all pairs of rows; ``expanded`` takes Euclidean ones from a matrix product."""

    by_rows = True
    beside = ("x1", "x2")

    def forward(x1, x2, p, expanded):
        a, b = widened(x1), widened(x2)
        if p == 2 and expanded:
            squares = [np.einsum("...i,...i->...", v, v) for v in (a, b)]
            found = squares[0][..., :, None] + squares[1][..., None, :] - 2 * np.matmul(a, b.swapaxes(-1, -2))
            found = np.sqrt(np.maximum(found, 0))
        else:
            found = _length(a[..., :, None, :] - b[..., None, :, :], p, np.fmax)  # p infinite: NaN counts for nothing
        return np.asarray(found).astype(x1.dtype, copy=False)

    def d_x1(grad, x1, x2, p, result):
        return _gradient(grad, x1, x2, p, result)

    def d_x2(grad, x1, x2, p, result):
        return _gradient(grad.mT, x2, x1, p, result.mT)


@composite(names=("torch",))
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between all pairs of rows: (..., P, M) and (..., R, M) give (..., P, R).

    >>> import rushlight as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(
            hinted(f"{compute_mode} is not a valid value for compute_mode", f"it is one of {sorted(_MODES)}")
        )
    if p.__class__ is not float:
        p = float_argument(p, "cdist(): argument 'p' (position 3)")
    for name, value in (("X1", x1), ("X2", x2)):
        if not value.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {value.dtype.legacy_name}")
        if value.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {value.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    if not (x1.numel() and x2.numel()):
        x2 = x2.to(x1.dtype)  # nothing is computed: PyTorch looks at no dtype
    if is_half(x1.dtype.numpy) and x1.numel() and x2.numel():
        raise NotImplementedError(
            hinted(f"\"cdist\" not implemented for '{x1.dtype.legacy_name}'", "convert the points with .float()")
        )
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.legacy_name} but found {x2.dtype.legacy_name}")
    large = x1.shape[-2] > 25 or x2.shape[-2] > 25
    expanded = compute_mode == "use_mm_for_euclid_dist" or (large and not compute_mode.startswith("donot"))
    return functions.cdist_pairs(x1, x2, p, expanded)


# ---------------------------------------------------------------- among the rows of one matrix


@op("pdist(Tensor self, float p) -> Tensor", names=(), node="PdistBackward0")
class pdist_pairs:
    """The p-norms of the differences of all pairs of rows, row by row of the upper triangle."""

    beside = ("self",)

    def forward(self, p):
        wide = widened(self)
        rows, columns = np.triu_indices(wide.shape[-2], 1)
        if rows.size and is_half(self.dtype):
            kind = from_numpy(self.dtype).legacy_name
            raise NotImplementedError(
                hinted(f"\"pdist\" not implemented for '{kind}'", "convert the input with .float()")
            )
        return np.asarray(_length(wide[..., rows, :] - wide[..., columns, :], p, np.maximum)).astype(
            self.dtype, copy=False
        )

    def d_self(grad, self, p, result):
        count = self.shape[-2]
        grad, result = (functions.symmetric_matrix(v, count).mT for v in (grad, result))  # turned: as kernels want them
        return _gradient(grad, self, self, p, result)


@op("symmetric_matrix(Tensor self, int count) -> Tensor", names=())
class symmetric_matrix:
    """The symmetric matrix of ``count`` rows with zeros on the diagonal, from the rows of its upper triangle."""

    def forward(self, count):
        found, start = np.zeros((*self.shape[:-1], count, count), self.dtype), 0
        for row in range(count - 1):
            end = start + count - 1 - row
            found[..., row, row + 1 :] = self[..., start:end]
            start = end
        return found + copied(found.swapaxes(-1, -2))

    def d_self(grad, count):
        rows, columns = functions.triu_indices(count, count, 1).unbind(0)
        return (grad + grad.mT)[..., rows, columns]


@composite(names=("torch", "nn.functional"))
def pdist(input, p=2.0):
    """The p-norm distances between all pairs of rows, the upper triangle as a vector."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if not input.is_floating_point():
        raise RuntimeError(
            hinted("pdist only supports floating-point dtypes", f"the input is {input.dtype}: convert it with .float()")
        )
    return functions.pdist_pairs(input, float(p))
