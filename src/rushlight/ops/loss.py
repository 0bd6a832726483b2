"""Losses: how far predictions are from targets, with PyTorch's reductions."""

import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .table import composite, functions, op

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(reduction, size_average=None, reduce=None):
    """The reduction meant by a name or by PyTorch's deprecated pair of flags."""
    if size_average is not None or reduce is not None:
        size_average, reduce = size_average is not False, reduce is not False
        reduction = "mean" if size_average and reduce else "sum" if reduce else "none"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss, reduction):
    """The mean or sum of elementwise losses, or they themselves."""
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _reduce_array(loss, reduction):
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)
    return np.asarray(
        total if reduction == "sum" else total / loss.dtype.type(loss.size) if loss.size else total * np.nan
    )


def _share(grad, count, reduction):
    """The gradient of each elementwise loss where their mean or sum was taken."""
    return grad / count if reduction == "mean" else grad


def _warn_shapes(input, target, name):
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        return functions.broadcast_tensors(input, target)
    return input, target


def _pair(input, target):
    """Both of one dtype, the promoted one."""
    if input._array.dtype is target._array.dtype:
        return input, target
    kind = dtypes.promote_types(input.dtype, target.dtype)
    return input.to(kind), target.to(kind)


# ---------------------------------------------------------------- distances


def _distance(name, forward, derivative, doc, parameters=""):
    """An elementwise loss of a difference as one operation, with mean or sum."""

    if parameters:

        def call_forward(self, target, reduction, parameter):
            return _reduce_array(forward(np.subtract(self, target), parameter), reduction)

        def d_self(grad, self, target, reduction, parameter):
            return _share(grad, self.numel(), reduction) * derivative(self - target, parameter)

        def d_target(grad, self, target, reduction, parameter):
            return _share(grad, self.numel(), reduction) * -derivative(self - target, parameter)
    else:

        def call_forward(self, target, reduction):
            return _reduce_array(forward(np.subtract(self, target)), reduction)

        def d_self(grad, self, target, reduction):
            return _share(grad, self.numel(), reduction) * derivative(self - target)

        def d_target(grad, self, target, reduction):
            return _share(grad, self.numel(), reduction) * -derivative(self - target)

    record = type(f"{name}_pair", (), {"__doc__": doc, "forward": call_forward, "d_self": d_self, "d_target": d_target})
    return op(
        f"{name}(Tensor self, Tensor target, str reduction{parameters}) -> Tensor", names=(), node=_node_name(name)
    )(record)


def _node_name(name):
    return "".join(part.capitalize() for part in name.split("_")) + "Backward0"


def _square(difference):
    return np.multiply(difference, difference, out=difference if difference.ndim else None)


_distance("mse_loss", _square, lambda d: d * 2, "The squared difference.")
_distance(
    "smooth_l1_loss",
    lambda d, beta: np.where(np.abs(d) < beta, 0.5 * d * d / beta if beta else 0, np.abs(d) - 0.5 * beta).astype(
        d.dtype
    ),
    lambda d, beta: d.div(beta).clamp(-1, 1) if beta else d.sign(),
    "Squared below ``beta``, absolute above.",
    ", float parameter",
)
_distance(
    "huber_loss",
    lambda d, delta: np.where(np.abs(d) <= delta, 0.5 * d * d, delta * (np.abs(d) - 0.5 * delta)).astype(d.dtype),
    lambda d, delta: d.clamp(-delta, delta),
    "Squared below ``delta``, linear above.",
    ", float parameter",
)


@composite(names=("nn.functional",))
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean squared difference of ``input`` and ``target``.

    >>> import rushlight as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
    if input._array.shape != target._array.shape:
        input, target = _warn_shapes(input, target, "mse_loss")
    input, target = _pair(input, target)
    if weight is not None:
        return _weighted(functions.mse_loss_pair(input, target, "none"), weight, reduction)
    return functions.mse_loss_pair(input, target, reduction)


def _weighted(loss, weight, reduction):
    if tuple(weight.shape) != tuple(loss.shape):
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction)


