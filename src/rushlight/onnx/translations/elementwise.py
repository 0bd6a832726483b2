"""Operations element by element: ONNX's own where there is one, else the table's formula, run on ONNX values."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from ...base.dtypes import from_numpy
from ...ops import table
from ...ops.table import TABLE, functions
from ..builder import BOOL, Builder, Value
from .registry import TRANSLATIONS, result_dtype, translation, wrapped

# ONNX's operations of one operand that are ours.
_UNARY = {
    "sigmoid": "Sigmoid", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos",
    "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh",
    "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "reciprocal": "Reciprocal", "relu": "Relu", "abs": "Abs", "neg": "Neg",
    "sign": "Sign", "sgn": "Sign", "mish": "Mish", "hardswish": "HardSwish",
}  # fmt: skip
_BINARY = {"mul": "Mul", "maximum": "Max", "minimum": "Min", "fmax": "Max", "fmin": "Min", "pow": "Pow"}
_COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITWISE = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}
_TESTS = {"isnan": "IsNaN", "isinf": "IsInf"}


class _OnnxMath:
    """The functions that an element formula may use, on ONNX values: what ``m`` is."""

    names = {
        name: _UNARY[name]
        for name in [
            "exp",
            "log",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "erf",
            "sigmoid",
            "abs",
            "sign",
        ]
    }
    names |= {"floor": "Floor", "ceil": "Ceil", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "sgn": "Sign"}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        op = self.names.get(name)
        if op is None:
            raise NotImplementedError(name)
        return lambda value: value.builder.add(op, value)

    def log1p(self, value: Value) -> Value:
        return value.builder.add("Log", value + 1)

    def expm1(self, value: Value) -> Value:
        return value.builder.add("Exp", value) - 1

    def exp2(self, value: Value) -> Value:
        return value.builder.add("Exp", value * math.log(2))

    def log2(self, value: Value) -> Value:
        return value.builder.add("Log", value) / math.log(2)

    def log10(self, value: Value) -> Value:
        return value.builder.add("Log", value) / math.log(10)

    def erfc(self, value: Value) -> Value:
        return 1 - value.builder.add("Erf", value)

    def trunc(self, value: Value) -> Value:
        b = value.builder
        return b.where(value < 0, b.add("Ceil", value), b.add("Floor", value))

    def conj(self, value: Value) -> Value:
        return value

    def maximum(self, first: Any, second: Any) -> Value:
        return _joined("Max", first, second)

    def minimum(self, first: Any, second: Any) -> Value:
        return _joined("Min", first, second)

    def power(self, first: Any, second: Any) -> Value:
        return _joined("Pow", first, second)

    def fmod(self, first: Any, second: Any) -> Value:
        return _joined("Mod", first, second, fmod=1)

    def where(self, condition: Value, value: Any, otherwise: Any) -> Value:
        b = condition.builder
        if not isinstance(value, Value) and not isinstance(otherwise, Value):
            value = b.constant(value, result_dtype(b))
        return b.where(condition, value, otherwise)

    def where_any(self, condition: Value, value: Any, otherwise: Any) -> Value:
        return condition.builder.where(condition, value(), otherwise)

    def isnan(self, value: Value) -> Value:
        return _tested("IsNaN", value)

    def isinf(self, value: Value) -> Value:
        return _tested("IsInf", value)

    def isfinite(self, value: Value) -> Value:
        return ~(self.isnan(value) | self.isinf(value))

    def ones_like(self, value: Value) -> Value:
        return value * 0 + 1


ONNX_MATH = _OnnxMath()


def _tested(op: str, value: Value, **options: Any) -> Value:
    """What ONNX asks of floating numbers alone; integers are asked as such."""
    floating = value if value.dtype.kind == "f" else value.builder.cast(value, np.float32)
    return value.builder.add(op, floating, dtype=BOOL, **options)


def _joined(op: str, first: Any, second: Any, **options: Any) -> Value:
    known = first if isinstance(first, Value) else second
    b = known.builder
    return b.add(op, b.like(first, known), b.like(second, known), dtype=known.dtype, **options)


def common_dtype(b: Builder, operands: Any) -> np.dtype[Any]:
    """The dtype that operands, values and numbers, are promoted to."""
    examples = [
        functions.empty(each.shape, dtype=from_numpy(each.dtype), device="meta") if isinstance(each, Value) else each
        for each in operands
    ]
    return np.dtype(reduce(_promoted, examples[1:], examples[0]).dtype.numpy)


def _promoted(first: Any, second: Any) -> Any:
    return functions.empty(
        functions.broadcast_shapes(first.shape, getattr(second, "shape", ())),
        dtype=functions.result_type(first, second),
        device="meta",
    )


def formula(b: Builder, *values: Any) -> Value:
    """Run the table's formula of the operation at hand on ONNX values."""
    op = b.step.target.op
    tensors = [value for value in values if isinstance(value, Value)]
    dtype = result_dtype(b) if result_dtype(b).kind != "b" else common_dtype(b, tensors)
    given = [b.cast(value, dtype) if isinstance(value, Value) and value.dtype != BOOL else value for value in values]
    try:
        found = op.element(ONNX_MATH, *given)
    except NotImplementedError as error:
        raise b.unsupported(f"its formula needs {error}, which ONNX does not have") from None
    if found is NotImplemented:
        raise b.unsupported(f"it has no formula for elements of {dtype}")
    return b.cast(found, result_dtype(b))


