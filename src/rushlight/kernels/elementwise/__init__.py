"""Operations element by element: the formulas of the op table as kernels, copies, optimizer steps."""

from __future__ import annotations

import numpy as np

from ...ops.table import FLOAT, UNARY

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    "compositions": {"glu": 2048, "glu_gradient": 512, "outer_product": 128},
    # One launch for all parameters; small ones lie in a bundle (optim/bundle.py), one call of NumPy's functions for all of
    # them, until it has taken so many steps that loading a kernel pays: a launch takes 1 us, an Adam step in NumPy 12.
    "optimizer": {"optimizer_step_": 4096, "add_scaled_": 4096},
    # Casts and filled masks are 3 to 40 times as fast (16,384 elements to half: 3 us against 44, transposed: 6 against 10);
    # plain clones win with several threads only, and small ones are declined. zero_ of 100,000: 3.7 us against 7.6.
    "copies": {
        **dict.fromkeys(("clone", "to_copy", "copy_from", "masked_fill", "masked_fill_"), 8192),
        **dict.fromkeys(("fill_number", "zero_"), 32768),
        "reshape_copy": 8192,
        **dict.fromkeys(("tril", "triu"), 8192),
    },
}

PROGRESSIONS = 4096  # numbers: 2 us against 5
RAMPS = 4096  # numbers: 5 us against 9

# A call of an elementwise kernel takes 1.1 to 1.4 us, 2.7 where operands are broadcast or strided. NumPy's own functions are
# as fast as one thread until operands leave the second-level cache; of formulas it makes several passes (gelu of 1,024
# elements: 16 us against 1.5). Measured where both take the same time, doubled for what the first call loads: exp, log
# and their like from 4,096 elements (8,192: 2.6 us against 3.3), sums and products from 16,384, formulas of few steps
# (relu) from 2,048 (4,096: 1.3 us against 4.6). Formulas of many steps, activations of networks and their like, win from
# the start (gelu of 32: 1.2 us against 9.6, softplus 1.2 against 4.6), which is worth loading the room for.
_UFUNC, _MATH, _LIGHT, _FORMULA = 16384, 4096, 2048, 16
# Elements of half precision, of any operation: NumPy takes 4 ns for each (10,000 multiplied: 41 us against 5), and converts
# back and forth (32 added: 6 us against 1.8).
HALVES = 32
# 100 elements of these: 1 to 2 us against 30 to 140.
_EARLY = dict.fromkeys(("erfinv", "special_ndtri", "special_erfcx", "special_log_ndtr", "lgamma", "digamma"), 64)
# i0 of 100: 1 us against 35, bessel_y1 2 against 70.
_EARLY |= dict.fromkeys(("i0", "special_i0e", "special_i1", "special_i1e", "special_spherical_bessel_j0"), 64)
_EARLY |= dict.fromkeys((f"special_bessel_{kind}{order}" for kind in "jy" for order in (0, 1)), 64)
_EARLY |= dict.fromkeys((f"special_modified_bessel_{kind}{order}" for kind in "ik" for order in (0, 1)), 64)
_EARLY |= dict.fromkeys((f"special_scaled_modified_bessel_k{order}" for order in (0, 1)), 64)


def elementwise_elements(op):
    """From how many elements on `calls.run` computes an operation."""
    if op.name in _EARLY:
        return _EARLY[op.name]
    if isinstance(op.numpy, np.ufunc) or isinstance(op.ufunc, np.ufunc):
        return _MATH if op.kind == UNARY and op.dtype_rule == FLOAT else _UFUNC
    return _LIGHT if op.light or op.numpy is not None else _FORMULA
