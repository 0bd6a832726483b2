"""What the steps of a program are called: as PyTorch's functions, where operations of the table have other names."""

from __future__ import annotations

import re

# Parts of names that tell forms of one function apart.
_FORMS = re.compile("_(parts|pair|all|dim|rows|values|corrected|select|even|shape)$")
_OTHER = {
    "to_copy": "to", "reshape_copy": "reshape", "reshape_alias": "reshape", "unsafe_view": "view", "vector_norm": "linalg_vector_norm",
    "attention": "scaled_dot_product_attention", "cross_entropy": "cross_entropy_loss", "scaled_scores": "bmm", "batched_product": "bmm",
    "transposed_mm": "mm", "outer_product": "outer", "vector_products": "dot", "constant_pad_nd": "pad", "scatter_src": "scatter",
    "scatter_value": "scatter", "index_put_arrays_": "index_put_", "fill_number": "fill_", "copy_from": "copy_", "pooled": "embedding_bag",
    "affine_points": "affine_grid", "grid_samples": "grid_sample", "prelu_kernel": "prelu",
}  # fmt: skip
_BY_DIMENSIONS = {
    "convolution": "conv{}d", "transposed_convolution": "conv_transpose{}d", "avg_pool": "avg_pool{}d", "max_pool": "max_pool{}d",
    "adaptive_avg_pool": "adaptive_avg_pool{}d", "adaptive_max_pool": "adaptive_max_pool{}d",
}  # fmt: skip
# Functions that return the first result alone.
_SINGLE = frozenset(
    ("batch_norm", "layer_norm", "group_norm", "rms_norm", "dropout", "nll_loss", "cross_entropy_loss", "scaled_dot_product_attention",
     "ctc_loss", "multi_margin_loss", "multilabel_margin_loss", "embedding_bag")
)  # fmt: skip


def step_name(operation: str, rank: int) -> str:
    """What PyTorch calls what an operation does.

    Args:
        operation: its name in the table.
        rank: the number of dimensions of its first operand.

    >>> from rushlight.export.names import step_name
    >>> step_name("linear_rows", 2), step_name("convolution", 4)
    ('linear', 'conv2d')
    """
    name = _FORMS.sub("", operation)
    return _BY_DIMENSIONS[name].format(rank - 2) if name in _BY_DIMENSIONS else _OTHER.get(name, name)


def result_name(operation: str, rank: int, place: int) -> str | None:
    """What the result at a place is called, where the function has one result and the operation has more."""
    name = step_name(operation, rank)
    return name if place == 0 and name in _SINGLE else None