def translate(name: str) -> Any:
    """The translation of an operation of an elementwise kind by its formula; None where it has none."""
    op = TABLE[name]
    kinds = (table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED)
    return formula if op.kind in kinds and op.element is not None else None


def _register() -> None:
    for name, op in _UNARY.items():
        TRANSLATIONS[name] = lambda b, value, op=op: b.add(op, b.cast(value, result_dtype(b)))
    for name, op in _TESTS.items():
        TRANSLATIONS[name] = lambda b, value, op=op: _tested(op, value)
    for name, op in _BINARY.items():
        TRANSLATIONS[name] = lambda b, first, second, op=op: _promoting(b, op, first, second)
    for name, op in _COMPARISONS.items():
        TRANSLATIONS[name] = lambda b, first, second, op=op: _compared(b, op, first, second)
    for name, op in _LOGICAL.items():
        TRANSLATIONS[name] = lambda b, first, second, op=op: b.add(op, as_bool(b, first), as_bool(b, second))
    for name, op in _BITWISE.items():
        TRANSLATIONS[name] = lambda b, first, second, op=op: _bitwise(b, op, first, second)
    for name in ("log1p", "expm1", "exp2", "log2", "log10"):
        TRANSLATIONS[name] = lambda b, value, name=name: getattr(ONNX_MATH, name)(b.cast(value, result_dtype(b)))


def operand(b: Builder, value: Any, dtype: Any) -> Value:
    """An operand in a dtype: a value or a number."""
    return b.cast(value, dtype) if isinstance(value, Value) else b.constant(value, dtype)


def _promoting(b: Builder, op: str, first: Any, second: Any) -> Value:
    dtype = result_dtype(b)
    if dtype == BOOL:
        op = {"Mul": "And", "Max": "Or", "Min": "And"}.get(op, op)
    return b.add(op, operand(b, first, dtype), operand(b, second, dtype))


def _compared(b: Builder, op: str, first: Any, second: Any) -> Value:
    dtype = common_dtype(b, (first, second))
    if dtype == BOOL and op != "Equal":
        dtype = np.dtype(np.int32)
    return b.add(op, operand(b, first, dtype), operand(b, second, dtype), dtype=BOOL)


def as_bool(b: Builder, value: Any) -> Value:
    """Whether elements are not 0."""
    return b.cast(value, BOOL) if isinstance(value, Value) else b.constant(bool(value), BOOL)


def _bitwise(b: Builder, op: str, first: Any, second: Any) -> Value:
    dtype = result_dtype(b)
    name = op if dtype == BOOL else f"Bitwise{op}"
    return b.add(name, operand(b, first, dtype), operand(b, second, dtype))


@translation("ne")
def _ne(b: Builder, first: Any, second: Any) -> Value:
    return ~_compared(b, "Equal", first, second)


