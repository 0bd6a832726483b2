"""ExportedProgram: a graph of operations, the tensors that it needs, and what its arguments and results are."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ..base.errors import hinted
from ..fx import Graph, GraphModule
from ..fx.code import CodeGen
from ..nn import Module, Parameter
from ..tensor import Tensor
from ..utils import _pytree as pytree
from .dynamic_shapes import INFINITE
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called: its inputs and outputs, and how they are nested."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module in the program, by its name, and how it is called."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclasses.dataclass
class ValueRanges:
    """The bounds of a size."""

    lower: int
    upper: float

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper == INFINITE else self.upper}]"


@dataclasses.dataclass
class CallSpec:
    """How the inputs and outputs of a program are nested."""

    in_spec: Any
    out_spec: Any


def placeholder(graph: Graph, name: str) -> Any:
    """A placeholder that has the name even where this is that of a builtin, as an argument may."""
    node = graph.placeholder(name)
    if name in vars(builtins) and all(each.name != name for each in graph.nodes):
        node.name = name
    return node


class ExportedProgram:
    """What `export` gives: a program that runs without the Python it came from.

    Attributes:
        graph_module, graph: the operations, which take parameters, buffers and constants as arguments, too.
        graph_signature: what the arguments and results of the graph are.
        state_dict: parameters and buffers by name, the module's own tensors.
        constants: the other tensors that it needs, by name; buffers that are in no state dictionary among them.
        range_constraints: the bounds of sizes that may change, by the names of these.
        example_inputs: ``(args, kwargs)``, or None after loading.
        module_call_graph: how the module was called.
        call_spec: how inputs and outputs are nested.

    >>> import rushlight as torch
    >>> batch = torch.export.Dim("batch")
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),), dynamic_shapes=({0: batch},))
    >>> program.module()(-torch.ones(1, 3))
    tensor([[0., 0., 0.]])
    >>> print(program.graph)
    graph():
        %input : [num_users=1] = placeholder[target=input]
        %relu : [num_users=1] = call_function[target=torch.export.operations.relu](args = (%input,), kwargs = {})
        return (relu,)
    """

    dialect = "TRAINING"

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[str, ValueRanges],
        call_spec: CallSpec,
        names: list[str],
        example_inputs: Any = None,
        constants: dict[str, Any] | None = None,
        training: bool = False,
    ):
        self._graph_module = GraphModule(Module(), graph)
        self._graph_module.training = training
        self.graph_signature, self._state_dict = graph_signature, state_dict
        self.range_constraints, self.call_spec, self._names = range_constraints, call_spec, names
        self.example_inputs, self.constants = example_inputs, constants or {}
        inputs = [spec.arg for spec in graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        outputs = [spec.arg for spec in graph_signature.output_specs]
        signature = ModuleCallSignature(inputs, outputs, call_spec.in_spec, call_spec.out_spec, names)
        self.module_call_graph = [ModuleCallEntry("", signature)]

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module; its arguments are those of the graph."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The operations."""
        return self._graph_module.graph

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers by name."""
        return self._state_dict

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """`constants`."""
        return self.constants

    def parameters(self) -> Iterator[Parameter]:
        """The parameters, in order."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """``(name, parameter)``, in order."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self) -> Iterator[Tensor]:
        """The buffers, in order."""
        for _, buffer in self.named_buffers():
            yield buffer

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """``(name, buffer)``, in order."""
        hidden = self.graph_signature.non_persistent_buffers
        for name in self.graph_signature.buffers:
            yield name, (self.constants if name in hidden else self.state_dict)[name]

    def tensor_named(self, name: str) -> Any:
        """A parameter, buffer or constant."""
        return self.state_dict[name] if name in self.state_dict else self.constants[name]

    def module(self, check_guards: bool = True) -> GraphModule:
        """A module that runs the program, with the program's tensors as parameters and buffers.

        Args:
            check_guards: let it raise AssertionError for inputs of sizes that the program was not made for.
        """
        graph, holders = Graph(), {}
        copies: dict[Any, Any] = {}
        specs = dict(
            zip((node for node in self.graph.nodes if node.op == "placeholder"), self.graph_signature.input_specs)
        )
        inputs = [node for node, spec in specs.items() if spec.kind == InputKind.USER_INPUT]
        for node in inputs:
            copies[node] = placeholder(graph, node.name)
        if check_guards:
            holders["_guards_fn"] = GuardsFn(self)
            graph.call_module("_guards_fn", tuple(copies.values()))
        for node, spec in specs.items():
            if spec.kind != InputKind.USER_INPUT and spec.target is not None:
                copies[node] = graph.get_attr(spec.target)
                holders[spec.target] = self.tensor_named(spec.target)
        outputs = graph.graph_copy(self.graph, copies)
        graph.output(outputs)
        graph.set_codegen(NestedCodeGen(self._names))
        made = GraphModule(holders, graph)
        made._in_spec, made._out_spec = self.call_spec.in_spec, self.call_spec.out_spec
        made.train(self._graph_module.training)
        return made

    def run_decompositions(
        self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """The program in the operations of the table, in which it is already: a copy.

        Args:
            decomp_table: other ways to write operations: refused unless it is None or empty.
        """
        del decompose_custom_triton_ops
        if decomp_table:
            raise NotImplementedError(
                hinted(
                    "run_decompositions: a table of decompositions is not supported",
                    "the graph consists of operations of the op table; change it with torch.fx",
                )
            )
        return copy.deepcopy(self)

    def validate(self) -> None:
        """Raise where the graph makes no sense."""
        self.graph.lint()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        made = object.__new__(type(self))
        memo[id(self)] = made
        vars(made).update({name: copy.copy(value) for name, value in vars(self).items()})
        graph = copy.deepcopy(self.graph, memo)
        for node, copied in zip(self.graph.nodes, graph.nodes):
            copied.name = node.name
        made._graph_module = GraphModule(Module(), graph)
        made._graph_module.train(self._graph_module.training)
        made.graph_signature = copy.deepcopy(self.graph_signature, memo)
        return made

    def __str__(self) -> str:
        parts = (
            self._readable(),
            f"Graph signature: {self.graph_signature}",
            f"Range constraints: {self.range_constraints}\n",
        )
        return "ExportedProgram:\n" + "\n".join(map(_indented, parts))

    def _readable(self) -> str:
        """The code as that of a class, with what every value looks like."""
        shown = {node.name: _look(node) for node in self.graph.nodes if "val" in node.meta}
        head, *body = self.graph.python_code("self").src.strip().splitlines()
        head = re.sub(r"(\w+)(?=[,)])", lambda each: _typed(each[0], shown), head)
        body = [re.sub(r"^( +)(\w+)(?= = )", lambda each: each[1] + _typed(each[2], shown), line) for line in body]
        return "\n".join(["class GraphModule(torch.nn.Module):", f"    {head}", *(f"    {line}" for line in body), ""])


def _indented(text: str) -> str:
    """The text by four columns to the right, but for lines that open a part of their own."""
    opening = ("Graph signature", "Range constraints")
    return "\n".join(line if not line or line.startswith(opening) else f"    {line}" for line in text.split("\n"))


def _typed(name: str, shown: dict[str, str]) -> str:
    return f'{name}: "{shown[name]}"' if name in shown else name


def _look(node: Any) -> str:
    """Dtype and shape of a value: ``f32[batch, 3]``."""
    return f"{short_name(node.meta['val'].dtype)}[{', '.join(map(str, node.meta['sizes']))}]"


def short_name(dtype: Any) -> str:
    """``f32`` for ``torch.float32``, ``b8`` for ``torch.bool``."""
    name = str(dtype).removeprefix("torch.")
    return "b8" if name == "bool" else re.sub("^([a-z]+?)(?:loat|nt|omplex|float)?([0-9].*)$", r"\1\2", name)


class NestedCodeGen(CodeGen):
    """Code whose function takes and gives what the module did, while the nodes hold the leaves of that.

    Args:
        names: the parameters of the function.
    """

    def __init__(self, names: list[str]):
        self.names = names

    def prologue(self, arguments: list[str]) -> tuple[list[str], list[str]]:
        """The parameters, and the line that takes them apart."""
        leaves = "".join(f"{each}, " for each in arguments)
        given = ", ".join(f"{name}={name}" for name in self.names)
        line = f"{leaves}= torch.export.exported_program.flat_inputs(dict({given}), self._in_spec)\n"
        return list(self.names), [line] if arguments else []

    def returned(self, value: str) -> str:
        """The line that puts the results together."""
        return f"return pytree.tree_unflatten({value}, self._out_spec)"


def flat_inputs(given: dict[str, Any], expected: Any) -> list[Any]:
    """The leaves of the arguments.

    Raises:
        ValueError: They are nested in another way than those that the program was made with.
    """
    leaves, structure = pytree.tree_flatten(given)
    if structure != expected:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{expected}\nbut actually got inputs with tree spec "
            f"of: \n{structure}.\nPlease check that the inputs have the same number and type of args and kwargs as the ones you "
            "used when tracing."
        )
    return leaves


