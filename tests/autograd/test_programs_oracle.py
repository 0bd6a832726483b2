"""Random programs of views, in-place writes and differentiable operations: Rushlight and PyTorch must agree."""

import os
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import STEPS, WRITE_NUMBERS, World
from stories import first_line

import rushlight as rl

torch = pytest.importorskip("torch")

LARGEST = 64  # elements of the tensors that programs go on with
STEP = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 11), st.integers(0, 11))


def attempt(function, *args):
    """(result, None), or (None, type and first line of the error)."""
    try:
        return function(*args), None
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        # Which name PyTorch gives the operation behind a saved view depends on what was asked of the view before.
        return None, (type(error), re.sub(", which is output .*? of .*?,", "", first_line(error)))


def either_first(error, expected):
    """Whether one of two errors is about a view's history: it may be found before or after another mistake."""
    return bool(error and expected) and any("modified inplace" in message for _, message in (error, expected))


def history(tensor, depth=4):
    """The names of the nodes that made a tensor, as nested tuples."""

    def names(node, depth):
        if node is None or not depth:
            return None
        return node.name(), *[names(following, depth - 1) for following, _ in node.next_functions]

    return names(tensor.grad_fn, depth)


def state(tensor):
    """All that a user can ask a tensor about its place in the graph."""
    return {
        "history": attempt(history, tensor),
        "requires_grad": tensor.requires_grad,
        "is_leaf": attempt(lambda: tensor.is_leaf),
        "version": tensor._version,
        "is_view": tensor._is_view(),
        "shape": tuple(tensor.shape),
    }


def overlap(a, b):
    """Whether two tensors share memory and are not one."""
    return a is not b and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def equal(ours, theirs):
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-9, atol=1e-12, equal_nan=True)


def gradients(world):
    total = sum((tensor * (i + 1)).sum() for i, tensor in enumerate(world.tensors) if tensor.requires_grad)
    return world.t.autograd.grad(total, world.leaves, allow_unused=True)


def agree(ours, theirs, where):
    """Assert that two lists of tensors or Nones are equal."""
    assert len(ours) == len(theirs), where
    for mine, other in zip(ours, theirs):
        assert (mine is None) == (other is None), where
        assert mine is None or equal(mine, other), (where, mine, other)


def tensors_of(result):
    if hasattr(result, "requires_grad"):
        return [result]
    return (
        [item for item in result or () if hasattr(item, "requires_grad")] if isinstance(result, (tuple, list)) else []
    )


def run(program):
    """Run a program in both libraries, step by step."""
    ours, theirs = World(rl), World(torch)
    for index, first, second in program:
        a, b = -1 - first % len(ours.tensors), -1 - second % len(ours.tensors)
        if theirs.tensors[a].numel() > LARGEST:
            continue
        found, expected = attempt(STEPS[index], theirs, theirs.tensors[a], theirs.tensors[b])
        mine, error = attempt(STEPS[index], ours, ours.tensors[a], ours.tensors[b])
        if expected and "INTERNAL ASSERT" in expected[1]:
            return  # PyTorch's own mistake, after which it is in no state to compare
        if expected is None and index in WRITE_NUMBERS and overlap(theirs.tensors[a], theirs.tensors[b]):
            return  # what has been written depends on the order in which elements were
        if any(ours.tensors[n].stride() != theirs.tensors[n].stride() for n in (a, b)):
            break  # what can be viewed depends on layouts, which the tests of operations compare
        assert error == expected or either_first(error, expected), (index, error, expected)
        mine, found = tensors_of(mine), tensors_of(found)
        ours.tensors += mine
        theirs.tensors += found
        for one, other in zip(mine, found):
            assert state(one) == state(other), (index, state(one), state(other))
    for number, (one, other) in enumerate(zip(ours.tensors, theirs.tensors)):
        assert equal(one, other), number
        assert state(one) == state(other), (number, state(one), state(other))
    (found, error), (wanted, expected) = attempt(gradients, ours), attempt(gradients, theirs)
    assert error == expected, ("gradients", error, expected)
    agree(found or (), wanted or (), "gradients")
    agree(ours.gradients, theirs.gradients, "noted gradients")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree([each.grad for each in ours.tensors], [each.grad for each in theirs.tensors], ".grad")


quick = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.filterwarnings("ignore")
@quick
@given(st.lists(STEP, min_size=3, max_size=10))
def test_random_programs(program):
    run(program)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(quick, max_examples=int(os.environ.get("RUSHLIGHT_EXAMPLES", "3000")))
@given(st.lists(STEP, min_size=6, max_size=24))
def test_long_random_programs(program):
    run(program)
