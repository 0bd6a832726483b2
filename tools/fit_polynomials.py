"""Fits the polynomials of ``rushlight.kernels.vector_math`` and prints the module that holds them.

python tools/fit_polynomials.py > src/rushlight/kernels/vector_math/coefficients.py
python tools/fit_polynomials.py bessel > src/rushlight/kernels/vector_math/bessel_coefficients.py

Each polynomial is a least-squares fit in 100 digits, with weights that turn its error into the relative error of the
final result, repeated with more emphasis where the error is great (Lawson's iteration), which makes it nearly the best
there is. Coefficients are rounded one after the other, the lowest first, and the higher ones are fitted again each
time, so that rounding costs next to nothing. Needs mpmath.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

mp.dps = 100

BITS = {"f32": 24, "f64": 53}


def round_to(scalar, value):
    """``value`` as the nearest number of the scalar type."""
    return mpf(float(np.float32(float(value)))) if scalar == "f32" else mpf(float(value))


def horner(coefficients, x):
    result = mpf(0)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def least_squares(points, values, densities, degree, scalar=None):
    """The polynomial that minimises the squared error under the densities, by the normal equations.

    With a scalar type, coefficients are rounded to it one after the other, and the rest fitted anew each time.
    """
    powers = list(densities)
    moments, targets = [], []
    for k in range(2 * degree + 1):
        moments.append(mp.fsum(powers))
        if k <= degree:
            targets.append(mp.fdot(powers, values))
        powers = [a * p for a, p in zip(powers, points, strict=True)]
    known = []
    while len(known) <= degree:
        first, count = len(known), degree + 1 - len(known)
        system = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row in range(count):
            for column in range(count):
                system[row, column] = moments[2 * first + row + column]
            right[row] = targets[first + row] - mp.fsum(c * moments[first + row + k] for k, c in enumerate(known))
        solution = list(mp.lu_solve(system, right))
        if scalar is None:
            return solution
        known.append(round_to(scalar, solution[0]))
    return known


def fit(function, low, high, degree, weight, scalar):
    """Rounded coefficients, lowest first, and the greatest weighted error that they leave."""
    low, high = mpf(low), mpf(high)
    count = 12 * (degree + 2)
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + mpf("0.5")) / count) for k in range(count)]
    values, weights = [function(p) for p in points], [abs(weight(p)) for p in points]

    def errors(coefficients):
        return [w * abs(horner(coefficients, p) - v) for p, v, w in zip(points, values, weights, strict=True)]

    emphasis = [mpf(1)] * count
    for _ in range(12):
        densities = [w * w * e for w, e in zip(weights, emphasis, strict=True)]
        found = errors(least_squares(points, values, densities, degree))
        greatest = max(found)
        emphasis = [e * (f / greatest + mpf("1e-3")) for e, f in zip(emphasis, found, strict=True)]
    rounded = least_squares(points, values, densities, degree, scalar)
    return [float(c) for c in rounded], max(errors(rounded))


@dataclass
class Subject:
    """A polynomial to fit: its name and formula, the function, the interval, the weight, the degree by scalar type.

    ``in_double`` is that of functions which are computed in float64 for both types, to the accuracy of each.
    """

    name: str
    formula: str
    function: Callable
    low: object
    high: object
    weight: Callable
    degrees: dict
    in_double: bool = False


def odd(function):
    """p where function(x) = x + x * z * p(z), z = x * x; and the weight for the relative error of the function."""

    def value(z):
        x = mp.sqrt(abs(z))
        return (function(x) / x - 1) / z

    def weight(z):
        x = mp.sqrt(abs(z))
        return x * z / function(x)

    return value, weight


EDGE = 1 + mpf("1e-5")  # a reduction rounds: its result may lie just outside of its interval
# From sqrt(1/2) to sqrt(2), less 1: where logarithms are reduced to.
LOW, HIGH = mp.sqrt(mpf("0.5")) - 1 - mpf("1e-6"), mp.sqrt(2) - 1 + mpf("1e-6")


def subjects():
    yield from exponentials()
    yield from logarithms()
    yield from odd_functions()
    yield from parts_in_double()
    yield from error_function()
    yield from tail_of_tanh()
    yield from scaled_error_function()
    yield from inverse_error_function()
    yield from gamma_family()


def exponentials():
    ln2 = mp.log(2)
    yield Subject(
        "EXPM1", "(e**r - 1 - r) / r**2, |r| <= ln 2",
        lambda r: (mp.expm1(r) - r) / r**2, -ln2 * EDGE, ln2 * EDGE,
        lambda r: r**2 / mp.expm1(r), {"f32": 6, "f64": 12},
    )  # fmt: skip
    yield Subject(
        "EXPM1_NARROW", "(e**r - 1 - r) / r**2, |r| <= ln 2 / 2",
        lambda r: (mp.expm1(r) - r) / r**2, -ln2 / 2 * EDGE, ln2 / 2 * EDGE,
        lambda r: r**2 / mp.exp(r), {"f32": 4, "f64": 10},
    )  # fmt: skip
    yield Subject(
        "EXP2", "(2**f - 1) / f, |f| <= 1",
        lambda f: (mpf(2) ** f - 1) / f, mpf(-1), mpf(1), lambda f: f / mpf(2) ** f, {"f32": 6, "f64": 12},
    )  # fmt: skip
    yield Subject(
        "EXP2_NARROW", "(2**f - 1) / f, |f| <= 1/2",
        lambda f: (mpf(2) ** f - 1) / f, mpf("-0.5"), mpf("0.5"), lambda f: f / mpf(2) ** f, {"f32": 4, "f64": 10},
    )  # fmt: skip


def logarithms():
    yield Subject(
        "LOG", "(log(1 + f) / f - 1) / f, sqrt(1/2) <= 1 + f <= sqrt(2)",
        lambda f: (mp.log1p(f) / f - 1) / f, LOW, HIGH, lambda f: f**2 / mp.log1p(f), {"f32": 8, "f64": 19},
    )  # fmt: skip
    yield Subject(
        "LOG2", "log2(1 + f) / f - 1, sqrt(1/2) <= 1 + f <= sqrt(2)",
        lambda f: mp.log1p(f) / mp.log(2) / f - 1, LOW, HIGH, lambda f: f * mp.log(2) / mp.log1p(f), {"f32": 9, "f64": 20},
    )  # fmt: skip
    yield Subject(
        "LOG10", "log10(1 + f) / f, sqrt(1/2) <= 1 + f <= sqrt(2)",
        lambda f: mp.log1p(f) / mp.log(10) / f, LOW, HIGH, lambda f: f * mp.log(10) / mp.log1p(f),
        {"f32": 9, "f64": 20},
    )  # fmt: skip


def odd_functions():
    half_pi = mp.pi / 2
    for name, function, high_z, degrees in (
        ("SIN", mp.sin, (half_pi * EDGE) ** 2, {"f32": 3, "f64": 7}),
        ("TAN", mp.tan, (half_pi / 2 * EDGE) ** 2, {"f32": 5, "f64": 13}),
        ("ASIN", mp.asin, mpf("0.36"), {"f32": 5, "f64": 14}),
        ("ATAN", mp.atan, mpf(1), {"f32": 8, "f64": 19}),
        ("TANH", mp.tanh, mpf("0.81"), {"f32": 5, "f64": 13}),
        ("SINH", mp.sinh, mpf(1), {"f32": 3, "f64": 6}),
        ("ATANH", mp.atanh, mpf("0.25"), {"f32": 5}),
    ):  # fmt: skip
        value, weight = odd(function)
        yield Subject(
            name,
            f"({name.lower()}(x) / x - 1) / z in z = x * x <= {mp.nstr(high_z, 5)}",
            value,
            mpf(0),
            high_z,
            weight,
            degrees,
        )


def parts_in_double():
    yield Subject(
        "ATANH_TAIL", "((atanh(s) / s - 1) / z - 1 / 3) / z in z = s * s, |s| <= 0.1716",
        lambda z: ((mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z - mpf(1) / 3) / z, mpf(0), mpf("0.02946"),
        lambda z: z * z, {"f64": 7},
    )  # fmt: skip
    yield Subject(
        "LOG2_FOR_POWER", "log2(1 + f) / f, sqrt(1/2) <= 1 + f <= sqrt(2), in float64 for float32's pow",
        lambda f: mp.log1p(f) / mp.log(2) / f, LOW, HIGH, lambda f: f * mp.log(2) / mp.log1p(f), {"f64": 12},
    )  # fmt: skip


def error_function():
    split = mpf("0.9")
    yield Subject(
        "ERF", "erf(x) / x - 1 in z = x * x, |x| <= 0.9",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, mpf(0), split**2,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), {"f32": 5, "f64": 11},
    )  # fmt: skip
    yield Subject(
        "ERFC_ROOT", "erfc(x) ** (1/4), 0.9 <= x <= 3.95; the error is that of erf",
        lambda x: mp.erfc(x) ** mpf("0.25"), split, mpf("3.95"),
        lambda x: 4 * mp.erfc(x) ** mpf("0.75") / mp.erf(x), {"f32": 8},
    )  # fmt: skip


def tail_of_tanh():
    yield Subject(
        "TANH_TAIL", "2 / (1 + w), 0 <= w <= e**-1.8; the error is that of tanh",
        lambda w: 2 / (1 + w), mpf(0), mp.exp(mpf("-1.8")), lambda w: w * (1 + w) / (1 - w), {"f32": 4, "f64": 10},
    )  # fmt: skip


def scaled_error_function():
    def scaled_erfc(t):
        x = 4 * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)

    yield Subject(
        "ERFCX", "(1 + 2 * x) * exp(x * x) * erfc(x) in t = (x - 4) / (x + 4), 0.5 <= x <= 27.3",
        scaled_erfc, mpf("-3.5") / mpf("4.5"), mpf("23.3") / mpf("31.3"), lambda t: 1 / scaled_erfc(t), {"f64": 21},
    )  # fmt: skip
    yield Subject(
        "ERFCX_SHORT", "the same, 0.5 <= x <= 10.1, where float32's erfc is not 0",
        scaled_erfc, mpf("-3.5") / mpf("4.5"), mpf("6.1") / mpf("14.1"), lambda t: 1 / scaled_erfc(t), {"f32": 9}, True,
    )  # fmt: skip
    yield Subject(
        "ERFCX_RIGHT", "the same, x >= 0", scaled_erfc, mpf(-1), mpf(1), lambda t: 1 / scaled_erfc(t),
        {"f32": 13, "f64": 27}, True,
    )  # fmt: skip


def inverse_error_function():
    def ratio(w):
        """erfinv(x) / x where ``w = -log(1 - x**2)``, by Newton's method on log(erfc)."""
        x = mp.sqrt(-mp.expm1(-w))
        if w < 1:
            return mp.erfinv(x) / x
        log_q = -w - mp.log1p(x)
        y = mp.sqrt(w - mp.log(w + 1) / 2)
        for _ in range(9):
            rest = mp.erfc(y)
            y += (mp.log(rest) - log_q) * rest * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        return y / x

    edge, middle = mpf("1e-6"), mpf("2.5")
    yield Subject(
        "ERFINV_NEAR", "erfinv(x) / x in u = w - 2.5 with w = -log(1 - x * x) <= 5",
        lambda u: ratio(u + middle), -middle, middle + edge, lambda u: 1 / ratio(u + middle), {"f32": 10, "f64": 23}, True,
    )  # fmt: skip
    for name, low, centre, high, degrees in (
        ("MIDDLE", 5, mpf("3.125"), 16, {"f32": 10, "f64": 23}),
        ("FAR", 16, mpf(7), 110, {"f32": 10, "f64": 30}),
        ("LAST", 110, mpf(19), 750, {"f64": 22}),
    ):
        yield Subject(
            f"ERFINV_{name}", f"the same in u = sqrt(w) - {mp.nstr(centre)}, {low} <= w <= {high}",
            lambda u, centre=centre: ratio((u + centre) ** 2), mp.sqrt(low) - centre - edge, mp.sqrt(high) - centre + edge,
            lambda u, centre=centre: 1 / ratio((u + centre) ** 2), degrees, True,
        )  # fmt: skip


