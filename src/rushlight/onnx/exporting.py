"""``torch.onnx.export``: a module, or a program that was exported, as an ONNX model."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..base.errors import hinted
from ..base.notes import note_once
from ..base.user_code import to_user
from ..export import ExportedProgram
from ..nn import Module
from ..utils import _pytree as pytree
from ..version import __version__
from .builder import make_model, onnx_package
from .capturing import call_of, program_of
from .modes import OperatorExportTypes, TrainingMode
from .program import ONNXProgram
from .reports import Records
from .translating import Translator, graph_of, rename

DEFAULT_OPSET = 20
_OLDEST, _NEWEST = 18, 26  # the versions whose operations the translations know


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

    The model is recorded by `torch.export.export`, whatever ``dynamo`` is, and each operation translated. Gives an
    `ONNXProgram`; None where ``dynamo`` is False and ``model`` a module.

    Args:
        model: a module, or a program of `torch.export.export`.
        args, kwargs: an example of its arguments; without ``kwargs`` a dictionary at the end of ``args`` stands for them.
        f: the path of the file that is written; None: none.
        verbose: print what is being done; by default, too, unless it is False.
        input_names, output_names: names of the inputs and outputs; by default those of the arguments and of the operations.
        opset_version: the version of ONNX's operations, 20 by default. 18 to 26 are known; for others onnx's converter is asked,
            and where it cannot, too, the model stays at 18, of which the log tells.
        dynamo: False gives None instead of a program, takes ``training``, and writes one file.
        external_data: put the tensors into a file beside it, unless ``dynamo`` is False.
        dynamic_shapes: which sizes may change, as `torch.export.export` takes them; names (str) may stand for Dims.
        dynamic_axes: the same by names of inputs: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``.
        custom_translation_table: functions by operation that translate it: they get the builder and the arguments.
        report, dump_exported_program: write what came of the export as Markdown, and the exported program, to ``artifacts_dir``.
        verify: run the model in ONNX Runtime and compare it with the module; a warning where they differ.
        export_params, keep_initializers_as_inputs: write the tensors into the file; name them among its inputs, too.
        training: the mode that the module is exported in, where ``dynamo`` is False.
        optimize, operator_export_type, do_constant_folding, custom_opsets, export_modules_as_functions, autograd_inlining: without
            effect; what can be folded is left to the runtime, so that tensors keep their names.
        profile: refused.

    Raises:
        UnsupportedOperatorError: ONNX cannot say an operation, which it names.
        OnnxExporterError: `torch.export.export` refuses the model, for example as what runs depends on values of the inputs.
    """
    del (
        optimize,
        operator_export_type,
        do_constant_folding,
        custom_opsets,
        export_modules_as_functions,
        autograd_inlining,
    )
    _check(profile, custom_translation_table)
    old = not dynamo and not isinstance(model, ExportedProgram)
    if old:
        _tell_of_the_old_way(dynamic_shapes)
    args, kwargs = call_of(args, kwargs)
    say = _say if verbose is not False and not old else _say_nothing
    names, mode = (input_names, output_names), training if old else None
    with Records(artifacts_dir, report, say) as records:
        program, renamed = program_of(model, args, kwargs, dynamic_shapes, dynamic_axes, names, mode, say)
        records.program = program
        if dump_exported_program:
            records.keep(program)
        proto = records.model = _model(program, opset_version, custom_translation_table, *names, say)
        onnx_package().checker.check_model(proto)
    found = ONNXProgram(proto, program)
    found.rename_axes(renamed)
    if verify:
        _verify(found, args, kwargs)
    if f is not None:
        _save(found, f, export_params, keep_initializers_as_inputs, external_data, old)
    return None if old else found


def _say(line: str) -> None:
    print(line)


def _say_nothing(line: str) -> None:
    """What is done is told to nobody."""


