"""``torch.fx.experimental.proxy_tensor``: recording of operations below autograd, which is not here."""

from __future__ import annotations

from ...base.errors import hinted


def get_proxy_mode():
    """What records operations: None."""
    return None


def make_fx(f, *args, **options):
    """Refused: there are no operations below autograd to record."""
    raise NotImplementedError(
        hinted(
            "make_fx is not implemented", "torch.fx.symbolic_trace(module_or_function) records the operations called"
        )
    )
