"""Binding: from the op table come functions, methods, in-place forms and operators."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType

from ..autograd.views import check_inplace
from ..ops import contents, table
from ..ops.order import PROPERTIES
from ..ops.table import BOTH, COMPOSITES, INPLACE_LISTS, TABLE, InplaceForm, functions
from . import fast, forms
from .base import Tensor
from .compute import schema_of
from .kinds import looking
from .names import NAMESPACES, Pending, expect, expect_alias, give, inplace_names, places
from .refusals import MARK, as_public, guarded, handed_as, known_as, refuse, refused
from .short_elementwise import elementwise, elementwise_composite
from .short_paths import short, short_composite

_SPREADS = CO_VARARGS | CO_VARKEYWORDS
_MODULES = {where: "rushlight" if where == "torch" else f"rushlight.{where}" for where in NAMESPACES}

_FACTORIES = {
    table.UNARY: fast.unary,
    table.BINARY: fast.binary,
    table.ELEMENTWISE: elementwise,
    table.FUSED: fast.fused,
    table.VIEW: short,
    table.FUNCTION: short,
    table.CREATE: forms.creation,
    table.INPLACE: forms.inplace_only,
}

# Python's operators and the operations they stand for.
_BINARY_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__rsub__": "rsub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__and__": "bitwise_and", "__rand__": "bitwise_and", "__or__": "bitwise_or", "__ror__": "bitwise_or",
    "__xor__": "bitwise_xor", "__rxor__": "bitwise_xor", "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
}  # fmt: skip
_REFLECTED_OPERATORS = {
    "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rpow__": "pow", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift",
}  # fmt: skip
_INPLACE_OPERATORS = {
    "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__itruediv__": "div", "__ifloordiv__": "floor_divide",
    "__imod__": "remainder", "__ipow__": "pow", "__iand__": "bitwise_and", "__ior__": "bitwise_or", "__ixor__": "bitwise_xor",
    "__ilshift__": "bitwise_left_shift", "__irshift__": "bitwise_right_shift",
}  # fmt: skip


def _factory(op):
    """What makes the function of an operation."""
    if op.name == "linear_rows":
        return import_module("rushlight.tensor.linear").linear
    if op.name == "cross_entropy_parts":
        op.node_base = import_module("rushlight.tensor.cross_entropy").CrossEntropyNode
    if op.whole is not None:
        return fast.reduction
    return forms.joined if op.joins else _FACTORIES[op.kind]


# Functions that PyTorch has written in Python, which do not know NumPy's names for arguments.
_PYTHONS_OWN = frozenset(("norm", "tensordot", "unique", "unique_consecutive"))


def bind_all():
    """Let every operation of the table be found under its names; its functions are made when one of them is first used."""
    parts = (
        (contents.OPERATIONS, _bind_operation),
        (contents.COMPOSITES, _bind_composite),
        (contents.INPLACE_LISTS, _bind_lists),
    )
    for found_in, bind in parts:
        for module, kinds in found_in.items():
            for (where, inplace), names in kinds.items():
                for name in names.split():
                    _expect(Pending(bind, name, module), where, inplace)
    for name, attribute in PROPERTIES.items():
        setattr(Tensor, name, attribute)
    for dunder in OPERATORS:
        expect("Tensor", dunder, Pending(_bind_operator, dunder))


def _expect(pending, where, inplace):
    """Let the functions of an entry be found in all their places."""
    _expect_form(pending, pending.entry, where)
    if inplace:
        _expect_form(pending, pending.entry + "_", inplace_names(where))


def _expect_form(pending, name, names):
    expect("functions", name, pending)
    for where, public in places(name, names):
        expect(where, public, pending)
        if public != name and where in BOTH:
            expect_alias(public, pending)


def _bind_operation(pending):
    op = TABLE[pending.entry]
    _publish(pending, op.name, op.names, _factory(op)(op))
    if op.inplace:
        _publish(pending, op.name + "_", inplace_names(op.names), forms.inplace_form(op))


def _bind_composite(pending):
    entry = COMPOSITES[pending.entry]
    if entry.function.__code__.co_flags & _SPREADS:
        _tell_forms(entry)
    _publish(pending, entry.name, entry.names, entry.function, partial(_public_composite, entry))
    if entry.inplace:
        _publish(pending, entry.name + "_", inplace_names(entry.names), _composite_inplace(entry))


def _bind_lists(pending):
    name = pending.entry
    give("functions", name, pending, forms.on_lists(name, *INPLACE_LISTS[name]))


def _publish(pending, name, names, function, public=None):
    """Give the function of a record to its places, each but ``torch`` as ``public(where, name)``: it knows what errors call it."""
    _tell_place(function, name, names)
    give("functions", name, pending, function)
    for place, (where, alias) in zip(names, places(name, names)):
        if public is not None:
            found = public(where, alias)
        else:
            found = function if place == "torch" else known_as(function, where, alias)
        give(where, alias, pending, found)
        give("functions", alias, pending, function)


def _public_composite(entry, where, name):
    """A composite as it is public in a place; ``functions`` has it as it is."""
    general = _guarded_composite(entry, where, name)
    return general if entry.short is None else _short_composite(entry, where, name, general)


def _guarded_composite(entry, where, name):
    """A composite that looks at kinds of arguments in a place."""
    if entry.out and where != "Tensor":
        return _with_out(entry, where, name)
    parsed = where in BOTH and name not in _PYTHONS_OWN
    aliases = _argument_aliases(entry.function.__code__) if parsed else {}
    function = entry.function
    if entry.explains and (where, name) != ("torch", entry.name):
        function = known_as(function, where, name)
    if entry.explains and "axis" not in aliases:
        return function
    return guarded(function, where, name, aliases)


def _short_composite(entry, where, name, general):
    """The short path of a composite in a place, around its ``general`` function there."""
    getattr(functions, entry.short)  # it must be made first
    op = TABLE[entry.short]
    if where != "Tensor" and schema_of(op).varargs is not None:  # only methods take the items of a row one by one
        return general
    made = (elementwise_composite if op.kind == table.ELEMENTWISE else short_composite)(op, entry, name, general)
    made.__code__ = made.__code__.replace(co_qualname=f"{where}{MARK}{name}")
    as_public(made, entry.function, where, name).__wrapped__ = getattr(general, "__wrapped__", general)
    return made


def _tell_place(function, name, places):
    """Note on a function where users and pickle find it: in ``torch``, else under its name in the first module, or in Tensor."""
    for place in sorted(places, key=lambda place: place != "torch"):
        where, _, alias = place.partition(":")
        function.__qualname__ = alias or name
        if where != "Tensor":
            function.__module__ = _MODULES[where]
            break
        function.__module__, function.__qualname__ = "rushlight", "Tensor." + function.__qualname__


def _tell_forms(entry):
    """Let the signature of a function of ``*args`` be what `ops.signatures` knows of it, and its source still its own."""
    function = entry.function
    plain = entry.__wrapped__ = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__kwdefaults__ = function.__kwdefaults__
    plain.__dict__.update(function.__dict__)
    function.__wrapped__ = entry


def _argument_aliases(code):
    """NumPy's names for arguments of a function with this code: PyTorch's functions take them too."""
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}
    spread = code.co_flags & _SPREADS  # of forms that differ in their arguments
    return {alias: name for alias, name in known.items() if (spread or name in names) and alias not in names}


def _with_out(entry, where, public):
    """`guarded` for a composite whose functions outside of Tensor take ``out=`` and NumPy's argument names."""
    function, name = entry.function, entry.name
    code = function.__code__
    takes_dtype = "dtype" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    aliases = _argument_aliases(code)

    def named(*args, **kwargs):
        options = {aliases.get(key, key): value for key, value in kwargs.items()}
        out = options.pop("out", None)
        if out is None:
            return function(*args, **options)
        if takes_dtype and options.get("dtype") is None:
            options["dtype"] = out.dtype
        return functions.written_into(out, name, function, *args, **options)

    call = guarded(function, where, public, aliases, named)
    call.__wrapped__ = entry
    return call


