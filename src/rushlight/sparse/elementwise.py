"""Arithmetic, element by element: what keeps zeros, on values alone; sums, differences and products of two tensors."""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.device import sparse_coo
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes
from ..base.sparse_array import SparseArray
from ..ops.elementwise.checks import check_subtraction
from ..ops.schema import is_number
from ..ops.table import TABLE, conj, functions
from ..tensor.base import wrap
from .calls import is_sparse, layout_name, not_run, takes
from .conversion import coalesce, recompressed, scattered, to_sparse
from .patterns import Coordinates
from .tensors import record, same_places, values_of, with_values

# Functions that are 0 at 0; PyTorch coalesces first.
UNARY = (
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac", "isinf", "isnan",
    "isneginf", "isposinf", "log1p", "nan_to_num", "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc", "conj_physical",
)  # fmt: skip


def coalesced(tensor):
    """The tensor with at most one entry at each place."""
    return coalesce(tensor) if tensor.layout is sparse_coo else tensor


def _on_values(function, name):
    """An operation on the values of a coalesced tensor."""

    def call(self, *rest, **options):
        self = coalesced(self)
        return with_values(self._array.pattern, function(values_of(self, name), *rest, **options), name)

    return call


_FUNCTIONS = {"round": lambda values, decimals=0: functions.round(values, decimals=decimals)}
for _name in UNARY:
    if _name in TABLE:
        _node = TABLE[_name].node_name
        _function = _FUNCTIONS.get(_name) or getattr(functions, _name)
        takes(_name)(_on_values(_function, _node if _node.__class__ is str else _name.title() + "Backward0"))


@takes("neg")
def _neg(self):
    return with_values(self._array.pattern, -values_of(self, "NegBackward0"), "NegBackward0")


@takes("pow")
def _pow(self, exponent):
    if not is_sparse(self) or not is_number(exponent):
        raise not_run("pow", (self, exponent))
    if exponent == 0:
        message = "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
        raise RuntimeError(hinted(message, "to_dense() first"))
    return _on_values(lambda values: values**exponent, "PowBackward0")(self)


def _is_factor(value):
    """Whether a value multiplies all elements alike: a number, or a dense tensor without dimensions."""
    return is_number(value) or (hasattr(value, "_edge") and not is_sparse(value) and not value.ndim)


def same_shape(one, other, name):
    """Refuse two tensors of different shapes."""
    if one.shape != other.shape:
        message = f"{name}: expected sizes of 'self' and 'other' to match, but {list(one.shape)} != {list(other.shape)}"
        raise RuntimeError(hinted(message, "sparse tensors are not broadcast"))


@takes("mul")
def _mul(self, other):
    if not is_sparse(self):
        self, other = other, self
    if _is_factor(other):
        return with_values(self._array.pattern, values_of(self, "MulBackward0") * other, "MulBackward0")
    if not is_sparse(other):
        return _times_dense(self, other)
    if self.layout is not other.layout:
        raise RuntimeError(
            hinted("Expected result Tensor to be of format CSR", f"one is {self.layout}, the other {other.layout}")
        )
    same_shape(self, other, "mul")
    self, other = coalesced(self), coalesced(other)
    mine, theirs = self._array.pattern, other._array.pattern
    if same_places(mine, theirs):
        return with_values(mine, values_of(self, "MulBackward0") * values_of(other, "MulBackward0"), "MulBackward0")
    if self.layout is not sparse_coo:
        return recompressed(_mul(to_sparse(self), to_sparse(other)), self.layout, mine.block, mine.dense_dim)
    numbers, there = mine.found_in(theirs)
    pattern = mine.rearranged(mine.shape, mine.indices[:, there], True)
    left = values_of(self, "MulBackward0")[wrap(there)]
    right = values_of(other, "MulBackward0")[wrap(numbers[there])]
    return with_values(pattern, left * right, "MulBackward0")


@record("sparse_times_dense(Tensor self, Tensor other) -> Tensor", node="MulBackward0")
class _times_dense:
    """A sparse tensor times a dense one: its entries alone."""

    def forward(self, other):
        pattern, values = self.pattern, self.values
        if other.ndim > len(pattern.shape):
            raise RuntimeError(hinted("a sparse tensor is not broadcast to more dimensions", "to_dense() is"))
        broadcast_shapes(other.shape, pattern.shape)
        factors = np.broadcast_to(other, pattern.shape)[tuple(pattern.places())]
        return SparseArray(pattern, (values.reshape(factors.shape) * factors).reshape(values.shape))

    def d_self(grad, other):
        return grad * conj(other)

    def d_other(grad, self, other_shape):
        found = grad * conj(self)
        return found if found.shape == other_shape else found.to_dense()


