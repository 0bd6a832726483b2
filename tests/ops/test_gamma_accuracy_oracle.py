"""The gamma function's family in float64: rounding errors against mpmath's numbers, and the ends against PyTorch's."""

import math

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
mpmath = pytest.importorskip("mpmath")  # comes with PyTorch

COUNT = 40
LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324


def zeta(s, q):
    """Hurwitz zeta of a whole s: the terms left of 0 one by one."""
    steps = max(0, math.ceil(-q))
    terms = mpmath.fsum((mpmath.mpf(q) + k) ** -int(s) for k in range(steps))
    return mpmath.zeta(s, mpmath.mpf(q) + steps) + terms


def polygamma(n, x):
    return (-1) ** (n + 1) * mpmath.factorial(n) * zeta(n + 1, x)


# name: (call, its exact value, how many units in the last place it may be off); where PyTorch is right, it is off by as much.
FUNCTIONS = {
    "zeta": (lambda m, s, q: m.special.zeta(s, q), zeta, 6),
    "polygamma": (lambda m, s, q: m.polygamma(int(s[0]), q), polygamma, 24),
    "igamma": (lambda m, a, x: m.igamma(a, x), lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), 32),
    "igammac": (lambda m, a, x: m.igammac(a, x), lambda a, x: mpmath.gammainc(a, x, regularized=True), 64),
}


def operands(name, draw):
    sizes = 10 ** draw.uniform(-3, 2.5, COUNT)
    if name.startswith("igamma"):
        return sizes, sizes * 10 ** draw.uniform(-0.7, 0.7, COUNT)
    orders = draw.integers(2, 9, COUNT) if name == "zeta" else np.full(COUNT, draw.integers(2, 7))
    return orders.astype(float), sizes * draw.choice([-1, 1], COUNT)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_in_double_precision(name):
    call, exact, most = FUNCTIONS[name]
    first, second = operands(name, np.random.default_rng(0))
    found = call(rl, rl.from_numpy(first), rl.from_numpy(second)).numpy()
    with mpmath.workprec(160):
        for a, x, value in zip(first, second, found, strict=True):
            wanted = exact(int(a) if name in ("zeta", "polygamma") else mpmath.mpf(a), float(x))
            off = abs(mpmath.mpf(float(value)) - wanted) / (abs(wanted) * 2.0**-52)
            assert off <= most, (a, x, value, wanted, off)


ENDS = {
    "igamma": [(SMALLEST, 0.5), (SMALLEST, SMALLEST), (20.0, SMALLEST), (1e10, 1e-10), (0.0, 1.0), (1.0, math.inf)],
    "igammac": [(20.0, SMALLEST), (1e10, 1e-10), (0.0, 1.0), (1.0, math.inf)],
    "zeta": [(math.inf, q) for q in (1.0, 0.5, -0.5, -1.0, -2.5, 2.0, 1.5)] + [(3.0, -SMALLEST), (3.0, -math.inf)],
    "polygamma": [(n, x) for n in (2.0, 3.0, 170.0, 171.0, 200.0) for x in (-1e-45, 1.5, -1.0, 0.0)],
    "lgamma": [(x,) for x in (-SMALLEST, SMALLEST, -1e-310, 0.0, -1.0)],
    "i1": [(-0.0,), (0.0,), (-1.0,)],
    "i1e": [(-0.0,), (0.0,), (-1.0,)],
    "entr": [(-0.0,), (0.0,), (-1.0,), (math.nan,)],
}
WRONG = {("igamma", (SMALLEST, 0.5)): 1.0, ("igamma", (SMALLEST, SMALLEST)): 1.0}  # PyTorch's is 0; what is right


@pytest.mark.parametrize("times", [1, 9000])
@pytest.mark.parametrize("name", ENDS)
def test_ends(name, times):
    for arguments in ENDS[name]:
        found = []
        for module in (rl, torch):
            if name == "polygamma":
                call, tensors = module.polygamma, [int(arguments[0])]
            else:
                call, tensors = getattr(module.special, name, None) or getattr(module, name), []
            for number in arguments[len(tensors) :]:
                tensors.append(module.full((times,), number, dtype=module.float64))
            found.append(float(call(*tensors)[-1]))
        ours, theirs = found[0], WRONG.get((name, arguments), found[1])
        assert ours == pytest.approx(theirs, rel=1e-12, abs=0, nan_ok=True), (arguments, found)
        assert math.copysign(1, ours) == math.copysign(1, theirs) or math.isnan(ours), (arguments, found)
