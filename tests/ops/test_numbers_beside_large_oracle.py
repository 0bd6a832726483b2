"""Tensors large enough for kernels beside Python numbers of every kind: dtypes, values and refusals, as in PyTorch."""

import operator
import warnings

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

NUMBERS = [2, -1, 0.5, True, 3.7, 1j, 2 + 1j, 2 + 0j, -1 + 0j]
OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt"]
DTYPES = ["float16", "bfloat16", "float32", "float64", "int64", "uint8", "bool", "complex64", "complex128"]
# PyTorch computes these in complex numbers of half precision, which are not there.
OPEN = {"float16": complex}


def made(m, dtype):
    numbers = np.random.default_rng(0).standard_normal((70, 40)) * 2 + 3
    numbers = numbers + 1j * numbers[::-1] if dtype.startswith("complex") else numbers
    return m.from_numpy(numbers).to(getattr(m, dtype))


def outcome(m, call, number, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call(made(m, dtype), number)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            return type(error).__name__, str(error).splitlines()[0]
    return str(found.dtype).split(".")[-1], found.to(m.complex128).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, dtype):
    apply = getattr(operator, name)
    for number in NUMBERS:
        if isinstance(number, OPEN.get(dtype, ())):
            continue
        for call in (apply, lambda x, n: apply(n, x)):
            theirs, ours = (outcome(m, call, number, dtype) for m in (torch, rl))
            assert ours[0] == theirs[0], (number, ours, theirs)
            if isinstance(theirs[1], str):
                assert ours[1] == theirs[1], number
            else:
                tolerance = 2e-2 if dtype.endswith("float16") else 1e-4
                np.testing.assert_allclose(ours[1], theirs[1], tolerance, tolerance, err_msg=str(number))
