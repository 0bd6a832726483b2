"""What `inspect.signature` says of the table's functions, and the overloads that PyTorch documents: the stubs are written from them.

Nothing here is loaded before somebody asks for a signature.
"""

from __future__ import annotations

import ast
from inspect import Parameter, Signature, signature

from ..base.device import preserve_format, strided
from .schema import Schema
from .table import CREATE, INPLACE, VIEW, Composite, InplaceForm

_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NEW = (
    "dtype: dtype | None = None, layout: layout | None = strided, device: Device = None, requires_grad: bool | None = False, "
    "pin_memory: bool | None = False"
)
_NEW_AS = (
    "dtype: dtype | None = None, layout: layout | None = None, device: Device = None, requires_grad: bool | None = False, "
    "pin_memory: bool | None = False"
)
_DRAWN = "generator: Generator | None = None, "
_OUT = "out: Tensor | None = None"
_SPREAD = f"""
    (input: Tensor, dim: int | ints | None = None, *, correction: Number | None = 1, keepdim: bool = False, {_OUT}) -> Tensor
    (input: Tensor, dim: int | ints | None, unbiased: bool, keepdim: bool = False, *, {_OUT}) -> Tensor
    (input: Tensor, unbiased: bool) -> Tensor"""
_SPREAD_AND_MEAN = (
    _SPREAD.replace(f", {_OUT}", "").replace(", *)", ")").replace("-> Tensor", "-> tuple[Tensor, Tensor]")
)
_LAYERS = """
    (input: Tensor, hx: Tensor, params: Tensors, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> tuple[Tensor, Tensor]
    (data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Tensors, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> tuple[Tensor, Tensor]"""

_COMPARED = "(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor"

_SCATTERED = f"""
    (input: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str | None = None, {_OUT}) -> Tensor
    (input: Tensor, dim: int, index: Tensor, value: Number, *, reduce: str | None = None, {_OUT}) -> Tensor"""


def _with_places(name):
    """Overloads of the functions that give elements along a dimension, and where they are."""
    return f"""
    (input: Tensor) -> Tensor
    (input: Tensor, dim: int, keepdim: bool = False, *, out: Tensors | None = None) -> return_types.{name}"""


def _extremes(name):
    return _with_places(name) + f"\n    (input: Tensor, other: Tensor, *, {_OUT}) -> Tensor"


