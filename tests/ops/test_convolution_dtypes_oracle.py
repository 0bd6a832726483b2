"""Which dtypes of input, weight and bias convolutions take, and what comes of them, as in PyTorch."""

import warnings

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
from oracle_processor import HALF_BY_ONEDNN  # noqa: E402

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
FORMS = (  # name, input, weight
    ("conv1d", (1, 2, 8), (2, 2, 3)),
    ("conv2d", (1, 2, 5, 5), (2, 2, 3, 3)),
    ("conv3d", (1, 2, 4, 4, 4), (2, 2, 1, 1, 1)),
    ("conv_transpose1d", (1, 2, 4), (2, 2, 3)),
    ("conv_transpose2d", (1, 2, 4, 4), (2, 2, 3, 3)),
    ("conv_transpose2d", (2, 2, 4, 4), (2, 2, 3, 3)),
    ("conv_transpose2d", (1, 2, 4, 4), (2, 2, 5, 5)),
    ("conv_transpose3d", (1, 2, 4, 4, 4), (2, 2, 2, 2, 2)),
)


def outcome(t, name, input, weight, dtypes, options):
    of_input, of_weight, of_bias = (each and getattr(t, each) for each in dtypes)
    bias = None if of_bias is None else t.full((2,), 3.7).to(of_bias)
    groups = options.get("groups", 1)
    weight = (weight[0], weight[1] // groups, *weight[2:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex numbers that lose their imaginary part
        try:
            found = getattr(t.nn.functional, name)(
                t.ones(input).to(of_input), t.ones(weight).to(of_weight), bias, **options
            )
        except (RuntimeError, NotImplementedError):
            return "raised", 0
    return str(found.dtype), np.array(found.to(t.complex128).tolist())


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_dtypes(form):
    for options in ({}, {"groups": 2} if "transpose" in form[0] else {"padding": "same"}, {"stride": 2}):
        for dtype in DTYPES:
            for bias in (None, *DTYPES):
                for weight in {dtype, "float32"} if bias is None else {dtype}:
                    dtypes = dtype, weight, bias
                    if "float16" in dtypes and not HALF_BY_ONEDNN:
                        continue
                    found, expected = (outcome(t, *form, dtypes, options) for t in (rl, torch))
                    assert found[0] == expected[0], (dtypes, options)
                    np.testing.assert_allclose(found[1], expected[1], 1e-2, err_msg=str((dtypes, options)))
