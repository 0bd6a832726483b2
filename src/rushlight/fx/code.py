"""From graphs to Python: the text of a function, and the names that it needs."""

from __future__ import annotations

import enum
import math
import sys
import typing
from importlib import import_module
from typing import Any, NamedTuple

from ..base.device import device as Device
from ..utils import _pytree as pytree
from .immutable_collections import map_aggregate
from .node import Node, map_arg, module_of, qualified_name

NO_DEFAULT: Any = object()  # a placeholder without a default value

# How generated code writes functions of the module operator.
OPERATORS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
    "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}", "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}",
    "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}", "invert": "~{}",
}  # fmt: skip
INPLACE_OPERATORS = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}", "imul": "{} *= {}",
    "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip

# The names that every generated function may use.
GLOBALS = {
    "inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": None, "device": Device, "fx_pytree": pytree, "pytree": pytree,
}  # fmt: skip


def standard_globals():
    """`GLOBALS`, with the package itself under the name ``torch``: as it stands there, if it does, where ``torch.ops`` is found."""
    ours, standing = sys.modules[__package__.partition(".")[0]], sys.modules.get("torch")
    return {**GLOBALS, "torch": standing if getattr(standing, "Tensor", None) is ours.Tensor else ours}


class _WithOperations:
    """The package as generated code knows it, with PyTorch's native operations as ``ops``, which is no name of ours."""

    def __init__(self, package):
        self._package, self.ops = package, import_module(f"{__package__.partition('.')[0]}.compat.inside.ops")

    def __getattr__(self, name):
        return getattr(self._package, name)


def _with_operations(package):
    """What has ``torch.ops``: the package itself where it stands in for PyTorch."""
    has = package is sys.modules.get("torch") or package.__class__ is _WithOperations
    return package if has else _WithOperations(package)


class Place(NamedTuple):
    """Where an argument stands in a list of steps, in place of a node."""

    number: int


def placed(arguments, nodes):
    """Nested arguments with nodes instead of their places."""
    if isinstance(arguments, Place):
        return nodes[arguments.number]
    if isinstance(arguments, tuple) and not hasattr(arguments, "_fields"):
        return tuple(placed(item, nodes) for item in arguments)
    if isinstance(arguments, list):
        return [placed(item, nodes) for item in arguments]
    if isinstance(arguments, dict):
        return {key: placed(item, nodes) for key, item in arguments.items()}
    return map_aggregate(arguments, lambda item: placed(item, nodes) if isinstance(item, Place) else item)


class PythonCode(NamedTuple):
    """Generated code.

    Attributes:
        src: the text of ``def forward(self, ...)``.
        globals: the names it needs.
    """

    src: str
    globals: dict


class _Writer:
    """Writes the body of one function."""

    def __init__(self, graph, root):
        self.graph, self.root = graph, root
        self.body: list[str] = []
        self.arguments: list[str] = []
        self.names = standard_globals()
        self.wrapped: dict[str, None] = {}  # functions that a program has marked by `wrap`
        self.returns = ""
        self.last_uses = _last_uses(graph)

    def name_of(self, hint, obj):
        """The global name of an object."""
        if module_of(obj).partition(".")[0] == "torch" and obj is not Device and callable(obj):
            return qualified_name(obj)
        name = hint.replace(".", "_").replace("<", "_").replace(">", "_")
        if self.names.get(name, obj) is not obj:
            name = next(f"{name}_{n}" for n in range(1, 1 << 30) if f"{name}_{n}" not in self.names)
        self.names[name] = obj
        return name

    def type_text(self, kind):
        """An annotation, whose parts become global names."""
        origin, arguments = getattr(kind, "__origin__", None), getattr(kind, "__args__", ())
        if origin is None or not arguments:
            if kind is None or kind is type(None):
                return "NoneType"
            if not hasattr(kind, "__name__"):
                return "..." if kind is Ellipsis else repr(kind)
            return self.name_of(_type_name(kind), kind)
        bare = _bare(kind)
        return f"{self.name_of(_type_name(bare), bare)}[{','.join(self.type_text(each) for each in arguments)}]"

    def text(self, value):
        """An argument."""
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple):
            items = [self.text(item) for item in value]
            if hasattr(value, "_fields"):
                return f"{self.name_of(qualified_name(type(value)), type(value))}({', '.join(items)})"
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        if isinstance(value, enum.Enum):
            kind = type(value)
            return f"{self.name_of(kind.__name__, kind)}.{value.name}"
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return self.name_of(qualified_name(value), value)
        return repr(value)

    def call(self, args, kwargs):
        """``a, b, c = d``: the arguments of a call."""
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(value)}" for key, value in kwargs.items())])

    def write(self, node):
        """The lines of a node."""
        typed = "" if node.type is None else f" : {self.type_text(node.type)}"
        getattr(self, "_" + node.op)(node, typed)
        if node.op not in ("placeholder", "output"):
            self.body.append(f";  {gone} = None\n" if (gone := " = ".join(self._unused_after(node))) else "\n")

    def _unused_after(self, node):
        used = self.last_uses.get(node, [])
        return [each.name for each in (used if node.users else [*used, node])]

    def _placeholder(self, node, typed):
        default = "" if not node.args else f" = {self.text(node.args[0])}"
        self.arguments.append(f"{node.target}{typed}{default}")
        bare = node.target.replace("*", "")
        if bare != node.name:
            self.body.append(f"{node.name} = {bare}\n")

    def _get_attr(self, node, typed):
        self.body.append(f"{node.name}{typed} = {_path(self.root, node.target)}")

    def _call_module(self, node, typed):
        self.body.append(f"{node.name}{typed} = {_path(self.root, node.target)}({self.call(node.args, node.kwargs)})")

    def _call_method(self, node, typed):
        call = f"{_path(self.text(node.args[0]), node.target)}({self.call(node.args[1:], node.kwargs)})"
        self.body.append(f"{node.name}{typed} = {call}")

    def _call_function(self, node, typed):
        target, args = node.target, node.args
        own = getattr(target, "__name__", "") if getattr(target, "__module__", "") == "_operator" else ""
        if own in OPERATORS and not node.kwargs:
            self.body.append(f"{node.name}{typed} = {OPERATORS[own].format(*map(self.text, args))}")
        elif own in INPLACE_OPERATORS:
            self.body.append(
                f"{INPLACE_OPERATORS[own].format(*map(self.text, args))};  {node.name}{typed} = {self.text(args[0])}"
            )
        elif target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            self.name_of("getattr", getattr)
            self.body.append(f"{node.name}{typed} = {_path(self.text(args[0]), args[1])}")
        else:
            name = self.name_of(qualified_name(target), target)
            if name.startswith("torch.ops."):
                self.names["torch"] = _with_operations(self.names["torch"])
            if node.meta.get("is_wrapped"):
                self.wrapped.setdefault(name)
            self.body.append(f"{node.name}{typed} = {name}({self.call(args, node.kwargs)})")

    def _output(self, node, typed):
        if node.type is not None:
            self.returns = f" -> {self.type_text(node.type)}"
        del typed
        self.body.append(self.graph._codegen.returned(self.text(node.args[0])) + "\n")


