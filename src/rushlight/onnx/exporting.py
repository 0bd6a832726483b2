"""``torch.onnx.export``: a module, or a program that was exported, as an ONNX model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..base.errors import hinted
from ..base.user_code import to_user
from ..export import Dim, ExportedProgram
from ..export import export as export_program
from ..export.dynamic_shapes import named_arguments
from ..nn import Module
from ..tensor import Tensor
from ..utils import _pytree as pytree
from ..version import __version__
from .builder import make_model, onnx_package
from .errors import OnnxExporterError
from .modes import OperatorExportTypes, TrainingMode, exporting, select_model_mode_for_export
from .program import ONNXProgram
from .translating import Translator, graph_of, rename

DEFAULT_OPSET = 20
_OLDEST, _NEWEST = 18, 23  # the versions whose operations the translations know
_BASE = 7  # the oldest that a model is converted to


def export(
    model: Any,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: dict[Any, Any] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[Module]] = False,
    autograd_inlining: bool = True,
) -> Any:
    """Export a model to ONNX (PyTorch's ``torch.onnx.export``). Needs the package onnx.

    The model is recorded by `torch.export.export`, whatever ``dynamo`` is, and each operation translated.

    Args:
        model: a module, or a program of `torch.export.export`.
        args, kwargs: an example of its arguments.
        f: the path of the file that is written; None: none.
        verbose: print what is being done; by default, too, unless it is False.
        input_names, output_names: names of the inputs and outputs; by default those of the arguments and of the operations.
        opset_version: the version of ONNX's operations, 20 by default; 18 to 23, older ones where onnx can convert the model.
        dynamo: False gives None instead of a program, and takes ``training``.
        external_data: put the tensors into a file beside it, unless ``dynamo`` is False.
        dynamic_shapes: which sizes may change, as `torch.export.export` takes them; names (str) may stand for Dims.
        dynamic_axes: the same by names of inputs: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``.
        custom_translation_table: functions by operation that translate it: they get the builder and the arguments.
        verify: run the model in ONNX Runtime and compare it with the module; a warning where they differ.
        export_params: write the tensors; else they are inputs.
        keep_initializers_as_inputs: name the tensors among the inputs, too.
        training: the mode that the module is exported in, where ``dynamo`` is False.
        report, optimize, profile, dump_exported_program, artifacts_dir, operator_export_type, do_constant_folding, custom_opsets,
            export_modules_as_functions, autograd_inlining: without effect.

    Returns:
        An `ONNXProgram`; None where ``dynamo`` is False.

    Raises:
        UnsupportedOperatorError: ONNX cannot say an operation, which it names.
        UserError: What runs depends on values of the inputs.
    """
    del report, optimize, profile, dump_exported_program, artifacts_dir, operator_export_type, do_constant_folding
    del custom_opsets, export_modules_as_functions, autograd_inlining
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    args = args if isinstance(args, tuple) else (args,)
    say = print if verbose is not False and dynamo else _silent
    program = _program(model, args, kwargs or {}, dynamic_shapes, dynamic_axes, input_names, training, dynamo, say)
    say("[torch.onnx] Translate the graph into ONNX...")
    proto = _model(
        program, opset, custom_translation_table, input_names, output_names, keep_initializers_as_inputs, export_params
    )
    say("[torch.onnx] Translate the graph into ONNX... ✅")
    found = ONNXProgram(proto, program)
    if verify:
        _verify(found, args, kwargs or {})
    if f is not None:
        found.save(f, external_data=external_data and dynamo)
    return found if dynamo else None


def _silent(line: str) -> None:
    """Print nothing."""


def _program(
    model: Any, args: Any, kwargs: Any, shapes: Any, axes: Any, input_names: Any, training: Any, dynamo: bool, say: Any
) -> ExportedProgram:
    """The model as an exported program."""
    if isinstance(model, ExportedProgram):
        return model
    if not isinstance(model, Module):
        raise OnnxExporterError(hinted(f"cannot export {type(model).__name__}", "give a module or an exported program"))
    if dynamo and model.training:
        warnings.warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, as it may lead to different "
            "behavior during inference. Calling model.eval() before export is recommended.",
            UserWarning,
            stacklevel=to_user(),
        )
    if shapes is None and axes:
        if dynamo:
            warnings.warn(
                "# 'dynamic_axes' is not recommended when dynamo=True, and may lead to 'torch._dynamo.exc.UserError: Constraints "
                "violated.' Supply the 'dynamic_shapes' argument instead if export is unsuccessful.",
                UserWarning,
                stacklevel=to_user(),
            )
        shapes = _from_axes(model, args, kwargs, axes, input_names)
    name = type(model).__name__
    line = f"[torch.onnx] Obtain model graph for `{name}([...]` with `torch.export.export(..., strict=False)`..."
    say(line)
    with select_model_mode_for_export(model, TrainingMode.PRESERVE if dynamo else training), exporting():
        found = export_program(model, args, kwargs, dynamic_shapes=_with_dims(shapes))
    say(f"{line} ✅")
    return found


def _with_dims(shapes: Any) -> Any:
    """Names of sizes as Dims, the same one for the same name."""
    if not isinstance(shapes, (dict, tuple, list)):
        return shapes
    dims: dict[str, Dim] = {}

    def named(leaf: Any) -> Any:
        return dims.setdefault(leaf, Dim(leaf)) if isinstance(leaf, str) else leaf

    return pytree.tree_map(named, shapes)


def _from_axes(model: Module, args: Any, kwargs: Any, axes: Any, input_names: Any) -> dict[str, Any]:
    """``dynamic_axes`` in the form of ``dynamic_shapes``; the leaves of the arguments have the input names in order."""
    named = named_arguments(model, args, kwargs)
    names = iter([*(input_names or ())])

    def told(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return None
        own = "_".join(str(getattr(part, "key", getattr(part, "idx", part))) for part in path)
        name = next(names, own)
        given = axes.get(name)
        if given is None:
            return None
        if not isinstance(given, dict):
            given = {dim: f"{name}_dim_{dim}".replace(".", "_") for dim in given}
        return _Told({dim: size if isinstance(size, Dim) else Dim(size) for dim, size in given.items()})

    # Sizes of one name are one size.
    found = pytree.tree_map_with_path(told, named)
    dims: dict[str, Dim] = {}
    return pytree.tree_map(
        lambda each: None if each is None else {d: dims.setdefault(s.__name__, s) for d, s in each.sizes.items()}, found
    )


class _Told:
    """The sizes of one input, as a leaf."""

    def __init__(self, sizes: dict[int, Dim]):
        self.sizes = sizes


def _model(
    program: ExportedProgram,
    opset: int,
    custom: Any,
    input_names: Any,
    output_names: Any,
    as_inputs: bool,
    with_tensors: bool,
) -> Any:
    """The ONNX model of a program."""
    if not _BASE <= opset <= _NEWEST:
        raise OnnxExporterError(
            hinted(f"Unsupported ONNX opset version: {opset}", f"{_BASE} to {_NEWEST} are known here")
        )
    table = {getattr(key, "__name__", key): function for key, function in (custom or {}).items()}
    version = max(opset, _OLDEST)
    translator = Translator(program, version, table)
    graph = graph_of(translator, as_inputs, with_tensors)
    for old, wanted in (
        ([name for name, _, _ in translator.inputs], input_names),
        ([value.name for value in translator.outputs], output_names),
    ):
        names = dict(zip(old, wanted or ()))
        rename(graph.node, names)
        for each in (*graph.input, *graph.output):
            each.name = names.get(each.name, each.name)
    found = make_model(graph, version, ("rushlight", __version__))
    if opset < version:
        found = _converted(found, opset)
    onnx_package().checker.check_model(found)
    return found


def _converted(model: Any, opset: int) -> Any:
    """The model in an older version of ONNX's operations."""
    try:
        return onnx_package().version_converter.convert_version(model, opset)
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise OnnxExporterError(
            hinted(f"the model cannot be converted to ONNX opset version {opset}: {first}", f"use {_OLDEST} or later")
        ) from error


def _verify(program: Any, args: Any, kwargs: Any) -> None:
    """Warn where ONNX Runtime gives other numbers than the module."""
    expected = pytree.tree_leaves(program.exported_program.module()(*args, **kwargs))
    for place, (found, wanted) in enumerate(zip(program(*args, **kwargs), expected)):
        apart = (found.double() - wanted.detach().double()).abs().max().item() if found.numel() else 0.0
        if not apart <= 1e-4 * max(1.0, wanted.detach().double().abs().max().item()):
            warnings.warn(f"Output {place} differs from the model's by {apart:.3g}", stacklevel=to_user())
