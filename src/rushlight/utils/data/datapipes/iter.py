"""Steps over streams: ``torch.utils.data.datapipes.iter``."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ....base.errors import hinted
from ..collate import default_collate
from .pipes import IterDataPipe, checked_function, functional_datapipe, named

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Filter",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "ShardingFilter",
    "UnBatcher",
    "Zipper",
]


class _Step(IterDataPipe):
    """A step over one other pipe."""

    def __init__(self, datapipe: Any) -> None:
        self.datapipe = datapipe


class _Same(_Step):
    """A step over one other pipe with as many elements."""

    def __len__(self) -> int:
        return len(self.datapipe)


class IterableWrapper(IterDataPipe):
    """A pipe over an iterable, of which each iteration takes a deep copy unless ``deepcopy`` is False."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)


@functional_datapipe("map")
class Mapper(_Same):
    """``fn`` of each element; of its item ``input_col`` (several where that is a list), put into ``output_col`` or back."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        super().__init__(datapipe)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.fn, self.input_col, self.output_col = checked_function(fn), input_col, output_col

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._applied(data)

    def _applied(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, (list, tuple))
        found = self.fn(*[data[column] for column in self.input_col]) if several else self.fn(data[self.input_col])
        changed = list(data) if isinstance(data, tuple) else copy.copy(data)
        if self.output_col == -1:
            changed.append(found)
        elif self.output_col is not None:
            changed[self.output_col] = found
        elif several:
            changed[self.input_col[0]] = found
            for column in sorted(self.input_col[1:], reverse=True):
                del changed[column]
        else:
            changed[self.input_col] = found
        return tuple(changed) if isinstance(data, tuple) else changed


@functional_datapipe("collate")
class Collator(_Same):
    """Each element, a list of samples, as one batch, by ``collate_fn``."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        super().__init__(datapipe)
        self.fn = checked_function(conversion if collate_fn is None else collate_fn)

    def __iter__(self) -> Iterator[Any]:
        return map(self.fn, self.datapipe)


@functional_datapipe("filter")
class Filter(_Step):
    """The elements, or their items ``input_col``, of which ``filter_fn`` is true. It has no length."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None) -> None:
        super().__init__(datapipe)
        self.filter_fn, self.input_col = checked_function(filter_fn), input_col

    def __iter__(self) -> Iterator[Any]:
        column = self.input_col
        columns = column if isinstance(column, (list, tuple)) else [column]
        for data in self.datapipe:
            kept = self.filter_fn(*[data if each is None else data[each] for each in columns])
            if not isinstance(kept, bool):
                raise ValueError(
                    hinted(
                        f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(kept)}",
                        "compare, or call bool()",
                    )
                )
            if kept:
                yield data


@functional_datapipe("batch")
class Batcher(_Step):
    """Lists of ``batch_size`` elements, without an incomplete last one where ``drop_last``."""

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Callable[..., Any] = list
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__(datapipe)
        self.batch_size, self.drop_last, self.wrapper_class = batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        source = iter(self.datapipe)
        while batch := list(itertools.islice(source, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + bool(rest and not self.drop_last)


@functional_datapipe("unbatch")
class UnBatcher(_Step):
    """The elements of lists, ``unbatch_level`` lists deep, all of them at level -1."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        super().__init__(datapipe)
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._opened(element, self.unbatch_level)

    def _opened(self, element: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(element, list)):
            yield element
        elif isinstance(element, list):
            for item in element:
                yield from self._opened(item, level if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


class _Several(IterDataPipe):
    """A step over several other pipes."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError(hinted("Expected at least one DataPipe, but got nothing", "give pipes to join"))
        self.datapipes = datapipes


@functional_datapipe("concat")
class Concater(_Several):
    """The elements of one pipe after those of another."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(_Several):
    """Tuples with an element of each pipe, as long as all have one."""

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("mux")
class Multiplexer(_Several):
    """An element of each pipe in turn, as long as all have one."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(zip(*self.datapipes))

    def __len__(self) -> int:
        return min(map(len, self.datapipes)) * len(self.datapipes)


@functional_datapipe("sharding_filter")
class ShardingFilter(_Step):
    """Every n-th element, of n shards that `apply_sharding` sets: all elements before."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        super().__init__(source_datapipe)
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Keep the elements of one of several shards."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.datapipe, self.instance_id, None, self.num_of_instances)

    def __len__(self) -> int:
        return len(range(self.instance_id, len(self.datapipe), self.num_of_instances))


named(globals(), IterDataPipe)