@translation("logical_not")
def _logical_not(b: Builder, value: Value) -> Value:
    return ~as_bool(b, value)


@translation("bitwise_not")
def _bitwise_not(b: Builder, value: Value) -> Value:
    return ~value if value.dtype == BOOL else b.add("BitwiseNot", value)


@translation("add", "sub")
def _sum(b: Builder, first: Any, second: Any, alpha: Any) -> Value:
    dtype = result_dtype(b)
    second = operand(b, second, dtype)
    second = second if alpha == 1 else second * alpha
    if dtype == BOOL:
        return b.add("Or", operand(b, first, dtype), second)
    return b.add(b.step_name.rstrip("_").capitalize(), operand(b, first, dtype), second)


@translation("rsub")
def _rsub(b: Builder, first: Any, second: Any, alpha: Any = 1) -> Value:
    dtype = result_dtype(b)
    first = operand(b, first, dtype)
    return b.add("Sub", operand(b, second, dtype), first if alpha == 1 else first * alpha)


@translation("div")
def _div(b: Builder, first: Any, second: Any, rounding_mode: Any) -> Value:
    dtype = result_dtype(b)
    if dtype.kind in "iu":
        if rounding_mode == "floor":
            return _floored(b, first, second)
        return b.add("Div", operand(b, first, dtype), operand(b, second, dtype))
    found = b.add("Div", operand(b, first, dtype), operand(b, second, dtype))
    if rounding_mode is None:
        return found
    return b.add("Floor", found) if rounding_mode == "floor" else ONNX_MATH.trunc(found)


@translation("floor_divide")
def _floored(b: Builder, first: Any, second: Any) -> Value:
    dtype = result_dtype(b)
    first, second = operand(b, first, dtype), operand(b, second, dtype)
    if dtype.kind in "iu":  # ONNX rounds the quotient of integers toward 0, and Mod has the divisor's sign
        return (first - b.add("Mod", first, second)) / second
    return b.add("Floor", first / second)


@translation("remainder")
def _remainder(b: Builder, first: Any, second: Any) -> Value:
    dtype = result_dtype(b)
    first, second = operand(b, first, dtype), operand(b, second, dtype)
    if dtype.kind in "iu":
        return b.add("Mod", first, second)
    return first - b.add("Floor", first / second) * second


@translation("round")
def _round(b: Builder, value: Value, decimals: int = 0) -> Value:
    if value.dtype.kind in "iu":
        return value
    return b.add("Round", value * 10.0**decimals) / 10.0**decimals if decimals else b.add("Round", value)


@translation("trunc", "floor", "ceil")
def _trunc(b: Builder, value: Value) -> Value:
    return value if value.dtype.kind in "iu" else getattr(ONNX_MATH, b.step_name.rstrip("_"))(value)


@translation("nan_to_num")
def _nan_to_num(b: Builder, value: Value, *numbers: Any) -> Value:
    return formula(b, value, *numbers) if value.dtype.kind == "f" else value


@translation("isposinf", "isneginf")
def _is_signed_infinity(b: Builder, value: Value) -> Value:
    positive = b.step_name == "isposinf"
    return _tested("IsInf", value, detect_positive=int(positive), detect_negative=int(not positive))


@translation("hypot")
def _hypot(b: Builder, first: Any, second: Any) -> Value:
    first, second = operand(b, first, result_dtype(b)), operand(b, second, result_dtype(b))
    return b.add("Sqrt", first * first + second * second)


@translation("atan2")
def _atan2(b: Builder, first: Any, second: Any) -> Value:
    first, second = operand(b, first, result_dtype(b)), operand(b, second, result_dtype(b))
    angle = b.add("Atan", first / second)
    half = b.where(first < 0, -math.pi, b.like(math.pi, first))
    upright = b.where(first == 0, first, half / 2)
    return b.where(second > 0, angle, b.where(second < 0, angle + half, upright))


@translation("lerp")
def _lerp(b: Builder, value: Value, end: Value, weight: Any) -> Value:
    return value + operand(b, weight, value.dtype) * (end - value)


