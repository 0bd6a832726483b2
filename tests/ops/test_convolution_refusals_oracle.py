"""Convolutions with one operand of another dtype, without elements or with one dimension more, refused as PyTorch refuses them."""

import warnings

import pytest

pytest.importorskip("torch")
import torch

import rushlight
from oracle_processor import HALF_BY_ONEDNN

OPTIONS = ({}, {"dilation": 2}, {"padding": "same", "dilation": 2}, {"output_padding": 1, "dilation": 2},
           {"output_padding": 1, "stride": 2})  # fmt: skip
DTYPES = "bool", "uint8", "int64", "float64", "float16", "complex64"


def _changes(lib):
    """(what is wrong, the change) for operands ``(input, weight, bias)`` and options."""
    for name in DTYPES:
        dtype = getattr(lib, name)
        for what, places in (("input", (0,)), ("weight", (1,)), ("bias", (2,)), ("all", (0, 1, 2))):
            yield (
                f"{what} {name}",
                lambda o, k, d=dtype, p=places: ([t.to(d) if i in p else t for i, t in enumerate(o)], k),
            )
    yield "no length", lambda o, k: ((o[0][..., :0], *o[1:]), k)
    yield "no length, one sample", lambda o, k: ((o[0][0][..., :0], *o[1:]), k)
    yield "no kernel", lambda o, k: ((o[0], o[1][..., :0], o[2]), k)
    yield "a dimension more", lambda o, k: ((o[0], o[1][None]), k)
    yield "three dimensions more", lambda o, k: ((o[0], o[1][None, None, None]), k)
    yield "no stride", lambda o, k: (o[:2], {**k, "stride": ()})
    yield "strides", lambda o, k: (o[:2], {**k, "stride": (1,) * (o[1].ndim - 1)})
    yield "dilation 0", lambda o, k: (o[:2], {**k, "dilation": 0})
    yield "dilation -1", lambda o, k: (o[:2], {**k, "dilation": -1})


def _outcomes(lib, name, count, samples, groups, options):
    function = getattr(lib.nn.functional, name)
    input, weight = lib.ones((samples, 2) + (6,) * count), lib.ones((2, 2 // groups) + (3,) * count)
    for what, change in _changes(lib):
        operands, chosen = change((input, weight, lib.ones(2)), options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(*operands, groups=groups, **chosen)
            yield what, "fine", str(found.dtype).split(".")[1], tuple(found.shape)
        except Exception as error:
            yield what, type(error).__name__, str(error).split("\n")[0], None


@pytest.mark.parametrize("samples,groups", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_operands_that_do_not_fit_are_refused_in_the_same_words(count, samples, groups):
    for options in OPTIONS:
        for name in (f"conv{count}d", f"conv_transpose{count}d"):
            if ("output_padding" if "transpose" not in name else "padding") in options:
                continue
            call = name, count, samples, groups, options
            for expected, found in zip(_outcomes(torch, *call), _outcomes(rushlight, *call)):
                if "Half" in expected[2] and not HALF_BY_ONEDNN:
                    continue
                if expected[2] != "dimensions are invalid":  # oneDNN's words for a dilation of 0 in three dimensions
                    assert found == expected, call
