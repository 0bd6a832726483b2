"""What operations are called in profiles: by PyTorch's native names, ``aten::addmm``, where PyTorch has such an operation."""

from __future__ import annotations

from types import FunctionType

from ..ops.table import COMPOSITES
from ..tensor.base import Tensor
from ..tensor.names import NAMESPACES, inplace_names, make_all, places
from ..utils.native_operations import native_name

# Operations that are public under no name of their own and have other arguments than what PyTorch calls so.
_NATIVE = {
    "transposed_mm": "mm", "batched_product": "bmm", "scaled_scores": "bmm", "outer_product": "outer", "block_diagonal": "block_diag",
    "attention": "_scaled_dot_product_flash_attention_for_cpu",
    "attention_backward": "_scaled_dot_product_flash_attention_for_cpu_backward", "transposed_convolution": "convolution",
    "convolution_input_gradient": "convolution_backward", "convolution_weight_gradient": "convolution_backward",
    "im2col": "im2col", "col2im": "col2im", "mse_loss_gradient": "mse_loss_backward",
    "smooth_l1_loss_gradient": "smooth_l1_loss_backward", "huber_loss_gradient": "huber_loss_backward",
    "ctc_loss_parts": "_ctc_loss", "ctc_loss_gradient": "_ctc_loss_backward", "cdist_pairs": "_cdist_forward", "pdist_pairs": "_pdist_forward",
    "random_between_": "random_", "pooled_rows": "_embedding_bag", "pooled_rows_gradient": "_embedding_bag_backward",
    "fft_c2c": "_fft_c2c", "fft_r2c": "_fft_r2c", "fft_c2r": "_fft_c2r", "placed": "scatter_add",
    "affine_points": "affine_grid_generator", "grid_samples": "grid_sampler",
    "cholesky_solution": "cholesky_solve", "eigh_parts": "_linalg_eigh", "eig_parts": "linalg_eig",
    "slogdet_parts": "_linalg_slogdet", "solve_parts": "_linalg_solve_ex", "triangular_parts": "linalg_solve_triangular",
    "lstsq_parts": "linalg_lstsq", "lu_packed": "linalg_lu_factor_ex", "lu_triple": "linalg_lu", "lu_halves": "lu_unpack",
    "lu_solution": "linalg_lu_solve", "qr_parts": "linalg_qr", "svd_values": "linalg_svdvals",
    "conj_view": "_conj", "conj_physical_complex": "conj_physical", "polar_of_parts": "polar", "matrix_exp_parts": "linalg_matrix_exp",
    "nll_loss_gradient": "nll_loss_backward", "binary_cross_entropy_with_logits_steps": "binary_cross_entropy_with_logits",
    "soft_margin_loss_pair": "soft_margin_loss", "layer_norm_gradients": "native_layer_norm_backward",
    "rms_norm_parts": "_fused_rms_norm", "rms_norm_gradients": "_fused_rms_norm_backward",
    "group_norm_gradients": "native_group_norm_backward", "batch_norm_gradients": "native_batch_norm_backward",
    "unfold_gradient": "unfold_backward", "diagonal_gradient": "diagonal_backward", "one_hot_rows": "one_hot",
    "reshape_alias": "_reshape_alias", "reshape_copy": "clone", "alias": "alias", "glu_gradient": "glu_backward",
    "polygamma_of": "polygamma", "prelu_kernel": "_prelu_kernel", "prelu_backward": "_prelu_kernel_backward",
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
    native = _NATIVE.get(name) or native_name(name)
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
