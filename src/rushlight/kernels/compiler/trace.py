"""Tracing: an operation's formula, run on symbolic elements that append instructions to a builder.

The formula ``element(m, x, ...)`` of an op record, written in plain operators and functions of ``m``, runs here with ``m``
an `Emission`: what it computes is emitted. Before that it runs with ``m`` a `Trail`, which only takes notes: of the steps
(the trail, which determines the program and so is its key) and of the numbers that are parameters of the kernel rather
than constants. Formulas may branch on options: the trail says which way they went.
"""

from __future__ import annotations

import math

import numpy as np

from ...ops.table import is_half
from ..language.instructions import BESSEL, TRANSCENDENTAL
from ..language.value_types import NUMPY
from ..vector_math.remainders import floored_quotient, greatest_divisor, least_multiple, shifted

_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_ON_BOOLS = {"add": "or", "mul": "and", "max": "or", "min": "and", "and": "and", "or": "or", "xor": "xor", "not": "not"}
_BITS = frozenset(("and", "or", "xor", "not", "shl", "shr", "gcd", "lcm"))
_FLOATING = frozenset((*TRANSCENDENTAL, "div", "sqrt", "floor", "ceil", "trunc", "round", "copysign"))
HEAVY = 16  # a transcendental function costs about as much as so many plain instructions
HEAVIER = dict.fromkeys(
    ("lgamma", "digamma", "trigamma", "erfinv", "ndtri", "erfcx", *BESSEL, "gcd", "lcm"), 80
)  # but these


class Untraceable(Exception):
    """The formula, or these operands, cannot become a kernel: NumPy computes."""


class Number(float):
    """An option that is a parameter of the kernel; so is every number computed with it."""

    __slots__ = ()


def _derived(name):
    def method(self, *others):
        found = getattr(float, name)(self, *others)
        return Number(found) if found.__class__ is float else found

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    for _side in ("", "r"):
        setattr(Number, f"__{_side}{_name}__", _derived(f"__{_side}{_name}__"))
for _name in ("__neg__", "__pos__", "__abs__"):
    setattr(Number, _name, _derived(_name))


class Element:
    """One element of an operand or of a result, as formulas see it.

    ``value`` is what the trail or the emission stands for it with. As with arrays, ``+=`` and ``[...] =`` change the
    element itself, and so everything that is another name for it.
    """

    __slots__ = ("m", "value")
    __array_ufunc__ = None  # NumPy's numbers leave operators to this class
    __hash__ = None  # type: ignore[assignment]
    ndim = 1

    def __init__(self, m, value):
        self.m, self.value = m, value

    @property
    def dtype(self):
        return self.m.dtype_of(self)

    def __setitem__(self, place, other):
        self.value = self.m.assigned(self, other)

    def __bool__(self):
        raise Untraceable("the formula asks whether an element holds")


def _operator(opcode, operands, swapped=False):
    if operands == 1:
        return lambda self: self.m.apply(opcode, self)
    if swapped:
        return lambda self, other: self.m.apply(opcode, other, self)
    return lambda self, other: self.m.apply(opcode, self, other)


def _in_place(opcode):
    def method(self, other):
        self.value = self.m.apply(opcode, self, other).value
        return self

    return method


for _name, _opcode in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow")):
    setattr(Element, f"__{_name}__", _operator(_opcode, 2))
    setattr(Element, f"__r{_name}__", _operator(_opcode, 2, swapped=True))
    setattr(Element, f"__i{_name}__", _in_place(_opcode))
for _name in ("and", "or", "xor"):
    setattr(Element, f"__{_name}__", _operator(_name, 2))
    setattr(Element, f"__r{_name}__", _operator(_name, 2, swapped=True))
for _name in _COMPARISONS:
    setattr(Element, f"__{_name}__", _operator(_name, 2))
for _name, _opcode in (("neg", "neg"), ("abs", "abs"), ("invert", "not")):
    setattr(Element, f"__{_name}__", _operator(_opcode, 1))


