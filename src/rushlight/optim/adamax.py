"""Adamax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from .checks import check_betas, check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, approach, direction, store
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Adamax(ElementwiseOptimizer):
    r"""Adamax (Kingma and Ba, 2015, algorithm 2): Adam with the infinity norm in the denominator.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        betas: decay rates of the running average of the gradient and of the infinity norm.
        eps: added to the absolute value of the gradient.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        foreach: accepted; every step is fused.
        maximize: climb instead of descend.
        differentiable: let gradients flow through the step.
        capturable: for CUDA graphs; must be False on a CPU.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_betas(betas)
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("exp_avg", "exp_inf")

    @staticmethod
    def constants(group, step):
        beta1, beta2 = group["betas"]
        return {
            "maximize": group["maximize"],
            "decay": group["weight_decay"] or None,
            "gain1": 1 - beta1,
            "beta2": beta2,
            "eps": group["eps"],
            "rate": group["lr"] / (1 - beta1 ** (step + 1)),
        }

    @staticmethod
    def formula(m, constants, param, grad, exp_avg, exp_inf):
        grad = direction(constants, param, grad)
        approach(exp_avg, grad, constants["gain1"])
        store(exp_inf, m.maximum(exp_inf * constants["beta2"], abs(grad) + constants["eps"]))
        param -= exp_avg / exp_inf * constants["rate"]


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """One step of `Adamax` for parameters, gradients and states in lists, which are changed in place."""
    options = {"betas": (beta1, beta2), "eps": eps, "lr": lr, "weight_decay": weight_decay, "maximize": maximize}
    step_lists(Adamax, params, grads, [state_steps], [exp_avgs, exp_infs], options, differentiable)
