"""Random programs of views, in-place writes and differentiable operations: Rushlight and PyTorch must agree."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rushlight as rl

torch = pytest.importorskip("torch")


def assign(a, place, value):
    a[place] = value
    return a


def unrecorded(function):
    """``function`` as a step that runs under no_grad."""

    def step(t, a, b):
        with t.no_grad():
            return function(t, a, b)

    return step


# Each step is ``step(library, a, b)`` on two earlier tensors; what it returns joins them.
VIEWS = [
    lambda t, a, b: a.view(-1),
    lambda t, a, b: a.reshape(3, -1),
    lambda t, a, b: a.transpose(0, -1),
    lambda t, a, b: a[0],
    lambda t, a, b: a[1:],
    lambda t, a, b: a[..., :2],
    lambda t, a, b: a[::2],
    lambda t, a, b: a[None],
    lambda t, a, b: a.unsqueeze(-1),
    lambda t, a, b: a.squeeze(),
    lambda t, a, b: a.expand(2, *a.shape),
    lambda t, a, b: a.diagonal(),
    lambda t, a, b: a.unbind()[1],
    lambda t, a, b: a.split(1)[0],
    lambda t, a, b: a.chunk(2, -1)[0],
    lambda t, a, b: a.narrow(0, 1, 1),
    lambda t, a, b: a.flatten(),
    lambda t, a, b: a.unfold(0, 2, 2),
    lambda t, a, b: a.detach(),
    lambda t, a, b: a.as_strided((1,), (1,), a.storage_offset()) if a.numel() else a,
    lambda t, a, b: a.permute(*reversed(range(a.ndim))),
]
WRITES = [
    lambda t, a, b: a.mul_(b),
    lambda t, a, b: a.add_(b),
    lambda t, a, b: a.add_(1),
    lambda t, a, b: a.sub_(b, alpha=0.5),
    lambda t, a, b: a.div_(3),
    lambda t, a, b: a.zero_(),
    lambda t, a, b: a.fill_(0.75),
    lambda t, a, b: a.copy_(b) if a is not b else a,
    lambda t, a, b: a.sin_(),
    lambda t, a, b: a.sigmoid_(),
    lambda t, a, b: a.clamp_(-0.5, 0.5),
    lambda t, a, b: a.masked_fill_(a > 0, 0.25),
    lambda t, a, b: assign(a, 0, b),
    lambda t, a, b: assign(a, 0, 1.5),
    lambda t, a, b: assign(a, slice(1, None), b[:-1].clone()),
    lambda t, a, b: assign(a, (Ellipsis, 0), b[..., 1].clone()),
    lambda t, a, b: assign(a, t.tensor([1, 0]), b.clone()),
    lambda t, a, b: assign(a, a > 0.1, 0.3),
    lambda t, a, b: a.addcmul_(b, b, value=0.1),
]
OTHERS = [
    lambda t, a, b: a * b,
    lambda t, a, b: a + b,
    lambda t, a, b: a - 2 * b,
    lambda t, a, b: a.sin(),
    lambda t, a, b: a.sigmoid(),
    lambda t, a, b: a.tanh(),
    lambda t, a, b: a.sum(0, keepdim=True),
    lambda t, a, b: a.mean(),
    lambda t, a, b: t.cat([a, b]),
    lambda t, a, b: t.stack([a, b], -1),
    lambda t, a, b: t.where(a > 0, a, b),
    lambda t, a, b: a.clone(),
    lambda t, a, b: a.softmax(0),
    lambda t, a, b: a.max(0).values,
    lambda t, a, b: a @ b.mT,
    lambda t, a, b: a[t.tensor([0, 0, 1])],
    lambda t, a, b: t.zeros(2, 3, dtype=t.float64),
]
STEPS = [*VIEWS, *WRITES, *OTHERS, *map(unrecorded, WRITES[:8])]
WRITING = range(len(VIEWS), len(VIEWS) + len(WRITES)), range(len(STEPS) - 8, len(STEPS))
WRITING = frozenset(index for part in WRITING for index in part)
STEP = st.tuples(st.sampled_from(range(len(STEPS))), st.integers(0, 11), st.integers(0, 11))


def start(t):
    """Two leaves, what was computed from them, and a plain tensor."""
    x = t.arange(6, dtype=t.float64).reshape(2, 3).div(5).sub(0.4).requires_grad_()
    y = t.tensor([0.3, -0.7, 0.2], dtype=t.float64, requires_grad=True)
    return [x, y, x * 1.5, y * 0.5, t.ones(2, 3, dtype=t.float64)]


def attempt(function, *args):
    """(result, None) or (None, the type of the error)."""
    try:
        return function(*args), None
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return None, error


def overlap(a, b):
    """Whether two tensors share memory and are not one: PyTorch refuses to write then, or does not notice."""
    return a is not b and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def equal(ours, theirs):
    return ours.shape == tuple(theirs.shape) and np.allclose(ours, theirs, rtol=1e-9, atol=1e-12, equal_nan=True)


def gradients(t, tensors):
    total = sum((tensor * (i + 1)).sum() for i, tensor in enumerate(tensors) if tensor.requires_grad)
    return t.autograd.grad(total, tensors[:2], allow_unused=True)


def run(program):
    """Run a program in both libraries, step by step."""
    ours, theirs = start(rl), start(torch)
    for index, first, second in program:
        a, b = -1 - first % len(ours), -1 - second % len(ours)
        if theirs[a].numel() > 64 or (index in WRITING and overlap(theirs[a], theirs[b])):
            continue
        attempt(
            lambda x: x.grad_fn, theirs[a]
        )  # PyTorch takes a view for a leaf until it has looked at the base's history
        other, expected = attempt(STEPS[index], torch, theirs[a], theirs[b])
        if "unsupported operation" in str(expected):  # PyTorch refuses operands that share memory; NumPy copies them
            continue
        mine, error = attempt(STEPS[index], rl, ours[a], ours[b])
        if (error is None) != (expected is None) and ours[a].stride() != theirs[a].stride():
            return  # what can be viewed depends on layouts, which the tests of operations compare
        assert (error is None) == (expected is None), (index, error, expected)
        if error is None:
            ours.append(mine)
            theirs.append(other)
    for number, (mine, other) in enumerate(zip(ours, theirs)):
        assert equal(mine.detach().numpy(), other.detach().numpy()), number
        flags, expected = (
            attempt(lambda x: (x.requires_grad, x.is_leaf), mine),
            attempt(lambda x: (x.requires_grad, x.is_leaf), other),
        )
        assert (flags[0], type(flags[1])) == (expected[0], type(expected[1])), (number, flags, expected)
    found, error = attempt(gradients, rl, ours)
    wanted, expected = attempt(gradients, torch, theirs)
    assert type(error) is type(expected), (error, expected)
    for mine, other in zip(found or (), wanted or ()):
        assert (mine is None) == (other is None)
        assert mine is None or equal(mine.numpy(), other.numpy()), (mine, other)


quick = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.filterwarnings("ignore::UserWarning")
@quick
@given(st.lists(STEP, min_size=3, max_size=10))
def test_random_programs(program):
    run(program)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(quick, max_examples=int(os.environ.get("RUSHLIGHT_EXAMPLES", "3000")))
@given(st.lists(STEP, min_size=6, max_size=24))
def test_long_random_programs(program):
    run(program)
