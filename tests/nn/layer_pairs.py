"""Runs the same thing in Rushlight and in PyTorch and compares: source text, and pairs of layers with equal weights."""

import math
import warnings

import numpy as np

import rushlight as rl

TIGHT = {"rtol": 1e-8, "atol": 1e-9}
LOOSE = {"rtol": 2e-5, "atol": 2e-6}


def flatten(value):
    """Every leaf of nested tuples, lists and packed sequences, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def is_tensor(value):
    return hasattr(value, "requires_grad") and hasattr(value, "detach")


def array_of(tensor):
    return tensor.detach().numpy()


def assert_same(ours, theirs, tolerance):
    ours, theirs = flatten(ours), flatten(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        if is_tensor(b):
            assert is_tensor(a)
            assert tuple(a.shape) == tuple(b.shape)
            assert str(a.dtype) == str(b.dtype)
            np.testing.assert_allclose(array_of(a), array_of(b), equal_nan=True, **tolerance)
        elif not callable(b):
            assert repr(a) == repr(b)


# ---------------------------------------------------------------- source text


def outcome(source, library):
    """What evaluating ``source`` gives (a value or an exception), and the warnings; seeded, so that draws are alike."""
    names = {
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "R": library.randn,
        "packed": library.nn.utils.rnn.pack_sequence,
        "inf": math.inf,
    }
    library.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = eval(source, names)
        except Exception as error:
            value = error
    return value, sorted(f"{w.category.__name__}: {w.message}".split(" (Triggered")[0] for w in caught)


def first_line(value):
    """The kind and first line of an exception; for any other value its kind."""
    return f"{type(value).__name__}: {value if isinstance(value, Exception) else ''}".split("\n")[0]


def check_source(source, torch, tolerance=LOOSE):
    """Assert that ``source`` does the same in both libraries: value, or error and its first line, and warnings."""
    theirs, their_warnings = outcome(source, torch)
    ours, our_warnings = outcome(source, rl)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert first_line(ours) == first_line(theirs)
    elif isinstance(theirs, torch.nn.Module):
        assert repr(ours) == repr(theirs)
        check_parameters(ours, theirs)
    else:
        assert_same(ours, theirs, tolerance)
    assert our_warnings == their_warnings


def check_parameters(ours, theirs):
    """Equal names, order, shapes and values of everything in the state dicts; lazy parameters have only names."""
    our_state, their_state = ours.state_dict(), theirs.state_dict()
    assert list(our_state) == list(their_state)
    for name, expected in their_state.items():
        if "Uninitialized" not in type(expected).__name__:
            np.testing.assert_array_equal(array_of(our_state[name]), array_of(expected))


# ---------------------------------------------------------------- pairs of layers


def as_ours(tensor):
    """A Rushlight copy of a PyTorch tensor."""
    return rl.from_numpy(array_of(tensor).copy())


def copied(ours, theirs):
    """``ours`` with the weights of ``theirs``."""
    ours.load_state_dict({name: as_ours(value) for name, value in theirs.state_dict().items()})
    return ours


def check_layers(ours, theirs, inputs, call=None, tolerance=TIGHT, training=(True, False)):
    """Assert equal outputs, buffers and gradients of inputs and parameters, in training and in evaluation.

    ``inputs`` are NumPy arrays; ``call(library, layer, *tensors)`` runs the layer, by default on the inputs alone.
    """
    import torch

    copied(ours, theirs)
    for mode in training:
        results = []
        for library, layer in ((rl, ours), (torch, theirs)):
            layer.train(mode)
            layer.zero_grad()
            tensors = [library.from_numpy(array.copy()) for array in inputs]
            for tensor in tensors:
                tensor.requires_grad_(tensor.is_floating_point())
            library.manual_seed(1)
            output = layer(*tensors) if call is None else call(library, layer, *tensors)
            found = [leaf for leaf in flatten(output) if is_tensor(leaf)]
            weighted = [(t * weights_for(library, t)).sum() for t in found if t.requires_grad]
            sum(weighted[1:], weighted[0]).backward()
            gradients = [t.grad for t in (*tensors, *layer.parameters())]
            results.append([*found, *gradients, *layer.buffers()])
        assert_same(*results, tolerance)


def weights_for(library, tensor):
    """Fixed, uneven weights, so that a loss made with them has a different gradient everywhere."""
    numbers = np.cos(np.arange(tensor.numel(), dtype=np.float64)).reshape(tuple(tensor.shape))
    return library.from_numpy(numbers).to(tensor.dtype)


def draw(*shape, seed=0):
    """Fixed standard normal numbers in float64."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)