@translation("isfinite")
def _isfinite(b: Builder, value: Value) -> Value:
    return ONNX_MATH.isfinite(value)


@translation("silu")
def _silu(b: Builder, value: Value) -> Value:
    return value * b.add("Sigmoid", value)


@translation("logsigmoid")
def _logsigmoid(b: Builder, value: Value) -> Value:
    return -b.add("Softplus", -value)


@translation("gelu")
def _gelu(b: Builder, value: Value, approximate: str = "none") -> Value:
    if b.opset < 20:
        return formula(b, value, approximate)
    return b.add("Gelu", value, approximate=approximate)


@translation("softplus")
def _softplus(b: Builder, value: Value, beta: Any, threshold: Any) -> Value:
    scaled = value if beta == 1 else value * beta
    return b.where(scaled > threshold, value, b.add("Softplus", scaled) / beta)


@translation("elu")
def _elu(b: Builder, value: Value, alpha: Any, scale: Any, input_scale: Any) -> Value:
    if input_scale != 1:
        return formula(b, value, alpha, scale, input_scale)
    if scale == 1:
        return b.add("Elu", value, alpha=float(alpha))
    return b.add("Selu", value, alpha=float(alpha), gamma=float(scale))


@translation("celu")
def _celu(b: Builder, value: Value, alpha: Any) -> Value:
    return b.add("Elu", value / alpha, alpha=1.0) * alpha


@translation("leaky_relu")
def _leaky_relu(b: Builder, value: Value, negative_slope: Any) -> Value:
    return b.add("LeakyRelu", value, alpha=float(negative_slope))


@translation("rrelu_with_mean")
def _rrelu(b: Builder, value: Value, negative_slope: Any) -> Value:
    return b.add("LeakyRelu", value, alpha=float(negative_slope))


@translation("prelu_kernel")
def _prelu(b: Builder, value: Value, weight: Value) -> Value:
    return b.add("PRelu", value, weight)


@translation("hardsigmoid")
def _hardsigmoid(b: Builder, value: Value) -> Value:
    return b.add("HardSigmoid", value, alpha=1 / 6, beta=0.5)


@translation("hardtanh", "clamp")
def _clamp(b: Builder, value: Value, low: Any, high: Any) -> Value:
    dtype = result_dtype(b)
    value = b.cast(value, dtype)
    value = value if low is None else b.add("Max", value, operand(b, low, dtype))
    return value if high is None else b.add("Min", value, operand(b, high, dtype))


@translation("clamp_min")
def _clamp_min(b: Builder, value: Value, low: Any) -> Value:
    return _clamp(b, value, low, None)


@translation("clamp_max")
def _clamp_max(b: Builder, value: Value, high: Any) -> Value:
    return _clamp(b, value, None, high)


@translation("hardshrink")
def _hardshrink(b: Builder, value: Value, lambd: Any) -> Value:
    return b.where(b.add("Abs", value) <= lambd, 0, value)


@translation("softshrink")
def _softshrink(b: Builder, value: Value, lambd: Any) -> Value:
    return b.add("Shrink", value, lambd=float(lambd), bias=float(lambd))


@translation("threshold")
def _threshold(b: Builder, value: Value, threshold: Any, replacement: Any) -> Value:
    return b.where(value <= threshold, replacement, value)


@translation("where_select")
def _where(b: Builder, condition: Value, value: Any, otherwise: Any) -> Value:
    dtype = result_dtype(b)
    return b.add("Where", condition, operand(b, value, dtype), operand(b, otherwise, dtype), dtype=dtype)


@translation("masked_fill")
def _masked_fill(b: Builder, value: Value, mask: Value, number: Any) -> Value:
    return b.add("Where", mask, operand(b, number, value.dtype), value, dtype=value.dtype)


@translation("glu")
def _glu(b: Builder, value: Value, dim: int) -> Value:
    axis = wrapped(dim, value.rank)
    half = b.fixed(value, [axis])[0] // 2
    return b.slice(value, axis, 0, half) * b.add("Sigmoid", b.slice(value, axis, half, 2 * half))


@translation("cell_state")
def _cell_state(b: Builder, value: Value) -> Value:
    return value


_register()
