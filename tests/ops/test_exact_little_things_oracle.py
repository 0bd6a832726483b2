"""What random calls found: empty tensors read as another dtype, losses of half precision, bins, failed factorizations."""

import itertools

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


def outcome(call):
    try:
        return call()
    except RuntimeError as error:
        return str(error).splitlines()[0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_strides_of_empty_tensors_that_are_read_as_another_dtype(dtype):
    def call(t, other, shape):
        found = t.empty(shape, dtype=getattr(t, dtype)).view(getattr(t, other))
        return tuple(found.shape), found.stride()

    shapes = [(0,), (0, 3), (3, 0), (0, 4), (2, 0), (2, 0, 3), (0, 1)]
    for other, shape in itertools.product(("float32", "float64", "float16", "int8"), shapes):
        assert outcome(lambda: call(rl, other, shape)) == outcome(lambda: call(torch, other, shape)), (other, shape)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_reduced_losses_of_half_precision_do_not_overflow_on_the_way(name, dtype):
    for count, value, reduction in itertools.product((5, 40, 3000), (200.0, 250.0), ("mean", "sum")):
        found = []
        for t in (rl, torch):
            x = t.full((count,), value, dtype=getattr(t, dtype))
            found.append(getattr(t.nn.functional, name)(x, x * 0, reduction=reduction).item())
        assert found[0] == found[1], (count, value, reduction)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bins_of_points(dtype):
    values = np.random.default_rng(0)
    for count in (1, 2, 3, 4):
        rows = values.standard_normal((5, count)) * 5
        bins = values.integers(1, 6, count).tolist()
        for points in (rows, np.repeat(rows[:1], 5, 0)):
            found = [t.histogramdd(t.from_numpy(points).to(getattr(t, dtype)), bins) for t in (rl, torch)]
            assert np.array_equal(found[0].hist.numpy(), found[1].hist.numpy())
            for ours, theirs in zip(found[0].bin_edges, found[1].bin_edges):
                assert np.array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("upper", [False, True])
def test_factors_of_matrices_that_are_not_positive_definite(upper):
    values = np.random.default_rng(0)
    for _ in range(20):
        matrix = values.standard_normal((4, 4)) * 3
        matrix = matrix @ matrix.T - 3 * np.eye(4)
        ours, theirs = (t.linalg.cholesky_ex(t.from_numpy(matrix), upper=upper) for t in (rl, torch))
        assert ours.info.item() == theirs.info.item()
        np.testing.assert_allclose(ours.L.numpy(), theirs.L.numpy(), 1e-6, 1e-6)


def test_least_squares_by_triangles_refuse_zeros_on_the_diagonal():
    for rows in (
        [[1.0, 0], [0, 0], [0, 0]],
        [[0.0, 0], [0, 1], [0, 1]],
        [[0.0, 0], [0, 0]],
        [[1.0, 0], [0, 2], [3, 1]],
    ):
        found = []
        for t in (rl, torch):
            matrix = t.tensor(rows)
            solve = t.linalg.lstsq
            found.append(outcome(lambda: solve(matrix, t.ones(len(rows), 1), driver="gels").solution.shape == (2, 1)))
        assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("weight_dtype", ["float16", "bfloat16", "float32"])
def test_covariances_with_weights_of_another_dtype(dtype, weight_dtype):
    values = np.random.default_rng(0)
    for number in range(20):
        rows = np.abs(values.standard_normal((3, 4))) * 60
        rows[:] = rows[:, :1] if number % 2 else rows
        weights = values.uniform(0.1, 3, 4)
        found = []
        for t in (rl, torch):
            x, w = t.from_numpy(rows).to(getattr(t, dtype)), t.from_numpy(weights).to(getattr(t, weight_dtype))
            found.append(t.cov(x, aweights=w).double().numpy())
        size = 8e-3 if "16" in dtype or "16" in weight_dtype else 1e-4
        np.testing.assert_allclose(*found, size, size * max(1.0, np.abs(found[1]).max()))


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_gradients_of_running_products_beside_zeros(dtype):
    inf, nan = float("inf"), float("nan")
    for row in ([0, inf, 2], [inf, 0, 2], [3, 0, 2], [0, 2, 0, 4], [nan, 0, 2, 3], [1, 0, nan, 3], [2, 3, 0], [0]):
        found = []
        for t in (rl, torch):
            x = t.tensor(row, dtype=t.float64).to(getattr(t, dtype)).requires_grad_()
            y = t.stack([x, x.flip(0)]).cumprod(1)
            weights = t.arange(1, len(row) + 1).expand_as(y).to(y.dtype)
            parts = list(t.autograd.grad(y, x, weights, retain_graph=True))
            if np.isfinite(row).all() and len(row) > 1:
                (slope,) = t.autograd.grad(y, x, weights, create_graph=True)
                parts += [slope, *t.autograd.grad(slope, x, t.ones_like(slope))]
            found.append([part.detach().resolve_conj().numpy() for part in parts])
        for ours, theirs in zip(*found):
            np.testing.assert_array_equal(ours, theirs, err_msg=str(row))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_zeros_of_both_signs_in_running_extremes(dtype):
    for name in ("cummin", "cummax"):
        found = []
        for t in (rl, torch):
            x = t.tensor([0.0, -0.0, 1, -0.0, 0.0, -0.0], dtype=getattr(t, dtype))
            found.append([(str(part.tolist())) for part in (*getattr(t, name)(x, 0), *getattr(t, name)(-x, 0))])
        assert found[0] == found[1]
