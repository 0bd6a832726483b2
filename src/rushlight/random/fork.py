"""``torch.random.fork_rng``: a block of code whose random draws leave no trace."""

from __future__ import annotations

from ..base.contexts import contextmanager
from .generator import default_generator


@contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Restore the default generator's state when the block ends, as ``torch.random.fork_rng``.

    ``devices`` and ``device_type`` name accelerators, of which there are none here; ``enabled=False`` does nothing.

    >>> import rushlight as torch
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(5)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    if not enabled:
        yield
        return
    state = default_generator.state_bytes()
    try:
        yield
    finally:
        try:
            default_generator.set_state_bytes(state)
        except BaseException:  # Ctrl-C came before it was done
            default_generator.set_state_bytes(state)
            raise
