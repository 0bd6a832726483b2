"""Functions of complex numbers by kernels, in double precision: quotients, exponentials, logarithms, roots, sines.

A formula gets the parts of its operands and returns those of its result, and where it holds: for zeros, numbers that are
not finite and those that overflow on the way, where C's rules have a table of their own, NumPy computes.
"""

from __future__ import annotations

import math

import numpy as np

from .builder import Builder
from .host import lanes
from .kernel import compiled
from .program import Program
from .trace import Emission
from .value_types import vector

_CHUNK = 1 << 11  # complex numbers
_ALONE = 1 << 11
_LARGE = 80.0  # what is exponentiated: squares of results are far from overflow
_TURNS = 1e4  # angles whose sines are as good as those of small ones
_POLE = 1e-6


def _quotient(m, a, b, c, d):
    size = c * c + d * d
    return (a * c + b * d) / size, (b * c - a * d) / size, (size > 0) & (size < math.inf) & _finite(m, a, b)


def _finite(m, *parts):
    found = m.isfinite(parts[0])
    for part in parts[1:]:
        found = found & m.isfinite(part)
    return found


def _quotient_slope(m, g, h, a, b, c, d):
    """The gradient of a quotient for its divisor: ``-grad * conj(self / other / other)``."""
    real, imaginary, holds = _quotient(m, *_quotient(m, a, b, c, d)[:2], c, d)
    return -(g * real + h * imaginary), g * imaginary - h * real, holds & _finite(m, g, h)


def _reciprocal(m, a, b):
    size = a * a + b * b
    return a / size, -b / size, (size > 0) & (size < math.inf)


def _sign(m, a, b):
    size = m.sqrt(a * a + b * b)
    return a / size, b / size, (size > 0) & (size < math.inf)


def _exp(m, a, b):
    size = m.exp(a)
    return size * m.cos(b), size * m.sin(b), (m.abs(a) < _LARGE) & (m.abs(b) < _TURNS)


def _log(m, a, b):
    larger, smaller = m.maximum(m.abs(a), m.abs(b)), m.minimum(m.abs(a), m.abs(b))
    beyond = (larger - 1) * (larger + 1) + smaller * smaller  # of the square of the size, beyond 1: exact near 1
    near = m.abs(beyond) < 0.5
    size = m.where(near, m.log1p(m.where(near, beyond, 0)), m.log(larger * larger + smaller * smaller))
    return size * 0.5, m.arctan2(b, a), (larger > 0) & (larger < math.inf)


def _log_by(base):
    def formula(m, a, b):
        real, imaginary, holds = _log(m, a, b)
        return real / math.log(base), imaginary / math.log(base), holds

    return formula


def _power(m, a, b, c, d):
    size, angle, holds = _log(m, a, b)
    real, imaginary, near = _exp(m, c * size - d * angle, c * angle + d * size)
    return real, imaginary, holds & near


def _sqrt(m, a, b):
    root = m.sqrt((m.sqrt(a * a + b * b) + m.abs(a)) * 0.5)
    other = b / (root * 2)
    return (
        m.where(a >= 0, root, m.abs(other)),
        m.where(a >= 0, other, m.copysign(root, b)),
        (root > 0) & _finite(m, a, b),
    )


def _rsqrt(m, a, b):
    real, imaginary, holds = _sqrt(m, a, b)
    size = real * real + imaginary * imaginary
    return real / size, -imaginary / size, holds


def _sin(m, a, b):
    holds = (m.abs(a) < _TURNS) & (m.abs(b) < _LARGE)
    return m.sin(a) * m.cosh(b), m.cos(a) * m.sinh(b), holds


def _cos(m, a, b):
    holds = (m.abs(a) < _TURNS) & (m.abs(b) < _LARGE)
    return m.cos(a) * m.cosh(b), -m.sin(a) * m.sinh(b), holds


def _sinh(m, a, b):
    imaginary, real, holds = _sin(m, b, a)
    return real, imaginary, holds


def _cosh(m, a, b):
    real, imaginary, holds = _cos(m, b, a)
    return real, -imaginary, holds


def _tanh(m, a, b):
    whole = m.cosh(a * 2) + m.cos(b * 2)
    return m.sinh(a * 2) / whole, m.sin(b * 2) / whole, (m.abs(a) < _LARGE) & (m.abs(b) < _TURNS) & (whole > _POLE)


def _sigmoid(m, a, b):
    real, imaginary, holds = _exp(m, -a, -b)
    real = real + 1
    size = real * real + imaginary * imaginary
    return real / size, -imaginary / size, holds & (size > _POLE)


FORMULAS = {
    "div": _quotient,
    "div_other_backward": _quotient_slope,
    "pow": _power,
    "reciprocal": _reciprocal,
    "sgn": _sign,
    "exp": _exp,
    "log": _log,
    "log2": _log_by(2),
    "log10": _log_by(10),
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "sin": _sin,
    "cos": _cos,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
}


def program(name, operands, width):
    """``(x0, ..., out, outside, count)``: a function of ``count`` complex64 numbers; ``outside`` gets for each chunk whether
    the formula does not hold somewhere."""
    arrays = [*(f"x{i}" for i in range(operands)), "out"]
    builder = Builder(name, [*((array, "f32*") for array in arrays), ("outside", "bool*"), ("count", "i64")])
    *given, out, outside, count = builder.parameters
    even, odd = [2 * lane for lane in range(width)], [2 * lane + 1 for lane in range(width)]
    mixed = [lane // 2 + lane % 2 * width for lane in range(2 * width)]

    def compute(at, mask, carry):
        m, parts = Emission(builder, vector("f64", width)), []
        both = None if mask is None else builder.first_lanes((count - at) * 2, 2 * width)
        for pointer in given:
            loaded = builder.load(pointer, at * 2, 2 * width, both)
            for which in (even, odd):
                parts.append(m.element(builder.convert(builder.shuffle(loaded, loaded, which), "f64")))
        *found, holds = FORMULAS[name](m, *parts)
        real, imaginary = (builder.convert(part.value, "f32") for part in found)
        builder.store(builder.shuffle(real, imaginary, mixed), out, at * 2, both)
        wrong = ~holds.value
        return [carry[0] | (wrong if mask is None else wrong & mask)]

    with builder.parallel((count + (_CHUNK - 1)) // _CHUNK) as chunk:
        first, none = chunk * _CHUNK, builder.constant(False, f"boolx{width}")
        (wrong,) = builder.for_lanes(first, builder.minimum(first + _CHUNK, count), width, compute, [none])
        builder.store(builder.reduce(wrong, "or"), outside, chunk)
    return Program(name, [builder.function])


def run(name, arrays, out):
    """Fill ``out`` with a function of contiguous complex64 arrays of its shape; NotImplemented where NumPy has to do it."""
    if name not in FORMULAS or out.dtype.char != "F" or any(array.dtype.char != "F" for array in arrays):
        return NotImplemented
    width = lanes(8)
    kernel = compiled(("complex function", name, len(arrays), width), lambda: program(name, len(arrays), width))
    outside = np.empty(-(-out.size // _CHUNK), np.bool_)
    (kernel.alone if out.size < _ALONE else kernel.threaded)(*arrays, out, outside, out.size)
    return NotImplemented if outside.any() else out
