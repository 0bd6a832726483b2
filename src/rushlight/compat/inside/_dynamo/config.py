"""``torch._dynamo.config``: settings of the compiler, kept without effect."""

from ...settings import Settings as _Settings

_Settings.replace(
    globals(),
    cache_size_limit=8,
    recompile_limit=8,
    accumulated_cache_size_limit=256,
    accumulated_recompile_limit=256,
    capture_dynamic_output_shape_ops=False,
    capture_scalar_outputs=False,
    dynamic_shapes=True,
    assume_static_by_default=True,
    automatic_dynamic_shapes=True,
    optimize_ddp=True,
    suppress_errors=False,
    verbose=False,
    disable=False,
    inline_inbuilt_nn_modules=True,
    error_on_recompile=False,
    compiled_autograd=False,
)
