"""What operations do with float8 and complex32, which PyTorch moves and converts, but hardly computes with."""

from __future__ import annotations

# Operations that convert, or write numbers, by themselves.
OWN = frozenset(
    (
        "clone",
        "to_copy",
        "copy_from",
        "fill_number",
        "fill_tensor",
        "fill",
        "uniform_",
        "normal_",
        "view_dtype",
        "reshape_copy",
    )
)

# Operations that only move elements.
MOVED = frozenset(
    ("cat", "stack", "repeat", "roll", "flip", "rot90", "split_heads", "merge_heads", "unsafe_view", "index", "index_put_arrays",
     "index_put_arrays_", "index_select", "embedding", "masked_select", "as_strided_scatter", "select_scatter", "slice_scatter",
     "diagonal_scatter", "diag_embed", "pad_in_circles", "constant_pad_nd", "alias_copy", "as_strided_copy", "diagonal_copy",
     "expand_copy", "permute_copy", "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
     "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_shape_copy", "narrow_copy", "unsafe_split",
     "unsafe_split_with_sizes", "block_diagonal", "where_select", "zero_")
)  # fmt: skip

# Operations that compute wider and round once, for each dtype.
_ALL = frozenset(["eq", "ne", "isnan", "isreal", "any", "all", "count_nonzero", "mul", "outer_product"])
_PRODUCTS = frozenset(["abs", "mm", "addmm", "linear_rows", "transposed_mm"])
_COMPLEX = frozenset(
    ("abs", "add", "sub", "rsub", "neg", "addcmul", "sgn", "conjugate", "conj_physical_complex", "isinf", "isfinite",
     "masked_fill", "masked_fill_", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_", "tril",
     "triu", "nonzero_rows", "nonzero_static", "vector_norm_parts", "var_corrected", "std_corrected", "var_mean_corrected",
     "std_mean_corrected", "convolution", "transposed_convolution")
)  # fmt: skip
COMPUTED = {
    "float8_e4m3fn": _ALL | _PRODUCTS,
    "float8_e4m3fnuz": _ALL | _PRODUCTS,
    "float8_e5m2": _ALL | _PRODUCTS | {"isinf", "isfinite"},
    "float8_e5m2fnuz": _ALL | _PRODUCTS,
    "float8_e8m0fnu": _ALL | {"isfinite"},
    "complex32": _ALL | _COMPLEX,
}

_NAMES = """
add_stub: add sub rsub
addmm_impl_cpu_: mm addmm addbmm linear_rows transposed_mm
addmv_impl_cpu: addmv mv
addcdiv_cpu_out: addcdiv
aminmax_cpu: aminmax_pair
baddbmm: baddbmm
batch_norm: batch_norm_parts
bmm: bmm batched_product
cdist: cdist_pairs
channel_shuffle: channel_shuffle
cholesky_cpu: cholesky_factor
cholesky_inverse_out_cpu: cholesky_inverse_of
cholesky_solve_cpu: cholesky_solution
clamp_min_scalar_cpu: relu
clamp_scalar_cpu: hardtanh
cross: cross_parts
cummax_cpu: cummax_pair
cummin_cpu: cummin_pair
cumprod_out_cpu: cumprod
cumsum_out_cpu: cumsum
dot: dot vdot
frexp_cpu: frexp_parts
geqrf_cpu: geqrf_parts qr_parts
index_add_: index_add
index_func_: index_reduce index_reduce_
isfinite: isfinite
isinf: isinf
kthvalue_cpu: kthvalue_pair
ldl_solve_kernel_cpu: ldl_solution
linalg.lu_solve_cpu: lu_solution
linalg_eigh_cpu: eigh_parts
linalg_svd_cpu: svd_values
linspace_cpu: histc
log_softmax_lastdim_kernel_impl: log_softmax
lu_cpu: lu_packed lu_triple solve_parts
masked_fill: masked_fill masked_fill_
masked_scatter: masked_scatter masked_scatter_
max_all: max_all
max_cpu: max_dim
max_values_cpu: amax logsumexp
median_cpu: median_all nanmedian_all
median_out: median_dim nanmedian_dim
min_all: min_all
min_cpu: min_dim
min_values_cpu: amin
mode_cpu: mode_pair
mul_cpu_reduced_float: deg2rad rad2deg attention scaled_scores
nan_to_num: nan_to_num
neg_cpu: soft_margin_loss_pair
nonzero_count_cpu: nonzero_rows
norm_cpu: vector_norm_parts
pdist: pdist_pairs
pixel_shuffle: pixel_shuffle
pixel_unshuffle: pixel_unshuffle
pow: ldexp
prelu_cpu: prelu_kernel
prod_out_cpu: prod_all prod_dim
random_kernel_cpu: random_between_
rms_norm: rms_norm_parts
scatter_gather_tensor_cpu: gather scatter_src scatter_src_ scatter_value scatter_value_ scatter_add scatter_add_
searchsorted_out_cpu: search_positions
sigmoid_cpu_reduced_float: sigmoid
sign_cpu: sgn
softmax_lastdim_kernel_impl: softmax
sorting_kernel_method_name: sort_pair
std_cpu: std_corrected var_corrected std_mean_corrected var_mean_corrected
sum_cpu: mean matrix_exp_parts
take_put_cpu: put put_
topk_cpu: topk_pair
triangular_solve_cpu: triangular_parts triangular_solve_parts
tril: tril lu_halves ldl_parts
triu: triu cholesky_parts
unique: unique_parts
xor_sum_cpu: hash_bits
"""
# The names in PyTorch's messages where they are not those of the table.
KERNELS = {
    name: kernel
    for line in _NAMES.split("\n")[1:-1]
    for kernel, _, names in [line.partition(": ")]
    for name in names.split()
}
KERNELS |= {
    name: f"{name}_vml_cpu"
    for name in [
        "acos",
        "asin",
        "atan",
        "cos",
        "exp",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "sqrt",
        "tan",
        "tanh",
    ]
}
KERNELS["exp2"] = "exp2"
# The same where the second operand is a number, or a tensor of one.
WITH_NUMBERS = {
    "clamp": "clamp_scalar_cpu",
    "clamp_max": "clamp_max_scalar_cpu",
    "clamp_min": "clamp_min_scalar_cpu",
    "div": "div_cpu_reduced_float",
    "floor_divide": "div_floor_cpu_reduced_float",
    "mul": "mul_cpu_reduced_float",
}
KERNELS |= {"clamp": "clamp_cpu", "clamp_max": "minimum_cpu", "clamp_min": "maximum_cpu"}
