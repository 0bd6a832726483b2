"""``torch.compile``: arguments are checked as PyTorch checks them, and the function runs as it is."""

from __future__ import annotations

import functools

from ..base.errors import hinted
from ..base.notes import note_once
from .backends import get_default_backend, lookup_backend
from .optimized_module import OptimizeContext

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_NOTE = "there is no compiler here yet: what torch.compile makes runs the Python that it was made of"
_UNCALLED = (
    "the backend {name} is not called: torch.compile records no graph here and runs the Python that it was given; "
    "torch.fx.symbolic_trace(module_or_function) records one"
)


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    shapes_spec=None,
):
    """A function that does what ``model`` does; of a module an `OptimizedModule`. As a decorator too, with or without arguments.

    There is no compiler in this version: every argument is checked, and the function runs as it is.

    >>> import rushlight as torch
    >>> @torch.compile(mode="reduce-overhead")
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    settings = {
        "fullgraph": fullgraph, "dynamic": dynamic, "backend": backend, "mode": mode, "options": options, "name": name,
        "disable": disable, "recompile_limit": recompile_limit, "isolate_recompiles": isolate_recompiles, "shapes_spec": shapes_spec,
    }  # fmt: skip
    if model is None:
        return functools.partial(_decorated, settings)
    backend = get_default_backend() if backend is None else backend
    if mode is not None and options is not None:
        raise RuntimeError(
            hinted(
                "Either mode or options can be specified, but both can't be specified at the same time.",
                f"mode is {mode!r}: a mode is a name for a set of options",
            )
        )
    if backend == "inductor":
        _check_inductor(mode, options)
    else:
        lookup_backend(backend)
    if disable:
        return model
    if not (dynamic is None or isinstance(dynamic, bool)):
        raise AssertionError(
            hinted(f"Expected enable to be a bool, got {type(dynamic)}", "dynamic is True, False or None")
        )
    return optimized(model, backend)


def _decorated(settings, model):
    if model is None:
        raise RuntimeError(hinted("Model can't be None", "give a function or a module"))
    return compile(model, **settings)


def _check_inductor(mode, options):
    """What PyTorch's own backend refuses when it is chosen; options of any name are taken."""
    if mode is not None and mode not in _MODES:
        raise RuntimeError(
            hinted(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}", "leave it out for the default")
        )
    if options and not hasattr(options, "items"):
        raise AttributeError(
            hinted(f"'{type(options).__name__}' object has no attribute 'items'", "options is a dictionary")
        )


def optimized(model, backend):
    """A module or function under the names that PyTorch's compiler gives it; told once that it runs as it is."""
    if not callable(model):
        raise AssertionError(
            hinted(f"A callable function is expected, but {type(model)} is provided.", "give a function or a module")
        )
    function = lookup_backend(backend)
    if callable(function) and backend is function:
        note_once(_UNCALLED.format(name=getattr(function, "__name__", repr(function))))
    else:
        note_once(_NOTE)
    return OptimizeContext(backend)(model)
