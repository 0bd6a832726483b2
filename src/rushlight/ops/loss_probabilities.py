"""Losses of probabilities and distributions: binary cross entropy, Kullback-Leibler, Poisson, Gaussian."""

import functools
import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.dtypes import FLOATS, get_default_dtype, promote_types
from ..base.errors import hinted
from ..base.scalars import c_name
from ..base.shapes import broadcast_shapes, require_room
from ..base.user_code import to_user
from .elementwise.checks import NOT_FLOATING
from .loss import REDUCTIONS, numbered, reduce_array, reduced, reduction_of, share
from .numpy_math import numpy_math
from .table import FUSED, TABLE, composite, functions, op, widened


def _elements(name, *arrays):
    """The loss of each element by the formula of operation ``name``, half precision in float32."""
    return np.asarray(TABLE[name].element(numpy_math, *[a if a is None else widened(a) for a in arrays]))


@op("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight, str reduction) -> Tensor",
    names=(), node="BinaryCrossEntropyBackward0", refuse=NOT_FLOATING)  # fmt: skip
class binary_cross_entropy_pair:
    """``-(target log p + (1 - target) log (1 - p))``; logarithms are held above -100."""

    kernel = "binary_cross_entropy"
    keeps = ("target",)
    constants = {"weight": "binary_cross_entropy"}

    def element(m, self, target, weight):
        logs, others = m.maximum(m.log(self), -100), m.maximum(m.log1p(-self), -100)
        loss = (target - 1) * others - target * logs
        return loss if weight is None else loss * weight

    def forward(self, target, weight, reduction):
        loss = _elements("binary_cross_entropy_pair", self, target, weight)
        return reduce_array(loss, reduction, self.dtype, (self,))

    def patterns(self, target, weight):
        return (self,)

    def d_self(grad, self, target, weight, reduction):
        each = share(grad, self.numel(), reduction)
        return functions.binary_cross_entropy_slope(self, target, each, weight)

    def d_target(grad, self, weight, reduction):
        found = share(grad * -self.logit(), self.numel(), reduction)  # not held, unlike the loss
        return found if weight is None else found * weight


@op("binary_cross_entropy_slope(Tensor self, Tensor target, Tensor each, Tensor? weight) -> Tensor", kind=FUSED,
    names=())  # fmt: skip
class binary_cross_entropy_slope:
    """The gradient of `binary_cross_entropy`, given that of each element's loss."""

    def element(m, self, target, each, weight):
        found = each * (self - target) / m.clamp((1 - self) * self, 1e-12, None)
        return found if weight is None else found * weight


_WEIGHTS = "the losses have the shape of the input: the weights must broadcast to it"

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


@functools.cache
def _bits_of_one(dtype):
    return int(np.ones((), dtype).view(_BITS[dtype.itemsize]))


def _are_shares(elements):
    """Whether all floating elements are numbers from 0 to 1: then so are their bits, -0 apart."""
    if not elements.size or elements.dtype not in FLOATS:  # others are refused for their dtype
        return True
    bits = elements.view(_BITS[elements.itemsize])
    if np.maximum.reduce(bits, None) <= _bits_of_one(elements.dtype):
        return True
    return bool(np.minimum.reduce(elements, None) >= 0 and np.maximum.reduce(elements, None) <= 1)


@composite(names=("nn.functional",))
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The cross entropy of probabilities ``input`` and targets in [0, 1], elementwise.

    >>> import rushlight as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            hinted(
                f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
                "Please ensure they have the same size.",
                "a column of predictions (N, 1) needs targets (N, 1): target.unsqueeze(1)",
            )
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(
            hinted(
                f"Found dtype {target.dtype.legacy_name} but expected {input.dtype.legacy_name}",
                f"targets need the dtype of the predictions: target.to({input.dtype!r})",
            )
        )
    if not _are_shares(functions.elements_of(input)):
        raise RuntimeError(
            hinted(
                "all elements of input should be between 0 and 1",
                "apply sigmoid() first, or use binary_cross_entropy_with_logits",
            )
        )
    if not _are_shares(functions.elements_of(target)):
        raise RuntimeError(
            hinted(
                "all elements of target should be between 0 and 1", "a target is the share of the first of two classes"
            )
        )
    if weight is not None:
        shape = functions.broadcast_shapes(target.shape, weight.shape)
        require_room(tuple(input.shape), tuple(shape), _WEIGHTS)
        if weight.is_complex():
            kinds = (each.dtype.legacy_name for each in (weight, input))
            raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*kinds))
        weight = weight.expand(shape)
    return functions.binary_cross_entropy_pair(input, target, weight, reduction)


@op("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight, Tensor? pos_weight, str reduction) "
    "-> Tensor", names=(), node="BinaryCrossEntropyWithLogitsBackward0")  # fmt: skip
