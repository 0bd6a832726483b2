"""Which functions change dtypes under autocast on the CPU, and how: PyTorch 2.13's choice, found by running it.

PyTorch was asked twice: which operations have a kernel of autocast's on the CPU, and which dtypes all its operations give
for float32, bfloat16 and mixed inputs with autocast on and off. tests/amp/test_autocast_lists_oracle.py asks again.
The names are those in ``ops.table.functions``; everything that is not here computes in the dtypes that it is given.
"""

# Floating-point arguments are cast to autocast's dtype.
LOWER = (
    "linear", "matmul", "mm", "bmm", "addmm", "addbmm", "baddbmm", "linalg_vecdot", "batched_product", "vector_products", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc", "prelu",
    "scaled_dot_product_attention", "scaled_scores",
)  # fmt: skip

# Arguments of half precision are cast to float32.
FLOAT32 = (
    "avg_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d", "max_pool3d", "fractional_max_pool2d",
    "fractional_max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "grid_sample", "prod", "trace", "cdist", "quantile",
    "nanquantile", "polar", "view_as_complex", "stft",
    "l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "nll_loss", "cross_entropy", "kl_div", "poisson_nll_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss", "multi_margin_loss",
    "multilabel_margin_loss", "margin_ranking_loss", "hinge_embedding_loss", "cosine_embedding_loss",
    "triplet_margin_loss", "ctc_loss",
    "fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft", "fft_fft2", "fft_ifft2", "fft_rfft2",
    "fft_irfft2", "fft_fftn", "fft_ifftn", "fft_rfftn", "fft_irfftn",
    "cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "lu", "lu_solve", "ormqr", "pinverse", "qr", "svd",
    "triangular_solve", "linalg_cholesky", "linalg_cholesky_ex", "linalg_cond", "linalg_eig", "linalg_eigh",
    "linalg_eigvals", "linalg_eigvalsh", "linalg_householder_product", "linalg_inv", "linalg_inv_ex", "linalg_lstsq",
    "linalg_matrix_rank", "linalg_qr", "linalg_solve", "linalg_svd", "linalg_svdvals", "linalg_tensorinv",
    "linalg_tensorsolve",
)  # fmt: skip

# Floating-point arguments are cast to the widest dtype among them, at least autocast's.
WIDEST = ("cat", "stack", "index_copy")

# Written here with functions of the lists above, which PyTorch does not use there: they compute as they are given.
APART = ("bilinear", "written_into")
