"""The instruction set of the loop program: for each opcode its typing rule, its meaning on arrays, its LLVM form.

Vectors are handled lane by lane, unless said otherwise. ``meaning`` computes with NumPy on arrays of one element per
lane (0-dim arrays for scalars): the interpreter uses it, and so it defines the instruction. ``llvm`` is the LLVM
instruction or intrinsic, by kind of operand: ``f`` floating, ``s`` signed, ``u`` unsigned, ``b`` bool. Opcodes without
either are structure or memory; ``interpret.py`` and ``emit.py`` handle each of those by name.

=============== =======================================================================================================
structure
--------------- -------------------------------------------------------------------------------------------------------
constant        attributes ``value`` (a number, or a tuple with one for each lane) -> the type in ``type``
loop            operands first, end, step (i64), then initial values; one block with arguments index and one for each
                initial value, which yields the next ones; results: the last values. Runs while index < end.
if              operand condition (bool scalar); two blocks that yield the same types; results: what the taken one yields
parallel        operand count (i64); one block with argument chunk, 0 <= chunk < count; no results; entry function only;
                the chunks are done in any order, by any thread, and all are done when it ends
call            attribute ``function``: its name; operands its arguments; result what it returns
worker          -> i64, which thread this is: the index of its scratch memory, of no influence on results
memory          (indices and offsets count elements)
offset          pointer, i64 -> pointer so many elements on
reinterpret     pointer -> pointer to the same memory as elements of the scalar type in attribute ``to``
load            pointer [, mask] -> scalar or vector of attribute ``lanes``; masked-off lanes are not read and are 0;
                attributes ``align`` (bytes, default: the element's size)
store           value, pointer [, mask]; attribute ``stream``: True where the line will not be read again soon
gather          pointer, vector of i32 or i64 indices [, mask] -> vector; masked-off lanes are 0
scatter         value, pointer, vector of indices [, mask]; indices of one scatter differ
prefetch        pointer: a hint; attribute ``write``: True where the line will be written
lanes
splat           scalar -> vector of attribute ``lanes``
iota            -> attribute ``type``: 0, 1, 2, ...
extract         vector -> its lane number attribute ``lane``
shuffle         two vectors of one type -> attribute ``lanes``: a tuple of lane numbers into both, one after the other
reduce          vector -> scalar; attribute ``by``: add, mul, min, max, and, or. A tree of halves: lane i with lane
                i + lanes/2, until one is left
compress        vector, mask -> the lanes where mask holds, moved to the front in order; the rest is 0
tiles           Intel's AMX: eight numbered registers of 16 rows of 64 bytes for each thread, which are no values
--------------- -------------------------------------------------------------------------------------------------------
tiles_begin     before the first use of tiles in a chunk; they hold nothing then
tiles_end       after the last
tile_zero       all of register ``tile`` becomes 0
tile_load       pointer, i64 stride in bytes: 16 rows of 64 bytes from memory into register ``tile``
tile_store      pointer, i64 stride in bytes: the rows of register ``tile`` into memory
tile_multiply   attributes ``tile``, ``a``, ``b``: adds to the 16 x 16 float32 numbers C of ``tile``, with the 16 rows
                of 32 bfloat16 numbers A and B of the others: C[m, n] += A[m, 2k] B[k, 2n] + A[m, 2k+1] B[k, 2n+1]
                for k = 0, ..., 15, each sum rounded to float32; denormal numbers count as 0
=============== =======================================================================================================
"""

from __future__ import annotations

import math

import numpy as np

from .value_types import BOOL, NUMPY

OPCODES = {}

MEMORY = ("offset", "reinterpret", "load", "store", "gather", "scatter", "prefetch")
TILES = ("tiles_begin", "tiles_end", "tile_zero", "tile_load", "tile_store", "tile_multiply")
LANES = ("splat", "iota", "extract", "shuffle", "reduce", "compress")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Opcode:
    """An arithmetic instruction: ``rule(types, attributes)`` gives the result's type or raises TypeError."""

    __slots__ = ("llvm", "meaning", "name", "operands", "rule")

    def __init__(self, name, operands, rule, meaning, llvm):
        self.name, self.operands, self.rule, self.meaning, self.llvm = name, operands, rule, meaning, llvm


