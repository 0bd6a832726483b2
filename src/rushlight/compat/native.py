"""Functions that PyTorch's ``torch`` has for the layers below ``nn.functional``, with their numbers for options; made from ours."""

from __future__ import annotations

from ..autograd.anomaly import set_detect_anomaly
from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.interception import seen_whole
from ..tensor.refusals import guarded

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_BAG_MODES = ("sum", "mean", "max")
_REDUCTIONS = {"sum": 0.0, "mean": 0.0, "max": float("-inf"), "min": float("inf"), "prod": 1.0}


def _native(function):
    """A function as ``torch`` has it: wrong arguments are refused in PyTorch's words, classes of one's own see the whole call."""
    made = guarded(function, "torch", function.__name__.removeprefix("numbered_"))
    for own in ("__module__", "__name__", "__qualname__"):
        setattr(made, own, getattr(function, own))
    return seen_whole(made)


@_native
def affine_grid_generator(theta, size, align_corners):
    """`nn.functional.affine_grid`.

    >>> import rushlight as torch
    >>> torch.affine_grid_generator(torch.eye(2, 3)[None], [1, 1, 1, 1], False)
    tensor([[[[0., 0.]]]])
    """
    return functions.affine_grid(theta, size, align_corners=align_corners)


def _sampled(input, grid, interpolation_mode, padding_mode, align_corners):
    options = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return functions.grid_sample(input, grid, *options, align_corners=bool(align_corners))


