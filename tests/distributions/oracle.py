"""Both libraries' distributions, made of the same parameters, for the tests against PyTorch."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = (torch, rushlight)


def values(result):
    """A result as arrays: tensors of either library, tuples of them."""
    if isinstance(result, (tuple, list)):
        return [values(part) for part in result]
    return np.array(result.detach().tolist()) if hasattr(result, "detach") else np.array(result)


def assert_close(ours, theirs, rtol=2e-5, atol=2e-6, what=""):
    """Values close, and dtype and shape the same."""
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], (what, ours.dtype, theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape), (what, ours.shape, theirs.shape)
    np.testing.assert_allclose(values(ours), values(theirs), rtol=rtol, atol=atol, err_msg=str(what))


def outcome(function):
    """What a call answers: the result, or the error's kind and first line."""
    try:
        return function(), None
    except Exception as error:
        text = str(error).partition("\nhint:")[0].splitlines()
        return None, (type(error).__name__, (text or [""])[0].replace("rushlight.", "torch."))
