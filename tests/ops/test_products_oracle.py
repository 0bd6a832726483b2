"""Matrix products, linear layers, triangles and diagonals against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")
from oracle_processor import HALF_BY_ONEDNN  # noqa: E402

draw = np.random.default_rng(5)
ARRAYS = {
    "a": draw.standard_normal((3, 4)), "b": draw.standard_normal((4, 5)), "v": draw.standard_normal(4), "u": draw.standard_normal(4),
    "m": draw.standard_normal((2, 3, 4)), "n": draw.standard_normal((2, 4, 5)), "k": draw.standard_normal((6, 1, 4, 2)),
    "c": draw.standard_normal((3, 5)), "w": draw.standard_normal((5, 4)), "d": draw.standard_normal(5), "t": draw.standard_normal((5, 4, 4)),
}  # fmt: skip
CALLS = [
    "a @ b", "a @ v", "v @ b", "v @ u", "m @ b", "m @ v", "m @ n", "m @ k", "v @ n", "a.mm(b)", "a.mv(v)", "v.dot(u)",
    "torch.vdot(v, u)", "torch.outer(v, u)", "m.bmm(n)", "torch.addmm(c, a, b, beta=0.5, alpha=2)", "torch.addmm(d, a, b)",
    "torch.addmv(a[:, 0], a, v, alpha=3)", "torch.addr(t[0], v, u, beta=0)", "torch.baddbmm(m[:, :, :1], m, n, beta=2)",
    "torch.addbmm(c, m, n)", "F.linear(a, w)", "F.linear(a, w, d)", "F.linear(m, w)", "F.linear(m, w, d)", "F.linear(v, w)",
    "F.linear(v, w, d)", "F.linear(a, v)", "F.bilinear(a, a, t, d)", "a.tril()", "a.triu(1)", "m.tril(-1)", "torch.diag(v, 1)", "torch.diag(a, -1)",
    "torch.diag_embed(a, 1, 0, 2)", "torch.diagflat(a)", "torch.trace(a)",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    compare(torch, rl, code, ARRAYS, dtype="float64", tracked=list(ARRAYS), double=True)


@pytest.mark.parametrize(
    "code",
    [
        "a @ b",
        "m @ n",
        "v.dot(u)",
        "torch.vdot(v, u)",
        "torch.addmm(c, a, b)",
        "F.linear(a, w, d)",
        "torch.outer(v, u)",
    ],
)
def test_complex(code):
    arrays = {name: array * (1 + 0.5j) + 1j for name, array in ARRAYS.items()}
    compare(torch, rl, code, arrays, dtype="complex128", tracked=list(ARRAYS))


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
@pytest.mark.parametrize("code", ["a @ b", "m @ n", "F.linear(a, w, d)", "m @ v", "torch.addmm(c, a, b)"])
def test_layouts(code, layout):
    compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=list(ARRAYS))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("code", ["a @ b", "m @ n", "F.linear(a, w, d)", "v.dot(u)"])
def test_halves(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, factor=2)


@pytest.mark.parametrize(
    "code", ["i @ j", "i.mv(j[:, 0])", "torch.addmm(j[:1], i, j, alpha=2)", "i.tril()", "torch.trace(i)"]
)
def test_integers(code):
    compare(torch, rl, code, {"i": np.arange(-6, 6).reshape(3, 4), "j": np.arange(8).reshape(4, 2)})


@pytest.mark.parametrize(
    "code",
    [
        "a[:0] @ b",
        "a[:, :0] @ b[:0]",
        "m[:0] @ n[:0]",
        "F.linear(a[:0], w, d)",
        "v[:0].dot(u[:0])",
        "a[:, :0].mv(v[:0])",
    ],
)
def test_empty(code):
    compare(torch, rl, code, ARRAYS, dtype="float32", tracked=list(ARRAYS))


@pytest.mark.parametrize("code", ["a @ b", "a @ v", "v @ u", "m @ b", "m @ n", "m @ v", "torch.addmm(c, a, b)", "F.linear(a, w)",
                                  "F.linear(a, w, d)", "F.linear(m, w)", "F.linear(m, w, d)", "torch.diag_embed(a)", "torch.trace(a)",
                                  "a.tril()"])  # fmt: skip
def test_node_names(code):
    assert node_name(rl, code, ARRAYS, list(ARRAYS)) == node_name(torch, code, ARRAYS, list(ARRAYS))


@pytest.mark.parametrize("code", [
    "a @ a", "a.mm(v)", "v.mm(a)", "a.mv(v[:2])", "v.dot(u[:2])", "a.dot(b)", "m.bmm(m)", "a.bmm(b)", "m @ a", "m @ v[:2]", "m @ n[:, :2]",
    "v[0] @ a", "a @ v[:2]", "v[:2] @ b", "a @ b.double()", "a @ v.double()", "m @ n.double()", "a.long() @ b", "v.dot(u.double())",
    "torch.addmm(v[:3], a, b)", "torch.addmm(c.double(), a, b)", "torch.addmm(m, a, b)", "torch.outer(a, v)", "F.linear(a, b)",
    "F.linear(a, w, v)", "F.linear(a.double(), w, d)", "F.linear(m, b)", "F.bilinear(a, a, n)", "v.tril()", "m.diag()", "torch.trace(v)",
    "torch.diag_embed(a, 0, 1, 1)",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [(2, 3), (5, 5), (16, 33), (40, 60), (100, 300)])
def test_addmv_of_half_precision_rounds_as_pytorch_does(size, turned, dtype):
    if dtype == "float16" and not HALF_BY_ONEDNN:
        pytest.skip("PyTorch sums in another order on this processor")
    values = np.random.default_rng(sum(size))
    parts = [values.standard_normal(shape).astype(np.float32) for shape in (size[0], size, size[1])]
    found = []
    for t in (rl, torch):
        x, matrix, vector = (t.from_numpy(part).to(getattr(t, dtype)) for part in parts)
        found.append(t.addmv(x, matrix.t().contiguous().t() if turned else matrix, vector).float().numpy())
    assert (found[0] != found[1]).mean() <= 0.02  # sums in another order are rounded another way now and then


@pytest.mark.parametrize(("a", "b", "dims"), [((2, 3), (2, 3), 2), ((3,), (3,), 1), ((2, 3), (3, 2), [[0, 1], [1, 0]]),
                                              ((2, 1, 3), (3, 2), [[0, 2], [1, 0]]), ((), (), 0)])  # fmt: skip
def test_tensordot_to_one_element_has_pytorchs_graph(a, b, dims):
    found = []
    for t in (rl, torch):
        result = t.tensordot(t.ones(a, requires_grad=True), t.ones(b), dims)
        inner = result.grad_fn.next_functions[0][0]
        found.append((type(result.grad_fn).__name__, type(inner).__name__, tuple(result.shape), result.item()))
    assert found[0] == found[1]
