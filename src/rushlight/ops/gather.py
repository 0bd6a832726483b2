"""Elements picked and written along one dimension: gather, take_along_dim, scatter, scatter_add."""

import functools

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import check_number, fitted
from ..base.shapes import broadcast_shapes, wrap_dim
from .index import add_at_key, is_position_dtype, refuse_outside, type_name
from .moving import filled
from .table import composite, functions, op
from .writing import writes


def _checked_axis(self, dim, index, name, whole="self"):
    """The axis of ``dim``, after the checks that gather and scatter share."""
    if not is_position_dtype(index.dtype):
        raise RuntimeError(
            hinted(f"{name}(): Expected dtype int32/int64 for index", f"it holds {type_name(index)}; call .long()")
        )
    axis = wrap_dim(dim, max(self.ndim, 1))
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError(
            hinted(
                f"Index tensor must have the same number of dimensions as {whole} tensor",
                f"the tensor has shape {list(self.shape)}, the index {list(index.shape)}",
            )
        )
    return axis


def _grid(index, axis):
    """For each dimension the positions that ``index`` stands for: itself along ``axis``, its own place elsewhere."""
    return tuple(
        index if d == axis else np.arange(n).reshape((-1,) + (1,) * (index.ndim - d - 1))
        for d, n in enumerate(index.shape)
    )


def flat_positions(index, axis, shape):
    """The flat position in a contiguous array of ``shape`` of each element that ``index`` stands for."""
    if index.ndim == 1:
        return index
    step, offsets = (_flat_offsets_kept if index.size <= _FEW else _flat_offsets)(index.shape, axis, shape)
    return index + offsets if step == 1 else index * step + offsets


def _flat_offsets(lengths, axis, shape):
    """How many elements of ``shape`` lie between neighbours along ``axis``, and before each place in the other dimensions."""
    own = offsets = 0
    step = 1
    for d in range(len(shape) - 1, -1, -1):
        if d == axis:
            own = step
        else:
            places = np.arange(lengths[d]) * step
            offsets = places.reshape((-1,) + (1,) * (len(shape) - d - 1)) + offsets
        step *= shape[d]
    return own, offsets


_FEW = 4096  # positions: of so few, what is known of their shapes is kept
_flat_offsets_kept = functools.lru_cache(256)(_flat_offsets)


def _at_least_1d(array):
    return array if array.ndim else array.reshape(1)


@op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
class gather:
    """Along ``dim``, the elements at ``index``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``.

    Args:
        index: int64 or int32, of as many dimensions as the tensor; the result has its shape.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """

    keeps = ("self",)
    by_rows = True

    def forward(self, dim, index, sparse_grad):
        if index.size == 0:
            wrap_dim(dim, max(self.ndim, 1))
            return np.empty(index.shape, self.dtype)
        axis = _checked_axis(self, dim, index, "gather", "input")
        source, where = _at_least_1d(self), _at_least_1d(index)
        for d in range(where.ndim):
            if d != axis and where.shape[d] > source.shape[d]:
                raise RuntimeError(
                    hinted(
                        f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than "
                        f"self {list(self.shape)} apart from dimension {axis}",
                        "slice the index, or expand() the tensor",
                    )
                )
        refuse_outside(where, source.shape[axis], axis)
        if source.flags.c_contiguous:
            return source.take(flat_positions(where, axis, source.shape)).reshape(index.shape)
        return source[_grid(where, axis)].reshape(index.shape)

    def d_self(grad, shape, dim, index):
        return functions.placed(grad, dim, index, shape) if shape else grad.sum().reshape(shape)


@op("placed(Tensor self, int dim, Tensor index, int[] shape) -> Tensor", names=(), node="ScatterAddBackward0")
class placed:
    """Zeros of ``shape``, which has dimensions, and the elements of ``self`` added where `gather` would have taken them.

    ``self`` and ``index`` may lack dimension ``dim``: it has length 1 then.
    """

    def forward(self, dim, index, shape):
        axis, result = wrap_dim(dim, len(shape)), filled(shape, 0, self.dtype)
        if not index.size:  # of any dtype
            return result
        places = flat_positions(with_axis(index, axis, len(shape)), axis, shape)
        add_at_key(result.reshape(-1), places.reshape(-1), self.reshape(-1))
        return result

    def d_self(grad, dim, index, shape):
        if index.ndim == len(shape):
            return grad.gather(dim, index)
        return grad.gather(dim, index.unsqueeze(dim)).squeeze(dim)


def with_axis(array, axis, ndim):
    """``array`` with a dimension of length 1 at ``axis`` where it has fewer than ``ndim``."""
    shape = array.shape
    return array if len(shape) == ndim else array.reshape(*shape[:axis], 1, *shape[axis:])


@composite(out=True)
def take_along_dim(input, indices, dim=None):
    """The elements at ``indices`` along ``dim``, with broadcasting of the other dimensions; flat where ``dim`` is None.

    >>> import rushlight as torch
    >>> x = torch.tensor([[3, 1, 2]])
    >>> x.take_along_dim(x.argsort(1), 1)
    tensor([[1, 2, 3]])
    """
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            hinted(
                f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy_name}",
                "convert them with .long()",
            )
        )
    if input.ndim != indices.ndim:
        raise RuntimeError(
            hinted(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices",
                "unsqueeze() adds dimensions",
            )
        )
    dim = wrap_dim(dim, input.ndim)
    others = broadcast_shapes(*[tuple(1 if d == dim else n for d, n in enumerate(t.shape)) for t in (input, indices)])
    resized = [t.expand((*others[:dim], t.shape[dim], *others[dim + 1 :])) for t in (input, indices)]
    return resized[0].gather(dim, resized[1].remainder(input.shape[dim]))


