"""Operations on so many elements that kernels compute them, against PyTorch: values, dtypes, special numbers, errors."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")

DTYPES = ["float32", "float64", "bfloat16", "int64", "uint8", "bool"]


def values(count, seed=0):
    found = np.random.default_rng(seed).standard_normal(count).astype(np.float32) * 3
    found[: count // 8] = 0
    return found


def pair(array, dtype="float32"):
    return [module.from_numpy(array).to(getattr(module, dtype)) for module in (rl, torch)]


def assert_alike(ours, theirs, tolerance=1e-6):
    assert (str(ours.dtype).split(".")[-1], tuple(ours.shape)) == (
        str(theirs.dtype).split(".")[-1],
        tuple(theirs.shape),
    )
    assert ours.stride() == theirs.stride()
    found, expected = (x.detach().resolve_conj().to(getattr(m, "complex128" if x.is_complex() else "float64")).numpy()
                       for m, x in ((rl, ours), (torch, theirs)))  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("count", [9, 20_000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_steps(count, dtype):
    x = values(count) if dtype in ("float32", "float64", "bfloat16") else abs(values(count)).round()
    if "float" in dtype:
        x[:4] = np.nan, np.inf, -np.inf, -0.0
    ours, theirs = zip(pair(x, dtype), pair(x[::-1].copy(), dtype))
    assert_alike(rl.heaviside(*ours), torch.heaviside(*theirs), 0)


@pytest.mark.parametrize("alpha", [1.0, -1.0, 0.5])
@pytest.mark.parametrize("name", ["elu", "celu"])
def test_slopes_at_zero(name, alpha):
    x = np.array([0.0, -0.0, np.nan, 1.0, -1.0, -np.inf] * 8, np.float32)
    for array in (x, abs(x)):  # where none is negative nothing is exponentiated
        ours, theirs = (getattr(m.nn.functional, name)(t, alpha) for m, t in zip((rl, torch), pair(array)))
        assert_alike(ours, theirs)
        np.testing.assert_array_equal(np.signbit(ours.numpy()), np.signbit(theirs.numpy()))
    for array in (values(64), abs(values(64))):
        leaves = [t.requires_grad_() for t in pair(array)]
        for module, leaf in zip((rl, torch), leaves):
            getattr(module.nn.functional, name)(leaf, alpha).sum().backward()
        assert_alike(leaves[0].grad, leaves[1].grad)


@pytest.mark.parametrize("code", [
    "torch.vander(x, 4)", "torch.vander(x, 3, increasing=True)", "torch.vander(x, 1)", "torch.vander(x[:3])",
    "torch.vander(x[:3] > 0, 3)", "torch.vander(x[::2].long(), 3)",
])  # fmt: skip
def test_powers_as_columns(code):
    ours, theirs = (eval(code, {"torch": m, "x": t}) for m, t in zip((rl, torch), pair(values(9000))))
    assert_alike(ours, theirs)


@pytest.mark.parametrize("code", [
    "torch.trapezoid(x)", "torch.trapezoid(x.long(), dx=2)", "torch.trapezoid(x.reshape(90, 100), dim=0)",
    "torch.trapezoid(x[:1])", "torch.trapezoid(x[:0].long())", "torch.trapezoid(x[:0] > 0)", "torch.trapezoid(x > 0)",
    "torch.trapezoid(x, x > 0)", "torch.cumulative_trapezoid(x > 0)", "torch.logaddexp2(x, x.flip(0))",
])  # fmt: skip
def test_integrals(code):
    outcomes = []
    for module, tensor in zip((rl, torch), pair(values(9000))):
        try:
            outcomes.append(eval(code, {"torch": module, "x": tensor}))
        except RuntimeError as error:
            outcomes.append(str(error).split("\n")[0])
    if isinstance(outcomes[1], str):
        assert outcomes[0] == outcomes[1]
    else:
        assert_alike(*outcomes, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
def test_scattered_reductions(reduce, include_self, dtype):
    random = np.random.default_rng(0)
    for shape, count, dim in (((40, 300), 50, 0), ((40, 300), 500, 1), ((2000,), 5000, 0)):
        lengths = [count if axis == dim else length for axis, length in enumerate(shape)]
        index = random.integers(0, shape[dim], lengths)
        self, source = (random.integers(-3, 4, size).astype(np.float32) for size in (shape, lengths))
        if dtype.startswith("float"):
            self.flat[1], source.flat[3], source.flat[4] = np.nan, np.nan, np.inf
        found = []
        for module, first, second in zip((rl, torch), pair(self, dtype), pair(source, dtype)):
            places = module.from_numpy(index)
            found.append(first.scatter_reduce(dim, places, second, reduce, include_self=include_self))
        assert_alike(*found, 0.05 if dtype == "bfloat16" else 1e-5)
    for module in (rl, torch):
        with pytest.raises(RuntimeError, match="index 2000 is out of bounds for dimension 0 with size 2000"):
            module.zeros(2000).scatter_reduce(0, module.full((3000,), 2000), module.ones(3000), reduce)
