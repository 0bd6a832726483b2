"""Embedding bags: rows of a table looked up by number, each bag of them summed, averaged or maximised."""

import functools
import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.exporting import is_exporting
from ..base.scalars import type_name
from ..base.user_code import to_user
from .embedding import embedding_gradient, renormalise, require_row_numbers
from .table import composite, functions, op, widened

# Row numbers, where each bag begins and ends among them, and factors, one for each row number.
_BAGS = "Tensor rows, Tensor starts, Tensor ends"


@op(f"embedding_bag(Tensor weight, {_BAGS}, Tensor? factors, str mode, bool scale_grad_by_freq, bool sparse=False) -> Tensor[]",
    names=(), node="EmbeddingBagBackward0")  # fmt: skip
class pooled_rows:
    """The rows ``rows`` of ``weight``, times ``factors`` if there, pooled: those from starts[b] to ends[b] are bag b.

    The second result says, for "max", which row of the table gave each element; -1 in empty bags.
    """

    def forward(weight, rows, starts, ends, factors, mode, scale_grad_by_freq, sparse=False):
        counts, positions = _positions(starts, ends)
        values = widened(weight.take(rows[positions], 0))
        if factors is not None:
            values = values * factors[positions, None]
        found = np.zeros((len(counts), weight.shape[1]), values.dtype)
        if mode == "max":
            found, places = _largest(values, rows[positions], counts, found)
            return found.astype(weight.dtype, copy=False), places
        filled = counts > 0
        if filled.any():
            found[filled] = np.add.reduceat(values, (np.cumsum(counts) - counts)[filled], axis=0)
        if mode == "mean":
            found /= np.maximum(counts, 1).astype(found.dtype)[:, None]
        return found.astype(weight.dtype, copy=False), np.empty(0, np.int64)

    def d_weight(grad, weight_shape, rows, starts, ends, factors, mode, scale_grad_by_freq, sparse, result1):
        if sparse:
            return _entries(grad, weight_shape, rows, starts, ends, factors, mode)
        if mode == "max":
            kept = functions.where(result1 < 0, 0, grad)
            return grad.new_zeros(weight_shape).scatter_add(0, result1.clamp(min=0), kept)
        return functions.pooled_rows_gradient(
            grad, rows, starts, ends, factors, weight_shape[0], mode, scale_grad_by_freq
        )

    def d_factors(grad, weight, rows, starts, ends, mode):
        return functions.pooled_rows_products(grad, weight, rows, starts, ends, mode)


@op(f"pooled_rows_gradient(Tensor grad, {_BAGS}, Tensor? factors, int length, str mode, bool scale_grad_by_freq) -> Tensor",
    names=(), node="EmbeddingBagBackwardBackward0")  # fmt: skip
class pooled_rows_gradient:
    """The gradient of a table of ``length`` whose rows were summed or averaged: what flowed into each row, added up."""

    def forward(grad, rows, starts, ends, factors, length, mode, scale_grad_by_freq):
        counts, positions = _positions(starts, ends)
        values = np.repeat(_shared_out(grad, counts, mode), counts, axis=0)
        if factors is not None:
            values = values * factors[positions, None]
        return embedding_gradient.forward(values, rows[positions], length, -1, scale_grad_by_freq)

    def d_grad(grads, rows, starts, ends, factors, length, mode, scale_grad_by_freq):
        if scale_grad_by_freq:
            each = 1 / functions.bincount(rows, minlength=length)[rows].to(grads[0].dtype)
            factors = each if factors is None else factors * each
        return functions.pooled_rows(grads[0], rows, starts, ends, factors, mode, False)[0]

    def d_factors(grads, grad, rows, starts, ends, length, mode, scale_grad_by_freq):
        found = functions.pooled_rows_products(grad, grads[0], rows, starts, ends, mode)
        if scale_grad_by_freq:
            found = found / functions.bincount(rows, minlength=length)[rows]
        return found


