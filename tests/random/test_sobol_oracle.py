"""Sobol' points are PyTorch's, to the bit: drawn, scrambled, skipped, begun anew."""

import sys

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def same(ours, theirs):
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and np.array_equal(ours, theirs)


def drawn(library, dimension, scramble, seed, dtype):
    library.manual_seed(3)
    engine = library.quasirandom.SobolEngine(dimension, scramble, seed)
    kind = None if dtype is None else getattr(library, dtype)
    found = [
        engine.draw(dtype=kind),
        engine.draw(3, dtype=kind),
        engine.draw(0, dtype=kind),
        engine.fast_forward(5).draw(2, dtype=kind),
    ]
    found += [
        engine.reset().draw_base2(3, dtype=kind),
        engine.reset().fast_forward(1).draw(4),
        engine.draw(out=library.empty(0)),
    ]
    return [each.numpy() for each in found] + [engine.quasi.numpy(), engine.sobolstate.numpy()], (
        repr(engine),
        engine.num_generated,
    )


@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
@pytest.mark.parametrize(("scramble", "seed"), [(False, None), (True, None), (True, 11)])
@pytest.mark.parametrize("dtype", [None, "float64"])
def test_points(dimension, scramble, seed, dtype):
    (ours, text), (theirs, other) = (drawn(library, dimension, scramble, seed, dtype) for library in LIBRARIES)
    assert text == other
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert same(mine, other), number


def test_all_direction_numbers():
    pytest.importorskip("scipy")
    ours, theirs = (library.quasirandom.SobolEngine(21201).sobolstate.numpy() for library in LIBRARIES)
    assert np.array_equal(ours, theirs)
    assert np.array_equal(rushlight.quasirandom.SobolEngine(20000).sobolstate.numpy(), theirs[:20000])


def test_dimensions_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    ours, theirs = (library.quasirandom.SobolEngine(5715).sobolstate.numpy() for library in LIBRARIES)
    assert np.array_equal(ours, theirs)
    with pytest.raises(
        ImportError,
        match="of 5716 dimensions are SciPy's, which is not installed\nhint: pip install scipy; those of 5715",
    ):
        rushlight.quasirandom.SobolEngine(5716)


def test_many_points():
    ours, theirs = (library.quasirandom.SobolEngine(5, True, 1).draw(5000).numpy() for library in LIBRARIES)
    assert np.array_equal(ours, theirs)


def refusals(library):
    engine = library.quasirandom.SobolEngine(2)
    for call in (
        lambda: library.quasirandom.SobolEngine(0),
        lambda: library.quasirandom.SobolEngine(21202),
        lambda: engine.draw(dtype=library.float16).tolist(),
        lambda: engine.draw(2, dtype=library.float16),
        lambda: engine.draw(2, dtype=library.int64),
        lambda: engine.draw_base2(2),
    ):
        try:
            yield call()
        except Exception as error:
            yield type(error).__name__, str(error).partition("\n")[0]


def test_refusals():
    assert list(refusals(rushlight)) == list(refusals(torch))