def _same(types, attributes):
    first = types[0]
    for type in types:
        if type is not first:
            raise TypeError(f"operands of different types: {', '.join(map(str, types))}")
    return first


def _numbers(types, attributes):
    if types[0].scalar in ("bool", "pointer", "f16", "bf16"):
        raise TypeError(f"no arithmetic on {types[0]}: convert it first")
    return _same(types, attributes)


def _floats(types, attributes):
    if types[0].scalar not in ("f32", "f64"):
        raise TypeError(f"{types[0]} where f32 or f64 is needed")
    return _same(types, attributes)


def _bits(types, attributes):
    if not (types[0].is_integer or types[0].scalar == "bool"):
        raise TypeError(f"{types[0]} where an integer or a bool is needed")
    return _same(types, attributes)


def _integers(types, attributes):
    if not types[0].is_integer:
        raise TypeError(f"{types[0]} where an integer is needed")
    return _same(types, attributes)


def _ordering(types, attributes):
    if types[0].scalar == "bool":
        raise TypeError("bools have no order")
    return _comparison(types, attributes)


def _comparison(types, attributes):
    if types[0].scalar in ("pointer", "f16", "bf16"):
        raise TypeError(f"no comparison of {types[0]}")
    return _same(types, attributes).with_scalar("bool")


def _select(types, attributes):
    condition, first, second = types
    if first is not second or condition.scalar != "bool" or condition.lanes not in (1, first.lanes):
        raise TypeError(f"select needs a bool and two equal types, got {condition}, {first}, {second}")
    return first


def _convert(types, attributes):
    if types[0].is_pointer:
        raise TypeError("a pointer cannot be converted")
    return types[0].with_scalar(attributes["to"])


def _bitcast(types, attributes):
    to = types[0].with_scalar(attributes["to"])
    lanes, rest = divmod(types[0].lanes * types[0].size, to.size)
    if rest or "bool" in (to.scalar, types[0].scalar):
        raise TypeError(f"the bits of {types[0]} are no {to}")
    return to.with_lanes(lanes)


def _dot(types, attributes):
    total = types[2]
    if total.scalar != "f32" or not types[0] is types[1] is total.with_scalar("i32"):
        raise TypeError(f"two of i32 and one of f32 are needed, got {', '.join(map(str, types))}")
    return total


def _round(types, attributes):
    if types[0].scalar != "f32":
        raise TypeError(f"{types[0]} where f32 is needed")
    return types[0].with_scalar("bf16")


def fused_multiply_add(a, b, c):
    """a * b + c, rounded once."""
    if a.dtype == np.float64:
        lanes = [_fused_float64(*lane) for lane in zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist())]
        return np.array(lanes, np.float64).reshape(a.shape)
    # float32: the product is exact in float64. The sum is rounded to odd there (its last bit is set if anything was
    # lost), after which the second rounding cannot go wrong.
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = np.asarray(product + addend)
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    inexact = np.isfinite(lost) & (lost != 0) & (total.view(np.uint64) & np.uint64(1) == 0)
    return np.where(inexact, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total).astype(np.float32)


def dot_of_pairs(a, b, total):
    """total + a1 * b1 + a0 * b0 for the bfloat16 numbers in the upper (1) and lower (0) halves of a and b.

    The upper ones first, each product and sum rounded once. Denormal numbers count as 0, and become it: that is how
    AVX512_BF16's instruction computes.
    """
    total = _without_denormals(total)
    for shift in (16, 0):
        first, second = (
            _without_denormals(bf16_to_f32((x.view(np.uint32) >> np.uint32(shift)) & np.uint32(0xFFFF))) for x in (a, b)
        )
        total = _without_denormals(fused_multiply_add(first, second, total))
    return total


def _without_denormals(x):
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def _fused_float64(a, b, c):
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # even where a * b alone would overflow
    ratios = [number.as_integer_ratio() for number in (a, b, c)]
    (above_a, below_a), (above_b, below_b), (above_c, below_c) = ratios
    above, below = above_a * above_b * below_c + above_c * below_a * below_b, below_a * below_b * below_c
    if above == 0:
        return a * b + c  # nothing is rounded here, and the sign of the zero is right
    try:
        return above / below  # the quotient of two integers is rounded once
    except OverflowError:
        return math.inf if above > 0 else -math.inf


