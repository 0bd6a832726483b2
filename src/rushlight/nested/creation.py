"""Nested tensors from lists, from packed values, and from parts of rectangles: the functions of ``torch.nested``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..base.device import jagged as jagged_layout
from ..base.device import strided
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor, wrap
from ..tensor.creation import as_tensor
from ..tensor.dispatch import link_view
from .checks import expect_dense
from .jagged import is_jagged, jagged
from .structures import Jagged, structure_of

if TYPE_CHECKING:
    from ..base.device import DeviceLike
    from ..base.device import layout as Layout
    from ..base.dtypes import DType

_VIEW = "NestedViewFromJaggedBackward0"


def _unsupported(layout, what="tensors"):
    message = f"Specified layout is unsupported for nested {what}: {layout}"
    return RuntimeError(hinted(message, "torch.jagged and torch.strided are"))


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor, a leaf, with the elements of a list: tensors, or lists of numbers, of one number of dimensions.

    Args:
        dtype: that of the result; by default that of the first element.
        layout: ``torch.jagged``, packed with one ragged dimension, or ``torch.strided`` (the default, as in PyTorch), where
            elements may differ in every dimension.
        device: that of the result.
        requires_grad: whether gradients are computed for it.
        pin_memory: without effect.

    RuntimeError for elements of different numbers of dimensions or dtypes, or, in the jagged layout, that differ in more than one.
    Follows ``torch.nested.nested_tensor``.

    >>> import rushlight as torch
    >>> x = torch.nested.nested_tensor([torch.ones(2, 4), torch.zeros(3, 4)], layout=torch.jagged)
    >>> x.dim(), x.size(0), x.size(2), x.offsets()
    (3, 2, 4, tensor([0, 2, 5]))
    >>> [part.shape for part in x]
    [torch.Size([2, 4]), torch.Size([3, 4])]
    """
    if layout is None or layout is strided:
        return functions.nested_from_lists(tensor_list, dtype, device, requires_grad)
    if layout is not jagged_layout:
        raise _unsupported(layout)
    tensors = [each if isinstance(each, Tensor) else as_tensor(each) for each in tensor_list]
    with no_grad():
        made = jagged_from_list(tensors, dtype, device)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any, dtype: DType | None = None, device: DeviceLike = None, layout: Layout | None = None
) -> Tensor:
    """A nested tensor of a list of tensors, or of the parts of a tensor along its first dimension; gradients flow to them.

    Args:
        ts: tensors of one number of dimensions, a dense tensor, or a nested one, which is returned as it is.
        dtype, device: those of the result; by default of the first tensor.
        layout: ``torch.jagged`` or ``torch.strided`` (the default).

    TypeError for anything but tensors; RuntimeError as in `nested_tensor`, or to convert a nested tensor to another layout.
    Follows ``torch.nested.as_nested_tensor``.

    >>> import rushlight as torch
    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    >>> x = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
    >>> (x * 3).values().sum().backward()
    >>> a.grad
    tensor([3., 3.])
    """
    is_list = isinstance(ts, (list, tuple)) and all(isinstance(each, Tensor) for each in ts)
    if not isinstance(ts, Tensor) and not is_list:
        message = "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors "
        raise TypeError(hinted(message, f"it is a {type(ts).__name__}"))
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            message = "as_nested_tensor(): Expected tensor argument to have dim() > 1"
            raise RuntimeError(hinted(message, "the first dimension is the batch"))
        if ts.is_nested:
            if layout is not ts.layout:
                message = "as_nested_tensor(): Converting between nested tensor layouts is not supported"
                raise RuntimeError(hinted(message, "as_nested_tensor(list(x.unbind()), layout=...)"))
            return ts.to(device=device, dtype=dtype)
    if layout is None or layout is strided:
        return functions.nested_from_tensors(ts, dtype, device)
    if layout is not jagged_layout:
        raise _unsupported(layout)
    if isinstance(ts, Tensor):
        values = ts.contiguous().flatten(0, 1).to(device=device, dtype=dtype)
        return jagged(structure_of([ts.shape[1]] * ts.shape[0]), values, _VIEW)
    return jagged_from_list(list(ts), dtype, device)


