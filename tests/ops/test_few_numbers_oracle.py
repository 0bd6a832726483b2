"""Operations on a few numbers that take ways of their own there, against PyTorch: values, dtypes, strides, drawn numbers."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


def alike(call, exact=True):
    expected, own = call(torch), call(rl)
    for theirs, ours in zip(
        *(found if isinstance(found, tuple) else (found,) for found in (expected, own)), strict=True
    ):
        assert ours.shape == theirs.shape and ours.stride() == theirs.stride(), (theirs.stride(), ours.stride())
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        np.testing.assert_allclose(ours.double().numpy(), theirs.double().numpy(), rtol=0 if exact else 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (4, 8), (8, 4), (40, 60)])
def test_trace(dtype, shape):
    numbers = np.random.default_rng(0).standard_normal(shape) * 100
    for turned in (False, True):
        alike(lambda m: (m.tensor(numbers).T if turned else m.tensor(numbers)).to(getattr(m, dtype)).trace())


@pytest.mark.parametrize("name", ["rand_like", "randn_like", "zeros_like", "ones_like"])
def test_what_is_made_alike(name):
    for make in (
        lambda m: m.ones(4, 8),
        lambda m: m.ones(2, 3),
        lambda m: m.ones(4, 8).T,
        lambda m: m.ones(4, 1).expand(4, 8),
        lambda m: m.ones(3, 8, dtype=m.float64),
        lambda m: m.ones(5, dtype=m.bfloat16),
        lambda m: m.ones(()),
        lambda m: m.ones(0, 3),
    ):

        def call(m):
            m.manual_seed(3)
            like = getattr(m, name)
            return like(make(m)), like(make(m), dtype=m.float64), like(make(m), requires_grad=True).detach()

        alike(call, exact=name != "randn_like")


def test_coins_of_probabilities():
    for make in (
        lambda m: m.rand(7),
        lambda m: m.rand(6, 4).T,
        lambda m: m.tensor([0.0, -0.0, 1.0, 0.5]),
        lambda m: m.rand(5, dtype=m.float64),
        lambda m: m.rand(5).half(),
        lambda m: m.rand(1).expand(9),
    ):

        def call(m):
            m.manual_seed(1)
            return m.bernoulli(make(m)), m.bernoulli(make(m))

        alike(call)
    for wrong in (-0.1, 1.1, float("nan"), -1e-45, float("inf")):
        for dtype in ("float32", "float64"):
            messages = []
            for m in (torch, rl):
                with pytest.raises(RuntimeError) as raised:
                    m.bernoulli(m.tensor([0.5, wrong], dtype=getattr(m, dtype)))
                messages.append(str(raised.value).splitlines()[0])
            assert messages[0] == messages[1]


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_grids(indexing):
    for sizes in ((3,), (3, 4), (1, 3), (3, 1), (2, 0), (2, 3, 4), (1, 1, 1), (4, 1, 2)):
        alike(lambda m: tuple(m.meshgrid(*map(m.arange, sizes), indexing=indexing)))
    alike(lambda m: tuple(m.meshgrid(m.tensor(2.0), m.ones(3), m.tensor(3.0), indexing=indexing)))
    for m in (torch, rl):
        with pytest.raises(RuntimeError, match="same dtype"):
            m.meshgrid(m.ones(2), m.ones(2, dtype=m.float64), indexing=indexing)
        x = m.ones(3, requires_grad=True)
        first, second = m.meshgrid(x, x, indexing=indexing)
        (first * 2 + second).sum().backward()
        assert x.grad.tolist() == [9.0] * 3


def test_short_lines():
    for start, end in ((0, 1), (-0.0, 0.0), (3.5, -2), (1e30, -1e30), (5, 5)):
        for steps in (2, 3, 8):
            for dtype in ("float32", "float64"):
                alike(lambda m: m.linspace(start, end, steps, dtype=getattr(m, dtype)), exact=False)
