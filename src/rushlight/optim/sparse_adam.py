"""SparseAdam: there, so that scripts fail where PyTorch's would; gradients are always dense here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.errors import hinted
from ..tensor import Tensor
from .checks import check_betas, check_learning_rate
from .optimizer import Optimizer

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class SparseAdam(Optimizer):
    """Adam for sparse gradients. Rushlight has no sparse tensors: ``step`` raises RuntimeError, as for dense gradients.

    >>> import rushlight as torch
    >>> torch.optim.SparseAdam([torch.zeros(2, requires_grad=True)]).defaults["lr"]
    0.001
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None if closure is None else closure()
        for group in self.param_groups:
            if any(param.grad is not None for param in group["params"]):
                raise RuntimeError(
                    hinted(
                        "SparseAdam does not support dense gradients, please consider Adam instead",
                        "Rushlight's gradients are always dense, also those of nn.Embedding(sparse=True)",
                    )
                )
        return loss