class Traced:
    """A formula that is part of what determines a program: as such it is its ``name`` and what its Trail noted."""

    def __init__(self, name, formula, steps):
        self.name, self.formula, self._key = name, formula, (name, *steps)

    def __eq__(self, other):
        return self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        return repr(self._key)


class SymbolicMath:
    """The functions that formulas use, on elements. Subclasses say what to ``apply`` an opcode means."""

    def where(self, condition, first, second):
        return self.apply("where", condition, first, second)

    def where_any(self, condition, value, otherwise):
        """``value()`` where the condition holds, skipped where it does for none of the lanes."""
        raise NotImplementedError

    def maximum(self, a, b):
        """The larger one; NaN where either is."""
        return self.apply("max", a, b)

    def minimum(self, a, b):
        return self.apply("min", a, b)

    def clamp(self, x, low=None, high=None):
        x = x if low is None else self.apply("max", low, x)  # of equals the second: -0 is not 0
        return x if high is None else self.apply("min", high, x)

    clip = clamp

    def conj(self, x):
        return x

    def sign(self, x):
        return self.where(x > 0, 1, self.where(x < 0, -1, 0))  # of NaN 0

    sgn = sign  # of real elements

    def isnan(self, x):
        return x != x

    def isinf(self, x):
        return abs(x) == math.inf

    def isfinite(self, x):
        return abs(x) < math.inf

    def ones_like(self, x):
        return self.where(x == x, 1, 1)

    def truth(self, x):
        """Whether an element is not zero."""
        return x if x.dtype.kind == "b" else x != 0

    def floored_quotient(self, a, b):
        """Of integers."""
        return self.apply("floored_quotient", a, b)

    def gcd(self, a, b):
        """Of integers."""
        return self.apply("gcd", a, b)

    def lcm(self, a, b):
        """Of integers."""
        return self.apply("lcm", a, b)

    def power(self, x, exponent):
        return self.apply("pow", x, exponent)

    def apply(self, opcode, *operands):
        """The element that an instruction makes of elements and numbers."""
        raise NotImplementedError


def _function(opcode, operands):
    if operands == 1:
        return lambda self, x: self.apply(opcode, x)
    return lambda self, x, y: self.apply(opcode, x, y)


for _name in TRANSCENDENTAL + ["abs", "sqrt", "floor", "ceil", "trunc", "round"]:
    if _name not in ("pow", "atan2", "fmod", "nextafter"):
        setattr(SymbolicMath, _name, _function(_name, 1))
for _name in ("sin", "cos", "tan"):
    setattr(SymbolicMath, "arc" + _name, _function("a" + _name, 1))
for _name, _opcode in (("arctan2", "atan2"), ("copysign", "copysign"), ("fmod", "fmod"), ("nextafter", "nextafter")):
    setattr(SymbolicMath, _name, _function(_opcode, 2))


class Trail(SymbolicMath):
    """Notes of a formula's run: ``steps``, plain values that determine its program, and the parameters' ``numbers``.

    Args:
        dtypes: the NumPy dtype of each operand as the formula sees it.
    """

    def __init__(self, dtypes):
        self.steps, self.numbers, self.weight = [], [], 0
        self._dtypes = list(dtypes)
        self.elements = [Element(self, i) for i in range(len(self._dtypes))]
        self._count = len(self.elements)

    def apply(self, opcode, *operands):
        note = self.steps.append
        note(opcode)
        for operand in operands:
            if operand.__class__ is Element:
                note(operand.value)
            elif operand.__class__ is Number:
                self.numbers.append(operand)
                note("number")
            else:
                note(repr(operand))  # tells 1 from 1.0 and -0.0 from 0.0
        self._count += 1
        return Element(self, self._count - 1)

    def where_any(self, condition, value, otherwise):
        otherwise = otherwise if otherwise.__class__ is Element else self.apply("fill", otherwise)
        return self.apply("where any", condition, value(), otherwise)

    def assigned(self, element, other):
        if other.__class__ is Element:
            return other.value
        return self.apply("fill", other).value

    def dtype_of(self, element):
        if element.value < len(self._dtypes):
            return self._dtypes[element.value]
        raise Untraceable("the formula asks for the dtype of what it computed")

    @property
    def cost(self):
        """About how many plain instructions the steps are."""
        return sum(_COSTS.get(s, 1) for s in self.steps if s.__class__ is str)


