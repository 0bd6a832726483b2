"""Which operations have kernels, and that dispatch takes them: results above and below thresholds agree."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import kernels
from rushlight.kernels import routing
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning import registry
from rushlight.ops.table import INPLACE_LISTS, TABLE

needs_kernels = pytest.mark.skipif(host() is None, reason="no generated kernels here")
F = rl.nn.functional


@pytest.mark.parametrize("name", sorted(routing.ELEMENTS))
def test_thresholds_name_operations(name):
    elsewhere = (
        "linear_gradients",
        "sparse_line_sums",
        "sparse_line_products",
    )  # of linear_rows' node, of the room sparse
    assert name in TABLE or name in INPLACE_LISTS or name in elsewhere


@needs_kernels
@pytest.mark.parametrize("name", sorted(routing.ELEMENTS))
def test_every_threshold_has_a_kernel(name):
    assert callable(routing.kernel_of(name))


@needs_kernels
def test_every_kernel_has_a_threshold():
    for name in routing.ELEMENTS:
        routing.kernel_of(name)
    assert set(registry.KERNELS) <= set(routing.ELEMENTS)


def test_without_kernels_numpy_computes(monkeypatch):
    routing.kernel_of.cache_clear()
    routing._function.cache_clear()
    monkeypatch.setattr(routing, "host", lambda: None)
    try:
        x = rl.rand(200_000)
        np.testing.assert_allclose(rl.softmax(x, 0).numpy().sum(), 1, rtol=1e-5)
        np.testing.assert_allclose(x.exp().numpy(), np.exp(x.numpy()), rtol=1e-6)
    finally:
        routing.kernel_of.cache_clear()
        routing._function.cache_clear()


CALLS = {
    "exp": lambda x: x.exp(),
    "add": lambda x: x + x,
    "mul number": lambda x: x * 2.5,
    "compare": lambda x: x > 0.5,
    "where": lambda x: rl.where(x > 0.5, x, 0.0),
    "clamp": lambda x: x.clamp(0.2, 0.8),
    "gelu": lambda x: F.gelu(x),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(-1),
    "softmax": lambda x: rl.softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "matmul": lambda x: x @ x.T,
    "max_pool": lambda x: F.max_pool2d(x[None, None], 2),
    "avg_pool": lambda x: F.avg_pool2d(x[None, None], 2),
    "conv": lambda x: F.conv2d(x[None, None], rl.ones(4, 1, 3, 3, dtype=x.dtype)),
    "cumsum": lambda x: x.cumsum(1),
    "half": lambda x: x.half(),
    "transposed copy": lambda x: x.T.contiguous(),
    "cross_entropy": lambda x: F.cross_entropy(x, rl.zeros(len(x), dtype=rl.int64)),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.reshape(4, 8, 16, -1)] * 3),
    "index": lambda x: x[rl.arange(len(x) - 1, -1, -1)],
    "in place": lambda x: x.clone().mul_(3).add_(x),
    "out": lambda x: rl.add(x, x, out=rl.empty(0)),
}


@needs_kernels
@pytest.mark.parametrize("name", CALLS)
def test_large_calls_run_kernels(name):
    x = rl.rand(512, 512)
    with kernels.watching() as seen:
        found = CALLS[name](x)
    assert seen, "NumPy computed this"
    wanted = CALLS[name](x.double()).numpy()
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if name == "half" else {"rtol": 2e-5, "atol": 1e-5}
    np.testing.assert_allclose(found.numpy().astype(np.float64), wanted.astype(np.float64), **tolerance)


@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (None, 0.5), (0.0, None)])
def test_bounds_of_large_clamps_have_gradients(bounds):
    x = rl.linspace(-1, 1, 10_000).requires_grad_()
    x.clamp(*bounds).sum().backward()
    low, high = (limit if bound is None else bound for bound, limit in zip(bounds, (-2.0, 2.0)))
    np.testing.assert_array_equal(x.grad.numpy(), ((x >= low) & (x <= high)).float().numpy())


@needs_kernels
def test_show_prints_all_parts(capsys):
    y = kernels.show(rl.exp, rl.zeros(100_000))
    assert y.sum() == 100_000
    printed = capsys.readouterr().out
    for part in ("---- program", "parallel", "---- llvm", "define void @entry", "---- assembly", "launched once"):
        assert part in printed
    kernels.show(
        lambda: (F.gelu(rl.zeros(100_000)), F.mse_loss(rl.zeros(100_000), rl.ones(100_000))), parts=["formula"]
    )
    printed = capsys.readouterr().out
    assert printed.count("---- formula") == 2 and "def element(m, self, approximate" in printed
    kernels.show(lambda: rl.ones(2) + 1)
    assert "no kernel ran" in capsys.readouterr().out
    with pytest.raises(ValueError, match="parts are of formula"):
        kernels.show(rl.exp, rl.zeros(2), parts=["ptx"])


@needs_kernels
@pytest.mark.parametrize(
    "call",
    [
        lambda column, row: column * row,
        lambda column, row: row - column,
        lambda column, row: rl.where(column > 0, row, column),
        lambda column, row: column.double() / row,
    ],
)
def test_small_operands_of_large_results(call, monkeypatch):
    """The result's size decides, and small results of many pairs stay with NumPy."""
    from rushlight.kernels.elementwise import calls as elementwise

    sizes, run = [], elementwise.run

    def counted(op, arrays, *rest):
        sizes.append(np.broadcast(*arrays).size)
        return run(op, arrays, *rest)

    monkeypatch.setattr(elementwise, "run", counted)
    routing._function.cache_clear()
    try:
        column, row = rl.randn(300, 1), rl.randn(200)
        found = call(column, row)
        assert sizes == [60_000]
        assert rl.equal(found, call(column.expand(300, 200).clone(), row.expand(300, 200).clone()))
        sizes.clear()
        call(row, row)
        assert sizes == []
    finally:
        routing._function.cache_clear()
