"""Vector and matrix norms."""

import math

import numpy as np

from ..base.errors import hinted
from ..base.shapes import wrap_dim, wrap_dims
from .reduce import axes_of, spread
from .table import composite, functions, is_half, op


@op(
    "vector_norm(Tensor self, float ord, int[]? dim, bool keepdim, dtype? dtype) -> Tensor",
    names=(),
    node="LinalgVectorNormBackward0",
)
class vector_norm_parts:
    """The p-norm of the elements over ``dim``."""

    def forward(self, ord, dim, keepdim, dtype):
        x = self if dtype is None else self.astype(dtype.numpy)
        kind = x.dtype if x.dtype.kind != "c" else np.real(np.zeros(0, x.dtype)).dtype
        wide = x.astype(np.float32) if is_half(x.dtype) else x
        axes = axes_of(dim, x.ndim) or None
        size = np.abs(wide)
        if not x.ndim:
            found = size if ord != 0 else (size != 0).astype(size.dtype)
        elif math.isinf(ord):
            if size.size == 0 and any(x.shape[a] == 0 for a in axes_of(dim, x.ndim)):
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not have an identity"
                )
            found = (np.maximum if ord > 0 else np.minimum).reduce(size, axis=axes, keepdims=keepdim)
        elif ord == 0:
            found = np.count_nonzero(size, axis=axes, keepdims=keepdim)
        elif ord == 1:
            found = np.add.reduce(size, axis=axes, keepdims=keepdim)
        elif ord == 2:
            found = np.sqrt(np.add.reduce(np.multiply(size, size, out=size), axis=axes, keepdims=keepdim))
        else:
            found = np.power(np.add.reduce(np.power(size, ord), axis=axes, keepdims=keepdim), 1 / ord)
        return np.asarray(found).astype(kind, copy=False)

    def d_self(grad, self, ord, dim, keepdim, dtype, result):
        shape = self.shape
        x = self if dtype is None else self.to(dtype)
        grad, norm = (spread(v, dim, keepdim, shape) for v in (grad, result))
        if ord == 0:
            return functions.zeros_like(self)
        if ord == 1:
            return grad * x.sgn()
        if math.isinf(ord):
            hit = x.abs() == norm
            count = hit.sum(dim, True) if shape else 1
            return grad * x.sgn() * hit / count
        if ord == 2:
            return grad * (x / norm).masked_fill(norm == 0, 0)
        size = x.abs()
        scaled = x * size.pow(ord - 2) if ord > 2 else x.sgn() * size.pow(ord - 1).masked_fill(size == 0, 0)
        return grad * scaled * norm.pow(1 - ord).masked_fill(norm == 0, 0)


@composite(names=("linalg:vector_norm",))
def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The p-norm of the elements, seen as a vector, over ``dim`` or all."""
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(
            hinted(
                f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.legacy_name}",
                "convert the tensor first: x.float()",
            )
        )
    dims = (dim,) if isinstance(dim, int) else dim
    found = functions.vector_norm_parts(x, float(ord), dims, keepdim, dtype)
    return found if out is None else functions.write_outputs(found, out, "vector_norm")


@composite
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of a vector or matrix, or of all elements: "fro", "nuc", or a number p.

    >>> import rushlight as torch
    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            hinted(
                f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.legacy_name}",
                "convert the tensor first: x.float()",
            )
        )
    if p == "nuc":
        dims = tuple(range(input.ndim)) if dim is None else (dim if isinstance(dim, (tuple, list)) else (dim,))
        return functions.linalg_matrix_norm(input, "nuc", dims, keepdim, dtype=dtype)
    dims = (dim,) if isinstance(dim, int) else dim
    found = functions.vector_norm_parts(input, 2.0 if p in ("fro", None) else float(p), dims, keepdim, dtype)
    return found if out is None else functions.write_outputs(found, out, "norm")


@composite(names=("linalg:norm",))
def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """A vector norm, or with two dims (or a matrix and an ``ord``) a matrix norm."""
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is not None and ((dims is None and A.ndim == 2) or (dims is not None and len(dims) == 2)):
        return functions.linalg_matrix_norm(A, ord, dims or (-2, -1), keepdim, dtype=dtype)
    if ord is not None and dims is None and A.ndim != 1:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    found = linalg_vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype)
    return found if out is None else functions.write_outputs(found, out, "norm")


@composite(names=("linalg:matrix_norm",))
def linalg_matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of matrices in the two dimensions ``dim``: "fro", "nuc", inf, -inf, 1, -1, 2 or -2."""
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    A = A if dtype is None else A.to(dtype)
    first, second = wrap_dims(dim, A.ndim)
    if ord == "fro":
        found = linalg_vector_norm(A, 2, (first, second), keepdim)
    elif ord in ("nuc", 2, -2):
        values = functions.linalg_svdvals(A.movedim((first, second), (-2, -1)))
        found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
        if keepdim:
            for axis in sorted((first, second)):
                found = found.unsqueeze(axis)
    elif abs(ord) == 1 or math.isinf(ord):
        summed, kept = (first, second) if abs(ord) == 1 else (second, first)
        sums = A.abs().sum(summed, True)
        found = sums.amax((kept,), True) if ord > 0 else sums.amin((kept,), True)
        if not keepdim:
            found = found.squeeze((first, second))
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return found if out is None else functions.write_outputs(found, out, "matrix_norm")


@composite(inplace=True)
def renorm(input, p, dim, maxnorm):
    """Each slice along ``dim`` scaled down to a p-norm of at most ``maxnorm``."""
    dim = wrap_dim(dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != dim)
    size = functions.vector_norm_parts(input, float(p), others, True, None)
    scale = functions.where(size > maxnorm, maxnorm / (size + 1e-7), functions.ones_like(size))
    return input * scale


@composite
def dist(input, other, p=2):
    """The p-norm of the difference."""
    return (input - other).norm(p)


@composite(names=("torch",))
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between all pairs of rows: (..., P, M) and (..., R, M) give (..., P, R)."""
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    return functions.vector_norm_parts(x1.unsqueeze(-2) - x2.unsqueeze(-3), float(p), (-1,), False, None)


@composite(names=("torch", "nn.functional"))
def pdist(input, p=2.0):
    """The p-norm distances between all pairs of rows, the upper triangle as a vector."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    rows, columns = functions.triu_indices(input.shape[0], input.shape[0], 1).unbind(0)
    return functions.vector_norm_parts(input[rows] - input[columns], float(p), (-1,), False, None)
