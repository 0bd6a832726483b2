"""``torch.jit.trace``: modules and functions that are run once with examples, and then run the Python that they were made of."""

from __future__ import annotations

import functools
import inspect
import warnings

from ..base.errors import hinted
from ..nn import Module
from ..tensor import Tensor
from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule, refused
from ._state import _enabled, deprecated, made, traced, tracing
from .marks import is_module_class, qualified_name

_OUTPUTS = "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
_CONTAINER = (
    "Encountering a {kind} at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
    "container structure does not change based on the module's inputs. Consider using a constant container instead (e.g. "
    "for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the "
    "side effects, pass strict=False to trace() to allow this behavior."
)


class TracerWarning(Warning):
    """What PyTorch warns of where a trace may not hold for other inputs: nothing here, as the Python itself runs."""

    @staticmethod
    def ignore_lib_warnings():
        """Without effect: there are none."""


class TracingCheckError(Exception):
    """What PyTorch raises where a trace does not give what the Python does: never here, as the Python itself runs."""


class TracedModule(RecursiveScriptModule):
    """A module within a traced one. Training and evaluation mode stay what they were, as in PyTorch, whatever is set later."""

    _copies_training = False

    def _get_name(self):
        return self.original_name

    def forward(self, *args, **kwargs):
        """What the module's own call does, with ``is_tracing()`` as it was when it was traced: True."""
        return traced(self._inner, args, kwargs)

    def __setattr__(self, name, value):
        if name == "training":
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)


class TopLevelTracedModule(TracedModule):
    """What `trace` makes of a module."""


def is_tracing():
    """Whether this thread runs what `trace` was given or has made."""
    return tracing.depth > 0


def _type_name(value):
    """What TorchScript calls the type of an example."""
    if isinstance(value, Tensor):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_name, value))}]"
    if isinstance(value, list):
        return f"List[{_type_name(value[0])}]" if value else "List[Tensor]"
    if isinstance(value, dict):
        keys = next(iter(value.items()), ("", None))
        return f"Dict[{_type_name(keys[0])}, {_type_name(keys[1])}]"
    return type(value).__name__


def _can_be_traced(value):
    if isinstance(value, (tuple, list)):
        return all(map(_can_be_traced, value))
    if isinstance(value, dict):
        return all(map(_can_be_traced, value.values()))
    return isinstance(value, Tensor)


def _has_list(value):
    return isinstance(value, list) or (isinstance(value, tuple) and any(map(_has_list, value)))


def _inputs(examples):
    """The examples as a tuple of arguments."""
    return (examples,) if isinstance(examples, (Tensor, dict)) else tuple(examples)


def _run(function, args, kwargs, strict):
    """Call a function with its examples, and refuse what PyTorch cannot trace."""
    if not _can_be_traced(args):
        raise RuntimeError(
            hinted(
                f"Type '{_type_name(args)}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of "
                "Tensors can be traced",
                "bind the other arguments first, such as with functools.partial or a lambda",
            )
        )
    found = traced(function, args, kwargs)
    if found is None:
        raise RuntimeError(
            hinted(
                "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op.",
                "return a tensor",
            )
        )
    if isinstance(found, dict) and strict:
        raise RuntimeError(hinted(_CONTAINER.format(kind="dict"), "trace(..., strict=False) takes it"))
    if strict and _has_list(found):
        warnings.warn(_CONTAINER.format(kind="list"), TracerWarning, stacklevel=4)
    if not _can_be_traced(found):
        raise RuntimeError(hinted(_OUTPUTS, f"it has returned a {_type_name(found)}"))


def _unasked(optimize):
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=3,
        )


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-05,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """Run a module or function once with examples, and give it TorchScript's class: it runs the Python that it was given.

    What it does is not frozen as in PyTorch: a branch that depends on an argument is taken anew in every call.

    >>> import rushlight as torch
    >>> double = torch.jit.trace(lambda x: x * 2, torch.ones(2))
    >>> double(torch.ones(3))
    tensor([2., 2., 2.])
    """
    if not _enabled:
        return func
    deprecated("trace")
    _unasked(optimize)
    if isinstance(func, (ScriptModule, ScriptFunction)):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    module = func if isinstance(func, Module) else _module_of_forward(func)
    if module is not None:
        if example_inputs is None and not isinstance(example_kwarg_inputs, dict):
            raise RuntimeError(
                hinted(
                    "example_kwarg_inputs should be a dict",
                    f"it is {type(example_kwarg_inputs).__name__}: give examples",
                )
            )
        by_name = example_inputs is None
        return _traced_module(
            module, {"forward": example_kwarg_inputs if by_name else example_inputs}, by_name, strict, _module_class
        )
    if inspect.ismethod(func) and isinstance(func.__self__, Module):
        raise AttributeError(
            hinted(
                "trace doesn't support compiling individual module's functions.\nPlease use trace_module",
                f"trace_module(module, {{'{func.__name__}': examples}})",
            )
        )
    return _traced_function(func, example_inputs, example_kwarg_inputs, strict)


def _module_of_forward(func):
    """The module whose ``forward`` it is; None of anything else."""
    owner = getattr(func, "__self__", None)
    return owner if isinstance(owner, Module) and getattr(func, "__name__", "") == "forward" else None


def _traced_function(func, example_inputs, example_kwarg_inputs, strict):
    if not is_module_class(func):
        qualified_name(func)
    if isinstance(example_kwarg_inputs, dict):
        _run(func, (), example_kwarg_inputs, strict)
    else:
        _run(func, _inputs(example_inputs), {}, strict)
    made()
    return ScriptFunction._of(func, traced)


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-05,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """Run methods of a module once with examples, ``{"forward": examples}``, and give it TorchScript's class: see `trace`."""
    if not _enabled:
        return mod
    _unasked(optimize)
    return _traced_module(mod, inputs, example_inputs_is_kwarg, strict, _module_class)


def _traced_module(mod, inputs, by_name, strict, kind):
    deprecated("trace_method")
    if not isinstance(mod, Module):
        raise AttributeError(hinted("expected torch.nn.Module as the first argument", f"it is {type(mod).__name__}"))
    if not isinstance(inputs, dict):
        raise AttributeError(
            hinted("expected a dictionary of (method_name, input) pairs", 'such as {"forward": example}')
        )
    for name, examples in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        if by_name:
            _run(method, (), examples, strict)
        else:
            _run(method, _inputs(examples), {}, strict)
    made()
    return (kind or TopLevelTracedModule)._of(mod, TracedModule)


def script_if_tracing(fn):
    """Mark a function that is to be scripted while others are traced: called like it."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


_script_if_tracing = script_if_tracing


def _get_trace_graph(*args, **kwargs):
    """Refused: there is no TorchScript."""
    way_out = "torch.fx.symbolic_trace(module).graph shows the operations, torch.utils.flop_counter.FlopCounterMode counts them"
    raise refused("_get_trace_graph", way_out)


class ONNXTracedModule(Module):
    """A module that is recorded for ONNX: refused."""

    def __init__(self, *args, **kwargs):
        raise refused("ONNXTracedModule", "there is no TorchScript here")
