"""Kernels of padding: the same elements as NumPy's way, for all modes, sides and dtypes; gradients; PyTorch's results."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import padding
from rushlight.ops import padding as ops

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
MODES = ("reflect", "replicate", "circular")
CASES = [  # shape, pad
    ((3, 40), (1, 2)), ((5, 3, 30), (29, 0)), ((2, 3, 17, 33), (3, 1, 0, 2)), ((2, 3, 5, 70), (0, 0, 2, 1)), ((2, 3, 40, 7), (6, 6, 1, 1)),
    ((2, 2, 3, 4, 50), (1, 2, 3, 1, 2, 1)), ((2, 1, 6, 5, 40), (0, 0, 0, 0, 1, 2)), ((2, 9, 30), (-3, 4)), ((2, 4, 12, 30), (5, -6, -2, 3)),
    ((1, 4, 300, 60), (2, 2, 2, 2)),
]  # fmt: skip


def block(shape, dtype="f4", seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 50).astype(dtype)


def plain(op, *arguments):
    """NumPy's way, without kernels."""
    return op.forward(*arguments)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2", "u1", "?", "c8"])
@pytest.mark.parametrize("shape, pad", CASES)
@pytest.mark.parametrize("mode", [*MODES, "constant"])
def test_padded(mode, shape, pad, dtype):
    x = block(shape, dtype)
    if mode == "constant":
        found, expected = padding.constant_pad_nd(x, pad, 3), plain(ops.constant_pad_nd, x, pad, 3)
        if found is NotImplemented:
            assert expected.shape[-1] < padding._NARROW
            return
    else:
        found, expected = padding.pad_by_places(x, pad, mode), plain(ops.pad_by_places, x, pad, mode)
    assert found.dtype == expected.dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, pad", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_gradient(mode, shape, pad, dtype):
    grad = block(plain(ops.pad_by_places, block(shape), pad, mode).shape, dtype)
    found = padding.pad_by_places_gradient(grad, shape, pad, mode)
    expected = plain(ops.pad_by_places_gradient, grad.astype("f8"), shape, pad, mode)
    assert (found.dtype, found.shape) == (grad.dtype, shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3 if dtype == "f4" else 1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_other_layouts(mode):
    x = block((4, 40, 30, 6)).transpose(0, 3, 2, 1)
    np.testing.assert_array_equal(
        padding.pad_by_places(x, (2, 1, 3, 0), mode), plain(ops.pad_by_places, x, (2, 1, 3, 0), mode)
    )
    grad = block((3, 44, 35, 6)).transpose(0, 3, 2, 1)[..., ::-1]
    shape = (3, 6, 32, 41)
    found = padding.pad_by_places_gradient(grad, shape, (2, 1, 3, 0), mode)
    expected = plain(ops.pad_by_places_gradient, grad.astype("f8"), shape, (2, 1, 3, 0), mode)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)


def test_channels_last_stays():
    x = rl.randn(2, 40, 9, 11).to(memory_format=rl.channels_last)
    found = rl.nn.functional.pad(x, (1, 2, 3, 4, 0, 1), value=2.5)
    assert found.is_contiguous(memory_format=rl.channels_last)
    expected = np.pad(x.numpy(), ((0, 0), (0, 1), (3, 4), (1, 2)), constant_values=2.5)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_what_is_declined():
    assert padding.pad_by_places_gradient(block((3, 43), "f2"), (3, 40), (1, 2), "reflect") is NotImplemented
    assert padding.pad_by_places(block((3, 43), "c16"), (1, 2), "reflect") is NotImplemented
    assert padding.constant_pad_nd(block((2, 3, 4, 5, 60)), (1, 0, 1, 0, 1, 0, 1, 0), 0) is NotImplemented
    assert padding.constant_pad_nd(block((3, 0)), (40, 2), 0) is NotImplemented
    assert padding.constant_pad_nd(block((3, 60)), (-60, 40), 0) is NotImplemented
    with pytest.raises(RuntimeError, match="must be non-negative"):
        padding.constant_pad_nd(block((3, 60)), (-70, 0), 0)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("mode", [*MODES, "constant"])
def test_programs_of_all_widths(lanes, mode):
    shape, sides, value = (2, 3, 4, 21), ((0, 0), (1, 2), (2, 0), (11, 1)), np.array([7], np.float32)
    x, plan = block(shape), padding.Extents(shape, sides, mode)
    flat = sum(sides[:0:-1], ())
    expected = plain(ops.constant_pad_nd, x, flat, 7) if mode == "constant" else plain(ops.pad_by_places, x, flat, mode)
    for pieces, share in ((1, 4), (3, 1)):
        out = np.full(plan.out_shape, np.nan, np.float32)
        program = padding.pad_rows("f32", lanes, mode == "constant")
        interpret(program, x, out, value, *plan.places, *plan.sizes, pieces, share)
        np.testing.assert_array_equal(out, expected)
        if mode != "constant":
            grad, found = block(out.shape), np.full(shape, np.nan, np.float32)
            program = padding.sum_padded_rows("f32", lanes)
            arrays = *plan.sources, plan.places[2], *plan.starts
            interpret(program, grad, found, *arrays, *plan.sizes, pieces, share)
            wanted = plain(ops.pad_by_places_gradient, grad.astype("f8"), shape, flat, mode)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-3)


def test_threads_change_nothing():
    grad, found = block((6, 3, 104, 204)), []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        found.append(padding.pad_by_places_gradient(grad, (6, 3, 100, 200), (2, 2, 2, 2), "reflect").tobytes())
    set_num_threads(2)
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    "shape, pad", [((2, 3, 40), (5, 9)), ((3, 4, 20, 30), (3, 2, 4, 1)), ((2, 3, 6, 7, 30), (1, 1, 2, 3, 3, 2))]
)
@pytest.mark.parametrize("mode", [*MODES, "constant"])
def test_against_pytorch(mode, shape, pad):
    torch = pytest.importorskip("torch")
    found = []
    for m in (rl, torch):
        x = m.tensor(block(shape), requires_grad=True)
        padded = m.nn.functional.pad(x, pad, mode=mode)
        (grad,) = m.autograd.grad((padded * padded).sum(), x, create_graph=True)
        (second,) = m.autograd.grad((grad * grad * grad).sum(), x)
        found.append([t.detach().numpy() for t in (padded, grad, second)])
    for mine, wanted in zip(*found):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-3)