def _bare(kind):
    """The generic form that an annotation fills: ``typing.Tuple`` of ``Tuple[int]``, ``list`` of ``list[int]``."""
    name = (
        getattr(kind, "_name", None)
        or getattr(kind.__origin__, "_name", None)
        or getattr(kind.__origin__, "__name__", "")
    )
    found = getattr(typing, "Union" if name == "Optional" else name, None)
    return kind.__origin__ if type(kind).__module__ == "types" or found is None else found


def _type_name(kind):
    name = getattr(kind, "__name__", None) or getattr(kind, "_name", None) or repr(kind)
    module = getattr(kind, "__module__", "builtins")
    return name if module == "builtins" else f"{module}.{name}"


def _path(root, dotted):
    """``root.a.b``, with ``getattr`` for names that are no identifiers."""
    for name in dotted.split("."):
        root = f"{root}.{name}" if name.isidentifier() else f'getattr({root}, "{name}")'
    return root


def _last_uses(graph):
    """node -> the nodes whose results nobody uses behind it."""
    found: dict = {}
    seen = set()

    def note(used, user):
        if used not in seen:
            seen.add(used)
            found.setdefault(user, []).append(used)

    for node in reversed(graph.nodes):
        map_arg(node.args, lambda used, user=node: note(used, user))
        map_arg(node.kwargs, lambda used, user=node: note(used, user))
    return found


class CodeGen:
    """Writes the code of a graph; subclasses change how arguments come in and results go out."""

    transform = None  # changes the lines of a body, where somebody has asked for that

    def signature(self, arguments, returns):
        """The first line of the function."""
        if not arguments or arguments[0] != "self":
            arguments = ["self", *arguments]
        return f"def forward({', '.join(arguments)}){returns}:"

    def prologue(self, arguments):
        """``(arguments, lines)``: what the function takes, and the lines by which it makes the nodes' values of that."""
        return arguments, []

    def returned(self, value):
        """The last line of the function."""
        return f"return {value}"

    def process_inputs(self, *args):
        """Arguments of the function as the nodes take them."""
        return args

    def process_outputs(self, outputs):
        """What the nodes give as the function's result."""
        return outputs

    def more_globals(self):
        """Further names that the code needs."""
        return {}

    def python_code(self, graph, root_module, *, verbose=False):
        """The code of a graph."""
        writer = _Writer(graph, root_module)
        before = ""
        for node in graph.nodes:
            if verbose and node.op not in ("placeholder", "output") and node.stack_trace != before:
                before = node.stack_trace
                told = before.strip().splitlines()[0].strip() if before else "No stacktrace found for following nodes"
                writer.body.append(f"\n# {told}\n")
            writer.write(node)
        body = writer.body or ["pass\n"]
        if self.transform is not None:
            body = self.transform(body)
        arguments, lines = self.prologue(writer.arguments)
        marks = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        text = "".join([*lines, *body])
        indented = "\n".join(
            f"    {line}" if line.strip() or number else line for number, line in enumerate(text.split("\n"))
        )
        source = f"\n{marks}\n\n{self.signature(arguments, writer.returns)}\n{indented}"
        return PythonCode(source, {**writer.names, **self.more_globals()})


class TreeCodeGen(CodeGen):
    """Code whose function takes and gives nests, while the nodes hold their leaves.

    Args:
        names: the parameters of the function.
    """

    def __init__(self, names):
        self.names, self.out_spec = names, None

    def prologue(self, arguments):
        leaves = "".join(f"{each.partition(' ')[0]}, " for each in arguments)
        return list(self.names), [f"{leaves}= fx_pytree.tree_leaves([{', '.join(self.names)}])\n"]

    def returned(self, value):
        return f"return pytree.tree_unflatten({value}, self._out_spec)"

    def process_inputs(self, *args):
        return pytree.tree_leaves(list(args))

    def process_outputs(self, outputs):
        return pytree.tree_unflatten(outputs, self.out_spec)


class transformed:
    """What `Graph.on_generate_code` returns: ends the change when it is left as a context."""

    def __init__(self, graph, make_transformer):
        self.codegen, self.before = graph._codegen, graph._codegen.transform
        self.codegen.transform = make_transformer(self.before)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.codegen.transform = self.before
