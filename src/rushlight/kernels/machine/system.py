"""What generated code takes of the operating system: its functions, memory to run from, ways to wait, the time.

Linux has run it. What is said of macOS and Windows follows their documentation; tests call it with recorders in the
systems' place (``tests/kernels/machine/test_systems.py``), and nobody has run it there yet.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import mmap
import platform
import sys
import time
import weakref
from typing import NamedTuple

MAXIMUM_THREADS = 256
_FUTEX_CALLS = {"x86_64": 202, "aarch64": 98, "arm64": 98}


class System(NamedTuple):
    """One operating system, as generated code sees it.

    Attributes:
        libraries: where its functions are looked for, in this order; None is what the process has loaded anyway.
        functions: those that the texts below call.
        waiting: IR of ``nap(microseconds)``, ``give_way()``, ``sleep_while(word address, value)``, ``wake(word address)``.
        clock: IR of ``read_clock(address)``, nanoseconds as `nanoseconds` of this module has them, and ``this_thread()``,
            the calling thread as `threading.get_ident` has it.
        memory: the class of memory for code, `MappedMemory` or `WindowsMemory`.
    """

    libraries: tuple
    functions: tuple
    waiting: str
    clock: str
    memory: type


# ---- Linux, macOS and others like them

_POSIX = "usleep", "sched_yield", "clock_gettime", "pthread_self"
_POSIX_TURNS = """
declare i32 @usleep(i32)
declare i32 @sched_yield()
define internal void @nap(i32 %microseconds) nounwind {
  %r = call i32 @usleep(i32 %microseconds)
  ret void
}
define internal void @give_way() nounwind {
  %r = call i32 @sched_yield()
  ret void
}
"""
_NAPS = """
define internal void @sleep_while(ptr %address, i32 %value) nounwind {
  call void @nap(i32 500)
  ret void
}
define internal void @wake(ptr %address) nounwind {
  ret void
}
"""


def _futex(number):
    return f"""
declare i64 @syscall(i64, ...)
define internal void @sleep_while(ptr %address, i32 %value) nounwind {{
  %r = call i64 (i64, ...) @syscall(i64 {number}, ptr %address, i64 128, i32 %value, ptr null, ptr null, i64 0)
  ret void
}}
define internal void @wake(ptr %address) nounwind {{
  %r = call i64 (i64, ...) @syscall(i64 {number}, ptr %address, i64 129, i32 {MAXIMUM_THREADS}, ptr null, ptr null, i64 0)
  ret void
}}
"""


_MACOS_SLEEP = "os_sync_wait_on_address", "os_sync_wake_by_address_all"  # of macOS 14.4 and later
_MACOS_SLEEPING = """
declare i32 @os_sync_wait_on_address(ptr, i64, i64, i32)
declare i32 @os_sync_wake_by_address_all(ptr, i64, i32)
define internal void @sleep_while(ptr %address, i32 %value) nounwind {
  %wide = zext i32 %value to i64
  %r = call i32 @os_sync_wait_on_address(ptr %address, i64 %wide, i64 4, i32 0)
  ret void
}
define internal void @wake(ptr %address) nounwind {
  %r = call i32 @os_sync_wake_by_address_all(ptr %address, i64 4, i32 0)
  ret void
}
"""


def _posix_clock():
    return f"""
