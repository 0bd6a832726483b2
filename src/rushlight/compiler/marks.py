"""Marks for PyTorch's compiler: they are checked as there, and change nothing, since nothing is compiled."""

from __future__ import annotations

import functools
import inspect

import numpy

from ..base.errors import hinted
from ..base.exporting import is_exporting
from ..base.trees import tree_map
from ..nn import Module
from ..tensor import Tensor
from ..tensor.creation import from_numpy
from .optimized_module import OptimizedModule


def is_compiling():
    """Whether code is being compiled or exported: True within `torch.export.export`."""
    return is_exporting()


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Keep a function from being compiled: the function itself; of a module an `OptimizedModule`, as in PyTorch."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason, wrapping=wrapping)
    if not callable(fn):
        raise AssertionError(hinted("fn must be callable", f"it is {type(fn).__name__}"))
    return OptimizedModule(fn) if isinstance(fn, Module) else fn


def allow_in_graph(fn):
    """Take a function into a graph as it is: the function itself, or the list of functions."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    if not callable(fn):
        raise AssertionError(hinted("allow_in_graph expects a callable", f"it was given {type(fn).__name__}"))
    return fn


def _mark(name, purpose):
    """A mark: the function itself."""

    def mark(fn):
        if not callable(fn):
            raise AssertionError(hinted(f"{name} applies only to functions", f"it was given {type(fn).__name__}"))
        return fn

    mark.__name__ = mark.__qualname__ = name
    mark.__doc__ = f"{purpose}: the function itself."
    return mark


disallow_in_graph = _mark("disallow_in_graph", "Keep a function out of graphs")
forbid_in_graph = _mark("forbid_in_graph", "Refuse a function in graphs")
nonstrict_trace = _mark("nonstrict_trace", "Trace a function less strictly")


def assume_constant_result(fn):
    """Take a function's result for a constant: the function itself."""
    fn._dynamo_marked_constant = True
    return fn


def run(fn=None):
    """Run only what is compiled already: the function itself."""
    return run if fn is None else fn


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False
):
    """Let the compiler see another function in place of ``original_fn``: the other function itself, once its arguments are the same."""
    if not (inspect.isroutine(original_fn) or is_embedded_type):
        raise TypeError(
            hinted(f"substitute_in_graph expects a function but got {type(original_fn)}", "give the function itself")
        )

    def wrapper(traceable_fn):
        if not (skip_signature_check or is_embedded_type):
            theirs, ours = inspect.signature(original_fn), inspect.signature(traceable_fn)
            if list(theirs.parameters) != list(ours.parameters):
                raise TypeError(
                    hinted(
                        f"Signature mismatch between {original_fn} and {traceable_fn}: {theirs} != {ours}",
                        "give the arguments the same names",
                    )
                )
        return traceable_fn

    return wrapper


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """Mark a function that is compiled once for all its calls: a function that does the same."""
    if fn is None:
        return nested_compile_region

    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs)

    return inner


def wrap_numpy(fn):
    """A function of tensors from one of NumPy arrays.

    >>> import rushlight as torch
    >>> torch.compiler.wrap_numpy(lambda array: array + 1)(torch.ones(2))
    tensor([2., 2.])
    """

    @functools.wraps(fn)
    def wrap(*args, **kwargs):
        args, kwargs = tree_map(lambda x: x.numpy() if isinstance(x, Tensor) else x, (args, kwargs))
        found = fn(*args, **kwargs)
        return tree_map(lambda x: from_numpy(x) if isinstance(x, numpy.ndarray) else x, found)

    return wrap


class _Unchanging:
    """A context, or decorator, that changes nothing, since nothing is compiled."""

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None

    def __call__(self, fn):
        return fn


class set_stance(_Unchanging):
    """How the compiler treats what follows: as a call, a context or a decorator. Without effect, since nothing is compiled."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if force_backend is not None and stance != "default":
            raise RuntimeError(
                hinted("non-default stance cannot have force_backend set", f"leave out the stance {stance!r}")
            )
        self.stance, self.force_backend = stance, force_backend


class error_on_graph_break(_Unchanging):
    """Whether a function must become one graph. Without effect, since nothing is compiled."""

    def __init__(self, error_on_graph_break):
        self.error_on_graph_break = error_on_graph_break
