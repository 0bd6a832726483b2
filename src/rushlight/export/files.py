"""Programs in files: a zip with the graph as JSON, which names operations of the table, and the tensors as `torch.save` writes them.

There is no code in such a file, and loading it runs none: what the JSON may name is an operation of the table, a function of
`operations.FUNCTIONS`, a dtype, a memory format; names are identifiers. The format is this package's own: other programs' files
of the same suffix are refused.
"""

from __future__ import annotations

import io
import json
import keyword
import math
import re
import zipfile
from collections.abc import Callable
from typing import Any

from ..base import dtypes
from ..base.device import memory_format
from ..base.errors import hinted
from ..fx import Graph
from ..fx.node import Node
from ..nn import Parameter
from ..ops.table import functions
from ..serialization import load as load_tensors
from ..serialization import save as save_tensors
from ..serialization.files import readable, writable
from ..utils import _pytree as pytree
from . import graph_signature as signatures
from .dynamic_shapes import INFINITE
from .exported_program import CallSpec, ExportedProgram, ValueRanges, placeholder
from .operations import FUNCTIONS, Operation, operation

VERSION = 1
_PROGRAM, _TENSORS, _EXTRA = "program.json", "tensors.pt", "extra/"
_TARGET = re.compile(r"\w+(\.\w+)*")
_ARGUMENTS = ("TensorArgument", "SymIntArgument", "ConstantArgument")


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program into a file (PyTorch's ``torch.export.save``); nothing in it is code or a pickled object.

    Args:
        ep: the program.
        f: a path or a binary file object.
        extra_files: texts or bytes by name, which are written beside it.
        opset_version, pickle_protocol: without effect.

    Raises:
        TypeError: ``ep`` is no program.
        NotImplementedError: It holds an argument that is no plain value, such as a generator.

    >>> import io, rushlight as torch
    >>> file = io.BytesIO()
    >>> torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), file)
    >>> _ = file.seek(0)
    >>> torch.export.load(file).module()(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    del opset_version, pickle_protocol
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    tensors = io.BytesIO()
    save_tensors({"state": dict(ep.state_dict), "constants": dict(ep.constants)}, tensors)
    with writable(f) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_PROGRAM, json.dumps(_written(ep), allow_nan=False))
        archive.writestr(_TENSORS, tensors.getvalue())
        for name, content in (extra_files or {}).items():
            archive.writestr(_EXTRA + name, content)


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """Read a program that `save` wrote (PyTorch's ``torch.export.load``). No code runs that the file could bring.

    Args:
        f: a path or a binary file object.
        extra_files: a dictionary whose keys are names of what was written beside it: its values become the texts.
        expected_opset_version: without effect.

    Raises:
        zipfile.BadZipFile: The file is none of this kind.
        RuntimeError: It was written by another program or version, or names what no program may.
    """
    del expected_opset_version
    with readable(f) as file, zipfile.ZipFile(file) as archive:
        if not {_PROGRAM, _TENSORS} <= {*archive.namelist()}:
            raise _foreign("it has no program.json")
        if any(
            entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()
        ):  # small ones could unfold without end
            raise _foreign("its entries are compressed")
        data = json.loads(archive.read(_PROGRAM))
        tensors = load_tensors(io.BytesIO(archive.read(_TENSORS)))
        for name in extra_files or ():
            if _EXTRA + name in archive.namelist():
                extra_files[name] = archive.read(_EXTRA + name).decode("utf-8")  # type: ignore[index]
    if data.get("version") != VERSION:
        raise _foreign(f"its version is {data.get('version')!r}, this one reads {VERSION}")
    return _program(data, tensors)


def _foreign(why: str) -> RuntimeError:
    return RuntimeError(hinted("The file is no program that torch.export.save of Rushlight wrote", why))


# ---------------------------------------------------------------- writing


def _written(ep: ExportedProgram) -> dict[str, Any]:
    signature = ep.graph_signature
    return {
        "version": VERSION,
        "nodes": [_written_node(node) for node in ep.graph.nodes],
        "inputs": [
            [spec.kind.name, _written_argument(spec.arg), spec.target, spec.persistent]
            for spec in signature.input_specs
        ],
        "outputs": [[spec.kind.name, _written_argument(spec.arg), spec.target] for spec in signature.output_specs],
        "ranges": {
            name: [bounds.lower, None if bounds.upper == INFINITE else bounds.upper]
            for name, bounds in ep.range_constraints.items()
        },
        "in_spec": pytree.treespec_dumps(ep.call_spec.in_spec),
        "out_spec": pytree.treespec_dumps(ep.call_spec.out_spec),
        "names": ep._names,
        "training": ep.graph_module.training,
    }


def _written_node(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"op": node.op, "name": node.name}
    if node.op == "call_function":
        names = [name for name, function in FUNCTIONS.items() if function is node.target]
        if not names and not isinstance(node.target, Operation):
            raise NotImplementedError(
                hinted(
                    f"torch.export.save: the graph calls {node.target!r}, which is no operation of the table",
                    "a graph that was changed may call torch.export.operations.NAME",
                )
            )
        found["function" if names else "operation"] = names[0] if names else node.target.__name__
    found["args"] = [_coded(value) for value in node.args] if node.op != "placeholder" else []
    if "val" in node.meta:
        value = node.meta["val"]
        found["look"] = [value.dtype.name, node.meta["shapes"], list(node.meta["sizes"])]
    return found


