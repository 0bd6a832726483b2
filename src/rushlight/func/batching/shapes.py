"""Views and copies under other shapes, which their arguments give in full: the batch is put before them."""

from __future__ import annotations

from ...base.shapes import infer_view_shape
from ...ops.table import TABLE, VIEW
from ...tensor.compute import schema_of
from ...tensor.dispatch import run
from ...tensor.interposers import interposed
from .call import aligned, each, rule
from .one_by_one import one_by_one


@rule("view_shape", "reshape_alias", "reshape_copy", "unsafe_view")
def reshaped(call):
    """The shape is completed for one entry."""
    size = infer_view_shape(call.given("size"), call.values[0].numel())
    return call.run(size=(call.size, *size))


@rule("expand")
def expand(call):
    """Dimensions that the entries lack are put in behind the batch."""
    value, size = call.values[0], call.given("size")
    if len(size) < value.dim() or -1 in size[: len(size) - value.dim()]:
        call.check_entry()
    return call.run(self=spread(call.inside[0], len(size)), size=(call.size, *size))


def spread(tensor, ndim):
    """A batch of tensors viewed with ``ndim`` dimensions behind the batch."""
    for _ in range(ndim - tensor.dim() + 1):
        tensor = tensor.unsqueeze(1)
    return tensor


@rule("repeat")
def repeat(call):
    """As `expand`."""
    value, repeats = call.values[0], call.given("repeats")
    if len(repeats) < value.dim():
        call.check_entry()
    return call.run(self=aligned(call.inside[0], len(repeats)), repeats=(1, *repeats))


@rule("as_strided")
def as_strided(call):
    """The window of each entry lies in the batch's memory as that of the first one does."""
    value, stride = call.inside[0], call.given("stride")
    offset = call.given("storage_offset")
    call.check_entry()
    return call.run(size=(call.size, *call.given("size")), stride=(value.stride(0), *stride), storage_offset=offset)


@rule("as_strided_scatter")
def as_strided_scatter(call):
    """As `as_strided`, of a copy."""
    value = call.batched("self") if call.is_batched("self") else call.batched("self").clone()
    return call.run(
        self=value, src=call.batched("src"), size=(call.size, *call.given("size")),
        stride=(value.stride(0), *call.given("stride")),
    )  # fmt: skip


@rule("as_strided_gradient")
def as_strided_gradient(call):
    """The entries' memories lie one after the other, too far apart to overlap."""
    size, stride, offset = call.given("size"), call.given("stride"), call.given("offset")
    base_size, base_stride = call.given("base_size"), call.given("base_stride")
    reach = [sum((n - 1) * s for n, s in zip(*pair) if n) for pair in ((size, stride), (base_size, base_stride))]
    span = sum(reach) + abs(offset) + 1
    return call.run(
        size=(call.size, *size), stride=(span, *stride), base_size=(call.size, *base_size),
        base_stride=(span, *base_stride),
    )  # fmt: skip


@rule("select_gradient", "slice_gradient", "diagonal_gradient", "unfold_gradient")
def into_shape(call):
    """Gradients of views along dimensions, with the shape that they came from."""
    shape = call.given("shape")
    if not shape:
        return one_by_one(call)
    changes = {
        name: call.given(name) % len(shape) + 1
        for name in ("dim", "dim1", "dim2", "dimension")
        if name in call.schema.index
    }
    return call.run(shape=(call.size, *shape), **changes)


@rule("pad_by_places_gradient")
def pad_gradient(call):
    """The shape gets the batch; the padding counts from the last dimension."""
    return call.run(shape=(call.size, *call.given("shape")))


def copies(name):
    """The rule of the copying form of the view ``name``: the view, copied."""

    def copied(call):
        with interposed(call.level):
            found = call.level.unwrap(run(TABLE[name], schema_of(TABLE[name]), call.values))
        return each(found, lambda part: part.clone())

    return copied


_RENAMED = {"split_copy": "split_even", "slice_copy": "slice_dim", "unfold_copy": "unfold_dim"}
for _name in [*TABLE]:
    _view = TABLE.get(_RENAMED.get(_name, _name.removesuffix("_copy")))
    if _name.endswith("_copy") and _view is not None and _view.kind == VIEW:
        rule(_name)(copies(_view.name))
