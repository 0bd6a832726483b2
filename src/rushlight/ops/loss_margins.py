"""Losses with margins, and the distances between vectors that they compare."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .elementwise.checks import NOT_FLOATING, check_scalar_type, no_derivative
from .loss import REDUCTIONS, numbered, reduce_array, reduced, reduction_of, share
from .table import FUSED, composite, functions, op, widened

_NOT_NATIVE = ("float16", "bfloat16", *NOT_FLOATING)


@composite(names=("nn.functional",))
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    zeros = functions.zeros_like(input)
    if not (input.is_floating_point() or input.is_complex()):
        margin = functions.full((), margin, dtype=input.dtype, device=input.device)  # a whole number
    loss = functions.where(target != 1, (margin - input).clamp_min(0), zeros) + functions.where(
        target != -1, input, zeros
    )
    return reduced(loss, reduction)


@composite(names=("nn.functional",))
def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -target * (input1 - input2) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.shape}, "
            f"input2: {input2.shape}, target: {target.shape} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@composite(names=("nn.functional",))
def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """``1 - cos`` of pairs that belong together (target 1), ``max(0, cos - margin)`` of others (target -1)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim > 1 or target.ndim + 1 != input1.ndim or target.ndim + 1 != input2.ndim:
        if target.ndim > 1:
            raise RuntimeError(
                hinted(
                    "0D or 1D target tensor expected, multi-target not supported", "a pair of vectors has one target"
                )
            )
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


@op("multi_margin_loss(Tensor self, Tensor target, int p, float margin, Tensor? weight, str reduction) -> Tensor[]",
    names=(), node="MultiMarginLossBackward0", refuse=_NOT_NATIVE)  # fmt: skip
class multi_margin_loss_parts:
    """The hinge loss of each row's class against the others, and its slope with respect to the scores."""

    keeps = ("target", "weight")
    kernel = "multi_margin_loss_cpu_kernel"

    beside, beside_as = ("self",), (RuntimeError, "derivative for aten::multi_margin_loss_backward is not implemented")
    constants = {"weight": "multi_margin_loss"}

    def forward(self, target, p, margin, weight, reduction):
        x = widened(self)
        rows, labels = x.reshape(-1, x.shape[-1] if x.ndim else 1), target.reshape(-1)
        count, classes = rows.shape
        if labels.size:
            check_scalar_type(dtypes.from_numpy(target.dtype), dtypes.int64)
            if weight is not None:
                check_scalar_type(dtypes.from_numpy(weight.dtype), dtypes.from_numpy(self.dtype))
            if not 0 <= labels.min() <= labels.max() < classes:
                raise RuntimeError(
                    hinted("target out of range", f"there are {classes} classes, numbered 0 to {classes - 1}")
                )
        each = np.arange(count)
        gap = margin - rows[each, labels][:, None] + rows
        gap = np.where(gap > 0, gap, 0).astype(rows.dtype, copy=False)  # nothing of NaN
        gap[each, labels] = 0
        factor = np.full((count, 1), 1 / classes, rows.dtype)
        if weight is not None:
            factor *= widened(weight)[labels][:, None]
        slope = (gap > 0) * factor if p == 1 else 2 * gap * factor
        slope[each, labels] = 0 - slope.sum(axis=1)
        loss = ((gap if p == 1 else gap * gap) * factor).sum(axis=1).reshape(self.shape[:-1])
        return reduce_array(np.asarray(loss), reduction, self.dtype, ()), slope.reshape(self.shape).astype(self.dtype)

    def d_self(grad, self, reduction, result1):
        return functions.multi_margin_loss_backward(_along_rows(grad, self, reduction), result1.detach())


@op("multi_margin_loss_backward(Tensor gradient, Tensor slope) -> Tensor", kind=FUSED, names=(), node="NotImplemented")
class multi_margin_loss_backward:
    """The gradient of `multi_margin_loss`, which cannot be differentiated again."""

    light = True

    def element(m, gradient, slope):
        return gradient * slope

    d_gradient = d_slope = no_derivative("multi_margin_loss_backward")


@op(
    "multilabel_margin_loss_backward(Tensor gradient, Tensor slope) -> Tensor",
    kind=FUSED,
    names=(),
    node="NotImplemented",
)
class multilabel_margin_loss_backward:
    """The gradient of `multilabel_margin_loss`, which cannot be differentiated again."""

    light = True

    def element(m, gradient, slope):
        return gradient * slope

    d_gradient = d_slope = no_derivative("multilabel_margin_loss_backward")


def _along_rows(grad, self, reduction):
    """The gradient of each row's loss, to be multiplied with that row's slope."""
    rows = self.shape[0] if self.ndim == 2 else 1
    return grad.unsqueeze(-1) if reduction == "none" and grad.ndim else share(grad, rows, reduction)


