"""The loop of all algorithms that update each element of a parameter by itself; their own files hold the formulas."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import chain
from typing import Any

from ..autograd import enable_grad, set_grad_enabled
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from .bundle import PATIENCE, Bundle
from .divided import gradient_part, holds_divided, part
from .fitting import belong_together, make_scalars, missing_state, scalar_state, wrong_state
from .optimizer import Optimizer
from .sparse_gradients import holds_sparse, is_sparse, refusal


def direction(constants: Any, param: Tensor, grad: Tensor) -> Any:
    """What a formula takes for the gradient: turned round to maximize, with the weight decay's part.

    Constants ``decay`` and ``shrink`` are None without it; decoupled decay shrinks the parameter here.
    """
    if constants["maximize"]:
        grad = -grad
    if constants.get("shrink") is not None:
        param *= constants["shrink"]
    if constants["decay"] is not None:
        grad = grad + param * constants["decay"]
    return grad


def approach(average, value, share):
    """Move an average by a share of its distance to a value."""
    if isinstance(average, Tensor):
        average.lerp_(value, share)
    else:
        average += (value - average) * share


def store(target, value):
    """Write a value into an array."""
    if isinstance(target, Tensor):
        target.copy_(value)
    else:
        target[...] = value


class ElementwiseOptimizer(Optimizer):
    """An optimizer whose algorithm is a formula for one element. A subclass says

    - ``scalar_names``: the names of its 0-dim state tensors;
    - ``state_names(group)``: the names of its state tensors in the shape of the parameter, given the group's options;
    - ``init_single(param, grad, group)``: the state before the first step, unless all of it is zero;
    - ``constants(group, *scalars)``: what the formula needs besides tensors, by name (static): numbers, and True, False or
      None, which choose its form. Scalars come as the numbers they were before the step;
    - ``formula(m, constants, param, grad, *states)``: the formula (static). It changes ``param`` and the states with
      ``+=``, ``*=``, `approach` and `store` and leaves ``grad`` alone. Functions are attributes of ``m``, since the same formula
      runs on blocks of arrays, on symbols, from which a kernel is generated (numbers are its parameters: a new learning
      rate compiles nothing), and, with ``differentiable=True``, on Tensors that record a graph;
    - ``advance_scalars(group, *scalars)``: the scalars after the step, unless it is a step count alone (static).
    """

    formula: Callable[..., Any]
    constants: Callable[..., dict[str, Any]]
    scalar_names: tuple[str, ...] = ("step",)
    capturable_parts = "params and state_steps"
    takes_sparse = False  # whether there is a `step_sparse`
    takes_pairs = True  # of complex numbers the formula gets pairs of real ones, of which a lazy conjugate has none, as in PyTorch

    @staticmethod
    def advance_scalars(group, step):
        return (step + 1,)

    def state_names(self, group: dict[str, Any]) -> Any:
        raise NotImplementedError

    def init_single(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Any:
        """The state of one parameter before its first step: zeros."""
        state = {name: scalar_state(0) for name in self.scalar_names}
        for name in self.state_names(group):
            state[name] = functions.zeros_like(param)
        return state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        Args:
            closure: evaluates the model again and returns the loss, which is then the result; gradients are enabled.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if holds_sparse(group):
                self._step_with_sparse(group)
            elif group["differentiable"]:
                self._step_on_tensors(group)
            elif holds_divided(group):
                self._step_on_parts(group)
            else:
                self._step_on_arrays(group)
        return loss

    def _step_on_arrays(self, group):
        """One call of the op table for all parameters of the group that have a gradient."""
        scalar_names, names, state_of = self.scalar_names, self.state_names(group), self.state
        rest, numbers = group["params"], self.with_numbers(group)
        bundle = self._bundles.get(id(group))
        bundled = None if bundle is None else bundle.gradients(rest, state_of, names)
        if bundled is not None and bundle.step(bundled, numbers, self.formula, self.constants, self.advance_scalars):
            rest = bundle.rest
            if not rest:
                return
        has_state = scalar_names or names
        params, grads, scalars, states = [], [], [], []
        for param in rest:
            grad = param._grad
            if grad is None:
                continue
            params.append(param)
            grads.append(grad)
            if has_state:
                state = state_of[param] or self._initialized(param, grad, group)
                for name in scalar_names:
                    scalars.append(state.get(name))
                for name in names:
                    states.append(state.get(name))
        if params and not belong_together(params, grads, scalars, states):
            for param in params:
                self._step_by_operations(param, numbers)
        elif params:
            functions.optimizer_step_(
                params,
                grads,
                scalars,
                states,
                formula=self.formula,
                constants=self.constants,
                advance=self.advance_scalars,
                group=numbers,
            )
        if bundled is None and has_state and (bundle is None or bundle.misses > PATIENCE):
            self._bundles[id(group)] = Bundle(group["params"], state_of, scalar_names, names)

    @functools.cached_property
    def _bundles(self):
        """The bundle of each group, by the group's id: only looked into where the group's parameters are the bundle's."""
        return {}

    def _step_on_parts(self, group):
        """The step of a group with parameters that are divided among processes: of this one's parts, and their state."""
        names, numbers = self.state_names(group), self.with_numbers(group)
        present = [param for param in group["params"] if param._grad is not None]
        scalars, states = [], []
        for param in present:
            state = self.state[param]
            if not state and (self.scalar_names or names):
                state = self._initialized(param, param._grad, group)
            self.check_state(state, param, param._grad, group)
            scalars += [state[name] for name in self.scalar_names]
            states += [part(state[name]) for name in names]
        if present:
            functions.optimizer_step_(
                [part(param) for param in present], [gradient_part(param) for param in present], scalars, states,
                formula=self.formula, constants=self.constants, advance=self.advance_scalars, group=numbers,
            )  # fmt: skip
        for param in present:
            functions.bump_version(param, "optimizer step")

    def _step_with_sparse(self, group):
        """The step of a group with sparse gradients, parameter by parameter."""
        if not self.takes_sparse:
            raise refusal(self)
        numbers = self.with_numbers(group)
        for param in group["params"]:
            if is_sparse(param._grad):
                with set_grad_enabled(False):
                    self.step_sparse(numbers, param, param._grad)
            elif param._grad is not None:
                if not self.state[param] and (self.scalar_names or self.state_names(group)):
                    self._initialized(param, param._grad, group)
                self._step_by_operations(param, numbers)

    def step_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """The step of one parameter whose gradient is sparse: where ``takes_sparse``."""
        raise NotImplementedError

    def _step_on_tensors(self, group):
        """The same formula on Tensors, so that gradients flow through the step: ``differentiable=True``."""
        with enable_grad():
            for param in group["params"]:
                if param.grad is not None:
                    if not self.state[param] and (self.scalar_names or self.state_names(group)):
                        self._initialized(param, param.grad, group)
                    self._step_by_operations(param, group)

    def _step_by_operations(self, param, group):
        """The step of one parameter by operations on Tensors, which broadcast, convert and refuse what does not fit."""
        state, grad = self.state[param], param.grad
        names = self.state_names(group)
        self.check_state(state, param, grad, group)
        with set_grad_enabled(group["differentiable"]):
            if group["differentiable"]:
                # The formula writes in place: into copies, since the graph of the step before may hold the old state.
                state.update({name: state[name].clone() for name in (*self.scalar_names, *names)})
            self.apply(param, grad, [state[name] for name in self.scalar_names], [state[name] for name in names], group)

    def apply(self, param, grad, scalars, states, group):
        """The formula on the tensors of one parameter, by operations, in the grad mode of the caller."""
        numbers = []
        if scalars:
            scalars[0] += 1
            numbers = [scalar.item() for scalar in scalars]
            numbers[0] -= 1
        tensors = [param, grad, *states]
        if self.takes_pairs and param.is_complex():
            tensors = [functions.view_as_real(tensor) for tensor in tensors]
        self.formula(functions, self.constants(group, *numbers), *tensors)
        if numbers:
            for scalar, number in zip(scalars[1:], self.advance_scalars(group, *numbers)[1:]):
                scalar.fill_(number)

    def __setstate__(self, state):
        """Take the state over; numbers where 0-dim tensors belong, as in old checkpoints, become such tensors."""
        super().__setstate__(state)
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            values = self.state.get(param)
            if values:
                make_scalars(values, self.scalar_names, self)

    def check_state(self, state, param, grad, group):
        """Raise unless the state of a parameter has all its entries, and Tensors."""
        for name in (*self.scalar_names, *self.state_names(group)):
            if name not in state:
                raise missing_state(name, state, self)
            if not isinstance(state[name], Tensor):
                raise wrong_state(name, state[name], param, name in self.scalar_names)

    def _initialized(self, param, grad, group):
        if group.get("capturable"):
            raise AssertionError(
                hinted(
                    f"If capturable=True, {self.capturable_parts} must be on supported devices: "
                    "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla'].",
                    "capturable is for CUDA graphs; leave it out on a CPU",
                )
            )
        state = self.state[param]
        with set_grad_enabled(group["differentiable"]):
            state.update(self.init_single(param, grad, group))
        return state

    def with_numbers(self, group: dict[str, Any]) -> Any:
        """The group with a Python number in the place of a learning rate that is a one-element tensor."""
        return group if group["lr"].__class__ is float else {**group, "lr": float(group["lr"])}