@_native
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample`; modes 0, 1, 2 are bilinear, nearest, bicubic, paddings zeros, border, reflection."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@_native
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of images."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@_native
def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of volumes."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@_native
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The convolution, or its transpose, in as many dimensions as the weight has behind its channels.

    >>> import rushlight as torch
    >>> ones = torch.ones(1, 1, 2, 2)
    >>> torch.convolution(ones, ones, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    tensor([[[[4.]]]])
    """
    count = weight.ndim - 2
    if transposed:
        call = getattr(functions, f"conv_transpose{count}d")
        return call(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(functions, f"conv{count}d")(input, weight, bias, stride, padding, dilation, groups)


@_native
def numbered_embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None,
):  # fmt: skip
    """`nn.functional.embedding_bag` of one-dimensional ``indices``; modes 0, 1, 2 are sum, mean, max.

    Returns the pooled rows and three tensors that PyTorch's backward needs: the bag of each index, the bags' sizes, and for
    "max" the rows that were largest. For "sum" they hold nothing.
    """
    name = _BAG_MODES[mode]
    found = functions.embedding_bag(
        indices, weight, offsets, None, 2, scale_grad_by_freq, name, sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip
    bags = found.shape[0]
    if name == "sum":
        nothing = [offsets.new_zeros(bags, dtype=indices.dtype) for _ in range(2)]
        return found, indices.new_empty(0), *nothing
    ends = functions.cat([offsets[1:], offsets.new_tensor([len(indices)])])[:bags]
    sizes = (ends - offsets[:bags]).to(indices.dtype)
    owners = functions.repeat_interleave(functions.arange(bags, dtype=indices.dtype), sizes)
    if name == "mean":
        return found, owners, sizes, sizes.clone()
    return found, owners, sizes, _largest(weight.detach(), indices, offsets[:bags], sizes, found)


embedding_bag = numbered_embedding_bag  # `nn.functional.embedding_bag` is another


def _largest(weight, indices, offsets, sizes, found):
    """The row that each element of a bag's maximum comes from; 0 for bags of nothing."""
    rows = indices.new_zeros(found.shape)
    for bag, (start, size) in enumerate(zip(offsets.tolist(), sizes.tolist())):
        if size:
            own = indices[start : start + size]
            rows[bag] = own[weight[own].argmax(0)]
    return rows


@_native
def norm_except_dim(v, pow=2, dim=0):
    """The norms of the slices of a tensor along ``dim``, in its number of dimensions; -1: the norm of all."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [each for each in range(v.ndim) if each != dim % v.ndim], keepdim=True)


@_native
def native_dropout(input, p, train):
    """`nn.functional.dropout`, with the mask of what was kept. ``train=None`` counts as True."""
    if train is False:
        return input * 1, functions.ones_like(input, dtype=dtypes.bool_)
    found, factors = functions.dropout_pair(input, p, True)
    return found, factors != 0


def _written(name):
    """The in-place form of a dropout."""

    def call(input, p, train):
        return input.copy_(getattr(functions, name)(input, p, train))

    call.__name__ = call.__qualname__ = name + "_"
    call.__doc__ = f"`{name}` written into the tensor."
    return _native(call)


dropout_, alpha_dropout_ = _written("dropout"), _written("alpha_dropout")
feature_dropout_, feature_alpha_dropout_ = _written("feature_dropout"), _written("feature_alpha_dropout")


@_native
def detach_(input):
    """``input.detach_()``."""
    return input.detach_()


@_native
def as_strided_(input, size, stride, storage_offset=None):
    """``input.as_strided_(size, stride, storage_offset)``."""
    return input.as_strided_(size, stride, storage_offset)


@_native
def get_device(input):
    """The number of the device that a tensor is on: -1, the CPU."""
    return input.get_device()


@_native
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Segments of ``data`` along ``axis`` reduced by "sum", "mean", "max", "min" or "prod".

    Args:
        lengths: how long the segments are: integers of shape ``(*data.shape[:axis], segments)``.
        offsets: instead, where each begins, and the end.
        initial: what each reduction begins with; segments of nothing give it, else 0, NaN, -inf, inf or 1.

    >>> import rushlight as torch
    >>> torch.segment_reduce(torch.arange(6.0), "sum", lengths=torch.tensor([2, 0, 4]))
    tensor([ 1.,  0., 14.])
    """
    if reduce not in _REDUCTIONS:
        message = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        raise RuntimeError(hinted(message, f"one of {', '.join(_REDUCTIONS)}"))
    if lengths is None and offsets is None:
        message = "segment_reduce(): Either lengths or offsets must be defined."
        raise RuntimeError(hinted(message, "lengths=torch.tensor([2, 4]) makes two segments"))
    if not data.is_floating_point():
        message = f"\"_segment_reduce_cpu\" not implemented for '{data.dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "convert the tensor with .float()"))
    if lengths is None:
        lengths = offsets.diff()
    if not unsafe:
        if (lengths < 0).any():
            raise RuntimeError(hinted("lengths contains negative value!", "a segment has 0 elements or more"))
        if (lengths.sum(-1) != data.shape[axis]).any():
            message = "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
            raise RuntimeError(hinted(message, f"dimension {axis} has {data.shape[axis]} elements"))
    return _segments(data, reduce, lengths, axis, initial)


def _segments(data, reduce, lengths, axis, initial):
    if axis:
        return functions.stack([_segments(row, reduce, each, axis - 1, initial) for row, each in zip(data, lengths)])
    return functions.stack([_reduced(part, reduce, initial) for part in data.split(lengths.tolist())])


def _reduced(part, reduce, initial):
    """One segment's reduction over dimension 0."""
    first = _REDUCTIONS[reduce] if initial is None else initial
    if reduce in ("max", "min"):
        start = part.new_full((1, *part.shape[1:]), first)
        return getattr(functions, "a" + reduce)(functions.cat([start, part]), 0)
    if reduce == "prod":
        return part.prod(0) * first
    total = part.sum(0) + first
    if reduce == "sum":
        return total
    return total / part.shape[0] if part.shape[0] or initial is None else total


@seen_whole
def cond(pred, true_fn, false_fn, operands=()):
    """``true_fn(*operands)`` where ``pred`` is true, else ``false_fn(*operands)``.

    >>> import rushlight as torch
    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.zeros(1),))
    tensor([0.])
    """
    if not isinstance(pred, (bool, Tensor)):
        raise RuntimeError(
            hinted(f"Expected pred to be bool or tensor, but got {pred}.", "a bool or a tensor of one element")
        )
    return (true_fn if bool(pred) else false_fn)(*operands)


@seen_whole
def while_loop(cond_fn, body_fn, carried_inputs):
    """``carried_inputs``, put through ``body_fn`` for as long as ``cond_fn`` of them is true."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        carried = tuple(body_fn(*carried))
    return carried


@seen_whole
def set_anomaly_enabled(enabled, check_nan=True):
    """Switch `autograd.detect_anomaly` on or off, for good."""
    set_detect_anomaly(enabled, check_nan)


@_native
def _convert_indices_from_coo_to_csr(input, size, *, out_int32=False):
    """Where each of ``size`` rows begins in a sorted list of rows, with the end behind.

    >>> import rushlight as torch
    >>> torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 4)
    tensor([0, 2, 2, 3, 3])
    """
    ends = functions.bincount(input, minlength=size).cumsum(0)
    return functions.cat((ends.new_zeros(1), ends)).to(dtypes.int32 if out_int32 else dtypes.int64)


@_native
def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False, transpose=False):
    """The rows and columns of a matrix's elements, or with ``transpose`` columns and rows, from where its rows begin.

    >>> import rushlight as torch
    >>> torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 3]), torch.tensor([1, 2, 0]))
    tensor([[0, 0, 1],
            [1, 2, 0]])
    """
    lengths = crow_indices.diff()
    rows = functions.repeat_interleave(functions.arange(len(lengths)), lengths)
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return functions.stack([each.to(dtypes.int32 if out_int32 else dtypes.int64) for each in pair])


@_native
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of a softmax's input, from that of its output.

    >>> import rushlight as torch
    >>> torch._softmax_backward_data(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]), 0, torch.float32)
    tensor([ 0.2500, -0.2500])
    """
    return ((grad_output - (grad_output * output).sum(dim, True)) * output).to(input_dtype).contiguous()


@_native
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of a log-softmax's input, from that of its output.

    >>> import rushlight as torch
    >>> torch._log_softmax_backward_data(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]).log(), 0, torch.float32)
    tensor([ 0.5000, -0.5000])
    """
    return (grad_output - output.exp() * grad_output.sum(dim, True)).to(input_dtype).contiguous()
