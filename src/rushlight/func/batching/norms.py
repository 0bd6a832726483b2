"""Layer, group and batch norms: samples fold or lead; scales and shifts of their own are applied afterwards."""

from __future__ import annotations

from ...base.errors import hinted
from ...ops.norm import channel_shape
from ...ops.table import functions
from .call import folded, merged, rule, split, unfolded


def _affine(call, found, shape):
    """``found * weight + bias`` where those have the batch; ``shape`` is how one entry's meet the result's."""
    for name in ("weight", "bias"):
        if call.given(name) is not None:
            factor = call.batched(name).reshape(call.size, *shape)
            found = found * factor if name == "weight" else found + factor
    return found


def _own_affine(call):
    return call.is_batched("weight") or call.is_batched("bias")


@rule("layer_norm_parts")
def layer_norm(call):
    """The batch leads."""
    if not _own_affine(call):
        return call.run()
    found, mean, scale = call.run(input=call.batched("input"), weight=None, bias=None)
    shape = call.given("normalized_shape")
    ones = [1] * (found.dim() - 1 - len(shape))
    return _affine(call, found, (*ones, *shape)), mean, scale


@rule("layer_norm_gradients")
def layer_norm_gradients(call):
    """Scales and shifts get a gradient for each entry."""
    shape = call.given("normalized_shape")
    grad, image = call.batched("grad"), call.batched("input")
    mean, scale = call.batched("mean"), call.batched("scale")
    lead = image.dim() - 1 - len(shape)
    weight = call.given("weight")
    flow = grad if weight is None else grad * call.batched("weight").reshape(call.size, *[1] * lead, *shape)
    d_input = call.run(grad=flow, input=image, weight=None, bias=None, mean=mean, scale=scale)[0]
    dims = tuple(range(1, 1 + lead))
    # The normal form is computed anew, so that derivatives of this one go through the statistics too.
    normal = grad * functions.layer_norm_parts(image, shape, None, None, call.given("eps"))[0]
    if dims:
        return d_input, normal.sum(dims).to(image.dtype), grad.sum(dims)
    return d_input, normal.to(image.dtype), grad


@rule("rms_norm_parts")
def rms_norm(call):
    """As `layer_norm`."""
    if not call.is_batched("weight"):
        return call.run()
    found, scale = call.run(input=call.batched("input"), weight=None)
    shape = call.given("normalized_shape")
    weight = call.batched("weight").reshape(call.size, *[1] * (found.dim() - 1 - len(shape)), *shape)
    return found * weight, scale


@rule("rms_norm_gradients")
def rms_norm_gradients(call):
    """As `layer_norm_gradients`."""
    shape, weight = call.given("normalized_shape"), call.given("weight")
    grad, image, scale = (call.batched(name) for name in ("grad", "input", "scale"))
    lead = image.dim() - 1 - len(shape)
    flow = grad if weight is None else grad * call.batched("weight").reshape(call.size, *[1] * lead, *shape)
    d_input = call.run(grad=flow, input=image, weight=None, scale=scale)[0]
    normal = grad * functions.rms_norm_parts(image, shape, None, call.given("eps"))[0]
    dims = tuple(range(1, 1 + lead))
    return d_input, (normal.sum(dims) if dims else normal).to(image.dtype)


@rule("group_norm_parts")
def group_norm(call):
    """The batch makes more samples."""
    images = call.batched("input")
    own = _own_affine(call)
    changes = {"weight": None, "bias": None} if own else {}
    found, mean, scale = [unfolded(part, call.size) for part in call.run(input=folded(images), **changes)]
    return (_affine(call, found, channel_shape(call.given("input"))) if own else found), mean, scale


@rule("group_norm_gradients")
def group_norm_gradients(call):
    """As `layer_norm_gradients`."""
    grad, images, weight = call.batched("grad"), call.batched("input"), call.given("weight")
    shape = channel_shape(call.given("input"))
    flow = grad if weight is None else grad * call.batched("weight").reshape(call.size, *shape)
    mean, scale = call.batched("mean"), call.batched("scale")
    d_input = call.run(grad=folded(flow), input=folded(images), weight=None, mean=folded(mean), scale=folded(scale))[0]
    normal = functions.group_norm_parts(folded(images), None, None, call.given("num_groups"), call.given("eps"))[0]
    normal = unfolded(normal, call.size)
    dims = (1, *range(3, images.dim()))
    return unfolded(d_input, call.size), (grad * normal).sum(dims).to(images.dtype), grad.sum(dims)


@rule("batch_norm_parts")
def batch_norm(call):
    """The batch makes more channels; each has statistics of its own."""
    given = {name: call.given(name) for name in ("running_mean", "running_var")}
    if call.given("training") and any(v is not None and not call.is_batched(name) for name, v in given.items()):
        raise RuntimeError(
            hinted(
                "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
                "were not batched.",
                "use batch_norm without running statistics: track_running_stats=False, or "
                "torch.func.replace_all_batch_norm_modules_(model); or eval()",
            )
        )
    statistics = {name: None if v is None else folded(call.batched(name)) for name, v in given.items()}
    found, mean, scale = call.run(input=merged(call.batched("input"), 1), weight=None, bias=None, **statistics)
    found = _affine(call, split(found, 1, call.size), channel_shape(call.given("input")))
    return found, unfolded(mean, call.size), unfolded(scale, call.size)


@rule("batch_norm_gradients")
def batch_norm_gradients(call):
    """As `batch_norm`."""
    weight = call.given("weight")
    found, d_weight, d_bias = call.run(
        grad=merged(call.batched("grad"), 1),
        input=merged(call.batched("input"), 1),
        weight=None if weight is None else folded(call.batched("weight")),
        mean=folded(call.batched("mean")),
        scale=folded(call.batched("scale")),
    )
    return split(found, 1, call.size), unfolded(d_weight, call.size), unfolded(d_bias, call.size)
