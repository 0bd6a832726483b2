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
    return _flowing_back(call, "grad", "input_size")


@rule("transposed_convolution")
def transposed_convolution(call):
    """The same, with a bias."""
    if call.given("bias") is None:
        return _flowing_back(call, "input", "size")
    found, ones = _flowing_back(call, "input", "size", bias=None), [1] * (call.given("input").dim() - 2)
    return found + call.batched("bias").reshape(call.size, 1, -1, *ones)


def _flowing_back(call, images, lengths_of, **others):
    """The call with ``images`` and kernels batched; ``lengths_of`` names the sizes of its result."""
    size, (samples, channels, *lengths) = call.size, call.given(lengths_of)
    if not call.is_batched("weight"):
        others[images], others[lengths_of] = folded(call.batched(images)), (size * samples, channels, *lengths)
        return unfolded(call.run(**others), size)
    others[images], others[lengths_of] = merged(call.batched(images), 1), (samples, size * channels, *lengths)
    found = call.run(**others, weight=folded(call.batched("weight")), groups=size * call.given("groups"))
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