def _check_source(self, axis, index, src, name):
    """Refuse an index that reaches beyond the tensor or beyond the values to write."""
    over = False
    for d, (n, m) in enumerate(zip(index.shape, self.shape)):
        if n > m and d != axis:
            over = True
    given = src.__class__ is np.ndarray
    if not over and (not given or index.shape == src.shape):
        return
    first = (
        f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {axis}"
    )
    if not given:
        raise RuntimeError(hinted(first, "slice the index"))
    if src.ndim != index.ndim:
        if name == "scatter_add" and src.ndim and src.ndim <= axis:
            wrap_dim(axis, src.ndim)
        raise RuntimeError(
            hinted(
                "Index tensor must have the same number of dimensions as src tensor",
                f"index has shape {list(index.shape)}, src {list(src.shape)}",
            )
        )
    if over or any(n > m for n, m in zip(index.shape, src.shape)):
        raise RuntimeError(
            hinted(f"{first} and to be no larger size than src {list(src.shape)}", "slice the index, or expand() src")
        )


def scatter_place(self, dim, index, src, name):
    """Where ``index`` points and what goes there: (array to write into, NumPy key, values); None for nothing at all."""
    if isinstance(src, np.ndarray) and src.dtype != self.dtype:
        raise RuntimeError(
            hinted(
                f"{name}(): Expected self.dtype to be equal to src.dtype",
                f"self holds {type_name(self)}, src {type_name(src)}",
            )
        )
    if index.size == 0:
        wrap_dim(dim, self.ndim)
        return None
    axis = _checked_axis(self, dim, index, name)
    target, where = _at_least_1d(self), _at_least_1d(index)
    source = _at_least_1d(src) if isinstance(src, np.ndarray) and index.ndim <= 1 else src
    _check_source(target, axis, where, source, name)
    refuse_outside(where, target.shape[axis], axis)
    values = source
    if isinstance(src, np.ndarray) and source.shape != where.shape:
        values = source[tuple([slice(0, n) for n in where.shape])]
    if target.flags.c_contiguous:
        return target.reshape(-1), flat_positions(where, axis, target.shape), values
    return target, _grid(where, axis), values


@writes(
    "scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    names=(),
    inplace_names=(),
    node="ScatterBackward0",
)
class scatter_src:
    """`scatter` of a tensor."""

    by_rows = True

    def write(self, dim, index, src):
        place = scatter_place(self, dim, index, src, "scatter")
        if place is not None:
            target, key, values = place
            target[key] = values

    def d_self(grad, dim, index):
        return functions.scatter_value(grad, dim, index, 0)

    def d_src(grad, dim, index):
        return grad.gather(dim, index)


@writes(
    "scatter(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    names=(),
    inplace_names=(),
    node="ScatterBackward1",
)
class scatter_value:
    """`scatter` of one number."""

    by_rows = True

    def write(self, dim, index, value):
        number = fitted(self.dtype, value)
        place = scatter_place(self, dim, index, None, "scatter")
        if place is not None:
            target, key, _ = place
            target[key] = number

    def d_self(grad, dim, index):
        return functions.scatter_value(grad, dim, index, 0)


def _scatter(input, dim, index, src, value, reduce, suffix):
    given = value if src is None else src
    if given is None:
        raise TypeError(
            hinted(
                f"scatter{suffix}() received an invalid combination of arguments - got (int, Tensor), but expected one "
                "of:",
                "the call takes (dim, index, src) with a tensor, or (dim, index, value) with a number",
            )
        )
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(
                hinted("reduce argument must be either add or multiply.", "scatter_reduce() knows more reductions")
            )
        if hasattr(given, "_edge"):
            source = given
        else:
            check_number(given)
            source = functions.wrap(np.full(tuple(index.shape), fitted(input.dtype.numpy, given)))
        return getattr(functions, "scatter_combined" + suffix)(input, dim, index, source, reduce)
    kind = "scatter_src" if hasattr(given, "_edge") else "scatter_value"
    return getattr(functions, kind + suffix)(input, dim, index, given)


@writes(
    "scatter(Tensor self, int dim, Tensor index, Tensor src, str reduce) -> Tensor",
    names=(),
    inplace_names=(),
    node="NotImplemented",
)
class scatter_combined:
    """`scatter` with ``reduce``, "add" or "multiply": the older form of `scatter_reduce`, without a derivative."""

    by_rows = True
    no_derivative = RuntimeError, "derivative for aten::scatter is not implemented"

    def write(self, dim, index, src, reduce):
        place = scatter_place(self, dim, index, src, "scatter")
        if place is not None:
            target, key, values = place
            add_at_key(target, key, values) if reduce == "add" else np.multiply.at(target, key, values)


@composite(out=True)
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy of the tensor with ``src`` (a tensor or a number) written at ``index`` along ``dim``.

    ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; of values for one place, any may win.

    >>> import rushlight as torch
    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[0], [2]]), 1.0)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    return _scatter(input, dim, index, src, value, reduce, "")


@composite(names=("Tensor",))
def scatter_(input, dim, index, src=None, *, value=None, reduce=None):
    """In-place form of `scatter`."""
    return _scatter(input, dim, index, src, value, reduce, "_")


@writes("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor")
class scatter_add:
    """A copy of the tensor with ``src`` added at ``index`` along ``dim``; repeated places add up."""

    by_rows = True

    def write(self, dim, index, src):
        place = scatter_place(self, dim, index, src, "scatter")
        if place is not None:
            target, key, values = place
            if target.ndim == 1 and key.__class__ is not tuple:
                add_at_key(target, key.reshape(-1), values.reshape(-1))
            else:
                add_at_key(target, key, values)

    def d_self(grad):
        return grad

    def d_src(grad, dim, index):
        return grad.gather(dim, index)