# Functions whose calls have several forms, or one that their Python signature does not show. The first is what
# `inspect.signature` says where that has ``*args``; `Tensor` methods have the same forms behind the tensor.
OVERLOADS = {
    "all": f"""
    (input: Tensor, dim: int | ints | None = None, keepdim: bool = False, *, {_OUT}) -> Tensor""",
    "arange": f"""
    (start: Number, end: Number, step: Number = 1, *, {_OUT}, {_NEW}) -> Tensor
    (end: Number, *, {_OUT}, {_NEW}) -> Tensor""",
    "atleast_1d": """
    (*tensors: Tensor) -> Tensor | tuple[Tensor, ...]
    (tensors: Tensors) -> tuple[Tensor, ...]""",
    "broadcast_tensors": "(*tensors: Tensor) -> tuple[Tensor, ...]\n(tensors: Tensors) -> tuple[Tensor, ...]",
    "common_shape": "(*shapes: int | ints) -> Size",
    "meshgrid": """
    (*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]
    (tensors: Tensors, *, indexing: str | None = None) -> tuple[Tensor, ...]""",
    "einsum": "(equation: str, *operands: Tensor) -> Tensor\n(equation: str, operands: Tensors) -> Tensor\n(*operands: Any) -> Tensor",
    "cumulative_trapezoid": "(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor",
    "nonzero": f"""
    (input: Tensor, *, {_OUT}, as_tuple: Literal[False] = False) -> Tensor
    (input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]""",
    "normal": f"""
    (mean: Tensor | float = 0.0, std: Tensor | float = 1.0, *, {_DRAWN}{_OUT}) -> Tensor
    (mean: float, std: float, size: ints, *, {_DRAWN}{_OUT}, {_NEW}) -> Tensor""",
    "randint": f"""
    (low: int, high: int, size: ints, *, {_DRAWN}{_OUT}, {_NEW}) -> Tensor
    (high: int, size: ints, *, {_DRAWN}{_OUT}, {_NEW}) -> Tensor""",
    "randint_like": f"""
    (input: Tensor, low: int, high: int, *, {_NEW_AS}, memory_format: memory_format | None = preserve_format) -> Tensor
    (input: Tensor, high: int | Tensor, *, {_NEW_AS}, memory_format: memory_format | None = preserve_format) -> Tensor""",
    "random_": f"""
    (input: Tensor, from_: int, to: int | None, *, {_DRAWN}) -> Tensor
    (input: Tensor, to: int, *, {_DRAWN}) -> Tensor
    (input: Tensor, *, {_DRAWN}) -> Tensor""".replace(", )", ")"),
    "new_zeros": f"(input: Tensor, *size: int, {_NEW_AS}) -> Tensor\n(input: Tensor, size: ints, *, {_NEW_AS}) -> Tensor",
    "new_full": f"(input: Tensor, size: ints, fill_value: Number, *, {_NEW_AS}) -> Tensor",
    "new_empty_strided": f"(input: Tensor, size: ints, stride: ints, *, {_NEW_AS}) -> Tensor",
    "empty_permuted": f"(size: ints, physical_layout: ints, *, {_NEW_AS}) -> Tensor",
    "scalar_tensor": f"(s: Number, *, {_NEW_AS}) -> Tensor",
    "numbered_hinge_embedding_loss": "(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor",
    "numbered_margin_ranking_loss": _COMPARED, "numbered_cosine_embedding_loss": _COMPARED,
    "numbered_triplet_margin_loss": "(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, reduction: int = 0) -> Tensor",
    "numbered_binary_cross_entropy_with_logits": "(input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0) -> Tensor",
    "numbered_kl_div": "(input: Tensor, target: Tensor, reduction: int = 0) -> Tensor",
    "numbered_poisson_nll_loss": "(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-08, reduction: int = 0) -> Tensor",
    "solve": "(input: Tensor, A: Tensor) -> NoReturn",
    "lstsq": "(input: Tensor, A: Tensor) -> NoReturn",
    "eig": "(input: Tensor, eigenvectors: bool = False) -> NoReturn",
    "symeig": "(input: Tensor, eigenvectors: bool = False, upper: bool = True) -> NoReturn",
    "matrix_rank": "(input: Tensor, tol: float | None = None, symmetric: bool = False) -> NoReturn",
    "lstm": _LAYERS.replace("hx: Tensor,", "hx: Tensors,").replace("tuple[Tensor, Tensor]", "tuple[Tensor, Tensor, Tensor]"),
    "gru": _LAYERS, "rnn_tanh": _LAYERS, "rnn_relu": _LAYERS,
    "max": _extremes("max"), "min": _extremes("min"),
    "median": _with_places("median"), "nanmedian": _with_places("nanmedian"),
    "var": _SPREAD, "std": _SPREAD, "var_mean": _SPREAD_AND_MEAN, "std_mean": _SPREAD_AND_MEAN,
    "reshape": "(input: Tensor, *shape: int) -> Tensor\n(input: Tensor, shape: ints) -> Tensor",
    "view": "(input: Tensor, *shape: int) -> Tensor\n(input: Tensor, shape: ints) -> Tensor\n(input: Tensor, dtype: dtype) -> Tensor",
    "view_copy": "(input: Tensor, size: ints | None = None, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor",
    "where": f"""
    (condition: Tensor, input: Operand, other: Operand, *, {_OUT}) -> Tensor
    (condition: Tensor) -> tuple[Tensor, ...]""",
    "scatter": _SCATTERED, "scatter_": _SCATTERED.replace(f", {_OUT}", ""),
    "nuclear_norm": f"""
    (input: Tensor, dim: int | ints | None = None, keepdim: bool = False, *, {_OUT}) -> Tensor
    (input: Tensor, keepdim: bool, *, {_OUT}) -> Tensor""",
    "repeat_interleave": """
    (input: Tensor, repeats: int | Tensor, dim: int | None = None, *, output_size: int | None = None) -> Tensor
    (repeats: Tensor, *, output_size: int | None = None) -> Tensor""",
    "unique": """
    (input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: int | None = None) -> Tensor
    (input: Tensor, sorted: bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: int | None = None) -> tuple[Tensor, Tensor]
    (input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: int | None = None) -> tuple[Tensor, Tensor]
    (input: Tensor, sorted: bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: int | None = None) -> tuple[Tensor, Tensor, Tensor]
    (input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Tensor | tuple[Tensor, ...]""",
    "unique_consecutive": """
    (input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: int | None = None) -> Tensor
    (input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Tensor | tuple[Tensor, ...]""",
}  # fmt: skip
OVERLOADS |= {
    "atleast_2d": OVERLOADS["atleast_1d"], "atleast_3d": OVERLOADS["atleast_1d"],
    "new_ones": OVERLOADS["new_zeros"], "new_empty": OVERLOADS["new_zeros"],
    "trapezoid": OVERLOADS["cumulative_trapezoid"],
}  # fmt: skip

