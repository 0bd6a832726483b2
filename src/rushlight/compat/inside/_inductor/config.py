"""``torch._inductor.config``: settings of the code generator, kept without effect."""

import sys as _sys

from ...settings import Settings as _Settings

_sys.modules[__name__] = _Settings(
    __name__,
    __spec__=__spec__,
    __loader__=__spec__.loader,
    __package__=__package__,
    __file__=__file__,
    __doc__=__doc__,
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
