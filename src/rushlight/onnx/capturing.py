"""From what `torch.onnx.export` is given to an exported program: the call, its mode, and the sizes that may change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..base.errors import hinted
from ..base.exporting import exporting
from ..base.user_code import to_user
from ..export import Dim, ExportedProgram
from ..export import export as export_program
from ..export.dynamic_shapes import leaf_name, named_arguments
from ..nn import Module
from ..tensor import Tensor
from ..utils import _pytree as pytree
from .errors import OnnxExporterError
from .modes import TrainingMode, select_model_mode_for_export


def call_of(args: Any, kwargs: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """Positional and keyword arguments: one tensor stands for a tuple of it, a dictionary at the end for ``kwargs``."""
    if isinstance(args, Tensor):
        args = (args,)
    if kwargs is None and isinstance(args, tuple) and args and isinstance(args[-1], dict):
        args, kwargs = args[:-1], args[-1]
    return args, kwargs or {}


def capture(model: Any, args: Any, kwargs: Any, shapes: Any, mode: TrainingMode, say: Callable[[str], None]) -> Any:
    """The model as an exported program.

    Raises:
        OnnxExporterError: It is no module, or `torch.export.export` refuses it.
    """
    if not isinstance(model, Module):
        raise OnnxExporterError(hinted(f"cannot export {type(model).__name__}", "give a module or an exported program"))
    line = f"[torch.onnx] Obtain model graph for `{type(model).__name__}([...]` with `torch.export.export(..., strict=False)`..."
    say(line)
    with select_model_mode_for_export(model, mode), exporting("torch.onnx"):
        try:
            found = export_program(model, args, kwargs, dynamic_shapes=shapes)
        except Exception as error:
            raise OnnxExporterError(
                hinted(
                    "Failed to export the model with torch.export. This is step 1/3 of exporting the model to ONNX.",
                    f"torch.export.export says {type(error).__name__}: {error}",
                )
            ) from error
    say(f"{line} ✅")
    return found


def dims_of(shapes: Any) -> tuple[Any, dict[str, str]]:
    """``dynamic_shapes`` with Dims in place of names, the same one for the same name; and the names of those that are no identifiers."""
    dims: dict[str, Dim] = {}
    renamed: dict[str, str] = {}

    def named(leaf: Any) -> Any:
        if not isinstance(leaf, str):
            return leaf
        if leaf not in dims:
            name = leaf if leaf.isidentifier() else f"size_{len(dims)}"
            dims[leaf] = Dim(name)
            if name != leaf:
                renamed[name] = leaf
        return dims[leaf]

    return (pytree.tree_map(named, shapes) if isinstance(shapes, (dict, tuple, list)) else shapes), renamed


def shapes_of_axes(model: Any, args: Any, kwargs: Any, axes: Any, input_names: Any, output_names: Any) -> Any:
    """``dynamic_axes`` in the form of ``dynamic_shapes``; the leaves of the arguments have the input names in order.

    Raises:
        RuntimeError: A name is none of an input or output.
    """
    names, known = iter([*(input_names or ())]), {*(output_names or ())}

    def told(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return None
        name = next(names, leaf_name(path))
        known.add(name)
        given = axes.get(name)
        return given if given is None or isinstance(given, dict) else dict.fromkeys(given, Dim.DYNAMIC)

    found = pytree.tree_map_with_path(told, named_arguments(model, args, kwargs))
    unknown = [name for name in axes if name not in known]
    if unknown:
        raise RuntimeError(
            hinted(
                "# Failed to convert 'dynamic_axes' to 'dynamic_shapes'. Please provide 'dynamic_shapes' directly. Refer to the "
                "documentation for 'torch.export.export' for more information on dynamic shapes.",
                f"{unknown[0]!r} names no input or output: these are {sorted(known)}",
            )
        )
    return found


def program_of(
    model: Any, args: Any, kwargs: Any, shapes: Any, axes: Any, names: Any, mode: TrainingMode | None, say: Any
) -> tuple[ExportedProgram, dict[str, str]]:
    """The program that a model is, and the names of its sizes that are no identifiers.

    Args:
        names: ``input_names`` and ``output_names``.
        mode: the mode that a module is exported in; None leaves it in its own, and warns where that is training.
    """
    tell = mode is None
    if isinstance(model, ExportedProgram):
        return model, {}
    if tell and isinstance(model, Module) and model.training:
        warnings.warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, as it may lead to different "
            "behavior during inference. Calling model.eval() before export is recommended.",
            UserWarning,
            stacklevel=to_user(),
        )
    if shapes is None and axes:
        if tell:
            warnings.warn(
                "# 'dynamic_axes' is not recommended when dynamo=True, and may lead to 'torch._dynamo.exc.UserError: Constraints "
                "violated.' Supply the 'dynamic_shapes' argument instead if export is unsuccessful.",
                UserWarning,
                stacklevel=to_user(),
            )
        shapes = shapes_of_axes(model, args, kwargs, axes, *names)
    shapes, renamed = dims_of(shapes)
    return capture(model, args, kwargs, shapes, TrainingMode.PRESERVE if mode is None else mode, say), renamed
