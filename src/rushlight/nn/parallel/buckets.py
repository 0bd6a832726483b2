"""Buckets: gradients of several parameters that a communication hook of DistributedDataParallel sees as one flat tensor."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, repeat

from ...autograd import no_grad
from ...base.device import sparse_coo
from ...ops.table import functions


class GradBucket:
    """The gradients of some parameters, one after the other in ``buffer()``; or ``sparse``, the only one of its bucket, as it is."""

    def __init__(self, index, is_last, parameters, sparse=None):
        self._index, self._is_last, self._parameters = index, is_last, parameters
        self._views = None  # of the buffer, once they were asked for
        if sparse is not None:
            self._buffer, self._views = sparse, []  # a sparse tensor has none
            return
        self._sizes = [parameter.numel() for parameter in parameters]
        first = parameters[0]
        self._buffer = functions.zeros(sum(self._sizes), dtype=first.dtype, device=first.device)

    def index(self) -> int:
        """The place among all buckets; 0 is ready first."""
        return self._index

    def is_last(self) -> bool:
        """Whether it is the last one that is ready."""
        return self._is_last

    def buffer(self):
        """The gradients as one flat tensor."""
        return self._buffer

    def set_buffer(self, buffer) -> None:
        """Put another flat tensor in the place of ``buffer()``."""
        self._buffer, self._views = buffer, [] if buffer.layout is sparse_coo else None

    def gradients(self):
        """The gradients, views of ``buffer()``."""
        if self._views is None:
            with no_grad():
                parts = self._buffer.split(self._sizes)
                self._views = [part.view(each.shape) for part, each in zip(parts, self._parameters)]
        return list(self._views)

    def parameters(self):
        """The parameters whose gradients these are."""
        return list(self._parameters)


def assign(parameters, limits, order=None, apart=()):
    """Places of ``parameters`` in lists, each closed once it has ``limits`` bytes; those of one list have one dtype.

    The last limit holds for all further lists. ``apart``: places that have lists of their own. ``order``: how the places are gone through; without it, from the first to the
    last, and the lists come back in the order in which backward makes gradients: the last parameters first.
    """
    closed, opened, sizes = [], defaultdict(list), defaultdict(int)
    left = defaultdict(lambda: chain(limits, repeat(limits[-1])))
    bounds = {}
    for place in range(len(parameters)) if order is None else order:
        if place in apart:
            closed.append([place])
            continue
        parameter = parameters[place]
        kind = parameter.dtype
        bounds.setdefault(kind, None)
        if bounds[kind] is None:
            bounds[kind] = next(left[kind])
        opened[kind].append(place)
        sizes[kind] += parameter.numel() * parameter.element_size()
        if sizes[kind] >= bounds[kind]:
            closed.append(opened.pop(kind))
            sizes[kind], bounds[kind] = 0, None
    closed += opened.values()
    return closed if order is not None else sorted(closed, key=min, reverse=True)
