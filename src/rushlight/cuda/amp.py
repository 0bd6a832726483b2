"""``torch.cuda.amp``: older names of mixed precision on CUDA, deprecated as in PyTorch, which stays off without a device."""

import functools
import warnings

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as _custom_bwd
from ..amp import custom_fwd as _custom_fwd
from ..base.dtypes import float16 as _float16


def _deprecated(name, instead):
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}({instead})` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(_autocast):
    """``torch.amp.autocast("cuda", ...)``."""

    def __init__(self, enabled=True, dtype=_float16, cache_enabled=True):
        _deprecated("autocast", "'cuda', args...")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cuda", ...)``."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("GradScaler", "'cuda', args...")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """``torch.amp.custom_fwd(..., device_type="cuda")``."""
    _deprecated("custom_fwd", "args..., device_type='cuda'")
    return functools.partial(_custom_fwd, device_type="cuda", cast_inputs=cast_inputs)(fwd)


def custom_bwd(bwd):
    """``torch.amp.custom_bwd(..., device_type="cuda")``."""
    _deprecated("custom_bwd", "args..., device_type='cuda'")
    return _custom_bwd(bwd, device_type="cuda")
