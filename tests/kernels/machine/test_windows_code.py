"""Code as it is generated for Windows, run here: its calling convention is crossed by bridges, and Python functions stand in
for its system."""

import ctypes
import platform
import re
import sys
import threading
import time

import numpy as np
import pytest

from rushlight.kernels.compiler import emit, lowering
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine import launch, launch_log, system
from rushlight.kernels.machine.host import host
from rushlight.kernels.machine.object_file import Image

HERE = sys.platform == "linux" and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(host() is None or not HERE, reason="needs llvmlite on x86-64 Linux")
if host() is not None:
    from foreign_code import WINDOWS, code_for, shared_texts

ENTRIES = """
declare ptr @call_alone(ptr, ptr, i64)
declare ptr @call_threaded(ptr, ptr, i64)
declare void @work(i64)
declare void @set_limit(i64)
declare void @quit()
"""
_I32, _I64, _POINTER = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
SIGNATURES = {
    "Sleep": (None, _I32),
    "SwitchToThread": (_I32,),
    "WaitOnAddress": (_I32, _POINTER, _POINTER, _I64, _I32),
    "WakeByAddressAll": (None, _POINTER),
    "QueryPerformanceCounter": (_I32, _POINTER),
    "QueryPerformanceFrequency": (_I32, _POINTER),
    "GetCurrentThreadId": (_I32,),
}


def bridges(text, names, callers, callees):
    """IR of a function for each of the names that a text declares, between two calling conventions."""
    found = []
    for result, name, types in re.findall(r"^declare (\S+) @(\w+)\(([^.)]*)\)$", text, re.MULTILINE):
        if name in names:
            kinds = [kind for kind in types.split(", ") if kind]
            given = ", ".join(f"{kind} %a{number}" for number, kind in enumerate(kinds))
            called = f"call {callees} {result} @{name}({given})"
            body = f"{called}\n  ret void" if result == "void" else f"%r = {called}\n  ret {result} %r"
            found.append(f"declare {callees} {result} @{name}({types})")
            found.append(f"define {callers} {result} @bridge_{name}({given}) {{\n  {body}\n}}")
    return "\n".join(dict.fromkeys(found))  # a text may declare a name twice


def across(text, addresses, callers, callees):
    """The addresses of bridges to functions that a text declares."""
    image = Image(host().compile(bridges(text, addresses, callers, callees)), addresses)
    found = {name: image.symbols.get(f"bridge_{name}", address) for name, address in addresses.items()}
    return found, image


def a_return():
    """Memory with one instruction, for Windows' probing of the stack: Linux's needs none."""
    memory = system.MappedMemory(1)
    memory.content[0] = 0xC3
    memory.seal(system.mmap.PAGESIZE)
    return memory


def sums_program():
    """out[i] = factor * 2 * the sum of chunk i of three arrays, by a function with vectors among its arguments."""
    inner = Builder("scaled", [("v", "f64x4"), ("w", "f64x4"), ("x", "f64x4"), ("factor", "f64"), ("n", "i64")])
    v, w, x, factor, n = inner.parameters
    inner.returns(inner.reduce(v + w + x) * factor * inner.convert(n, "f64"))
    builder = Builder("sums", [("tables", "f64**"), ("out", "f64*"), ("factor", "f64"), ("chunks", "i64")])
    tables, out, factor, chunks = builder.parameters
    with builder.parallel(chunks) as chunk:
        vectors = [builder.load(builder.load(tables, which), chunk * 4, 4) for which in range(3)]
        builder.store(builder.call(inner.function, *vectors, factor, builder.constant(2)), out, chunk)
    return Program("sums", [inner.function, builder.function])


