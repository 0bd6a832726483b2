"""Special functions without derivatives: Bessel, Airy, and orthogonal polynomials (all of torch.special's)."""

import numpy as np

from .. import special_bessel
from ..table import ELEMENTWISE, FLOAT, UNARY, op
from .checks import COMPLEX

REFUSED = (*COMPLEX, "float16", "bfloat16")


def _unary(name, words, **body):
    """The record of a function of one tensor, by a formula's function of that name or by what ``body`` says."""
    body = body or {"element": lambda m, self: getattr(m, name)(self)}
    schema = f"special_{name}(Tensor self) -> Tensor"
    body |= {"__doc__": words, "kernel": f"{name}_cpu", "untracked": True}
    return op(schema, kind=UNARY, dtype=FLOAT, refuse=REFUSED, names=(f"special:{name}",))(
        type(f"special_{name}", (), body)
    )


def _modified(name, words):
    return _unary(f"modified_bessel_{name}", words, element=lambda m, self: getattr(m, name)(self))


bessel_j0 = _unary("bessel_j0", "The Bessel function of the first kind, order 0.")
bessel_j1 = _unary("bessel_j1", "The Bessel function of the first kind, order 1.")
bessel_y0 = _unary("bessel_y0", "The Bessel function of the second kind, order 0.")
bessel_y1 = _unary("bessel_y1", "The Bessel function of the second kind, order 1.")
modified_bessel_i0 = _modified("i0", "The modified Bessel function of the first kind, order 0.")
modified_bessel_i1 = _modified("i1", "The modified Bessel function of the first kind, order 1.")
modified_bessel_k0 = _unary("modified_bessel_k0", "The modified Bessel function of the second kind, order 0.")
modified_bessel_k1 = _unary("modified_bessel_k1", "The modified Bessel function of the second kind, order 1.")
scaled_modified_bessel_k0 = _unary("scaled_modified_bessel_k0", "``exp(x)`` times `modified_bessel_k0`.")
scaled_modified_bessel_k1 = _unary("scaled_modified_bessel_k1", "``exp(x)`` times `modified_bessel_k1`.")
spherical_bessel_j0 = _unary("spherical_bessel_j0", "The spherical Bessel function of order 0, ``sin(x) / x``.")
airy_ai = _unary("airy_ai", "The Airy function Ai.", numpy=special_bessel.airy_ai)


# ---------------------------------------------------------------- orthogonal polynomials


_LOOKED = 64  # degrees after which a recurrence looks whether it has overflowed


def by_recurrence(first, step):
    """The polynomial of degree n from those of degree 0 (which is 1) and 1, and the three-term recurrence ``step``.

    Args:
        first: the polynomial of degree 1, as a function of x.
        step: ``step(k, x, p, q)`` gives degree k + 1 from ``p`` of degree k and ``q`` of degree k - 1.
    """

    def evaluate(x, n):
        x, n = np.broadcast_arrays(x, n)
        dtype = x.dtype
        x = x.astype(np.float64)
        degree = np.trunc(np.where(np.isfinite(n), n, -1).astype(np.float64))
        lower, current = np.ones_like(x), np.asarray(first(x), np.float64)
        found = np.where(degree == 0, lower, np.where(degree == 1, current, 0.0))
        for k in range(1, int(degree.max(initial=0))):
            lower, current = current, step(k, x, current, lower)
            found = np.where(degree == k + 1, current, found)
            if k % _LOOKED == 0 and np.isnan(current[degree > k]).all():  # as all further ones are
                found = np.where(degree > k, current, found)
                break
        return found.astype(dtype)

    return evaluate


def _chebyshev(k, x, p, q):
    return 2 * x * p - q


_POLYNOMIALS = {
    "chebyshev_polynomial_t": ("the Chebyshev polynomial of the first kind", lambda x: x, _chebyshev),
    "chebyshev_polynomial_u": ("the Chebyshev polynomial of the second kind", lambda x: 2 * x, _chebyshev),
    "chebyshev_polynomial_v": ("the Chebyshev polynomial of the third kind", lambda x: 2 * x - 1, _chebyshev),
    "chebyshev_polynomial_w": ("the Chebyshev polynomial of the fourth kind", lambda x: 2 * x + 1, _chebyshev),
    "hermite_polynomial_h": (
        "the physicist's Hermite polynomial", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q
    ),
    "hermite_polynomial_he": ("the probabilist's Hermite polynomial", lambda x: x, lambda k, x, p, q: x * p - k * q),
    "laguerre_polynomial_l": (
        "the Laguerre polynomial", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)
    ),
    "legendre_polynomial_p": (
        "the Legendre polynomial", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
    ),
}  # fmt: skip
for _kind, _first in zip("tuvw", (lambda y: y, lambda y: 2 * y, lambda y: 2 * y - 1, lambda y: 2 * y + 1)):
    _POLYNOMIALS[f"shifted_chebyshev_polynomial_{_kind}"] = (
        f"the Chebyshev polynomial {_kind} of ``2x - 1``",
        lambda x, first=_first: first(2 * x - 1),
        lambda k, x, p, q: _chebyshev(k, 2 * x - 1, p, q),
    )

for _name, (_words, _first, _step) in _POLYNOMIALS.items():
    op(f"special_{_name}(Operand self, Operand n) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, refuse=REFUSED,
       names=(f"special:{_name}",))(
        type(f"special_{_name}", (), {
            "__doc__": f"The value at ``self`` of {_words} of degree ``n``.",
            "numpy": by_recurrence(_first, _step),
            "kernel": f"{_name}_cpu",
            "untracked": True,
        })
    )  # fmt: skip