@op(f"pooled_rows_products(Tensor grad, Tensor weight, {_BAGS}, str mode) -> Tensor", names=())
class pooled_rows_products:
    """For each row number the product of the row of ``weight`` with what flowed into its bag: the factors' gradient."""

    def forward(grad, weight, rows, starts, ends, mode):
        counts, positions = _positions(starts, ends)
        shares = np.repeat(_shared_out(grad, counts, mode), counts, axis=0)
        found = np.zeros(rows.shape, grad.dtype)
        found[positions] = (widened(shares) * weight.take(rows[positions], 0)).sum(1)
        return found

    def d_grad(grads, weight, rows, starts, ends, mode):
        return functions.pooled_rows(weight, rows, starts, ends, grads[0], mode, False)[0]

    def d_weight(grads, grad, weight_shape, rows, starts, ends, mode):
        return functions.pooled_rows_gradient(grad, rows, starts, ends, grads[0], weight_shape[0], mode, False)


def _entries(grad, weight_shape, rows, starts, ends, factors, mode):
    """The gradient of a table as a sparse tensor: an entry for each row number of the bags."""
    counts, positions = _positions(starts._array, ends._array)
    bags, positions = functions.wrap(np.repeat(np.arange(len(counts)), counts)), functions.wrap(positions)
    values = grad[bags]
    if mode == "mean":
        values = values / (ends - starts)[bags].unsqueeze(1).to(grad.dtype)
    if factors is not None:
        values = values * factors[positions].unsqueeze(1)
    return functions.sparse_rows(values, rows[positions], weight_shape, -1)


def _positions(starts, ends):
    """How many row numbers each bag has, and where they stand, one bag's after the other's."""
    counts = ends - starts
    return counts, np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


def _largest(values, rows, counts, found):
    """The largest elements of each bag, and the rows that they come from: the bags' first rows, then their second, ..."""
    starts, places = np.cumsum(counts) - counts, np.full(found.shape, -1, np.int64)
    for turn in range(counts.max(initial=0)):
        bags = np.flatnonzero(counts > turn)
        position = starts[bags] + turn
        row, best, place = values[position], found[bags], places[bags]
        better = (place < 0) | (row > best)
        found[bags] = np.where(better, row, best)
        places[bags] = np.where(better, rows[position][:, None], place)
    return found, places


def _shared_out(array, counts, mode):
    """The gradient of each bag as each of its rows gets it."""
    if mode == "sum":
        return array
    return (widened(array) / np.maximum(counts, 1)[:, None]).astype(array.dtype)


@composite(names=("nn.functional",))
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):  # fmt: skip
    """Rows of ``weight`` looked up in bags, each bag summed, averaged or maximised.

    ``input`` is (bags, width), or 1-dim with the start of each bag in ``offsets``.
    """
    if input.is_floating_point() and weight.dtype is dtypes.int64:
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, and "
            "should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=to_user(),
        )
        input, weight = weight, input
    if offsets is not None and offsets.dtype is not input.dtype:
        common = dtypes.promote_types(input.dtype, offsets.dtype)
        input, offsets = input.to(common), offsets.to(common)
    _check_bags(input, weight, offsets, mode, per_sample_weights)
    if sparse and mode == "max":
        raise ValueError(hinted("max mode does not support sparse weights", "use sparse=False"))
    if is_exporting() and max_norm is None and (offsets is not None or padding_idx is not None):
        return _exported_bags(input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx)
    if input.ndim == 2:
        bounds, flat = _even_bounds(*input.shape), input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        bounds, flat = _bounds(offsets._array, input.shape[0], include_last_offset), input
    if padding_idx is not None:
        keep = flat != _padding_row(padding_idx, weight)
        bounds = np.append(0, np.cumsum(keep._array))[bounds]
        flat = flat[keep]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[keep]
    if max_norm is not None:
        renormalise(weight, flat, max_norm, norm_type)
    starts, ends = functions.from_numpy(bounds[:-1]), functions.from_numpy(bounds[1:])
    return functions.pooled_rows(weight, flat, starts, ends, per_sample_weights, mode, scale_grad_by_freq, sparse)[0]


def _padding_row(padding_idx, weight):
    """The row of ``weight`` that does not count, from the front."""
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            hinted(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}",
                f"it is the number of a row of the weight, which has {rows}",
            )
        )
    return padding_idx % rows


