"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd import enable_grad, no_grad
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .checks import check_learning_rate
from .fitting import missing_state, wrong_state
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer
from .sparse_gradients import is_sparse

if TYPE_CHECKING:
    from ..optim.optimizer import ParamsT


class LBFGS(Optimizer):
    r"""Limited-memory BFGS (Liu and Nocedal, 1989), with a strong Wolfe line search if asked for.

    ``step(closure)`` does up to ``max_iter`` iterations, each with one or more evaluations of ``closure``, which clears
    the gradients, computes the loss, calls ``backward()`` and returns the loss. All parameters are one group.

    Args:
        params: tensors or ``(name, tensor)`` pairs.
        lr: step length (the first that the line search tries).
        max_iter: iterations a step.
        max_eval: evaluations of the closure a step; ``max_iter * 5 // 4`` unless given.
        tolerance_grad: stop when no entry of the gradient is larger.
        tolerance_change: stop when parameters or loss change by less.
        history_size: number of past updates that make the approximate inverse Hessian.
        line_search_fn: None or ``"strong_wolfe"``.

    >>> import rushlight as torch
    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(13., grad_fn=<SumBackward0>)
    >>> w
    tensor([1.0000, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                hinted(
                    "LBFGS doesn't support per-parameter options (parameter groups)",
                    "pass one list with all parameters",
                )
            )
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # it evaluates again and again
        """Do up to ``max_iter`` iterations; the result is the loss that ``closure`` returned first."""
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        evaluate = enable_grad()(closure)
        first_loss = evaluate()
        loss, grad = float(first_loss), self._flat_grad()
        evaluations = 1
        state["func_evals"] += 1
        if not grad.abs().max() <= group["tolerance_grad"]:
            self._iterate(group, state, evaluate, loss, grad, evaluations)
        return first_loss

    def _iterate(self, group, state, evaluate, loss, grad, evaluations):
        tolerance = group["tolerance_change"]
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            last = iteration == group["max_iter"]
            direction = self._direction(group, state, grad)
            lr = group["lr"]
            length = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            previous_loss = loss
            state.update(d=direction, t=length, prev_loss=loss)
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = grad.clone()
            else:
                state["prev_flat_grad"].copy_(grad)
            slope = grad.dot(direction)
            if slope > -tolerance:
                return
            start, most = Point(length, loss, grad, slope), group["max_eval"] - evaluations
            loss, grad, length, count = self._move(group, evaluate, direction, start, last, most)
            state["t"] = length
            evaluations += count
            state["func_evals"] += count
            if (
                last
                or evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or (direction * length).abs().max() <= tolerance
                or abs(loss - previous_loss) < tolerance
            ):
                return

    def _direction(self, group, state, grad):
        """Minus the approximate inverse Hessian times the gradient: the two-loop recursion."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        self._check_state(state, grad)
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > 1e-10:
            diagonal, inverse, full = (
                curvature / change.dot(change),
                1.0 / curvature,
                len(changes) == group["history_size"],
            )
            # Without a call from here on, after which Ctrl-C could come: the histories belong together.
            if full:
                del changes[0], steps[0], inverses[0]
            changes += [change]
            steps += [step]
            inverses += [inverse]
            state["H_diag"] = diagonal
        if "H_diag" not in state:
            raise missing_state("H_diag", state, self)
        shares = state.setdefault("al", [None] * group["history_size"])
        direction, scale = -grad, state["H_diag"]
        if not changes or not _belong_together(direction, changes, steps, inverses, scale):
            return _by_operations(direction, changes, steps, inverses, shares, scale)
        shares[: len(changes)] = [functions.empty((), dtype=grad.dtype, device=grad.device) for _ in changes]
        functions.two_loop_recursion_([direction], changes, steps, inverses, shares[: len(changes)], [scale])
        return direction

    def _check_state(self, state, grad):
        """Raise unless the state has what the next iteration reads: a checkpoint may hold anything."""
        for name in ("old_dirs", "old_stps", "ro", "t", "d", "prev_flat_grad"):
            if name not in state:
                raise missing_state(name, state, self)
        for name in ("d", "prev_flat_grad"):
            if not isinstance(state[name], Tensor):
                raise wrong_state(name, state[name], grad, False)

    def _move(self, group, evaluate, direction, start, last, most):
        """Go along ``direction``: returns the loss and gradient there, the length, and the number of evaluations.

        A line search changes the length ``most`` times.
        """
        if group["line_search_fn"] is None:
            self._add(direction, start.length)
            if last:
                return start.loss, start.grad, start.length, 0
            return float(evaluate()), self._flat_grad(), start.length, 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError(hinted("only 'strong_wolfe' is supported", "or None, for steps of fixed length"))
        origin = [param.clone() for param in self._params]

        def at(length):
            self._add(direction, length)
            loss, grad = float(evaluate()), self._flat_grad()
            for param, value in zip(self._params, origin):
                param.copy_(value)
            return Point(length, loss, grad, grad.dot(direction))

        found, count = strong_wolfe(at, start, direction.abs().max(), most)
        self._add(direction, found.length)
        return found.loss, found.grad, found.length, count

    def _flat_grad(self):
        """All gradients in one vector, zeros where there is none; complex ones as pairs of reals."""
        flat = []
        for param in self._params:
            grad = functions.zeros_like(param) if param.grad is None else param.grad
            grad = grad.to_dense() if is_sparse(grad) else grad
            flat.append((functions.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return functions.cat(flat, 0)

    def _add(self, direction, length):
        offset = 0
        for param in self._params:
            target = functions.view_as_real(param) if param.is_complex() else param
            count = target.numel()
            target += direction[offset : offset + count].view_as(target) * length
            offset += count
        if offset != direction.numel():
            raise AssertionError(
                hinted(
                    f"Expected offset {offset} to equal {direction.numel()}",
                    f"the parameters have {offset} elements, their gradients {direction.numel()}",
                )
            )


def _belong_together(direction, changes, steps, inverses, scale):
    """Whether the recursion may run on the arrays: vectors like the direction, as many numbers of its dtype."""
    if not len(changes) == len(steps) == len(inverses) or not all(
        isinstance(each, Tensor) for each in (*changes, *steps, *inverses, scale)
    ):
        return False
    like, dtype = direction._array, direction._array.dtype
    vectors = [each._array for each in (*changes, *steps)]
    numbers = [each._array for each in (*inverses, scale)]
    return all(array.dtype == dtype and array.shape == like.shape for array in vectors) and all(
        array.dtype == dtype and array.ndim == 0 for array in numbers
    )


def _by_operations(direction, changes, steps, inverses, shares, scale):
    """The same recursion by operations on Tensors, which broadcast or refuse what does not fit."""
    for k in reversed(range(len(changes))):
        shares[k] = steps[k].dot(direction) * inverses[k]
        direction -= changes[k] * shares[k]
    direction = functions.mul(direction, scale)
    for k in range(len(changes)):
        direction += steps[k] * (shares[k] - changes[k].dot(direction) * inverses[k])
    return direction
