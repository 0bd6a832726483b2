"""Half precision beside a 0-dim tensor of another dtype: PyTorch rounds that first, except a factor or divisor that comes second."""

import itertools

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

LOGIC = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
EXACT = (
    *("add", "sub", "mul", "true_divide", "floor_divide", "eq", "ne", "lt", "ge", "gt", "le", "remainder", "fmod"),
    *("maximum", "minimum", "fmax", "fmin", "copysign"),
)
ROUNDED = ("pow", "atan2", "hypot", "logaddexp")  # their last bit may differ


def _results(library, name, half, other, count, place, form):
    """The elements of ``name`` on ``count`` numbers in half precision and a 0-dim tensor."""
    base = np.linspace(0.05, 1.05, count, dtype=np.float32)
    array = library.from_numpy(base).to(getattr(library, half))
    number = library.tensor(2.7 if other == "int64" else 0.3, dtype=library.float64).to(getattr(library, other))
    if form == "inplace":
        found = getattr(array, f"{name}_")(number)
    elif form == "out":
        out = library.empty(0, dtype=getattr(library, name)(array, number).dtype)
        found = getattr(library, name)(array, number, out=out)
    else:
        found = getattr(library, name)(*((array, number) if place == "second" else (number, array)))
    return str(found.dtype), found.float().numpy()


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", EXACT + ROUNDED)
def test_a_zero_dim_operand_is_rounded_as_pytorch_does(name, half):
    for other in ("float16", "bfloat16", "float32", "float64", "int64"):
        for count in (5, 3000):
            for place, form in (("second", "new"), ("first", "new"), ("second", "inplace"), ("second", "out")):
                if form == "inplace" and not hasattr(torch.Tensor, f"{name}_"):
                    continue
                (kind, found), (wanted, expected) = (
                    _results(library, name, half, other, count, place, form) for library in (rl, torch)
                )
                case = f"{other}, {count} elements, {place}, {form}"
                assert kind == wanted, case
                last = (2**-8 if half == "bfloat16" else 2**-11) if name in ROUNDED else 0
                different = np.abs(found - expected) > 2 * last * np.abs(expected)
                assert not different.any(), (case, found[different][:3], expected[different][:3])
                assert (found != expected).mean() <= 0.01, case


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", EXACT)
def test_integers_with_more_digits_are_rounded_as_pytorch_does(name, half):
    """A tensor of one element that comes second is taken as it is in products and quotients, however many dimensions it has."""
    integers = np.random.default_rng(0).integers(3000, 9000, 200)
    for count, other in ((1, 1), (5, 1), (200, 1), (1, 200), (5, 5), (40, 40), (200, 200)):
        for is_second in (True, False):
            found = []
            for t in (rl, torch):
                array = t.linspace(0.05, 1.05, count).to(getattr(t, half))
                number = t.from_numpy(integers[:other].reshape(1, other))
                pair = (array, number) if is_second else (number, array)
                found.append(getattr(t, name)(*pair).float().numpy())
            assert np.array_equal(*found), (count, other, is_second)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("count", [3, 100_000])
def test_logic_is_of_the_promoted_dtype(name, count):
    """A number that is nonzero in its own dtype may be zero in that of the tensor beside it."""
    for dtype, other in itertools.product(LOGIC, (256, -512, 3, 0, 1e-9, 1e-60, 0.5, True)):
        found = []
        for t in (rl, torch):
            x, y = t.ones(count).to(getattr(t, dtype)), t.tensor(other, dtype=t.float64 if other == 1e-60 else None)
            found.append([getattr(t, name)(*pair).sum().item() for pair in ((x, y), (y, x), (x * 0, y))])
        assert found[0] == found[1], (dtype, other)
