"""``torch.export.export``: a module, called once with examples and again to see what depends on what, as a program."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ..base.errors import hinted
from ..compiler.errors import UserError, UserErrorType
from ..nn import Module
from ..utils import _pytree as pytree
from .dynamic_shapes import Hints, bound_arguments, leaf_name, varying_sizes
from .exported_program import CallSpec, ExportedProgram, ValueRanges
from .running import Runner
from .tracing import Tracer


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Record what a module does as a graph of operations (PyTorch's ``torch.export.export``).

    The module is called several times: with the example, with other values, and with other sizes where these may change. Its
    parameters, buffers, attributes and the random generator are afterwards what they were.

    Args:
        mod: the module.
        args, kwargs: an example of its arguments: tensors of any shapes and dtypes, nested in containers, and plain values.
        dynamic_shapes: which sizes may change, for each argument: ``{dim: Dim}`` or one entry for each dimension, None where all
            stay (default); by name or by position, nested as the arguments are. Dimensions with hints (`Dim.AUTO`, `Dim.DYNAMIC`)
            change freely where the module allows it, else those that are equal in the example change together, else those with
            AUTO stay.
        strict: without effect: what runs is recorded either way.
        preserve_module_call_signature: names of modules; refused, as the graph does not keep modules.
        prefer_deferred_runtime_asserts_over_guards: without effect.

    Raises:
        ValueError: ``mod`` is no module.
        UserError: What runs depends on values of the inputs, or sizes that should change do not; the hint names the operation.

    >>> import rushlight as torch
    >>> from rushlight.export import Dim, export
    >>> program = export(torch.nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes={"input": {0: Dim("batch")}})
    >>> program.module()(torch.ones(7, 3)).shape
    torch.Size([7, 2])
    """
    del strict, prefer_deferred_runtime_asserts_over_guards
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(
            hinted(
                f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}",
                "(x,) for one argument",
            )
        )
    if preserve_module_call_signature:
        raise NotImplementedError(
            hinted(
                "preserve_module_call_signature is not supported", "the graph has no modules in it, operations alone"
            )
        )
    kwargs = dict(kwargs or {})
    bound = bound_arguments(mod, args, kwargs)
    named = dict(bound.arguments)
    if hasattr(dynamic_shapes, "dynamic_shapes"):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    tracer = _traced(mod, bound, dynamic_shapes)
    runner = tracer.runner
    ranges = {symbol.name: ValueRanges(symbol.low, symbol.high) for symbol in tracer.symbols}
    hidden = {name: tensor for name, (_, tensor, saved) in runner.state.items() if saved is False}
    return ExportedProgram(
        tracer.graph,
        tracer.signature,
        _saved(mod),
        ranges,
        CallSpec(runner.in_spec, runner.output_spec),
        [*named],
        (args, kwargs),
        {**hidden, **tracer.constants},
        mod.training,
    )


def _traced(module: Module, bound: inspect.BoundArguments, dynamic_shapes: Any) -> Tracer:
    """The recordings of a module and their graph: hints on sizes are read as freely as the module allows."""
    named = dict(bound.arguments)
    names = [leaf_name(path) for path, _ in pytree.tree_leaves_with_path(named)]
    readings: dict[str, Any] = {}  # by how they look: without hints all are one
    for hints in Hints:
        varying = varying_sizes(named, dynamic_shapes, hints)
        readings.setdefault(str(varying), varying)
    *freer, last = readings.values()
    for varying in freer:
        try:
            return Tracer(Runner(module, bound, varying), names)
        except UserError as error:
            if error.error_type is not UserErrorType.CONSTRAINT_VIOLATION:
                raise
    return Tracer(Runner(module, bound, last), names)


def _saved(module: Module) -> dict[str, Any]:
    """Parameters, then buffers and what else the state dictionary has; tensors with several names under each of them."""
    state = module.state_dict(keep_vars=True)
    parameters = dict(module.named_parameters(remove_duplicate=False))
    return parameters | {name: value for name, value in state.items() if name not in parameters}
