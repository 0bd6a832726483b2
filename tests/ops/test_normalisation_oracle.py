"""Softmax and normalisation layers against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(6)
ARRAYS = {"x": draw.standard_normal((3, 4, 5)), "w": draw.standard_normal(5), "b": draw.standard_normal(5), "c": draw.standard_normal(4),
          "e": draw.standard_normal(4), "mean": draw.standard_normal(4), "var": draw.uniform(0.5, 2, 4),
          "f": draw.standard_normal((4, 5))}  # fmt: skip
CALLS = [
    "x.softmax(0)", "x.softmax(-1)", "x.log_softmax(1)", "F.softmin(x, 2)", "F.softmax(x, 1, dtype=torch.float64)", "x[0, 0, 0].softmax(0)",
    "F.layer_norm(x, (5,))", "F.layer_norm(x, (5,), w, b)", "F.layer_norm(x, (4, 5), f, f, 0.1)", "F.rms_norm(x, (5,), w)", "F.rms_norm(x, (4, 5), eps=0.1)",
    "F.group_norm(x, 2)", "F.group_norm(x, 4, c, e)", "F.batch_norm(x, None, None, c, e, True)", "F.batch_norm(x, mean, var, c, e)",
    "F.batch_norm(x[:, :, 0], None, None, training=True)", "F.instance_norm(x)", "F.instance_norm(x, weight=c, bias=e)",
    "F.instance_norm(x, mean, var, c, e, use_input_stats=False)", "F.local_response_norm(x, 3)", "F.normalize(x, dim=2)",
]  # fmt: skip
TRACKED = ["x", "w", "b", "c", "e", "f"]


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    compare(torch, rl, code, ARRAYS, dtype="float64", tracked=TRACKED, double=True)


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
@pytest.mark.parametrize("code", ["x.softmax(1)", "x.log_softmax(-1)", "F.layer_norm(x, (5,), w, b)", "F.group_norm(x, 2, c, e)",
                                  "F.batch_norm(x, None, None, c, e, True)"])  # fmt: skip
def test_layouts(code, layout):
    compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=TRACKED)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("code", ["x.softmax(1)", "x.log_softmax(-1)", "F.layer_norm(x, (5,), w, b)", "F.group_norm(x, 2)", "F.rms_norm(x, (5,))",
                                  "F.batch_norm(x, None, None, c, e, True)"])  # fmt: skip
def test_halves(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, factor=2)


def test_large_rows_go_in_blocks():
    arrays = {"x": draw.standard_normal((700, 400)), "w": draw.standard_normal(400)}
    for code in ("x.softmax(1)", "x.log_softmax(-1)", "F.layer_norm(x, (400,), w, w)", "x.softmax(0)"):
        compare(torch, rl, code, arrays, dtype="float64", tracked=["x", "w"])


@pytest.mark.parametrize("code", ["x.softmax(0)", "x.log_softmax(0)", "x.logsumexp(0)"])
def test_extreme_values(code):
    values = np.array([[1000.0, -np.inf, np.inf, np.nan], [1001.0, -np.inf, 1.0, 1.0]])
    compare(torch, rl, code, {"x": values}, dtype="float32")


@pytest.mark.parametrize("code", ["x[:0].softmax(1)", "x[:, :0].softmax(1)", "F.layer_norm(x[:0], (5,))", "x[:0].log_softmax(0)",
                                  "F.batch_norm(x[:0], mean, var)"])  # fmt: skip
def test_empty(code):
    compare(torch, rl, code, ARRAYS, dtype="float32", tracked=["x"])


def test_running_statistics_move():
    results = []
    for module in (rl, torch):
        mean, var = module.zeros(4), module.ones(4)
        module.nn.functional.batch_norm(module.from_numpy(ARRAYS["x"]).float(), mean, var, training=True, momentum=0.3)
        module.nn.functional.instance_norm(module.from_numpy(ARRAYS["x"]).float(), mean, var, momentum=0.2)
        results.append((mean.numpy(), var.numpy()))
    np.testing.assert_allclose(results[0], results[1], 1e-5)


@pytest.mark.parametrize("code", ["torch.native_layer_norm(x, (5,), w, b, 1e-5)", "torch.native_group_norm(x, c, e, 3, 4, 5, 2, 1e-5)",
                                  "torch.native_batch_norm(x, c, e, None, None, True, 0.1, 1e-5)",
                                  "torch.native_batch_norm(x, c, e, mean, var, False, 0.1, 1e-5)",
                                  "torch.instance_norm(x, c, e, None, None, True, 0.1, 1e-5, False)",
                                  "torch.batch_norm(x, c, e, mean, var, False, 0.1, 1e-5, False)"])  # fmt: skip
def test_native_forms(code):
    compare(torch, rl, code, ARRAYS, dtype="float32", tracked=["x", "c", "e"])


@pytest.mark.parametrize("code", ["x.softmax(0)", "x.log_softmax(0)", "F.layer_norm(x, (5,))", "F.group_norm(x, 2)",
                                  "F.batch_norm(x, None, None, training=True)", "F.instance_norm(x)"])  # fmt: skip
def test_node_names(code):
    assert node_name(rl, code, ARRAYS, ["x"]) == node_name(torch, code, ARRAYS, ["x"])


@pytest.mark.parametrize("code", [
    "x.softmax(3)", "x.long().log_softmax(2)", "x.long().softmax(2)", "F.layer_norm(x, (4,))", "F.layer_norm(x, ())", "F.layer_norm(x, (5,), c)",
    "F.layer_norm(x.long(), (5,))", "F.rms_norm(x, (4,))", "F.group_norm(x, 3)", "F.group_norm(x[:1, :4, :1, :1], 4)", "F.group_norm(x, 2, w)", "F.group_norm(w, 1)",
    "F.batch_norm(x, None, None)", "F.batch_norm(x, mean, None, training=True)", "F.batch_norm(x, None, var, training=True)", "F.batch_norm(x, mean[:2], var)", "F.batch_norm(x, mean, var, w)", "F.batch_norm(x[:1, :, :1], mean, var, training=True)",
    "F.instance_norm(x[:, :, :1])", "F.local_response_norm(w, 2)",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


@pytest.mark.parametrize("shape", [(0, 4), (0, 4, 3), (2, 4, 0)])
def test_batch_norm_of_nothing_leaves_the_statistics(shape):
    found = []
    for lib in (torch, rl):
        mean, variance, weight = lib.zeros(4), lib.ones(4), lib.ones(4, requires_grad=True)
        x = lib.zeros(shape, requires_grad=True)
        lib.nn.functional.batch_norm(x, mean, variance, weight, lib.ones(4), training=True).sum().backward()
        found.append((mean.tolist(), variance.tolist(), weight.grad.tolist(), tuple(x.grad.shape)))
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(6, 6), (36,), (2, 6, 3), (3, 12)])
def test_native_group_norm_takes_its_sizes_from_the_arguments(shape):
    values = np.arange(36, dtype=np.float32).reshape(shape)
    results = [
        lib.native_group_norm(lib.tensor(values.tolist()), lib.full((6,), 2.0), lib.ones(6), 2, 6, 3, 2, 1e-5)
        for lib in (torch, rl)
    ]
    for expected, found in zip(*results):
        assert tuple(found.shape) == tuple(expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("training", [True, False])
def test_native_batch_norm_reads_no_other_memory(place, size, training):
    """Where PyTorch reads and writes beyond parameters and statistics of another size, we refuse."""
    beside = [rl.ones(2) for _ in range(4)]
    beside[place] = rl.ones(size)
    with pytest.raises(RuntimeError, match=f"should contain 2 elements not {size}"):
        rl.native_batch_norm(rl.ones(3, 2, 4), *beside, training, 0.1, 1e-5)
