"""Indexing, gathering and scattering: positions of every entry of the batch, in one call."""

from __future__ import annotations

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ...base.shapes import wrap_dim
from ...ops.table import functions
from ...tensor.interposers import interposed
from .along import moved
from .call import aligned, merged, numbers, positions_of, rule, split

# ---------------------------------------------------------------- gather, scatter


@rule("gather", "scatter_src", "scatter_value", "scatter_add", "scatter_reduce", "scatter_combined")
def gather(call):
    """Every tensor gets the batch; what has no dimensions becomes a row of one."""
    value = call.given("self")
    changes = {name: call.batched(name) for name in call.tensors()}
    changes = {name: each.unsqueeze(1) if each.dim() == 1 else each for name, each in changes.items()}
    found = call.run(**changes, dim=moved(call.given("dim"), value.dim()))
    shape = call.given("index").shape if call.op.name == "gather" else value.shape
    return found.reshape(call.size, *shape)


@rule("placed")
def placed(call):
    """The batch is one more dimension of what the elements are put into."""
    shape = call.given("shape")
    changes = {name: call.batched(name) for name in call.tensors()}
    return call.run(**changes, dim=moved(call.given("dim"), len(shape)), shape=(call.size, *shape))


# ---------------------------------------------------------------- along one dimension


def _shifted(call, index, length, wraps=False):
    """Positions of one entry as positions among those of all, one entry's ``length`` after the other's."""
    low, elements = -length if wraps else 0, numbers(index)
    if elements.size and (elements.min() < low or elements.max() >= length):
        wrong = elements[(elements < low) | (elements >= length)].flat[0]
        raise IndexError(
            hinted(
                f"index {wrong} is out of bounds for dimension 0 with size {length}",
                f"positions are {low} to {length - 1}",
            )
        )
    if wraps:
        index = index.remainder(length) if length else index
    shift = (functions.arange(call.size) * length).reshape(call.size, *[1] * (index.dim() - 1))
    return index + shift.to(index.dtype)


def _slices(call, name, dim):
    """A tensor with the batch folded into dimension ``dim``; without dimensions it has one."""
    tensor = call.batched(name)
    return merged(tensor.unsqueeze(1) if tensor.dim() == 1 else tensor, dim)


@rule("index_select", "index_add", "index_copy", "index_fill", "index_reduce")
def slices(call):
    """Where the positions have the batch, it is folded into the dimension that they count along."""
    if "value" in call.tensors():
        return _filled(call)
    value = call.given("self")
    dim = wrap_dim(call.given("dim"), value.dim())
    moving = [name for name in ("self", "source") if name in call.tensors()]
    if not call.is_batched("index") and all(call.given(name).dim() for name in moving):
        return call.run(**{name: call.batched(name) for name in moving}, dim=dim + 1)
    length = value.shape[dim] if value.dim() else 1
    positions = call.batched("index")
    positions = _shifted(call, positions.reshape(call.size, -1), length, call.op.name == "index_fill").reshape(-1)
    found = call.run(**{name: _slices(call, name, dim) for name in moving}, dim=dim, index=positions)
    found = split(found, dim, call.size)
    return found if value.dim() else found.reshape(call.size)


def _filled(call):
    """`index_fill` by a tensor: where the positions are, it is taken instead."""
    value = call.given("self")
    with interposed(call.level):
        marks = functions.index_fill(functions.zeros_like(value, dtype=dtypes.bool_), *call.values[1:3], True)
        found = functions.where_select(marks, call.given("value").to(value.dtype), value)
    return call.level.batch(found)


@rule("take")
def take(call):
    """Flat positions, negative ones from the end."""
    value = call.given("self")
    if not call.is_batched("self"):
        return call.run()
    rows = call.batched("self").reshape(-1)
    return call.run(self=rows, index=_shifted(call, call.batched("index"), value.numel(), True))


@rule("put")
def put(call):
    """As `take`."""
    value = call.given("self")
    positions = _shifted(call, call.batched("index"), value.numel(), True)
    rows = call.batched("self").reshape(call.size * value.numel())
    return call.run(self=rows, index=positions, source=call.batched("source")).reshape(call.size, *value.shape)


# ---------------------------------------------------------------- tables


@rule("embedding")
def embedding(call):
    """Tables of their own are one long table."""
    weight = call.given("weight")
    if not call.is_batched("weight"):
        return call.run()
    table = call.batched("weight").reshape(call.size * weight.shape[0], weight.shape[1])
    positions = _shifted(call, call.batched("indices"), weight.shape[0])
    found = call.run(weight=table, indices=positions, padding_idx=-1)
    padding = call.given("padding_idx")
    if padding < 0:
        return found
    # The padding row of every table gets no gradient.
    padded = (call.batched("indices") == padding).unsqueeze(-1)
    return functions.where_select(padded, found.detach(), found)


@rule("embedding_gradient")
def embedding_gradient(call):
    """A gradient for each entry's table."""
    rows, padding = call.given("rows"), call.given("padding_idx")
    grad, indices = call.batched("grad"), call.batched("indices")
    if padding >= 0:
        grad = grad.masked_fill((indices == padding).unsqueeze(-1), 0)
    positions = _shifted(call, indices, rows)
    found = call.run(grad=grad, indices=positions, rows=call.size * rows, padding_idx=-1)
    return found.reshape(call.size, rows, grad.shape[-1])


@rule("pooled_rows")
def pooled_rows(call):
    """Tables, rows and bags one entry's after the other's."""
    length, width = call.given("weight").shape
    found, places = call.run(weight=call.batched("weight").reshape(-1, width), **_rows_of_bags(call, length))
    found = found.reshape(call.size, -1, width)
    if call.given("mode") != "max":
        return found, places.reshape(call.size, 0)
    places = places.reshape(found.shape)
    first = (functions.arange(call.size) * length).reshape(call.size, 1, 1)
    return found, functions.where(places < 0, places, places - first)


