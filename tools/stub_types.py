"""The types that stubs give to arguments and results: by the argument's name, and where one function differs, by its own.

In a type, ``ints`` is a sequence of ints, ``Tensors`` one of tensors, ``Number`` a Python number, ``Operand`` a tensor or number.
An argument whose default is None may be None, whatever stands here.
"""

_BY_TYPE = {
    "Tensor": """
        self input A B L LD LU LU_data LU_pivots M a anchor angle abs b_hh b_ih batch_sizes bias bias_k bias_v boundaries condition context_mask
        distances elements fweights aweights gradient grid hx imag real in_proj_bias in_proj_weight index indices input1 input2
        input_mask other_mask key query value key_padding_mask attn_mask log_probs logits mask negative positive new_state obj_tensor offsets
        out_proj_bias out_proj_weight per_sample_weights pivots pos_weight prepend append q_proj_weight k_proj_weight v_proj_weight
        running_mean running_var sorted_sequence sorter source src static_k static_v target targets tau tensor test_elements
        mat mat1 mat2 the_template theta values vec vec2 w_hh w_ih weight window x x1 x2 y out _random_samples tensor1 tensor2
    """,
    "Operand": "other exponent",
    "Tensors": "tensors params",
    "int": """
        blank chunks diagonal dim dim0 dim1 dim2 edge_order embed_dim_to_check end_dim groups group C N HxW hop_length win_length
        ignore_index ind indices_count k length n n_fft niter num_classes num_groups num_heads num_layers offset padding_idx
        pickle_protocol precision edgeitems linewidth r seed start_dim start storage_offset upscale_factor chunk_size
        divisor_override decimals dense_dim count minlength q int _stacklevel
    """,
    "float": """
        beta delta dropout dropout_p eps label_smoothing lower margin max_norm max_val maxnorm min_val momentum negative_slope
        norm_type p rcond scale step_size tau_value threshold pivot_tolerance
    """,
    "Number": "alpha correction fill_value dx max min end step lambd ord",
    "float | Tensor": "atol rtol tol",
    "bool": """
        accumulate add_zero_attn adjoint align_corners align_to_window ambiguity_check antialias as_tuple assume_unique
        average_attn_weights batch_first bidirectional b ceil_mode center check_errors compute_uv copy count_include_pad
        create_graph cudnn_enable cudnn_enabled density descending eigenvectors enable_gqa enabled equal_nan force full
        full_matrices get_infos hard has_biases hermitian include_last_offset increasing inplace invert is_causal keepdim
        largest left log_input log_target mmap mode need_weights non_blocking normalized onesided out_int32 pin_memory
        pivot recompute_scale_factor reduce requires_grad return_complex return_counts return_indices return_inverse right
        scale_grad_by_freq sci_mode size_average some sorted sparse stable swap symmetric train training transpose
        unbiased unitriangular unpack_data unpack_pivots upper use_input_stats use_separate_proj_weight warn_only
        weights_only with_replacement wrap zero_infinity retain_graph _use_new_zipfile_serialization
        check_invariants coalesced is_coalesced masked_grad _disable_byteorder_record hermitian_ implicit sparse_grad include_self
    """,
    "str": """
        UPLO compute_mode debug_mode device_type driver equation indexing interpolation name norm pad_mode padding_mode profile
        randomness reduction side spec word
    """,
    "int | ints": """
        dilation kernel_size padding output_padding stride destination dims
    """,
    "ints": "blocksize size sizes shape physical_layout normalized_shape axes shifts repeats_each",
    "dtype": "dtype from_ to type1 type2",
    "Device": "device",
    "layout": "layout",
    "memory_format": "memory_format",
    "Generator": "generator",
    "Any": "ccol_indices col_indices compressed_indices crow_indices plain_indices row_indices data obj state spacing ext_tensor buffer f pickle_module map_location subject context args kwargs types memo",
    "Callable[..., Any]": "callable hook func distance_function function",
}
TYPES = {name: kind for kind, names in _BY_TYPE.items() for name in names.split()}

# Arguments of any number.
ROWS = {
    "size": "int",
    "sizes": "int",
    "shape": "int",
    "dims": "int",
    "tensors": "Tensor",
    "matrices": "Tensor",
    "args": "Any",
}

