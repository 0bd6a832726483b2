"""Where gradients of calls may differ: cases like those of explained.py, which gathers them."""

from __future__ import annotations

import re

import numpy as np
import torch
from libraries import TOLERANCE, array_of, name_of


def _numbers_differ(case):
    return case.told.startswith("gradient") and " at [" in case.told


def _is_right(case, **options):
    """Whether our gradients are those that PyTorch finds of the same numbers in double precision, without gaps in memory."""
    ours, exact = case.gradients[0], case.exact(**options)
    return isinstance(ours, tuple) and isinstance(exact, tuple) and all(map(_is_close, ours, exact))


def _is_close(ours, exact):
    if ours is None or exact is None:
        return ours is exact
    tolerance = 20 * TOLERANCE[name_of(ours.dtype)]
    found, wanted = array_of(ours), array_of(exact)
    with np.errstate(all="ignore"):
        wanted = wanted.astype(found.dtype)  # of float64's numbers, those beyond ours are infinite
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)))
        return found.shape == wanted.shape and np.allclose(found, wanted, tolerance, tolerance * scale, equal_nan=True)


def misplaced_gradient(case):
    """PyTorch's gradient of ``as_strided_scatter`` leaves the written elements, and takes the others."""
    return case.name == "as_strided_scatter" and case.told.startswith("gradient") and "raises" not in case.told


# Functions whose derivative fails in PyTorch's own steps: how its message begins.
_UNFINISHED = {
    "addcdiv": "RuntimeError: result type Float can't be cast to the desired output type",
    "nn.functional.huber_loss": "RuntimeError: Found dtype",
    "special.i1": 'NotImplementedError: "i1_backward" not implemented for',
    "special.i1e": 'NotImplementedError: "i1e_backward" not implemented for',
}


def unfinished_gradient(case):
    """Functions that PyTorch computes, but whose derivative fails: it has no kernel for half precision, or meets several dtypes."""
    begins = _UNFINISHED.get(case.name)
    if begins is None or f"gradient taken here, PyTorch raises {begins}" not in case.told:
        return False
    return _is_right(case, integers=True)


def windows_of_one_row(case):
    """`stft` of a leaf whose rows are one place in memory: PyTorch takes the windows by `as_strided`, whose gradient it divides by
    how often each place is used; of a copy without that it finds ours."""
    return case.name == "stft" and _numbers_differ(case) and 0 in case.operands[0].stride() and _is_right(case)


def power_of_an_integer(case):
    """`ldexp` with an exponent of integers: PyTorch's derivative takes 2 to it in the exponent's dtype, where 2**-2 is 0 and 2**64, too."""
    if case.name != "ldexp" or not _numbers_differ(case):
        return False
    exponent = case.operands[1]
    if exponent.is_floating_point() or exponent.is_complex():
        return False
    return bool((torch.pow(2, exponent).double() != torch.pow(2.0, exponent.double())).any())


def equal_values(case):
    """Eigenvalues that are equal and singular values that are 0 or equal have no derivative: what comes out is a quotient of roundings."""
    found = re.match(r"linalg\.(eigvals|svdvals)$", case.name)
    if found is None or not _numbers_differ(case):
        return False
    values = array_of(case.theirs)
    if found[1] == "svdvals":
        values = np.concatenate([values, np.zeros_like(values[..., :1])], -1)
    apart = np.abs(values[..., :, None] - values[..., None, :])[..., ~np.eye(values.shape[-1], dtype=bool)]
    return bool((apart < 1e-3 * max(1.0, float(np.abs(values).max(initial=0)))).any())


def gradient_of_nothing(case):
    """Gradients without elements, which PyTorch leaves out."""
    return re.match(r"gradient \[\d+\] tensor\(\[\], .*, not None$", case.told) is not None


GRADIENTS = (
    misplaced_gradient,
    unfinished_gradient,
    windows_of_one_row,
    power_of_an_integer,
    equal_values,
    gradient_of_nothing,
)
