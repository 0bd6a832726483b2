"""RAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from .checks import check_betas, check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, approach, direction
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class RAdam(ElementwiseOptimizer):
    r"""RAdam (Liu et al., 2020): Adam that waits with the second moment until its variance is small enough.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        betas: decay rates of the running averages of the gradient and of its square.
        eps: added to the denominator.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        decoupled_weight_decay: decay the parameter instead, as AdamW does.
        foreach: accepted; every step is fused.
        maximize: climb instead of descend.
        capturable: for CUDA graphs; must be False on a CPU.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_betas(betas)
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("exp_avg", "exp_avg_sq")

    @staticmethod
    def constants(group, step):
        step += 1
        lr, decay = group["lr"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        longest = 2 / (1 - beta2) - 1  # rho: the length of a simple moving average of the same variance
        length = longest - 2 * step * beta2**step / correction2
        rectification = None
        if length > 5:
            rectification = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            rectification *= correction2**0.5
        return {
            "maximize": group["maximize"],
            "shrink": 1 - lr * decay if decay and group["decoupled_weight_decay"] else None,
            "decay": decay if decay and not group["decoupled_weight_decay"] else None,
            "gain1": 1 - beta1,
            "beta2": beta2,
            "gain2": 1 - beta2,
            "rate": lr / correction1,
            "rectification": rectification,
            "eps": group["eps"],
        }

    @staticmethod
    def formula(m, constants, param, grad, exp_avg, exp_avg_sq):
        grad = direction(constants, param, grad)
        approach(exp_avg, grad, constants["gain1"])
        exp_avg_sq *= constants["beta2"]
        exp_avg_sq += grad * grad * constants["gain2"]
        change = exp_avg * constants["rate"]
        if constants["rectification"] is not None:
            change = change * constants["rectification"] / (m.sqrt(exp_avg_sq) + constants["eps"])
        param -= change


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of `RAdam` for parameters, gradients and states in lists, which are changed in place."""
    options = {
        "betas": (beta1, beta2),
        "lr": lr,
        "weight_decay": weight_decay,
        "eps": eps,
        "maximize": maximize,
        "decoupled_weight_decay": decoupled_weight_decay,
    }
    step_lists(RAdam, params, grads, [state_steps], [exp_avgs, exp_avg_sqs], options, differentiable)
