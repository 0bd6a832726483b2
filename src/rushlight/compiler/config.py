"""``torch.compiler.config``: settings of the compiler, kept without effect."""

from ..compat.settings import Settings as _Settings

_Settings.replace(
    globals(),
    job_id=None,
    dynamic_sources="",
    unbacked_sources="",
    force_disable_caches=False,
)