@composite(names=("nn.functional",))
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean absolute difference of ``input`` and ``target``."""
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = _warn_shapes(input, target, "l1_loss")
    loss = (input - target).abs()
    return reduced(loss, reduction) if weight is None else _weighted(loss, weight, reduction)


@composite(names=("nn.functional",))
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared differences below ``beta``, absolute ones above, joined smoothly (Girshick, 2015)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = _pair(*_warn_shapes(input, target, "smooth_l1_loss"))
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return functions.smooth_l1_loss_pair(input, target, reduction, beta)


@composite(names=("nn.functional",))
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half squared differences below ``delta``, linear ones above (Huber, 1964)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    reduction = reduction_of(reduction)
    input, target = _pair(*_warn_shapes(input, target, "huber_loss"))
    if weight is not None:
        return _weighted(functions.huber_loss_pair(input, target, "none", delta), weight, reduction)
    return functions.huber_loss_pair(input, target, reduction, delta)


# ---------------------------------------------------------------- classes


@op("nll_loss(Tensor self, Tensor target, Tensor? weight, str reduction, int ignore_index) -> Tensor[]",
    names=(), node="NllLossBackward0")  # fmt: skip
class nll_loss_rows:
    """Minus the log-probability of each row's class; rows are (samples, classes). Also the total weight."""

    def forward(self, target, weight, reduction, ignore_index):
        valid = target != ignore_index
        safe = np.where(valid, target, 0)
        picked = -np.take_along_axis(self, safe[:, None], 1)[:, 0] if self.size else np.zeros(target.shape, self.dtype)
        if weight is None:
            loss = picked if valid.all() else np.where(valid, picked, 0).astype(self.dtype)
            total = self.dtype.type(np.count_nonzero(valid))
        else:
            counts = np.where(valid, weight[safe], 0)
            loss = np.where(valid, picked * counts, 0).astype(self.dtype)
            total = counts.sum().astype(self.dtype)
        if reduction == "none":
            return loss, np.asarray(total)
        found = np.add.reduce(loss)
        return np.asarray(found / total if reduction == "mean" else found), np.asarray(total)

    def d_self(grad, self, target, weight, reduction, ignore_index, result1):
        return functions.nll_loss_gradient(
            grad, target, weight, reduction, ignore_index, result1.detach(), self.shape[1]
        )


@op("nll_loss_gradient(Tensor grad, Tensor target, Tensor? weight, str reduction, int ignore_index, Tensor total, int classes) -> Tensor",
    names=(), node="NllLossBackwardBackward0")  # fmt: skip
class nll_loss_gradient:
    """The gradient of `nll_loss` rows: minus the class weight at each row's class, zero elsewhere."""

    def forward(grad, target, weight, reduction, ignore_index, total, classes):
        found = np.zeros((target.shape[0], classes), grad.dtype)
        rows = np.flatnonzero(target != ignore_index)
        columns = target[rows]
        each = -grad[rows] if reduction == "none" else -(grad / total if reduction == "mean" else grad)
        found[rows, columns] = each if weight is None else each * weight[columns]
        return found

    def d_grad(grads, target, weight, reduction, ignore_index, total):
        picked = functions.nll_loss_rows(grads[0], target, weight, "none", ignore_index)[0]
        if reduction == "none":
            return picked
        return picked.sum() / total if reduction == "mean" else picked.sum()


def _check_classes(target, classes, ignore_index):
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(
            hinted(
                f"expected scalar type Long but found {target.dtype.legacy_name}",
                "the target holds class numbers: convert it with .long()",
            )
        )
    array = target._array
    if array.size:
        wrong = (array != ignore_index) & ((array < 0) | (array >= classes))
        if wrong.any():
            raise IndexError(
                hinted(
                    f"Target {int(array[wrong].flat[0])} is out of bounds.",
                    f"there are {classes} classes, numbered 0 to {classes - 1}; labels that start at 1 need a - 1",
                )
            )


