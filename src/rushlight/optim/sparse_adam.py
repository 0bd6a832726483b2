"""SparseAdam: Adam that touches the rows alone that a sparse gradient has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd import enable_grad, no_grad
from ..base.device import strided
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_betas, check_learning_rate
from .optimizer import Optimizer
from .sparse_gradients import at, is_sparse, sparse_like

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class SparseAdam(Optimizer):
    r"""Adam for sparse gradients, such as those of ``nn.Embedding(sparse=True)``: moments and parameters move only where one has
    entries.

    Args:
        params: dense tensors, ``(name, tensor)`` pairs or dicts (parameter groups).
        lr: learning rate, a number or a one-element tensor.
        betas: how much of the averages of the gradient and its square is kept each step.
        eps: added to the root.
        maximize: climb instead of descend.

    Raises:
        RuntimeError: in ``step`` where a gradient is dense.

    >>> import rushlight as torch
    >>> table = torch.nn.Embedding(3, 2, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(torch.tensor([1])).sum().backward()
    >>> before = table.weight.detach().clone()
    >>> optimizer.step()
    >>> before - table.weight
    tensor([[0.0000, 0.0000],
            [0.1000, 0.1000],
            [0.0000, 0.0000]], grad_fn=<SubBackward0>)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 < lr:  # noqa: SIM300 (as PyTorch: what is said of tuples shows the order)
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:  # noqa: SIM300
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = self._places(lambda param: param.layout is not strided)
        if places:
            message = f"Sparse params at indices {places}: SparseAdam requires dense parameter tensors"
            raise ValueError(hinted(message, "gradients are sparse, parameters are not"))
        places = self._places(Tensor.is_complex)
        if places:
            message = f"Complex params at indices {places}: SparseAdam does not support complex parameters"
            raise ValueError(hinted(message, "torch.view_as_real gives their parts as a parameter of real numbers"))

    def _places(self, is_refused: Callable[[Tensor], bool]) -> list[list[int]]:
        """The numbers of groups, and of parameters in them, that are refused."""
        return [
            [number, place]
            for number, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if is_refused(param)
        ]

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. ``closure``, where given, evaluates the model and returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if not all(is_sparse(param.grad) for param in params):
                message = "SparseAdam does not support dense gradients, please consider Adam instead"
                raise RuntimeError(hinted(message, "nn.Embedding(sparse=True) has sparse ones"))
            for param in params:
                self.apply_single(group, param, -param.grad if group["maximize"] else param.grad)
        return loss

    def init_single(self, param: Tensor) -> dict[str, Any]:
        """The state of one parameter before its first step."""
        return {"step": 0, "exp_avg": functions.zeros_like(param), "exp_avg_sq": functions.zeros_like(param)}

    def apply_single(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """The step of one parameter."""
        state = self.state[param]
        if not state:
            state.update(self.init_single(param))
        state["step"] += 1
        grad = grad.coalesce()
        values = grad.values()
        if not values.numel():
            return
        first, second = group["betas"]
        average, square = at(state["exp_avg"], grad), at(state["exp_avg_sq"], grad)
        change = (values - average) * (1 - first)
        square_change = (values * values - square) * (1 - second)
        state["exp_avg"].add_(sparse_like(grad, change))
        state["exp_avg_sq"].add_(sparse_like(grad, square_change))
        root = (square + square_change).sqrt_().add_(group["eps"])
        step = state["step"]
        size = float(group["lr"]) * (1 - second**step) ** 0.5 / (1 - first**step)
        param.add_(sparse_like(grad, (average + change).div_(root) * -size))