def _written_argument(argument: Any) -> list[Any]:
    value = _coded(argument.value) if isinstance(argument, signatures.ConstantArgument) else None
    return [type(argument).__name__, argument.name, value]


def _coded(value: Any) -> Any:
    """An argument as JSON: plain values as they are, others as an object with one key."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, tuple):
        return {"tuple": [_coded(each) for each in value]}
    if isinstance(value, list):
        return [_coded(each) for each in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    for kind, (recognise, code, _) in _KINDS.items():
        if recognise(value):
            return {kind: code(value)}
    raise NotImplementedError(
        hinted(
            f"torch.export.save: an argument of the class {type(value).__name__} cannot be written",
            "plain values, dtypes and tensors can; a generator can not",
        )
    )


def _dtype(name: str) -> Any:
    found = {dtype.name: dtype for dtype in dtypes.ALL}.get(name)
    if found is None:
        raise _foreign(f"it names the dtype {name!r}")
    return found


_FORMATS = {str(each): each for each in vars(memory_format).values() if isinstance(each, memory_format)}
# kind of value -> is it one, as JSON, back
_KINDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (lambda value: isinstance(value, float), str, float),
    "complex": (
        lambda value: isinstance(value, complex),
        lambda value: [str(value.real), str(value.imag)],
        lambda parts: complex(float(parts[0]), float(parts[1])),
    ),
    "dtype": (lambda value: isinstance(value, dtypes.DType), lambda value: value.name, _dtype),
    "memory_format": (lambda value: isinstance(value, memory_format), str, lambda name: _FORMATS[name]),
}


# ---------------------------------------------------------------- reading


def _program(data: dict[str, Any], tensors: dict[str, Any]) -> ExportedProgram:
    graph, nodes = Graph(), {}
    for each in data["nodes"]:
        nodes[each["name"]] = _read_node(graph, each, nodes)
    signature = signatures.ExportGraphSignature(
        [
            signatures.InputSpec(signatures.InputKind[kind], _read_argument(argument), _checked(target), persistent)
            for kind, argument, target, persistent in data["inputs"]
        ],
        [
            signatures.OutputSpec(signatures.OutputKind[kind], _read_argument(argument), _checked(target))
            for kind, argument, target in data["outputs"]
        ],
    )
    ranges = {
        name: ValueRanges(low, INFINITE if high is None else high) for name, (low, high) in data["ranges"].items()
    }
    names = [_identifier(name) for name in data["names"]]
    state = {name: _as_saved(tensor) for name, tensor in tensors["state"].items()}
    spec = CallSpec(_structure(data["in_spec"]), _structure(data["out_spec"]))
    training = bool(data["training"])
    return ExportedProgram(graph, signature, state, ranges, spec, names, None, tensors["constants"], training)


def _as_saved(tensor: Any) -> Any:
    return tensor if isinstance(tensor, Parameter) or not tensor.requires_grad else Parameter(tensor.detach())


def _read_node(graph: Graph, data: dict[str, Any], nodes: dict[str, Any]) -> Node:
    name = _identifier(data["name"])
    args = tuple(_decoded(value, nodes) for value in data["args"])
    if data["op"] == "placeholder":
        node = placeholder(graph, name)
    elif data["op"] == "output":
        node = graph.output(*args)
    elif data["op"] == "call_function":
        target = FUNCTIONS.get(data["function"]) if "function" in data else operation(str(data["operation"]))
        if target is None:
            raise _foreign(f"it calls the function {data['function']!r}")
        node = graph.call_function(target, args, name=name)
    else:
        raise _foreign(f"it has a step of the kind {data['op']!r}")
    if "look" in data:
        dtype, shapes, sizes = data["look"]
        node.meta["shapes"] = [tuple(map(int, shape)) for shape in shapes]
        node.meta["val"] = functions.empty(node.meta["shapes"][0], dtype=_dtype(dtype), device="meta")
        node.meta["sizes"] = tuple(size if isinstance(size, int) else str(size) for size in sizes)
    return node


def _decoded(value: Any, nodes: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(each, nodes) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "node":
        return nodes[content]
    if kind == "tuple":
        return tuple(_decoded(each, nodes) for each in content)
    if kind not in _KINDS:
        raise _foreign(f"it has a value of the kind {kind!r}")
    return _KINDS[kind][2](content)


def _read_argument(data: list[Any]) -> Any:
    kind, name, value = data
    if kind not in _ARGUMENTS:
        raise _foreign(f"it has an argument of the kind {kind!r}")
    return getattr(signatures, kind)(name, *([_decoded(value, {})] if kind == "ConstantArgument" else []))


def _identifier(name: Any) -> str:
    """A name, which becomes one in generated code."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise _foreign(f"{name!r} is no identifier")
    return name


def _checked(target: Any) -> str | None:
    """The name of a parameter or buffer, by which generated code finds it."""
    if target is not None and not (isinstance(target, str) and _TARGET.fullmatch(target)):
        raise _foreign(f"{target!r} is no name of a parameter")
    return target


def _structure(text: str) -> Any:
    """How values are nested. A default dictionary would name a function that it calls: refused."""
    if "collections.defaultdict" in text:
        raise _foreign("inputs or outputs are default dictionaries, which a file may not name")
    return pytree.treespec_loads(text)