@composite(names=("nn.functional",))
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Minus the log-probability of the target class: input (N, C, ...) or (C), target (N, ...) of class numbers."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    class_dim = 0 if input.ndim == 1 else 1
    if input.ndim == 1 and target.ndim != 0 or input.ndim > 1 and input.shape[0] != target.shape[0]:
        raise ValueError(
            hinted(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0] if target.ndim else 1}).",
                f"the input has shape {list(input.shape)}, the target {list(target.shape)}",
            )
        )
    classes = input.shape[class_dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    _check_classes(target, classes, ignore_index)
    if input.ndim == 1:
        found = functions.nll_loss_rows(input.unsqueeze(0), target.unsqueeze(0), weight, reduction, ignore_index)[0]
        return found.squeeze(0) if reduction == "none" else found
    if input.ndim == 2:
        if target.ndim != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return functions.nll_loss_rows(input, target, weight, reduction, ignore_index)[0]
    if tuple(input.shape[2:]) != tuple(target.shape[1:]):
        raise RuntimeError(
            hinted(
                f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)})"
                if input.ndim == 4
                else f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}",
                "the target has the input's shape without the class dimension (dimension 1)",
            )
        )
    rows = input.movedim(1, -1).reshape(-1, classes)
    found = functions.nll_loss_rows(rows, target.reshape(-1), weight, reduction, ignore_index)[0]
    return found.reshape(target.shape) if reduction == "none" else found


@composite(names=("nn.functional",))
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """Minus the log of the softmax probability of the target: input (N, C, ...) or (C) of scores.

    The target holds class numbers (N, ...), or probabilities of the input's shape.

    >>> import rushlight as torch
    >>> torch.nn.functional.cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    class_dim = 0 if input.ndim == 1 else 1
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target._array.shape == input._array.shape and target.is_floating_point():
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, class_dim)
    if target.is_floating_point() and target.ndim == input.ndim - 1:
        _check_classes(target, input.shape[class_dim], ignore_index)
    logs = functions.log_softmax(input, class_dim)
    if label_smoothing == 0.0:
        return nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing, class_dim)


def _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, class_dim):
    classes = input.shape[class_dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    logs = functions.log_softmax(input, class_dim)
    if weight is not None:
        shape = [1] * input.ndim
        shape[class_dim] = classes
        logs = logs * weight.reshape(shape)
    loss = -(logs * target)
    if reduction == "mean":
        return loss.sum() / max(input.numel() / max(classes, 1), 1) if input.numel() else loss.sum() * math.nan
    return loss.sum() if reduction == "sum" else loss.sum(class_dim)


def _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing, class_dim):
    classes = logs.shape[class_dim]
    nll = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if weight is not None:
        shape = [1] * logs.ndim
        shape[class_dim] = classes
        smooth = -(logs * weight.reshape(shape)).sum(class_dim)
    else:
        smooth = -logs.sum(class_dim)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is not None:
            total = (
                weight[target.masked_fill(ignored, 0).reshape(-1)].reshape(target.shape).masked_fill(ignored, 0).sum()
            )
        else:
            total = ignored.logical_not().sum()
        smooth = smooth.sum() / total
    elif reduction == "sum":
        smooth = smooth.sum()
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / classes)


# ---------------------------------------------------------------- probabilities of one class


@op(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight, str reduction) -> Tensor",
    names=(),
    node="BinaryCrossEntropyBackward0",
)
class binary_cross_entropy_pair:
    """``-(target log p + (1 - target) log (1 - p))``; logarithms are held above -100."""

    def forward(self, target, weight, reduction):
        logs = np.maximum(np.log(self), -100)
        others = np.maximum(np.log1p(-self), -100)
        loss = (target - 1) * others - target * logs
        return _reduce_array((loss if weight is None else loss * weight).astype(self.dtype, copy=False), reduction)

    def d_self(grad, self, target, weight, reduction):
        found = _share(grad, self.numel(), reduction) * (self - target) / ((1 - self) * self).clamp(min=1e-12)
        return found if weight is None else found * weight

    def d_target(grad, self, target, weight, reduction):
        found = _share(grad, self.numel(), reduction) * ((1 - self).log().clamp(min=-100) - self.log().clamp(min=-100))
        return found if weight is None else found * weight


@composite(names=("nn.functional",))
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The cross entropy of probabilities ``input`` and targets in [0, 1], elementwise."""
    reduction = reduction_of(reduction, size_average, reduce)
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            hinted(
                f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please ensure "
                "they have the same size.",
                "a column of predictions (N, 1) needs targets (N, 1): target.unsqueeze(1)",
            )
        )
    if input.numel() and (input._array.min() < 0 or input._array.max() > 1):
        raise RuntimeError(
            hinted(
                "all elements of input should be between 0 and 1",
                "apply sigmoid() first, or use binary_cross_entropy_with_logits",
            )
        )
    if weight is not None:
        weight = weight.expand(target.shape)
    return functions.binary_cross_entropy_pair(input, target, weight, reduction)


