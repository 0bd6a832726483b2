"""Operations that leave leading dimensions alone, or broadcast: the batch is one more of them."""

from __future__ import annotations

from ...base.errors import hinted
from ...ops.table import functions
from .call import aligned, each, folded, rule, unfolded


@rule(
    "alias", "conj_view", "_neg_view", "real_part", "imaginary_part", "view_as_real", "view_as_complex", "tril", "triu",
    "constant_pad_nd", "pad_by_places", "pad_in_circles", "max_pool_values", "max_pool_values_gradient",
    "max_pool_places", "places_gradient", "max_unpool_places", "avg_pool", "avg_pool_gradient", "adaptive_avg_pool",
    "adaptive_avg_pool_gradient", "adaptive_max_pool", "pixel_shuffle", "pixel_unshuffle", "vector_products",
    "frexp_parts", "pdist_pairs", "symmetric_matrix", "one_hot_rows", "fake_quantize_by_numbers", "fake_quantize_by_tensors",
)  # fmt: skip
def leading(call):
    """Every tensor gets the batch."""
    return call.run(**{name: call.batched(name) for name in call.tensors()})


@rule("masked_fill", "cdist_pairs", "distance_gradient", "fill", "polar_of_parts", "complex_of_parts")
def broadcast(call):
    """Every tensor gets the batch, and as many dimensions as the others."""
    ndim = max(call.given(name).dim() for name in call.tensors())
    changes = {name: aligned(call.batched(name), ndim) for name in call.tensors()}
    if "value" in changes:
        value = changes["value"].to(changes["self"].dtype)
        if call.op.name == "fill":
            return value.expand(changes["self"].shape).clone()
        return functions.where_select(changes["mask"], value, changes["self"])
    return call.run(**changes)


@rule("batched_product")
def batched_product(call):
    """Leading dimensions broadcast: an operand without a batch stays as it is."""
    ndim = max(call.given(name).dim() for name in call.tensors())
    return call.run(**{
        name: aligned(call.batched(name), ndim) if call.is_batched(name) else call.given(name) for name in call.tensors()
    })  # fmt: skip


@rule(
    "im2col", "col2im", "channel_shuffle", "interpolate_parts", "interpolate_gradient", "fractional_max_pool",
    "grid_samples", "grid_samples_input_gradient", "grid_samples_grid_gradient",
)  # fmt: skip
def samples(call):
    """Operations on (samples, ...): the batch makes more samples."""
    changes = {name: folded(call.batched(name)) for name in call.tensors()}
    return each(call.run(**changes), lambda part: unfolded(part, call.size))


@rule("affine_points")
def affine_points(call):
    """One map for each sample."""
    samples, *rest = call.given("size")
    return unfolded(call.run(theta=folded(call.inside[0]), size=(call.size * samples, *rest)), call.size)


@rule("clone", "to_copy")
def clone(call):
    """The batch may lie anywhere in memory, so that orders which count four or five dimensions mean nothing."""
    order = call.given("memory_format")
    if "channels_last" in str(order):
        raise RuntimeError(
            hinted(
                "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
                f"torch.contiguous_format (got {order})",
                "ask for the order outside of vmap, where the batch is a dimension as others are",
            )
        )
    return call.run()
