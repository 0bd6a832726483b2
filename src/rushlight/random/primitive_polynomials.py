"""Primitive polynomials over two elements, as integers whose bits are the coefficients: x**3 + x + 1 is 0b1011.

A polynomial of degree n is primitive if the powers of x modulo it only return to 1 after 2**n - 1 steps:
x**(2**n - 1) is 1 there, and x to no (2**n - 1) / q, q a prime factor, is.
"""

from __future__ import annotations

import numpy as np


def primitive_polynomials(degree):
    """All of one degree, ascending: an int32 array.

    >>> from rushlight.random.primitive_polynomials import primitive_polynomials
    >>> [bin(each) for each in primitive_polynomials(3)]
    ['0b1011', '0b1101']
    """
    if degree == 1:
        return np.array([0b11], np.int32)
    found = np.arange(2**degree + 1, 2 ** (degree + 1), 2, dtype=np.int32)
    found = found[np.bitwise_count(found) % 2 == 1]  # an even number of terms has the factor x + 1
    order = 2**degree - 1
    found = found[_power_of_x(order, found, degree) == 1]
    for factor in _prime_factors(order):
        found = found[_power_of_x(order // factor, found, degree) != 1]
    return found


def _power_of_x(exponent, polynomials, degree):
    """x**exponent modulo each polynomial: squared for each binary digit of the exponent, times x where it is 1."""
    power = np.ones_like(polynomials)
    for digit in f"{exponent:b}":
        power = _product(power, power, polynomials, degree)
        if digit == "1":
            power = _times_x(power, polynomials, degree)
    return power


def _product(left, right, polynomials, degree):
    result = np.zeros_like(polynomials)
    for place in reversed(range(degree)):
        result = _times_x(result, polynomials, degree)
        result ^= left * (right >> place & 1)
    return result


def _times_x(remainders, polynomials, degree):
    doubled = remainders << 1
    return doubled ^ polynomials * (doubled >> degree)


def _prime_factors(number):
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            yield factor
            while number % factor == 0:
                number //= factor
        factor += 1
    if number > 1:
        yield number