@op("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight, Tensor? pos_weight, str reduction) -> Tensor",
    names=(), node="BinaryCrossEntropyWithLogitsBackward0")  # fmt: skip
class binary_cross_entropy_with_logits_pair:
    """The cross entropy of sigmoid(self) and targets, without overflow."""

    def forward(self, target, weight, pos_weight, reduction):
        # log(1 + exp(-x)) = max(-x, 0) + log(1 + exp(-|x|))
        softplus = np.maximum(-self, 0) + np.log1p(np.exp(-np.abs(self)))
        if pos_weight is None:
            loss = (1 - target) * self + softplus
        else:
            loss = (1 - target) * self + (1 + (pos_weight - 1) * target) * softplus
        return _reduce_array((loss if weight is None else loss * weight).astype(self.dtype, copy=False), reduction)

    def d_self(grad, self, target, weight, pos_weight, reduction):
        if pos_weight is None:
            found = self.sigmoid() - target
        else:
            scaled = pos_weight * target
            found = (scaled + 1 - target) * self.sigmoid() - scaled
        found = _share(grad, self.numel(), reduction) * found
        return found if weight is None else found * weight

    def d_target(grad, self, target, weight, pos_weight, reduction):
        logs = functions.logsigmoid(self)
        found = -self if pos_weight is None else functions.logsigmoid(-self) - pos_weight * logs
        found = _share(grad, self.numel(), reduction) * found
        return found if weight is None else found * weight


@composite(names=("nn.functional", "torch"))
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """The cross entropy of ``sigmoid(input)`` and targets in [0, 1], computed without overflow."""
    reduction = reduction_of(reduction, size_average, reduce)
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            hinted(
                f"Target size ({target.shape}) must be the same as input size ({input.shape})",
                "targets need the predictions' shape: see unsqueeze() and squeeze()",
            )
        )
    return functions.binary_cross_entropy_with_logits_pair(input, target, weight, pos_weight, reduction)


@composite(names=("nn.functional",))
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence ``target * (log target - input)``; ``input`` holds log-probabilities."""
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
            "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the "
            "next major release.",
            stacklevel=3,
        )
    kind = "sum" if reduction == "batchmean" else reduction_of(reduction, size_average, reduce)
    loss = target.exp() * (target - input) if log_target else functions.xlogy(target, target) - target * input
    found = reduced(loss, kind)
    return found / input.shape[0] if reduction == "batchmean" and input.ndim else found


@composite(names=("nn.functional",))
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """Minus the log-likelihood of counts ``target`` under a Poisson distribution of (log) mean ``input``."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@composite(names=("nn.functional",))
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Minus the log-likelihood of ``target`` under normal distributions of mean ``input`` and variance ``var``."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * functions.ones_like(input)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (tuple(input.shape[:-1]) == tuple(var.shape[:-1]) and var.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(reduction + " is not valid")
    held = var.detach().clamp(min=eps) - var.detach() + var  # the clamp is not differentiated
    loss = 0.5 * (held.log() + (input - target) ** 2 / held)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


