"""``torch.amp``: mixed precision, which this version does not have: switched off it is accepted, switched on refused."""

from __future__ import annotations

import functools
import warnings

from .base.errors import hinted


class autocast:
    """A context and decorator that chooses dtypes by operation; here only ``enabled=False`` is accepted.

    ``autocast(device_type, dtype=None, enabled=True, cache_enabled=None)``. For "cuda" without a device PyTorch warns and
    switches itself off, and so does this.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if device_type == "cuda" and enabled:
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            enabled = False
        if enabled:
            raise NotImplementedError(
                hinted(
                    f"autocast('{device_type}') is not implemented",
                    "convert the model itself, for example model.bfloat16(), or pass enabled=False",
                )
            )

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return wrapped


class GradScaler:
    """Scaling of losses for half precision on CUDA; without a device PyTorch switches it off, and so does this."""

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
        elif enabled:
            raise NotImplementedError(hinted(f"GradScaler('{device}') is not implemented", "pass enabled=False"))

    def scale(self, outputs):
        """The outputs as they are."""
        return outputs

    def unscale_(self, optimizer):
        """Nothing to do."""

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step()``."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Nothing to do."""

    def get_scale(self):
        """The scale: 1."""
        return 1.0

    def is_enabled(self):
        """False."""
        return False

    def state_dict(self):
        """An empty dictionary."""
        return {}

    def load_state_dict(self, state_dict):
        """Nothing to load."""


def is_autocast_available(device_type):
    """Whether mixed precision can be used: False in this version."""
    return False
