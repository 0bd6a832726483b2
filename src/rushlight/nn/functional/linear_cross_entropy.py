"""linear_cross_entropy: the cross entropy of scores that are never all in memory at once."""

from __future__ import annotations

import math
import warnings

from ...autograd.function import Function
from ...base.dtypes import int64
from ...base.errors import hinted
from ...ops.table import functions


def linear_cross_entropy(
    input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0,
    options=None,
):  # fmt: skip
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``: input (N, features) or (features).

    Args:
        linear_weight (Tensor): (C, ..., features): further dimensions are those of the scores.
        target (Tensor): class numbers (N, ...), or probabilities (N, C, ...)
        ignore_index (int): targets of this value count nothing; only for class numbers. Default: -100
        options (LinearCrossEntropyOptions): compute scores, and gradients with them, for a part of the batch at a time. Gradients
            of gradients are not there then. Default: None, all at once

    >>> import rushlight as torch
    >>> torch.nn.functional.linear_cross_entropy(torch.zeros(2, 4), torch.ones(3, 4), torch.tensor([0, 2]))
    tensor(1.0986)
    """
    _check(input, linear_weight, linear_bias)
    classes, further = linear_weight.shape[0], linear_weight.shape[1:-1]
    shape = (*input.shape[:-1], classes, *further)
    if target.shape == shape and ignore_index is not None:
        raise RuntimeError(
            hinted("ignore_index cannot be specified when target contains probabilities", "all of them count")
        )
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None:
        parted = reduction in ("mean", "sum", "none") and label_smoothing == 0 and target.dtype == int64 and not further
        if parted:
            return _in_parts(input, linear_weight, target, linear_bias, weight, reduction, ignore_index, options)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing == 0, "
            f"target.dtype == int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
            f"target.dtype={target.dtype}, out_features={tuple(further)}, tracing=False, linear_bias.shape="
            f"{None if linear_bias is None else tuple(linear_bias.shape)}.",
            stacklevel=2,
        )
    if further:
        outputs = math.prod(further, start=classes)
        linear_weight = linear_weight.reshape(outputs, linear_weight.shape[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(outputs)
    scores = functions.linear(input, linear_weight, linear_bias).reshape(shape)
    return functions.cross_entropy(
        scores,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )


def _check(input, weight, bias):
    if not 1 <= input.dim() <= 2:
        message = f"expected input with dimensionality 1 or 2, got {input.dim()}"
        raise RuntimeError(hinted(message, "samples, each of the layer's features"))
    if weight.dim() < 2:
        message = f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        raise RuntimeError(hinted(message, "classes first, features last"))
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            hinted(
                "expected equal input and linear_weight last dimensions (in_features), got "
                f"{input.shape[-1]} and {weight.shape[-1]}, respectively",
                "both are the number of features",
            )
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        message = f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}"
        raise RuntimeError(hinted(message, "one number for each score"))
    if weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            hinted(
                f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
                f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}",
                "input.unsqueeze(0) is a batch of one",
            )
        )


def _in_parts(input, weight, target, bias, class_weight, reduction, ignore_index, options):
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    size = options.chunk_size(len(input), input.shape[-1], len(weight))
    losses = _Parts.apply(input, weight, bias, target, class_weight, ignore_index, size)
    if reduction == "none":
        return losses[0] if single else losses
    if reduction == "sum":
        return losses.sum()
    counts = target != ignore_index
    if class_weight is not None:
        counts = class_weight[target.masked_fill(~counts, 0)] * counts
    return losses.sum() / counts.sum()


class _Parts(Function):
    """The losses of all samples; backward computes the scores of each part again."""

    @staticmethod
    def forward(ctx, input, weight, bias, target, class_weight, ignore_index, size):
        ctx.save_for_backward(input, weight, bias, target, class_weight)
        ctx.ignore_index, ctx.size = ignore_index, size
        losses = [
            functions.cross_entropy(
                functions.linear(part, weight, bias), wanted, class_weight, ignore_index=ignore_index, reduction="none"
            )
            for part, wanted in zip(input.split(size), target.split(size))
        ]
        return functions.cat(losses)

    @staticmethod
    def backward(ctx, grad):
        input, weight, bias, target, class_weight = ctx.saved_tensors
        wants_input, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        of_input = [] if wants_input else None
        of_weight = functions.zeros_like(weight) if wants_weight else None
        of_bias = functions.zeros_like(bias) if wants_bias else None
        for part, wanted, factor in zip(input.split(ctx.size), target.split(ctx.size), grad.split(ctx.size)):
            ignored = wanted == ctx.ignore_index
            wanted = wanted.masked_fill(ignored, 0)
            if class_weight is not None:
                factor = factor * class_weight[wanted]
            factor = factor.unsqueeze(1)
            # The softmax, less one at the class that was wanted.
            slopes = functions.softmax(functions.linear(part, weight, bias), 1)
            slopes = slopes.scatter_add(1, wanted.unsqueeze(1), slopes.new_full((len(part), 1), -1))
            # Where no sample counts the factor is infinite, and the gradient NaN.
            slopes = slopes.masked_fill(ignored.unsqueeze(1), 0) * factor
            if wants_input:
                of_input.append(slopes @ weight)
            if wants_weight:
                of_weight += slopes.t() @ part
            if wants_bias:
                of_bias += slopes.sum(0)
        return functions.cat(of_input) if wants_input else None, of_weight, of_bias, None, None, None, None
