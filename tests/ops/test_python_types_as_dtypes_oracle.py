"""Python's types (bool, int, float, complex) wherever a dtype may stand, against PyTorch."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = [
    lambda lib, kind: lib.zeros_like(lib.ones(2), dtype=kind),
    lambda lib, kind: lib.ones_like(lib.ones(2, 3).T, dtype=kind),
    lambda lib, kind: lib.full_like(lib.ones(2), 1, dtype=kind),
    lambda lib, kind: lib.empty_like(lib.ones(2), dtype=kind).dtype,
    lambda lib, kind: lib.zeros_like(lib.ones(2), dtype=kind, layout=lib.sparse_coo).dtype,
    lambda lib, kind: lib.ones(2).new_zeros(2, dtype=kind),
    lambda lib, kind: lib.ones(2).new_ones(2, 3, dtype=kind),
    lambda lib, kind: lib.ones(2).new_full((2,), 1, dtype=kind),
    lambda lib, kind: lib.ones(2).new_tensor([1], dtype=kind),
    lambda lib, kind: lib.rand_like(lib.ones(2), dtype=kind).dtype,
    lambda lib, kind: lib.randn_like(lib.ones(2), dtype=kind).dtype,
    lambda lib, kind: lib.randint_like(lib.ones(2), 2, dtype=kind).dtype,
    lambda lib, kind: lib.eye(2, dtype=kind),
    lambda lib, kind: lib.ones(2).type(kind),
    lambda lib, kind: lib.zeros(8, dtype=lib.uint8).view(kind),
    lambda lib, kind: lib.zeros(16, dtype=lib.uint8).view(dtype=kind),
    lambda lib, kind: lib.ones(2).sum(dtype=kind),
    lambda lib, kind: lib.promote_types(kind, int),
    lambda lib, kind: lib.promote_types(lib.float16, kind),
    lambda lib, kind: lib.can_cast(kind, int),
    lambda lib, kind: lib.can_cast(lib.int8, kind),
    lambda lib, kind: limits(lib.finfo, kind),
    lambda lib, kind: limits(lib.iinfo, kind),
]


def limits(of, kind):
    """Its limits, or that it has none: PyTorch names no type there but the class itself."""
    try:
        return of(kind)
    except TypeError as error:
        return str(error).split("\n")[0].split(" to handle")[0]


def outcome(call, lib, kind):
    try:
        return str(call(lib, kind))
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize("kind", [bool, int, float, complex, str])
def test_python_types(kind):
    differing = {}
    for place, call in enumerate(CALLS):
        expected, got = outcome(call, torch, kind), outcome(call, rushlight, kind)
        if got != expected:
            differing[place] = expected, got
    assert not differing
