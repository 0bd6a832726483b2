"""Vector and matrix norms."""

import math

import numpy as np

from ..base.errors import hinted
from ..base.scalars import check_number
from ..base.shapes import wrap_dim
from .blockwise import BLOCK
from .reduce import add_up, axes_of, lined_up, spread, zero_where_zero
from .table import composite, functions, is_half, op, widened


@op(
    "vector_norm(Tensor self, float ord, int[]? dim, bool keepdim, dtype? dtype) -> Tensor",
    names=(),
    node="LinalgVectorNormBackward0",
)
class vector_norm_parts:
    """The p-norm of the elements over ``dim``."""

    by_rows = True

    def forward(self, ord, dim, keepdim, dtype):
        x = self if dtype is None else self.astype(dtype.numpy)
        kind = x.real.dtype
        wide = widened(x)
        axes = axes_of(dim, x.ndim)
        if math.isinf(ord) or ord < 0:
            _refuse_nothing(x.shape, dim, ord)
        if ord == 2 and len(axes) == x.ndim and wide.dtype.kind == "f" and wide.flags.c_contiguous:
            found = np.asarray(math.sqrt(_sum_of_squares(wide.reshape(-1))), wide.dtype)
            return found.astype(kind, copy=False).reshape((1,) * x.ndim if keepdim else ())
        size = wide if ord == 2 and wide.dtype.kind == "f" and x.ndim else np.asarray(np.abs(wide))
        if not x.ndim:
            found = size if ord != 0 else (size != 0).astype(size.dtype)
        elif math.isinf(ord):
            found = (np.maximum if ord > 0 else np.minimum).reduce(size, axis=axes, keepdims=keepdim)
        elif ord == 0:
            found = np.count_nonzero(size, axis=axes, keepdims=keepdim)
        elif ord == 1:
            found = add_up(size, axes, keepdim)
        elif ord == 2:
            found = np.sqrt(add_up(size * size, axes, keepdim))
        else:
            found = np.power(add_up(np.power(size, ord), axes, keepdim), 1 / ord)
        return np.asarray(found).astype(kind, copy=False)

    def d_self(grad, self, ord, dim, keepdim, dtype, result):
        if ord == 0:  # a number of elements
            return None
        shape = self.shape
        x = self if dtype is None else self.to(dtype)
        if ord == 2:
            grad, norm = (lined_up(v, dim, keepdim, len(shape)) for v in (grad, result))
            return x * zero_where_zero(grad / norm, norm)
        return _norm_gradient(x, *(spread(v, dim, keepdim, shape) for v in (grad, result)), ord, dim)


def _sum_of_squares(flat):
    """In double precision from block to block, for which the blocks' products are added."""
    return math.fsum(float(np.dot(part, part)) for part in (flat[i : i + BLOCK] for i in range(0, flat.size, BLOCK)))


def _refuse_nothing(shape, dim, ord):
    """PyTorch's refusal of a largest or smallest element of nothing."""
    if 0 not in shape:
        return
    why = "operation does not have an identity"
    empty = [one for one in dim or () if shape[one] == 0]
    if dim and not empty:
        return
    if not dim:
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the {why}")
    raise RuntimeError(
        f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {empty[0]}because this dimension is empty and "
        f"the {why}"
    )


def _norm_gradient(x, grad, norm, ord, dim):
    """The gradient of a p-norm, from the gradient and the norm in the shape of ``x``."""
    if ord == 1:
        return grad * x.sgn()
    if math.isinf(ord):
        hit = x.abs() == norm
        return grad * x.sgn() * hit / (hit.sum(dim, True) if x.ndim else 1)
    size = x.abs()
    scaled = x * size.pow(ord - 2) if ord > 2 else x.sgn() * size.pow(ord - 1).masked_fill(size == 0, 0)
    return grad * scaled * norm.pow(1 - ord).masked_fill(norm == 0, 0)


def _order(p, sentence="linalg.vector_norm: Expected a non-complex scalar as the order of norm."):
    """The order of a norm as a float."""
    if p.__class__ is complex:
        raise RuntimeError(hinted(sentence, "orders are real numbers"))
    return float(p)


def _require_numbers(input, name="linalg.vector_norm"):
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            hinted(
                "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                f"{input.dtype.legacy_name}",
                "convert the tensor first: x.float()",
            )
        )


