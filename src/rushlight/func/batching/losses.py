"""Losses: elementwise for the whole batch, then reduced over each entry."""

from __future__ import annotations

import math

from ...ops.table import functions
from ...tensor.interposers import interposed
from .call import aligned, folded, rule, unfolded


def _reduced(loss, reduction):
    """The mean or sum of each entry's losses, or they themselves."""
    if reduction == "none":
        return loss
    dims = tuple(range(1, loss.dim()))
    if not dims:
        return loss
    return loss.mean(dims) if reduction == "mean" else loss.sum(dims)


def _spread(grad, like, reduction):
    """The gradient of each elementwise loss, given that of the reduced one."""
    if reduction == "none":
        return grad
    grad = aligned(grad, like.dim() - 1)
    return grad / math.prod(like.shape[1:]) if reduction == "mean" and like.numel() else grad


@rule(
    "mse_loss_pair", "smooth_l1_loss_pair", "huber_loss_pair", "binary_cross_entropy_pair",
    "binary_cross_entropy_with_logits_pair", "binary_cross_entropy_with_logits_steps", "soft_margin_loss_pair",
)  # fmt: skip
def distance(call):
    """Losses of pairs of elements."""
    ndim = max(call.given(name).dim() for name in call.tensors())
    changes = {name: aligned(call.batched(name), ndim) for name in call.tensors()}
    return _reduced(call.run(**changes, reduction="none"), call.given("reduction"))


@rule("mse_loss_gradient", "smooth_l1_loss_gradient", "huber_loss_gradient")
def distance_gradient(call):
    """The gradients of those."""
    pair = {name: call.batched(name) for name in ("self", "target")}
    grad = _spread(call.batched("grad"), pair["self"], call.given("reduction"))
    return call.run(**pair, grad=grad.expand(pair["self"].shape), reduction="none")


# ---------------------------------------------------------------- class numbers


def _weights(call):
    """The weight of each target, zero where it is ignored, as (batch, ...) in the dtype of the losses: it has no gradient."""
    target = call.batched("target")
    dtype = call.given("self" if "self" in call.schema.index else "grad").dtype
    valid = (target != call.given("ignore_index")).to(dtype)
    if call.given("weight") is None:
        return valid
    weight, places = call.batched("weight").detach(), (target * valid.to(target.dtype)).reshape(call.size, -1)
    return weight.gather(1, places).reshape(target.shape) * valid


def _picked(call):
    """(scores, targets) of the whole batch as samples, and the shape of the losses."""
    scores, target = call.batched("self"), call.batched("target")
    if call.given("self").dim() == 1:
        return scores, target.reshape(call.size), target.shape
    return folded(scores), folded(target), target.shape


def _weighted(call, loss, weights):
    """(the losses reduced, the total weight) of each entry."""
    reduction = call.given("reduction")
    total = weights.reshape(call.size, -1).sum(1)
    if reduction == "none":
        return loss, functions.zeros_like(total)
    found = loss.reshape(call.size, -1).sum(1)
    return (found / total if reduction == "mean" else found), total


@rule("nll_loss_parts")
def nll_loss(call):
    """Each sample's loss without weights, then weighted."""
    scores, target, shape = _picked(call)
    loss = call.run(self=scores, target=target, weight=None, reduction="none")[0].reshape(shape)
    weights = _weights(call)
    return _weighted(call, loss if call.given("weight") is None else loss * weights, weights)


def _flows(call, shape):
    """What flows back to each sample's loss, weights included."""
    grad, weights = call.batched("grad"), _weights(call)
    if call.given("reduction") == "mean":
        grad = grad / call.batched("total")
    return (aligned(grad, len(shape) - 1) if call.given("reduction") != "none" else grad) * weights


@rule("nll_loss_gradient")
def nll_loss_gradient(call):
    """Minus what flows back, at the target classes."""
    shape = call.given("shape")
    target = call.batched("target")
    flow = _flows(call, target.shape).expand(target.shape)
    if len(shape) == 1:
        return call.run(
            grad=flow, target=target, weight=None, reduction="none", total=functions.zeros(()),
            shape=(call.size, *shape),
        )  # fmt: skip
    found = call.run(
        grad=folded(flow), target=folded(target), weight=None, reduction="none", total=functions.zeros(()),
        shape=(call.size * shape[0], *shape[1:]),
    )  # fmt: skip
    return unfolded(found, call.size)


@rule("multi_margin_loss_parts", "multilabel_margin_loss_parts")
def margin(call):
    """Rows of class scores. Returns the losses, and what flows back to each score."""
    if "weight" in call.schema.index and call.is_batched("weight"):
        return _margin_by_weight(call)
    scores, target = call.batched("self"), call.batched("target")
    classes = scores.shape[-1] if scores.dim() > 1 else 1
    labels = target.reshape(-1) if "p" in call.schema.index else target.reshape(-1, classes)
    loss, slope = call.run(self=scores.reshape(-1, classes), target=labels, reduction="none")
    loss = loss.reshape(call.size, *call.given("self").shape[:-1])
    return _reduced(loss, call.given("reduction")), slope.reshape(scores.shape)


def _margin_by_weight(call):
    """`margin` where the class weights have the batch: they are factors of each sample."""
    weight = call.given("weight")
    with interposed(call.level):
        plain = [None if value is weight else value for value in call.values[:-1]]
        loss, slope = functions.multi_margin_loss_parts(*plain, "none")
        factor = weight.detach().index_select(0, call.given("target").reshape(-1)).reshape(loss.shape)
        loss, slope = loss * factor, slope * factor.unsqueeze(-1)
    return _reduced(call.level.batch(loss), call.given("reduction")), call.level.batch(slope)
