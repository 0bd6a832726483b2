"""``torch.amp``: mixed precision. `autocast` lets each operation compute in the dtype that suits it, `GradScaler` scales losses."""

from . import (
    casting,
)  # puts itself into the functions that it lists when a context is first entered as casting  # puts itself into the functions that it lists when a context is first entered
from .autocast_mode import (
    autocast as autocast,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
    is_autocast_available as is_autocast_available,
)
from .grad_scaler import GradScaler as GradScaler

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "GradScaler"]
