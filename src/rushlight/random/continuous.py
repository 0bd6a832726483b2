"""Numbers by inversion of one uniform each: ``exponential_``, ``geometric_``, ``cauchy_``."""

from __future__ import annotations

import math

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.scalars import c_name, name_of
from . import words
from .exact import elementwise, minus_log_of_rest, scale_and_shift
from .filling import FLOAT64, is_float, store, store_truncated, unsupported
from .generator import resolve


def _uniform(out, generator):
    generator = resolve(generator)
    with generator.lock:
        return words.doubles(generator.engine, out.size)


def exponential_(out, lambd=1.0, generator=None):
    """Fill ``out`` with exponential numbers of rate ``lambd`` > 0, as ``Tensor.exponential_``, and return it."""
    if not is_float(out.dtype):
        raise RuntimeError(
            hinted(
                "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
                f"you specified {from_numpy(out.dtype).legacy_name}",
                "draw into a floating tensor and convert",
            )
        )
    lambd = float(lambd)
    if not lambd > 0.0:
        raise RuntimeError(
            hinted(
                f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}", "lambd is the rate, one over the mean"
            )
        )
    values = minus_log_of_rest(_uniform(out, generator), exact=out.dtype == FLOAT64)
    values *= -1.0 / lambd
    return store(out, values, bounded=out.itemsize >= 4 and lambd > 1e-30)


def cauchy_(out, median=0.0, sigma=1.0, generator=None):
    """Fill ``out`` with Cauchy numbers, as ``Tensor.cauchy_``, and return it; ``sigma`` must be positive."""
    if not is_float(out.dtype):
        raise RuntimeError(
            hinted(
                "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {c_name(out.dtype)}",
                "draw into a floating tensor and convert",
            )
        )
    median, sigma = float(median), float(sigma)
    if not sigma > 0.0:
        raise RuntimeError(
            hinted(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}", "sigma is half the width at half height")
        )
    angles = _uniform(out, generator)
    angles -= 0.5
    angles *= math.pi
    values = elementwise(math.tan, angles) if out.dtype == FLOAT64 else np.tan(angles)
    return store(out, scale_and_shift(values, sigma, median))


_GEOMETRIC_TYPES = frozenset(("uint8", "int8", "int16", "int32", "int64"))


def geometric_(out, p, generator=None):
    """Fill ``out`` with the number of the first success among trials of probability ``p``, as ``Tensor.geometric_``.

    Numbers start at 1; ``p`` lies in (0, 1). Integer types wrap around as PyTorch's do. Returns ``out``.
    """
    p = float(p)
    if not 0.0 < p < 1.0:
        raise RuntimeError(
            hinted(
                f"geometric_ expects p to be in (0, 1), but got p={p:g}", "p is the probability of success in a trial"
            )
        )
    if not (is_float(out.dtype) or name_of(out.dtype) in _GEOMETRIC_TYPES):
        raise unsupported("geometric_cpu", out.dtype)
    uniform = _uniform(out, generator)
    np.maximum(uniform, 5e-324, out=uniform)
    # Only where the numbers are large does the last bit of the logarithm reach the integer part.
    values = elementwise(math.log, uniform) if p < 1e-4 else np.log(uniform)
    values /= math.log1p(-p)
    return store_truncated(out, np.ceil(values, values))
