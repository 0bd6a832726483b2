"""Rprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_learning_rate
from .elementwise import ElementwiseOptimizer, store
from .fitting import scalar_state
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Rprop(ElementwiseOptimizer):
    r"""Resilient backpropagation (Riedmiller and Braun, 1993): only the signs of the gradient count.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: the first step size, a number or a one-element tensor.
        etas: factors on the step size where the sign of the gradient changed, and where it stayed.
        step_sizes: smallest and largest step size.
        capturable: for CUDA graphs; must be False on a CPU.
        foreach: accepted; every step is fused.
        maximize: climb instead of descend.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("prev", "step_size")

    def init_single(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Any:
        lr = float(group["lr"])
        size = functions.full_like(grad, complex(lr, lr) if param.is_complex() else lr)
        return {"step": scalar_state(0), "prev": functions.zeros_like(param), "step_size": size}

    @staticmethod
    def constants(group, step):
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        return {
            "maximize": group["maximize"],
            "shrink": shrink,
            "grow": grow,
            "smallest": smallest,
            "largest": largest,
        }

    @staticmethod
    def formula(m, constants, param, grad, prev, step_size):
        if constants["maximize"]:
            grad = -grad
        agreement = grad * prev
        turned = agreement < 0
        factor = m.where(turned, constants["shrink"], m.where(agreement > 0, constants["grow"], 1.0))
        step_size *= factor
        store(step_size, m.clip(step_size, constants["smallest"], constants["largest"]))
        grad = m.where(turned, 0.0, grad)
        param -= m.sign(grad) * step_size
        store(prev, grad)


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of `Rprop` for parameters, gradients and states in lists, which are changed in place."""
    options = {"maximize": maximize, "etas": (etaminus, etaplus), "step_sizes": (step_size_min, step_size_max)}
    step_lists(Rprop, params, grads, [state_steps], [prevs, step_sizes], options, differentiable)
