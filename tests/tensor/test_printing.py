"""Printed tensors, print options and ``__format__`` on arrays, against texts that PyTorch 2.13 printed."""

import time

import numpy as np
import pytest

from rushlight.tensor import printing

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def default_options():
    before = printing.get_printoptions()
    printing.set_printoptions(profile="default")
    yield
    printing.set_printoptions(**before)


def text(values, dtype="float32", shape=None, **suffixes):
    array = np.array(values, dtype)
    array = array if shape is None else array.reshape(shape)
    return printing.format_tensor(array, dtype_name=dtype, **suffixes)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (1.5, "float32", "tensor(1.5000)"),
        (0.0, "float32", "tensor(0.)"),
        (NAN, "float32", "tensor(nan)"),
        ([1.0, 2.0], "float32", "tensor([1., 2.])"),
        ([-0.0, 1.5], "float32", "tensor([-0.0000, 1.5000])"),
        ([NAN, 1.5], "float32", "tensor([   nan, 1.5000])"),
        ([-INF, 1.0], "float32", "tensor([-inf, 1.])"),
        ([1.0, 1000.0], "float32", "tensor([   1., 1000.])"),
        ([1.0, 1001.0], "float32", "tensor([1.0000e+00, 1.0010e+03])"),
        ([1e8], "float32", "tensor([100000000.])"),
        ([1.0001e8], "float64", "tensor([1.0001e+08], dtype=torch.float64)"),
        ([1e-4], "float64", "tensor([0.0001], dtype=torch.float64)"),
        ([1e-4], "float32", "tensor([1.0000e-04])"),
        ([0.0, 1e-9], "float32", "tensor([0.0000e+00, 1.0000e-09])"),
        ([5e-324, 1.0], "float64", "tensor([4.9407e-324,  1.0000e+00], dtype=torch.float64)"),
        ([65504.0, 1.0], "float16", "tensor([6.5504e+04, 1.0000e+00], dtype=torch.float16)"),
        (2, "int8", "tensor(2, dtype=torch.int8)"),
        ([-(2**63), 5], "int64", "tensor([-9223372036854775808,                    5])"),
        ([2**64 - 1], "uint64", "tensor([18446744073709551615], dtype=torch.uint64)"),
        ([True, False], "bool", "tensor([ True, False])"),
        (1 + 2j, "complex64", "tensor(1.+2.j)"),
        ([1 + 2j, -1.5 - 2j], "complex64", "tensor([ 1.0000+2.j, -1.5000-2.j])"),
        ([complex(0, NAN), complex(INF, 1.5)], "complex64", "tensor([0.+nanj, inf+1.5000j])"),
        ([complex(-0.0, -0.0)], "complex128", "tensor([-0.-0.j], dtype=torch.complex128)"),
    ],
)
def test_values(values, dtype, expected):
    assert text(values, dtype) == expected


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, 1e38], ml_dtypes.bfloat16)
    assert printing.format_tensor(array[:1], dtype_name="bfloat16") == "tensor([1.5000], dtype=torch.bfloat16)"
    assert printing.format_tensor(array[1:], dtype_name="bfloat16") == "tensor([9.9692e+37], dtype=torch.bfloat16)"
    assert printing.format_scalar(array[0:1].reshape(()), "") == "1.5"


def test_blank_lines_separate_blocks():
    assert text(range(1, 9), shape=(2, 2, 2)) == (
        "tensor([[[1., 2.],\n         [3., 4.]],\n\n        [[5., 6.],\n         [7., 8.]]])"
    )


def test_rows_wrap_at_the_line_width():
    assert text(range(24), "int64").splitlines() == [
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,",
        "        18, 19, 20, 21, 22, 23])",
    ]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1001,), "tensor([0., 0., 0.,  ..., 0., 0., 0.])"),
        ((1, 1001), "tensor([[0., 0., 0.,  ..., 0., 0., 0.]])"),
        (
            (1001, 1),
            "tensor([[0.],\n        [0.],\n        [0.],\n        ...,\n        [0.],\n        [0.],\n        [0.]])",
        ),
    ],
)
def test_large_tensors_show_their_edges(shape, expected):
    assert text(np.zeros(shape)) == expected


def test_the_cost_does_not_grow_with_the_size():
    array = np.broadcast_to(np.float32(1.5), (10**6, 10**6, 2))
    start = time.perf_counter()
    printed = printing.format_tensor(array, dtype_name="float32")
    assert time.perf_counter() - start < 1.0
    assert printed.count("1.5000") == 6 * 6 * 2


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((0,), "float32", "tensor([])"),
        ((0,), "int64", "tensor([], dtype=torch.int64)"),
        ((0,), "bool", "tensor([], dtype=torch.bool)"),
        ((0, 3), "float32", "tensor([], size=(0, 3))"),
        ((3, 0, 2), "complex64", "tensor([], size=(3, 0, 2), dtype=torch.complex64)"),
    ],
)
def test_empty(shape, dtype, expected):
    assert text(np.zeros(shape), dtype) == expected


