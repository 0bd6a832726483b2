"""Making a module without drawing its first values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...random import get_rng_state, set_rng_state
from ..modules.module import Module

if TYPE_CHECKING:
    from ...nn.modules.module import ModuleT

__all__ = ["skip_init"]


def skip_init(module_cls: type[ModuleT], *args: Any, **kwargs: Any) -> ModuleT:
    """``module_cls(*args, **kwargs)`` whose parameters hold arbitrary values and which takes no random numbers.

    >>> import rushlight as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 5, 1)
    Linear(in_features=5, out_features=1, bias=True)
    """
    import inspect  # not needed by most programs, and slow to import

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    accepted = inspect.signature(module_cls).parameters
    if "device" not in accepted and not any(kind.kind is kind.VAR_KEYWORD for kind in accepted.values()):
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before = get_rng_state()
    try:
        return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device") or "cpu")
    finally:
        set_rng_state(before)
