"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, direction, store
from .fitting import scalar_state
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class ASGD(ElementwiseOptimizer):
    r"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992). The average is in the state, as ``ax``.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        lambd: decay of the parameter, and of the rate: ``eta = lr / (1 + lambd * lr * t) ** alpha``.
        alpha: power of the decay of the rate.
        t0: the step after which averaging starts.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        foreach: accepted; every step is fused.
        maximize: climb instead of descend.
        differentiable: let gradients flow through the step.
        capturable: for CUDA graphs; must be False on a CPU.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    scalar_names = ("step", "eta", "mu")
    capturable_parts = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("ax",)

    def init_single(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Any:
        eta = scalar_state(float(group["lr"]))
        return {"step": scalar_state(0), "eta": eta, "mu": scalar_state(1), "ax": functions.zeros_like(param)}

    @staticmethod
    def advance_scalars(group, step, eta, mu):
        step, lr = step + 1, float(group["lr"])
        return step, lr / (1 + group["lambd"] * lr * step) ** group["alpha"], 1 / max(1, step - group["t0"])

    @staticmethod
    def constants(group, step, eta, mu):
        return {
            "maximize": group["maximize"],
            "decay": group["weight_decay"] or None,
            "keep": 1 - group["lambd"] * eta,
            "eta": eta,
            "mu": None if mu == 1 else mu,
        }

    @staticmethod
    def formula(m, constants, param, grad, ax):
        grad = direction(constants, param, grad)
        param *= constants["keep"]
        param -= grad * constants["eta"]
        if constants["mu"] is None:
            store(ax, param)
        else:
            ax += (param - ax) * constants["mu"]


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of `ASGD` for parameters, gradients and states in lists, which are changed in place."""
    options = {"lambd": lambd, "lr": lr, "t0": t0, "alpha": alpha, "weight_decay": weight_decay, "maximize": maximize}
    step_lists(ASGD, params, grads, [state_steps, etas, mus], [axs], options, differentiable)
