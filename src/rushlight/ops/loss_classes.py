"""Losses of class scores and log-probabilities: negative log-likelihood and cross entropy."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .elementwise.checks import NOT_FLOATING, check_scalar_type
from .loss import REDUCTIONS, reduction_of
from .reduce import add_up
from .table import composite, functions, op, widened


def _picked_places(target, shape, ignore_index):
    """(places to pick, which of them count or None for all): class numbers checked against the class dimension."""
    classes = shape[0] if len(shape) == 1 else shape[1]
    wide = target.view(np.uint64) if target.dtype.itemsize == 8 else target  # negative numbers become huge
    if not target.size or (np.maximum.reduce(wide, None) < classes and not 0 <= ignore_index < classes):
        return target, None
    valid = check_classes(target, classes, ignore_index)
    return np.where(valid, target, 0), valid


def check_classes(target, classes, ignore_index):
    """Which places count, after PyTorch's refusal of class numbers that are none."""
    valid = target != ignore_index
    wrong = valid & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(
            hinted(
                f"Target {int(target[wrong].flat[0])} is out of bounds.",
                f"there are {classes} classes, numbered 0 to {classes - 1}; labels that start at 1 need a - 1",
            )
        )
    return valid


def _summed(loss, places, valid, weight, reduction, kind):
    """(the losses weighted and reduced, the total weight) in a dtype."""
    if weight is not None:
        weights = widened(weight)[places]
        loss = loss * weights
    if valid is not None:
        loss = np.where(valid, loss, loss.dtype.type(0))
    if reduction == "none":
        return np.asarray(loss, kind, "C"), np.zeros((), kind)
    if weight is None:
        total = loss.dtype.type(loss.size if valid is None else np.count_nonzero(valid))
    else:
        total = add_up(np.asarray(weights if valid is None else np.where(valid, weights, weights.dtype.type(0))))
    found = add_up(np.asarray(loss))
    if reduction == "mean":
        found = found / total
    return np.asarray(found, kind), np.asarray(total, kind)


def _node_name(self, *options):
    return "NllLossBackward0" if self.ndim <= 2 else "NllLoss2DBackward0"


def _kernel_name(self, *options):
    return "nll_loss_out_frame" if self.ndim <= 2 else "nll_loss2d_forward_out_frame"


def _function_name(self, *options):
    return "nll_loss_forward" if self.ndim <= 2 else "nll_loss2d_forward"


@op("nll_loss(Tensor self, Tensor target, Tensor? weight, str reduction, int ignore_index) -> Tensor[]",
    names=(), node=_node_name, refuse=NOT_FLOATING)  # fmt: skip
class nll_loss_parts:
    """Minus the log-probability of each target class, from (classes) or (samples, classes, ...); and the total weight."""

    kernel = _kernel_name
    beside = ("self",)
    constants = {"weight": _function_name}

    tracked = 1

    def forward(self, target, weight, reduction, ignore_index):
        places, valid = _picked_places(target, self.shape, ignore_index)
        if self.ndim == 2:
            picked = self[np.arange(places.size), places]
        else:
            axis = 0 if self.ndim == 1 else 1
            picked = np.take_along_axis(self, np.expand_dims(places, axis).astype(np.int64, copy=False), axis)
            picked = picked.squeeze(axis)
        return _summed(np.negative(widened(picked)), places, valid, weight, reduction, self.dtype)

    def d_self(grad, shape, target, weight, reduction, ignore_index, result1):
        return functions.nll_loss_gradient(grad, target, weight, reduction, ignore_index, result1, shape)


@op("nll_loss_gradient(Tensor grad, Tensor target, Tensor? weight, str reduction, int ignore_index, Tensor total, "
    "int[] shape) -> Tensor", names=(), node="NllLossBackwardBackward0")  # fmt: skip
class nll_loss_gradient:
    """The gradient of `nll_loss_parts`: minus the class weight at each target class, zero elsewhere."""

    def forward(grad, target, weight, reduction, ignore_index, total, shape):
        found = np.zeros(shape, grad.dtype)
        places, valid = _picked_places(target, shape, ignore_index)
        each = np.negative(grad / total if reduction == "mean" else grad)
        if weight is not None:
            each = each * weight[places]
        if valid is not None:
            each = np.where(valid, each, each.dtype.type(0))
        if len(shape) == 2:
            found[np.arange(places.size), places] = each
        else:
            axis = 0 if len(shape) == 1 else 1
            places = np.expand_dims(places, axis).astype(np.int64, copy=False)
            each = np.broadcast_to(np.asarray(each, grad.dtype), target.shape)
            np.put_along_axis(found, places, np.expand_dims(each, axis), axis)
        return found

    def d_grad(grads, target, weight, reduction, ignore_index, total):
        picked = functions.nll_loss_parts(grads[0], target, weight, "none", ignore_index)[0]
        if reduction == "none":
            return picked
        return picked.sum() / total if reduction == "mean" else picked.sum()


