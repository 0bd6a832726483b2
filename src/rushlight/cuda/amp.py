"""``torch.cuda.amp``: mixed precision on CUDA, which PyTorch switches off without a device."""

from ..amp import autocast as _autocast


class autocast(_autocast):
    """``torch.autocast("cuda", ...)``."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