NAMES = {"self": "input", "from": "from_"}  # what schemas call an argument -> what a signature can
_DEFAULTS = {"strided": strided, "preserve_format": preserve_format}


def overloads(name):
    """The forms of function ``name`` as `ast.FunctionDef`, or () where its one signature says it all."""
    lines = OVERLOADS.get(name, "").strip().splitlines()
    return [ast.parse(f"def call{line.strip()}: ...").body[0] for line in lines]


def signature_of(entry):
    """The signature of the public function of an entry of the table."""
    if isinstance(entry, InplaceForm):
        found = signature_of(entry.entry)
        return found.replace(parameters=[p for p in found.parameters.values() if p.name not in ("out", "dtype")])
    return _of_composite(entry) if isinstance(entry, Composite) else _of_schema(entry)


def _of_composite(entry):
    found = signature(entry.__wrapped__)
    parameters = list(found.parameters.values())
    if any(p.kind in _VARIABLE for p in parameters) and entry.name in OVERLOADS:
        parameters = list(parameters_of(overloads(entry.name)[0]))
    parameters = [p for p in parameters if not p.name.startswith("_")]
    if entry.out and all(p.name != "out" for p in parameters):
        parameters.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    return Signature(parameters)


def parameters_of(function):
    """The parameters of a function that was read as text."""
    given = function.args
    places = given.args
    for argument, default in zip(places, [None] * (len(places) - len(given.defaults)) + given.defaults):
        yield Parameter(argument.arg, Parameter.POSITIONAL_OR_KEYWORD, default=_value(default))
    if given.vararg:
        yield Parameter(given.vararg.arg, Parameter.VAR_POSITIONAL)
    for argument, default in zip(given.kwonlyargs, given.kw_defaults):
        yield Parameter(argument.arg, Parameter.KEYWORD_ONLY, default=_value(default))
    if given.kwarg:
        yield Parameter(given.kwarg.arg, Parameter.VAR_KEYWORD)


def _value(node):
    if node is None:
        return Parameter.empty
    return _DEFAULTS[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)


def _of_schema(entry):
    schema = entry.__dict__.get("parsed") or Schema(entry.schema)
    parameters = []
    for place, argument in enumerate(schema.arguments):
        kind = Parameter.POSITIONAL_OR_KEYWORD if place < schema.positional else Parameter.KEYWORD_ONLY
        default = Parameter.empty if argument.is_required else argument.default
        name = NAMES.get(argument.name, argument.name)
        if argument.varargs and (entry.kind == CREATE or entry.names == ("Tensor",)):
            parameters.append(Parameter(name, Parameter.VAR_POSITIONAL))
        else:
            parameters.append(Parameter(name, kind, default=default))
    return Signature(_completed(entry, parameters))


def _completed(entry, parameters):
    """``parameters`` with those that functions of a kind take beside their schema."""
    if entry.kind in (INPLACE, VIEW) or set(entry.names) <= {"Tensor", "nn.functional"}:
        return parameters
    known = {p.name: p for p in parameters}
    rest = {"out": None}
    if entry.kind == CREATE:
        rest |= {"dtype": None, "layout": strided, "device": None, "requires_grad": False, "pin_memory": False}
    last = [known.pop(name, Parameter(name, Parameter.KEYWORD_ONLY, default=value)) for name, value in rest.items()]
    return [*known.values(), *last]