def _divide(a, b):
    if a.dtype.kind == "f":
        return np.divide(a, b)
    return np.floor_divide(a - np.fmod(a, b), b)


def _define(name, operands, rule, meaning, **llvm):
    OPCODES[name] = Opcode(name, operands, rule, meaning, llvm)


def _arithmetic():
    _define("add", 2, _numbers, np.add, f="fadd", s="add", u="add")
    _define("sub", 2, _numbers, np.subtract, f="fsub", s="sub", u="sub")
    _define("mul", 2, _numbers, np.multiply, f="fmul", s="mul", u="mul")
    _define("div", 2, _numbers, _divide, f="fdiv", s="sdiv", u="udiv")  # integers: towards zero
    _define("rem", 2, _numbers, np.fmod, f="frem", s="srem", u="urem")  # the sign of the dividend
    _define("neg", 1, _numbers, np.negative)
    _define("fma", 3, _floats, fused_multiply_add)  # first * second + third, rounded once
    # third + the two products of bfloat16 numbers in the halves of each i32; where the CPU has it (`Host.has_dots`)
    _define("dot", 3, _dot, dot_of_pairs)
    # f32 to bf16 as ``convert`` does it, but denormal numbers become 0; by the same CPUs in one instruction
    _define("round_bfloat16", 1, _round, lambda x: f32_to_bf16(_without_denormals(x)))
    # Where an operand is NaN, both give the second: what one machine instruction does.
    _define("min", 2, _numbers, lambda a, b: np.where(a < b, a, b))
    _define("max", 2, _numbers, lambda a, b: np.where(a > b, a, b))
    _define("abs", 1, _numbers, np.abs)
    for name, meaning, intrinsic in (
        ("sqrt", np.sqrt, "sqrt"),
        ("floor", np.floor, "floor"),
        ("ceil", np.ceil, "ceil"),
        ("trunc", np.trunc, "trunc"),
        ("round", np.rint, "roundeven"),  # halves to even
    ):
        _define(name, 1, _floats, meaning, f=intrinsic)
    _define("copysign", 2, _floats, np.copysign, f="copysign")
    _define("and", 2, _bits, np.bitwise_and, s="and", u="and", b="and")
    _define("or", 2, _bits, np.bitwise_or, s="or", u="or", b="or")
    _define("xor", 2, _bits, np.bitwise_xor, s="xor", u="xor", b="xor")
    _define("not", 1, _bits, np.invert)
    _define("shl", 2, _integers, np.left_shift, s="shl", u="shl")
    _define("shr", 2, _integers, np.right_shift, s="ashr", u="lshr")  # keeps the sign of signed integers
    for name, meaning, ordered in (
        ("lt", np.less, "olt"),
        ("le", np.less_equal, "ole"),
        ("gt", np.greater, "ogt"),
        ("ge", np.greater_equal, "oge"),
        ("eq", np.equal, "oeq"),
        ("ne", np.not_equal, "une"),  # NaN differs from everything, itself too
    ):
        integer = name if name in ("eq", "ne") else None
        rule = _comparison if integer else _ordering
        _define(name, 2, rule, meaning, f=ordered, s=integer or "s" + name, u=integer or "u" + name, b=integer)
    _define("select", 3, _select, np.where)
    _define("convert", 1, _convert, None)  # attribute ``to``: the value in another scalar type; see convert_array
    # Attribute ``to``: the same bits as another scalar type, of which there may be more or fewer lanes; the first lane is
    # the lowest of a wider one's bits.
    _define("bitcast", 1, _bitcast, None)


def bf16_to_f32(raw):
    """float32 values of raw bfloat16 bits."""
    return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(values):
    """Raw bfloat16 bits of float32 values: nearest, halves to even; NaN stays NaN."""
    bits = np.asarray(values, np.float32, order="C").view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def convert_array(array, source, target):
    """What ``convert`` means: ``array`` of scalar type ``source`` as ``target``; floats to integers towards zero.

    Numbers become f16 and bf16 by way of f32.
    """
    if source == "bf16" != target:
        array = bf16_to_f32(array)
    if target in ("f16", "bf16") and source != target:
        array = array.astype(np.float32)
    return f32_to_bf16(array) if target == "bf16" != source else array.astype(NUMPY[target])