def _composite_inplace(entry):
    function = entry.function
    known, look = looking(function, partial(refused, function, "torch", entry.name + "_", {}))

    def call(self, *args, **kwargs):
        if (type(self), *map(type, args), *map(type, kwargs.values()), *kwargs) not in known:
            look((self, *args), kwargs)
        try:
            check_inplace(self, entry.name + "_")
            return self.copy_(function(self, *args, **kwargs))
        except Exception:
            refuse(entry.name + "_", (self, *args), kwargs)
            raise

    call.__name__ = call.__qualname__ = entry.name + "_"
    call.__doc__ = f"In-place form of `{entry.name}`: the result is written into the tensor, which is returned."
    call.__wrapped__ = InplaceForm(entry.name)
    return call


def _reflected_quotient(number, tensor):
    """``number / tensor``, or an array by one, computed and recorded as PyTorch does: the reciprocal times the number."""
    return tensor.reciprocal() * number


# What ``__torch_function__`` gets for an operator: a method of Tensor, which is mostly that of the operation.
_HANDED = {
    **_BINARY_OPERATORS,
    **{dunder: f"{name}_" for dunder, name in _INPLACE_OPERATORS.items()},
    "__matmul__": "matmul", "__rtruediv__": "__rdiv__",
}  # fmt: skip
for _dunder in ("__eq__", "__rsub__", "__floordiv__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__",
                "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"):  # fmt: skip
    _HANDED[_dunder] = _dunder


def _bind_operator(pending):
    dunder = pending.entry
    give("Tensor", dunder, pending, handed_as(_operator(dunder), _HANDED.get(dunder, dunder)))


def _operator(dunder):
    """The method of Tensor that Python calls for an operator."""
    if dunder in _BINARY_OPERATORS:
        name = _BINARY_OPERATORS[dunder]
        return (
            fast.binary(TABLE[name], operator=True) if name in TABLE else fast.operator_form(COMPOSITES[name].function)
        )
    if dunder in _REFLECTED_OPERATORS:
        return fast.reflected(getattr(functions, _REFLECTED_OPERATORS[dunder]), dunder)
    if dunder in _INPLACE_OPERATORS:
        return fast.operator_form(getattr(functions, _INPLACE_OPERATORS[dunder] + "_"))
    return _OTHER_OPERATORS[dunder]()


# The operators that stand for no operation of their own name, or take other operands.
_OTHER_OPERATORS = {
    "__rtruediv__": lambda: fast.reflected(_reflected_quotient, "__rdiv__", fast.is_number_or_array),
    "__rdiv__": lambda: Tensor.__rtruediv__,
    "__matmul__": lambda: fast.product_operator(functions.matmul),
    "__rmatmul__": lambda: fast.product_operator(functions.matmul, backwards=True),
}
OPERATORS = (*_BINARY_OPERATORS, *_REFLECTED_OPERATORS, *_INPLACE_OPERATORS, *_OTHER_OPERATORS)
