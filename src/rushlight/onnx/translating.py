"""From an exported program to an ONNX graph: step by step by the table of translations; writes become new values."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..export.exported_program import ExportedProgram
from ..export.graph_signature import ConstantArgument, InputKind
from ..export.operations import Operation, sym_size
from ..fx.node import map_arg
from ..ops import table
from .builder import INT64, LARGEST, Builder, Value, onnx_package, tensor_info
from .errors import OnnxExporterError
from .translations import TRANSLATIONS
from .translations.elementwise import translate
from .translations.registry import dtype_of

_NUMBERS = ("Tensor", "Operand", "Scalar")
_SIZES = {operator.mul: "Mul", operator.add: "Add", operator.floordiv: "Div"}


class Translator:
    """Translates one program.

    Args:
        program: what is translated.
        opset: the version of ONNX's operations.
        custom: translations of a user's, by the names of operations, before those of the table.

    Attributes:
        inputs, outputs: names, dtypes and sizes.
        parameters: the tensors that the graph needs, by the names that they have in the program.
    """

    def __init__(self, program: ExportedProgram, opset: int, custom: dict[str, Any] | None = None):
        self.program, self.builder, self.custom = program, Builder(opset), custom or {}
        self.inputs: list[tuple[str, Any, Any]] = []
        self.outputs: list[Value] = []
        self.parameters: dict[str, Any] = {}
        self.values: dict[Any, Any] = {}  # node -> Value, a tuple of them, or a plain value
        self._sources: dict[Any, Any] = {}  # a view -> the node that it looks into
        self._renewed: dict[Any, Any] = {}  # the result of a write -> the node that was written
        self._versions: dict[
            Any, int
        ] = {}  # how often the memory below a node was written; of a view, when it was made
        self._read_inputs()
        needed = _needed(program.graph)
        for node in program.graph.nodes:
            if node in needed and node.op == "call_function":
                self._translate(node)
            elif node.op == "output":
                self._write_outputs(node)

    def _read_inputs(self) -> None:
        nodes = [node for node in self.program.graph.nodes if node.op == "placeholder"]
        for node, spec in zip(nodes, self.program.graph_signature.input_specs):
            if isinstance(spec.arg, ConstantArgument):
                self.values[node] = spec.arg.value
                continue
            user = spec.kind == InputKind.USER_INPUT
            name = self.builder.free_name(node.name if user else str(spec.target))
            dtype, sizes = dtype_of(node.meta), node.meta["sizes"]
            self.values[node] = Value(self.builder, name, dtype, tuple(node.meta["val"].shape), sizes)
            if user:
                self.inputs.append((name, dtype, sizes))
            else:
                self.parameters[name] = self.program.tensor_named(str(spec.target))

    # ------------------------------------------------------------ steps

    def _translate(self, node: Any) -> None:
        target = node.target
        if target is operator.getitem:
            found = self.values[node.args[0]]
            self._keep(node, found[node.args[1]])
        elif isinstance(target, Operation):
            self._run(node)
        else:
            self.builder.step = node
            self.values[node] = self._size(target, [self._read(value) for value in node.args])

    def _size(self, target: Any, values: list[Any]) -> Value:
        """A size, as a value of shape (1,)."""
        b = self.builder
        if target is sym_size:
            found = b.add("Shape", values[0], dtype=INT64, start=values[1], end=values[1] + 1, shape=(1,))
        else:
            operands = [value if isinstance(value, Value) else b.constant([value], INT64) for value in values]
            found = b.add(_SIZES[target], *operands, shape=(1,))
        found.sizes = (1,)
        return found

    def _run(self, node: Any) -> None:
        """Translate a call of an operation."""
        op = node.target.op
        if op.kind == table.VIEW and not node.target.writes:
            self._sources[node] = self._canonical(node.args[0])
            self._versions[node] = self._versions.get(self._root(node), 0)
        found = self._calculated(node)
        if node.target.writes:
            self._write(self._canonical(node.args[0]), found)
            self._renewed[node] = node.args[0]
        elif isinstance(found, tuple):
            self.values[node] = found
        else:
            self._keep(node, found)

    def _calculated(self, node: Any) -> Any:
        self.builder.step = node
        name = node.target.__name__
        names = dict.fromkeys((name, name.removesuffix("_")))  # a write is translated as what it writes
        rules = [table[each] for table in (self.custom, TRANSLATIONS) for each in names if each in table]
        rule = rules[0] if rules else translate(node.target.op.name)
        if rule is None:
            raise self.builder.unsupported(
                "ONNX has no counterpart, or none is known here: custom_translation_table takes one for "
                f"torch.export.operations.{name}"
            )
        arguments = [map_arg(value, self._read) for value in node.args]
        for place, argument in enumerate(node.target.schema.arguments):
            if argument.type in _NUMBERS and "val" not in getattr(node.args[place], "meta", {"val": None}):
                arguments[place] = self.builder.scalar(arguments[place])  # a size as a number
        return rule(self.builder, *arguments)

    def _keep(self, node: Any, found: Any) -> None:
        """Let a value stand for a node, and know what the node tells of it."""
        if found is None:
            self.builder.step = node.args[0]
            raise self.builder.unsupported(f"its result {node.args[1]} has no counterpart")
        shape, sizes = tuple(node.meta["val"].shape), node.meta["sizes"]
        self.values[node] = Value(self.builder, found.name, found.dtype, shape, sizes)
        if node.target is operator.getitem and node.args[0].target.op.kind == table.VIEW:
            self._sources[node] = self._canonical(node.args[0].args[0])
            self._versions[node] = self._versions.get(self._root(node), 0)

    # ------------------------------------------------------------ writes

    def _canonical(self, node: Any) -> Any:
        """The node whose value a node's is: what a write wrote into."""
        while node in self._renewed:
            node = self._renewed[node]
        return node

    def _root(self, node: Any) -> Any:
        """The node whose memory a view looks into."""
        while node in self._sources:
            node = self._sources[node]
        return node

    def _read(self, node: Any) -> Any:
        """The value of a node as it is now: views of memory that was written since are made again."""
        if not hasattr(node, "op"):
            return node
        node = self._canonical(node)
        if node in self._sources:
            current = self._versions.get(self._root(node), 0)
            if self._versions[node] != current:
                self._remake(node)
                self._versions[node] = current
        return self.values[node]

    def _remake(self, view: Any) -> None:
        step = self.builder.step
        if view.target is operator.getitem:
            found = self._calculated(view.args[0])[view.args[1]]
        else:
            found = self._calculated(view)
        self._keep(view, found)
        self.builder.step = step

    def _write(self, node: Any, found: Value) -> None:
        """Let a node that was written have a new value, and what it looks into, too."""
        root, b = self._root(node), self.builder
        version = self._versions[root] = self._versions.get(root, 0) + 1
        before = self.values[node]
        found = b.cast(found, before.dtype)
        while True:
            self.values[node] = Value(b, found.name, before.dtype, before.shape, before.sizes)
            if node not in self._sources:
                return
            self._versions[node] = version
            source = self._sources[node]
            before = self.values[source]
            found = self._put_back(node, before, self.values[node])
            node = source

    def _put_back(self, view: Any, source: Value, value: Value) -> Value:
        """The tensor that a view looks into, with the view's new value in its place."""
        b, name = self.builder, getattr(view.target, "__name__", "getitem")
        args = [map_arg(each, self._read_size) for each in view.args[1:]]
        if name in ("view_shape", "reshape_alias", "unsqueeze", "squeeze"):
            return b.add("Reshape", value, b.shape_of(source))
        if name == "alias":
            return value
        if name in ("permute", "transpose", "t"):
            order = [*range(source.rank)][::-1] if name == "t" else _order(name, args, source.rank)
            return b.transpose(value, [order.index(dim) for dim in range(source.rank)])
        if name == "select":
            dim = args[0] % source.rank
            last = not isinstance(args[1], Value) and args[1] == -1
            return _replaced(b, source, b.unsqueeze(value, dim), dim, args[1], LARGEST if last else args[1] + 1)
        if name == "slice_dim" and args[3] == 1:
            start, end = 0 if args[1] is None else args[1], LARGEST if args[2] is None else args[2]
            return _replaced(b, source, value, args[0] % source.rank, start, end)
        if name == "slice_dim":
            return _replaced_at(b, source, value, args[0] % source.rank, *args[1:])
        raise b.unsupported(
            f"it writes into a part of a tensor that {name} gave: write into a copy, or use torch.where"
        )

    def _read_size(self, node: Any) -> Any:
        return self.values[node]

    # ------------------------------------------------------------ outputs

    def _write_outputs(self, node: Any) -> None:
        names: dict[str, str] = {}
        for output in node.args[0]:
            if output is None:
                continue
            value = found = self._read(output) if hasattr(output, "op") else output
            if hasattr(output, "op") and "val" not in output.meta:  # a size
                value = found = self.builder.scalar(value)
                value.sizes = ()
            if not isinstance(found, Value):
                raise OnnxExporterError(f"the model returns {found!r}, which is no tensor: ONNX has tensors alone")
            name = self.builder.free_name(output.name if hasattr(output, "op") else "output")
            made = any(found.name in step.output for step in self.builder.nodes)
            if not made or any(found.name == other.name for other in self.outputs):  # an input, or an output twice
                self.builder.step = None
                found = self.builder.add("Identity", found)
            self.outputs.append(Value(self.builder, found.name, found.dtype, value.shape, value.sizes))
            names[found.name] = name
        rename(self.builder.nodes, names)
        for output in self.outputs:
            output.name = names[output.name]