def constant_array(type, value):
    """The lanes of a constant: numbers are rounded to the type, integers wrap around."""
    values = value if isinstance(value, tuple) else (value,) * type.lanes
    if type.is_float:
        array = np.array(values, np.float64)
        with np.errstate(over="ignore"):
            array = f32_to_bf16(array.astype(np.float32)) if type.scalar == "bf16" else array.astype(NUMPY[type.scalar])
    elif type.scalar == "bool":
        array = np.array(values, np.bool_)
    else:
        bits = 8 * type.size
        array = np.array([int(v) % 2**bits for v in values], f"u{type.size}").view(NUMPY[type.scalar])
    return array if type.is_vector else array.reshape(())


# Functions that have no machine instruction. ``expand.py`` rewrites them with the others; until then they mean NumPy's.
def _transcendental():
    for name, operands, meaning in (
        ("exp", 1, np.exp),
        ("exp2", 1, np.exp2),
        ("expm1", 1, np.expm1),
        ("log", 1, np.log),
        ("log2", 1, np.log2),
        ("log10", 1, np.log10),
        ("log1p", 1, np.log1p),
        ("sin", 1, np.sin),
        ("cos", 1, np.cos),
        ("tan", 1, np.tan),
        ("asin", 1, np.arcsin),
        ("acos", 1, np.arccos),
        ("atan", 1, np.arctan),
        ("atan2", 2, np.arctan2),
        ("fmod", 2, np.fmod),
        ("nextafter", 2, np.nextafter),
        ("sinh", 1, np.sinh),
        ("cosh", 1, np.cosh),
        ("tanh", 1, np.tanh),
        ("asinh", 1, np.arcsinh),
        ("acosh", 1, np.arccosh),
        ("atanh", 1, np.arctanh),
        ("pow", 2, np.power),
        ("sigmoid", 1, _sigmoid),
        ("erf", 1, _erf),
        ("erfc", 1, _erfc),
        ("rsqrt", 1, lambda x: 1 / np.sqrt(x)),
        *((name, 1, _without_meaning(name)) for name in (*SPECIAL, *BESSEL)),
    ):
        _define(name, operands, _floats, meaning)
        TRANSCENDENTAL.append(name)


def _without_meaning(name):
    def meaning(*operands):
        raise NotImplementedError(f"{name} has a meaning where kernels.vector_math is imported")

    return meaning


TRANSCENDENTAL = []
SPECIAL = (
    "erfcx",
    "erfinv",
    "ndtri",
    "lgamma",
    "digamma",
    "trigamma",
)  # these and BESSEL: `vector_math` says what they mean
BESSEL = ("i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0")
BESSEL += ("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1")


def _sigmoid(x):
    return (1 / (1 + np.exp(-x.astype(np.longdouble)))).astype(x.dtype)


def _by_lane(scalar):
    return lambda x: np.array([scalar(v) for v in x.ravel().tolist()], x.dtype).reshape(x.shape)


_erf, _erfc = _by_lane(math.erf), _by_lane(math.erfc)

_arithmetic()
_transcendental()


def result_type(opcode, types, attributes):
    """The type of an arithmetic instruction's result; TypeError where the operands do not fit."""
    types = tuple(types)
    key = (opcode, types, attributes.get("to") if attributes else None)
    found = _result_types.get(key)
    if found is None:
        found = _result_types[key] = _ruled(OPCODES[opcode], types, attributes)
    return found


_result_types = {}  # programs ask for the same few again and again


def _ruled(opcode, types, attributes):
    if len(types) != opcode.operands:
        raise TypeError(f"{opcode.name} takes {opcode.operands} operands, got {len(types)}")
    try:
        return opcode.rule(types, attributes)
    except TypeError as error:
        raise TypeError(f"{opcode.name}: {error}") from None


def mask_type(lanes):
    """The type of a mask over ``lanes``."""
    return BOOL.with_lanes(lanes)
