"""Adagrad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_fused, check_learning_rate, check_not_negative
from .elementwise import ElementwiseOptimizer, direction
from .fitting import scalar_state
from .functional import step_lists
from .sparse_gradients import at, sparse_like

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Adagrad(ElementwiseOptimizer):
    r"""Adagrad (Duchi, Hazan and Singer, 2011): the gradient over the root of the sum of all its squares.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        lr_decay: the learning rate of step t is ``lr / (1 + (t - 1) * lr_decay)``.
        weight_decay: adds ``weight_decay * param`` to the gradient.
        initial_accumulator_value: the sum of squares before the first step.
        eps: added to the root.
        foreach, fused: accepted; every step is fused.
        maximize: climb instead of descend.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:  # the one optimizer whose state is there from the start
                self._initialized(param, None, group)

    def share_memory(self) -> None:
        """Move the state into shared memory."""
        for values in self.state.values():
            values["sum"].share_memory_()

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("sum",)

    def init_single(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Any:
        value = group["initial_accumulator_value"]
        value = complex(value, value) if param.is_complex() else value
        return {"step": scalar_state(0), "sum": functions.full_like(param, value)}

    takes_sparse = True

    def step_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """Touches the rows alone that the gradient has."""
        if group["weight_decay"]:
            message = "weight_decay option is not compatible with sparse gradients"
            raise RuntimeError(hinted(message, "weight decay moves every element: use dense gradients"))
        state = self.state[param] or self._initialized(param, grad, group)
        rate = group["lr"] / (1 + state["step"].item() * group["lr_decay"])
        state["step"] += 1
        grad = (-grad if group["maximize"] else grad).coalesce()
        values = grad.values()
        state["sum"].add_(sparse_like(grad, values * values))
        steps = values / at(state["sum"], grad).sqrt().add_(group["eps"])
        param.add_(sparse_like(grad, steps), alpha=-rate)

    @staticmethod
    def constants(group, step):
        return {
            "maximize": group["maximize"],
            "decay": group["weight_decay"] or None,
            "eps": group["eps"],
            "rate": group["lr"] / (1 + step * group["lr_decay"]),
        }

    @staticmethod
    def formula(m, constants, param, grad, sum):
        grad = direction(constants, param, grad)
        sum += grad * grad
        param -= grad / (m.sqrt(sum) + constants["eps"]) * constants["rate"]


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adagrad` for parameters, gradients and states in lists, which are changed in place."""
    options = {"lr": lr, "weight_decay": weight_decay, "lr_decay": lr_decay, "eps": eps, "maximize": maximize}
    step_lists(Adagrad, params, grads, [state_steps], [state_sums], options, differentiable, (grad_scale, found_inf))
