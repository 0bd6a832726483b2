"""Positions as data: where elements are not zero, flat positions, class numbers as rows."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .index import check_index
from .table import composite, functions, op


@op("nonzero(Tensor self) -> Tensor", names=())
class nonzero_rows:
    """The positions of elements that are not zero, one row each."""

    def forward(self):
        return np.ascontiguousarray(np.argwhere(self)).astype(np.int64, copy=False)


@composite
def nonzero(input, *, as_tuple=False):
    """The positions of nonzero elements: an N x ndim tensor, or a tuple with one 1-dim tensor for each dimension."""
    if as_tuple:
        found = functions.nonzero_rows(input if input.ndim else input.reshape(1))
        return tuple(found.t().unbind(0)) if found.shape[1] else ()
    return functions.nonzero_rows(input)


@composite
def argwhere(input):
    """The positions of nonzero elements, one row each."""
    return functions.nonzero_rows(input)


@op("count_nonzero(Tensor self, int[]? dim=None) -> Tensor")
class count_nonzero:
    """How many elements are not zero, in all or along ``dim``."""

    def forward(self, dim):
        axes = None if dim is None else tuple(wrap_dim(d, self.ndim) for d in dim)
        return np.asarray(np.count_nonzero(self, axis=axes) if self.ndim else int(self != 0), np.int64)


@op("take(Tensor self, Tensor index) -> Tensor")
class take:
    """The elements at flat positions ``index``."""

    def forward(self, index):
        if index.dtype != np.int64:
            raise RuntimeError(
                f"take(): Expected a long tensor for index, but got {dtypes.from_numpy(index.dtype).legacy_name}"
            )
        if self.size == 0 and index.size:
            raise IndexError("take(): tried to take from an empty tensor")
        if index.size and (int(index.min()) < -self.size or int(index.max()) >= self.size):
            raise IndexError(
                "out of range: tried to access index "
                + str(int(index.max()))
                + " on a tensor of "
                + str(self.size)
                + " elements."
            )
        return np.asarray(self.reshape(-1)[index])

    def d_self(grad, self, index):
        return grad.new_zeros(self.shape).put_(index, grad, True)


@op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", inplace=True)
class put:
    """A copy of the tensor with ``source`` at the flat positions ``index``, added where ``accumulate``."""

    def forward(self, index, source, accumulate):
        result = self.copy(order="C")
        flat = result.reshape(-1)
        if index.size != source.size:
            raise RuntimeError(
                f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.size}, index.numel() = {index.size}"
            )
        check_index(index, self.size)
        if accumulate:
            np.add.at(flat, index.reshape(-1), source.reshape(-1))
        else:
            flat[index.reshape(-1)] = source.reshape(-1)
        return result

    def d_self(grad, index, source, accumulate):
        return grad if accumulate else grad.put(index, functions.zeros(source.shape, dtype=grad.dtype))

    def d_source(grad, index, source):
        return grad.take(index).reshape(source.shape)


@composite(names=("nn.functional",))
def one_hot(tensor, num_classes=-1):
    """Class numbers (int64) as rows with a single 1: shape ``(*, num_classes)``."""
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return functions.zeros((*tensor.shape, num_classes), dtype=dtypes.int64)
    if tensor.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = tensor.max().item()
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError(
            hinted(
                "Class values must be smaller than num_classes.",
                f"the largest class is {largest}, num_classes is {num_classes}",
            )
        )
    return functions.scatter_value(
        functions.zeros((*tensor.shape, num_classes), dtype=dtypes.int64), -1, tensor.unsqueeze(-1), 1
    )