def gamma_family():
    half = mpf("0.5")
    for place, degrees in ((1, {"f32": 17, "f64": 29}), (2, {"f32": 11, "f64": 19})):
        yield Subject(
            f"LGAMMA_{place}", f"lgamma({place} + w) / w, |w| <= 1/2",
            lambda w, place=place: mp.loggamma(place + w) / w, -half, half,
            lambda w, place=place: w / mp.loggamma(place + w), degrees, True,
        )  # fmt: skip

    def remainders(v):
        """What is left of lgamma, digamma and trigamma at ``x = v ** (-1/2)``, scaled to be of the size of 1."""
        x = 1 / mp.sqrt(v)
        return (
            (mp.loggamma(x) - (x - half) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x,
            (mp.log(x) - 1 / (2 * x) - mp.psi(0, x)) * x**2,
            (mp.psi(1, x) - 1 / x - 1 / (2 * x**2)) * x**3,
        )

    for name, formula, number, weight, degrees in (
        ("LGAMMA_TAIL", "x * (lgamma(x) - (x - 1/2) * log(x) + x - log(2 * pi) / 2)", 0,
         lambda x: 1 / x / mp.loggamma(x), {"f32": 2, "f64": 5}),
        ("DIGAMMA_TAIL", "x**2 * (log(x) - 1 / (2 * x) - digamma(x))", 1,
         lambda x: 1 / x**2 / mp.psi(0, x), {"f32": 1, "f64": 6}),
        ("TRIGAMMA_TAIL", "x**3 * (trigamma(x) - 1 / x - 1 / (2 * x**2))", 2,
         lambda x: 1 / x**3 / mp.psi(1, x), {"f32": 2, "f64": 7}),
    ):  # fmt: skip
        yield Subject(
            name, f"{formula} in v = 1 / x**2, x >= 8",
            lambda v, number=number: remainders(v)[number], mpf(0), 1 / mpf(64),
            lambda v, weight=weight: weight(1 / mp.sqrt(v)), degrees, True,
        )  # fmt: skip


def bessel_functions():
    """Those of float32; float64's are in `rushlight.ops.bessel_polynomials`."""
    tiny = mpf("1e-20")
    for order, degree in ((0, 9), (1, 8)):

        def scaled(a, order=order):
            return mp.besseli(order, 2 * mp.sqrt(a)) / mp.sqrt(a) ** order

        yield Subject(
            f"I{order}_NEAR", f"(I{order}(x) / (x / 2)**{order} - 1) / a in a = x * x / 4, |x| <= 8",
            lambda a, scaled=scaled: (scaled(max(a, tiny)) - 1) / max(a, tiny), mpf(0), 16 * EDGE,
            lambda a, scaled=scaled: a / scaled(a), {"f32": degree},
        )  # fmt: skip
    for name, function, sign, least, degree, in_double in (
        ("I", mp.besseli, -1, 8, 5, False),
        ("K", mp.besselk, 1, 2, 9, True),
    ):
        for order in (0, 1):

            def far(t, function=function, order=order, sign=sign, least=least):
                x = 2 * least / max(t + 1, mpf("1e-6"))
                return mp.exp(sign * x) * mp.sqrt(x) * function(order, x)

            yield Subject(
                f"{name}{order}_FAR",
                f"exp({'-' * (sign < 0)}x) * sqrt(x) * {name}{order}(x) in t = {2 * least} / x - 1, x >= {least}",
                far, mpf(-1), EDGE, lambda t, far=far: 1 / far(t), {"f32": degree}, in_double,
            )  # fmt: skip
    for order in (0, 1):

        def without_zeros(t, order=order):
            x = mp.sqrt(32 * max(t + 1, tiny))
            first, second = (mp.besseljzero(order, k) for k in (1, 2))
            return mp.besselj(order, x) / x**order / ((x * x - first**2) * (x * x - second**2))

        yield Subject(
            f"J{order}_NEAR", f"J{order}(x) over x**{order} and the squares' distances from its zeros' in t = x * x / 32 - 1",
            without_zeros, mpf(-1), mpf(1), lambda t, f=without_zeros: 1 / f(t), {"f32": 9}, True,
        )  # fmt: skip


def print_zeros():
    for order in (0, 1):
        zeros = tuple(float(mp.besseljzero(order, k)) for k in (1, 2))
        print(f"\n# the positive zeros of J{order} up to 8\nJ{order}_ZEROS = {zeros!r}")


def parts(value, scalar, count):
    """``value`` as a sum of so many positive numbers of the scalar type, the greatest first."""
    found = []
    for _ in range(count):
        unit = mpf(2) ** (mp.floor(mp.log(value, 2)) + 1 - BITS[scalar])
        found.append(mp.floor(value / unit) * unit)
        value -= found[-1]
    return tuple(float(part) for part in found)


def print_constants():
    """Numbers that need more digits than their type has."""
    for name, formula, value, count in (
        ("TWICE_LN2", "2 * log(2)", 2 * mp.log(2), 2),
        ("LN2_PARTS", "log(2)", mp.log(2), 2),
        ("LOG10_2_PARTS", "log10(2)", mp.log10(2), 2),
        ("TWICE_LOG2_E", "2 * log2(e)", 2 / mp.log(2), 2),
        ("THIRD", "1 / 3", mpf(1) / 3, 2),
        ("PI_PARTS", "pi", +mp.pi, 3),
    ):
        print(f"\n# {formula}, as a sum\n{name} = {{")
        for scalar in ("f32", "f64"):
            print(f'    "{scalar}": {parts(value, scalar, count)!r},')
        print("}")
    with mp.workdps(400):
        digits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * 19 - 14)))
    print("\n# 2 / pi: 14 zeros and its first bits, 64 in a word\nTWO_OVER_PI = (")
    for k in range(19):
        print(f"    0x{digits >> 64 * (18 - k) & (1 << 64) - 1:016X},")
    print(")")


def print_polynomial(subject):
    print(f"\n# {subject.formula}\n{subject.name} = {{")
    for scalar, degree in subject.degrees.items():
        rounded = "f64" if subject.in_double else scalar
        coefficients, error = fit(subject.function, subject.low, subject.high, degree, subject.weight, rounded)
        print(f'    "{scalar}": (  # error 2**{float(mp.log(error, 2)):.1f}')
        for k in range(0, len(coefficients), 4):
            print("       ", ", ".join(map(repr, coefficients[k : k + 4])) + ",")
        print("    ),")
    print("}")


def main():
    print('"""Polynomials and constants, lowest coefficient first; made by tools/fit_polynomials.py."""')
    print("\n# fmt: off")
    bessel = sys.argv[1:] == ["bessel"]
    for subject in bessel_functions() if bessel else subjects():
        print_polynomial(subject)
    print_zeros() if bessel else print_constants()


if __name__ == "__main__":
    main()