@op("cross_entropy(Tensor self, Tensor target, Tensor? weight, str reduction, int ignore_index, "
    "float label_smoothing, bool keep) -> Tensor[]", names=(), node="NllLossBackward0")  # fmt: skip
class cross_entropy_parts:
    """`cross_entropy` of (samples, classes) and class numbers, in one pass; and the total weight; and, to ``keep``, the
    logarithms of the probabilities, which are what backward takes.

    ``label_smoothing`` takes no ``weight``, and is of what is kept, as half precision is. Its nodes (tensor/cross_entropy.py) differentiate again.
    """

    constants = {"weight": _function_name}

    tracked = 1

    def forward(self, target, weight, reduction, ignore_index, label_smoothing, keep):
        places, valid = _picked_places(target, self.shape, ignore_index)
        x = widened(self)
        below = x - np.maximum.reduce(x, axis=1, keepdims=True)
        logs = (below - np.log(add_up(np.exp(below), 1))[:, None]).astype(self.dtype, copy=False)
        kept = widened(logs)
        loss = x.dtype.type(label_smoothing - 1) * kept[np.arange(places.size), places]
        if label_smoothing:
            loss -= x.dtype.type(label_smoothing / x.shape[1]) * add_up(kept, 1)
        return *_summed(loss, places, valid, weight, reduction, self.dtype), logs

    def d_self(grad, target, weight, reduction, ignore_index, label_smoothing, result1, result2):
        return functions.cross_entropy_gradient(
            result2, grad, target, weight, reduction, ignore_index, label_smoothing, result1, False
        )


@op("cross_entropy_gradient(Tensor logs, Tensor grad, Tensor target, Tensor? weight, str reduction, int ignore_index, "
    "float label_smoothing, Tensor total, bool overwrite) -> Tensor", names=())  # fmt: skip
class cross_entropy_gradient:
    """The gradient of `cross_entropy_parts`: the softmax less the target's distribution, weighted.

    ``overwrite`` says that nobody needs ``logs`` any more: the result may lie in their memory.
    """

    untracked = True

    def forward(logs, grad, target, weight, reduction, ignore_index, label_smoothing, total, overwrite):
        places, valid = _picked_places(target, logs.shape, ignore_index)
        found = np.exp(widened(logs))
        if label_smoothing:
            found -= found.dtype.type(label_smoothing / logs.shape[1])
        found[np.arange(places.size), places] -= found.dtype.type(1 - label_smoothing)
        each = widened(grad / total if reduction == "mean" else grad)
        if weight is not None:
            each = each * widened(weight)[places]
        found *= each if each.ndim == 0 else each[:, None]
        if valid is not None:
            found[~valid] = 0
        return found.astype(logs.dtype, copy=False)


def loss_of_logs(logs, target, weight, reduction, ignore_index, label_smoothing):
    """The loss of `cross_entropy_parts` from the logarithms of the probabilities, by operations that are differentiated."""
    if label_smoothing:
        return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing, 1)
    return functions.nll_loss_parts(logs, target, weight, reduction, ignore_index)[0]


def _check_target(input, target, weight):
    """PyTorch's refusals of shapes and dtypes that do not belong together."""
    if target.dtype is not dtypes.int64 and target.dtype is not dtypes.uint8:
        raise RuntimeError(
            hinted(
                f"expected target dtype to be Long or Byte, but got {target.dtype.legacy_name}",
                "the target holds class numbers: convert it with .long()",
            )
        )
    shape, target_shape = input._array.shape, target._array.shape
    classes = shape[0] if len(shape) == 1 else shape[1]
    if len(shape) <= 2 and len(target_shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(shape) <= 2 and weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if len(shape) == 4 and len(target_shape) != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(target_shape)}"
        )
    if len(shape) > 2 and shape[2:] != target_shape[1:]:
        raise RuntimeError(
            hinted(
                f"size mismatch (got input: {list(shape)} , target: {list(target_shape)}"
                if len(shape) == 4
                else f"Expected target size {[shape[0], *shape[2:]]}, got {list(target_shape)}",
                "the target has the input's shape without the class dimension (dimension 1)",
            )
        )
    if len(shape) > 2 and weight is not None and weight.numel() != classes:
        raise RuntimeError(
            hinted(
                "weight tensor should be defined either for all or no classes",
                f"there are {classes} classes, and the weight has the shape {list(weight.shape)}",
            )
        )
    if input.is_floating_point():  # its kernel refuses other inputs first
        if weight is not None:
            check_scalar_type(weight.dtype, input.dtype)
        if len(shape) > 2:
            check_scalar_type(target.dtype, dtypes.int64)


