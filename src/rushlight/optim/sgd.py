"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from itertools import repeat
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, cast

from ..autograd import no_grad
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_fused, check_one_rate
from .elementwise import ElementwiseOptimizer, direction
from .functional import step_lists

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT

grad_of = attrgetter("_grad")


class SGD(ElementwiseOptimizer):
    r"""Stochastic gradient descent, with momentum (Sutskever et al., 2013) if asked for.

    Args:
        params: tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        momentum: share of the previous update that goes on; 0 for none.
        dampening: ``1 - dampening`` is the share of the gradient that enters the momentum after the first step.
        weight_decay: adds ``weight_decay * param`` to the gradient (an L2 penalty).
        nesterov: look ahead along the momentum; needs ``momentum > 0`` and ``dampening == 0``.
        maximize: climb instead of descend.
        foreach, fused: accepted; every step is fused.
        differentiable: let gradients flow through the step.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    scalar_names = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_one_rate(lr)
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:  # which NaN is not
                raise ValueError(hinted(f"Invalid {name}: {value}", "it is zero or positive; maximize=True climbs"))
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                hinted(
                    "Nesterov momentum requires a momentum and zero dampening",
                    f"momentum is {momentum}, dampening {dampening}; 0.9 and 0 are usual",
                )
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for values in self.state.values():
            if values.get("momentum_buffer", 0) is None:  # so older checkpoints say that there was no step yet
                del values["momentum_buffer"]

    takes_pairs, takes_sparse = False, True

    def with_numbers(self, group: dict[str, Any]) -> Any:
        group = super().with_numbers(group)
        if isinstance(group["weight_decay"], Tensor):
            group = {**group, "weight_decay": float(group["weight_decay"])}
        return group

    def state_names(self, group: dict[str, Any]) -> Any:
        return ("momentum_buffer",) if group["momentum"] else ()

    def init_single(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Any:
        buffer = functions.zeros_like(param)
        if group["dampening"] or group["differentiable"]:
            # What makes the first buffer the gradient itself: not dampened, and apart from the graph.
            descent = (-grad if group["maximize"] else grad) + group["weight_decay"] * param
            buffer += (descent.detach() - (1 - group["dampening"]) * descent) / group["momentum"]
        return {"momentum_buffer": buffer}

    def _step_on_arrays(self, group):
        if group["momentum"] or group["weight_decay"]:
            super()._step_on_arrays(group)
            return
        params = group["params"]
        grads = [*map(grad_of, params)]
        if any(map(is_, grads, repeat(None))):
            params = [param for param in params if param._grad is not None]
            grads = [*map(grad_of, params)]
        if not params:
            return
        lr = float(group["lr"])
        scale = lr if group["maximize"] else -lr
        done = functions.add_scaled_(params, grads, scale=scale)
        while done is not None:  # a pair that does not fit together: broadcast, converted or refused as elsewhere
            with no_grad():
                params[done].add_(grads[done], alpha=scale)
            params, grads = params[done + 1 :], grads[done + 1 :]
            done = functions.add_scaled_(params, grads, scale=scale) if params else None

    def step_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """Touches the rows alone that the gradient has; momentum is sparse, too."""
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            grad = grad + param * group["weight_decay"]  # which refuses
        momentum, state = group["momentum"], self.state[param]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        param.add_(grad, alpha=-group["lr"])

    def check_state(self, state, param, grad, group):
        """As in the base class; without a buffer, momentum begins with this step."""
        if group["momentum"] and state.get("momentum_buffer") is None:
            state.update(self.init_single(param, grad, group))
        super().check_state(state, param, grad, group)

    @staticmethod
    def constants(group):
        dampening = group["dampening"]
        return {
            "maximize": group["maximize"],
            "decay": group["weight_decay"] or None,
            "momentum": group["momentum"] or None,
            "gain": 1 - dampening if dampening else None,
            "nesterov": group["nesterov"],
            "lr": group["lr"],
        }

    @staticmethod
    def formula(m, constants, param, grad, momentum_buffer=None):
        grad = direction(constants, param, grad)
        momentum = constants["momentum"]
        if momentum is not None:
            momentum_buffer *= momentum
            momentum_buffer += grad if constants["gain"] is None else grad * constants["gain"]
            grad = grad + momentum_buffer * momentum if constants["nesterov"] else momentum_buffer
        param -= grad * constants["lr"]


def sgd(
    params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None], has_sparse_grad: bool = False,
    foreach: bool | None = None, fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *,
    weight_decay: float, momentum: float, lr: float, dampening: float, nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of `SGD` for parameters, gradients and momentum in lists, which are changed in place; None: no momentum yet."""
    options = {
        "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
        "maximize": maximize, "differentiable": False,
    }  # fmt: skip
    states: list[list[Tensor]] = []
    if momentum:
        algorithm = object.__new__(SGD)
        with no_grad():
            for index, (param, grad) in enumerate(zip(params, d_p_list)):
                if momentum_buffer_list[index] is None:
                    momentum_buffer_list[index] = algorithm.init_single(param, grad, options)["momentum_buffer"]
        states = [cast("list[Tensor]", momentum_buffer_list)]
    step_lists(SGD, params, d_p_list, [], states, options, scaling=(grad_scale, found_inf))