declare i32 @clock_gettime(i32, ptr)
declare i64 @pthread_self()
define internal void @read_clock(ptr %to) nounwind {{
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 {time.CLOCK_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  store i64 %now, ptr %to
  ret void
}}
define internal i64 @this_thread() nounwind {{
  %thread = call i64 @pthread_self()
  ret i64 %thread
}}
"""


class MappedMemory:
    """Pages for code: ``content`` can be written at first; ``seal`` makes the pages at the start executable instead."""

    def __init__(self, size):
        # Private: a forked child has data of its own.
        self.content = mmap.mmap(-1, max(size, mmap.PAGESIZE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        _mapped.add(self)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.content))

    def seal(self, size):
        """Let the first ``size`` bytes, whole pages, be run and no longer written."""
        start, end = ctypes.c_void_p(self.address), ctypes.c_void_p(self.address + size)
        publish = _publisher()
        if publish is not None:
            publish(start, end)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(start, ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "the system does not let generated code run")


_mapped: weakref.WeakSet[MappedMemory] = weakref.WeakSet()


@atexit.register
def _outlive_the_interpreter():
    """Keep all code where it is: a thread that is put aside within it goes on while the interpreter takes itself apart."""
    for memory in _mapped:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory.content))


@functools.cache
def _publisher():
    """The function that shows written code (its start and end) to the CPU's instruction caches; None on x86-64, where they
    see by themselves what is written. ARM's do not: it is in the library that comes with GCC. OSError without that."""
    on_arm = platform.machine().lower() in ("aarch64", "arm64")
    return ctypes.CDLL("libgcc_s.so.1").__clear_cache if on_arm else None


def can_publish():
    """Whether this system shows code that was written to memory to the CPU."""
    try:
        _publisher()
    except OSError:
        return False
    return True


# ---- Windows

_WINDOWS_LIBRARIES = "kernel32", "kernelbase", "ntdll", "ucrtbase"
_WINDOWS = "Sleep", "SwitchToThread", "WaitOnAddress", "WakeByAddressAll"
_WINDOWS += "QueryPerformanceCounter", "QueryPerformanceFrequency", "GetCurrentThreadId"
# Sleep counts milliseconds, and often takes sixteen of them: a nap is the rest of this thread's turn.
_WINDOWS_WAITING = """
declare void @Sleep(i32)
declare i32 @SwitchToThread()
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressAll(ptr)
define internal void @nap(i32 %microseconds) nounwind {
  call void @Sleep(i32 0)
  ret void
}
define internal void @give_way() nounwind {
  %r = call i32 @SwitchToThread()
  ret void
}
define internal void @sleep_while(ptr %address, i32 %value) nounwind {
  %compared = alloca i32
  store i32 %value, ptr %compared
  %r = call i32 @WaitOnAddress(ptr %address, ptr %compared, i64 4, i32 -1)
  ret void
}
define internal void @wake(ptr %address) nounwind {
  call void @WakeByAddressAll(ptr %address)
  ret void
}
"""
_WINDOWS_CLOCK = """
declare i32 @QueryPerformanceCounter(ptr)
declare i32 @QueryPerformanceFrequency(ptr)
declare i32 @GetCurrentThreadId()
define internal void @read_clock(ptr %to) nounwind {
  %frequency_at = alloca i64
  %r0 = call i32 @QueryPerformanceFrequency(ptr %frequency_at)
  %r1 = call i32 @QueryPerformanceCounter(ptr %to)
  %frequency = load i64, ptr %frequency_at
  %ticks = load i64, ptr %to
  %seconds = udiv i64 %ticks, %frequency
  %odd_ticks = urem i64 %ticks, %frequency
  %whole = mul i64 %seconds, 1000000000
  %scaled = mul i64 %odd_ticks, 1000000000
  %rest = udiv i64 %scaled, %frequency
  %now = add i64 %whole, %rest
  store i64 %now, ptr %to
  ret void
}
define internal i64 @this_thread() nounwind {
  %narrow = call i32 @GetCurrentThreadId()
  %thread = zext i32 %narrow to i64
  ret i64 %thread
}
"""
_COMMIT_AND_RESERVE, _RELEASE, _READ_WRITE, _EXECUTE_READ = 0x3000, 0x8000, 0x04, 0x20


class WindowsMemory:
    """As `MappedMemory`."""

    def __init__(self, size):
        self._kernel = ctypes.CDLL("kernel32")
        self._kernel.VirtualAlloc.restype = ctypes.c_void_p
        size = max(size, mmap.PAGESIZE)
        self.address = self._kernel.VirtualAlloc(None, ctypes.c_size_t(size), _COMMIT_AND_RESERVE, _READ_WRITE)
        if not self.address:
            raise MemoryError(f"the system has no {size} bytes for generated code")
        self.content = memoryview((ctypes.c_char * size).from_address(self.address)).cast("B")
        weakref.finalize(
            self, self._kernel.VirtualFree, ctypes.c_void_p(self.address), ctypes.c_size_t(0), _RELEASE
        ).atexit = False  # threads may still be in it

    def seal(self, size):
        """Let the first ``size`` bytes, whole pages, be run and no longer written."""
        start, before = ctypes.c_void_p(self.address), ctypes.c_uint32()
        if not self._kernel.VirtualProtect(start, ctypes.c_size_t(size), _EXECUTE_READ, ctypes.byref(before)):
            raise OSError("the system does not let generated code run")
        self._kernel.FlushInstructionCache(ctypes.c_void_p(-1), start, ctypes.c_size_t(size))  # -1: this process


# ---- which one


@functools.cache
def system(name=sys.platform, machine=None):
    """The System of a name (as `sys.platform` has it) on a kind of machine: this one's by default."""
    if name == "win32":
        return System(_WINDOWS_LIBRARIES, _WINDOWS, _WINDOWS_WAITING, _WINDOWS_CLOCK, WindowsMemory)
    functions, sleeping = (), _NAPS
    futex = _FUTEX_CALLS.get(machine or platform.machine().lower()) if name.startswith("linux") else None
    if futex is not None:
        functions, sleeping = ("syscall",), _futex(futex)
    elif name == "darwin" and all(hasattr(ctypes.CDLL(None), each) for each in _MACOS_SLEEP):
        functions, sleeping = _MACOS_SLEEP, _MACOS_SLEEPING
    return System((None,), (*_POSIX, *functions), _POSIX_TURNS + sleeping, _posix_clock(), MappedMemory)


# The time on the clock that generated code reads, in nanoseconds.
nanoseconds = (
    functools.partial(time.clock_gettime_ns, time.CLOCK_MONOTONIC)
    if hasattr(time, "CLOCK_MONOTONIC")
    else time.perf_counter_ns
)


def address_of(name):
    """Where a function of the system is, one that LLVM calls on its own account (memset, fma, ...) among them."""
    for library in system().libraries:
        found = getattr(ctypes.CDLL(library), name, None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value
    raise AttributeError(f"the system has no function {name}")


def addresses():
    """Where the functions are that this system's texts call."""
    return {name: address_of(name) for name in system().functions}
