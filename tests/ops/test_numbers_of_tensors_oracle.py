"""0-dim tensors where a number is taken, with values that the other tensor's dtype does not hold."""

import itertools

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

DTYPES = ("uint8", "int16", "bool", "float16", "float32")
FORMS = ("uint8", "int64", "bool", "bfloat16", "float64", "complex64")
VALUES = (300, -1, 70000.0, 3.7, float("nan"), 1e39)
CALLS = {
    "index_fill": lambda t, x, value: x.index_fill(0, t.tensor([0]), value),
    "full_like": lambda t, x, value: t.full_like(x, value),
    "full": lambda t, x, value: t.full((2,), value, dtype=x.dtype),
    "fill_diagonal_": lambda t, x, value: t.zeros(2, 2, dtype=x.dtype).fill_diagonal_(value),
    "bucketize": lambda t, x, value: t.bucketize(value, x),
    "fmod": lambda t, x, value: t.fmod(x, value),
    "floor_divide": lambda t, x, value: x // value,
    "index_add": lambda t, x, value: x.index_add(0, t.tensor([0]), x[:1], alpha=value),
}


def outcome(call):
    try:
        found = call()
        return str(found.dtype), str(found.tolist())
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.parametrize("name", CALLS)
def test_values_that_have_no_place(name):
    for dtype, form, value in itertools.product(DTYPES, FORMS, VALUES):
        if form == "complex64" and name in ("bucketize", "fmod", "floor_divide"):
            continue

        def call(t):
            number = t.tensor(value, dtype=t.float64).to(getattr(t, form))
            return CALLS[name](t, t.tensor([1, 2]).to(getattr(t, dtype)), number)

        assert outcome(lambda: call(rl)) == outcome(lambda: call(torch)), (dtype, form, value)


@pytest.mark.parametrize("name", ["full_like", "full", "fill_diagonal_", "index_add"])
def test_tracked_tensors_and_those_with_dimensions_are_no_numbers(name):
    for make in (lambda t: t.tensor(2.0, requires_grad=True), lambda t: t.tensor([2.0])):
        found, wanted = (outcome(lambda t=t: CALLS[name](t, t.ones(2), make(t))) for t in (rl, torch))
        assert found == wanted
