"""One line of code, run with Rushlight and with PyTorch: what comes out must be the same, errors included."""

import warnings

import numpy as np


def outcome(module, code, names):
    """What ``code`` gives under ``module`` (called ``torch`` there), in a form that can be compared."""
    space = {"torch": module, "np": np, **names(module)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(module, eval(code, space))
        except Exception as error:
            return type(error).__name__, first_line(error)


def first_line(error):
    """The first line of a message, without the C++ file name that PyTorch adds to some."""
    return (str(error).splitlines() or [""])[0].split(" (Triggered internally")[0].rstrip()


def shown(module, value):
    """Tensors as (shape, strides, dtype, values, ...), containers likewise; other values themselves, or their text."""
    if isinstance(value, module.Tensor):
        strides = tuple(s for n, s in zip(value.shape, value.stride()) if n > 1)  # others mean nothing
        dtype = str(value.dtype)
        return tuple(value.shape), strides, dtype, numbers(value), value.requires_grad, value._base is not None
    if isinstance(value, (tuple, list)):
        return [shown(module, item) for item in value]
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tolist()
    return str(value)


def numbers(tensor):
    """The values as text, rounded to what the dtype holds: NaN equals NaN."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return [numbers(tensor.real), numbers(tensor.imag)]
    values = tensor.reshape(-1).tolist()
    return [f"{v:.6g}" if isinstance(v, float) else v for v in values]


def check(torch, candidate, code, names):
    """Assert that ``code`` comes out the same with both libraries."""
    expected, found = outcome(torch, code, names), outcome(candidate, code, names)
    assert found == expected, f"{code}\n  PyTorch:   {expected}\n  Rushlight: {found}"
