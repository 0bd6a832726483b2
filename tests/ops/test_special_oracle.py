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
