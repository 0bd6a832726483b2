"""Functions of complex arrays that NumPy has too, with PyTorch's zeros, infinities and NaN."""

import numpy as np


def reciprocal(array):
    """One divided by each element; of complex ones as a quotient, which is right for zeros and infinities."""
    return np.true_divide(1, array) if array.dtype.kind == "c" else np.reciprocal(array)


def sign(array):
    """Each element divided by its absolute value, part by part; 0 for 0."""
    size = np.abs(array)
    found = np.empty_like(array)
    nothing = size == 0
    with np.errstate(all="ignore"):
        for part, given in ((found.real, array.real), (found.imag, array.imag)):
            np.divide(given, size, out=part)
    found[nothing] = 0
    return found


def power(base, exponent):
    """``base ** exponent``; for a base that is 0, and where something is not finite, by the logarithm as in C."""
    found = np.power(base, exponent)
    special = (base == 0) | ~np.isfinite(base) | ~np.isfinite(exponent)
    if special.any():
        base, exponent = (np.broadcast_to(each, special.shape)[special] for each in (base, exponent))
        found = np.asarray(found)
        with np.errstate(all="ignore"):
            found[special] = np.exp(_product(exponent, np.log(base)))
    return found


def _product(first, second):
    """The product as in C: infinite where one of the numbers is infinite and none is 0, beside NaN too."""
    found = first * second
    lost = np.isnan(found.real) & np.isnan(found.imag)
    infinite = [np.isinf(each.real) | np.isinf(each.imag) for each in (first, second)]
    lost &= infinite[0] | infinite[1]
    a, b, c, d = (part[lost] for each in (first, second) for part in (each.real, each.imag))
    a, b = _direction(a, b, infinite[0][lost])
    c, d = _direction(c, d, infinite[1][lost])
    found.real[lost] = np.inf * (a * c - b * d)
    found.imag[lost] = np.inf * (a * d + b * c)
    return found


def _direction(real, imaginary, infinite):
    """Parts that are infinite as 1 and others beside them as 0, with their signs; 0 for NaN beside an infinite number."""
    parts = []
    for part in (real, imaginary):
        unit = np.where(infinite, np.isinf(part), np.where(np.isnan(part), 0, part)).astype(part.dtype)
        parts.append(np.copysign(unit, part))
    return parts
