"""The kernel of L-BFGS's recursion against its NumPy form in float64, and its program interpreted."""

import numpy as np
import pytest

from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.rows import quasi_newton
from rushlight.kernels.rows.reduce_programs import PART
from rushlight.ops.quasi_newton import two_loop_recursion_

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")


def history(size, count, dtype):
    """The arguments: a direction, pairs whose curvature is positive, places for the shares and a scale."""
    draw = np.random.default_rng([size, count]).standard_normal
    changes = [(draw(size) / size**0.5).astype(dtype) for _ in range(count)]
    steps = [(0.7 * change + 0.1 * draw(size) / size**0.5).astype(dtype) for change in changes]
    inverses = [np.array(1 / change.dot(step), dtype) for change, step in zip(changes, steps)]
    shares = [np.zeros((), dtype) for _ in range(count)]
    return [draw(size).astype(dtype)], changes, steps, inverses, shares, [np.array(0.7, dtype)]


def widened(arguments):
    return [[array.astype("f8") for array in arrays] for arrays in arguments]


def assert_close(found, expected, tolerance):
    for mine, theirs in ((found[0], expected[0]), (found[4], expected[4])):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(expected[4]).max()))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("size", [1, 5, 97, 1000, PART, 2 * PART + 3])
def test_recursion(size, count, dtype):
    arguments = history(size, count, dtype)
    expected = widened(arguments)
    two_loop_recursion_(*expected)
    assert quasi_newton.two_loop_recursion_(*arguments) is None
    assert_close(arguments, expected, 1e-4 if dtype == "f4" else 1e-12)


def test_threads_change_nothing():
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        arguments = history(5 * PART, 3, "f4")
        quasi_newton.two_loop_recursion_(*arguments)
        found.append(arguments[0][0])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("size", [3, 21])
def test_program(size):
    arguments = history(size, 3, "f8")
    expected = widened(arguments)
    two_loop_recursion_(*expected)
    (direction,), changes, steps, inverses, shares, (scale,) = arguments
    numbers = [[each.reshape(1) for each in each_list] for each_list in (inverses, shares)]
    interpret(
        quasi_newton.program("f64", 4), direction, changes, steps, *numbers, scale.reshape(1), np.empty(2), 3, size
    )
    assert_close(arguments, expected, 1e-12)


def test_what_is_left_to_numpy():
    for change in (lambda a: a.astype("f8"), lambda a: np.repeat(a, 2)[::2], lambda a: a[:-1]):
        direction, changes, *rest = history(8, 2, "f4")
        assert quasi_newton.two_loop_recursion_(direction, [changes[0], change(changes[1])], *rest) is NotImplemented
    assert quasi_newton.two_loop_recursion_(*history(8, 2, "f2")) is NotImplemented
