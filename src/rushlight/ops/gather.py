"""Elements picked and written along one dimension: gather, take_along_dim, scatter, scatter_add."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes, wrap_dim
from .index import refuse_outside
from .table import composite, functions, op


def _along(self, dim, index, name):
    """Check a gather or scatter index, and give (axis, positions for NumPy's advanced indexing)."""
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError(
            hinted(
                "Index tensor must have the same number of dimensions as input tensor"
                if name == "gather"
                else "Index tensor must have the same number of dimensions as self tensor",
                f"input has shape {list(self.shape)}, index {list(index.shape)}",
            )
        )
    return wrap_dim(dim, max(self.ndim, 1))


def _grid(index, axis):
    """For each dimension the positions that ``index`` stands for: itself along ``axis``, its own place elsewhere."""
    return tuple(
        index if d == axis else np.arange(n).reshape((-1,) + (1,) * (index.ndim - d - 1))
        for d, n in enumerate(index.shape)
    )


@op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
class gather:
    """Along ``dim``, the elements at ``index``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``."""

    def forward(self, dim, index, sparse_grad):
        if index.size == 0:
            return np.empty(index.shape, self.dtype)
        axis = _along(self, dim, index, "gather")
        source, where = (self if self.ndim else self.reshape(1)), (index if index.ndim else index.reshape(1))
        for d in range(where.ndim):
            if d != axis and where.shape[d] > source.shape[d]:
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                    f"{list(self.shape)} apart from dimension {axis}"
                )
        refuse_outside(where, source.shape[axis], axis)
        return source[_grid(where, axis)].reshape(index.shape)

    def d_self(grad, self, dim, index):
        return grad.new_zeros(self.shape).scatter_add(dim, index, grad)


@composite(names=("torch", "Tensor"))
def take_along_dim(input, indices, dim=None):
    """The elements at ``indices`` along ``dim``, with broadcasting of the other dimensions; flat where ``dim`` is None."""
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy_name}"
        )
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} dimensions for "
            f"input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap_dim(dim, input.ndim)
    others = broadcast_shapes(*[tuple(1 if d == dim else n for d, n in enumerate(t.shape)) for t in (input, indices)])
    resized = [t.expand((*others[:dim], t.shape[dim], *others[dim + 1 :])) for t in (input, indices)]
    return resized[0].gather(dim, resized[1])


def scatter_into(self, dim, index, src, name):
    """A copy of self, the NumPy key that ``index`` means there, and the values of ``src`` that it takes."""
    result = self.copy(order="C")
    if index.size == 0:
        return result, None, None
    axis = _along(self, dim, index, name)
    flat, where = (result if self.ndim else result.reshape(1)), (index if index.ndim else index.reshape(1))
    refuse_outside(where, flat.shape[axis], axis)
    if isinstance(src, np.ndarray) and src.ndim == 0 and index.ndim:
        values = src
    elif isinstance(src, np.ndarray):
        source = src if src.ndim else src.reshape(1)
        if any(n > m for n, m in zip(where.shape, source.shape)) or any(
            n > m for d, (n, m) in enumerate(zip(where.shape, flat.shape)) if d != axis
        ):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {axis} and to "
                f"be no larger size than src {list(src.shape)}"
            )
        values = source[tuple(slice(0, n) for n in where.shape)]
    else:
        values = src
    return result, (flat, _grid(where, axis)), values


def same_dtype(self, src, name):
    if isinstance(src, np.ndarray) and src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


@op(
    "scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", names=(), node="ScatterBackward0", inplace=True
)
class scatter_src:
    """`scatter` of a tensor."""

    def forward(self, dim, index, src):
        same_dtype(self, src, "scatter")
        result, place, values = scatter_into(self, dim, index, src, "scatter")
        if place is not None:
            place[0][place[1]] = values
        return result

    def d_self(grad, dim, index):
        return functions.scatter_value(grad, dim, index, 0)

    def d_src(grad, dim, index, src):
        return padded(grad.gather(dim, index), src)


@op(
    "scatter(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    names=(),
    node="ScatterBackward1",
    inplace=True,
)
class scatter_value:
    """`scatter` of one number."""

    def forward(self, dim, index, value):
        result, place, _ = scatter_into(self, dim, index, value, "scatter")
        if place is not None:
            place[0][place[1]] = value
        return result

    def d_self(grad, dim, index):
        return functions.scatter_value(grad, dim, index, 0)


def padded(grad, src):
    """A gradient for the used corner of ``src``, with zeros for the rest."""
    if grad.shape == src.shape:
        return grad
    full = grad.new_zeros(src.shape)
    full[tuple(slice(0, n) for n in grad.shape)] = grad
    return full


def _scatter(input, dim, index, src=None, *, value=None, reduce=None, inplace=False):
    suffix = "_" if inplace else ""
    if src is None:
        src = value
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = src if hasattr(src, "_edge") else input.new_full(index.shape, src)
        if reduce == "add":
            return getattr(functions, "scatter_add" + suffix)(input, dim, index, source)
        return getattr(functions, "scatter_reduce" + suffix)(input, dim, index, source, "prod", include_self=True)
    kind = "scatter_src" if hasattr(src, "_edge") else "scatter_value"
    return getattr(functions, kind + suffix)(input, dim, index, src)


@composite
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy of the tensor with ``src`` (a tensor or a number) written at ``index`` along ``dim``.

    ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; of values for one place, any may win.
    """
    return _scatter(input, dim, index, src, value=value, reduce=reduce)


@composite(names=("Tensor",))
def scatter_(input, dim, index, src=None, *, value=None, reduce=None):
    """In-place form of `scatter`."""
    return _scatter(input, dim, index, src, value=value, reduce=reduce, inplace=True)


@op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", inplace=True)
class scatter_add:
    """A copy of the tensor with ``src`` added at ``index`` along ``dim``; repeated places add up."""

    def forward(self, dim, index, src):
        same_dtype(self, src, "scatter")
        result, place, values = scatter_into(self, dim, index, src, "scatter_add")
        if place is not None:
            np.add.at(place[0], place[1], values)
        return result

    def d_self(grad):
        return grad

    def d_src(grad, dim, index, src):
        return padded(grad.gather(dim, index), src)
