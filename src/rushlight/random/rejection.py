"""Numbers by trial and rejection, one by one: ``poisson``, ``binomial``, ``standard_gamma``, ``dirichlet``."""

from __future__ import annotations

import math
from math import ceil, exp, floor, lgamma, log, log1p, sqrt

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes
from . import words
from .filling import FLOAT32, FLOAT64, is_float, is_narrow_float, unsupported
from .generator import resolve


class _Source:
    """Uniform and normal numbers one at a time, from doubles made of the rest of the engine's block at once."""

    def __init__(self, generator):
        self._generator = generator
        self._engine = generator.engine
        self._ready: list = []
        self._used = 0

    def uniform(self):
        if self._used == len(self._ready):
            # The pair of words across two blocks comes alone.
            self._ready = words.double_list(self._engine, max(self._engine.available // 2, 1))
            self._used = 0
        self._used += 1
        return self._ready[self._used - 1]

    def normal(self):
        generator = self._generator
        number, generator.next_normal = generator.next_normal, None
        if number is None:
            angle = 2.0 * math.pi * self.uniform()
            radius = sqrt(-2.0 * log1p(-self.uniform()))
            number, generator.next_normal = radius * math.cos(angle), radius * math.sin(angle)
        return number

    def close(self):
        """Give unused words back to the engine."""
        self._engine.give_back(2 * (len(self._ready) - self._used))


def _each(function, dtype, generator, *operands):
    """``function(source, *numbers)`` for each element of operands of one shape, row by row; an array of ``dtype``."""
    generator = resolve(generator)
    shape = operands[0].shape
    columns = [operand.astype(np.float64).reshape(-1).tolist() for operand in operands]
    with generator.lock:
        source = _Source(generator)
        try:
            numbers = [function(source, *row) for row in zip(*columns)]
        finally:
            source.close()
    result = np.array(numbers, np.float64).reshape(shape)
    if is_narrow_float(dtype):
        result = result.astype(FLOAT32)
    return result.astype(dtype, copy=False)


# ---------------------------------------------------------------- Poisson


def poisson(rates, generator=None):
    """A Poisson number for each rate, in the shape and (floating) dtype of ``rates``, as ``torch.poisson``.

    Rates below 10 multiply uniform numbers; larger ones use PTRS (Hörmann, 1993). ``RuntimeError`` for a negative rate.
    """
    if not is_float(rates.dtype):
        raise unsupported("poisson_cpu", rates.dtype)
    if not (rates >= 0).all() or np.isinf(rates).any():
        raise RuntimeError(
            hinted(
                "invalid Poisson rate, expected rate to be non-negative", "rates must be finite numbers, 0 or larger"
            )
        )
    return _each(_poisson, rates.dtype, generator, rates)


def _poisson(source, rate):
    if rate >= 10.0:
        return _poisson_large(source, rate)
    if rate == 0.0:
        return 0
    limit = exp(-rate)
    product, count = source.uniform(), 0
    while product > limit:
        count += 1
        product *= source.uniform()
    return count


def _poisson_large(source, rate):
    log_rate = log(rate)
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = log(1.1239 + 1.1328 / (b - 3.4))
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = source.uniform() - 0.5
        v = source.uniform()
        edge = 0.5 - abs(u)
        count = floor((2.0 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= squeeze:
            return count
        if count < 0 or (edge < 0.013 and v > edge):
            continue
        if _log(v) + log_inverse_alpha - log(a / (edge * edge) + b) <= -rate + count * log_rate - lgamma(count + 1.0):
            return count


def _log(value):
    return log(value) if value > 0.0 else -math.inf


# ---------------------------------------------------------------- binomial


def binomial(count, prob, generator=None):
    """The successes among ``count`` trials of probability ``prob``, element by element, as ``torch.binomial``.

    ``count`` and ``prob`` broadcast and share a dtype, float32 or float64, which the result has. Small expectations
    count geometric gaps, larger ones use BTRS (Hörmann, 1993).
    """
    for name, operand in (("count", count), ("prob", prob)):
        if not is_float(operand.dtype):
            kind = from_numpy(operand.dtype).legacy_name
            raise ValueError(
                hinted(
                    f"binomial only supports floating-point dtypes for {name}, got: {kind}", f"call .float() on {name}"
                )
            )
    if count.dtype != prob.dtype:
        found, expected = from_numpy(prob.dtype).legacy_name, from_numpy(count.dtype).legacy_name
        raise RuntimeError(hinted(f"Found dtype {found} but expected {expected}", "count and prob must share a dtype"))
    if is_narrow_float(count.dtype):
        raise unsupported("binomial_cpu", count.dtype)
    if np.isnan(count).any() or np.isnan(prob).any():
        raise RuntimeError(
            hinted("binomial: count and prob must not hold NaN", "PyTorch does not return from such a call")
        )
    shape = broadcast_shapes(count.shape, prob.shape)
    return _each(_binomial, count.dtype, generator, np.broadcast_to(count, shape), np.broadcast_to(prob, shape))


def _binomial(source, count, prob):
    if count <= 0.0 or prob <= 0.0:
        return 0.0
    if prob >= 1.0:
        return count
    rarer = prob if prob <= 0.5 else 1.0 - prob
    method = _binomial_large if count * rarer >= 10.0 else _binomial_small
    successes = method(source, count, rarer)
    return successes if prob <= 0.5 else count - successes


def _binomial_small(source, count, prob):
    log_failure = log1p(-prob)
    position, successes = 0.0, 0.0
    while True:
        position += ceil(_log(source.uniform()) / log_failure)
        if position > count:
            return successes
        successes += 1.0


def _binomial_large(source, count, prob):
    spread = sqrt(count * prob * (1.0 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    center = count * prob + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = prob / (1.0 - prob)
    alpha = (2.83 + 5.1 / b) * spread
    mode = floor((count + 1.0) * prob)
    while True:
        u = source.uniform() - 0.5
        v = source.uniform()
        edge = 0.5 - abs(u)
        k = floor((2.0 * a / edge + b) * u + center)
        if edge >= 0.07 and v <= squeeze:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * log((mode + 1.0) / (odds * (count - mode + 1.0)))
            + (count + 1.0) * log((count - mode + 1.0) / (count - k + 1.0))
            + (k + 0.5) * log(odds * (count - k + 1.0) / (k + 1.0))
            + _stirling_rest(mode)
            + _stirling_rest(count - mode)
            - _stirling_rest(k)
            - _stirling_rest(count - k)
        )
        if _log(v * alpha / (a / (edge * edge) + b)) <= bound:
            return k


_STIRLING = tuple(
    lgamma(k + 1.0) - ((k + 0.5) * log(k + 1.0) - (k + 1.0) + 0.5 * log(2.0 * math.pi)) for k in range(10)
)


def _stirling_rest(k):
    """What Stirling's formula leaves of log k!: exact values up to 9, the first terms of the series above."""
    if k <= 9:
        return _STIRLING[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)


# ---------------------------------------------------------------- gamma and Dirichlet


def standard_gamma(alpha, generator=None):
    """A gamma number of shape ``alpha`` (float32 or float64) and scale 1 an element, as ``torch._standard_gamma``.

    Marsaglia and Tsang's method (2000). Numbers below the smallest normal one of the dtype are raised to it.
    """
    _check_gamma(alpha, "gamma_cpu")
    return np.fmax(_gammas(alpha, generator), np.finfo(alpha.dtype).tiny)


def dirichlet(concentration, generator=None):
    """Dirichlet numbers along the last axis (float32 or float64), as ``torch._sample_dirichlet``: gammas by their sum.

    The numbers are kept inside (0, 1). A float64 sum may differ from PyTorch's in its last bit.
    """
    dtype = concentration.dtype
    _check_gamma(concentration, "dirichlet")
    gammas = standard_gamma(concentration.astype(FLOAT64), generator)
    shares = (gammas / gammas.sum(-1, keepdims=True)).astype(dtype)
    return np.clip(shares, np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0)))


def _check_gamma(alpha, kernel):
    if not is_float(alpha.dtype) or is_narrow_float(alpha.dtype):
        raise unsupported(kernel, alpha.dtype)


def _gammas(alpha, generator):
    # PyTorch prepares these in the element type, and a third in single precision for both types.
    kind = alpha.dtype.type
    with np.errstate(all="ignore"):
        boosted = np.where(alpha < 1, alpha + kind(1), alpha)
        operands = (alpha, boosted - kind(_THIRD), (kind(1) / alpha).astype(alpha.dtype))
    return _each(_gamma, alpha.dtype, generator, *operands)


_THIRD = np.float32(1) / np.float32(3)
_SQUEEZE = float(np.float32(0.0331))


def _gamma(source, alpha, d, inverse):
    scale = 1.0
    if alpha < 1.0:
        if alpha == 0.0:
            return 0.0
        scale = math.pow(1.0 - source.uniform(), inverse)
    c = 1.0 / sqrt(9.0 * d) if d > 0.0 else math.nan
    while True:
        y = 0.0
        while y <= 0.0:
            x = source.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - source.uniform()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx or log(u) < 0.5 * xx + d * (1.0 - v + log(v)):
            return scale * d * v
