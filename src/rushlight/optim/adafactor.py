"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..autograd import enable_grad, no_grad
from ..base.dtypes import finfo
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_learning_rate
from .fitting import make_scalars, missing_state, scalar_state, wrong_state
from .optimizer import Optimizer
from .sparse_gradients import is_sparse, refusal

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Adafactor(Optimizer):
    r"""Adafactor (Shazeer and Stern, 2018): second moments of a matrix kept as one row and one column.

    Args:
        params: real tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: upper bound of the relative step, a number or a one-element tensor; it is ``min(lr, 1 / sqrt(t))``.
        beta2_decay: the decay rate of second moments in step t is ``1 - t ** beta2_decay``.
        eps: ``(eps1, eps2)``: keeps denominators from zero (None: the dtype's ``finfo.eps``); the smallest size of a
            parameter that the relative step refers to.
        d: the root mean square of an update is clipped to this.
        weight_decay: shrinks the parameter by ``lr * weight_decay`` before the step.
        foreach: accepted.
        maximize: climb instead of descend.

    >>> import rushlight as torch
    >>> w = torch.ones(2, 3, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([[0.9000, 0.9000, 0.9000],
            [0.9000, 0.9000, 0.9000]], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. ``closure``, where given, evaluates the model and returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if is_sparse(param.grad):
                    raise refusal(self)
                if param.grad is not None:
                    self.apply_single(group, param, -param.grad if group["maximize"] else param.grad)
        return loss

    def init_single(self, grad: Tensor) -> Any:
        """The second moments of one parameter before its first step."""
        if grad.dim() < 2:
            return {"step": scalar_state(0), "variance": functions.zeros_like(grad)}
        *outer, rows, columns = grad.shape
        return {
            "step": scalar_state(0),
            "row_var": grad.new_zeros((*outer, rows, 1)),
            "col_var": grad.new_zeros((*outer, 1, columns)),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state over; a step count that is a number becomes a tensor."""
        super().__setstate__(state)
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            if self.state.get(param):
                make_scalars(self.state[param], ("step",), self)

    def check_state(self, state: dict[str, Any], grad: Tensor) -> None:
        """Raise unless a parameter's state has what a step reads."""
        if "step" not in state:
            raise missing_state("step", state, self)
        if not isinstance(state["step"], Tensor):
            raise RuntimeError(
                hinted(
                    "`state_steps` argument must contain a list of singleton tensors",
                    f"'step' of a parameter's state has to be a Tensor with one number, not {type(state['step']).__name__}",
                )
            )
        matrix = grad.dim() > 1
        for name in ("row_var", "col_var") if matrix else ("variance",):
            value = state.get(name)
            if value is None:
                what = "row_var and col_var should be defined when grad is multidimensional"
                what = what if matrix else "variance should be defined when grad is a vector"
                raise AssertionError(hinted(what, f"the state of this parameter has no '{name}'"))
            if not isinstance(value, Tensor):
                raise wrong_state(name, value, grad, False)

    def apply_single(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        if param.is_complex():
            raise RuntimeError(hinted("Adafactor does not support complex parameters", "optimize view_as_real of it"))
        state = self.state[param]
        if not state:
            state.update(self.init_single(grad))
        self.check_state(state, grad)
        state["step"] += 1
        step, lr = state["step"].item(), float(group["lr"])
        small, smallest_size = group["eps"]
        small = finfo(param.dtype).eps if small is None else small
        share = step ** group["beta2_decay"]  # of this step in the second moments
        length = max(smallest_size, _root_mean_square(param)) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            param *= 1 - lr * group["weight_decay"]
        square = grad * grad
        if grad.dim() > 1:
            row, column = state["row_var"], state["col_var"]
            row.lerp_(square.mean(-1, keepdim=True), share)
            column.lerp_(square.mean(-2, keepdim=True), share)
            variance = row @ column / row.mean(-2, keepdim=True).clamp(min=small)
        else:
            variance = state["variance"].lerp_(square, share)
        update = grad / variance.clamp(min=small * small).sqrt()
        param -= update * (length / max(1.0, _root_mean_square(update) / group["d"]))


def _root_mean_square(tensor):
    return tensor.norm(2).item() / tensor.numel() ** 0.5