_COSTS = dict.fromkeys(TRANSCENDENTAL, HEAVY) | HEAVIER


_OF_INTEGERS = {
    "floored_quotient": floored_quotient,
    "gcd": greatest_divisor,
    "lcm": least_multiple,
    "shl": lambda builder, a, b: shifted(builder, "shl", a, b),
    "shr": lambda builder, a, b: shifted(builder, "shr", a, b),
}


class Emission(SymbolicMath):
    """A formula's run that appends instructions to a builder.

    Args:
        builder: the Builder.
        type: the vector type of computation: what numbers become that meet no element.
        numbers: the values (of that type) of the parameters that the trail found, in its order.
    """

    def __init__(self, builder, type, numbers=()):
        self.builder, self.type = builder, type
        self._numbers = iter(numbers)

    def element(self, value):
        return Element(self, value)

    def dtype_of(self, element):
        return NUMPY[element.value.type.scalar]

    def assigned(self, element, other):
        return other.value if other.__class__ is Element else self.lifted(other, element.value.type)

    def where_any(self, condition, value, otherwise):
        builder, otherwise = self.builder, self.lifted(otherwise, self.type)
        found = builder.choose(
            builder.reduce(condition.value, "or"),
            lambda: [builder.select(condition.value, self.lifted(value(), self.type), otherwise)],
            lambda: [otherwise],
        )
        return Element(self, found[0])

    def lifted(self, operand, type):
        """An operand as a value of ``type``."""
        if operand.__class__ is Element:
            value = operand.value
            if type.scalar == "bool" and value.type.scalar != "bool":
                return self.builder.binary("ne", value, 0)
            return self.builder.convert(value, type.scalar)
        if operand.__class__ is Number:
            return self.builder.convert(next(self._numbers), type.scalar)
        if not type.is_float and operand.__class__ is float:
            if type.scalar == "bool" or not operand.is_integer():
                raise Untraceable(f"{operand} beside elements of {type.scalar}")
            operand = int(operand)
        return self.builder.value(operand, type)

    def _common(self, operands):
        """The type in which operands meet: the widest of the elements' types; the computation's beside numbers."""
        found = None
        for operand in operands:
            if operand.__class__ is Element:
                type = operand.value.type
                if found is None or (type.is_float, type.size) > (found.is_float, found.size):
                    found = type
        plain = all(o.__class__ is Element or o.__class__ is bool for o in operands)
        if found is None or (found.scalar == "bool" and not plain):
            return self.type
        return found

    def apply(self, opcode, *operands):
        if opcode == "where":
            condition, first, second = operands
            type = self._common((first, second))
            condition = self.lifted(condition, type.with_scalar("bool"))
            return Element(self, self.builder.select(condition, self.lifted(first, type), self.lifted(second, type)))
        type = self._common(operands)
        if type.scalar == "bool":
            return Element(self, self._on_bools(opcode, [self.lifted(o, type) for o in operands]))
        if opcode in _FLOATING and not type.is_float:
            raise Untraceable(f"{opcode} of {type.scalar}")
        if opcode in _BITS and type.is_float:
            raise Untraceable(f"{opcode} of {type.scalar}")
        if opcode in ("max", "min"):
            return Element(self, self._extreme(opcode, type, *operands))
        values = [self.lifted(o, type) for o in operands]
        if opcode in _OF_INTEGERS:
            return Element(self, _OF_INTEGERS[opcode](self.builder, *values))
        if len(values) == 1:
            return Element(self, self.builder.unary(opcode, *values))
        return Element(self, self.builder.binary(opcode, *values))

    def _extreme(self, opcode, type, a, b):
        """The instruction gives the second operand where one is NaN: so it must be the one that may be."""
        if b.__class__ in (int, float) and b == b:
            a, b = b, a
        first, second = self.lifted(a, type), self.lifted(b, type)
        found = self.builder.binary(opcode, first, second)
        if not type.is_float or (a.__class__ in (int, float) and a == a):
            return found
        return self.builder.select(self.builder.binary("ne", first, first), first, found)

    def _on_bools(self, opcode, values):
        builder = self.builder
        if opcode in _COMPARISONS:
            return builder.binary(opcode, *(builder.convert(v, "u8") for v in values))
        if opcode not in _ON_BOOLS:
            raise Untraceable(f"{opcode} of bool")
        opcode = _ON_BOOLS[opcode]
        return builder.unary(opcode, *values) if len(values) == 1 else builder.binary(opcode, *values)


