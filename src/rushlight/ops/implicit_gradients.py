"""Derivatives of gamma and Dirichlet samples with respect to their concentrations.

A sample ``x`` with the distribution function ``F(x; a)`` moves with ``a`` so that ``F`` stays: ``dx/da = -(dF/da) / (dF/dx)``
(Figurnov, Mohamed, Mnih, "Implicit Reparameterization Gradients", 2018). ``dF/da`` is the integral of the density times
``log t - E[log t]`` up to the sample, or its negative from there on; the side where that factor has one sign loses no digits.
"""

import numpy as np

from .special_gamma import digamma
from .table import ELEMENTWISE, FLOAT, op

# Nodes on the half-line, dense near 0: v = exp(pi/2 sinh(t)) for equidistant t (Takahasi and Mori, 1974).
_STEP = 0.1
_TIMES = np.arange(-3.3, 2.35, _STEP)
_NODES = np.exp(np.pi / 2 * np.sinh(_TIMES))
_WEIGHTS = _STEP * np.pi / 2 * np.cosh(_TIMES) * _NODES


def _half_line(integrand, scale):
    """The integral of ``integrand(v)`` over v > 0, whose mass lies within a few ``scale``."""
    return scale * sum(weight * integrand(node * scale) for node, weight in zip(_NODES, _WEIGHTS))


def _gamma_left(a, x):
    """With ``t = x exp(-v)``."""
    offset = digamma(a) - np.log(x)
    scale = 1 / (np.maximum(a - x, 0) + np.minimum(a, np.sqrt(a)))
    return x * _half_line(lambda v: np.exp(-a * v - x * np.expm1(-v)) * (offset + v), scale)


def _gamma_right(a, x):
    """With ``t = x + v``."""
    center = digamma(a)
    scale = x / (np.maximum(x - a + 1, 0) + np.sqrt(np.maximum(a, 1)))
    return _half_line(lambda v: np.exp((a - 1) * np.log1p(v / x) - v) * (np.log(x + v) - center), scale)


def _beta_left(x, a, b, center):
    """With ``t = x exp(-v)``; over ``1 - x``."""
    slope = np.maximum(a - (b - 1) * x / (1 - x), 0)
    scale = 1 / (slope + np.minimum(a, np.sqrt(a / (1 - x))))
    offset = center - np.log(x)

    def integrand(v):
        return np.exp(-a * v + (b - 1) * np.log1p(-x * np.expm1(-v) / (1 - x))) * (offset + v)

    return x / (1 - x) * _half_line(integrand, scale)


def _beta_right(x, a, b, center):
    """With ``1 - t = (1 - x) exp(-v)``; over ``1 - x``."""
    slope = np.maximum(b - (a - 1) * (1 - x) / x, 0)
    scale = 1 / (slope + np.minimum(b, np.sqrt(b / x)))

    def integrand(v):
        higher = np.log1p(-(1 - x) * np.expm1(-v) / x)
        return np.exp(-b * v + (a - 1) * higher) * (np.log(x) + higher - center)

    return _half_line(integrand, scale)


def _sides(left, where_left, where_right, *operands):
    """One function where ``left`` holds, another elsewhere."""
    found = np.empty(left.shape)
    for chosen, function in ((left, where_left), (~left, where_right)):
        if chosen.any():
            found[chosen] = function(*(operand[chosen] for operand in operands))
    return found


def _wide(*arrays):
    return np.broadcast_arrays(*(np.asarray(array, np.float64) for array in arrays))


@op("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, names=())
class _standard_gamma_grad:
    """How gamma samples ``output`` move with their concentrations ``self``."""

    def numpy(self, output):
        a, x = _wide(self, output)
        x = np.maximum(x, np.finfo(np.float64).tiny)
        # a small concentration has two scales to the right of small samples: cancellation on the left is the lesser evil
        left = (np.log(x) <= digamma(a)) | ((a < 1) & (x < 1))
        return _sides(left, _gamma_left, _gamma_right, a, x).astype(output.dtype)


@op("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, names=())
class _dirichlet_grad:
    """How shares ``x`` move with their concentrations, over ``1 - x``: each is a beta sample against the rest of ``total``."""

    def numpy(x, alpha, total):
        spacing = np.finfo(x.dtype).eps / 2
        kept = x.dtype
        x, a, total = _wide(x, alpha, total)
        x = np.clip(x, np.finfo(np.float64).tiny, 1 - spacing)
        center = digamma(a) - digamma(total)
        b = total - a
        left = (np.log(x) <= center) | ((a < 1) & (x * (1 + b) < 1))  # as for gamma samples, at both ends
        left &= (b >= 1) | ((1 - x) * (1 + a) >= 1)
        return _sides(left, _beta_left, _beta_right, x, a, b, center).astype(kept)