@composite(names=("linalg:vector_norm",), out=True)
def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The p-norm of the elements, seen as a vector, over ``dim`` or all."""
    check_number(ord)
    _require_numbers(x)
    dims = (dim,) if isinstance(dim, int) else dim
    return functions.vector_norm_parts(x, _order(ord), dims, keepdim, dtype)


@composite
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of a vector or matrix, or of all elements: "fro", "nuc", or a number p.

    >>> import rushlight as torch
    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    check_number(p)
    _require_numbers(input)
    if p == "nuc":
        dims = tuple(range(input.ndim)) if dim is None else (dim if isinstance(dim, (tuple, list)) else (dim,))
        found = functions.linalg_matrix_norm(input, "nuc", dims, keepdim, dtype=dtype)
    elif isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    else:
        dims = (dim,) if isinstance(dim, int) else dim
        found = functions.vector_norm_parts(input, 2.0 if p in ("fro", None) else _order(p), dims, keepdim, dtype)
    return found if out is None else functions.write_outputs(found, out, "norm")


@composite(names=("linalg:norm",), out=True)
def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm, or with two dims (or a matrix and an ``ord``) a matrix norm."""
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is not None and ((dims is None and input.ndim == 2) or (dims is not None and len(dims) == 2)):
        return functions.linalg_matrix_norm(input, ord, dims or (-2, -1), keepdim, dtype=dtype)
    if ord is not None and dims is None and input.ndim != 1:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    return linalg_vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


def _check_norm_dtype(A, ord):
    """Of matrices that are numbers with a fraction; norms made of singular values want precise ones."""
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(
            hinted(
                f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype.legacy_name}",
                "convert the tensor first: A.float()",
            )
        )
    if is_half(A.dtype.numpy) and ord in ("nuc", 2, -2):
        raise RuntimeError(
            hinted(
                f"linalg.matrix_norm: Low precision dtypes not supported. Got {A.dtype.legacy_name}",
                "convert it first: A.float()",
            )
        )


@composite(names=("linalg:matrix_norm",), out=True)
def linalg_matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices in the two dimensions ``dim``: "fro", "nuc", inf, -inf, 1, -1, 2 or -2."""
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    if len(dim) != 2:
        raise RuntimeError(
            hinted(
                f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}", "it names rows, columns"
            )
        )
    if not (ord in ("fro", "nuc") or (not isinstance(ord, str) and (abs(ord) in (1, 2) or math.isinf(ord)))):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    _check_norm_dtype(A, ord)
    A = A if dtype is None else A.to(dtype)
    first, second = (wrap_dim(one, A.ndim) for one in dim)
    if first == second:
        message = f"linalg.matrix_norm: dims must be different. Got ({first}, {second})"
        raise RuntimeError(hinted(message, "one is of rows, the other of columns"))
    if ord == "fro":
        found = linalg_vector_norm(A, 2, (first, second), keepdim)
    elif ord != "nuc" and ord > 0 and 0 in (A.shape[first], A.shape[second]):
        found = A.abs().sum((first, second), keepdim)
    elif ord in ("nuc", 2, -2):
        values = functions.linalg_svdvals(A.movedim((first, second), (-2, -1)))
        found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
        if keepdim:
            for axis in sorted((first, second)):
                found = found.unsqueeze(axis)
    else:
        summed, kept = (first, second) if abs(ord) == 1 else (second, first)
        sums = A.abs().sum(summed, keepdim)
        kept -= not keepdim and kept > summed
        found = sums.amax((kept,), keepdim) if ord > 0 else sums.amin((kept,), keepdim)
    return found


@composite(inplace=True, out=True)
def renorm(input, p, dim, maxnorm):
    """Each slice along ``dim`` scaled down to a p-norm of at most ``maxnorm``."""
    check_number(p)
    check_number(maxnorm)
    p = _order(p, "renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    maxnorm = _order(maxnorm, "renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    _require_numbers(input)
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = wrap_dim(dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != dim)
    input = input.contiguous()
    size = functions.vector_norm_parts(input, p, others, True, None)
    scale = functions.where(size > maxnorm, maxnorm / (size + 1e-7), functions.ones_like(size))
    return input * scale


@composite
def dist(input, other, p=2):
    """The p-norm of the difference."""
    check_number(p)
    difference = input - other
    if not (difference.is_floating_point() or difference.is_complex()):
        raise RuntimeError(
            hinted(
                "norm(): input dtype should be either floating point or complex. Got "
                f"{difference.dtype.legacy_name} instead.",
                "convert the tensors first: x.float()",
            )
        )
    return difference.norm(p)


@composite(names=("torch",), out=True)
def nuclear_norm(input, dim=(-2, -1), keepdim=False):
    """The sum of the singular values of matrices: `linalg.matrix_norm` of order "nuc"."""
    return functions.linalg_matrix_norm(input, "nuc", dim, keepdim)


@composite(names=("torch",), out=True)
def frobenius_norm(input, dim, keepdim=False):
    """The root of the sum of squares over one or two dimensions."""
    return linalg_vector_norm(input, 2, dim, keepdim)
