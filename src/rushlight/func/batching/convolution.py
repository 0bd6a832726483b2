"""Convolutions: the batch makes more samples or more channels or, where kernels have it too, more groups."""

from __future__ import annotations

from .call import folded, merged, rule, split, unfolded


@rule("convolution")
def convolution(call):
    """(n, c, ...) with kernels (o, c / groups, ...)."""
    images, kernels, bias = call.given("input"), call.given("weight"), call.given("bias")
    size = call.size
    simple = bias is None or not (call.is_batched("bias") or call.is_batched("weight"))
    kept = call.given("bias") if simple else None
    if not call.is_batched("weight"):
        if not call.is_batched("input"):
            found = call.run(bias=kept).unsqueeze(0)
        else:
            found = unfolded(call.run(input=folded(call.batched("input")), bias=kept), size)
    elif not call.is_batched("input") and call.given("groups") == 1:
        found = split(call.run(weight=folded(call.batched("weight")), bias=kept), 1, size)
    else:
        found = call.run(
            input=merged(call.batched("input"), 1),
            weight=folded(call.batched("weight")),
            bias=kept,
            groups=size * call.given("groups"),
        )
        found = split(found, 1, size)
    if simple:
        return found
    ones = [1] * (images.dim() - 2)
    return found + call.batched("bias").reshape(size, 1, kernels.shape[0], *ones)


@rule("convolution_input_gradient")
def input_gradient(call):
    """What flows back to the images."""
    size, (samples, channels, *lengths) = call.size, call.given("input_size")
    if not call.is_batched("weight"):
        found = call.run(grad=folded(call.batched("grad")), input_size=(size * samples, channels, *lengths))
        return unfolded(found, size)
    found = call.run(
        grad=merged(call.batched("grad"), 1),
        weight=folded(call.batched("weight")),
        input_size=(samples, size * channels, *lengths),
        groups=size * call.given("groups"),
    )
    return split(found, 1, size)


@rule("convolution_weight_gradient")
def weight_gradient(call):
    """What flows back to the kernels: those of every entry are groups of their own."""
    size, (outputs, *rest) = call.size, call.given("weight_size")
    found = call.run(
        grad=merged(call.batched("grad"), 1),
        input=merged(call.batched("input"), 1),
        weight_size=(size * outputs, *rest),
        groups=size * call.given("groups"),
    )
    return unfolded(found, size)
