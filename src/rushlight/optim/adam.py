"""Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from .checks import check_betas, check_fused, check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, approach, direction, store
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Adam(ElementwiseOptimizer):
    r"""Adam (Kingma and Ba, 2015, algorithm 1).

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        betas: decay rates of the running averages of the gradient and of its square.
        eps: added to the denominator.
        weight_decay: adds ``weight_decay * param`` to the gradient, or with ``decoupled_weight_decay`` shrinks the
            parameter by ``lr * weight_decay`` before the step (AdamW).
        amsgrad: divide by the largest second moment so far (Reddi et al., 2018).
        maximize: climb instead of descend.
        foreach, fused: accepted; every step is fused.
        capturable: for CUDA graphs; must be False on a CPU.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        self._check_tensors(lr, betas, foreach, capturable)
        check_learning_rate(lr)
        check_betas(betas)
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": tuple(beta.squeeze() if isinstance(beta, Tensor) else beta for beta in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    @staticmethod
    def _check_tensors(lr, betas, foreach, capturable):
        named = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
        tensors = [name for name, value in named.items() if isinstance(value, Tensor)]
        for name in tensors:
            if foreach and not capturable:
                raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
            if named[name].numel() != 1:
                raise ValueError(f"Tensor {name} must be 1-element")
        if ("betas[0]" in tensors) != ("betas[1]" in tensors) or not all(
            isinstance(beta, (float, Tensor)) for beta in betas[:2]
        ):
            raise ValueError("betas must be either both floats or both Tensors")

    def with_numbers(self, group: dict[str, Any]) -> Any:
        lr, betas = group["lr"], group["betas"]
        if lr.__class__ is float and betas[0].__class__ is float:
            return group
        return {**group, "lr": float(lr), "betas": tuple(float(beta) for beta in betas)}

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    @staticmethod
    def constants(group, step):
        step += 1
        lr, decay = group["lr"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        correction1, correction2 = 1 - beta1**step, (1 - beta2**step) ** 0.5
        return {
            "maximize": group["maximize"],
            "shrink": 1 - lr * decay if decay and group["decoupled_weight_decay"] else None,
            "decay": decay if decay and not group["decoupled_weight_decay"] else None,
            "gain1": 1 - beta1,
            "beta2": beta2,
            "gain2": 1 - beta2,
            "eps": group["eps"] * correction2,
            "rate": lr * correction2 / correction1,
        }

    @staticmethod
    def formula(m, constants, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq=None):
        grad = direction(constants, param, grad)
        approach(exp_avg, grad, constants["gain1"])
        exp_avg_sq *= constants["beta2"]
        exp_avg_sq += grad * grad * constants["gain2"]
        second_moment = exp_avg_sq
        if max_exp_avg_sq is not None:
            # Not maximum, whose derivative needs the old value that is written over.
            second_moment = m.where(max_exp_avg_sq > exp_avg_sq, max_exp_avg_sq, exp_avg_sq)
            store(max_exp_avg_sq, second_moment)
        param -= exp_avg / (m.sqrt(second_moment) + constants["eps"]) * constants["rate"]


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adam` for parameters, gradients and states in lists, which are changed in place."""
    options = {
        "betas": (beta1, beta2),
        "amsgrad": amsgrad,
        "lr": lr,
        "weight_decay": weight_decay,
        "eps": eps,
        "maximize": maximize,
        "decoupled_weight_decay": decoupled_weight_decay,
    }
    step_lists(
        Adam,
        params,
        grads,
        [state_steps],
        [exp_avgs, exp_avg_sqs, max_exp_avg_sqs][: 2 + bool(amsgrad)],
        options,
        differentiable,
        (grad_scale, found_inf),
    )
