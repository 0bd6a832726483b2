"""What operations do with float8 and complex32, which PyTorch moves and converts, but hardly computes with."""

from __future__ import annotations

# Operations that convert, or write numbers, by themselves.
OWN = frozenset("clone to_copy copy_from fill_number fill_tensor fill zero_ view_dtype reshape_copy".split())

# Operations that only move elements, and take no numbers.
MOVED = frozenset(
    """
    cat stack repeat roll rot90 split_heads merge_heads unsafe_view index index_put_arrays index_put_arrays_ index_select index_copy
    index_copy_ embedding masked_select as_strided_scatter select_scatter slice_scatter diagonal_scatter diag_embed pad_in_circles
    alias_copy as_strided_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy split_with_sizes_copy
    squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_shape_copy narrow_copy unsafe_split
    unsafe_split_with_sizes block_diagonal where_select
    """.split()
)

_FLOAT8 = frozenset("eq ne isnan isreal any all count_nonzero".split())
_PRODUCTS = frozenset("abs mm addmm addbmm linear_rows".split())
COMPUTED = {
    "float8_e4m3fn": _FLOAT8 | _PRODUCTS,
    "float8_e4m3fnuz": _FLOAT8 | _PRODUCTS,
    "float8_e5m2": _FLOAT8 | _PRODUCTS | {"isinf", "isfinite"},
    "float8_e5m2fnuz": _FLOAT8 | _PRODUCTS,
    "float8_e8m0fnu": _FLOAT8 | {"isfinite"},
    "complex32": _FLOAT8
    | frozenset(
        """
        abs add sub rsub mul neg addcmul sgn conjugate conj_physical_complex isinf isfinite masked_fill masked_fill_ index_add
        index_add_ index_fill index_fill_ tril triu nonzero_rows nonzero_static flip angle vector_norm_parts
        """.split()
    ),
}

# The names in PyTorch's messages where they are not those of the table.
KERNELS = {}