def _check_scores(input):
    """PyTorch's refusal of scores that are neither one sample's nor several ones'."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            hinted(
                f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}",
                "scores have the shape (samples, classes) or (classes)",
            )
        )


@composite(names=("nn.functional",))
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``sum(max(0, margin - x[y] + x[i]) ** p) / classes`` over the other classes i (Crammer and Singer)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError(hinted("weight must be one-dimensional", f"its shape is {list(weight.shape)}"))
    _check_scores(input)
    samples = input.shape[0] if input.ndim == 2 else 1
    classes = input.shape[-1] if input.ndim else 1
    if target.ndim > 1 or target.numel() != samples:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{samples}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    return functions.multi_margin_loss_parts(input, target, p, float(margin), weight, reduction)[0]


def _check_dtypes(input, target, weight):
    """PyTorch's refusals, where it has a kernel for the input, of labels that are not int64 and weights of another dtype."""
    if input.dtype not in (dtypes.float32, dtypes.float64):
        return
    for value, wanted in ((target, dtypes.int64), (weight, input.dtype)):
        if value is not None and value.dtype is not wanted:
            raise RuntimeError(
                hinted(
                    f"expected scalar type {wanted.legacy_name} but found {value.dtype.legacy_name}",
                    f"convert it with .to({wanted!r})",
                )
            )


@op("multilabel_margin_loss(Tensor self, Tensor target, str reduction) -> Tensor[]",
    names=(), node="MultilabelMarginLossBackward0", refuse=_NOT_NATIVE)  # fmt: skip
class multilabel_margin_loss_parts:
    """Hinge losses of each row's labels against the other classes, and their slope with respect to the scores."""

    keeps = ("target",)
    kernel = "multilabel_margin_loss_forward_out_frame"

    beside, beside_as = (
        ("self",),
        (RuntimeError, "derivative for aten::multilabel_margin_loss_backward is not implemented"),
    )

    def forward(self, target, reduction):
        x = widened(self)
        rows = x.reshape(-1, x.shape[-1] if x.ndim else 1)
        labels = target.reshape(rows.shape)
        if labels.size:
            check_scalar_type(dtypes.from_numpy(target.dtype), dtypes.int64)
            if not -1 <= labels.min() <= labels.max() < rows.shape[1]:
                raise RuntimeError(
                    hinted(
                        "argument #2 'target' is out of range",
                        f"classes are numbered 0 to {rows.shape[1] - 1}; -1 ends a row",
                    )
                )
        live = np.logical_and.accumulate(labels >= 0, axis=1)  # a row's labels end at its first -1
        safe = np.where(live, labels, 0)
        is_target = np.zeros(rows.shape, bool)
        lines = np.nonzero(live)[0]
        is_target[lines, safe[live]] = True
        gap = 1 - np.take_along_axis(rows, safe, 1)[:, :, None] + rows[:, None, :]
        active = (gap > 0) & live[:, :, None] & ~is_target[:, None, :]
        classes = rows.dtype.type(rows.shape[1])
        loss = (np.where(active, gap, 0).sum(axis=(1, 2)) / classes).reshape(self.shape[:-1])
        slope = active.sum(axis=1).astype(rows.dtype)
        np.subtract.at(slope, (lines, safe[live]), active.sum(axis=2)[live])
        slope = (slope / classes).reshape(self.shape)
        return reduce_array(np.asarray(loss, rows.dtype), reduction, self.dtype, ()), slope.astype(self.dtype)

    def d_self(grad, self, reduction, result1):
        return functions.multilabel_margin_loss_backward(_along_rows(grad, self, reduction), result1.detach())


@composite(names=("nn.functional",))
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Hinge losses of each true label against each other class; a row's labels end at its first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_scores(input)
    if input.ndim < 2 and input.numel() == target.numel() == 1 and target.ndim < 2:
        target = target.reshape(input.shape)
    if tuple(target.shape) != tuple(input.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if target.numel() and target.is_complex():
        message = f"\"min_all\" not implemented for '{target.dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "labels are numbers of classes, of dtype int64"))
    return functions.multilabel_margin_loss_parts(input, target, reduction)[0]


@composite(names=("nn.functional", "torch"))
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of ``x1 - x2 + eps`` over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@composite(names=("nn.functional", "torch"))
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along ``dim``; norms are taken to be at least ``eps``."""
    kind = dtypes.promote_types(x1.dtype, x2.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {kind.legacy_name}")
    x1, x2 = (x if x.dtype.is_floating_point else x.to(kind) for x in (x1, x2))  # each is normed as precisely as it is
    if x1._array.shape != x2._array.shape:
        x1, x2 = functions.broadcast_tensors(x1, x2)
    first, second = (x / functions.norm(x, 2, dim, True).clamp_min(eps) for x in (x1, x2))
    return (first * second).sum((dim,))


@composite(names=("nn.functional",))
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``; ``swap`` uses the nearer of two negatives' distances."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
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


numbered("hinge_embedding_loss", hinge_embedding_loss, ("input", "target", "margin", "reduction"),
         (None, None, 1.0, 0))  # fmt: skip
numbered("margin_ranking_loss", margin_ranking_loss, ("input1", "input2", "target", "margin", "reduction"),
         (None, None, None, 0.0, 0))  # fmt: skip
numbered("cosine_embedding_loss", cosine_embedding_loss, ("input1", "input2", "target", "margin", "reduction"),
         (None, None, None, 0.0, 0))  # fmt: skip
numbered("triplet_margin_loss", triplet_margin_loss,
         ("anchor", "positive", "negative", "margin", "p", "eps", "swap", "reduction"),
         (None, None, None, 1.0, 2, 1e-6, False, 0))  # fmt: skip
