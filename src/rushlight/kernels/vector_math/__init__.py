"""Vector math: the functions that processors lack, written with the instructions that they have.

``EXPANSIONS[opcode](builder, *operands)`` appends the instructions that compute a function of float32 or float64
numbers or vectors, and returns the result's value. One subject a file; ``coefficients.py`` is made by
``tools/fit_polynomials.py``. Nothing is called and no memory is read, so that a kernel's loop keeps all in registers.
"""

from __future__ import annotations

from ...ops import special_bessel, special_gamma, special_math
from . import bessel
from ..language.instructions import BESSEL, OPCODES
from .error_function import erf, erfc
from .exponential import exp, exp2, expm1, sigmoid
from .gamma import digamma, lgamma, trigamma
from .hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from .inverse_error_function import erfcx, erfinv, ndtri
from .inverse_trigonometry import acos, asin, atan, atan2
from .logarithm import log, log1p, log2, log10
from .neighbours import nextafter
from .power import power, rsqrt
from .remainders import fmod
from .trigonometry import cos, sin, tan


EXPANSIONS = (
    {
        function.__name__: function
        for function in (exp, exp2, expm1, sigmoid, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, atan2)
        + (sinh, cosh, tanh, asinh, acosh, atanh)
        + (erf, erfc, erfcx, erfinv, ndtri, lgamma, digamma, trigamma, rsqrt, fmod, nextafter)
    }
    | {name: getattr(bessel, name) for name in BESSEL}
    | {"pow": power}
)

for _place, _names in (  # what the interpreter computes
    (special_math, ("erfcx", "erfinv", "ndtri")),
    (special_gamma, ("lgamma", "digamma", "trigamma")),
    (special_bessel, BESSEL),
):
    for _name in _names:
        OPCODES[_name].meaning = getattr(_place, _name)