@takes("equal")
def _equal(input, other):
    raise not_run("equal", [input, other])


@takes("floor_divide")
def _floor_divide(self, other):
    return _div(functions.as_tensor(self), other, "floor", "floor division")


@takes("div", "true_divide")
def _div(self, other, rounding_mode=None, kind="division"):
    if not hasattr(self, "_edge"):
        return functions.mul(self, functions.reciprocal(other))
    if is_sparse(self) and self.layout is not sparse_coo:
        raise RuntimeError(hinted(f"unsupported tensor layout: {layout_name(self)}", "multiply by 1 / number"))
    if not _is_factor(other):
        found = f"shape {list(other.shape)} for" if other.ndim else "a sparse"
        raise RuntimeError(
            hinted(
                f"Sparse {kind} requires a scalar or zero-dim dense tensor divisor (got {found} divisor)",
                "elements that are not given would be 0 / x",
            )
        )
    self = self if rounding_mode is None else coalesced(self)
    values = functions.div(values_of(self, "DivBackward0"), other, rounding_mode=rounding_mode)
    return with_values(self._array.pattern, values, "DivBackward0")


@takes("add")
def _add(self, other, alpha=1):
    return _sum(self, other, alpha, "AddBackward0")


@takes("sub")
def _sub(self, other, alpha=1):
    check_subtraction(self, other)
    return _sum(self, other, -alpha, "SubBackward0")


@takes("rsub")
def _rsub(self, other, alpha=1):
    return _sum(functions.as_tensor(other), self, -alpha, "RsubBackward0")


def _not_dense():
    return RuntimeError(
        hinted(
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
            "the sum has all elements: dense + sparse gives a dense tensor, and x.to_dense() + 1 does",
        )
    )


def _sum(self, other, alpha, name):
    """``self + alpha * other`` with one or both sparse."""
    if not is_sparse(other):
        if self.layout is sparse_coo or not hasattr(other, "_edge"):
            raise _not_dense()
        return _dense_plus(other * alpha, self, 1)
    if not is_sparse(self):
        if not hasattr(self, "_edge"):
            raise _not_dense()
        return _dense_plus(self, other, alpha)
    same_shape(self, other, "add")
    if self.layout is not other.layout:
        message = f"add(sparse, sparse): tensors of the layouts {self.layout} and {other.layout} cannot be added"
        raise RuntimeError(hinted(message, "convert one of them"))
    one, two = values_of(self, name), values_of(other, name)
    two = two if alpha == 1 else two * alpha
    mine, theirs = self._array.pattern, other._array.pattern
    if same_places(mine, theirs):
        return with_values(mine, one + two, name)
    if self.layout is not sparse_coo:
        found = _sum(to_sparse(self), to_sparse(other), alpha, name)
        return recompressed(found, self.layout, mine.block, mine.dense_dim)
    common = dtypes.promote_types(one.dtype, two.dtype)
    joined = functions.cat([one.to(common), two.to(common)])
    if not (mine.checked_coalesced() and theirs.checked_coalesced()):
        pattern = mine.rearranged(mine.shape, np.concatenate((mine.indices, theirs.indices), 1))
        return with_values(pattern, joined, name)
    pattern, first, second = mine.union(theirs)
    if not (mine.coalesced and theirs.coalesced):
        pattern = Coordinates(pattern.shape, pattern.indices)
    return with_values(pattern, functions.sum_groups(joined, np.concatenate((first, second)), pattern.nnz), name)


@record("sparse_added(Tensor self, Tensor other, Scalar alpha) -> Tensor", node="AddBackward0")
class _dense_plus:
    """``self + alpha * other``, dense, of a dense and a sparse tensor."""

    def forward(self, other, alpha):
        shape = other.shape
        if self.shape != shape:
            raise RuntimeError(
                hinted(
                    f"add: expected 'self' and 'other' to have same size, but self has size {list(self.shape)} while other has "
                    f"size {list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)",
                    "to_dense() is broadcast",
                )
            )
        kind = dtypes.promote_types(dtypes.from_numpy(self.dtype), dtypes.from_numpy(other.dtype)).numpy
        values = other.values if alpha == 1 else other.values * np.array(alpha).astype(other.dtype)
        return scattered(values, other.pattern, np.array(self, kind, order="C"))

    def d_self(grad):
        return grad

    def d_other(grad, alpha):
        return grad if alpha == 1 else grad * alpha
