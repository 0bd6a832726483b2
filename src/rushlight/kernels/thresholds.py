"""From how many elements of its first operand an operation leaves NumPy for a generated kernel, and why.

Measured on two cores of an Intel Xeon (Emerald Rapids); where a kernel wins on one machine at such sizes, it is not far
from winning on others. Kernels may still decline what they are offered.
"""

from __future__ import annotations

import numpy as np

from ..ops.table import FLOAT, UNARY

OPERATIONS = {  # module of the kernels -> operation -> elements
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
    # A step of a layer is a score of NumPy calls, 1 us each, or one phase of a program, 1 us for all (LSTM of 32 units, 8
    # samples, 20 steps: 32 us against 700). Sequences begin with an input that is smaller than the gates.
    "recurrent": {
        f"{kind}_{part}{way}": elements
        for kind in ("lstm", "rnn", "gru")
        for part, elements in (("layer", 1024), ("sequence", 256))
        for way in ("", "_backward")
    },
    # 4 samples of 8 units: 2 us against 13, their gradients 2 against 24.
    "recurrent_steps": dict.fromkeys(("lstm_gates", "lstm_gates_backward", "gru_gates", "gru_gates_backward"), 1),
    # 1,024 rows of 128 added up: 22 us against 445, 20,000 rows of 64: 0.8 ms against 40; rows copied: 5 to 10 % less
    # time than NumPy's on two cores, elements picked along a dimension: a third. Small results are declined.
    "indexing": {
        **dict.fromkeys(("embedding", "embedding_gradient", "index_select"), 4096),
        **dict.fromkeys(("index_add", "index_add_"), 512),
        # 4 rows of 8, 3 picked of each: 1 us against 3, written 2 us against 4.
        **dict.fromkeys(("gather", "placed", "scatter_add", "scatter_add_"), 16),
        **dict.fromkeys(("scatter_src", "scatter_src_", "scatter_value", "scatter_value_"), 16),
        **dict.fromkeys(("index_copy", "index_copy_", "index_fill", "index_fill_"), 2048),
        **dict.fromkeys(("index", "index_put_arrays", "index_put_arrays_"), 512),
        **dict.fromkeys(("take", "put", "put_"), 16384),  # 8,192: 9 us against 8; 1,000,000: 0.5 ms against 1.7
        **dict.fromkeys(("scatter_reduce", "scatter_reduce_"), 512),
    },
    # Of all parts together. 100 parts of 1,000: 20 us against 35, three of (64, 128) along the last dimension: 3 against 5.
    # complex() of 10,000: 4 us against 15.
    "joining": dict.fromkeys(("cat", "stack", "complex_of_parts"), 2048),
    # 3,072 elements with a border of 1: 8 us against 11 to 33, gradients 10 against 150 and more.
    "padding": dict.fromkeys(("constant_pad_nd", "pad_by_places", "pad_in_circles", "pad_by_places_gradient"), 512),
    "unfolding": {"unfold_gradient": 512},  # 500,000 windows of 4, every other place: 0.8 ms against 5
    "embedding_bags": {"pooled_rows": 512, "pooled_rows_gradient": 512},  # 256 bags of 20: 15 us against 500
    # 10,556 entries by 2,708 rows of 16: 25 us against 1,700; 1,000,000 by 64 columns: 8 ms against 700.
    "sparse_lines": {"sparse_line_sums": 512, "sparse_line_products": 512},
    "searching": {"search_positions": 1024},  # 1,000,000 values among 1,000: 2 ms against 40
    "compositions": {"glu": 2048, "glu_gradient": 512, "outer_product": 128},
    # 1,000,000 numbers: 15 ms against 110, rows of 100: 12 against 25.
    "sorting": {"sort_pair": 2048, "mode_pair": 2048, "unique_parts": 4096},
    # 1,000 x 1,000 rows of 64: 0.4 ms against 2, by any power 0.6 against 70 and more; the sizes of both decide.
    "distances": dict.fromkeys(("cdist_pairs", "pdist_pairs", "distance_gradient", "symmetric_matrix"), 16),
    "leading": {"topk_pair": 16},  # 2 of 8, 4 times: 3.4 us against 18, 10 of 1,000,000: 0.14 ms against 1.8
    # 1,000,000 weights, 10 drawn: 3 ms against 100, with replacement 0.7 against 4.
    "multinomial": {"multinomial": 512},
    # 1,000,000 integers below 1,000: 0.26 ms against 1.5, floats among 100 intervals: 0.36 against 2.9.
    "counting": {"bincount": 4096, "histc": 512, "histogram_counts": 1024},
    # 100,000 elements: 40 us against 900, 15 against 450, 55 against 500.
    "selection": {"nonzero_rows": 4096, **dict.fromkeys(("masked_select", "masked_scatter", "masked_scatter_"), 512)},
    # 2 channels of 8 x 8, 3 kernels of 3 x 3: 4 us against 14, with both gradients 36 against 115.
    "convolution": dict.fromkeys(("convolution", "convolution_input_gradient", "transposed_convolution"), 1),
    "convolution_gradient": {"convolution_weight_gradient": 1},
    # 2 x 8 x 8 by 2 x 2: maxima 3 us against 12, with their gradient 24 against 78, means 3 against 21, 16 against 64.
    "pooling": {
        **dict.fromkeys(("max_pool_values", "max_pool_places", "max_pool_values_gradient"), 1),
        **dict.fromkeys(("adaptive_max_pool", "places_gradient"), 1),
    },
    "pooling_mean": dict.fromkeys(("avg_pool", "avg_pool_gradient"), 1),
    # 3 x 8 x 8 to 16 x 16: 9 us against 22, 3 x 512 x 512 halved: 65 us against 2,800.
    "resampling": {
        **dict.fromkeys(("interpolate_parts", "interpolate_gradient"), 1),
        **dict.fromkeys(("adaptive_avg_pool", "adaptive_avg_pool_gradient"), 1),
    },
    # 3 x 8 x 8 sampled as often: 3 us against 90, gradients 4 against 80; 16 of 3 x 224 x 224: 1.4 ms against 39.
    "grid_sampling": dict.fromkeys(("grid_samples", "grid_samples_input_gradient", "grid_samples_grid_gradient"), 64),
    # 8 numbers: 1.2 us against 3.4 (NumPy makes ten Python calls), 1,024: 2 against 9, 1,000,000: 1.4 ms against 15.
    "fourier": dict.fromkeys(("fft_c2c", "fft_r2c", "fft_c2r"), 2),
    # One launch for all parameters; small ones lie in a bundle (optim/bundle.py), one call of NumPy's functions for all of
    # them, until it has taken so many steps that loading a kernel pays: a launch takes 1 us, an Adam step in NumPy 12.
    "optimizer": {"optimizer_step_": 4096, "add_scaled_": 4096},
    # 100 pairs of 97 elements: 20 us against 400, a first pair 2 against 5.
    "quasi_newton": {"two_loop_recursion_": 1},
    # Casts and filled masks are 3 to 40 times as fast (16,384 elements to half: 3 us against 44, transposed: 6 against 10);
    # plain clones win with several threads only, and small ones are declined. zero_ of 100,000: 3.7 us against 7.6.
    "copies": {
        **dict.fromkeys(("clone", "to_copy", "copy_from", "masked_fill", "masked_fill_"), 8192),
        **dict.fromkeys(("fill_number", "zero_"), 32768),
        "reshape_copy": 8192,
        **dict.fromkeys(("tril", "triu"), 8192),
    },
    # From 65,536 multiplications on kernels take as long as OpenBLAS or less (below they decline): 1 x 784 x 512 transposed 10
    # us against 21, 64 x 784 x 512 transposed with bias 165 against 300, batches of 64 x 32 x 64 66 against 219.
    # With so many multiplications an operand has 256 elements at least.
    "matmul": dict.fromkeys(("mm", "mv", "bmm", "transposed_mm", "addmm", "baddbmm", "batched_product"), 256),
    "attention_scores": {"scaled_scores": 256},
    "linear": dict.fromkeys(("linear_rows", "linear_gradients"), 64),  # what is small declines, by its multiplications
    # 64 heads of 64 x 64 x 32: 186 us against 1,300 in NumPy's passes.
    "attention": dict.fromkeys(("attention", "attention_backward"), 1024),
}

