"""Code for macOS, Windows and ARM, made here; memory, processors and waiting there, with recorders in the systems' place."""

import ctypes
import platform
import struct
import sys

import pytest

from rushlight.base import other_systems, processors
from rushlight.kernels.machine import launch, object_file, system
from rushlight.kernels.machine.host import host
from rushlight.kernels.machine.object_file import Image, can_place

HERE = sys.platform == "linux" and platform.machine() == "x86_64"
needs_llvm = pytest.mark.skipif(host() is None or not HERE, reason="needs llvmlite on x86-64 Linux")
if host() is not None:
    from foreign_code import ARM, MACS, WINDOWS, code_for, shared_texts
else:
    ARM, MACS, WINDOWS = "", ("", ""), ""
LINKED = {*launch.python_symbols(), "launch_log", "run", "await_count"}  # from our own parts, and from CPython
LLVM_CALLS = {"memset", "__chkstk"}  # on LLVM's own account


def undefined(code):
    """The names that an object file wants from elsewhere."""
    sections = object_file._sections(code)
    table = next(section for section in sections if section.type == object_file._SYMBOLS)
    entries = object_file._SYMBOL.iter_unpack(code[table.offset : table.offset + table.size])
    names = (object_file._text(code, sections[table.link].offset + entry[0]) for entry in entries if entry[3] == 0)
    return {name for name in names if name}


@needs_llvm
@pytest.mark.parametrize("name, machine, triple", [("win32", "amd64", WINDOWS), ("linux", "aarch64", ARM)])
def test_what_is_placed_without_a_linker(name, machine, triple):
    other = system.system(name, machine)
    for text in shared_texts(other, machine):
        code = code_for(triple, text)
        assert can_place(code)
        assert undefined(code) <= LINKED | LLVM_CALLS | set(other.functions)


@needs_llvm
@pytest.mark.parametrize("triple", MACS)
@pytest.mark.parametrize("newer", [False, True])
def test_code_of_macos(monkeypatch, triple, newer):
    """It sleeps on an address where the system can, and in short naps before that."""

    class Library:
        def __init__(self, name):
            if newer:
                self.os_sync_wait_on_address = self.os_sync_wake_by_address_all = None

    monkeypatch.setattr(system.ctypes, "CDLL", Library)
    other = system.system.__wrapped__("darwin", "arm64")
    monkeypatch.undo()
    assert ("os_sync_wait_on_address" in other.functions) == ("@os_sync_wait_on_address" in other.waiting) == newer
    for text in shared_texts(other, triple.partition("-")[0]):
        code = code_for(triple, text)
        assert code[:4] == b"\xcf\xfa\xed\xfe" and not can_place(code)  # LLVM's linker takes it


TEXT = """
@calls = dso_local global i64 0
declare double @far(double)
declare double @near(double)
define internal double @own(double %x) noinline {
  %found = fadd double %x, 1.25
  ret double %found
}
define double @all(double %x) {
  %calls = load i64, ptr @calls
  %more = add i64 %calls, 1
  store i64 %more, ptr @calls
  %a = call double @own(double %x)
  %b = call double @far(double %a)
  %c = call double @near(double %b)
  %d = call double @far(double %c)
  ret double %d
}
"""


def moved(words):
    """The 64 bits that four moves of ARM put into a register, by the register."""
    found = {}
    for word in words:
        if word >> 25 & 0x1F == 0b01001 or word >> 23 & 0xFF == 0b11100101:  # movz, movk
            register, part, bits = word & 31, word >> 21 & 3, word >> 5 & 0xFFFF
            found[register] = found.get(register, 0) & ~(0xFFFF << 16 * part) | bits << 16 * part
    return set(found.values())


@needs_llvm
def test_code_of_arm_is_linked():
    """Every address is put together by its four moves; calls reach what is near, and by veneers what is far."""
    far, near = 0x7FFF_1234_5678, 0x7EEE_0000_0010
    image = Image(code_for(ARM, TEXT), {"far": far, "near": near})
    words = struct.unpack(f"<{image._fixed // 4}I", image._memory.content[: image._fixed])
    assert image.symbols["calls"] in moved(words)
    goals = []
    for place, word in enumerate(words):
        if word >> 26 in (0b000101, 0b100101):  # b, bl
            goal = place + ((word & 0x3FFFFFF) ^ 0x2000000) - 0x2000000
            is_veneer = words[goal : goal + 2] == (0x58000050, 0xD61F0200)
            goals.append(words[goal + 2] | words[goal + 3] << 32 if is_veneer else "own")
    assert goals == ["own", far, near, far]


# ---------------------------------------------------------------- Windows' memory, with a recorder


