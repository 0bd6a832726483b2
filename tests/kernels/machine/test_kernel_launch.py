"""Entry points: how Python's values reach a program, and what is refused."""

import numpy as np
import pytest

from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")


def gather_program():
    """out[i] = lists[i][i] * f + d + n for i < n; nothing where ``out`` is NULL is not touched."""
    names = [("lists", "f32**"), ("out", "f64*"), ("n", "i64"), ("f", "f32"), ("d", "f64")]
    b = Builder("gather", names)
    lists, out, n, f, d = b.parameters
    with b.parallel(1), b.loop(0, n) as at:
        value = b.load(b.load(lists, at.index), at.index)
        b.store(b.convert(value * f, "f64") + d + b.convert(n, "f64"), out, at.index)
    return Program("gather", [b.function])


@pytest.fixture(scope="module")
def kernel():
    return compiled(("test gather",), gather_program)


@pytest.mark.parametrize("way", ["alone", "threaded"])
def test_arguments_arrive(kernel, way):
    lists = [np.arange(5, dtype=np.float32) + 10 * i for i in range(5)]
    out = np.zeros(5)
    assert getattr(kernel, way)(lists, out, 5, 2.0, -1.0) is None
    np.testing.assert_array_equal(out, [11 * i * 2.0 - 1.0 + 5 for i in range(5)])
    getattr(kernel, way)([], None, 0, 1, np.float64(-1))  # -1 is CPython's sign of an error, and a number


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ([], None, 0, 1.0),
        ([], None, 0, 1.0, 2.0, 3.0),
        ((), None, 0, 1.0, 2.0),
        ([1], None, 0, 1.0, 2.0),
        ([], [0.0], 0, 1.0, 2.0),
        ([], None, "0", 1.0, 2.0),
        ([], None, 1.5, 1.0, 2.0),
        ([], None, 2**70, 1.0, 2.0),
        ([], None, 0, "1.0", 2.0),
        ([], None, 0, 1.0, None),
    ],
)
def test_wrong_arguments_are_refused(kernel, arguments):
    for function in (kernel.alone, kernel.threaded):
        with pytest.raises((TypeError, OverflowError)):
            function(*arguments)


def test_name_and_key(kernel):
    assert kernel.alone.__name__ == "test gather" and kernel.key == ("test gather",)
    assert compiled(("test gather",), gather_program) is kernel
    assert kernel.program().name == "gather"


def test_no_reference_is_lost(kernel):
    import sys

    before = sys.getrefcount(None)
    for _ in range(1000):
        kernel.alone([], None, 0, 1.0, 2.0)
    assert abs(sys.getrefcount(None) - before) < 100
