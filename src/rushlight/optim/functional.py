"""One step of an algorithm for tensors and states that are given in lists: what ``torch.optim.adam.adam`` and its like share."""

from __future__ import annotations

from typing import Any

from ..autograd import set_grad_enabled
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .fitting import belong_together


def step_lists(
    kind: Any,
    params: list[Tensor],
    grads: list[Tensor],
    scalars: list[list[Tensor]],
    states: list[list[Tensor]],
    options: dict[str, Any],
    differentiable: bool = False,
    scaling: tuple[Tensor | None, Tensor | None] = (None, None),
) -> None:
    """Change the parameters and their states in place, by the one formula of the algorithm.

    Args:
        scalars: a list for each of ``kind.scalar_names``, step counts first.
        states: a list for each of the algorithm's state names.
        options: the group, by the names that ``kind.constants`` asks for.
        differentiable: let gradients flow through the step.
        scaling: ``grad_scale`` and ``found_inf``, which PyTorch's fused step on a GPU takes: None.
    """
    if not all(isinstance(step, Tensor) for steps in scalars[:1] for step in steps):
        line = "API has changed, `state_steps` argument must contain a list of singleton tensors"
        raise RuntimeError(hinted(line, "a 0-dim tensor for each parameter, which the step counts up"))
    if scaling != (None, None):
        raise AssertionError(hinted("Expected grad_scale and found_inf to be None", "GradScaler.unscale_ comes before"))
    algorithm = object.__new__(kind)  # without parameters of its own
    numbers = algorithm.with_numbers({"lr": 0.0, **options})
    each_scalars, each_states = zip(*scalars), zip(*states)
    scalars_of, states_of = (list(map(list, each)) or [[] for _ in params] for each in (each_scalars, each_states))
    flat_scalars, flat_states = ([tensor for each in of for tensor in each] for of in (scalars_of, states_of))
    if not differentiable and belong_together(params, grads, flat_scalars, flat_states):
        functions.optimizer_step_(
            params,
            grads,
            flat_scalars,
            flat_states,
            formula=kind.formula,
            constants=kind.constants,
            advance=kind.advance_scalars,
            group=numbers,
        )
        return
    with set_grad_enabled(differentiable):
        for param, grad, own_scalars, own_states in zip(params, grads, scalars_of, states_of):
            algorithm.apply(param, grad, own_scalars, own_states, numbers)
