"""Random keys, read and written, against PyTorch: values, shapes, sharing of memory, gradients, errors."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as rl
from oracle_expressions import first_line

torch = pytest.importorskip("torch")

SHAPES = [(5,), (3, 4), (2, 3, 4), (1, 3, 1, 2), (2, 0, 3), ()]
integers = st.integers(-4, 4)
slices = st.builds(slice, st.none() | integers, st.none() | integers, st.none() | st.integers(1, 3))


@st.composite
def index_arrays(draw):
    """An index tensor: positions or a mask, as nested lists."""
    shape = draw(st.sampled_from([(2,), (3,), (1,), (2, 2), (0,), (2, 1)]))
    count = int(np.prod(shape))
    return ("tensor", np.array(draw(st.lists(st.integers(-2, 2), min_size=count, max_size=count)), int).reshape(shape))


@st.composite
def masks(draw, shape):
    count = int(np.prod(shape))
    values = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return ("tensor", np.array(values, bool).reshape(shape))


parts = integers | slices | st.just(Ellipsis) | st.none() | index_arrays() | st.booleans()


@st.composite
def tensors_and_keys(draw):
    shape = draw(st.sampled_from(SHAPES))
    if draw(st.integers(0, 5)) == 0:
        return shape, draw(masks(shape[: draw(st.integers(0, len(shape)))]))
    if draw(st.booleans()):
        return shape, draw(parts)
    return shape, tuple(draw(st.lists(parts, max_size=4).filter(lambda key: sum(k is Ellipsis for k in key) < 2)))


def for_module(module, key):
    """The key with its arrays as tensors of ``module``."""
    if isinstance(key, tuple) and key and isinstance(key[0], str):
        return module.tensor(key[1])
    return tuple(for_module(module, part) for part in key) if isinstance(key, tuple) else key


def attempt(function):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()
    except Exception as error:
        # Which dimension a bad position is reported for depends on PyTorch's order of work.
        return type(error).__name__, re.sub(r"for dimension \d", "for dimension _", first_line(error))


def strides(tensor):
    return tuple(s for n, s in zip(tensor.shape, tensor.stride()) if n > 1) if tensor.numel() else ()


@settings(max_examples=400, deadline=None)
@given(tensors_and_keys())
def test_reading(case):
    shape, key = case
    found = []
    for module in (torch, rl):

        def read(module=module):
            x = module.arange(float(np.prod(shape))).reshape(shape).requires_grad_()
            y = x[for_module(module, key)]
            y.sum().backward()
            return (
                tuple(y.shape),
                y.tolist(),
                y._base is not None,
                strides(y),
                x.grad.tolist(),
                type(y.grad_fn).__name__,
            )

        found.append(attempt(read))
    assert found[1] == found[0]


@settings(max_examples=300, deadline=None)
@given(tensors_and_keys())
def test_reading_without_a_graph(case):
    shape, key = case
    found = []
    for module in (torch, rl):

        def read(module=module):
            x = module.arange(int(np.prod(shape))).reshape(shape)
            y = x[for_module(module, key)]
            shared = y._base is not None
            if shared:
                y.add_(100)
            return tuple(y.shape), y.tolist(), shared, strides(y), x.tolist(), x._version

        found.append(attempt(read))
    assert found[1] == found[0]


@settings(max_examples=400, deadline=None)
@given(tensors_and_keys(), st.sampled_from(["number", "scalar", "same", "row"]))
def test_writing(case, kind):
    shape, key = case
    found = []
    for module in (torch, rl):

        def write(module=module):
            leaf = module.arange(float(np.prod(shape))).reshape(shape).requires_grad_()
            x = leaf * 2
            module_key = for_module(module, key)
            value, source = -1.0, None
            if kind != "number":
                size = {"scalar": (), "same": tuple(x[module_key].shape), "row": tuple(x[module_key].shape)[-1:]}[kind]
                source = (module.arange(float(np.prod(size))).reshape(size) + 100).requires_grad_()
                value = source * 1
            if len(np.unique(x[module_key].detach().numpy())) != x[module_key].numel() and kind != "number":
                return "repeated places: any value may win"
            x[module_key] = value
            (x * x).sum().backward()
            return x.tolist(), x._version, leaf.grad.tolist(), None if source is None else source.grad.tolist()

        found.append(attempt(write))
    assert found[1] == found[0]