class GuardsFn(Module):
    """Raises AssertionError where an input is not of the sizes that the program was made for."""

    def __init__(self, program: ExportedProgram):
        super().__init__()
        nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        specs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        self._expected = [
            (each, None if isinstance(each, ConstantArgument) else nodes[each.name].meta) for each in specs
        ]
        self._ranges = program.range_constraints
        self._places: dict[str, str] = {}  # where symbols stand for a size themselves
        for argument, meta in self._expected:
            for dim, size in enumerate(meta["sizes"] if meta else ()):
                self._places.setdefault(size, f"{argument.name}.size()[{dim}]")

    def forward(self, *leaves: Any) -> None:
        """Look at the leaves of the arguments."""
        known: dict[str, int] = {}
        for (argument, meta), leaf in zip(self._expected, leaves):
            if meta is None:
                if leaf != argument.value:
                    raise AssertionError(f"Guard failed: {argument.name} == {argument.value!r}")
            else:
                self._check(argument.name, meta, leaf, known)

    def _check(self, name: str, meta: dict[str, Any], leaf: Any, known: dict[str, int]) -> None:
        sizes = meta["sizes"]
        if not isinstance(leaf, Tensor):
            raise AttributeError(f"'{type(leaf).__name__}' object has no attribute 'size'")
        if leaf.ndim != len(sizes):
            raise AssertionError(f"Guard failed: len({name}.size()) == {len(sizes)}")
        for dim, (size, expected) in enumerate(zip(leaf.shape, sizes)):
            if isinstance(expected, int):
                if size != expected:
                    raise AssertionError(f"Guard failed: {name}.size()[{dim}] == {expected}")
                continue
            factor, symbol, offset = _parts(expected)
            value, rest = divmod(size - offset, factor)
            bounds = self._ranges[symbol]
            place = self._places.get(symbol, symbol)
            if rest or known.setdefault(symbol, value) != value:
                raise AssertionError(f"Guard failed: {name}.size()[{dim}] == {expected.replace(symbol, place)}")
            if not bounds.lower <= value <= bounds.upper:
                bound = f">= {bounds.lower}" if value < bounds.lower else f"<= {bounds.upper}"
                raise AssertionError(f"Guard failed: {place} {bound}")


def _parts(text: str) -> tuple[int, str, int]:
    """``2*batch + 1`` as (2, "batch", 1)."""
    found = re.fullmatch(r"(?:(\d+)\*)?(\w+)(?: ([+-]) (\d+))?", text)
    if found is None:
        raise ValueError(f"{text!r} is no size of an input")
    factor, symbol, sign, offset = found.groups()
    return int(factor or 1), symbol, int(f"{sign or ''}{offset or 0}")