class Windows:
    """The shared code and one program, with `launch`, threads and log, as on Windows; ``calls`` has those of its system."""

    def __init__(self):
        self.calls = []
        program = lowering.lowered(sums_program())
        texts = [*shared_texts(system.system("win32"), "amd64"), emit.emit(program) + launch.entry_points(program)]
        functions = {
            name: ctypes.CFUNCTYPE(*types)(getattr(self, name, lambda *_, name=name: self.calls.append(name) or 1))
            for name, types in SIGNATURES.items()
        }
        addresses = {name: ctypes.cast(function, _POINTER).value for name, function in functions.items()}
        outside, bridge = across("\n".join(texts), {**launch.python_symbols(), **addresses}, "win64cc", "ccc")
        pages = a_return()
        symbols = {**outside, "__chkstk": pages.address, "launch_log": ctypes.addressof(launch_log._cell)}
        images = []
        for text in texts:
            images.append(Image(code_for(WINDOWS, text, cpu=host().cpu), symbols))
            symbols |= images[-1].symbols
        names = re.findall(r"@(\w+)", ENTRIES)
        self.entries, entered = across(ENTRIES, {name: symbols[name] for name in names}, "ccc", "win64cc")
        self.kept = functions, pages, bridge, images, entered

    def function(self, name, *types):
        return ctypes.CFUNCTYPE(None, *types)(self.entries[name])

    def built_in(self, name):
        return launch.built_in(name, self.entries[name])

    def WaitOnAddress(self, address, compared, size, milliseconds):
        self.calls.append(("WaitOnAddress", size, milliseconds))
        value = ctypes.c_uint32.from_address(compared).value
        while ctypes.c_uint32.from_address(address).value == value:
            time.sleep(0.001)
        return 1

    def QueryPerformanceCounter(self, address):
        ctypes.c_int64.from_address(address).value = time.perf_counter_ns() // 100
        return 1

    def QueryPerformanceFrequency(self, address):
        ctypes.c_int64.from_address(address).value = 10_000_000
        return 1

    def GetCurrentThreadId(self):
        return 4711


@pytest.fixture(scope="module")
def windows():
    return Windows()


CHUNKS = 50
ARRAYS = [np.arange(4.0 * CHUNKS) + k for k in range(3)]
WANTED = 3.0 * sum(ARRAYS).reshape(CHUNKS, 4).sum(1)


def test_a_launch(windows):
    out = np.zeros(CHUNKS)
    for name in ("call_alone", "call_threaded"):
        out[:] = 0
        assert windows.built_in(name)(ARRAYS, out, 1.5, CHUNKS) is None
        np.testing.assert_array_equal(out, WANTED)


def test_errors_come_back(windows):
    call, out = windows.built_in("call_alone"), np.zeros(CHUNKS)
    with pytest.raises(TypeError):
        call(ARRAYS, out, 1.5)
    with pytest.raises(TypeError):
        call(ARRAYS, "out", 1.5, CHUNKS)
    with pytest.raises(OverflowError):
        call(ARRAYS, out, 1.5, 1 << 80)


def test_the_log_reads_its_clock(windows):
    launch_log.begin()
    try:
        began = time.perf_counter_ns()
        windows.built_in("call_alone")(ARRAYS, np.zeros(CHUNKS), 1.5, CHUNKS)
        ended = time.perf_counter_ns()
        ((*_, thread, noted_begin, noted_end),) = launch_log.noted()[0].tolist()
    finally:
        launch_log.end()
    assert thread == 4711 and began - 100 <= noted_begin <= noted_end <= ended


def test_a_worker_sleeps_and_is_woken(windows):
    worker = threading.Thread(target=windows.function("work", _I64), args=(1,))
    windows.function("set_limit", _I64)(2)
    worker.start()
    while ("WaitOnAddress", 4, -1) not in windows.calls:  # a word, for ever
        time.sleep(0.001)
    out = np.zeros(CHUNKS)
    windows.built_in("call_threaded")(ARRAYS, out, 1.5, CHUNKS)
    np.testing.assert_array_equal(out, WANTED)
    windows.function("quit")()
    worker.join(timeout=20)
    assert not worker.is_alive() and windows.calls.count("WakeByAddressAll") == 2
