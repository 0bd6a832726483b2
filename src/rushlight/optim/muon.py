"""Muon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd import enable_grad, no_grad
from ..base.dtypes import bfloat16
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_learning_rate
from .fitting import missing_state, wrong_state
from .optimizer import Optimizer
from .sparse_gradients import is_sparse, refusal

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class Muon(Optimizer):
    r"""Muon (Jordan et al., 2024): momentum whose update is made orthogonal by Newton-Schulz iterations in bfloat16.

    For the matrices inside a network; leave biases, embeddings and heads to AdamW.

    Args:
        params: real matrices, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        weight_decay: shrinks the parameter by ``lr * weight_decay`` before the step.
        momentum: decay rate of the running average of the gradient.
        nesterov: look ahead along the momentum.
        ns_coefficients: (a, b, c) of the polynomial ``a X + b X X^T X + c X X^T X X^T X`` that is iterated.
        eps: smallest norm to divide by.
        ns_steps: number of iterations, below 100.
        adjust_lr_fn: ``"original"`` (also None): the rate times ``sqrt(max(1, rows / columns))``;
            ``"match_rms_adamw"``: times ``0.2 * sqrt(max(rows, columns))`` (Liu et al., 2025).

    >>> import rushlight as torch
    >>> w = torch.ones(2, 3, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> list(optimizer.state[w])
    ['momentum_buffer']
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        hinted(
                            f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}",
                            "give the others to AdamW: [p for p in model.parameters() if p.dim() != 2]",
                        )
                    )

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
                    self.apply_single(group, param, param.grad)
        return loss

    def apply_single(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if grad.dim() != 2:
            raise ValueError(hinted("Param gradient must be a 2D matrix", f"its shape is {tuple(grad.shape)}"))
        state = self.state[param]
        if not state:
            state["momentum_buffer"] = functions.zeros_like(grad)
        buffer = state.get("momentum_buffer")
        if buffer is None:
            raise missing_state("momentum_buffer", state, self)
        if not isinstance(buffer, Tensor):
            raise wrong_state("momentum_buffer", buffer, param, False)
        momentum, lr = group["momentum"], float(group["lr"])
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        if update.dim() != 2:
            raise ValueError(
                hinted(
                    "Input tensor gradient must be a 2D matrix", f"with 'momentum_buffer' it is {tuple(update.shape)}"
                )
            )
        update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape[:2]
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * max(rows, columns) ** 0.5
        else:
            ratio = max(1, rows / columns) ** 0.5
        param *= 1 - lr * group["weight_decay"]
        param.add_(update, alpha=-lr * ratio)


def orthogonalized(matrix, coefficients, steps, eps):
    """A matrix near the orthogonal factor of ``matrix``, in bfloat16: singular values between about 0.7 and 1.2."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = matrix.to(bfloat16)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        square = x @ x.T
        x = x * a + (square * b + square @ square * c) @ x
    return x if wide else x.T
