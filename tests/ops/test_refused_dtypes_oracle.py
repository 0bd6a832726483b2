"""Dtypes that PyTorch's kernels lack are refused in its words; the others are taken."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


def _ones(library, dtype, *shape):
    return library.ones(*shape, dtype=getattr(library, dtype))


def _on_pairs(name, *shapes, **options):
    """A call with tensors of these shapes and one dtype."""

    def call(library, dtype):
        function = getattr(library, name, None) or getattr(library.nn.functional, name)
        return function(*[_ones(library, dtype, *shape) for shape in shapes], **options)

    return call


def _with_classes(name, shape, target, *others):
    """A call with a tensor, int64 zeros and other arguments."""

    def call(library, dtype):
        zeros = library.zeros(target, dtype=library.int64)
        return getattr(library.nn.functional, name)(_ones(library, dtype, *shape), zeros, *others)

    return call


CALLS = {
    "mv": _on_pairs("mv", (2, 3), (3,)),
    "mv of nothing": _on_pairs("mv", (2, 0), (0,)),
    "dot": _on_pairs("dot", (3,), (3,)),
    "dot of nothing": _on_pairs("dot", (0,), (0,)),
    "vdot": _on_pairs("vdot", (3,), (3,)),
    "mm": _on_pairs("mm", (2, 3), (3, 2)),
    "mm of nothing": _on_pairs("mm", (0, 3), (3, 2)),
    "bmm": _on_pairs("bmm", (1, 2, 3), (1, 3, 2)),
    "bmm of more": _on_pairs("bmm", (2, 30, 30), (2, 30, 30)),
    "matmul": _on_pairs("matmul", (2, 3), (3, 2)),
    "trace": _on_pairs("trace", (3, 3)),
    "mse_loss": _on_pairs("mse_loss", (3,), (3,)),
    "mse_loss of nothing": _on_pairs("mse_loss", (0,), (0,), reduction="none"),
    "smooth_l1_loss": _on_pairs("smooth_l1_loss", (3,), (3,)),
    "huber_loss": _on_pairs("huber_loss", (3,), (3,)),
    "binary_cross_entropy": _on_pairs("binary_cross_entropy", (3,), (3,)),
    "soft_margin_loss": _on_pairs("soft_margin_loss", (3,), (3,)),
    "kl_div": _on_pairs("kl_div", (3,), (3,), reduction="sum"),
    "kl_div of logarithms": _on_pairs("kl_div", (3,), (3,), reduction="sum", log_target=True),
    "nll_loss": _with_classes("nll_loss", (2, 3), (2,)),
    "nll_loss of images": _with_classes("nll_loss", (2, 3, 2, 2), (2, 2, 2)),
    "max_unpool1d": _with_classes("max_unpool1d", (1, 1, 1), (1, 1, 1), 2),
    "max_unpool2d": _with_classes("max_unpool2d", (1, 1, 1, 1), (1, 1, 1, 1), 2),
    "max_unpool3d": _with_classes("max_unpool3d", (1, 1, 1, 1, 1), (1, 1, 1, 1, 1), 2),
    "unfold": _on_pairs("unfold", (1, 1, 3, 3), kernel_size=2),
    "fold": _on_pairs("fold", (1, 4, 4), output_size=(3, 3), kernel_size=2),
    "group_norm": _on_pairs("group_norm", (2, 4, 3), num_groups=2),
    "pdist": _on_pairs("pdist", (3, 2)),
    "pdist of one row": _on_pairs("pdist", (1, 2)),
    "igamma": _on_pairs("igamma", (3,), (3,)),
    "igammac": _on_pairs("igammac", (3,), (3,)),
}


def _told(library, call, dtype):
    """The dtype of the result, or the error's type and first line."""
    try:
        return str(call(library, dtype).dtype)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_refused_as_pytorch_does(name):
    for dtype in DTYPES:
        assert _told(rl, CALLS[name], dtype) == _told(torch, CALLS[name], dtype), dtype
