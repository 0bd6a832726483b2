"""Entry points: how Python's values reach a program, and what is refused."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine import launch_log
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
    before = sys.getrefcount(None)
    for _ in range(1000):
        kernel.alone([], None, 0, 1.0, 2.0)
    assert abs(sys.getrefcount(None) - before) < 100


def test_launches_are_noted_while_somebody_listens(kernel, monkeypatch):
    """Each with its kernel, its way, its thread and its times, until the log is full."""
    monkeypatch.setattr(launch_log, "_log", [np.empty(2 + 3 * launch_log.FIELDS, np.int64)])
    launch_log.begin()
    try:
        kernel.alone([], None, 0, 1.0, 2.0)
        kernel.threaded([], None, 0, 1.0, 2.0)
        rows, lost = launch_log.noted()
        other = threading.Thread(target=kernel.alone, args=([], None, 0, 1.0, 2.0))
        other.start()
        other.join()
        kernel.alone([], None, 0, 1.0, 2.0)
        full, lost_now = launch_log.noted()
    finally:
        launch_log.end()
    kernel.alone([], None, 0, 1.0, 2.0)
    assert lost == 0 and lost_now == 1 and len(launch_log.noted()[0]) == 3
    assert rows[:, launch_log.KERNEL].tolist() == [kernel.description] * 2
    assert rows[:, launch_log.THREADED].tolist() == [0, 1]
    threads = [thread == threading.get_ident() for thread in full[:, launch_log.THREAD].tolist()]
    assert threads == [True, True, False]
    assert (np.diff(full[:, launch_log.BEGAN]) > 0).all() and (
        full[:, launch_log.ENDED] >= full[:, launch_log.BEGAN]
    ).all()
    assert 0 <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) - full[-1, launch_log.ENDED] < 60e9


def test_definitions_are_there_when_modules_are_gone():
    """At the end of a process the collector looks into what functions are defined by."""
    program = """
import ctypes, gc
import rushlight as torch
(torch.rand(300, 300) @ torch.rand(300, 300)).exp()
from rushlight.kernels.machine import launch
flags, size = launch._METH_FASTCALL, ctypes.sizeof(ctypes.c_void_p)
launched = launch.built_in("launched", 1)
vars(launch).clear()
gc.collect()
[bytes(32) for _ in range(1000)]
definition = ctypes.c_void_p.from_address(id(launched) + 2 * size).value
assert ctypes.c_int.from_address(definition + 2 * size).value == flags
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONMALLOC": "debug"})
