"""Kernels of products with sparse matrices: NumPy's results for all widths, dtypes and layouts; programs as interpreted."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import kernels, set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import embedding_bags, sparse_lines
from rushlight.sparse import row_products

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")


def matrix(rows, columns, entries, dtype="f4", seed=0, **options):
    """A COO matrix with some empty rows, entries in any order, and its dense form in float64."""
    random = np.random.default_rng(seed)
    places = np.unique(random.integers(0, rows * columns, entries))
    places = random.permutation(places[places // columns % 5 != 2])
    values = random.standard_normal(places.size).astype(dtype)
    found = torch.sparse_coo_tensor(
        np.stack(np.divmod(places, columns)), torch.from_numpy(values), (rows, columns), **options
    )
    return found, found.to_dense().numpy().astype("f8")


@pytest.mark.parametrize("width", [1, 3, 16, 64, 70, 150])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8", "i8"])
@pytest.mark.parametrize("layout", ["coo", "coalesced", "csr", "csc"])
def test_products(width, dtype, layout):
    kind = dtype if dtype in ("f4", "f8") else "f8"
    x, dense = matrix(300, 200, 4000, kind)
    if dtype not in ("f4", "f8"):
        x, dense = (x * 4).to(torch.from_numpy(np.zeros(0, dtype)).dtype), None
        dense = x.to_dense().numpy().astype("c16" if dtype == "c8" else "f8")
    x = {"coo": x, "coalesced": x.coalesce(), "csr": x.to_sparse_csr(), "csc": x.to_sparse_csc()}[layout]
    right = torch.from_numpy((np.random.default_rng(1).standard_normal((200, width)) * 3).astype(dtype))
    tolerance = 2e-2 if dtype == "f2" else 1e-4
    np.testing.assert_allclose((x @ right).numpy(), dense @ right.numpy().astype(dense.dtype), tolerance, tolerance)
    back = torch.from_numpy((np.random.default_rng(2).standard_normal((300, width)) * 3).astype(dtype))
    np.testing.assert_allclose(
        (x.t() @ back).numpy(), dense.T @ back.numpy().astype(dense.dtype), tolerance, tolerance * 4
    )


@pytest.mark.parametrize("width", [1, 5, 64, 150])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_gradients_of_values(width, dtype):
    x, _ = matrix(300, 200, 4000, dtype)
    random = np.random.default_rng(1)
    right, grad = (torch.from_numpy(random.standard_normal((n, width)).astype(dtype)) for n in (200, 300))
    x.requires_grad_()
    torch.sparse.mm(x, right).backward(grad)
    rows, columns = x._indices().numpy()
    expected = (grad.numpy().astype("f8")[rows] * right.numpy().astype("f8")[columns]).sum(1)
    np.testing.assert_allclose(x.grad._values().numpy(), expected, 1e-3, 1e-4)


def test_kernels_and_numpy_agree(monkeypatch):
    x, _ = matrix(300, 200, 4000)
    right = torch.from_numpy(np.random.default_rng(1).standard_normal((200, 40)).astype("f4"))
    pattern, values = x._array.pattern, x._array.values
    with kernels.watching() as seen:
        sums = [
            row_products.line_sums(values, pattern, axis, right._array if axis == 0 else sums_of(right))
            for axis in (0, 1)
        ]
        products = row_products.line_products(sums[0], right._array, pattern, 0)
    assert sum(seen.values()) == 3
    monkeypatch.setattr(row_products, "elements_of", lambda name: 1 << 62)
    for axis in (0, 1):
        plain = row_products.line_sums(values, pattern, axis, right._array if axis == 0 else sums_of(right))
        np.testing.assert_allclose(sums[axis], plain, 1e-4, 1e-4)
    np.testing.assert_allclose(products, row_products.line_products(sums[0], right._array, pattern, 0), 1e-3, 1e-3)


def sums_of(right):
    return np.resize(right._array, (300, 40)).copy()


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_programs_of_all_widths(lanes):
    random = np.random.default_rng(0)
    rows, columns = random.integers(0, 5, 11), random.integers(0, 7, 11)
    left, right = (random.standard_normal((n, 37)).astype("f4") for n in (5, 7))
    found = np.empty(11, "f4")
    interpret(sparse_lines.row_products("f32", "i64", lanes), rows, columns, left, right, found, 37, 11, 6)
    np.testing.assert_allclose(found, (left[rows] * right[columns]).sum(1), 1e-4, 1e-4)
    starts, order = np.array([0, 3, 3, 11]), random.permutation(11)
    factors, sums = random.standard_normal(11).astype("f4"), np.empty((3, 37), "f4")
    program = embedding_bags.pool_rows("f32", "i64", lanes, 2, "sum", "by order")
    interpret(program, right, columns, starts[:-1], starts[1:], factors, order, sums, np.empty(1, np.int64), 37, 3, 2)
    expected = [(right[columns[a:b]] * factors[order[a:b], None]).sum(0) for a, b in zip(starts, starts[1:])]
    np.testing.assert_allclose(sums, expected, 1e-4, 1e-4)


def test_threads_change_nothing():
    x, _ = matrix(3000, 2000, 40_000)
    right, found = torch.from_numpy(np.random.default_rng(1).standard_normal((2000, 64)).astype("f4")), []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        found.append((x @ right).numpy().tobytes())
    set_num_threads(2)
    assert len(set(found)) == 1
