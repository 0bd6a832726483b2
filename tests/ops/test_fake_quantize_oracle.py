"""Rounding as quantized numbers would be: values, gradients, nodes and refusals are PyTorch's."""

import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

TENSOR, CHANNEL = "m.fake_quantize_per_tensor_affine", "m.fake_quantize_per_channel_affine"
STEPS = "m.tensor([0.25, 0.5, 0.3, 1e-3, 2.0, 0.7, 0.125, 3.0])"
ZEROS = "m.tensor([0, 1, -2, 0, 3, 1, 0, 2], dtype=m.int32)"
CALLS = (
    f"{TENSOR}(x, 0.5, 1, 0, 4)", f"{TENSOR}(x, 0.3, 0, -128, 127)", f"{TENSOR}(x, m.tensor(0.5), m.tensor(1), 0, 4)",
    f"{TENSOR}(x, m.tensor([0.5]).double(), m.tensor([1.25]), 0, 4)", f"{TENSOR}(x, 0.5, 9, 0, 4)", f"{TENSOR}(x, 0.5, 1, 4, 0)",
    f"{TENSOR}(x, m.tensor([0.5, 1.0]), m.tensor(1), 0, 4)", f"{TENSOR}(x, 0.0, 0, -4, 4)", f"{TENSOR}(x, -0.5, 0, -4, 4)",
    f"{CHANNEL}(x, {STEPS}, {ZEROS}, 1, -10, 10)", f"{CHANNEL}(x, {STEPS}, {ZEROS}.float() + 0.25, 1, -10, 10)",
    f"{CHANNEL}(x, {STEPS}, {ZEROS}.half(), 1, -10, 10)", f"{CHANNEL}(x, {STEPS}, {ZEROS}.long(), 1, -10, 10)",
    f"{CHANNEL}(x, {STEPS}.double(), {ZEROS}, 1, -10, 10)", f"{CHANNEL}(x, {STEPS}, {ZEROS}, 0, -10, 10)",
    f"{CHANNEL}(x, {STEPS}, {ZEROS}, 2, -10, 10)", f"{CHANNEL}(x, {STEPS}, {ZEROS}, -1, -10, 10)",
    f"{CHANNEL}(x, {STEPS}, {ZEROS}[:3], 1, -10, 10)", f"{CHANNEL}(x, {STEPS}, {ZEROS}, 1, -1, 1)",
    f"{CHANNEL}(x, {STEPS}[None], {ZEROS}, 1, -10, 10)", f"{CHANNEL}(x, {STEPS}, {ZEROS}[None], 1, -10, 10)",
    f"{CHANNEL}(x, {STEPS}.requires_grad_(), {ZEROS}, 1, -10, 10)",
)  # fmt: skip
NUMBERS = [
    [0.25, 0.75, -0.25, 1.25, -0.75, float("nan"), float("inf"), -float("inf")],
    [1e9, -1e9, 3, -3, 0, -0.0, 0.1, 7],
]


def outcome(module, call, dtype):
    x = module.tensor(NUMBERS).nan_to_num(5).to(getattr(module, dtype)) if dtype == "int64" else None
    x = module.tensor(NUMBERS, dtype=getattr(module, dtype), requires_grad=True) if x is None else x
    try:
        result = eval(call, {"m": module, "x": x})
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    result.sum().backward()
    return str(result.detach()), result.grad_fn.name(), str(x.grad)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64"])
@pytest.mark.parametrize("call", CALLS)
def test_calls(call, dtype):
    assert outcome(rushlight, call, dtype) == outcome(torch, call, dtype)
