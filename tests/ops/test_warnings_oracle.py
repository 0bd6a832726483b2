"""Warnings of operations that PyTorch will not keep as they are, or that leave something behind, in its words and as often."""

import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = [
    "c.float()", "c.bfloat16()", "c.to(m.int64)", "c.bool()", "c[:0].float()", "x.clone().copy_(c)", "x.clone().fill_(c[0])",
    "m.softmax(c, 0, dtype=m.float32)", "m.sum(c, dtype=m.float32)", "x.clone().__setitem__(0, c[0])", "c.cdouble().half()",
    "m.range(0, 3)", "x.resize(3, 1)", "x.resize_as(x)", "m.where(bytes, x, 0)", "x.where(bytes, x)", "m.where(bytes)",
    "x.index_reduce(0, bytes.long(), x, 'prod')", "m.nn.functional.conv1d(x[None], x[None, None, :2], padding='same')",
    "m.nn.functional.conv1d(x[None], x[None, None, :2], padding='same', dilation=2)",
    "m.nn.functional.conv1d(x[None], x[None, None], padding='same')",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_warnings_are_pytorchs(code):
    found = []
    for m in (rl, torch):
        names = {"m": m, "x": m.ones(3), "c": m.ones(3, dtype=m.complex64), "bytes": m.tensor([0, 1, 1], dtype=m.uint8)}
        was = m.is_warn_always_enabled()
        m.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                eval(compile(code, "the user's file", "eval"), names)
        finally:
            m.set_warn_always(was)
        texts = [str(warning.message).split(" (Triggered")[0] for warning in caught]
        found.append([(warning.category, text, warning.filename) for warning, text in zip(caught, texts, strict=True)])
    assert found[0] == found[1]
