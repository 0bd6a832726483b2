"""Operations whose recorded graph differs from PyTorch's, and why: gradients are the same, the names of nodes are not.

The test fails for an operation in this list whose graph has become PyTorch's: the list holds nothing that is not so.
"""

_GROUPS = {
    # Faster as fewer steps, or as one: PyTorch's graph has the parts.
    "fused": """outer linear einsum cross_entropy rnn_tanh_cell rnn_relu_cell gru_cell lstm_cell rnn_tanh rnn_relu gru lstm
        pad kron real imag dropout functional_dropout fft_hfft2 fft_hfftn cosine_similarity gaussian_nll_loss""",
    # A node of its own there, written with other operations here.
    "a composite here": """bilinear conv_tbc native_group_norm
        linalg_householder_product orgqr ormqr renorm dist""",
    # The same steps in another order, shape or number.
    "other steps": """combinations gradient fractional_max_pool2d fractional_max_pool3d
        fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices trapezoid cumulative_trapezoid
        linalg_tensorsolve linalg_cross cross vander linalg_matrix_power matrix_power linalg_cond quantile nanquantile stft
        istft cov corrcoef local_response_norm fft_ihfft2 fft_ihfftn""",
    # PyTorch's C++ calls overloads for numbers (AddBackward1, MulBackward1, NormBackward1), or rsub as a difference.
    "overloads called from C++": """hinge_embedding_loss margin_ranking_loss cosine_embedding_loss pairwise_distance
        triplet_margin_loss triplet_margin_with_distance_loss numbered_hinge_embedding_loss numbered_margin_ranking_loss
        numbered_cosine_embedding_loss numbered_triplet_margin_loss rms_norm frobenius_norm ndtr""",
}
DIFFERENT = {name: reason for reason, names in _GROUPS.items() for name in names.split()}

# Differentiable here, refused by PyTorch.
REFUSED_BY_PYTORCH = frozenset(("view_as_complex_copy",))