def _check(profile: bool, table: Mapping[Any, Any] | None) -> None:
    """Refuse options that cannot be followed."""
    if profile:
        raise NotImplementedError(hinted("profile=True is not supported", "call export within torch.profiler.profile"))
    if any(isinstance(function, Sequence) for function in (table or {}).values()):
        raise TypeError("The value in custom_translation_table should be a single callable, not a sequence")


def _tell_of_the_old_way(dynamic_shapes: Any) -> None:
    """Warn of ``dynamo=False``, and refuse what it does not take."""
    warnings.warn(
        "You are using the legacy TorchScript-based ONNX export. Starting in PyTorch 2.9, the new torch.export-based ONNX exporter "
        "has become the default. Learn more about the new export logic: https://docs.pytorch.org/docs/stable/onnx_export.html. For "
        "exporting control flow: https://pytorch.org/tutorials/beginner/onnx/export_control_flow_model_to_onnx_tutorial.html",
        DeprecationWarning,
        stacklevel=to_user(),
    )
    if dynamic_shapes:
        raise ValueError("The exporter only supports dynamic shapes through parameter dynamic_axes when dynamo=False.")


def _save(program: ONNXProgram, f: Any, tensors: bool, as_inputs: bool, external: bool, old: bool) -> None:
    """Write a program into a file, or, as programs of old do, into memory; the old way has one file, and tensors as inputs at least."""
    as_inputs = as_inputs or (old and not tensors)
    external = external and not old
    if isinstance(f, io.BytesIO):
        if not old:
            warnings.warn(
                "Saving ONNX model to a BytesIO object is deprecated. Please use a file path instead.",
                DeprecationWarning,
                stacklevel=to_user(),
            )
        external = False
    program.save(f, include_initializers=tensors, keep_initializers_as_inputs=as_inputs, external_data=external)


def _model(
    program: ExportedProgram, opset: int | None, custom: Any, input_names: Any, output_names: Any, say: Any
) -> Any:
    """The ONNX model of a program."""
    say("[torch.onnx] Translate the graph into ONNX...")
    opset = DEFAULT_OPSET if opset is None else opset
    table = {getattr(key, "__name__", key): function for key, function in (custom or {}).items()}
    version = opset if _OLDEST <= opset <= _NEWEST else _OLDEST
    translator = Translator(program, version, table)
    graph = graph_of(translator)
    for old, wanted in (
        ([name for name, _, _ in translator.inputs], input_names),
        ([value.name for value in translator.outputs], output_names),
    ):
        names = dict(zip(old, wanted or ()))
        rename(graph.node, names)
        for each in (*graph.input, *graph.output):
            each.name = names.get(each.name, each.name)
    say("[torch.onnx] Translate the graph into ONNX... ✅")
    found = make_model(graph, version, ("rushlight", __version__))
    return found if opset == version else _converted(found, version, opset)


def _converted(model: Any, version: int, wanted: int) -> Any:
    """The model in another version of ONNX's operations; itself where onnx does not know how."""
    try:
        found = onnx_package().version_converter.convert_version(model, wanted)
    except Exception as error:  # the converter raises RuntimeError and its own kinds, by operation
        first = str(error).partition("\n")[0]
        note_once(
            f"onnx.export: the model cannot be converted to ONNX opset version {wanted} and stays at {version}: {first}"
        )
        return model
    found.ir_version = model.ir_version
    return found


def _verify(program: Any, args: Any, kwargs: Any) -> None:
    """Warn where ONNX Runtime gives other numbers than the module."""
    found = pytree.tree_leaves(program.exported_program.module()(*args, **kwargs))
    expected = [each for each in found if each is not None]
    for place, (found, wanted) in enumerate(zip(program(*args, **kwargs), expected)):
        apart = (found.double() - wanted.detach().double()).abs().max().item() if found.numel() else 0.0
        if not apart <= 1e-4 * max(1.0, wanted.detach().double().abs().max().item()):
            warnings.warn(f"Output {place} differs from the model's by {apart:.3g}", stacklevel=to_user())
