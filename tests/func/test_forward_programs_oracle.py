"""Random programs of views, in-place writes and differentiable operations in forward mode: values and tangents agree with
PyTorch's."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import ASSIGNMENTS, OTHERS, SEVERAL, SHAPES, VIEWS, WRITES

import rushlight as rl

torch = pytest.importorskip("torch")

STEPS = [*VIEWS, *SEVERAL, *WRITES, *ASSIGNMENTS, *SHAPES, *OTHERS]
LARGEST = 64  # elements of the tensors that programs go on with
WRITING = range(len(VIEWS) + len(SEVERAL), len(STEPS) - len(OTHERS))
STEP = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 11), st.integers(0, 11))


class World:
    """One library's tensors, some of them with tangents; where ``tracked`` leaves require gradients."""

    def __init__(self, library, tracked):
        t = self.t = library
        forward_ad = library.autograd.forward_ad
        x = t.arange(6, dtype=t.float64).reshape(2, 3).div(5).sub(0.4)
        y = t.tensor([0.3, -0.7, 0.2], dtype=t.float64)
        tangent = t.arange(6, dtype=t.float64).reshape(2, 3).mul(0.3)
        self.leaves = [leaf.requires_grad_(tracked) for leaf in (x, y, tangent)]
        dual = forward_ad.make_dual(x, tangent.t().contiguous().t() * 1)
        other = forward_ad.make_dual(y, t.tensor([1.0, -2.0, 0.5], dtype=t.float64))
        self.tensors = [dual, other, dual * 1.5, y, t.ones(2, 3, dtype=t.float64), t.zeros(4, 3, dtype=t.float64)]

    def indices(self, *values):
        return self.t.tensor(values)

    def gradients(self):
        """The gradients of all tangents by the leaves."""
        tangents = [self.t.autograd.forward_ad.unpack_dual(tensor).tangent for tensor in self.tensors]
        total = sum((tangent * (i + 1)).sum() for i, tangent in enumerate(tangents) if tangent is not None)
        return self.t.autograd.grad(total, self.leaves, allow_unused=True)

    def parts(self, tensor):
        """Value and tangent of a tensor as arrays, zeros for no tangent."""
        with self.t.no_grad():
            primal, tangent = self.t.autograd.forward_ad.unpack_dual(tensor)
        tangent = self.t.zeros_like(primal) if tangent is None else tangent
        return tuple(np.asarray(part.detach().clone()) for part in (primal, tangent))


def attempt(step, world, a, b):
    try:
        return step(world, a, b), None
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        return None, error


def tensors_of(result):
    several = result if isinstance(result, (tuple, list)) else (result,)
    return [each for each in several if hasattr(each, "requires_grad")]


def overlap(a, b):
    return a is not b and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def check(ours, theirs, where):
    for number, (mine, other) in enumerate(zip(ours.tensors, theirs.tensors)):
        for one, two in zip(ours.parts(mine), theirs.parts(other)):
            assert one.shape == two.shape and np.allclose(one, two, 1e-9, 1e-12, equal_nan=True), (
                where,
                number,
                one,
                two,
            )


def check_gradients(ours, theirs):
    try:
        expected = theirs.gradients()
    except RuntimeError:  # PyTorch writes into tangents that it has saved
        return
    for one, two in zip(ours.gradients(), expected):
        one, two = (0.0 if each is None else np.asarray((each.detach() + 0.0).tolist()) for each in (one, two))
        assert np.allclose(one, two, 1e-8, 1e-10, equal_nan=True), (one, two)


def run(program, tracked=False):
    with rl.autograd.forward_ad.dual_level(), torch.autograd.forward_ad.dual_level():
        ours, theirs = World(rl, tracked), World(torch, tracked)
        for step, (index, first, second) in enumerate(program):
            place, beside = -1 - first % len(ours.tensors), -1 - second % len(ours.tensors)
            a, b = theirs.tensors[place], theirs.tensors[beside]
            if a.numel() > LARGEST or overlap(a, b) or (index in WRITING and 0 in a.stride()):
                continue
            if ours.tensors[place].stride() != a.stride():
                break  # what can be viewed depends on layouts, which the tests of operations compare
            found, expected = attempt(STEPS[index], theirs, a, b)
            mine, error = attempt(STEPS[index], ours, ours.tensors[place], ours.tensors[beside])
            assert (error is None) == (expected is None), (step, index, error, expected)
            if error is not None:
                break  # how much was written before an error is the library's own
            ours.tensors += tensors_of(mine)
            theirs.tensors += tensors_of(found)
            check(ours, theirs, (step, index))
        check(ours, theirs, "end")
        if tracked:
            check_gradients(ours, theirs)


quick = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.filterwarnings("ignore")
@quick
@given(st.lists(STEP, min_size=3, max_size=10))
def test_random_programs(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(program)


@pytest.mark.filterwarnings("ignore")
@quick
@given(st.lists(STEP, min_size=3, max_size=8))
def test_derivatives_of_tangents(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(program, tracked=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(quick, max_examples=int(os.environ.get("RUSHLIGHT_EXAMPLES", "3000")))
@given(st.lists(STEP, min_size=6, max_size=20))
def test_long_random_programs(program):
    run(program)
