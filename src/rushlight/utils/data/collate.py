"""Collation: samples to a batch (default_collate), arrays to tensors (default_convert)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.device import strided
from ...base.errors import hinted
from ...ops.join import packed
from ...ops.table import functions
from ...tensor import Tensor, wrap

array_of, edge_of = attrgetter("_array"), attrgetter("_edge")
_ONLY_TENSORS, _ONLY_ARRAYS, _ONLY_FLOATS, _ONLY_INTS = {Tensor}, {np.ndarray}, {float}, {int}
_INT64_END = 2**63
_NOT_COLLATED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _not_collated(found, kind):
    return TypeError(
        hinted(
            _NOT_COLLATED.format(found),
            f"the samples hold a {kind}; leave it out of the sample, or pass DataLoader a collate_fn that handles it",
        )
    )


def collate_tensor_fn(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Tensors of one shape, stacked along a new first dimension."""
    if set(map(type, batch)) == _ONLY_TENSORS and not any(map(edge_of, batch)):
        stacked = packed(list(map(array_of, batch)))  # only bytes are moved
        if stacked is not None:
            return wrap(stacked)
    if batch[0].layout is not strided:
        message = (
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom collate_fn "
            "to handle them appropriately."
        )
        raise RuntimeError(hinted(message, "torch.stack() joins them"))
    return functions.stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """NumPy arrays of one shape, as one Tensor; arrays of text or objects raise TypeError."""
    if batch[0].dtype.kind in "SUO":
        raise _not_collated(batch[0].dtype, f"NumPy array of {batch[0].dtype}")
    if (collate_fn_map or {}).get(Tensor) is collate_tensor_fn and set(map(type, batch)) == _ONLY_ARRAYS:
        stacked = packed(batch)
        if stacked is not None:
            return functions.from_numpy(stacked)
    return collate([functions.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """NumPy numbers, as a Tensor of the first one's dtype."""
    return functions.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Python floats, as a float64 Tensor."""
    if set(map(type, batch)) == _ONLY_FLOATS:
        return wrap(np.array(batch, np.float64))
    return functions.tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Python ints or bools, as an int64 or bool Tensor."""
    if set(map(type, batch)) == _ONLY_INTS and min(batch) >= -_INT64_END and max(batch) < _INT64_END:
        return wrap(np.array(batch, np.int64))
    return functions.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Text and bytes stay as they are."""
    return batch


# Functions by type (or tuple of types); PyTorch documents it as the place where a program adds its own.
default_collate_fn_map = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_ORIGINAL_MAP = dict(default_collate_fn_map)


def collates_plainly(collate_fn: Callable[[list[Any]], Any] | None) -> Any:
    """Whether ``collate_fn`` is default_collate with the functions it came with: batched reads may replace it."""
    return collate_fn is default_collate and default_collate_fn_map == _ORIGINAL_MAP


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """One batch from a list of samples, by the functions in ``collate_fn_map``; containers go member by member.

    Mappings and sequences keep their type where an instance can be filled with the collated members; tuples become
    lists, namedtuples stay namedtuples. Raises TypeError for a type that it does not know, RuntimeError for sequences
    of unequal length.

    >>> from rushlight.utils.data.collate import collate
    >>> collate(["a", "b"], collate_fn_map={str: lambda batch, *, collate_fn_map=None: "".join(batch)})
    'ab'
    """
    sample = batch[0]
    kind = type(sample)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(sample, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        columns = {key: collate([one[key] for one in batch], collate_fn_map=collate_fn_map) for key in sample}
        return _like_mapping(sample, columns)
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(sample, Sequence):
        sizes = set(map(len, batch))
        if len(sizes) > 1:
            raise RuntimeError(
                hinted(
                    "each element in list of batch should be of equal size",
                    f"the samples hold {', '.join(map(str, sorted(sizes)))} members",
                )
            )
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(sample, tuple) else _like_sequence(sample, columns)
    raise _not_collated(kind, kind.__name__)


def default_collate(batch: Any) -> Any:
    """A batch from a list of samples (``torch.utils.data.default_collate``): the DataLoader's default ``collate_fn``.

    Tensors and arrays are stacked; numbers become a tensor (floats in float64); strings and bytes stay in a list;
    mappings, namedtuples, tuples (as lists) and sequences are collated member by member.

    >>> import rushlight as torch
    >>> torch.utils.data.default_collate([{"x": 1.5, "y": "a"}, {"x": 2.5, "y": "b"}])
    {'x': tensor([1.5000, 2.5000], dtype=torch.float64), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers in ``data`` as Tensors (sharing memory), everything else as it is.

    The DataLoader's default ``collate_fn`` when ``batch_size=None`` (``torch.utils.data.default_convert``).

    >>> import rushlight as torch, numpy as np
    >>> torch.utils.data.default_convert((np.arange(2), 3, "a"))
    [tensor([0, 1]), 3, 'a']
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if isinstance(data, np.ndarray) and data.dtype.kind in "SUO":
            return data
        return functions.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(member) for member in data))
    if isinstance(data, tuple):
        return [default_convert(member) for member in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(member) for member in data])
    return data


def _like_mapping(example, columns):
    """``columns`` in a mapping of ``example``'s type, or a dict where that type cannot take them."""
    try:
        if isinstance(example, MutableMapping):
            mapping = copy.copy(example)  # keeps what the type holds beside its items
            mapping.update(columns)
            return mapping
        return type(example)(columns)
    except TypeError:
        return columns


def _like_sequence(example, columns):
    """``columns`` in a sequence of ``example``'s type, or a list where that type cannot take them."""
    try:
        if isinstance(example, MutableSequence):
            sequence = copy.copy(example)
            for position, column in enumerate(columns):
                sequence[position] = column
            return sequence
        return type(example)(columns)
    except TypeError:
        return columns