_DIMS = "int | ints"
# Arguments of one function, under the name of its entry in the table or of the function itself.
PARTICULAR = {
    **{f"sparse_{kind}_tensor.values": "Any" for kind in ("coo", "compressed", "csr", "csc", "bsr", "bsc")}, "sparse_coo_tensor.indices": "Any",
    "to_sparse.sparse_dim": "int | layout", "to_padded_tensor.padding": "float", "to_padded_tensor.output_size": "ints | None", "sparse_resize_.sparse_dim": "int", "sparse_resize_and_clear_.sparse_dim": "int", "sparse_mm.reduce": "str",
    **{f"fake_quantize_per_{kind}_affine.{given}": "int" for kind in ("tensor", "channel") for given in ("quant_min", "quant_max")},
    "fake_quantize_per_tensor_affine.scale": "float | Tensor", "fake_quantize_per_tensor_affine.zero_point": "int | Tensor",
    "fake_quantize_per_channel_affine.scale": "Tensor", "fake_quantize_per_channel_affine.zero_point": "Tensor",
    "fake_quantize_per_channel_affine.axis": "int",
    "cond.pred": "bool | Tensor", "cond.true_fn": "Callable[..., Any]", "cond.false_fn": "Callable[..., Any]", "cond.operands": "Sequence[Any]",
    "while_loop.cond_fn": "Callable[..., Any]", "while_loop.body_fn": "Callable[..., Any]", "while_loop.carried_inputs": "Sequence[Any]",
    **{f"grid_sampler{kind}.{given}": "int" for kind in ("", "_2d", "_3d") for given in ("interpolation_mode", "padding_mode")},
    "numbered_embedding_bag.mode": "int", "convolution.transposed": "bool",
    "lobpcg.X": "Tensor", "lobpcg.iK": "Tensor", "lobpcg.tol": "float", "lobpcg.method": "str", "lobpcg.tracker": "Callable[..., Any]",
    **{f"lobpcg.ortho_{kind}params": "dict[str, Any]" for kind in "ifb"},
    "segment_reduce.reduce": "str", "segment_reduce.lengths": "Tensor", "segment_reduce.axis": "int", "segment_reduce.unsafe": "bool",
    "segment_reduce.initial": "Number", "set_anomaly_enabled.check_nan": "bool", "norm_except_dim.v": "Tensor", "norm_except_dim.pow": "int",
    "compile.model": "Any", "compile.fullgraph": "bool", "compile.dynamic": "bool", "compile.backend": "str | Callable[..., Any]",
    "compile.mode": "str", "compile.options": "dict[str, Any]", "compile.disable": "bool", "compile.recompile_limit": "int",
    "compile.isolate_recompiles": "bool", "compile.shapes_spec": "Any",
    **dict.fromkeys((f"{name}.{given}" for name in ("sym_int", "sym_float", "sym_not", "sym_max", "sym_min", "sym_sqrt") for given in "ab"), "Number"),
    **dict.fromkeys((f"sym_ite.{given}" for given in "btf"), "Any"), "sym_sum.args": "Sequence[Number]",
    "allclose.other": "Tensor", "isclose.other": "Tensor", "dist.other": "Tensor", "kron.other": "Tensor",
    **dict.fromkeys((f"{name}.dim" for name in (
        "sum", "mean", "nanmean", "hash_tensor", "nansum", "all", "any", "amax", "amin", "aminmax", "logsumexp", "count_nonzero", "norm", "nuclear_norm", "squeeze",
        "var", "std", "flip", "roll", "unflatten_", "masked_sum", "masked_prod", "masked_mean", "masked_amax", "masked_amin", "masked_var",
        "masked_std", "masked_norm", "masked_logsumexp", "masked_median", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm",
        "fft_fftn", "fft_ifftn", "fft_rfftn", "fft_irfftn", "fft_hfftn", "fft_ihfftn", "fft_fft2", "fft_ifft2", "fft_rfft2", "fft_irfft2",
        "fft_hfft2", "fft_ihfft2", "fft_fftshift", "fft_ifftshift", "tensordot", "softmax_", "index_", "frobenius_norm", "unsqueeze_",
    )), _DIMS),
    "gradient.dim": _DIMS, "size.dim": "int", "linalg_cross.dim": "int",
    **dict.fromkeys((f"{name}.dim" for name in ("functional_softmax", "functional_log_softmax", "functional_softmin")), "int"),
    "linalg_norm.ord": "Number | str", "linalg_matrix_norm.ord": "Number | str", "linalg_cond.p": "Number | str", "norm.p": "Number | str",
    "einsum.equation": "str", "clone.memory_format": "memory_format", "squeeze_copy.dim": _DIMS,
    "from_numpy.ndarray": "ndarray[Any, Any]", "numbered_ctc_loss.reduction": "int", "dist.p": "Number", "renorm.maxnorm": "Number", "lstm_cell.hx": "Tensors",
    "float_power.input": "Operand", "true_divide.input": "Operand", "narrow.start": "int | Tensor", "result_type.scalar": "Operand", "gumbel_softmax.tau": "float",
    "rrelu.upper": "float", "rrelu_.upper": "float", "functional_rrelu.upper": "float", "functional_rrelu_.upper": "float", "hash_tensor.mode": "int",
    "triplet_margin_with_distance_loss.distance_function": "Callable[[Tensor, Tensor], Tensor]", "fft_fftfreq.d": "float", "quantile.q": "float | Tensor", "nanquantile.q": "float | Tensor",
    "complex.imag": "Tensor", "moveaxis.source": _DIMS, "movedim.source": _DIMS, "movedim.destination": _DIMS,
    "use_deterministic_algorithms.mode": "bool", "functional_threshold.threshold": "float", "load.f": "Any",
    "interpolate.size": _DIMS, "upsample.size": _DIMS, "upsample_nearest.size": _DIMS, "upsample_bilinear.size": _DIMS,
    "interpolate.mode": "str", "upsample.mode": "str", "grid_sample.mode": "str", "pad.mode": "str", "pad.value": "float",
    "functional_pad.mode": "str", "functional_pad.value": "float",
    "embedding_bag.mode": "str", "linalg_qr.mode": "str", "set_float32_matmul_precision.precision": "str",
    "set_flush_denormal.mode": "bool", "set_deterministic_debug_mode.debug_mode": "str | int",
    "constant_pad.value": "float", "index_fill.value": "Number", "fill_.value": "Operand", "fill.value": "Operand", "masked_fill.value": "Operand",
    "scatter.value": "Number", "scatter_.value": "Number", "scatter.reduce": "str", "scatter_.reduce": "str",
    "functional_threshold_.value": "float", "functional_threshold.value": "float", "threshold_.threshold": "float",
    "set_printoptions.threshold": "float", "linalg_tensorsolve.dims": "ints", "tensordot.dims": "int | Sequence[ints] | Tensor",
    "tensordot.b": "Tensor", "vmap.in_dims": "Any", "vmap.out_dims": "Any", "gradient_.x": "Tensor",
    "embedding.weight": "Tensor", "renorm.p": "Number", "cdist.p": "float", "linalg_lu.pivot": "bool",
    "polar.abs": "Tensor", "polar.angle": "Tensor", "linalg_matrix_power.n": "int", "unfold.padding": _DIMS,
    "conv1d.padding": "str | int | ints", "conv2d.padding": "str | int | ints", "conv3d.padding": "str | int | ints",
    "max_unpool1d.output_size": "ints", "max_unpool2d.output_size": "ints", "max_unpool3d.output_size": "ints",
    "scaled_dot_product_attention.scale": "float", "result_type.tensor1": "Operand", "result_type.tensor2": "Operand",
    "bucketize.input": "Operand", "searchsorted.input": "Operand", "dropout.p": "float", "seed.seed": "int",
    "linalg_lu_solve.B": "Tensor", "tensor_split.indices": "ints", "tensor_split.indices_or_sections": "int | ints | Tensor",
    "split.split_size_or_sections": "int | ints", "split.split_size": "int | ints", "hsplit.indices_or_sections": _DIMS, "vsplit.indices_or_sections": _DIMS,
    "dsplit.indices_or_sections": _DIMS, "take_along_dim.indices": "Tensor", "stride.dim": "int", "index_put.indices": "Sequence[Tensor | None]",
    "index_put_.indices": "Sequence[Tensor | None]", "set_.source": "Any", "set_.size": "ints", "set_.stride": "ints",
    "backward.inputs": "Tensors", "type.dtype": "dtype | str | type", "map_.callable": "Callable[..., Any]", "set_num_threads.int": "int",
    "set_num_interop_threads.int": "int", "manual_seed.seed": "int", "draw.options": "Any", "svd_lowrank.q": "int", "pca_lowrank.q": "int",
    "histogramdd.bins": "int | ints | Tensors", "histogram.bins": "int | Tensor", "histogram.range": "Sequence[float]",
    "histogramdd.range": "Sequence[float]", "set_default_tensor_type.t": "type | str", "set_default_device.device": "Device",
    "frombuffer.dtype": "dtype", "from_dlpack.copy": "bool", "asarray.copy": "bool", "tensor.data": "Any",
    "as_subclass.cls": "type[T]", "multi_head_attention_forward.weight": "Tensor", "can_cast.from_": "dtype", "can_cast.to": "dtype",
    "linalg_vander.N": "int", "vander.N": "int", "chain_matmul.matrices": "Tensor", "linalg_multi_dot.tensors": "Tensors", "ctc_loss.input_lengths": "Tensor | ints",
    "gaussian_nll_loss.var": "Tensor | float", "linalg_svd.driver": "str", "linalg_lstsq.driver": "str", "map2_.x": "Tensor",
    "vmap.func": "F",
    **{f"fractional_max_pool{kind}.output_ratio": "float | Sequence[float]" for kind in ("2d", "3d", "2d_with_indices", "3d_with_indices")},
    "local_response_norm.size": "int", "local_response_norm.k": "float", "conv_tbc.pad": "int", "functional_pad.pad": "ints", "pad.pad": "ints",
    "unflatten.sizes": "ints", "unflatten.dim": "int", "isin.elements": "Operand", "isin.test_elements": "Operand", "linspace.start": "Operand",
    "range.start": "Number", "lerp.weight": "Operand", "where.input": "Operand", "resize.sizes": "int", "resize_.sizes": "int",
    "poisson_nll_loss.full": "bool", "layer_norm.bias": "Tensor", "copy_.src": "Operand", "new_tensor.data": "Any", "l1_loss.weight": "Tensor",
    "view_copy.size": "ints", "pin_memory.device": "Device", "resize_as.tensor": "Tensor", "set_storage.source": "Any",
    "module_load.other": "Tensor", "module_load.assign": "bool",
    "from_file.filename": "str", "from_file.shared": "bool", "from_file.size": "int", "linear_cross_entropy.linear_weight": "Tensor",
    "linear_cross_entropy.linear_bias": "Tensor", "linear_cross_entropy.weight": "Tensor", "linear_cross_entropy.options": "Any",
}  # fmt: skip
for _name in ("avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d"):
    PARTICULAR[f"{_name}.padding"] = _DIMS
