"""Random programs of views, in-place writes and other operations inside vmap: they must do what a loop over entries does."""

import os
import warnings

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import ASSIGNMENTS, OTHERS, SEVERAL, SHAPES, VIEWS, WRITES

import rushlight as rl
from rushlight.func import grad, vmap

# All but the last of VIEWS and WRITES, which use ``data``: vmap refuses that; and but as_strided_, after which plain autograd
# finds the wrong gradients of older views, as PyTorch does, and vmap the right ones.
STEPS = [*VIEWS[:-1], *SEVERAL, *WRITES[:-1], *ASSIGNMENTS, *SHAPES[:-1], *OTHERS]
STEP = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 11), st.integers(0, 11))
LARGEST = 64
EXAMPLES = int(os.environ.get("RUSHLIGHT_PROGRAMS", "150"))
ERRORS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)


class World:
    """The tensors of a program: those of one entry, and one that all share."""

    def __init__(self, x, y):
        self.t = rl
        self.tensors = [x.clone(), y.clone(), x * 1.5, y * 0.5, rl.ones(2, 3, dtype=rl.float64)]

    def indices(self, *values):
        return rl.tensor(values)


def run(program, x, y):
    """The tensors that a program ends with; steps that are refused end it."""
    world = World(x, y)
    for number, a, b in program:
        first, second = (world.tensors[place % len(world.tensors)] for place in (a, b))
        found = STEPS[number](world, first, second)
        for each in found if isinstance(found, (tuple, list)) else (found,):
            if hasattr(each, "_edge") and each.numel() <= LARGEST and not any(each is old for old in world.tensors):
                world.tensors.append(each)
    return tuple(world.tensors)


def attempt(function):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(), None
    except ERRORS as error:
        return None, error


def batches():
    x = rl.arange(12, dtype=rl.float64).reshape(2, 2, 3).div(7).sub(0.6)
    y = rl.tensor([[0.3, -0.7, 0.2], [-0.4, 0.1, 0.9]], dtype=rl.float64)
    return x, y


def compare(function):
    """vmap of ``function`` against a loop.

    What vmap alone refuses, in its own words, does not count; nor do operands in the memory that is written, which it
    allows where it computes the result first.
    """
    x, y = batches()
    found, error = attempt(lambda: vmap(function)(x, y))
    expected, refusal = attempt(lambda: [function(a, b) for a, b in zip(x, y)])
    if str(error).startswith("vmap:") or "refer to a single memory location" in str(refusal):
        return
    assert (error is None) == (refusal is None), (error, refusal)
    if refusal is not None:
        return
    for result, column in zip(found, zip(*expected), strict=True):
        assert result.shape[1:] == column[0].shape and result.dtype is column[0].dtype
        assert rl.allclose(result, rl.stack(column), 1e-9, 1e-12, equal_nan=True)


def total(program):
    """A number that every result of a program counts in."""

    def function(x, y):
        results = [each for each in run(program, x, y) if each.is_floating_point()]
        return sum((each * each).sum() for each in results)

    return function


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, max_size=8))
def test_programs(program):
    compare(lambda x, y: run(program, x, y))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, max_size=6))
def test_gradients_of_programs(program):
    compare(grad(total(program), (0, 1)))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, max_size=6))
def test_gradients_around_programs(program):
    x, y = batches()
    found, error = attempt(lambda: grad(lambda x, y: vmap(total(program))(x, y).sum(), (0, 1))(x, y))
    loop = lambda x, y: sum(total(program)(a, b) for a, b in zip(x, y))
    expected, refusal = attempt(lambda: grad(loop, (0, 1))(x, y))
    if str(error).startswith("vmap:") or "refer to a single memory location" in str(refusal):
        return
    if "inplace" in str(refusal):  # a new shape in place writes nothing: vmap does not count it as a write
        return
    assert (error is None) == (refusal is None), (error, refusal)
    for result, wanted in zip(found or (), expected or ()):
        assert rl.allclose(result, wanted, 1e-9, 1e-12, equal_nan=True)
