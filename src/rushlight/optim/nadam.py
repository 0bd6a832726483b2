"""NAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from .checks import check_betas, check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, approach, direction
from .fitting import scalar_state
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class NAdam(ElementwiseOptimizer):
    r"""NAdam (Dozat, 2016): Adam that looks ahead along the momentum, as Nesterov's method does.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        betas: decay rates of the running averages of the gradient and of its square.
        eps: added to the denominator.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        momentum_decay: how fast the momentum approaches ``betas[0]``.
        decoupled_weight_decay: decay the parameter instead, as AdamW does.
        foreach: accepted; every step is fused.
        maximize: climb instead of descend.
        capturable: for CUDA graphs; must be False on a CPU.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.shape
    torch.Size([2])
    """

    scalar_names = ("step", "mu_product")
    capturable_parts = "params, mu_products and state_steps"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_betas(betas)
        check_not_negative(epsilon=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("exp_avg", "exp_avg_sq")

    def init_single(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Any:
        state = super().init_single(param, grad, group)
        state["mu_product"] = scalar_state(1)
        return state

    @staticmethod
    def momentum_at(group: dict[str, Any], step: int) -> Any:
        """The share of the momentum in step number ``step``, rising towards beta1."""
        return group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))

    @staticmethod
    def advance_scalars(group, step, mu_product):
        return step + 1, mu_product * NAdam.momentum_at(group, step + 1)

    @staticmethod
    def constants(group, step, mu_product):
        step += 1
        lr, decay = group["lr"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        mu, mu_next = NAdam.momentum_at(group, step), NAdam.momentum_at(group, step + 1)
        mu_product *= mu
        return {
            "maximize": group["maximize"],
            "shrink": 1 - lr * decay if decay and group["decoupled_weight_decay"] else None,
            "decay": decay if decay and not group["decoupled_weight_decay"] else None,
            "gain1": 1 - beta1,
            "beta2": beta2,
            "gain2": 1 - beta2,
            "now": (1 - mu) / (1 - mu_product),
            "ahead": mu_next / (1 - mu_product * mu_next),
            "correction2": 1 - beta2**step,
            "eps": group["eps"],
            "lr": lr,
        }

    @staticmethod
    def formula(m, constants, param, grad, exp_avg, exp_avg_sq):
        grad = direction(constants, param, grad)
        approach(exp_avg, grad, constants["gain1"])
        exp_avg_sq *= constants["beta2"]
        exp_avg_sq += grad * grad * constants["gain2"]
        ahead = grad * constants["now"] + exp_avg * constants["ahead"]
        param -= ahead / (m.sqrt(exp_avg_sq / constants["correction2"]) + constants["eps"]) * constants["lr"]


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of `NAdam` for parameters, gradients and states in lists, which are changed in place."""
    options = {
        "betas": (beta1, beta2),
        "lr": lr,
        "weight_decay": weight_decay,
        "momentum_decay": momentum_decay,
        "eps": eps,
        "maximize": maximize,
        "decoupled_weight_decay": decoupled_weight_decay,
    }
    step_lists(NAdam, params, grads, [state_steps, mu_products], [exp_avgs, exp_avg_sqs], options, differentiable)