def _refuse_lists(tensors):
    """Refuse lists of which the jagged layout makes nothing."""
    if not tensors:
        message = "Cannot construct a nested tensor from an empty tensor list"
        raise RuntimeError(hinted(message, "the list needs a tensor at least"))
    for what in ("dtype", "device", "dim"):
        found = {each.dim() if what == "dim" else getattr(each, what) for each in tensors}
        if len(found) > 1:
            place = f"be on the same {what}" if what == "device" else f"have the same {what}"
            message = f"When constructing a nested tensor, all tensors in list must {place}"
            raise RuntimeError(hinted(message, f"there are {', '.join(sorted(map(str, found)))}"))
    if not tensors[0].dim():
        message = "Cannot construct a nested tensor from a list of zero-dim tensors"
        raise RuntimeError(hinted(message, "each needs a dimension that may differ"))


def _ragged_dim(tensors):
    """The one dimension, counted with the batch, in which tensors differ; 1 where they do not."""
    shapes = [tuple(each.shape) for each in tensors]
    ragged = [dim for dim, lengths in enumerate(zip(*shapes), 1) if len(set(lengths)) > 1]
    if len(ragged) > 1:
        message = (
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only "
            "allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
        raise RuntimeError(hinted(message, f"they differ in dimensions {[dim - 1 for dim in ragged]}"))
    return ragged[0] if ragged else 1


def jagged_from_list(tensors, dtype=None, device=None):
    """The jagged tensor of a list of tensors; gradients flow to them."""
    _refuse_lists(tensors)
    ragged = _ragged_dim(tensors)
    values = functions.cat(tensors, ragged - 1).to(device=device, dtype=dtype)
    return jagged(structure_of([each.shape[ragged - 1] for each in tensors], ragged), values, _VIEW)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A jagged tensor that looks into ``values``, in which the elements of the batch lie one after the other.

    Args:
        values: (total, *), or with the packed dimension at ``jagged_dim - 1``.
        offsets: (batch + 1), where each element begins, and where the last one ends.
        lengths: (batch), the length of each element; together with ``offsets`` there may be holes between them.
        jagged_dim: the ragged dimension of the result, from 1 on (1).
        min_seqlen, max_seqlen: the least and the largest length, where they are known: `to_padded_tensor` pads to the latter.

    RuntimeError without offsets and lengths, ValueError for ``jagged_dim`` below 1. Follows
    ``torch.nested.nested_tensor_from_jagged``.

    >>> import rushlight as torch
    >>> x = torch.nested.nested_tensor_from_jagged(torch.arange(10).view(5, 2), torch.tensor([0, 2, 5]))
    >>> x.unbind()[0]
    tensor([[0, 1],
            [2, 3]])
    """
    if offsets is None:
        if lengths is None:
            message = "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            raise RuntimeError(hinted(message, "offsets say where each element begins"))
        offsets, lengths = functions.pad(lengths.cumsum(0), (1, 0)), None
    if jagged_dim is None:
        jagged_dim = 1
    elif jagged_dim < 1:
        message = f"Expected jagged_dim >=1, but got {jagged_dim}."
        raise ValueError(hinted(message, "dimension 0 is the batch"))
    return viewed(values, offsets, lengths, jagged_dim, min_seqlen, max_seqlen)


def viewed(values, offsets, lengths=None, ragged=1, least=None, most=None):
    """The jagged tensor of packed values and a tensor of offsets, after PyTorch's refusals."""
    expect_dense(
        values,
        "_nested_view_from_jagged_default(values: t, offsets: t, dummy: jt_all, lengths: t?, ragged_idx: any?, min_seqlen: t?, "
        "max_seqlen: t?)",
        "values",
    )
    for wrong, message in (
        (offsets.ndim != 1, f"offsets must be 1D, but got {offsets.ndim}D"),
        (
            lengths is not None and offsets.shape[0] - 1 != len(lengths),
            f"offsets and lengths batch sizes must match: offsets.shape[0] - 1 = {offsets.shape[0] - 1}, "
            f"lengths.shape[0] = {None if lengths is None else len(lengths)}",
        ),
    ):
        if wrong:
            raise AssertionError(hinted(message, "offsets have one number more than the batch has elements"))
    known = {"min": least, "max": most}
    extremes = {which: value for which, value in known.items() if value is not None}
    made = jagged(Jagged(offsets, lengths, ragged, extremes), values, _VIEW)
    link_view(values, made, made._edge)
    return made


def narrow(tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: Layout = strided) -> Tensor:
    """Of each element of the batch ``tensor`` the ``length`` positions from ``start`` on.

    Args:
        tensor: dense; a jagged result looks into its memory.
        dim: 1 in the jagged layout, 0 in the strided one.
        start, length: numbers, or, in the jagged layout, tensors (batch) with one for each element.
        layout: of the result (``torch.strided``).

    RuntimeError for another ``dim``. Follows ``torch.nested.narrow``.

    >>> import rushlight as torch
    >>> x = torch.nested.narrow(torch.arange(6).view(2, 3), 1, 0, torch.tensor([1, 2]), layout=torch.jagged)
    >>> x.unbind()
    (tensor([0]), tensor([3, 4]))
    """
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, Tensor)):
            raise RuntimeError(hinted(f"{name} must be an integer or a tensor", f"it is a {type(value).__name__}"))
    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            message = "start and length must be integers for the strided layout NT impl"
            raise RuntimeError(hinted(message, "layout=torch.jagged takes tensors"))
        return functions.narrow(functions.nested_from_tensors(list(tensor.unbind()), None, None), dim, start, length)
    if layout is not jagged_layout:
        raise _unsupported(layout, "narrow")
    if dim != 1:
        raise RuntimeError(hinted("jagged layout only supports dim=1", f"dim is {dim}"))
    return _narrowed(tensor, _numbers(start, tensor.shape[0]), _numbers(length, tensor.shape[0]))