@rule("pooled_rows_gradient")
def pooled_rows_gradient(call):
    """A gradient for each entry's table."""
    length, width = call.given("length"), call.given("grad").shape[1]
    rows = _rows_of_bags(call, length)
    found = call.run(grad=call.batched("grad").reshape(-1, width), length=call.size * length, **rows)
    return found.reshape(call.size, length, width)


@rule("pooled_rows_products")
def pooled_rows_products(call):
    """One entry's products after the other's."""
    length, width = call.given("weight").shape
    flat = {name: call.batched(name).reshape(-1, width) for name in ("grad", "weight")}
    return call.run(**flat, **_rows_of_bags(call, length)).reshape(call.size, -1)


def _rows_of_bags(call, length):
    """The arguments that say which rows of tables of ``length`` are in which bag, for all entries."""
    shift = (functions.arange(call.size) * call.given("rows").numel()).reshape(call.size, 1)
    changes = {name: (call.batched(name) + shift).reshape(-1) for name in ("starts", "ends")}
    if "factors" in call.tensors():
        changes["factors"] = call.batched("factors").reshape(-1)
    return {"rows": _shifted(call, call.batched("rows"), length).reshape(-1), **changes}


@rule("search_positions")
def search(call):
    """Rows of bounds; one row serves all values of an entry."""
    bounds, values = call.given("sorted_sequence"), call.given("self")
    if bounds.dim() == 1:
        if not call.is_batched("sorted_sequence"):
            return call.run()
        flat = call.batched("self").reshape(call.size, values.numel())
        return call.run(sorted_sequence=call.batched("sorted_sequence"), self=flat).reshape(call.size, *values.shape)
    return call.run(sorted_sequence=call.batched("sorted_sequence"), self=call.batched("self"))


@rule("is_among")
def is_among(call):
    """One row of elements to look among serves all entries; else each entry compares with its own."""
    if not call.is_batched("test_elements"):
        return call.run()
    elements = call.batched("elements")
    own = call.batched("test_elements").reshape(call.size, *[1] * (elements.dim() - 1), -1)
    found = (elements.unsqueeze(-1) == own).any(-1)
    return found.logical_not() if call.given("invert") else found


# ---------------------------------------------------------------- x[indices]


class _Key:
    """The indices of a call as those of the whole batch, and where the dimensions that they make end up.

    ``indices`` serve the value with the batch first (``whole``: it has one), ``to_entries`` brings the batch of a result
    to the front and its dimensions in the order of one entry's, ``from_entries`` does the reverse.
    """

    def __init__(self, call, whole):
        given = call.given("indices")
        places = [d for d, index in enumerate(given) if index is not None]
        self.count = max(given[d].ndim for d in places)
        own = any(call.level.owns(given[d]) for d in places)
        adjacent = places == list(range(places[0], places[-1] + 1))
        self.at = places[0] if adjacent else 0
        indices = [None if index is None else self._batched(call, index, own) for index in given]
        if not whole:
            # The batch is the first of the dimensions that the indices make.
            self.indices, self.batch_at, self.made_at = tuple(indices), self.at, None
        elif own:
            entries = np.arange(call.size).reshape(call.size, *[1] * self.count)
            self.indices = (entries, *indices)
            contiguous = adjacent and places[0] == 0
            self.batch_at, self.made_at = 0, None if contiguous else 1
        else:
            self.indices = (None, *indices)
            # Indices that are not side by side put their dimensions before all others, the batch included.
            self.batch_at, self.made_at = (0 if adjacent else self.count), None

    def _batched(self, call, index, own):
        """One index for the whole batch: an array, or a tensor of a level below."""
        if call.level.owns(index):
            index = positions_of(index.value)
            missing = self.count - (index.ndim - 1)
            return index.reshape((index.shape[0], *[1] * missing, *index.shape[1:]))
        return index.reshape((1, *[1] * (self.count - index.ndim), *index.shape)) if own else index

    def to_entries(self, found):
        """A result with the batch first."""
        if self.batch_at:
            found = found.movedim(self.batch_at, 0)
        if self.made_at is not None and self.at:
            found = _shift(found, self.made_at, self.at + 1, self.count)
        return found

    def from_entries(self, values):
        """Values with the batch first, as the indexed part of the whole has its dimensions."""
        if self.made_at is not None and self.at:
            values = _shift(values, self.at + 1, self.made_at, self.count)
        if self.batch_at:
            values = values.movedim(0, self.batch_at)
        return values


def _shift(tensor, source, target, count):
    """``count`` dimensions from ``source`` on moved to ``target`` on."""
    if not count:
        return tensor
    return tensor.movedim(tuple(range(source, source + count)), tuple(range(target, target + count)))


@rule("index")
def index(call):
    """``x[indices]`` where x, the indices, or both have the batch."""
    whole = call.is_batched("self")
    key = _Key(call, whole)
    value = call.inside[0]
    return key.to_entries(call.again([value, key.indices]))


@rule("index_put_arrays")
def index_put(call):
    """``x[indices] = values`` of a copy."""
    key = _Key(call, True)
    value, values = call.given("self"), call.batched("values")
    given = call.given("indices")
    shape = np.broadcast_shapes(*[tuple(i.shape) for i in given if i is not None])
    rest = value.dim() - sum(i is not None for i in given)
    values = key.from_entries(aligned(values, len(shape) + rest))
    return call.again([call.batched("self"), key.indices, values, call.given("accumulate")])