def rename(nodes: Any, names: dict[str, str]) -> None:
    """Give values other names, wherever nodes have them."""
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]


def _needed(graph: Any) -> set[Any]:
    """The nodes on which the outputs depend, or by which something is written."""
    found: set[Any] = set()
    for node in reversed(graph.nodes):
        writes = isinstance(node.target, Operation) and node.target.writes
        if node.op == "output" or writes or any(user in found for user in node.users):
            found.add(node)
    return found


def _order(name: str, args: list[Any], rank: int) -> list[int]:
    if name == "permute":
        return [dim % rank for dim in args[0]]
    order = [*range(rank)]
    first, second = args[0] % rank, args[1] % rank
    order[first], order[second] = order[second], order[first]
    return order


def _replaced(b: Builder, source: Value, value: Value, dim: int, start: Any, end: Any) -> Value:
    """``source`` with a part of a dimension exchanged, from ``start`` to ``end``."""
    return b.add("Concat", b.slice(source, dim, 0, start), value, b.slice(source, dim, end, LARGEST), axis=dim)


def _replaced_at(b: Builder, source: Value, value: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    """``source`` with every ``step``-th place of a part of a dimension exchanged."""
    count = b.scalar(b.dim(source, dim))
    places = b.add("Range", b.constant(0, INT64), count, b.constant(1, INT64))
    places = b.slice(places, 0, 0 if start is None else start, LARGEST if end is None else end, step)
    order = [dim, *(each for each in range(source.rank) if each != dim)]
    moved, written = b.transpose(source, order), b.transpose(value, order)
    found = b.add("ScatterND", moved, b.unsqueeze(places, 1), written)
    return b.transpose(found, [order.index(each) for each in range(source.rank)])


def graph_of(translator: Translator) -> Any:
    """The ONNX graph: nodes that outputs need, tensors that these need."""
    b = translator.builder
    needed, nodes = {value.name for value in translator.outputs}, []
    for node in reversed(b.nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            nodes.append(node)
    stored = {
        name: np.asarray(t.detach().contiguous()._array) for name, t in translator.parameters.items()
    } | b.initializers
    initializers = [onnx_package().numpy_helper.from_array(a, name) for name, a in stored.items() if name in needed]
    inputs = [tensor_info(name, dtype, sizes) for name, dtype, sizes in translator.inputs]
    outputs = [tensor_info(value.name, value.dtype, value.sizes) for value in translator.outputs]
    return onnx_package().helper.make_graph(nodes[::-1], "main_graph", inputs, outputs, initializers)
