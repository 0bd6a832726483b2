"""The array of a tensor inside ``vmap``: it has a shape, a dtype and strides, and refuses to show elements."""

from __future__ import annotations

import numpy as np

from ..base.errors import hinted
from ..base.lazy import LazyArray, bits_of, plain, rebuilt

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
    "rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug "
    "report."
)
# What NumPy's functions may ask of it: only its shape, dtype and place in memory count for them.
_SHAPES = frozenset(
    (np.empty_like, np.zeros_like, np.ones_like, np.full_like, np.shape, np.ndim, np.shares_memory, np.may_share_memory)
)
_READING = (
    "item", "tolist", "tobytes", "min", "max", "sum", "mean", "prod", "any", "all", "argmin", "argmax", "astype", "copy", "nonzero",
    "sort", "argsort", "round", "clip", "cumsum", "cumprod", "take", "dot", "searchsorted", "__bool__", "__int__", "__float__",
    "__complex__", "__index__", "__getitem__", "__setitem__", "__contains__", "__iter__",
)  # fmt: skip


def refuse_to_read(*_, **__):
    """PyTorch's error for asking a tensor inside vmap for its elements."""
    raise RuntimeError(
        hinted(
            ITEM,
            "inside vmap a tensor stands for a whole batch: use torch.where in place of if, operations in place of numbers",
        )
    )


class EntryArray(np.ndarray):
    """A view of the first entry of a batch that only tells its shape, dtype and strides."""

    __array_ufunc__ = refuse_to_read

    def __array_function__(self, function, types, args, kwargs):
        if function not in _SHAPES:
            refuse_to_read()
        plain = [shown(each) if isinstance(each, EntryArray) else each for each in args]
        return function(*plain, **kwargs)

    def __repr__(self):
        return f"<one entry of a batch: shape {self.shape}, {self.dtype}>"


for _name in _READING:
    setattr(EntryArray, _name, refuse_to_read)


def entry_of(batch):
    """The `EntryArray` of an array with the batch first."""
    first = np.ndarray.__getitem__(batch, (0, ...)) if len(batch) else np.empty(batch.shape[1:], batch.dtype)
    return first.view(EntryArray)


def shown(array):
    """The first entry as an array that can be read."""
    if array.__class__ is LazyArray:
        return plain(rebuilt(shown(array.stored), *bits_of(array)))
    return array.view(np.ndarray) if array.__class__ is EntryArray else array
