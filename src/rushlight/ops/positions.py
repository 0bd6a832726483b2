"""Positions as data: where elements are not zero, flat positions, class numbers as rows."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.lazy import NO_NUMBERS, is_meta
from ..base.shapes import contiguous_strides, wrap_dims
from .index import first_outside, type_name
from .table import composite, functions, op
from .writing import writes


@op("nonzero(Tensor self) -> Tensor", names=())
class nonzero_rows:
    """The positions of elements that are not zero, one row each."""

    def forward(self):
        if not self.ndim:
            return np.empty((int(self != 0), 0), np.int64)
        return np.array(self.nonzero(), np.int64).T  # dimension by dimension in memory, as PyTorch's


@composite(short="nonzero_rows")
def nonzero(input, *, as_tuple=False, out=None):
    """The positions of nonzero elements: an N x ndim tensor, or a tuple with one 1-dim tensor for each dimension.

    >>> import rushlight as torch
    >>> torch.tensor([0, 5, 0, 7]).nonzero()
    tensor([[1],
            [3]])
    """
    if as_tuple:
        found = functions.nonzero_rows(input if input.ndim else input.reshape(1))
        return tuple(found.t().unbind(0))
    return functions.nonzero_rows(input) if out is None else functions.nonzero_rows(input, out=out)


@composite(short="nonzero_rows")
def argwhere(input):
    """The positions of nonzero elements, one row each."""
    return functions.nonzero_rows(input)


@op("nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor")
class nonzero_static:
    """The first ``size`` positions of nonzero elements, one row each; missing rows hold ``fill_value``."""

    def forward(self, size, fill_value):
        if size < 0:
            raise RuntimeError(
                hinted(
                    "nonzero_static: 'size' must be an non-negative integer", "it is the number of rows of the result"
                )
            )
        found = np.argwhere(self)[:size]
        result = np.full((size, self.ndim), fill_value, np.int64)
        result[: len(found)] = found
        return result


@op("count_nonzero(Tensor self, int[]? dim=None) -> Tensor")
class count_nonzero:
    """How many elements are not zero, in all or along ``dim``."""

    by_rows = True

    def forward(self, dim):
        axes = wrap_dims(dim, self.ndim) if dim else None
        return np.asarray(np.count_nonzero(self, axis=axes) if self.ndim else int(self != 0), np.int64)


# ---------------------------------------------------------------- flat positions


def _refuse_flat(index, size):
    bad = first_outside(index, -size, size)
    if bad is not None:
        raise IndexError(
            hinted(
                f"out of range: tried to access index {bad} on a tensor of {size} elements.",
                f"flat positions are {-size} to {size - 1}",
            )
        )


@op("take(Tensor self, Tensor index) -> Tensor")
class take:
    """The elements at the flat positions ``index``.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2], [3, 4]]).take(torch.tensor([0, 3]))
    tensor([1, 4])
    """

    keeps = ("self",)

    def forward(self, index):
        if index.dtype != np.int64:
            raise RuntimeError(
                hinted(
                    f"take(): Expected a long tensor for index, but got {type_name(index)}", "convert it with .long()"
                )
            )
        if self.size == 0 and index.size:
            raise IndexError(hinted("take(): tried to take from an empty tensor", f"its shape is {list(self.shape)}"))
        try:
            return np.asarray(self.take(index))
        except IndexError:
            _refuse_flat(index, self.size)
            raise

    def d_self(grad, shape, index):
        return grad.new_zeros(shape).put_(index, grad, True)


@writes("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
class put:
    """A copy of the tensor with ``source`` at the flat positions ``index``, added where ``accumulate``."""

    def write(self, index, source, accumulate):
        if index.dtype != np.int64:
            raise RuntimeError(
                hinted(
                    f"put_(): Expected a long tensor for index, but got {type_name(index)}", "convert it with .long()"
                )
            )
        if source.dtype != self.dtype:
            raise RuntimeError(
                hinted(
                    "put_(): self and source expected to have the same dtype, but got self.dtype = "
                    f"{type_name(self)} and source.dtype = {type_name(source)}",
                    "convert the source with .to()",
                )
            )
        if index.size != source.size:
            raise IndexError(
                hinted(
                    "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                    f"{source.size}, index.numel() = {index.size}",
                    "each position takes one element",
                )
            )
        if self.size == 0 and index.size:
            raise IndexError(
                hinted("put_(): Tried to put elements into an empty tensor", f"its shape is {list(self.shape)}")
            )
        _refuse_flat(index, self.size)
        positions, values = index.reshape(-1), source.reshape(-1)
        if self.flags.c_contiguous:
            target, key = self.reshape(-1), positions
        else:
            target, key = self, np.unravel_index(positions % max(self.size, 1), self.shape)
        if accumulate:
            np.add.at(target, key, values)
        else:
            target[key] = values

    def d_self(grad, index, source_shape, accumulate):
        return (
            grad if accumulate else grad.put(index, functions.zeros(source_shape, dtype=grad.dtype, device=grad.device))
        )

    def d_source(grad, index, source):
        return grad.take(index).reshape(source.shape)


@composite(names=("torch",))
def unravel_index(indices, shape):
    """Flat positions as positions in a tensor of ``shape``: one tensor for each dimension.

    >>> import rushlight as torch
    >>> torch.unravel_index(torch.tensor([4, 5]), (2, 3))
    (tensor([1, 1]), tensor([1, 2]))
    """
    if indices.dtype.is_floating_point or indices.is_complex() or indices.dtype is dtypes.bool_:
        raise TypeError(
            hinted(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}", "positions are whole numbers")
        )
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(
            hinted(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}", "for example (2, 3)")
        )
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for length in shape:
        if not isinstance(length, int):
            raise TypeError(
                hinted(
                    f"expected 'shape' sequence to only contain ints, but got {type(length)}", "lengths are integers"
                )
            )
    if any(length < 0 for length in shape):
        raise ValueError(hinted(f"'shape' cannot have negative values, but got {shape}", "lengths are 0 or more"))
    if not shape:
        return ()
    steps = functions.tensor(contiguous_strides(shape))
    return (indices.unsqueeze(-1).div(steps, rounding_mode="floor") % functions.tensor(shape)).unbind(-1)


@composite(names=("nn.functional",))
def one_hot(tensor, num_classes=-1):
    """Class numbers (int64) as rows with a single 1: shape ``(*, num_classes)``; -1: the largest number plus 1.

    >>> import rushlight as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError(
            hinted("one_hot is only applicable to index tensor of type LongTensor.", f"this one holds {tensor.dtype!r}")
        )
    shape = tuple(tensor.shape)
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError(hinted("Can not infer total number of classes from empty tensor.", "name num_classes"))
        return functions.zeros((*shape, num_classes), dtype=dtypes.int64)
    if num_classes == -1 and functions.is_mapped(tensor):
        raise RuntimeError(
            hinted(
                "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.",
                "the entries of the batch may hold different classes, and their results need one shape",
            )
        )
    if num_classes == -1 and is_meta(tensor._array):
        raise RuntimeError(hinted("Tensor.item() cannot be called on meta tensors", NO_NUMBERS))
    numbers = functions.elements_of(tensor)
    if first_outside(numbers, 0, num_classes) is None:
        return functions.one_hot_rows(tensor, num_classes)
    smallest, largest = int(numbers.min()), int(numbers.max())
    if smallest < 0:
        raise RuntimeError(hinted("Class values must be non-negative.", f"the smallest is {smallest}"))
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError(
            hinted(
                "Class values must be smaller than num_classes.",
                f"the largest class is {largest}, num_classes is {num_classes}",
            )
        )
    return functions.one_hot_rows(tensor, num_classes)


@op("one_hot_rows(Tensor self, int num_classes) -> Tensor", names=())
class one_hot_rows:
    """`one_hot` of numbers that all have a class."""

    def forward(self, num_classes):
        found = np.zeros((*self.shape, num_classes), np.int64)
        found.reshape(-1)[np.arange(self.size) * num_classes + self.reshape(-1)] = 1
        return found
