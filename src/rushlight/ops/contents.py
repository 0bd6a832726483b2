"""What the op table holds, so that `import rushlight` need not read it whole: records import their modules when first asked for.

By modules: the names of operations and of composites, those together that are public at the same places and have or have not an
in-place form, and the names of functions of lists. Written by tools/write_contents.py from the records themselves.
"""

# fmt: off
BOTH = ("torch", "Tensor")

OPERATIONS = {
    "rushlight.ops.attention": {
        ((), False): "attention attention_backward merge_heads scaled_scores split_heads",
    },
    "rushlight.ops.bits": {
        ((), False): "frexp_parts hash_bits",
    },
    "rushlight.ops.columns": {
        (("nn.functional", "torch", "torch:native_channel_shuffle", "nn.functional:native_channel_shuffle"), False): """
channel_shuffle""",
        ((), False): "col2im im2col",
        (("nn.functional", "torch"), False): "pixel_shuffle pixel_unshuffle",
    },
    "rushlight.ops.conv": {
        ((), False): "convolution convolution_input_gradient convolution_weight_gradient transposed_convolution",
    },
    "rushlight.ops.copy": {
        (BOTH, False): "clone zero_",
        ((), False): "copy_from fill_number fill_tensor to_copy",
        (("torch",), False): "fill",
    },
    "rushlight.ops.create": {
        (("torch",), False): "empty empty_strided eye full ones tril_indices triu_indices zeros",
    },
    "rushlight.ops.ctc": {
        ((), False): "ctc_loss_gradient ctc_loss_parts",
    },
    "rushlight.ops.distances": {
        ((), False): "cdist_pairs distance_gradient pdist_pairs symmetric_matrix",
    },
    "rushlight.ops.dropout": {
        ((), False): "dropout_pair",
    },
    "rushlight.ops.einsum": {
        ((), False): "batched_product vector_products",
    },
    "rushlight.ops.elementwise.activation": {
        (("torch",), True): "celu threshold",
        ((), True): "elu hardsigmoid hardswish hardtanh mish silu",
        (("nn.functional",), False): "gelu logsigmoid softplus softshrink",
        (("torch", "Tensor", "nn.functional"), False): "hardshrink",
        (BOTH, True): "relu",
        (("torch", "Tensor", "special:expit"), True): "sigmoid",
    },
    "rushlight.ops.elementwise.activation_gradient": {
        ((), False): """
elu_backward gelu_backward hardshrink_backward hardsigmoid_backward hardswish_backward hardtanh_backward
leaky_relu_backward logsigmoid_backward mish_backward prelu_backward prelu_weight_backward sigmoid_backward
sigmoid_bend silu_backward softplus_backward threshold_backward""",
    },
    "rushlight.ops.elementwise.activation_slopes": {
        ((), True): "leaky_relu rrelu_with_mean rrelu_with_noise",
        ((), False): "prelu_kernel",
    },
    "rushlight.ops.elementwise.arithmetic": {
        (BOTH, True): "add addcdiv addcmul floor_divide fmod lerp remainder",
        (("torch", "Tensor", "torch:divide", "Tensor:divide"), True): "div",
        ((), False): "div_other_backward",
        (("torch", "Tensor", "torch:multiply", "Tensor:multiply"), True): "mul",
        (("torch", "Tensor", "torch:negative", "Tensor:negative", "Tensor:__neg__"), True): "neg",
        (("torch",), False): "rsub",
        (("torch", "Tensor", "torch:subtract", "Tensor:subtract"), True): "sub",
    },
    "rushlight.ops.elementwise.bitwise": {
        (BOTH, True): """
bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor logical_and logical_not
logical_or logical_xor""",
    },
    "rushlight.ops.elementwise.bounds": {
        (("torch", "Tensor", "torch:clip", "Tensor:clip"), True): "clamp",
        ((), False): "clamp_backward maximum_backward minimum_backward where_select",
        (BOTH, True): "clamp_max clamp_min nan_to_num",
        (BOTH, False): "fmax fmin maximum minimum",
    },
    "rushlight.ops.elementwise.comparison": {
        (BOTH, True): "eq",
        (("torch", "Tensor", "torch:greater_equal", "Tensor:greater_equal"), True): "ge",
        (("torch", "Tensor", "torch:greater", "Tensor:greater"), True): "gt",
        (BOTH, False): "isfinite isinf isnan isneginf isposinf isreal signbit",
        (("torch", "Tensor", "torch:less_equal", "Tensor:less_equal"), True): "le",
        (("torch", "Tensor", "torch:less", "Tensor:less"), True): "lt",
        (("torch", "Tensor", "torch:not_equal", "Tensor:not_equal"), True): "ne",
    },
    "rushlight.ops.elementwise.complex_parts": {
        (("torch:_neg_view", "Tensor:_neg_view"), False): "_neg_view",
        (BOTH, False): "angle",
        ((), False): """
complex_of_parts conj_physical_complex conj_view conjugate imaginary_part mul_conjugate polar_of_parts real_part""",
        (("torch",), False): "view_as_complex view_as_real",
    },
    "rushlight.ops.elementwise.exponential": {
        (BOTH, True): "exp log log10 log2",
        (("torch", "Tensor", "special"), True): "exp2 expm1 log1p xlogy",
        ((), False): "expm1_backward log10_backward log1p_backward log2_backward",
        (BOTH, False): "logaddexp logaddexp2",
        (("special:xlog1py",), False): "special_xlog1py",
    },
    "rushlight.ops.elementwise.gating": {
        (("nn.functional",), False): "glu",
        ((), False): "glu_gradient",
    },
    "rushlight.ops.elementwise.powers": {
        (BOTH, True): "hypot ldexp pow reciprocal rsqrt sqrt",
        ((), False): "pow_backward reciprocal_backward rsqrt_backward sqrt_backward",
    },
    "rushlight.ops.elementwise.rounding": {
        (BOTH, True): "ceil floor frac",
        (("torch", "Tensor", "special"), True): "round",
        (("torch", "Tensor", "torch:fix", "Tensor:fix"), True): "trunc",
    },
    "rushlight.ops.elementwise.signs": {
        (("torch", "Tensor", "torch:absolute", "Tensor:absolute", "Tensor:__abs__"), True): "abs",
        ((), False): "abs_backward",
        (BOTH, True): "copysign gcd heaviside lcm nextafter sgn sign",
    },
    "rushlight.ops.elementwise.special": {
        (("torch", "Tensor", "special", "special:psi"), True): "digamma",
        (("torch", "Tensor", "special"), True): "erf erfc erfinv i0 logit",
        ((), False): "erf_backward",
        (("torch", "Tensor", "special:gammainc"), True): "igamma",
        (("torch", "Tensor", "special:gammaincc"), True): "igammac",
        (("torch", "Tensor", "special:gammaln"), True): "lgamma",
        (("torch", "Tensor", "special:multigammaln"), True): "mvlgamma",
        ((), True): "polygamma_of",
        (("special:entr",), False): "special_entr",
        (("special:erfcx",), False): "special_erfcx",
        (("special:i0e",), False): "special_i0e",
        (("special:i1",), False): "special_i1",
        (("special:i1e",), False): "special_i1e",
        (("special:log_ndtr",), False): "special_log_ndtr",
        (("special:ndtri",), False): "special_ndtri",
        (("special:zeta",), False): "special_zeta",
    },
    "rushlight.ops.elementwise.special_functions": {
        (("special:airy_ai",), False): "special_airy_ai",
        (("special:bessel_j0",), False): "special_bessel_j0",
        (("special:bessel_j1",), False): "special_bessel_j1",
        (("special:bessel_y0",), False): "special_bessel_y0",
        (("special:bessel_y1",), False): "special_bessel_y1",
        (("special:chebyshev_polynomial_t",), False): "special_chebyshev_polynomial_t",
        (("special:chebyshev_polynomial_u",), False): "special_chebyshev_polynomial_u",
        (("special:chebyshev_polynomial_v",), False): "special_chebyshev_polynomial_v",
        (("special:chebyshev_polynomial_w",), False): "special_chebyshev_polynomial_w",
        (("special:hermite_polynomial_h",), False): "special_hermite_polynomial_h",
        (("special:hermite_polynomial_he",), False): "special_hermite_polynomial_he",
        (("special:laguerre_polynomial_l",), False): "special_laguerre_polynomial_l",
        (("special:legendre_polynomial_p",), False): "special_legendre_polynomial_p",
        (("special:modified_bessel_i0",), False): "special_modified_bessel_i0",
        (("special:modified_bessel_i1",), False): "special_modified_bessel_i1",
        (("special:modified_bessel_k0",), False): "special_modified_bessel_k0",
        (("special:modified_bessel_k1",), False): "special_modified_bessel_k1",
        (("special:scaled_modified_bessel_k0",), False): "special_scaled_modified_bessel_k0",
        (("special:scaled_modified_bessel_k1",), False): "special_scaled_modified_bessel_k1",
        (("special:shifted_chebyshev_polynomial_t",), False): "special_shifted_chebyshev_polynomial_t",
        (("special:shifted_chebyshev_polynomial_u",), False): "special_shifted_chebyshev_polynomial_u",
        (("special:shifted_chebyshev_polynomial_v",), False): "special_shifted_chebyshev_polynomial_v",
        (("special:shifted_chebyshev_polynomial_w",), False): "special_shifted_chebyshev_polynomial_w",
        (("special:spherical_bessel_j0",), False): "special_spherical_bessel_j0",
    },
    "rushlight.ops.elementwise.trigonometry": {
        (("torch", "Tensor", "torch:arccos", "Tensor:arccos"), True): "acos",
        (("torch", "Tensor", "torch:arccosh", "Tensor:arccosh"), True): "acosh",
        (("torch", "Tensor", "torch:arcsin", "Tensor:arcsin"), True): "asin",
        (("torch", "Tensor", "torch:arcsinh", "Tensor:arcsinh"), True): "asinh",
        (("torch", "Tensor", "torch:arctan", "Tensor:arctan"), True): "atan",
        (("torch", "Tensor", "torch:arctan2", "Tensor:arctan2"), True): "atan2",
        (("torch", "Tensor", "torch:arctanh", "Tensor:arctanh"), True): "atanh",
        (BOTH, True): "cos cosh deg2rad rad2deg sin sinh tan tanh",
        ((), False): "cos_backward sin_backward tanh_backward tanh_bend",
        (("torch", "Tensor", "special"), True): "sinc",
    },
    "rushlight.ops.embedding": {
        (("torch",), False): "embedding",
        ((), False): "embedding_gradient",
    },
    "rushlight.ops.embedding_bag": {
        ((), False): "pooled_rows pooled_rows_gradient pooled_rows_products",
    },
    "rushlight.ops.extrema": {
        (BOTH, False): "amax amin argmax argmin",
        ((), False): "aminmax_pair max_all max_dim min_all min_dim",
    },
    "rushlight.ops.fake_quantize": {
        ((), False): "fake_quantize_by_channels fake_quantize_by_numbers fake_quantize_by_tensors",
    },
    "rushlight.ops.fft": {
        ((), False): "fft_c2c fft_c2r fft_r2c",
        (("fft:fftfreq",), False): "fft_fftfreq",
        (("fft:rfftfreq",), False): "fft_rfftfreq",
    },
    "rushlight.ops.fractional_pool": {
        ((), False): "fractional_max_pool",
    },
    "rushlight.ops.gather": {
        (BOTH, False): "gather scatter_add",
        ((), False): "placed scatter_combined scatter_combined_ scatter_src scatter_src_ scatter_value scatter_value_",
        (("Tensor",), False): "scatter_add_",
    },
    "rushlight.ops.grid": {
        ((), False): "affine_points grid_samples grid_samples_grid_gradient grid_samples_input_gradient",
    },
    "rushlight.ops.histogram": {
        (BOTH, False): "bincount histc",
        ((), False): "histogram_counts histogram_edges",
    },
    "rushlight.ops.index": {
        ((), False): "index index_put_arrays index_put_arrays_",
        (BOTH, False): "index_add index_copy index_fill index_select",
        (("Tensor",), False): "index_add_ index_copy_ index_fill_",
    },
    "rushlight.ops.interpolation": {
        ((), False): "interpolate_gradient interpolate_parts",
    },
    "rushlight.ops.join": {
        ((), False): "block_diagonal",
        (("torch", "torch:concat", "torch:concatenate"), False): "cat",
        (BOTH, False): "flip roll rot90",
        (("Tensor",), False): "repeat",
        (("torch",), False): "stack",
    },
    "rushlight.ops.linalg.cholesky": {
        ((), False): "cholesky_factor cholesky_inverse_of cholesky_parts cholesky_solution",
    },
    "rushlight.ops.linalg.eigen": {
        ((), False): "eig_parts eigh_parts",
    },
    "rushlight.ops.linalg.inverse": {
        ((), False): "inverse_parts slogdet_parts",
        (("linalg:det",), False): "linalg_det",
    },
    "rushlight.ops.linalg.ldl": {
        ((), False): "ldl_parts ldl_solution",
    },
    "rushlight.ops.linalg.lu": {
        ((), False): "lu_halves lu_packed lu_solution lu_triple permutation_of",
    },
    "rushlight.ops.linalg.orthogonal": {
        ((), False): "geqrf_parts qr_parts",
    },
    "rushlight.ops.linalg.products": {
        ((), False): "cross_parts matrix_exp_parts",
    },
    "rushlight.ops.linalg.singular": {
        ((), False): "pinv_parts svd_parts svd_values",
    },
    "rushlight.ops.linalg.solve": {
        ((), False): "in_columns lstsq_parts solve_parts triangular_parts triangular_solve_parts",
    },
    "rushlight.ops.loss": {
        ((), False): """
huber_loss_gradient huber_loss_pair mse_loss_gradient mse_loss_pair smooth_l1_loss_gradient smooth_l1_loss_pair""",
    },
    "rushlight.ops.loss_classes": {
        ((), False): "cross_entropy_gradient cross_entropy_parts nll_loss_gradient nll_loss_parts",
    },
    "rushlight.ops.loss_margins": {
        ((), False): """
multi_margin_loss_backward multi_margin_loss_parts multilabel_margin_loss_backward multilabel_margin_loss_parts""",
    },
    "rushlight.ops.loss_probabilities": {
        ((), False): """
binary_cross_entropy_pair binary_cross_entropy_slope binary_cross_entropy_with_logits_pair
binary_cross_entropy_with_logits_slope binary_cross_entropy_with_logits_steps soft_margin_loss_pair""",
    },
    "rushlight.ops.masks": {
        (BOTH, False): "masked_fill masked_scatter masked_select",
        (("Tensor",), False): "masked_fill_ masked_scatter_",
    },
    "rushlight.ops.matmul": {
        (BOTH, False): "bmm dot mm mv vdot",
        ((), False): "linear_rows outer_product transposed_mm unsafe_view",
    },
    "rushlight.ops.matmul_sums": {
        (BOTH, True): "addbmm addmm addmv addr baddbmm",
    },
    "rushlight.ops.norm": {
        ((), False): """
group_norm_gradients group_norm_parts layer_norm_gradients layer_norm_parts rms_norm_gradients rms_norm_parts""",
    },
    "rushlight.ops.norm_batch": {
        ((), False): "batch_norm_gradients batch_norm_parts",
    },
    "rushlight.ops.norms": {
        ((), False): "vector_norm_parts",
    },
    "rushlight.ops.order": {
        (BOTH, False): "permute t",
        (("torch", "Tensor", "torch:swapaxes", "Tensor:swapaxes", "torch:swapdims", "Tensor:swapdims"), False): """
transpose""",
    },
    "rushlight.ops.padding": {
        (("torch",), False): "constant_pad_nd",
        ((), False): "pad_by_places pad_by_places_gradient pad_in_circles",
    },
    "rushlight.ops.parts": {
        (BOTH, False): "diagonal diagonal_scatter select select_scatter slice_scatter",
        ((), False): "diagonal_gradient select_gradient slice_dim slice_gradient unfold_gradient",
        (("Tensor:unfold",), False): "unfold_dim",
    },
    "rushlight.ops.pool_adaptive": {
        ((), False): "adaptive_avg_pool adaptive_avg_pool_gradient adaptive_max_pool",
    },
    "rushlight.ops.pool_max": {
        ((), False): "max_pool_places max_pool_values max_pool_values_gradient max_unpool_places places_gradient",
    },
    "rushlight.ops.pool_mean": {
        ((), False): "avg_pool avg_pool_gradient",
    },
    "rushlight.ops.positions": {
        (BOTH, False): "count_nonzero nonzero_static put take",
        ((), False): "nonzero_rows one_hot_rows",
        (("Tensor",), False): "put_",
    },
    "rushlight.ops.quantiles": {
        ((), False): "kthvalue_pair median_all median_dim mode_pair nanmedian_all nanmedian_dim",
    },
    "rushlight.ops.random": {
        (("torch",), False): """
_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad binomial poisson rand randn randperm""",
        (("Tensor",), False): "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ uniform_",
        ((), False): "bernoulli_each normal_each normal_of_size random_between_ random_integers random_target",
        (BOTH, False): "multinomial",
    },
    "rushlight.ops.ranges": {
        ((), False): "arange_values",
        (("torch",), False): "linspace logspace",
        (("torch:range",), False): "range_",
    },
    "rushlight.ops.recurrent": {
        ((), False): "gru_layer gru_layer_backward lstm_layer lstm_layer_backward rnn_layer rnn_layer_backward",
    },
    "rushlight.ops.recurrent_cells": {
        ((), False): "cell_state gru_gates gru_gates_backward lstm_gates lstm_gates_backward",
    },
    "rushlight.ops.recurrent_sequences": {
        ((), False): """
gru_sequence gru_sequence_backward lstm_sequence lstm_sequence_backward rnn_sequence rnn_sequence_backward""",
    },
    "rushlight.ops.reduce": {
        (BOTH, False): "all any mean nansum sum",
        (("torch", "Tensor", "special"), False): "logsumexp",
        ((), False): "prod_all prod_dim",
    },
    "rushlight.ops.scan": {
        ((), False): "cummax_pair cummin_pair",
        (BOTH, True): "cumprod cumsum tril triu",
        (BOTH, False): "diag_embed logcumsumexp trace",
    },
    "rushlight.ops.scatter_reduce": {
        (BOTH, False): "index_reduce scatter_reduce",
        (("Tensor",), False): "index_reduce_ scatter_reduce_",
    },
    "rushlight.ops.softmax": {
        (("torch", "Tensor", "special"), False): "log_softmax softmax",
        ((), False): "log_softmax_gradient softmax_gradient",
    },
    "rushlight.ops.sort": {
        ((), False): "is_among search_positions sort_pair topk_pair unique_parts",
    },
    "rushlight.ops.split": {
        ((), False): "split_even",
        (BOTH, False): "split_with_sizes unbind unsafe_split unsafe_split_with_sizes",
    },
    "rushlight.ops.statistics": {
        ((), False): "std_corrected std_mean_corrected var_corrected var_mean_corrected",
    },
    "rushlight.ops.strided": {
        (BOTH, False): "as_strided as_strided_scatter",
        ((), False): "as_strided_gradient",
    },
    "rushlight.ops.view": {
        ((), False): "alias reshape_alias reshape_copy view_dtype view_shape",
        (("Tensor",), False): "expand",
        (BOTH, False): "squeeze unsqueeze",
    },
    "rushlight.ops.view_copies": {
        (("torch",), False): """
alias_copy as_strided_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy
split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_as_complex_copy
view_as_real_copy""",
        (BOTH, False): "narrow_copy",
        ((), False): "view_shape_copy",
    },
    "rushlight.ops.windows": {
        (("torch",), False): "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    },
}

COMPOSITES = {
    "rushlight.ops.bits": {
        (BOTH, False): "frexp",
        (("torch",), False): "hash_tensor",
    },
    "rushlight.ops.broadcast": {
        (BOTH, False): "atleast_1d atleast_2d atleast_3d",
        (("torch",), False): "broadcast_tensors cartesian_prod combinations meshgrid",
        (("torch:broadcast_shapes",), False): "common_shape",
    },
    "rushlight.ops.columns": {
        (("nn.functional",), False): "fold",
        (("nn.functional:unfold",), False): "unfold_windows",
    },
    "rushlight.ops.conv": {
        (("torch", "nn.functional"), False): """
conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d""",
    },
    "rushlight.ops.copy": {
        (("Tensor",), False): "contiguous copy_ is_contiguous module_load sum_to_size",
        (BOTH, False): "fill_",
        ((), False): "unexpanded",
    },
    "rushlight.ops.create": {
        (("torch",), False): "empty_like empty_permuted from_file full_like ones_like scalar_tensor zeros_like",
        (("Tensor",), False): "new_empty new_empty_strided new_full new_ones new_tensor new_zeros",
    },
    "rushlight.ops.ctc": {
        (("nn.functional",), False): "ctc_loss",
        (("torch:ctc_loss",), False): "numbered_ctc_loss",
    },
    "rushlight.ops.differences": {
        (("torch",), False): "gradient",
    },
    "rushlight.ops.distances": {
        (("torch",), False): "cdist",
        (("torch", "nn.functional"), False): "pdist",
    },
    "rushlight.ops.dropout": {
        (("torch",), False): "alpha_dropout dropout feature_alpha_dropout feature_dropout",
        (("nn.functional:alpha_dropout",), False): "functional_alpha_dropout",
        (("nn.functional:dropout",), False): "functional_dropout",
        (("nn.functional:dropout1d",), False): "functional_dropout1d",
        (("nn.functional:dropout2d",), False): "functional_dropout2d",
        (("nn.functional:dropout3d",), False): "functional_dropout3d",
        (("nn.functional:feature_alpha_dropout",), False): "functional_feature_alpha_dropout",
    },
    "rushlight.ops.einsum": {
        (("torch",), False): "einsum",
    },
    "rushlight.ops.elementwise.activation": {
        (("torch",), False): "selu selu_",
        (("nn.functional",), False): "softsign tanhshrink",
    },
    "rushlight.ops.elementwise.activation_functional": {
        (("nn.functional:celu",), False): "functional_celu",
        (("nn.functional:celu_",), False): "functional_celu_",
        (("nn.functional:elu",), False): "functional_elu",
        (("nn.functional:elu_",), False): "functional_elu_",
        (("nn.functional:gumbel_softmax",), False): "functional_gumbel_softmax",
        (("nn.functional:hardsigmoid",), False): "functional_hardsigmoid",
        (("nn.functional:hardswish",), False): "functional_hardswish",
        (("nn.functional:hardtanh",), False): "functional_hardtanh",
        (("nn.functional:hardtanh_",), False): "functional_hardtanh_",
        (("nn.functional:leaky_relu",), False): "functional_leaky_relu",
        (("nn.functional:leaky_relu_",), False): "functional_leaky_relu_",
        (("nn.functional:mish",), False): "functional_mish",
        (("nn.functional:relu",), False): "functional_relu",
        (("nn.functional:relu6",), False): "functional_relu6",
        (("nn.functional:relu_",), False): "functional_relu_",
        (("nn.functional:rrelu",), False): "functional_rrelu",
        (("nn.functional:rrelu_",), False): "functional_rrelu_",
        (("nn.functional:selu",), False): "functional_selu",
        (("nn.functional:selu_",), False): "functional_selu_",
        (("nn.functional:sigmoid",), False): "functional_sigmoid",
        (("nn.functional:silu",), False): "functional_silu",
        (("nn.functional:tanh",), False): "functional_tanh",
        (("nn.functional:threshold",), False): "functional_threshold",
        (("nn.functional:threshold_",), False): "functional_threshold_",
    },
    "rushlight.ops.elementwise.activation_slopes": {
        (("torch", "Tensor", "nn.functional"), False): "prelu",
        (("torch",), False): "rrelu rrelu_",
    },
    "rushlight.ops.elementwise.arithmetic": {
        (("torch", "Tensor", "Tensor:__pos__"), False): "positive",
        (BOTH, False): "true_divide true_divide_",
    },
    "rushlight.ops.elementwise.bitwise": {
        (("Tensor:__invert__",), False): "invert",
    },
    "rushlight.ops.elementwise.bounds": {
        (("torch",), False): "where",
        (("Tensor:where",), False): "where_method",
    },
    "rushlight.ops.elementwise.comparison": {
        (BOTH, False): "allclose equal isclose",
    },
    "rushlight.ops.elementwise.complex_parts": {
        (BOTH, False): "_conj conj resolve_conj resolve_neg",
        (("torch",), False): "complex imag polar real",
        (BOTH, True): "conj_physical",
    },
    "rushlight.ops.elementwise.powers": {
        (BOTH, False): "float_power square square_",
        (("Tensor",), False): "float_power_",
    },
    "rushlight.ops.elementwise.special": {
        (("special",), False): "ndtr",
        (("torch", "special"), False): "polygamma",
        (("Tensor:polygamma",), False): "polygamma_method",
        (("Tensor:polygamma_",), False): "polygamma_method_",
    },
    "rushlight.ops.embedding": {
        (("nn.functional:embedding",), False): "functional_embedding",
    },
    "rushlight.ops.embedding_bag": {
        (("nn.functional",), False): "embedding_bag",
    },
    "rushlight.ops.extrema": {
        (BOTH, False): "aminmax max min",
    },
    "rushlight.ops.fake_quantize": {
        (("torch",), False): "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    },
    "rushlight.ops.fft": {
        (("fft:fft",), False): "fft_fft",
        (("fft:fft2",), False): "fft_fft2",
        (("fft:fftn",), False): "fft_fftn",
        (("fft:fftshift",), False): "fft_fftshift",
        (("fft:hfft",), False): "fft_hfft",
        (("fft:hfft2",), False): "fft_hfft2",
        (("fft:hfftn",), False): "fft_hfftn",
        (("fft:ifft",), False): "fft_ifft",
        (("fft:ifft2",), False): "fft_ifft2",
        (("fft:ifftn",), False): "fft_ifftn",
        (("fft:ifftshift",), False): "fft_ifftshift",
        (("fft:ihfft",), False): "fft_ihfft",
        (("fft:ihfft2",), False): "fft_ihfft2",
        (("fft:ihfftn",), False): "fft_ihfftn",
        (("fft:irfft",), False): "fft_irfft",
        (("fft:irfft2",), False): "fft_irfft2",
        (("fft:irfftn",), False): "fft_irfftn",
        (("fft:rfft",), False): "fft_rfft",
        (("fft:rfft2",), False): "fft_rfft2",
        (("fft:rfftn",), False): "fft_rfftn",
    },
    "rushlight.ops.fractional_pool": {
        (("nn.functional",), False): """
fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices""",
    },
    "rushlight.ops.gather": {
        (BOTH, False): "scatter take_along_dim",
        (("Tensor",), False): "scatter_",
    },
    "rushlight.ops.grid": {
        (("nn.functional",), False): "affine_grid grid_sample",
    },
    "rushlight.ops.histogram": {
        (BOTH, False): "histogram",
        (("torch",), False): "histogramdd",
    },
    "rushlight.ops.index": {
        (("Tensor",), False): "fill_diagonal_",
    },
    "rushlight.ops.integrals": {
        (("torch",), False): "cumulative_trapezoid",
        (("torch", "torch:trapz"), False): "trapezoid",
    },
    "rushlight.ops.interpolation": {
        (("nn.functional",), False): "interpolate upsample upsample_bilinear upsample_nearest",
    },
    "rushlight.ops.join": {
        (("torch",), False): "block_diag column_stack dstack hstack",
        (BOTH, False): "fliplr flipud repeat_interleave tile",
        (("torch", "torch:row_stack"), False): "vstack",
    },
    "rushlight.ops.linalg.cholesky": {
        (BOTH, False): "cholesky cholesky_inverse cholesky_solve",
        (("linalg:cholesky",), False): "linalg_cholesky",
        (("linalg:cholesky_ex",), False): "linalg_cholesky_ex",
    },
    "rushlight.ops.linalg.eigen": {
        (("linalg:eig",), False): "linalg_eig",
        (("linalg:eigh",), False): "linalg_eigh",
        (("linalg:eigvals",), False): "linalg_eigvals",
        (("linalg:eigvalsh",), False): "linalg_eigvalsh",
    },
    "rushlight.ops.linalg.inverse": {
        (BOTH, False): "det inverse logdet slogdet",
        (("linalg:inv",), False): "linalg_inv",
        (("linalg:inv_ex",), False): "linalg_inv_ex",
        (("linalg:slogdet",), False): "linalg_slogdet",
    },
    "rushlight.ops.linalg.ldl": {
        (("linalg:ldl_factor",), False): "linalg_ldl_factor",
        (("linalg:ldl_factor_ex",), False): "linalg_ldl_factor_ex",
        (("linalg:ldl_solve",), False): "linalg_ldl_solve",
    },
    "rushlight.ops.linalg.lu": {
        (("linalg:lu",), False): "linalg_lu",
        (("linalg:lu_factor",), False): "linalg_lu_factor",
        (("linalg:lu_factor_ex",), False): "linalg_lu_factor_ex",
        (("linalg:lu_solve",), False): "linalg_lu_solve",
        (BOTH, False): "lu lu_solve",
        (("torch",), False): "lu_unpack",
    },
    "rushlight.ops.linalg.orthogonal": {
        (BOTH, False): "geqrf orgqr ormqr qr",
        (("linalg:householder_product",), False): "linalg_householder_product",
        (("linalg:qr",), False): "linalg_qr",
    },
    "rushlight.ops.linalg.products": {
        (("torch",), False): "chain_matmul vander",
        (BOTH, False): "cross matrix_exp matrix_power",
        (("linalg:cross",), False): "linalg_cross",
        (("linalg:diagonal",), False): "linalg_diagonal",
        (("linalg:matrix_exp",), False): "linalg_matrix_exp",
        (("linalg:matrix_power",), False): "linalg_matrix_power",
        (("linalg:multi_dot",), False): "linalg_multi_dot",
        (("linalg:vander",), False): "linalg_vander",
        (("linalg:vecdot",), False): "linalg_vecdot",
    },
    "rushlight.ops.linalg.removed": {
        (BOTH, False): "eig lstsq solve symeig",
        (("torch",), False): "matrix_rank",
    },
    "rushlight.ops.linalg.singular": {
        (("linalg:cond",), False): "linalg_cond",
        (("linalg:matrix_rank",), False): "linalg_matrix_rank",
        (("linalg:pinv",), False): "linalg_pinv",
        (("linalg:svd",), False): "linalg_svd",
        (("linalg:svdvals",), False): "linalg_svdvals",
        (("torch",), False): "pca_lowrank svd_lowrank",
        (BOTH, False): "pinverse svd",
    },
    "rushlight.ops.linalg.solve": {
        (("linalg:lstsq",), False): "linalg_lstsq",
        (("linalg:solve",), False): "linalg_solve",
        (("linalg:solve_ex",), False): "linalg_solve_ex",
        (("linalg:solve_triangular",), False): "linalg_solve_triangular",
        (("linalg:tensorinv",), False): "linalg_tensorinv",
        (("linalg:tensorsolve",), False): "linalg_tensorsolve",
        (BOTH, False): "triangular_solve",
    },
    "rushlight.ops.loss": {
        (("nn.functional",), False): "huber_loss l1_loss mse_loss smooth_l1_loss",
    },
    "rushlight.ops.loss_classes": {
        (("nn.functional",), False): "cross_entropy nll_loss",
    },
    "rushlight.ops.loss_margins": {
        (("nn.functional",), False): """
cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss
triplet_margin_loss triplet_margin_with_distance_loss""",
        (("nn.functional", "torch"), False): "cosine_similarity pairwise_distance",
        (("torch:cosine_embedding_loss",), False): "numbered_cosine_embedding_loss",
        (("torch:hinge_embedding_loss",), False): "numbered_hinge_embedding_loss",
        (("torch:margin_ranking_loss",), False): "numbered_margin_ranking_loss",
        (("torch:triplet_margin_loss",), False): "numbered_triplet_margin_loss",
    },
    "rushlight.ops.loss_probabilities": {
        (("nn.functional",), False): """
binary_cross_entropy binary_cross_entropy_with_logits gaussian_nll_loss kl_div multilabel_soft_margin_loss
poisson_nll_loss soft_margin_loss""",
        (("torch:binary_cross_entropy_with_logits",), False): "numbered_binary_cross_entropy_with_logits",
        (("torch:kl_div",), False): "numbered_kl_div",
        (("torch:poisson_nll_loss",), False): "numbered_poisson_nll_loss",
    },
    "rushlight.ops.masked": {
        (("masked:amax",), False): "masked_amax",
        (("masked:amin",), False): "masked_amin",
        (("masked:argmax",), False): "masked_argmax",
        (("masked:argmin",), False): "masked_argmin",
        (("masked:cumprod",), False): "masked_cumprod",
        (("masked:cumsum",), False): "masked_cumsum",
        (("masked:log_softmax",), False): "masked_log_softmax",
        (("masked:logaddexp",), False): "masked_logaddexp",
        (("masked:logsumexp",), False): "masked_logsumexp",
        (("masked:mean",), False): "masked_mean",
        (("masked:median",), False): "masked_median",
        (("masked:norm",), False): "masked_norm",
        (("masked:normalize",), False): "masked_normalize",
        (("masked:prod",), False): "masked_prod",
        (("masked:softmax",), False): "masked_softmax",
        (("masked:softmin",), False): "masked_softmin",
        (("masked:std",), False): "masked_std",
        (("masked:sum",), False): "masked_sum",
        (("masked:var",), False): "masked_var",
    },
    "rushlight.ops.matmul": {
        (("nn.functional", "torch"), False): "bilinear",
        (("nn.functional",), False): "linear",
        (("torch", "Tensor", "linalg"), False): "matmul",
        (("torch", "Tensor", "torch:ger", "Tensor:ger"), False): "outer",
    },
    "rushlight.ops.norm": {
        (("nn.functional:group_norm",), False): "functional_group_norm",
        (("nn.functional:layer_norm",), False): "functional_layer_norm",
        (("torch",), False): "group_norm layer_norm native_group_norm native_layer_norm",
        (("nn.functional",), False): "local_response_norm normalize",
        (("torch", "nn.functional"), False): "rms_norm",
    },
    "rushlight.ops.norm_batch": {
        (("torch",), False): "batch_norm native_batch_norm",
        (("nn.functional:batch_norm",), False): "functional_batch_norm",
        (("nn.functional",), False): "instance_norm",
        (("torch:instance_norm",), False): "native_instance_norm",
    },
    "rushlight.ops.norms": {
        (BOTH, False): "dist norm",
        (("torch",), False): "frobenius_norm nuclear_norm",
        (("linalg:matrix_norm",), False): "linalg_matrix_norm",
        (("linalg:norm",), False): "linalg_norm",
        (("linalg:vector_norm",), False): "linalg_vector_norm",
        (BOTH, True): "renorm",
    },
    "rushlight.ops.order": {
        (BOTH, False): "adjoint moveaxis movedim",
        (("Tensor",), False): "dim_order",
    },
    "rushlight.ops.padding": {
        (("nn.functional",), False): "pad",
    },
    "rushlight.ops.parts": {
        (BOTH, False): "narrow",
    },
    "rushlight.ops.pool": {
        (("nn.functional",), False): "lp_pool1d lp_pool2d lp_pool3d",
    },
    "rushlight.ops.pool_adaptive": {
        (("torch", "nn.functional"), False): "adaptive_avg_pool1d",
        (("nn.functional",), False): """
adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool2d_with_indices
adaptive_max_pool3d adaptive_max_pool3d_with_indices""",
        (("nn.functional", "torch:adaptive_max_pool1d"), False): "adaptive_max_pool1d_with_indices",
    },
    "rushlight.ops.pool_max": {
        (("torch", "nn.functional"), False): "max_pool1d max_pool2d max_pool3d",
        (("nn.functional", "torch"), False): "max_pool1d_with_indices",
        (("nn.functional",), False): """
max_pool2d_with_indices max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d""",
    },
    "rushlight.ops.pool_mean": {
        (("torch", "nn.functional"), False): "avg_pool1d",
        (("nn.functional",), False): "avg_pool2d avg_pool3d",
    },
    "rushlight.ops.positions": {
        (BOTH, False): "argwhere nonzero",
        (("nn.functional",), False): "one_hot",
        (("torch",), False): "unravel_index",
    },
    "rushlight.ops.promotion": {
        (("torch",), False): "can_cast is_tensor result_type",
        (BOTH, False): "is_nonzero",
    },
    "rushlight.ops.quantiles": {
        (BOTH, False): "kthvalue median mode nanmedian nanquantile quantile",
    },
    "rushlight.ops.random": {
        (BOTH, False): "bernoulli",
        (("torch",), False): "normal rand_like randint randint_like randn_like",
        (("Tensor",), False): "random_",
    },
    "rushlight.ops.ranges": {
        (("torch",), False): "arange",
    },
    "rushlight.ops.recurrent_cells": {
        (("torch",), False): "gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell",
    },
    "rushlight.ops.recurrent_stacks": {
        (("torch",), False): "gru lstm rnn_relu rnn_tanh",
    },
    "rushlight.ops.reduce": {
        (BOTH, False): "nanmean prod",
    },
    "rushlight.ops.scan": {
        (BOTH, False): "cummax cummin diag diagflat diff",
    },
    "rushlight.ops.scatter_reduce": {
        ((), False): "scatter_reduce_gradients",
    },
    "rushlight.ops.softmax": {
        (("nn.functional:log_softmax",), False): "functional_log_softmax",
        (("nn.functional:softmax",), False): "functional_softmax",
        (("nn.functional:softmin",), False): "functional_softmin",
    },
    "rushlight.ops.sort": {
        (BOTH, False): "argsort msort sort topk unique unique_consecutive",
        (("torch",), False): "bucketize isin searchsorted",
    },
    "rushlight.ops.spectrogram": {
        (BOTH, False): "istft stft",
    },
    "rushlight.ops.split": {
        (BOTH, False): "chunk dsplit hsplit tensor_split unsafe_chunk vsplit",
        (("torch",), False): "split",
        (("Tensor:split",), False): "split_method",
    },
    "rushlight.ops.statistics": {
        (BOTH, False): "corrcoef cov std var",
        (("torch",), False): "std_mean var_mean",
    },
    "rushlight.ops.tensordot": {
        (BOTH, False): "inner kron",
        (("torch",), False): "tensordot",
    },
    "rushlight.ops.view": {
        (BOTH, False): "broadcast_to flatten ravel reshape unflatten",
        (("Tensor",), False): "expand_as reshape_as view view_as",
    },
    "rushlight.ops.view_copies": {
        (("torch",), False): "detach_copy view_copy",
    },
}

INPLACE_LISTS = {
    "rushlight.ops.copy": {
        ((), False): "copy_all_",
    },
    "rushlight.ops.optimize": {
        ((), False): "add_scaled_ bundle_step_ optimizer_step_",
    },
    "rushlight.ops.quasi_newton": {
        ((), False): "two_loop_recursion_",
    },
}
