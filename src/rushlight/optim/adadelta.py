"""Adadelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from .checks import check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, direction
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Adadelta(ElementwiseOptimizer):
    r"""Adadelta (Zeiler, 2012, algorithm 1): steps in units of the parameter, whatever the unit of the gradient.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: factor on the step, a number or a one-element tensor.
        rho: decay rate of the running averages of squares.
        eps: added under both roots.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        foreach: accepted; every step is fused.
        capturable: for CUDA graphs; must be False on a CPU.
        maximize: climb instead of descend.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9968, 1.9968], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("square_avg", "acc_delta")

    @staticmethod
    def constants(group, step):
        return {
            "maximize": group["maximize"],
            "decay": group["weight_decay"] or None,
            "rho": group["rho"],
            "gain": 1 - group["rho"],
            "eps": group["eps"],
            "lr": group["lr"],
        }

    @staticmethod
    def formula(m, constants, param, grad, square_avg, acc_delta):
        rho, gain, eps = constants["rho"], constants["gain"], constants["eps"]
        grad = direction(constants, param, grad)
        square_avg *= rho
        square_avg += grad * grad * gain
        delta = m.sqrt(acc_delta + eps) / m.sqrt(square_avg + eps) * grad
        acc_delta *= rho
        acc_delta += delta * delta * gain
        param -= delta * constants["lr"]


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of `Adadelta` for parameters, gradients and states in lists, which are changed in place."""
    options = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    step_lists(Adadelta, params, grads, [state_steps], [square_avgs, acc_deltas], options, differentiable)
