"""``functional_call`` under its old name."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...base.errors import hinted
from ...func.modules import functional_call as _functional_call
from ...tensor import Tensor

if TYPE_CHECKING:
    from ...nn.modules.module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`torch.func.functional_call` of one dictionary; deprecated in PyTorch in favour of that."""
    warnings.warn(
        hinted(
            "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
            "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
            "the arguments are the same",
        ),
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
