"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from .checks import check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, approach, direction
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class RMSprop(ElementwiseOptimizer):
    r"""RMSprop (Hinton, 2012, lecture 6e): the gradient over the root of a running average of its square.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        alpha: decay rate of the running average.
        eps: added to the root.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        momentum: share of the previous update that goes on; 0 for none.
        centered: divide by the standard deviation instead (Graves, 2013): subtracts the squared average gradient.
        capturable: for CUDA graphs; must be False on a CPU.
        foreach: accepted; every step is fused.
        maximize: climb instead of descend.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        names = ("square_avg", "momentum_buffer") if group["momentum"] else ("square_avg",)
        return (*names, "grad_avg") if group["centered"] else names

    @staticmethod
    def constants(group, step):
        return {
            "maximize": group["maximize"],
            "decay": group["weight_decay"] or None,
            "alpha": group["alpha"],
            "gain": 1 - group["alpha"],
            "centered": group["centered"],
            "eps": group["eps"],
            "momentum": group["momentum"] or None,
            "lr": group["lr"],
        }

    @staticmethod
    def formula(m, constants, param, grad, square_avg, *others):
        grad = direction(constants, param, grad)
        square_avg *= constants["alpha"]
        square_avg += grad * grad * constants["gain"]
        variance = square_avg
        if constants["centered"]:
            grad_avg = others[-1]
            approach(grad_avg, grad, constants["gain"])
            variance = square_avg - grad_avg * grad_avg
        change = grad / (m.sqrt(variance) + constants["eps"])
        if constants["momentum"] is not None:
            momentum_buffer = others[0]
            momentum_buffer *= constants["momentum"]
            momentum_buffer += change
            change = momentum_buffer
        param -= change * constants["lr"]


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of `RMSprop` for parameters, gradients and states in lists, which are changed in place."""
    states = [square_avgs, *([momentum_buffer_list] if momentum else []), *([grad_avgs] if centered else [])]
    options = {
        "lr": lr,
        "alpha": alpha,
        "eps": eps,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "centered": centered,
        "maximize": maximize,
    }
    step_lists(RMSprop, params, grads, [state_steps], states, options, differentiable)