class binary_cross_entropy_with_logits_pair:
    """The cross entropy of sigmoid(self) and targets, without overflow."""

    keeps = ("target",)
    constants = dict.fromkeys(("weight", "pos_weight"), "binary_cross_entropy_with_logits")

    def element(m, self, target, weight, pos_weight):
        # log(1 + exp(-x)) = max(-x, 0) + log(1 + exp(-|x|))
        loss = m.log1p(m.exp(-m.abs(self))) + m.maximum(-self, 0)
        if pos_weight is not None:
            loss = loss * ((pos_weight - 1) * target + 1)
        loss = (1 - target) * self + loss
        return loss if weight is None else loss * weight

    def forward(self, target, weight, pos_weight, reduction):
        loss = _elements("binary_cross_entropy_with_logits_pair", self, target, weight, pos_weight)
        return reduce_array(loss, reduction, self.dtype, (target,))

    def patterns(self, target, weight, pos_weight):
        return (target,)

    def d_self(grad, self, target, weight, pos_weight, reduction):
        each = share(grad, self.numel(), reduction)
        return functions.binary_cross_entropy_with_logits_slope(self, target, each, weight, pos_weight)

    def d_target(grad, self, weight, pos_weight, reduction):
        logs = functions.logsigmoid(self)
        found = -self if pos_weight is None else functions.logsigmoid(-self) - pos_weight * logs
        found = share(grad, self.numel(), reduction) * found
        return found if weight is None else found * weight


@op("binary_cross_entropy_with_logits_slope(Tensor self, Tensor target, Tensor each, Tensor? weight, Tensor? pos_weight) "
    "-> Tensor", kind=FUSED, names=())  # fmt: skip
class binary_cross_entropy_with_logits_slope:
    """The gradient of `binary_cross_entropy_with_logits`, given that of each element's loss."""

    def element(m, self, target, each, weight, pos_weight):
        if pos_weight is None:
            found = m.sigmoid(self) - target
        else:
            found = (1 - target) * m.sigmoid(self) - pos_weight * target * m.sigmoid(-self)
        found = each * found
        return found if weight is None else found * weight


@composite(names=("nn.functional",))
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """The cross entropy of ``sigmoid(input)`` and targets in [0, 1], computed without overflow."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            hinted(
                f"Target size ({target.shape}) must be the same as input size ({input.shape})",
                "targets need the predictions' shape: see unsqueeze() and squeeze()",
            )
        )
    kind = input._array.dtype
    if kind not in FLOATS or any(
        each is not None and each._array.dtype != kind for each in (target, weight, pos_weight)
    ):
        return _of_several_dtypes(input, target, weight, pos_weight, reduction)
    shape = input._array.shape
    if pos_weight is not None and pos_weight._array.shape != shape:
        require_room(shape, broadcast_shapes(pos_weight._array.shape, shape), _WEIGHTS)
    if weight is not None and weight._array.shape != shape:
        require_room(shape, broadcast_shapes(shape, weight._array.shape), _WEIGHTS)
    return functions.binary_cross_entropy_with_logits_pair(input, target, weight, pos_weight, reduction)


@op("binary_cross_entropy_with_logits_steps(Tensor losses, Tensor self, Tensor target, Tensor? weight, Tensor? pos_weight, "
    "str reduction) -> Tensor", names=(), node="BinaryCrossEntropyWithLogitsBackward0")  # fmt: skip
class binary_cross_entropy_with_logits_steps:
    """The reduced ``losses`` of operands of several dtypes, with derivatives in PyTorch's steps: the first of each decides its dtype."""

    real = "binary_cross_entropy_with_logits"
    keeps = ("target",)
    constants = dict.fromkeys(("weight", "pos_weight"), "binary_cross_entropy_with_logits")

    def forward(losses, self, target, weight, pos_weight, reduction):
        return reduce_array(losses.copy("K"), reduction, losses.dtype, (target,))

    def patterns(losses, self, target, weight, pos_weight):
        return (target,)

    def d_self(grad, self, target, weight, pos_weight, reduction):
        if pos_weight is None:
            found = self.sigmoid().sub_(target)
        else:
            part = pos_weight * target
            found = (part + 1).sub_(target).mul_(self.sigmoid()).sub_(part)
        return _weighted_share(found.mul_(grad), weight, reduction)

    def d_target(grad, self, weight, pos_weight, reduction):
        if pos_weight is None:
            found = self * -grad
        else:
            found = functions.logsigmoid(-self).sub_(functions.logsigmoid(self).mul_(pos_weight)).mul_(grad)
        return _weighted_share(found, weight, reduction)


def _weighted_share(found, weight, reduction):
    found = found if weight is None else found.mul_(weight)
    return share(found, found.numel(), reduction)


def _of_several_dtypes(input, target, weight, pos_weight, reduction):
    """The loss of operands of several dtypes; constants may not require gradients."""
    plain = [None if each is None else each.detach() for each in (input, target, weight, pos_weight)]
    losses = _losses_in_steps(*plain)
    return functions.binary_cross_entropy_with_logits_steps(losses, input, target, weight, pos_weight, reduction)