class Kernel32:
    """Notes calls, and gives memory of this process."""

    def __init__(self, fails=""):
        self.calls, self.fails = [], fails
        self.page = ctypes.create_string_buffer(1 << 16)
        self.VirtualAlloc = lambda *given: self.note("VirtualAlloc", *given) and ctypes.addressof(self.page)
        for name in ("VirtualProtect", "VirtualFree", "FlushInstructionCache"):
            setattr(self, name, lambda *given, name=name: self.note(name, *given))

    def note(self, name, *given):
        self.calls.append((name, *(getattr(each, "value", each) for each in given)))
        return int(name != self.fails)


def windows_memory(monkeypatch, size, fails=""):
    kernel = Kernel32(fails)
    monkeypatch.setattr(system.ctypes, "CDLL", lambda name: {"kernel32": kernel}[name])
    # A function of Python has no restype to set; the recorder's answer is an address as it is.
    return kernel, system.WindowsMemory(size)


def test_memory_of_windows(monkeypatch):
    kernel, memory = windows_memory(monkeypatch, 8192)
    memory.content[3:5] = b"ab"
    assert kernel.page.raw[:5] == b"\0\0\0ab"
    memory.seal(4096)
    start, process = memory.address, (1 << 64) - 1
    del memory
    *calls, protected, flushed, freed = kernel.calls
    assert calls == [("VirtualAlloc", None, 8192, 0x3000, 0x04)]
    assert protected[:4] == ("VirtualProtect", start, 4096, 0x20)
    assert flushed == ("FlushInstructionCache", process, start, 4096)
    assert freed == ("VirtualFree", start, 0, 0x8000)


def test_windows_refuses_memory(monkeypatch):
    with pytest.raises(MemoryError, match="for generated code"):
        windows_memory(monkeypatch, 4096, fails="VirtualAlloc")
    _, memory = windows_memory(monkeypatch, 4096, fails="VirtualProtect")
    with pytest.raises(OSError, match="does not let generated code run"):
        memory.seal(4096)


# ---------------------------------------------------------------- processors


@pytest.fixture
def elsewhere(monkeypatch):
    """Puts a library in the place of another system's."""

    def become(name, library):
        monkeypatch.setattr(sys, "platform", name)
        monkeypatch.setattr(processors, "_LINUX", False)
        monkeypatch.delattr(processors.os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(other_systems.ctypes, "CDLL", lambda name: library)

    return become


class Mac:
    def __init__(self, **numbers):
        self.numbers = {name.replace("__", "."): number for name, number in numbers.items()}

    def sysctlbyname(self, name, found, size, new, new_size):
        assert size._obj.value == 8 and new is None and new_size == 0
        number = self.numbers.get(name.decode())
        if number is None:
            return -1
        found._obj.value = number
        return 0


def test_processors_of_macos(elsewhere):
    apple = {"physicalcpu": 8, "l1dcachesize": 131072, "l2cachesize": 16 << 20, "cpusperl2": 4}
    elsewhere("darwin", Mac(hw__physicalcpu=10, **{f"hw__perflevel0__{name}": n for name, n in apple.items()}))
    assert processors.usable_cores() == 8  # without the slow ones
    assert [processors.cache_bytes(level) for level in (1, 2, 3)] == [131072, 16 << 20, 0]
    assert [processors.cache_sharers(level) for level in (1, 2, 3)] == [0, 4, 0]
    elsewhere("darwin", Mac(hw__physicalcpu=6, hw__l1dcachesize=32768, hw__l3cachesize=12 << 20))
    assert processors.usable_cores() == 6
    assert [processors.cache_bytes(level) for level in (1, 2, 3)] == [32768, 0, 12 << 20]
    elsewhere("darwin", Mac())
    assert processors.usable_cores() == processors.os.cpu_count()
    assert processors.shared_cache_bytes() == 32 << 20


class Windows:
    """Two cores of two threads each, and one more that this process may not use; caches of the first core and of all."""

    def GetProcessAffinityMask(self, process, mine, all_of_them):
        assert process.value == (1 << 64) - 1
        mine._obj.value, all_of_them._obj.value = 0b01111, 0b11111
        return 1

    def GetLogicalProcessorInformation(self, buffer, size):
        cores = [struct.pack("<QI4xQ8x", mask, 0, 1) for mask in (0b11, 0b1100, 0b10000)]
        caches = [(1, 32768, 1), (1, 49152, 2), (2, 1 << 20, 0)]
        found = [struct.pack("<QI4xBBHII4x", 0b11, 2, level, 8, 64, size, kind) for level, size, kind in caches]
        found.append(struct.pack("<QI4xBBHII4x", 0b11111, 2, 3, 16, 64, 24 << 20, 0))
        found = b"".join(cores + found)
        if buffer is None:
            size._obj.value = len(found)
            return 0
        assert size._obj.value == len(found)
        ctypes.memmove(buffer, found, len(found))
        return 1


def test_processors_of_windows(elsewhere):
    elsewhere("win32", Windows())
    assert processors.usable_cores() == 2
    assert [processors.cache_bytes(level) for level in (1, 2, 3)] == [49152, 1 << 20, 24 << 20]
    assert [processors.cache_sharers(level) for level in (1, 2, 3)] == [2, 2, 5]
