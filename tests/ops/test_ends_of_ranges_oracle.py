"""The ends of ranges against PyTorch: zeros of both signs, infinities, lowest integers, sums in half precision, poles."""

import itertools

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = (torch, rushlight)
HALVES = ("float16", "bfloat16")


@pytest.mark.parametrize("repeats", [1, 60])  # by NumPy and by a kernel
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_gcd_beside_the_lowest_number(dtype, repeats):
    info = np.iinfo(dtype)
    numbers = [0, 1, 2, 3, 6, 7, 60, info.min, info.min + 1, info.max - 1, info.max]
    pairs = np.tile(np.array(list(itertools.product(numbers, numbers)), dtype), (repeats, 1))
    a, b = (np.ascontiguousarray(column) for column in pairs.T)
    expected, found = (m.gcd(m.from_numpy(a), m.from_numpy(b)).numpy() for m in BOTH)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax"])
def test_reductions_at_places_round_half_precision_once(reduce, dtype):
    found = []
    for m in BOTH:
        source = m.full((3000, 2), 1.0, dtype=getattr(m, dtype))
        source[:20], source[20:40] = 3, 0.5  # a product that would overflow on its way in float16
        index = m.zeros(3000, 2, dtype=m.int64)
        found.append(m.ones(4, 2, dtype=source.dtype).scatter_reduce(0, index, source, reduce).float().numpy())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.filterwarnings("ignore:(index|scatter)_reduce")
def test_gradients_of_extremes_at_places(name, include_self):
    found = []
    for m in BOTH:
        own = m.tensor([2.0, 1.0, 5.0], requires_grad=True)
        source = m.tensor([2.0, float("nan"), 5.0, 5.0], requires_grad=True)
        index = m.tensor([0, 1, 2, 2])
        result = getattr(own, name)(0, index, source, "amax", include_self=include_self)
        grads = m.autograd.grad((result * m.tensor([1.0, 2.0, 3.0])).sum(), (own, source))
        found.append(np.concatenate([grad.numpy() for grad in grads]))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("size", [1, 3000])
@pytest.mark.parametrize("dtype", [*HALVES, "float32", "float64"])
def test_products_with_logarithms_of_zero_are_zero(dtype, size):
    for name in ("xlogy", "xlog1py"):
        found = []
        for m in BOTH:
            x, y = (m.full((size,), value, dtype=getattr(m, dtype)) for value in (-0.0, 3.0))
            found.append(getattr(m.special, name)(x, y).float().numpy())
        np.testing.assert_array_equal(np.signbit(found[0]), np.signbit(found[1]))


PLACES = [(0.0, 0.0), (1e-30, 1e-30), (2e-4, 2e-4), (float("inf"), 1.0), (300.0, 300.0), (-0.0, 1.0), (1e20, 1e30)]


@pytest.mark.parametrize("dtype", [*HALVES, "float32", "float64"])
def test_gradients_of_angles_where_squares_end(dtype):
    found = []
    for m in BOTH:
        y, x = (m.tensor(c, dtype=getattr(m, dtype), requires_grad=True) for c in zip(*PLACES))
        grads = m.autograd.grad(m.atan2(y, x).sum(), (y, x), create_graph=True)
        second = m.autograd.grad(grads[0].sum() + grads[1].sum(), (y, x))
        found.append(np.stack([grad.detach().float().numpy() for grad in (*grads, *second)]))
    np.testing.assert_allclose(found[1], found[0], 1e-2 if dtype in HALVES else 1e-5)


ENDS = [float("inf"), 0.0, -0.0, -1.0, 1.0, float("nan"), float("-inf"), 2.5, 250.0]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_ends_of_incomplete_gamma_functions_and_zeta(name):
    a, x = (m for m in zip(*itertools.product(ENDS, ENDS)))
    if name == "zeta":  # of an infinite order PyTorch gives what its powers happen to be
        a, x = zip(*[(s, q) for s, q in zip(a, x) if s != float("inf")])
    expected, found = (getattr(m.special, name)(*(m.tensor(v, dtype=m.float64) for v in (a, x))).numpy() for m in BOTH)
    np.testing.assert_allclose(found, expected, 1e-8, 1e-300)


# By mpmath: a, x, P(a, x), Q(a, x). PyTorch is off by 2e-9 near a = 20.
INCOMPLETE = [
    (20.818679882448382, 14.682659230662935, 0.07627842142581538, 0.9237215785741846),
    (300.0, 310.0, 0.7224887541718611, 0.2775112458281389),
    (1000000.0, 1000000.0, 0.5001329807608725, 0.4998670192391274),
    (0.001, 1e-05, 0.9891230446957827, 0.01087695530421733),
    (1e-30, 1e-30, 1.0, 6.850033712491985e-29),
]


def test_incomplete_gamma_functions_are_exact():
    a, x, lower, upper = (np.array(column) for column in zip(*INCOMPLETE))
    numbers = rushlight.from_numpy(a), rushlight.from_numpy(x)
    np.testing.assert_allclose(rushlight.special.gammainc(*numbers).numpy(), lower, 5e-15)
    np.testing.assert_allclose(rushlight.special.gammaincc(*numbers).numpy(), upper, 5e-15)


@pytest.mark.parametrize("order", range(5))
def test_polygamma_at_infinity(order):
    expected, found = (m.polygamma(order, m.tensor([float("inf"), float("-inf"), float("nan")])).numpy() for m in BOTH)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shapes", [((1,), ()), ((), (1,)), ((), ()), ((3,), ())])
def test_multilabel_margins_of_single_scores(shapes):
    found = []
    for m in BOTH:
        try:
            labels = m.zeros(shapes[1], dtype=m.int64)
            found.append(m.nn.functional.multilabel_margin_loss(m.ones(shapes[0]), labels).tolist())
        except RuntimeError as error:
            found.append(str(error).splitlines()[0])
    assert found[0] == found[1]


def test_native_group_norm_takes_whole_inputs_alone():
    found = []
    for m in BOTH:
        image, weight = m.ones(2, 4, 3, 3), m.ones(4)
        for x in (image, image.contiguous(memory_format=m.channels_last), image.transpose(2, 3), image[..., :2]):
            try:
                m.native_group_norm(x, weight, weight, 2, 4, x[0, 0].numel(), 2, 1e-5)
                found.append(None)
            except RuntimeError as error:
                found.append(str(error).splitlines()[0])
    assert found[:4] == found[4:]
