"""Operations along rows and columns: reductions, softmax, norms, running sums, losses."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # Kernels win from 16 elements on (a call: 1.3 to 2.9 us, NumPy: 2 to 16 us). What keeps the numbers up, here and
    # below, is the first call of a process, which loads this room (and LLVM, where a kernel is not on disk yet):
    # programs of a few small tensors never do.
    "reduce": {
        **dict.fromkeys(("nansum", "count_nonzero"), 4096),
        **dict.fromkeys(("sum", "mean", "prod_all", "prod_dim", "amax", "amin", "max_all", "min_all"), 512),
        **dict.fromkeys(("max_dim", "min_dim", "argmax", "argmin", "any", "all"), 512),
        # 4 rows of 8: 1.3 us against 5, norms 1 against 2.
        **dict.fromkeys(("var_corrected", "std_corrected", "var_mean_corrected", "std_mean_corrected"), 16),
        **dict.fromkeys(("vector_norm_parts", "logsumexp"), 16),
    },
    # What only networks call asks its kernel at any size, here and below: 32 elements take 1.7 us against 5.
    "softmax": dict.fromkeys(("softmax", "log_softmax", "softmax_gradient", "log_softmax_gradient"), 1),
    "scan": dict.fromkeys(("cumsum", "cumprod", "cummax_pair", "cummin_pair", "logcumsumexp"), 512),
    # 32 pairs: 3 us against 4 to 8, 1,024: 3 against 4 to 40, 100,000: 12 against 50 to 700. Of few pairs NumPy makes a mean
    # square as fast (2.4 us against 3.3, with its gradient 12 against 17).
    "losses": {
        **dict.fromkeys(("smooth_l1_loss_pair", "huber_loss_pair", "binary_cross_entropy_pair"), 1),
        **dict.fromkeys(("binary_cross_entropy_with_logits_pair", "smooth_l1_loss_gradient"), 1),
        **dict.fromkeys(("mse_loss_pair", "mse_loss_gradient"), 2048),
        "huber_loss_gradient": 1,
        "soft_margin_loss_pair": 512,  # 1,024: 4 us against 14
        **dict.fromkeys(("dot", "vdot"), 32768),  # 1,000,000: 44 us against 88
    },
    "nll_loss": {"nll_loss_parts": 1, "nll_loss_gradient": 1},  # 4 rows of 8: 3.7 us against 6.3
    # A row of 10: 2 us against 10; 32 rows: 2 against 40.
    "cross_entropy": dict.fromkeys(("cross_entropy_parts", "cross_entropy_gradient"), 1),
    # 4 rows of 8: layer_norm 4 us against 15, with its gradient 23 against 55, batch_norm 5 against 12, 26 against 61.
    "norm": {
        **dict.fromkeys(("layer_norm_parts", "layer_norm_gradients", "batch_norm_parts", "batch_norm_gradients"), 1),
        **dict.fromkeys(("group_norm_parts", "group_norm_gradients", "rms_norm_parts", "rms_norm_gradients"), 1),
    },
    # 100 pairs of 97 elements: 20 us against 400, a first pair 2 against 5.
    "quasi_newton": {"two_loop_recursion_": 1},
}

EXTREMES = 32768  # positions that are looked through: NumPy takes 8 us