# ---------------------------------------------------------------- margins


@composite(names=("nn.functional", "torch"))
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    zeros = functions.zeros_like(input)
    loss = functions.where(target != 1, (margin - input).clamp_min(0), zeros) + functions.where(
        target != -1, input, zeros
    )
    return reduced(loss, reduction)


@composite(names=("nn.functional", "torch"))
def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -target * (input1 - input2) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {list(input1.shape)}, input2: "
            f"{list(input2.shape)}, target: {list(target.shape)} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@composite(names=("nn.functional", "torch"))
def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """``1 - cos`` of pairs that belong together (target 1), ``max(0, cos - margin)`` of others (target -1)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim + 1 != input1.ndim or target.ndim + 1 != input2.ndim:
        if target.ndim == 0:
            raise RuntimeError(
                f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
            )
        raise RuntimeError(
            f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    dot = (input1 * input2).sum(-1)
    cosine = dot / (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    zeros = functions.zeros_like(cosine)
    loss = functions.where(target == 1, 1 - cosine, zeros) + functions.where(
        target == -1, (cosine - margin).clamp_min(0), zeros
    )
    return reduced(loss, reduction)


@composite(names=("nn.functional",))
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))`` for targets 1 and -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    return functions.soft_margin_loss_parts(input, target, reduction)


@op("soft_margin_loss(Tensor self, Tensor target, str reduction) -> Tensor", names=(), node="SoftMarginLossBackward0")
class soft_margin_loss_parts:
    """The logistic loss of targets 1 and -1."""

    def forward(self, target, reduction):
        return _reduce_array(np.log1p(np.exp(-target * self)).astype(self.dtype, copy=False), reduction)

    def d_self(grad, self, target, reduction):
        decay = (-target * self).exp()
        return _share(grad, self.numel(), reduction) * -target * decay / (1 + decay)


@composite(names=("nn.functional",))
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The logistic loss of several labels for one sample, averaged over classes (the last dimension)."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * functions.logsigmoid(input) + (1 - target) * functions.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction)


@composite(names=("nn.functional",))
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``sum(max(0, margin - x[y] + x[i]) ** p) / classes`` over the other classes i (Crammer and Singer)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    labels = target.reshape(-1, 1)
    classes = rows.shape[1]
    gap = (margin - rows.gather(1, labels) + rows).clamp_min(0)
    gap = gap if p == 1 else gap * gap
    if weight is not None:
        gap = gap * weight[labels.reshape(-1)].unsqueeze(1)
    loss = gap.scatter(1, labels, 0.0).sum(1) / classes
    return reduced(loss if input.ndim == 2 else loss.reshape(target.shape), reduction)


@composite(names=("nn.functional",))
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Hinge losses of each true label against each other class; a row's labels end at its first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    labels = target.reshape(rows.shape)
    live = (labels < 0).long().cumsum(1) == 0
    safe = labels.masked_fill(~live, 0)
    is_target = functions.zeros_like(rows).scatter_add(1, safe, live.to(rows.dtype)) > 0
    gap = (1 - rows.gather(1, safe).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0)
    counted = live.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = gap.masked_fill(~counted, 0).sum((1, 2)) / rows.shape[1]
    return reduced(loss if input.ndim == 2 else loss.squeeze(0), reduction)


@composite(names=("nn.functional", "torch"))
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of ``x1 - x2 + eps`` over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@composite(names=("nn.functional", "torch"))
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along ``dim``; norms are taken to be at least ``eps``."""
    kind = dtypes.promote_types(x1.dtype, x2.dtype)
    x1, x2 = functions.broadcast_tensors(x1.to(kind), x2.to(kind))
    first, second = (x / x.norm(2, dim, True).clamp_min(eps) for x in (x1, x2))
    return (first * second).sum(dim)


@composite(names=("nn.functional", "torch"))
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``; ``swap`` uses the nearer of two negatives' distances."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = functions.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


@composite(names=("nn.functional",))
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """`triplet_margin_loss` with a distance function of one's own."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = functions.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)
