"""Views of parts: select, slice, narrow, diagonal, unfold; and writes of a part into a copy of the whole."""

import numpy as np

from ..base.arrays import element_strides
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .moving import filled, write
from .strided import copy_with_gaps, window
from .table import TABLE, VIEW, composite, functions, op


@op("select(Tensor self, int dim, int index) -> Tensor", kind=VIEW)
class select:
    """The part of the tensor at ``index`` of dimension ``dim``, which goes away."""

    def forward(self, dim, index):
        if dim >= 0:
            try:
                return self[(slice(None),) * dim + (index, ...)] if dim else self[index, ...]
            except IndexError:  # refused: what follows says why
                pass
        if self.ndim == 0:
            raise IndexError(hinted("select() cannot be applied to a 0-dim tensor.", "item() reads its value"))
        dim = wrap_dim(dim, self.ndim)
        length = self.shape[dim]
        if not -length <= index < length:
            raise IndexError(
                hinted(
                    f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}",
                    f"valid indices there are {-length} to {length - 1}" if length else "the dimension is empty",
                )
            )
        return self[(slice(None),) * dim + (index, ...)]

    def d_self(grad, shape, dim, index):
        return functions.select_gradient(grad, shape, dim, index)


@op(
    "slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    kind=VIEW,
    names=(),
    node="SliceBackward0",
)
class slice_dim:
    """The elements ``start`` to ``end``, every ``step``-th, of dimension ``dim``."""

    def forward(self, dim, start, end, step):
        if self.ndim == 0:
            raise RuntimeError(hinted("slice() cannot be applied to a 0-dim tensor.", "it has no dimension to cut"))
        if step <= 0:
            raise RuntimeError(hinted("slice step must be positive", "torch.flip(x, [dim]) gives the reverse order"))
        dim = wrap_dim(dim, self.ndim)
        part = self[(slice(None),) * dim + (slice(start, end, step),)]
        if step > 1 and not part.shape[dim]:  # NumPy forgets the step of an empty slice
            strides = element_strides(self)
            return window(self, part.shape, (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]))
        return part

    def d_self(grad, shape, dim, start, end, step):
        return functions.slice_gradient(grad, shape, dim, start, end, step)


