"""Convolutions and transposed ones against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(3)
ARRAYS = {
    "x1": draw.standard_normal((2, 4, 7)), "w1": draw.standard_normal((6, 4, 3)),
    "x2": draw.standard_normal((2, 4, 6, 5)), "w2": draw.standard_normal((6, 4, 3, 2)), "g2": draw.standard_normal((6, 2, 3, 2)),
    "d2": draw.standard_normal((8, 1, 2, 3)), "x3": draw.standard_normal((1, 2, 4, 4, 5)), "w3": draw.standard_normal((3, 2, 2, 3, 2)),
    "b": draw.standard_normal(6), "t2": draw.standard_normal((4, 3, 3, 2)), "p2": draw.standard_normal((5, 4, 1, 1)),
}  # fmt: skip
CALLS = [
    "F.conv1d(x1, w1)", "F.conv1d(x1, w1, b, stride=2, padding=1)", "F.conv1d(x1, w1, dilation=2)", "F.conv1d(x1, w1, padding='same')",
    "F.conv1d(x1[0], w1)", "F.conv2d(x2, w2)", "F.conv2d(x2, w2, b, (2, 1), (1, 2), (1, 2))", "F.conv2d(x2, g2, b, groups=2)",
    "F.conv2d(x2, d2, groups=4, padding=1)", "F.conv2d(x2, p2)", "F.conv2d(x2, w2, padding='same')", "F.conv2d(x2[0], w2, padding='valid')",
    "F.conv3d(x3, w3, stride=(1, 2, 1), padding=1)", "F.conv_transpose1d(x1, w1[:4].transpose(1, 1), stride=2)",
    "F.conv_transpose2d(x2, t2)", "F.conv_transpose2d(x2, t2, b[:3], stride=2, padding=1, output_padding=1)",
    "F.conv_transpose2d(x2, t2, b, groups=2, dilation=2)", "F.conv_transpose3d(x3, w3[:2], stride=2)", "F.conv_transpose2d(x2[0], t2)",
    "F.conv_tbc(x1, torch.ones(2, 7, 3, dtype=x1.dtype), b[:3], 1)", "F.conv2d(x2[:0], w2)", "torch.conv2d(x2, w2, b)",
    "F.unfold(x2, (3, 2), padding=1, stride=2)", "F.unfold(x2[0], 2)", "F.fold(F.unfold(x2, 2), (6, 5), 2)", "F.fold(x2[0, :, :4], (6, 2), 2)",
    "F.pixel_shuffle(x2, 2)", "F.pixel_unshuffle(x2[..., :4], 2)", "F.channel_shuffle(x2, 2)",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    tracked = [name for name in ARRAYS if name in code]
    compare(torch, rl, code, ARRAYS, dtype="float64", tracked=tracked, double=True)


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
@pytest.mark.parametrize(
    "code",
    ["F.conv2d(x2, w2, b, padding=1)", "F.conv2d(x2, d2, groups=4)", "F.conv_transpose2d(x2, t2)", "F.unfold(x2, 2)"],
)
def test_layouts(code, layout):
    compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=["x2", "w2", "b", "d2", "t2"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("code", ["F.conv2d(x2, w2)", "F.conv1d(x1, w1, b)"])
def test_dtypes(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, factor=2)


@pytest.mark.parametrize("code", ["F.conv1d(x1, w1)", "F.conv2d(x2, w2, b)", "F.conv_transpose2d(x2, t2)", "F.unfold(x2, 2)",
                                  "F.pixel_shuffle(x2, 2)", "F.channel_shuffle(x2, 2)"])  # fmt: skip
def test_node_names(code):
    assert node_name(rl, code, ARRAYS, ["x1", "x2"]) == node_name(torch, code, ARRAYS, ["x1", "x2"])


@pytest.mark.parametrize("code", [
    "F.conv2d(x1[0, 0], w2)", "F.conv2d(x2[:, :2], w2)", "F.conv2d(x2[..., :1], w2)", "F.conv2d(x2, w1)", "F.conv2d(x2.double(), w2)",
    "F.conv2d(x2, w2, b[:2])", "F.conv2d(x2, w2, b.double())", "F.conv2d(x2, w2, stride=0)", "F.conv2d(x2, w2, padding=-1)",
    "F.conv2d(x2, w2, padding='foo')", "F.conv2d(x2, w2, padding='same', stride=2)",
    "F.conv2d(x2, w2, groups=3)", "F.conv2d(x2, g2[:5], groups=2)", "F.conv2d(x2, w2, stride=(1, 2, 3))", "F.conv2d(x2, w2, groups=0)",
    "F.conv_transpose2d(x2, w2)", "F.conv_transpose2d(x2, t2, output_padding=2)", "F.conv_transpose2d(x2, t2, b)",
     "F.conv_transpose1d(x1, w1[:4], output_padding=2)", "F.unfold(x2[0, 0], 2)",
    "F.unfold(x2, 9)", "F.fold(x1, 4, 2)", "F.fold(x1[:, :, :5], 4, 2)", "F.pixel_shuffle(x2, 3)", "F.pixel_unshuffle(x2, 2)",
    "F.channel_shuffle(x2, 3)", "F.pixel_shuffle(x2[0, 0], 2)",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


# Of images of one pixel and 4 channels: samples, kernel, options.
SHORT = [
    (1, (4, 2, 1, 2), "padding=(0, 1)"), (1, (4, 2, 1, 2), "padding=(0, 2)"), (1, (4, 2, 4, 4), "padding=(2, 1)"),
    (1, (4, 2, 4, 3), "padding=(2, 1)"), (1, (4, 2, 2, 2), "padding=1, groups=2"), (2, (4, 2, 2, 2), "padding=1"),
    (2, (4, 2, 2, 2), "padding=2"), (2, (4, 2, 2, 2), "padding=(1, 2)"), (2, (4, 2, 1, 1), "stride=2, padding=1, output_padding=1"),
    (2, (4, 2, 1, 1), "padding=1, output_padding=1, dilation=2"), (0, (4, 2, 2, 2), "padding=1"), (0, (4, 2, 2, 2), "padding=2"),
]  # fmt: skip


def _short_results(module, samples, kernel, options, dtype, count):
    """What a transposed convolution of images of one pixel gives, or the error; with gradients, which are zeros."""
    kind = getattr(module, dtype)
    x = module.ones(samples, 4, *(1,) * count, dtype=kind).requires_grad_()
    w = module.ones(*kernel[:2], *kernel[-count:], dtype=kind).requires_grad_()
    options = eval(f"dict({options})")
    options = {key: value[-count:] if isinstance(value, tuple) else value for key, value in options.items()}
    b = module.ones(2 * options.get("groups", 1), dtype=kind).requires_grad_()
    try:
        found = getattr(module.nn.functional, f"conv_transpose{count}d")(x, w, b, **options)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    found.backward(module.ones_like(found))
    return tuple(found.shape), str(found.dtype), [(tuple(t.grad.shape), float(t.grad.abs().sum())) for t in (x, w, b)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("samples, kernel, options", SHORT, ids=str)
def test_transposed_without_elements(samples, kernel, options, count, dtype):
    """Lengths of 0 are results where oneDNN computes, errors elsewhere; negative ones are errors everywhere."""
    expected = _short_results(torch, samples, kernel, options, dtype, count)
    assert _short_results(rl, samples, kernel, options, dtype, count) == expected


def test_transposed_without_elements_of_one_sample_of_many_channels():
    for size in ((1, 30000, 1, 1), (1, 4, 1, 30000), (1, 2, 1, 1, 1)):
        kernel = (size[1], 2, *(2,) * (len(size) - 2))
        found = [
            _outcome(lambda m=m: getattr(m.nn.functional, f"conv_transpose{len(size) - 2}d")(
                m.ones(size), m.ones(kernel), padding=(1, *(0,) * (len(size) - 3)))) for m in (torch, rl)
        ]  # fmt: skip
        assert found[0] == found[1]


def _outcome(call):
    try:
        return tuple(call().shape)
    except RuntimeError as error:
        return str(error).splitlines()[0]
