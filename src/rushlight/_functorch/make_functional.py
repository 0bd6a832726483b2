"""Modules as functions of their parameters, in functorch's old way: ``make_functional`` and its like."""

from __future__ import annotations

import copy

from ..func.modules import functional_call, stack_module_state


class FunctionalModuleWithBuffers:
    """A module called as ``call(params, buffers, *args)``: tuples in the order of its names."""

    def __init__(self, model):
        self.stateless_model = model
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def forward(self, params, buffers, *args, **kwargs):
        """What the module gives with these parameters and buffers."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        return functional_call(self.stateless_model, state, args, kwargs)

    __call__ = forward


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers, called as ``call(params, *args)``."""

    def forward(self, params, *args, **kwargs):
        """What the module gives with these parameters."""
        return super().forward(params, (), *args, **kwargs)

    __call__ = forward


def _copied_parameters(model, disable_autograd_tracking):
    copied = copy.deepcopy(model)
    params = tuple(copied.parameters())
    if disable_autograd_tracking:
        for param in params:
            param.requires_grad_(False)
    return copied, params


def make_functional(model, disable_autograd_tracking=False):
    """``(function, params)`` of a module without buffers."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    copied, params = _copied_parameters(model, disable_autograd_tracking)
    return FunctionalModule(copied), params


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """``(function, params, buffers)`` of a module."""
    copied, params = _copied_parameters(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(copied), params, tuple(copied.buffers())


def combine_state_for_ensemble(models):
    """``(function, params, buffers)`` of several models of one class, each tensor stacked over the models."""
    params, buffers = stack_module_state(models)
    function, _, _ = make_functional_with_buffers(models[0])
    return function, tuple(params.values()), tuple(buffers.values())


def functional_init(model_class, ensemble_shape=(), device="cpu"):
    """A function that makes a model, or several: ``(params, function, names)`` with ``function(params, arguments)``."""

    def make(*args, **kwargs):
        params, _, function, names, _ = _initialised(model_class, ensemble_shape, args, kwargs)
        return params, lambda params, arguments: function(params, (), arguments), names

    return make


def functional_init_with_buffers(model_class, ensemble_shape=(), device="cpu"):
    """The same with buffers: ``(params, buffers, function, names, names of buffers)``."""
    return lambda *args, **kwargs: _initialised(model_class, ensemble_shape, args, kwargs)


def _initialised(model_class, ensemble_shape, args, kwargs):
    if len(ensemble_shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    count = ensemble_shape[0] if ensemble_shape else 1
    if count <= 0:
        raise ValueError(f"num_models {count} should be > 0")
    models = [model_class(*args, **kwargs) for _ in range(count)]
    function, params, buffers = make_functional_with_buffers(models[0])
    if ensemble_shape:
        params, buffers = (tuple(t.detach() for t in state.values()) for state in stack_module_state(models))

    def call(params, buffers, arguments):
        return function(params, buffers, *arguments)

    return params, buffers, call, function.param_names, function.buffer_names
