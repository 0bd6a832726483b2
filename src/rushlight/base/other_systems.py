"""Cores and caches as macOS and Windows tell of them, for `processors`. Nobody has run it there yet: it follows their manuals."""

from __future__ import annotations

import ctypes
import struct
import sys

# Windows' SYSTEM_LOGICAL_PROCESSOR_INFORMATION: which CPUs (a bit each), what they share, and of a cache its level, size, type.
_RECORD = struct.Struct("<QI4x B B H I I 4x")
_CORE, _CACHE = 0, 2
_INSTRUCTIONS = 1  # the type of cache that holds no data


def cores():
    """The physical cores that this process may use, the fast ones where there are two kinds; 0 where that is not told."""
    if sys.platform == "darwin":
        return _sysctl("hw.perflevel0.physicalcpu") or _sysctl("hw.physicalcpu")
    if sys.platform == "win32":
        mine = _affinity()
        return sum(1 for cpus, shared, *_ in _records() if shared == _CORE and cpus & mine)
    return 0


def cache(level):
    """(bytes, CPUs that share it) of a core's cache for data of a level; zeros where they are not told."""
    if sys.platform == "darwin":
        name = f"l{level}{'d' if level == 1 else ''}cachesize"
        return _sysctl(f"hw.perflevel0.{name}") or _sysctl(f"hw.{name}"), _sysctl(f"hw.perflevel0.cpusperl{level}")
    if sys.platform == "win32":
        for cpus, shared, its_level, _, _, size, kind in _records():
            if shared == _CACHE and its_level == level and kind != _INSTRUCTIONS:
                return size, cpus.bit_count()
    return 0, 0


def _sysctl(name):
    """A number that macOS's kernel knows; 0 where it does not."""
    found, size = ctypes.c_int64(0), ctypes.c_size_t(8)  # 4 bytes may be written: the others stay 0
    failed = ctypes.CDLL(None).sysctlbyname(name.encode(), ctypes.byref(found), ctypes.byref(size), None, 0)
    return 0 if failed else found.value


def _affinity():
    """The CPUs that this process may use, a bit each."""
    kernel, mine, all_of_them = ctypes.CDLL("kernel32"), ctypes.c_uint64(0), ctypes.c_uint64(0)
    kernel.GetProcessAffinityMask(ctypes.c_void_p(-1), ctypes.byref(mine), ctypes.byref(all_of_them))
    return mine.value


def _records():
    """What Windows tells of its processors: see `_RECORD`."""
    kernel, size = ctypes.CDLL("kernel32"), ctypes.c_uint32(0)
    kernel.GetLogicalProcessorInformation(None, ctypes.byref(size))  # says how many bytes there are
    buffer = ctypes.create_string_buffer(size.value)
    if not kernel.GetLogicalProcessorInformation(buffer, ctypes.byref(size)):
        return []
    return list(_RECORD.iter_unpack(buffer.raw[: size.value]))
