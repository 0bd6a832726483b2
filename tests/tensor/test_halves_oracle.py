"""Half precision on the short path of elementwise operations, beside PyTorch: values, gradients, numbers, what it declines."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

draw = np.random.default_rng(11)
X, Y, ROW = (draw.standard_normal(shape).astype(np.float32) for shape in ((40, 50), (40, 50), (50,)))
DTYPES = ["float16", "bfloat16"]
CALLS = {
    "add": lambda m, x, y: x + y,
    "sub with alpha": lambda m, x, y: x.sub(y, alpha=2),
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / (y.abs() + 1),
    "row": lambda m, x, y: x * y[0],
    "column": lambda m, x, y: y[:, :1] + x,
    "one number": lambda m, x, y: x * y[0, 0],
    "number": lambda m, x, y: x * 1.7 + 3,
    "number below": lambda m, x, y: 1 / (x * x + 1) - 0.3,
    "great number": lambda m, x, y: x * 65504.0 * 0.0001,
    "relu": lambda m, x, y: m.relu(x) * m.relu(-y),
    "sigmoid": lambda m, x, y: x.sigmoid() * y.tanh(),
    "exp": lambda m, x, y: (x * 0.1).exp() + y.abs().sqrt(),
    "neg": lambda m, x, y: -x.abs(),
    "view": lambda m, x, y: x.t() * y.t() + x[::1].t(),
    "half row": lambda m, x, y: x[::2] - y[::2],
    "power": lambda m, x, y: x**2 * y**3,
    "maximum": lambda m, x, y: m.maximum(x, y) + m.minimum(x, 0 * y),
    "reused": lambda m, x, y: x * x,
    "small": lambda m, x, y: x[:2] * y[:2] + x[:2],
    "floats": lambda m, x, y: x * y.float(),
}


def both(call, dtype, *arrays):
    found = []
    for m in (rl, torch):
        found.append(call(m, *(m.from_numpy(a.copy()).to(getattr(m, dtype)) for a in arrays)))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name, dtype):
    def run(m, x, y):
        x.requires_grad_(), y.requires_grad_()
        found = CALLS[name](m, x, y)
        found.backward(m.ones_like(found) * 0.5)
        assert found.requires_grad
        gradients = [None if t.grad is None else (str(t.grad.dtype), t.grad.float().numpy()) for t in (x, y)]
        kind = type(found.grad_fn).__name__
        return str(found.dtype), kind, found.detach().float().numpy(), gradients

    ours, theirs = both(run, dtype, X, Y)
    epsilon = torch.finfo(getattr(torch, dtype)).eps
    assert [text.split(".")[-1] for text in ours[:2]] == [text.split(".")[-1] for text in theirs[:2]]
    np.testing.assert_allclose(ours[2], theirs[2], rtol=2 * epsilon, atol=epsilon)
    for found, wanted in zip(ours[3], theirs[3], strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            assert found[0].split(".")[-1] == wanted[0].split(".")[-1]
            np.testing.assert_allclose(found[1], wanted[1], rtol=4 * epsilon, atol=8 * epsilon)


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons(dtype):
    for call in (
        lambda m, x, y: x < y,
        lambda m, x, y: x == x,
        lambda m, x, y: x >= 0.3,
        lambda m, x, y: x != y[0],
        lambda m, x, y: x < 0.25,
    ):
        ours, theirs = both(call, dtype, X, Y)
        assert ours.dtype is rl.bool and not ours.requires_grad
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "call",
    [
        lambda m, x, y: x + y[:3],
        lambda m, x, y: x & y,
        lambda m, x, y: ~x,
        lambda m, x, y: m.special.bessel_j0(x),
        lambda m, x, y: m.gcd(x, y),
    ],
)
def test_refusals(call, dtype):
    lines = []
    for m in (rl, torch):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as error:
            call(m, *(m.from_numpy(a).to(getattr(m, dtype)) for a in (X, Y)))
        lines.append((error.type, str(error.value).split("\n")[0]))
    assert lines[0] == lines[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_second_derivatives(dtype):
    def run(m, x, y):
        x.requires_grad_()
        (slope,) = m.autograd.grad((x.sigmoid() * y).sum(), x, create_graph=True)
        (bend,) = m.autograd.grad(slope.sum(), x)
        return bend.float().numpy()

    ours, theirs = both(run, dtype, X, Y)
    np.testing.assert_allclose(ours, theirs, atol=8 * torch.finfo(getattr(torch, dtype)).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_written_since_are_noticed(dtype):
    for m in (rl, torch):
        x = m.from_numpy(X).to(getattr(m, dtype)).requires_grad_()
        kept = x * 1
        product = (kept * kept).sum()
        kept.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


@pytest.mark.parametrize("name", ["gcd", "logaddexp", "maximum", "logical_and", "fmin", "hypot"])
def test_numbers_where_tensors_belong_are_refused(name):
    """On the short paths as on the long ones."""
    for kind in ("int64", "float32", "bfloat16"):
        lines = []
        for m in (rl, torch):
            with pytest.raises(TypeError) as error:
                getattr(m, name)(m.ones(100, dtype=getattr(m, kind)), 2)
            lines.append(str(error.value).split("\n")[0])
        assert lines[0] == lines[1]


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name):
    numbers = draw.integers(-1, 2, (2, 300, 70))
    for kinds in (
        ("bool", "bool"),
        ("float32", "float32"),
        ("int64", "bool"),
        ("float32", "int64"),
        ("uint8", "uint8"),
    ):
        for size in (2, 300):
            results = []
            for m in (rl, torch):
                a, b = (
                    m.from_numpy(n[:size].copy()).to(getattr(m, kind)) for n, kind in zip(numbers, kinds, strict=True)
                )
                results.append([getattr(m, name)(a, b), getattr(m, name)(a, b[0]), getattr(a.clone(), name + "_")(b)])
            for ours, theirs in zip(*results, strict=True):
                assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
                np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
