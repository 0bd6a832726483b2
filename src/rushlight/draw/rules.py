"""The rules of backward as the op table has them: their source, and which family of operations a node is of."""

from __future__ import annotations

import inspect
import os
import re
import textwrap

from rushlight.autograd.function_node import unwritten_backward
from rushlight.ops.table import TABLE

PRODUCT, ELEMENT, NORM, REDUCE, SHAPE, LOSS, OWN = "product", "element", "norm", "reduce", "shape", "loss", "own"
_FAMILIES = {
    PRODUCT: "matmul linalg conv attention recurrent recurrent_stacks embedding einsum tensordot",
    NORM: "softmax norm norm_batch norms",
    REDUCE: "reduce scan statistics extrema quantiles pool pool_max pool_mean pool_adaptive histogram integrals",
    SHAPE: "view view_copies join index gather split copy strided padding order sort blockwise masks writing columns "
    "scatter_reduce windows interpolation",
    LOSS: "loss loss_classes loss_margins loss_probabilities ctc",
}
FAMILY_OF_FILE = {name: family for family, names in _FAMILIES.items() for name in names.split()}


def operation_of(node):
    """The record in the op table behind a node; None for others (custom Functions)."""
    node = getattr(node, "inner", node)  # the write inside a CopySlices
    plan = getattr(node, "plan", None)
    return getattr(node, "op", None) if plan is None else plan.op


def family_of(node):
    """The family of operations that a node belongs to, by the file of the op table that has its rules."""
    op = operation_of(node)
    if op is None:
        return OWN
    rules = [op.gradients] if op.gradients is not None else list(op.derivatives.values())
    parts = rules[0].__module__.split(".") if rules else []
    return next((FAMILY_OF_FILE[part] for part in reversed(parts) if part in FAMILY_OF_FILE), ELEMENT)


class Rule:
    """How a node turns gradients: `parts` are (the inputs it is for, source code); `place` is where it is written."""

    __slots__ = ("parts", "place", "schema")

    def __init__(self, schema, parts, place):
        self.schema, self.parts, self.place = schema, parts, place

    def data(self):
        """The same for JSON."""
        return {
            "schema": self.schema,
            "place": self.place,
            "parts": [{"of": of, "code": code} for of, code in self.parts],
        }


def rule_of(op, node_type):
    """The `Rule` of the nodes of an operation: the table's own functions, or a custom Function's ``backward``."""
    if op is not None:
        functions = {"": op.gradients} if op.gradients is not None else op.derivatives
        return Rule(op.schema, *_sources(functions))
    custom = getattr(node_type, "_forward_cls", None)
    if custom is not None:
        return Rule(f"{custom.__name__}.apply", *_sources({"": _backward_of(custom)}))
    return Rule(node_type.__name__, *_sources({"": node_type.apply}))


def _backward_of(custom):
    """The backward of a custom Function, which may be called vjp."""
    return custom.vjp if custom.backward is unwritten_backward else custom.backward


def _sources(functions):
    """(parts, place): the source of each function, equal ones together, and the formulas that they call by name."""
    parts, place = {}, ""
    for name, function in functions.items():
        code, where = source_of(function)
        parts.setdefault(code, []).append(name)
        place = place or where
    found = [(", ".join(each for each in names if each), code) for code, names in parts.items()]
    for name in dict.fromkeys(re.findall(r"\bfunctions\.(\w+)", "\n".join(parts))):
        if name in TABLE and TABLE[name].element is not None:
            found.append((f"functions.{name}", source_of(TABLE[name].element)[0]))
    return found, place


def source_of(function):
    """(source code, ``file:line``); a sentence in its place where Python does not have the source."""
    function = inspect.unwrap(function)
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError):  # typed in at a prompt, or made by exec
        return f"# {function.__qualname__}: its source is not at hand", ""
    file = inspect.getsourcefile(function)
    return textwrap.dedent("".join(lines)).rstrip().rstrip(","), f"{_short_path(file)}:{start}"


def _short_path(file):
    """A file of this package from the package on, another one by its name."""
    package = os.path.dirname(os.path.dirname(__file__))
    if file.startswith(package + os.sep):
        return os.path.relpath(file, os.path.dirname(package)).replace(os.sep, "/")
    return os.path.basename(file)