@composite(names=("nn.functional",))
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Minus the log-probability of the target class: input (N, C, ...) or (C), target (N, ...) of class numbers.

    >>> import rushlight as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
    target = _matching(input, target, weight)
    if weight is not None and weight.ndim != 1:
        weight = weight.reshape(-1)
    return functions.nll_loss_parts(input, target, weight, reduction, ignore_index)[0]


def _matching(input, target, weight):
    """The target of class numbers in the shape that the input calls for, after PyTorch's refusals."""
    if weight is not None and weight.dtype is not input.dtype and input.is_floating_point():
        raise RuntimeError(
            hinted(
                f"expected scalar type {input.dtype.legacy_name} but found {weight.dtype.legacy_name}",
                "convert the weight: weight.to(input.dtype)",
            )
        )
    ndim = input.ndim
    if ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {ndim})")
    if ndim == 1 and target.numel() == 1 and target.ndim < 2:
        target = target.reshape(())
    elif ndim == 1:
        if target.ndim == 1:
            raise ValueError(
                hinted(
                    f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}",
                    "an input without a dimension of samples has one class number",
                )
            )
    elif not target.ndim or input._array.shape[0] != target._array.shape[0]:
        raise ValueError(
            hinted(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0] if target.ndim else 0}).",
                f"the input has shape {list(input.shape)}, the target {list(target.shape)}",
            )
        )
    _check_target(input, target, weight)
    return target


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
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    scores, classes = input._array, target._array
    shape = scores.shape
    class_dim = 0 if len(shape) == 1 else 1
    if classes.shape == shape:
        _check_probabilities(input, target, weight, ignore_index, class_dim)
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, class_dim)
    if (
        len(shape) == 2
        and scores.size
        and scores.dtype in dtypes.FLOATS
        and not (label_smoothing and weight is not None)
        and not functions.interposers  # which see PyTorch's two operations
    ):
        if weight is not None or classes.shape != shape[:1] or classes.dtype is not dtypes.INT64_ARRAY:
            target = _matching(input, target, weight)
        keep = (
            (input._edge is not None and functions.is_grad_enabled()) or bool(label_smoothing) or scores.itemsize == 2
        )
        return functions.cross_entropy_parts(input, target, weight, reduction, ignore_index, label_smoothing, keep)[0]
    logs = functions.log_softmax(input, class_dim)
    if label_smoothing == 0.0:
        return nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing, class_dim)


def _check_probabilities(input, target, weight, ignore_index, class_dim):
    if not target.is_floating_point():
        raise RuntimeError(
            hinted(
                f"Expected floating point type for target with class probabilities, got {target.dtype.legacy_name}",
                "class numbers have the input's shape without its class dimension",
            )
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input.shape[class_dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )


def _along_classes(weight, ndim, class_dim):
    shape = [1] * ndim
    shape[class_dim] = -1
    return weight.reshape(shape)


def _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, class_dim):
    classes = input.shape[class_dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    logs = functions.log_softmax(input, class_dim)
    if weight is not None:
        logs = logs * _along_classes(weight, input.ndim, class_dim)
    if reduction == "none":
        return -(logs * target).sum(class_dim)
    total = -(logs * target).sum()
    return total / (input.numel() / max(classes, 1)) if reduction == "mean" else total


def _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing, class_dim):
    classes = logs.shape[class_dim]
    nll = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if weight is not None:
        logs = logs * _along_classes(weight, logs.ndim, class_dim)
    ignored = target == ignore_index
    smooth = (-logs.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is None:
            total = ignored.logical_not().sum()
        else:
            safe = target.masked_fill(ignored, 0)
            total = weight[safe.reshape(-1)].reshape(target.shape).masked_fill(ignored, 0).sum()
        smooth = smooth.sum() / total
    elif reduction == "sum":
        smooth = smooth.sum()
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / classes)