# ---------------------------------------------------------------- operations without a formula of their own


def _length(m, a, b):
    """``sqrt(a**2 + b**2)`` of sizes, the larger one kept out of the squares; infinite where one is, beside NaN too."""
    larger, smaller = m.maximum(a, b), m.minimum(a, b)
    ratio = m.where(larger == 0, 0.0, smaller / larger)
    found = larger * m.sqrt(1 + ratio * ratio)
    return m.where(a == math.inf, a, m.where(b == math.inf, b, found))


_FORMULAS = {  # by the ufunc that computes an operation on arrays
    np.multiply: lambda m, a, b: a * b,
    np.negative: lambda m, x: -x,
    np.maximum: lambda m, a, b: m.maximum(a, b),
    np.minimum: lambda m, a, b: m.minimum(a, b),
    np.equal: lambda m, a, b: a == b,
    np.not_equal: lambda m, a, b: a != b,
    np.less: lambda m, a, b: a < b,
    np.less_equal: lambda m, a, b: a <= b,
    np.greater: lambda m, a, b: a > b,
    np.greater_equal: lambda m, a, b: a >= b,
    np.bitwise_and: lambda m, a, b: a & b,
    np.bitwise_or: lambda m, a, b: a | b,
    np.bitwise_xor: lambda m, a, b: a ^ b,
    np.invert: lambda m, x: ~x,
    np.left_shift: lambda m, a, b: m.apply("shl", a, b),
    np.right_shift: lambda m, a, b: m.apply("shr", a, b),
    np.abs: lambda m, x: m.abs(x),
    np.reciprocal: lambda m, x: 1 / x,
    np.arctan2: lambda m, a, b: m.arctan2(a, b),
    np.copysign: lambda m, a, b: m.copysign(a, b),
    np.nextafter: lambda m, a, b: m.nextafter(a, b),
    np.hypot: lambda m, a, b: _length(m, abs(a), abs(b)),
    np.fmax: lambda m, a, b: m.where(a >= b, a, m.where(m.isnan(b), a, b)),
    np.fmin: lambda m, a, b: m.where(a <= b, a, m.where(m.isnan(b), a, b)),
    **{getattr(np, name): _function(name, 1) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p")},
    **{getattr(np, name): _function(name, 1) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")},
    **{getattr(np, "arc" + name): _function("a" + name, 1) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}


# Operations that depend on the format: float32's results are not half precision's.
_BY_FORMAT = frozenset(("nextafter", "nan_to_num"))


def formula_of(op, dtype=None):
    """The formula of an op record, its own or that of its ufunc; None if there is none, or none for this dtype."""
    if op.name in _BY_FORMAT and dtype is not None and is_half(dtype):
        return None
    if op.element is not None:
        return op.element
    return _FORMULAS.get(op.numpy) if isinstance(op.numpy, np.ufunc) else None