def narrow_start(shape, dim, start, length):
    """The place, counted from the front, of ``length`` elements of dimension ``dim`` from ``start`` on; or the error."""
    if not shape:
        raise RuntimeError(hinted("narrow() cannot be applied to a 0-dim tensor.", "it has no dimension to cut"))
    if length < 0:
        raise RuntimeError(hinted("narrow(): length must be non-negative.", f"length is {length}"))
    size = shape[wrap_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise IndexError(
            hinted(
                f"start out of range (expected to be in range of [{-size}, {size}], but got {start})",
                f"dimension {dim} has {size} positions",
            )
        )
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(
            hinted(
                f"start ({start}) + length ({length}) exceeds dimension size ({size}).",
                f"at most {size - start} elements follow position {start}",
            )
        )
    return start


@composite
def narrow(input, dim, start, length):
    """``length`` elements of dimension ``dim`` from ``start`` (a number or a 0-dim tensor) on, as a view.

    >>> import rushlight as torch
    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    if hasattr(start, "_edge") and (start.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError(
            hinted("start must be an 0-dim integral Tensor.", f"it is {start.ndim}-dim, of dtype {start.dtype!r}")
        )
    start = narrow_start(input._array.shape, dim, int(start), length)
    return functions.slice_dim(input, dim, start, start + length, 1)


_FAR = (1 << 31) - 1  # NumPy takes no diagonals beyond


@op("diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", kind=VIEW)
class diagonal:
    """The diagonals of the planes of ``dim1`` and ``dim2``, as a last dimension."""

    def forward(self, offset, dim1, dim2):
        try:
            part = self.diagonal(offset if abs(offset) <= _FAR else 0, dim1, dim2)
        except (ValueError, OverflowError):
            for dim in (dim1, dim2):
                wrap_dim(dim, self.ndim)
            raise RuntimeError(
                hinted(f"diagonal dimensions cannot be identical {dim1}, {dim2}", "a diagonal runs through a plane")
            ) from None
        if part.size and abs(offset) <= _FAR:
            part.flags.writeable = self.flags.writeable
            return part
        strides, dim1, dim2 = element_strides(self), wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
        rows, columns = self.shape[dim1], self.shape[dim2]
        length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
        start = 0 if length == 0 else offset * strides[dim2] if offset >= 0 else -offset * strides[dim1]
        keep = [d for d in range(self.ndim) if d not in (dim1, dim2)]
        return window(
            self,
            [*(self.shape[d] for d in keep), length],
            [*(strides[d] for d in keep), strides[dim1] + strides[dim2]],
            start,
        )

    def d_self(grad, shape, offset, dim1, dim2):
        return functions.diagonal_gradient(grad, shape, offset, dim1, dim2)


@op(
    "unfold(Tensor self, int dimension, int size, int step) -> Tensor",
    kind=VIEW,
    names=("Tensor:unfold",),
    node="UnfoldBackward0",
)
class unfold_dim:
    """All windows of ``size`` elements, ``step`` apart, of dimension ``dimension``; the window is a new last dimension."""

    def forward(self, dimension, size, step):
        dim = wrap_dim(dimension, self.ndim)
        length = self.shape[dim] if self.ndim else 1
        if size < 0:
            raise RuntimeError(hinted(f"size is {size} but must be >= 0", "a window holds 0 or more elements"))
        if size > length:
            raise RuntimeError(
                hinted(
                    f"maximum size for tensor at dimension {dim} is {length} but size is {size}",
                    "a window must fit into the dimension",
                )
            )
        if step <= 0:
            raise RuntimeError(hinted(f"step is {step} but must be > 0", "windows follow each other forwards"))
        strides = element_strides(self)
        if self.ndim == 0:
            return window(self, (size,), (1,))
        shape = (*self.shape[:dim], (length - size) // step + 1, *self.shape[dim + 1 :], size)
        return window(self, shape, (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]))

    def d_self(grad, shape, dimension, size, step):
        return functions.unfold_gradient(grad, shape, dimension, size, step)


@op(
    "unfold_gradient(Tensor self, int[] shape, int dimension, int size, int step) -> Tensor",
    names=(),
    node="UnfoldBackwardBackward0",
)
class unfold_gradient:
    """The gradient of `unfold`: windows that overlap add up."""

    def forward(self, shape, dimension, size, step):
        if not shape:
            return self.reshape(-1)[:1].sum(dtype=self.dtype)
        dim = wrap_dim(dimension, len(shape))
        windows = self.shape[dim]
        if 0 < size <= step:
            return _in_zeros(self, shape, "unfold_dim", dim, size, step)
        found = filled(shape, 0, self.dtype)
        if not windows:
            return found
        # Stretches of windows that do not overlap, added in one call: the windows' last ``step`` places, those before, ...
        values = np.moveaxis(self, -1, dim + 1)
        strides = element_strides(found)
        apart = (*strides[:dim], step * strides[dim], *strides[dim:])
        before = (slice(None),) * (dim + 1)
        for first in reversed(range(0, size, step)):
            places = (*shape[:dim], windows, min(step, size - first), *shape[dim + 1 :])
            part = window(found, places, apart, first * strides[dim])
            part += values[(*before, slice(first, first + step))]
        return found

    def d_self(grad, dimension, size, step):
        return grad.unfold(dimension, size, step)


# ---------------------------------------------------------------- gradients: a part written into zeros


def _in_zeros(grad, shape, name, *arguments):
    """Zeros of ``shape`` in which the part that the view operation ``name`` shows is ``grad``."""
    full = filled(shape, 0, grad.dtype)
    write(TABLE[name].forward(full, *arguments), grad)
    return full


@op("select_backward(Tensor self, int[] shape, int dim, int index) -> Tensor", names=(), node="SelectBackwardBackward0")
class select_gradient:
    """The gradient of `select`: ``self`` at ``index`` of dimension ``dim``, zeros elsewhere."""

    def forward(self, shape, dim, index):
        return _in_zeros(self, shape, "select", dim, index)

    def d_self(grad, dim, index):
        return grad.select(dim, index)


@op(
    "slice_backward(Tensor self, int[] shape, int dim, int? start, int? end, int step) -> Tensor",
    names=(),
    node="SliceBackwardBackward0",
)
class slice_gradient:
    """The gradient of a slice: ``self`` in its place, zeros elsewhere."""

    def forward(self, shape, dim, start, end, step):
        return _in_zeros(self, shape, "slice_dim", dim, start, end, step)

    def d_self(grad, dim, start, end, step):
        return functions.slice_dim(grad, dim, start, end, step)


@op(
    "diagonal_backward(Tensor self, int[] shape, int offset, int dim1, int dim2) -> Tensor",
    names=(),
    node="DiagonalBackwardBackward0",
)
class diagonal_gradient:
    """The gradient of `diagonal`: ``self`` on it, zeros elsewhere."""

    def forward(self, shape, offset, dim1, dim2):
        return _in_zeros(self, shape, "diagonal", offset, dim1, dim2)

    def d_self(grad, offset, dim1, dim2):
        return grad.diagonal(offset, dim1, dim2)


# ---------------------------------------------------------------- a part written into a copy


def _written(array, src, name, *arguments):
    """A copy of ``array`` in which the part that the view operation ``name`` shows is ``src``."""
    result = copy_with_gaps(array)
    part = TABLE[name].forward(result, *arguments)
    if part.shape != src.shape:
        raise RuntimeError(
            hinted(
                f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
                f"{list(part.shape)}",
                "src fills the whole part; expand() it first",
            )
        )
    write(part, src)
    return result


@op("select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor")
class select_scatter:
    """A copy of the tensor with ``src`` at ``index`` of dimension ``dim``."""

    real = "select_scatter"

    def forward(self, src, dim, index):
        return _written(self, src, "select", dim, index)

    def d_self(grad, dim, index, src_shape):
        return grad.select_scatter(functions.zeros(src_shape, dtype=grad.dtype, device=grad.device), dim, index)

    def d_src(grad, dim, index):
        return grad.select(dim, index)


@op("slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
class slice_scatter:
    """A copy of the tensor with ``src`` at the elements ``start`` to ``end``, every ``step``-th, of dimension ``dim``."""

    real = "slice_scatter"

    def forward(self, src, dim, start, end, step):
        return _written(self, src, "slice_dim", dim, start, end, step)

    def d_self(grad, src_shape, dim, start, end, step):
        return grad.slice_scatter(
            functions.zeros(src_shape, dtype=grad.dtype, device=grad.device), dim, start, end, step
        )

    def d_src(grad, dim, start, end, step):
        return functions.slice_dim(grad, dim, start, end, step)


@op("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
class diagonal_scatter:
    """A copy of the tensor with ``src`` on a diagonal."""

    def forward(self, src, offset, dim1, dim2):
        return _written(self, src, "diagonal", offset, dim1, dim2)

    def d_self(grad, src_shape, offset, dim1, dim2):
        return grad.diagonal_scatter(
            functions.zeros(src_shape, dtype=grad.dtype, device=grad.device), offset, dim1, dim2
        )

    def d_src(grad, offset, dim1, dim2):
        return grad.diagonal(offset, dim1, dim2)
