"""``torch.compiler.config``: settings of the compiler, kept without effect."""

import sys as _sys

from ..compat.settings import Settings as _Settings

_sys.modules[__name__] = _Settings(
    __name__,
    __spec__=__spec__,
    __loader__=__spec__.loader,
    __package__=__package__,
    __file__=__file__,
    __doc__=__doc__,
    job_id=None,
    dynamic_sources="",
    unbacked_sources="",
    force_disable_caches=False,
)