def _numbers(value, batch):
    """One number for each element of the batch, as an array."""
    array = np.atleast_1d(np.asarray(value._array if isinstance(value, Tensor) else value, np.int64))
    if array.ndim != 1 or array.size not in (1, batch):
        message = (
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that broadcast to "
            "input.shape[0]"
        )
        raise RuntimeError(hinted(message, f"one has the shape {list(array.shape)}, the batch {batch} elements"))
    return np.broadcast_to(array, (batch,)).copy()


def _narrowed(tensor, starts, counts):
    batch, steps = tensor.shape[:2]
    begins = starts + steps * np.arange(batch)
    offsets = np.append(begins, begins[-1] + counts[-1])
    values = tensor.view(-1, *tensor.shape[2:])
    extremes = int(counts.min()), int(counts.max())
    without_holes = (counts[1:-1] == steps).all() and (np.diff(offsets[1:-2]) == steps).all()
    if without_holes and offsets[0] + counts[0] == steps:
        first, last = int(offsets[0]), int(offsets[-1])
        return viewed(values[first:last], wrap(offsets - first), None, 1, *extremes)
    return viewed(values, wrap(offsets), wrap(counts), 1, *extremes)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The jagged tensor of the elements of each row of ``tensor`` for which ``mask``, which is broadcast, is True.

    Rows lie along the last dimension; both tensors are dense. Follows ``torch.nested.masked_select``.

    >>> import rushlight as torch
    >>> x = torch.arange(6).view(2, 3)
    >>> torch.nested.masked_select(x, x % 2 == 0).unbind()
    (tensor([0, 2]), tensor([4]))
    """
    for name, value, punctuation in (("tensor", tensor, ","), ("mask", mask, ",")):
        if value.layout is not strided:
            given = "given" if name == "tensor" else "given:"
            message = f"torch.nested.masked_select requires a strided {name}{punctuation} {given} {value.layout}"
            raise RuntimeError(hinted(message, "x.masked_select(mask) takes nested tensors"))
    values = tensor.masked_select(mask)
    counts = mask.expand(tensor.shape).sum(tensor.ndim - 1).view(-1)
    return viewed(values, functions.pad(counts.cumsum(0), (1, 0)))


def to_padded_tensor(
    input: Tensor, padding: float, output_size: tuple[int, ...] | None = None, out: Tensor | None = None
) -> Tensor:
    """The dense tensor (batch, length, ...) of a nested one, with ``padding`` behind the elements that are shorter.

    Args:
        padding: the number that fills.
        output_size: the shape of the result; by default each dimension is as long as its longest element.
        out: not taken.

    Follows ``torch.nested.to_padded_tensor``.

    >>> import rushlight as torch
    >>> x = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    >>> torch.nested.to_padded_tensor(x, 0)
    tensor([[1, 2],
            [3, 0]])
    """
    if out is not None:
        raise NotImplementedError(hinted("to_padded_tensor(out=...) is not in this version", "use its result"))
    if is_jagged(input):
        return functions.jagged_padded(input, padding, output_size)
    return functions.strided_padded(input, padding, output_size)
