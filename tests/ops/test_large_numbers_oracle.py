"""Numbers that a dtype could only hold as an infinity are refused as PyTorch refuses them."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

NUMBERS = {
    "float16": [65504.0, 65519.0, -1e9, 70000, float("inf"), float("-inf"), 2**70, -(2**70)],
    "bfloat16": [3.3895313892515355e38, 3.395e38, -1e39, float("inf"), 2**70],
    "float32": [3.4028234663852886e38, 3.5e38, -1e40, float("-inf"), 2**70],
    "float64": [1e300, 2**70],
}
CALLS = {
    "fill_": lambda m, x, v: x.fill_(v),
    "full": lambda m, x, v: m.full((2,), v, dtype=x.dtype),
    "full_like": lambda m, x, v: m.full_like(x, v),
    "masked_fill": lambda m, x, v: x.masked_fill(x > 0, v),
    "masked_fill_": lambda m, x, v: x.masked_fill_(x > 0, v),
    "index_fill": lambda m, x, v: x.index_fill(0, m.tensor([1]), v),
    "scatter": lambda m, x, v: x.scatter(0, m.tensor([1]), v),
    "setitem": lambda m, x, v: x.__setitem__(0, v),
    "setitem at places": lambda m, x, v: x.__setitem__(m.tensor([0]), v),
    "clamp": lambda m, x, v: x.clamp(min=v),
    "add": lambda m, x, v: m.add(x, x, alpha=v),
    "sub_": lambda m, x, v: x.sub_(x.clone(), alpha=v),
    "constant_": lambda m, x, v: m.nn.init.constant_(x, v),
}


def outcome(module, call, dtype, size, number):
    x = module.ones(size, dtype=getattr(module, dtype))
    try:
        found = call(module, x, number)
    except (RuntimeError, OverflowError, ValueError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    return (x if found is None else found)[:2].tolist()


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize("name", CALLS)
def test_same_as_pytorch(name, size):
    for dtype, numbers in NUMBERS.items():
        for number in numbers:
            ours, theirs = (outcome(module, CALLS[name], dtype, size, number) for module in (rl, torch))
            assert ours == theirs, (dtype, number)