def test_suffixes():
    assert text([1.0], requires_grad=True) == "tensor([1.], requires_grad=True)"
    assert text([1.0], requires_grad=True, grad_fn_name="MulBackward0") == "tensor([1.], grad_fn=<MulBackward0>)"
    assert text([1.0], tangent="tensor([2.])") == "tensor([1.], tangent=tensor([2.]))"
    assert text([1.0], "float64", default_dtype_name="float64") == "tensor([1.])"
    assert text([1.0], default_dtype_name="float64") == "tensor([1.], dtype=torch.float32)"
    assert text([1j], "complex64", default_dtype_name="float64") == "tensor([0.+1.j], dtype=torch.complex64)"
    assert text([1.0], "float64", device="cuda:0") == "tensor([1.], device='cuda:0', dtype=torch.float64)"
    assert text([[1.0, 2.0]], contents="hello") == "tensor(hello)"
    assert text(np.zeros((2, 3)), "int32", device="meta") == (
        "tensor(..., device='meta', size=(2, 3), dtype=torch.int32)"
    )


def test_suffixes_take_a_new_line_when_the_line_is_full():
    printing.set_printoptions(linewidth=48)
    assert text([1.0] * 5, "float64", requires_grad=True) == (
        "tensor([1., 1., 1., 1., 1.],\n       dtype=torch.float64, requires_grad=True)"
    )


def test_subclass_prefix_moves_the_rows():
    assert text([[1.0], [2.0]], prefix="Mine(") == "Mine([[1.],\n      [2.]])"


def test_option_profiles():
    printing.set_printoptions(profile="short")
    assert text([1.23456]) == "tensor([1.23])"
    printing.set_printoptions(profile="full", edgeitems=5)
    assert printing.get_printoptions() == {
        "precision": 4,
        "threshold": INF,
        "edgeitems": 5,
        "linewidth": 80,
        "sci_mode": None,
    }
    assert text(range(1001), "int64").count(",") == 1000
    printing.set_printoptions(profile="no such profile")
    assert printing.get_printoptions()["edgeitems"] == 5


def test_every_call_resets_scientific_mode():
    printing.set_printoptions(sci_mode=True)
    assert text([1.5]) == "tensor([1.5000e+00])"
    printing.set_printoptions(precision=2)
    assert text([1.5]) == "tensor([1.50])"
    printing.set_printoptions(sci_mode=False)
    assert text([1e-9, 1e9]) == "tensor([         0.00, 1000000000.00])"


def test_no_edge_items():
    printing.set_printoptions(edgeitems=0, threshold=2)
    assert text([1.0, 2.0, 3.0]) == "tensor([...], size=(3,))"
    assert text([1.0, 2.0]) == "tensor([1., 2.], size=(2,))"


def test_options_for_a_block():
    printing.set_printoptions(sci_mode=True)
    with pytest.raises(KeyError), printing.printoptions(precision=1, linewidth=40):
        assert text([1.25]) == "tensor([1.2])"
        raise KeyError
    assert printing.get_printoptions() == {
        "precision": 4,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": True,
    }
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        printing.set_printoptions(bogus=1)


@pytest.mark.parametrize(
    ("value", "dtype", "spec", "expected"),
    [
        (3.5, "float32", "", "3.5"),
        (3.5, "float32", ".2f", "3.50"),
        (1.1, "float32", "", "1.100000023841858"),
        (3.3, "float16", "", "3.30078125"),
        (3, "int64", "05d", "00003"),
        (True, "bool", "", "True"),
        (True, "bool", ">6", "     1"),
        (1 + 2j, "complex64", ".2f", "1.00+2.00j"),
    ],
)
def test_scalars_format_as_numbers(value, dtype, spec, expected):
    assert printing.format_scalar(np.array(value, dtype), spec) == expected


def test_other_tensors_format_as_objects():
    class Mine:
        def __str__(self):
            return "Mine(3.5000)"

    scalar, vector = np.array(3.5), np.array([3.5, 1.0])
    assert printing.format_scalar(scalar, "", owner=Mine(), plain=False) == "Mine(3.5000)"
    assert printing.format_scalar(vector, "", owner=Mine()) == "Mine(3.5000)"
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Mine.__format__\nhint: .*x\.item\(\)"):
        printing.format_scalar(scalar, ".3f", owner=Mine(), plain=False)
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__\nhint: .*\(2,\)"):
        printing.format_scalar(vector, ".3f")
    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        printing.format_scalar(scalar, "d")