def _losses_in_steps(input, target, weight, pos_weight):
    """Each loss in PyTorch's steps, written into one tensor: the dtype of ``1 - target`` decides, and has to hold the rest."""
    logs = functions.logsigmoid(input)
    if pos_weight is not None:
        logs.mul_((pos_weight - 1) * target + 1)
    if not target.is_floating_point() and not target.is_complex():
        raise RuntimeError(
            hinted(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
                if target._array.dtype.kind == "b"
                else f"result type {input.dtype.legacy_name} can't be cast to the desired output type {target.dtype.legacy_name}",
                f"targets are probabilities, here of {target.dtype!r}: pass target.to({input.dtype!r})",
            )
        )
    loss = (1 - target).mul_(input).sub_(logs)
    return loss if weight is None else loss.mul_(weight)


_MEAN_OF_DIVERGENCES = (
    "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
    "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' "
    "in the next major release."
)


@composite(names=("nn.functional",))
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence ``target * (log target - input)``; ``input`` holds log-probabilities."""
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(_MEAN_OF_DIVERGENCES, stacklevel=to_user())
    for kind, category in (("Complex", "c"), ("Integral", "biu")):
        if any(t._array.dtype.kind in category for t in (input, target)):
            raise RuntimeError(
                hinted(
                    f"kl_div: {kind} inputs not supported.", "log-probabilities and probabilities are floating point"
                )
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
    if size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss.add_(stirling.masked_fill(target <= 1, 0))
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
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
        if input.ndim and tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(n for m, n in zip(input.shape, var.shape) if m != n) != 1:
            raise ValueError(hinted("var is of incorrect size", "one length may be 1 where the input's is not"))
    if reduction not in REDUCTIONS:
        raise ValueError(reduction + " is not valid")
    if not (var.is_floating_point() or var.is_complex()):
        raise RuntimeError(
            hinted(
                f"result type Float can't be cast to the desired output type {c_name(var.dtype)}",
                "variances are numbers with a fraction: var.float()",
            )
        )
    held = var.detach().clamp(min=eps) - var.detach() + var  # the clamp is not differentiated
    loss = 0.5 * (held.log() + (input - target) ** 2 / held)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@op("soft_margin_loss(Tensor self, Tensor target, str reduction) -> Tensor", names=(), node="SoftMarginLossBackward0")
class soft_margin_loss_pair:
    """The logistic loss of targets 1 and -1."""

    real = "soft_margin_loss"
    constants = {"target": "soft_margin_loss"}

    def element(m, self, target):
        return m.log1p(m.exp(-(self * target)))

    def forward(self, target, reduction):
        shape = broadcast_shapes(self.shape, target.shape)  # raises PyTorch's message
        if target.dtype.kind == "c" != self.dtype.kind:
            goal, source = (dtypes.from_numpy(array.dtype).legacy_name for array in (self, target))
            raise RuntimeError(f"result type {source} can't be cast to the desired output type {goal}")
        require_room(self.shape, shape, "the losses have the shape of the input: the target's must fit into it")
        product = np.multiply(self, target).astype(self.dtype, copy=False)  # goes on in this dtype: half overflows
        return reduce_array(np.asarray(np.log1p(np.exp(np.negative(product)))), reduction, self.dtype, (self,))

    def patterns(self, target):
        return (self,)

    def d_self(grad, self, target, reduction):
        return share(grad, self.numel(), reduction) * -target * (-target * self).sigmoid()


@composite(names=("nn.functional",))
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))`` for targets 1 and -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input._array.dtype.kind == "b":
        return -input  # which is refused
    if input._array.dtype.kind in "iu":
        computed, kept = get_default_dtype().legacy_name, input.dtype.legacy_name
        raise RuntimeError(
            hinted(
                f"result type {computed} can't be cast to the desired output type {kept}",
                "the loss has the dtype of its input: convert that with .float()",
            )
        )
    if target.is_complex() and not input.is_complex():
        computed = promote_types(input.dtype, target.dtype).legacy_name
        raise RuntimeError(
            hinted(
                f"result type {computed} can't be cast to the desired output type {input.dtype.legacy_name}",
                "the loss has the dtype of its input: targets are 1 and -1",
            )
        )
    return functions.soft_margin_loss_pair(input, target, reduction)


@composite(names=("nn.functional",))
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The logistic loss of several labels for one sample, averaged over classes (the last dimension)."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * functions.logsigmoid(input) + (1 - target) * functions.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.size(-1)
    return reduced(loss.sum(-1) / classes, reduction)


numbered("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits,
         ("input", "target", "weight", "pos_weight", "reduction"), (None, None, None, None, 0))  # fmt: skip
numbered("kl_div", kl_div, ("input", "target", "reduction"), (None, None, 0))
numbered("poisson_nll_loss", poisson_nll_loss, ("input", "target", "log_input", "full", "eps", "reduction"),
         (None, None, True, False, 1e-8, 0))  # fmt: skip