PROGRESSIONS = 4096  # numbers: 2 us against 5
RAMPS = 4096  # numbers: 5 us against 9
EXTREMES = 32768  # positions that are looked through: NumPy takes 8 us

ELEMENTS = {name: elements for operations in OPERATIONS.values() for name, elements in operations.items()}
MODULE_OF = {name: module for module, operations in OPERATIONS.items() for name in operations}


# A call of an elementwise kernel takes 1.1 to 1.4 us, 2.7 where operands are broadcast or strided. NumPy's own functions are
# as fast as one thread until operands leave the second-level cache; of formulas it makes several passes (gelu of 1,024
# elements: 16 us against 1.5). Measured where both take the same time, doubled for what the first call loads: exp, log
# and their like from 4,096 elements (8,192: 2.6 us against 3.3), sums and products from 16,384, formulas of few steps
# (relu) from 2,048 (4,096: 1.3 us against 4.6). Formulas of many steps, activations of networks and their like, win from
# the start (gelu of 32: 1.2 us against 9.6, softplus 1.2 against 4.6), which is worth loading the room for.
_UFUNC, _MATH, _LIGHT, _FORMULA = 16384, 4096, 2048, 16
# Elements of half precision, of any operation: NumPy takes 4 ns for each (10,000 multiplied: 41 us against 5), and converts
# back and forth (32 added: 6 us against 1.8).
HALVES = 32
# 100 elements of these: 1 to 2 us against 30 to 140.
_EARLY = dict.fromkeys(("erfinv", "special_ndtri", "special_erfcx", "special_log_ndtr", "lgamma", "digamma"), 64)
# i0 of 100: 1 us against 35, bessel_y1 2 against 70.
_EARLY |= dict.fromkeys(("i0", "special_i0e", "special_i1", "special_i1e", "special_spherical_bessel_j0"), 64)
_EARLY |= dict.fromkeys((f"special_bessel_{kind}{order}" for kind in "jy" for order in (0, 1)), 64)
_EARLY |= dict.fromkeys((f"special_modified_bessel_{kind}{order}" for kind in "ik" for order in (0, 1)), 64)
_EARLY |= dict.fromkeys((f"special_scaled_modified_bessel_k{order}" for order in (0, 1)), 64)


def elementwise_elements(op):
    """From how many elements on `elementwise.run` computes an operation."""
    if op.name in _EARLY:
        return _EARLY[op.name]
    if isinstance(op.numpy, np.ufunc) or isinstance(op.ufunc, np.ufunc):
        return _MATH if op.kind == UNARY and op.dtype_rule == FLOAT else _UFUNC
    return _LIGHT if op.light or op.numpy is not None else _FORMULA