def _exported_bags(input, weight, offsets, mode, factors, include_last_offset, padding_idx):
    """Bags by operations alone, whatever the numbers are: rows that do not count stay, as zeros, or below all others."""
    flat, length = input.reshape(-1), input.numel()
    if offsets is None:
        starts, ends = map(functions.from_numpy, (_even_bounds(*input.shape)[:-1], _even_bounds(*input.shape)[1:]))
    else:
        starts = offsets[:-1] if include_last_offset else offsets
        ends = offsets[1:] if include_last_offset else functions.cat([offsets[1:], offsets.new_full((1,), length)])
        ends = ends.maximum(starts)  # whatever numbers are tried
    pooled = lambda table, weights, kind: functions.pooled_rows(table, flat, starts, ends, weights, kind, False)[0]
    factors = None if factors is None else factors.reshape(-1)
    if padding_idx is None:
        return pooled(weight, factors, mode)
    padding = _padding_row(padding_idx, weight)
    if mode == "max":
        found = pooled(weight.index_fill(0, functions.tensor([padding]), -math.inf), None, mode)
        return found.masked_fill(found == -math.inf, 0)
    kept = (flat != padding).to(weight.dtype)
    total = pooled(weight, kept if factors is None else factors * kept, "sum")
    return total if mode == "sum" else total / pooled(functions.ones_like(weight[:, :1]), kept, "sum").clamp(min=1)


def _check_steps(input):
    """PyTorch's refusals of bags in rows, whose bounds it counts off in the dtype of the row numbers."""
    if input._array.dtype.kind in "bc":
        message = f"\"arange_cpu\" not implemented for '{input.dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "row numbers are whole: convert them with .long()"))
    if not input._array.shape[1]:
        raise RuntimeError(
            hinted("step must be nonzero", "bags given as rows of a matrix hold at least one row number")
        )


def _check_bags(input, weight, offsets, mode, per_sample_weights):
    """PyTorch's refusals of arguments that do not belong together."""
    if per_sample_weights is not None and tuple(input.shape) != tuple(per_sample_weights.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        message = f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}"
        raise ValueError(hinted(message, "it holds a vector a row"))
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
            f"However, found offsets of type {type(offsets)}"
        )
    if input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    if input.ndim == 2:
        _check_steps(input)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    require_row_numbers(input._array, "embedding_bag")
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
            f"Double; but got torch.{weight.dtype.legacy_name}Tensor instead (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            hinted(
                "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
                f"but type {type_name(weight.dtype)} does not equal {type_name(per_sample_weights.dtype)} (while checking arguments for embedding_bag)",
                f"convert the weights with .to({weight.dtype!r})",
            )
        )
    if offsets is not None and offsets.numel() and not is_exporting() and int(offsets[0]) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{int(offsets[0])}"
        )
    numbers = input._array
    unsigned = numbers.view(np.uint64) if numbers.itemsize == 8 else numbers.view(np.uint32)  # negative ones are huge
    if numbers.size and np.maximum.reduce(unsigned, None) >= weight.shape[0]:
        flat = numbers.reshape(-1)
        wrong = np.flatnonzero((flat < 0) | (flat >= weight.shape[0]))[0]
        raise RuntimeError(
            f"Index {wrong} of input takes value {flat[wrong]} which is not in the valid range [0, {weight.shape[0]})"
        )


@functools.lru_cache(16)
def _even_bounds(bags, width):
    """The bounds of bags of one width."""
    return np.arange(bags + 1) * width


def _bounds(starts, length, include_last_offset):
    """Where each bag begins among ``length`` rows; behind the last one, where it ends."""
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    bounds = (starts if include_last_offset else np.append(starts, length)).astype(np.int64)
    if bounds[-1] > length or (starts.size and starts[-1] > length):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {starts[-1]}"
        )
    if (np.diff(bounds) < 0).any():
        raise RuntimeError(
            hinted("offsets must not decrease", f"each bag begins where the one before it ends: {starts.tolist()[:20]}")
        )
    return bounds
