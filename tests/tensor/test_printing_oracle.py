"""Printed arrays compared, character by character, with what the installed PyTorch prints for them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushlight.tensor import printing

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
LARGE_SHAPES = [(1001,), (1000,), (40, 40), (2, 600), (600, 2), (7, 7, 30), (1, 1, 1001), (3, 3, 3, 50), (7, 1, 300)]


@pytest.fixture(autouse=True)
def default_options():
    before = printing.get_printoptions()
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    printing.set_printoptions(**before)


def to_torch(array, dtype):
    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.uint16).copy()).reshape(array.shape).view(torch.bfloat16)
    return torch.from_numpy(array.copy()).reshape(array.shape)


def check(array, dtype, *, options=None, default_dtype="float32", gradient=None):
    """Print ``array`` with both, under ``options``; ``gradient`` is None, "leaf" or "node"."""
    torch.set_default_dtype(getattr(torch, default_dtype))
    for library in (torch, printing):
        library.set_printoptions(profile="default")
        library.set_printoptions(**(options or {}))
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    tensor, suffixes = to_torch(array, dtype), {}
    if gradient and (dtype in FLOATS or dtype in COMPLEX):
        tensor.requires_grad_()
        suffixes["requires_grad"] = True
        if gradient == "node":
            tensor = tensor.clone()
            suffixes["grad_fn_name"] = "CloneBackward0"
    ours = printing.format_tensor(array, dtype_name=dtype, default_dtype_name=default_dtype, **suffixes)
    assert ours == repr(tensor)


def numpy_dtype(dtype):
    return ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)


numbers = st.one_of(
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 1e-4, 1e8, 1000.0, 1001.0, 0.99995, 5e-324]),
    st.integers(-1000, 1000).map(float),
    st.floats(-100, 100),
    st.floats(),
)
print_options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 1, 5, 20, math.inf]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(1, 120),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.booleans(),
    },
)
small_shapes = st.lists(st.integers(0, 5), max_size=4).filter(lambda shape: math.prod(shape) <= 60)
gradients = st.sampled_from([None, "leaf", "node"])


@st.composite
def small_arrays(draw):
    dtype = draw(st.sampled_from([*FLOATS, *COMPLEX, *INTEGERS, "bool"]))
    shape = draw(small_shapes)
    count = math.prod(shape)
    if dtype in FLOATS or dtype in COMPLEX:
        parts = 2 if dtype in COMPLEX else 1
        element = numbers
        pool = np.array(draw(st.lists(element, min_size=1, max_size=12)))
        flat = np.resize(pool, count * parts)
        with np.errstate(all="ignore"):
            if dtype in COMPLEX:
                flat = flat.astype({"complex64": "float32", "complex128": "float64"}[dtype]).view(dtype)
            else:
                flat = flat.astype(numpy_dtype(dtype))
    elif dtype == "bool":
        flat = np.resize(np.array(draw(st.lists(st.booleans(), min_size=1, max_size=6))), count)
    else:
        limits = np.iinfo(dtype)
        element = st.one_of(st.integers(limits.min, limits.max), st.integers(0, 100))
        flat = np.resize(np.array(draw(st.lists(element, min_size=1, max_size=12)), dtype), count)
    return dtype, flat.reshape(shape)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(small_arrays(), print_options, st.sampled_from(["float32", "float64"]), gradients)
def test_small_arrays(dtype_and_array, options, default_dtype, gradient):
    dtype, array = dtype_and_array
    check(array, dtype, options=options, default_dtype=default_dtype, gradient=gradient)


def random_floats(rng, count):
    style = rng.integers(7)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-6, 9)
    if style == 1:
        values = np.round(values)
    elif style == 2:
        values = values * 10.0 ** rng.uniform(-3, 3, count)
    elif style == 3:
        values = np.round(rng.uniform(-20, 20, count))
    elif style == 4:
        values = np.zeros(count) * rng.choice([1, -1])
    elif style == 5:
        values = 10.0 ** rng.uniform(-300, 300, count)
    if rng.random() < 0.35:
        places = rng.integers(count, size=3)
        values[places] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], 3)
    return values


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX, *INTEGERS, "bool"])
def test_all_magnitudes_and_large_shapes(dtype):
    rng = np.random.default_rng(len(dtype) * 1000 + sum(map(ord, dtype)))
    for _ in range(80):
        shape = tuple(int(n) for n in rng.choice([1, 2, 3, 5, 8, 30], rng.integers(1, 4)))
        if rng.random() < 0.3:
            shape = LARGE_SHAPES[rng.integers(len(LARGE_SHAPES))]
        count = math.prod(shape)
        with np.errstate(all="ignore"):
            if dtype in COMPLEX:
                parts = np.stack([random_floats(rng, count), random_floats(rng, count)], -1)
                flat = parts.astype({"complex64": "float32", "complex128": "float64"}[dtype]).view(dtype)
            elif dtype in FLOATS:
                flat = random_floats(rng, count).astype(numpy_dtype(dtype))
            elif dtype == "bool":
                flat = rng.random(count) < 0.5
            else:
                limits = np.iinfo(dtype)
                high = limits.max if rng.random() < 0.5 else 99
                flat = rng.integers(limits.min if high > 99 else 0, high, count, dtype=dtype, endpoint=True)
        check(flat.reshape(shape), dtype, gradient=rng.choice([None, "leaf", "node"]))


def test_the_ratio_that_asks_for_scientific_notation_is_taken_in_double():
    rng = np.random.default_rng(0)
    for smallest in rng.uniform(0.001, 1, 60).astype(np.float32):
        largest = np.float32(np.float64(smallest) * 1000)
        for neighbour in (largest, np.nextafter(largest, np.float32(np.inf)), np.nextafter(largest, np.float32(0))):
            check(np.array([smallest, neighbour]), "float32")


def test_every_line_width_wraps_alike():
    array = np.arange(40.0).reshape(2, 20)
    for linewidth in range(-2, 130, 3):
        for gradient in ("leaf", "node"):
            check(array, "float64", options={"linewidth": linewidth}, gradient=gradient)
            check(array[:0], "float64", options={"linewidth": linewidth}, gradient=gradient)


def test_strided_and_broadcast_arrays():
    base = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for array in (base.transpose(2, 0, 1), base[:, ::-1], base[::2, 1:, ::3], np.broadcast_to(base[0], (50, 3, 4))):
        check(array, "float32")


def test_subclass_and_parameter():
    class Mine(torch.Tensor):
        pass

    array = np.arange(40, dtype=np.float32).reshape(2, 20)
    ours = printing.format_tensor(array, dtype_name="float32", prefix="Mine(")
    assert ours == repr(torch.from_numpy(array).as_subclass(Mine))
    ours = printing.format_tensor(array, dtype_name="float32", requires_grad=True)
    assert "Parameter containing:\n" + ours == repr(torch.nn.Parameter(torch.from_numpy(array)))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_replaced_contents_and_meta_tensors(shape, dtype, device):
    tensor = torch.zeros(shape, dtype=getattr(torch, dtype), device=device)
    named = {"dtype_name": dtype, "device": None if device == "cpu" else device}
    array = np.zeros(shape, dtype)
    assert printing.format_tensor(array, **named) == repr(tensor)
    assert printing.format_tensor(array, contents="hello", **named) == tensor.__repr__(tensor_contents="hello")


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("spec", ["", ".3f", "d", ">12", "05", "e", "zz"])
def test_format_of_scalars(dtype, spec):
    array = np.array(1.3).astype(numpy_dtype(dtype))
    tensor = to_torch(array.reshape(1), dtype)[0]
    try:
        expected = format(tensor, spec)
    except ValueError as error:
        with pytest.raises(ValueError) as ours:
            printing.format_scalar(array, spec)
        assert str(ours.value) == str(error)
    else:
        assert printing.format_scalar(array, spec) == expected


def test_format_of_others():
    tensor, array = torch.ones(2), np.ones(2)
    with pytest.raises(TypeError) as theirs:
        format(tensor, ".2f")
    with pytest.raises(TypeError) as ours:
        printing.format_scalar(array, ".2f", owner=tensor)
    assert str(ours.value).splitlines()[0] == str(theirs.value)