_OUTPUT_SIZES = "int | Sequence[int | None]"
GENERIC = {"output_size": _OUTPUT_SIZES + " | None", "scale_factor": "float | Sequence[float]", "s": "ints", "d": "float", "input_lengths": "Tensor | ints",
           "target_lengths": "Tensor | ints", "bins": "int", "repeats": "int | Tensor", "dtype_": "dtype", "indices_or_sections": _DIMS,
           "split_size_or_sections": _DIMS, "sections": "int", "randomness": "str", "in_dims": "Any", "out_dims": "Any", "cls": "type"}  # fmt: skip
TYPES |= GENERIC

# What functions return that give no Tensor.
_RETURNS = {
    "bool": """
        allclose equal can_cast are_deterministic_algorithms_enabled compiled_with_cxx11_abi has_names set_flush_denormal
        autocast_enabled
    """,
    "int": """
        _nnz dim ndimension nelement numel element_size data_ptr const_data_ptr storage_offset get_device sparse_dim dense_dim get_num_threads
        get_num_interop_threads get_deterministic_debug_mode initial_seed seed autocast_increment_nesting
        autocast_decrement_nesting
    """,
    "str": "typename get_float32_matmul_precision storage_type",
    "dtype": """
        result_type promote_types get_default_dtype get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
    """,
    "Size": "common_shape",
    "device": "get_default_device",
    "Any": "cond while_loop load numpy tolist storage untyped_storage map_ map2_ apply_ new draw",
    "None": """
        save set_anomaly_enabled set_printoptions set_default_dtype set_default_device set_default_tensor_type set_rng_state set_warn_always
        set_num_threads set_num_interop_threads set_deterministic_debug_mode set_float32_matmul_precision backward retain_grad
        use_deterministic_algorithms clear_autocast_cache set_autocast_cache_enabled set_autocast_cpu_dtype
        set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_gpu_enabled
    """,
    "tuple[Tensor, ...]": """
        broadcast_tensors split unsafe_split chunk unsafe_chunk hsplit vsplit dsplit tensor_split unbind split_with_sizes
        gradient meshgrid align_tensors
    """,
    "tuple[Tensor, Tensor]": """
        native_dropout frexp max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d_with_indices
        adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices fractional_max_pool2d_with_indices
        fractional_max_pool3d_with_indices lstm_cell lobpcg numpy_frexp
    """,
    "tuple[Tensor, Tensor, Tensor, Tensor]": "numbered_embedding_bag",
    "tuple[Tensor, Tensor, Tensor]": """
        native_layer_norm native_group_norm native_batch_norm svd_lowrank pca_lowrank
    """,
    "tuple[Tensor, Tensor | None]": "multi_head_attention_forward",
    "tuple[Tensor, tuple[Tensor, ...]]": "histogramdd",
    "tuple[int, ...]": "dim_order",
    "Generator": "manual_seed",
    "RemovableHandle": "register_hook register_post_accumulate_grad_hook",
    "T": "as_subclass",
    "F": "vmap",
    "Explanation": "explain",
}
RETURNS = {name: kind for kind, names in _RETURNS.items() for name in names.split()}
RETURNS |= {
    "sym_float": "float",
    "sym_int": "int",
    "sym_not": "bool",
    "sym_sqrt": "float",
    "sym_ite": "Any",
    "get_device_module": "Any",
    "compile": "Any",
}
RETURNS |= dict.fromkeys(("sym_max", "sym_min", "sym_sum"), "Number")
RETURNS["lu"] = "tuple[Tensor, ...]"
