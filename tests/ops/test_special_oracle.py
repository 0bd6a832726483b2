"""Special functions and neighbours of many numbers, as kernels compute them, and their gradients against PyTorch's."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1e30, -1e30, 3e38, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-45]
CALLS = {
    "erfinv": lambda m, x: m.erfinv(x),
    "ndtri": lambda m, x: m.special.ndtri(x),
    "log_ndtr": lambda m, x: m.special.log_ndtr(x),
    "lgamma": lambda m, x: m.lgamma(x),
    "digamma": lambda m, x: m.digamma(x),
    "trigamma": lambda m, x: m.polygamma(1, x),
    "erfcx": lambda m, x: m.special.erfcx(x),
}
INSIDE = {"erfinv": (-1, 1), "ndtri": (0, 1), "log_ndtr": (-9, 9), "erfcx": (-5, 9)}  # the others: (0.1, 30)


def both(call, *arrays):
    return [call(m, *map(wrap, arrays)) for m, wrap in ((rl, rl.from_numpy), (torch, torch.from_numpy))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name, dtype):
    x = np.random.default_rng(0).uniform(*INSIDE.get(name, (0.1, 30)), 20_000).astype(dtype)

    def run(m, x):
        x.requires_grad_()
        found = CALLS[name](m, x)
        found.sum().backward()
        return found.detach().numpy(), x.grad.numpy()

    # PyTorch's float64 derivatives of digamma are right to nine digits only.
    tolerance = 3e-5 if dtype == np.float32 else 1e-8 if name in ("digamma", "trigamma") else 1e-11
    for found, wanted in zip(*both(run, x)):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name in CALLS if name != "trigamma"])
def test_edges(name, dtype):
    with np.errstate(all="ignore"):
        x = np.tile(np.array(EDGES).astype(dtype), 300)
    found, wanted = (t.numpy() for t in both(CALLS[name], x))
    np.testing.assert_allclose(found, wanted, rtol=2e-5 if dtype == np.float32 else 1e-12, atol=1e-30)
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours(dtype):
    with np.errstate(all="ignore"):
        edges = np.array(EDGES).astype(dtype)
    random = np.random.default_rng(1)
    x = np.concatenate([np.repeat(edges, edges.size), random.standard_normal(50_000).astype(dtype)])
    y = np.concatenate([np.tile(edges, edges.size), random.standard_normal(50_000).astype(dtype)])
    found, wanted = (t.numpy() for t in both(lambda m, x, y: m.nextafter(x, y), x, y))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_neighbours_of_half_precision_are_its_own():
    x = np.random.default_rng(2).standard_normal(50_000).astype(np.float32)
    call = lambda m, x: m.nextafter(x.bfloat16(), m.zeros(50_000, dtype=m.bfloat16)).float()
    found, wanted = both(call, x)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


FIRST = ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"]
GROWING = ["i0", "i0e", "i1", "i1e", "modified_bessel_i0", "modified_bessel_i1"]
FALLING = [f"{prefix}modified_bessel_k{order}" for prefix in ("", "scaled_") for order in (0, 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FIRST + GROWING + FALLING)
def test_bessel_functions(name, dtype):
    """PyTorch computes in float64 for both: its float32 loses digits."""
    random = np.random.default_rng(3)
    x = np.concatenate([random.uniform(0, 3, 3000), random.uniform(0, 9, 3000), random.uniform(0, 80, 3000)])
    x = x.astype(dtype) * (1 if "_y" in name or "_k" in name else random.choice([-1, 1], x.size).astype(dtype))
    call = lambda m, x: getattr(m.special, name)(x) if hasattr(m.special, name) else getattr(m, name)(x)
    found, wanted = call(rl, rl.from_numpy(x)).numpy(), call(torch, torch.from_numpy(x.astype(np.float64))).numpy()
    least = 1e-6 if name in FIRST else 0  # waves have zeros, and PyTorch's are rough; test_vector_math.py looks closer
    np.testing.assert_allclose(found, wanted, rtol=4e-7 if dtype == np.float32 else 4e-15, atol=least)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FIRST + GROWING + FALLING)
def test_edges_of_bessel_functions(name, dtype):
    x = np.tile(np.array([0.0, 1.0, -1.0, 2.0, 0.5, -0.5, -3.0, 8.0, -8.0, np.inf, np.nan, 1e-30]).astype(dtype), 300)
    call = lambda m, x: getattr(m.special, name)(x) if hasattr(m.special, name) else getattr(m, name)(x)
    found, wanted = (t.numpy() for t in both(call, x))
    if name not in FALLING:  # PyTorch's are NaN
        np.testing.assert_array_equal(found[np.isposinf(x)], np.inf if name[-2:] in ("i0", "i1") else 0)
        found, wanted = found[~np.isinf(x)], wanted[~np.isinf(x)]
    np.testing.assert_allclose(found, wanted, rtol=2e-6 if dtype == np.float32 else 1e-7, atol=1e-30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
def test_gradients_of_bessel_functions(name, dtype):
    x = np.random.default_rng(4).uniform(-20, 20, 6000).astype(dtype)
    x[:3] = 0.0

    def run(m, x):
        x.requires_grad_()
        getattr(m.special if name != "i0" else m, name)(x).sum().backward()
        return x.grad.numpy()

    found, wanted = both(run, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "bfloat16"])
def test_sums_of_powers_of_two(dtype):
    random = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        edges = np.array(EDGES).astype(np.float32)
    x = np.concatenate([np.repeat(edges, edges.size), random.standard_normal(20_000).astype(np.float32) * 20])
    y = np.concatenate([np.tile(edges, edges.size), random.standard_normal(20_000).astype(np.float32) * 20])

    def run(m, x, y):
        x, y = (
            t.to(m.bfloat16) if dtype == "bfloat16" else t.to(m.from_numpy(np.zeros(1, dtype)).dtype) for t in (x, y)
        )
        x.requires_grad_(), y.requires_grad_()
        found = m.logaddexp2(x, y)
        found.nan_to_num(0, 0, 0).sum().backward()
        return [t.float().detach().numpy() for t in (found, x.grad, y.grad)]

    for found, wanted in zip(*both(run, x, y)):
        np.testing.assert_allclose(found, wanted, rtol=1e-2 if dtype == "bfloat16" else 1e-5, atol=1e-5)
