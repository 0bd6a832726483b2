"""What operations are called in profiles: by PyTorch's native names, ``aten::addmm``, where PyTorch has such an operation."""

from __future__ import annotations

from types import FunctionType

from ..ops.table import COMPOSITES
from ..tensor.base import Tensor
from ..tensor.names import NAMESPACES, inplace_names, make_all, places

# Operations that are public under no name of their own, and what PyTorch calls what they do.
_NATIVE = {
    "transposed_mm": "mm", "batched_product": "bmm", "scaled_scores": "bmm", "vector_products": "dot", "outer_product": "outer",
    "prod_all": "prod", "prod_dim": "prod", "unsafe_view": "_unsafe_view", "block_diagonal": "block_diag",
    "attention": "_scaled_dot_product_flash_attention_for_cpu",
    "attention_backward": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "convolution": "convolution", "transposed_convolution": "convolution",
    "convolution_input_gradient": "convolution_backward", "convolution_weight_gradient": "convolution_backward",
    "im2col": "im2col", "col2im": "col2im", "to_copy": "_to_copy", "copy_from": "copy_", "fill_number": "fill_", "fill_tensor": "fill_",
    "mse_loss_pair": "mse_loss", "mse_loss_gradient": "mse_loss_backward", "smooth_l1_loss_pair": "smooth_l1_loss",
    "smooth_l1_loss_gradient": "smooth_l1_loss_backward", "huber_loss_pair": "huber_loss", "huber_loss_gradient": "huber_loss_backward",
    "ctc_loss_parts": "_ctc_loss", "ctc_loss_gradient": "_ctc_loss_backward", "cdist_pairs": "_cdist_forward", "pdist_pairs": "_pdist_forward",
    "random_integers": "randint", "random_between_": "random_", "bernoulli_each": "bernoulli", "normal_each": "normal",
    "dropout_pair": "native_dropout", "index": "index", "index_put_arrays": "index_put", "index_put_arrays_": "index_put_",
    "embedding_gradient": "embedding_dense_backward", "pooled_rows": "_embedding_bag", "pooled_rows_gradient": "_embedding_bag_backward",
    "max_all": "max", "min_all": "min", "max_dim": "max", "min_dim": "min", "aminmax_pair": "aminmax",
    "fft_c2c": "_fft_c2c", "fft_r2c": "_fft_r2c", "fft_c2r": "_fft_c2r", "placed": "scatter_add",
    "scatter_src": "scatter", "scatter_src_": "scatter_", "scatter_value": "scatter", "scatter_value_": "scatter_",
    "affine_points": "affine_grid_generator", "grid_samples": "grid_sampler", "cholesky_parts": "linalg_cholesky_ex",
    "cholesky_solution": "cholesky_solve", "eigh_parts": "_linalg_eigh", "eig_parts": "linalg_eig", "inverse_parts": "linalg_inv_ex",
    "slogdet_parts": "_linalg_slogdet", "solve_parts": "_linalg_solve_ex", "triangular_parts": "linalg_solve_triangular",
    "lstsq_parts": "linalg_lstsq", "lu_packed": "linalg_lu_factor_ex", "lu_triple": "linalg_lu", "lu_halves": "lu_unpack",
    "lu_solution": "linalg_lu_solve", "qr_parts": "linalg_qr", "svd_parts": "_linalg_svd", "svd_values": "linalg_svdvals",
    "conj_view": "_conj", "conj_physical_complex": "conj_physical", "complex_of_parts": "complex", "polar_of_parts": "polar",
    "cross_parts": "linalg_cross", "matrix_exp_parts": "linalg_matrix_exp", "vector_norm_parts": "linalg_vector_norm",
    "nll_loss_parts": "nll_loss_forward", "nll_loss_gradient": "nll_loss_backward", "binary_cross_entropy_pair": "binary_cross_entropy",
    "binary_cross_entropy_with_logits_pair": "binary_cross_entropy_with_logits",
    "binary_cross_entropy_with_logits_steps": "binary_cross_entropy_with_logits", "soft_margin_loss_pair": "soft_margin_loss",
    "layer_norm_parts": "native_layer_norm", "layer_norm_gradients": "native_layer_norm_backward",
    "rms_norm_parts": "_fused_rms_norm", "rms_norm_gradients": "_fused_rms_norm_backward",
    "group_norm_parts": "native_group_norm", "group_norm_gradients": "native_group_norm_backward",
    "batch_norm_parts": "native_batch_norm", "batch_norm_gradients": "native_batch_norm_backward",
    "unfold_gradient": "unfold_backward", "select_gradient": "select_backward", "slice_gradient": "slice_backward",
    "diagonal_gradient": "diagonal_backward", "slice_dim": "slice", "nonzero_rows": "nonzero", "one_hot_rows": "one_hot",
    "sort_pair": "sort", "topk_pair": "topk", "kthvalue_pair": "kthvalue", "mode_pair": "mode", "median_dim": "median",
    "median_all": "median", "nanmedian_dim": "nanmedian", "nanmedian_all": "nanmedian", "cummax_pair": "cummax", "cummin_pair": "cummin",
    "search_positions": "searchsorted", "arange_values": "arange", "softmax_gradient": "_softmax_backward_data",
    "log_softmax_gradient": "_log_softmax_backward_data", "split_even": "split", "var_corrected": "var", "std_corrected": "std",
    "var_mean_corrected": "var_mean", "std_mean_corrected": "std_mean", "view_shape": "view", "view_dtype": "view",
    "reshape_alias": "_reshape_alias", "reshape_copy": "clone", "alias": "alias", "where_select": "where", "glu_gradient": "glu_backward",
    "polygamma_of": "polygamma", "prelu_kernel": "_prelu_kernel", "prelu_backward": "_prelu_kernel_backward",
    **{name: name for name in ("silu", "mish", "elu", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu", "rrelu_with_noise")},
    **{f"{name}_backward": f"{name}_backward" for name in (
        "threshold", "sigmoid", "tanh", "gelu", "silu", "mish", "softplus", "elu", "leaky_relu", "hardtanh", "hardsigmoid",
        "hardswish")},
}  # fmt: skip

_RENAMED = {"cross_entropy": "cross_entropy_loss"}

# Composites that compute nothing, and forms of others: no events.
_NO_EVENTS = frozenset(
    ("is_tensor", "is_nonzero", "can_cast", "result_type", "common_shape", "dim_order", "is_contiguous", "unexpanded", "equal",
     "module_load", "unfold_windows", "invert")
)  # fmt: skip


def operation_name(op, values, writes):
    """The name of an event of a table operation, called with these bound ``values``, in place if it ``writes``."""
    name = op.name
    if op.names:
        return f"aten::{name}{'_' * (writes and not name.endswith('_'))}"
    if name == "linear_rows":
        return "aten::mm" if values[2] is None else "aten::addmm"
    native = _NATIVE.get(name)
    return f"rushlight::{name}" if native is None else f"aten::{native}"


def composites():
    """The public functions that are written with other operations, each once, and the names of their events."""
    make_all()
    found: dict = {}
    for entry in COMPOSITES.values():
        for suffix, names in (("", entry.names), ("_", inplace_names(entry.names) if entry.inplace else ())):
            for where, name in places(entry.name + suffix, names):
                function = vars(Tensor)[name] if where == "Tensor" else NAMESPACES[where][name]
                if isinstance(function, FunctionType) and entry.name not in _NO_EVENTS and where != "masked":
                    own = name if entry.name.startswith(("functional_", "numbered_")) else entry.name + suffix
                    own = _RENAMED.get(own, own.removesuffix("_method"))
                    found.setdefault(function, f"aten::{own}")
    return found
