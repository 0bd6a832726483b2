"""``torch._inductor.config``: settings of the code generator, kept without effect."""

from ...settings import Settings as _Settings

_Settings.replace(
    globals(),
    max_autotune=False,
    coordinate_descent_tuning=False,
    epilogue_fusion=True,
    fx_graph_cache=True,
    force_fuse_int_mm_with_mul=False,
    use_mixed_mm=False,
    shape_padding=True,
    freezing=False,
    debug=False,
)
