"""How many processors this process may use (affinity, sibling threads of one core, a container's quota, the environment),
and its caches."""

from __future__ import annotations

import importlib
import math
import os
import sys

_QUOTA = "/sys/fs/cgroup/cpu.max"
_CACHE = (
    "/sys/devices/system/cpu/cpu0/cache/index{}/{}"  # 0: data, first level; 1: instructions; 2 and 3: the levels beyond
)
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_MEASURED_CACHE = 1 << 20
_LINUX = sys.platform.startswith("linux")
VARIABLES = ("RUSHLIGHT_NUM_THREADS", "OMP_NUM_THREADS")


def default_threads():
    """How many threads to compute with: what the environment says, else one for each core that may be used."""
    for variable in VARIABLES:
        text = os.environ.get(variable, "")
        if text.isdigit() and int(text) > 0:
            return int(text)
    return usable_cores()


def usable_cores():
    """The physical cores in this process's CPU set, no more than its container's quota allows."""
    if not hasattr(os, "sched_getaffinity"):
        return _told_elsewhere().cores() or os.cpu_count() or 1
    cores = {_read(_SIBLINGS.format(cpu)) or str(cpu) for cpu in os.sched_getaffinity(0)}
    quota, _, period = (_read(_QUOTA) or "max").partition(" ")
    if quota.isdigit() and period.isdigit() and int(period):
        return max(1, min(len(cores), math.ceil(int(quota) / int(period))))
    return len(cores)


def shared_cache_bytes():
    """The size of the third-level cache; 32 MB where the system does not tell."""
    return cache_bytes(3) or 32 << 20


def near_bytes():
    """What blocks of numbers may take to stay in the second-level cache: its size, and 1 MB, which blocks were measured with, at most."""
    return min(cache_bytes(2) or _MEASURED_CACHE, _MEASURED_CACHE)


def cache_bytes(level):
    """The size of the first core's cache of a level (of data, for the first); 0 where the system does not tell."""
    if not _LINUX:
        return _told_elsewhere().cache(level)[0]
    text = _read(_CACHE.format(0 if level == 1 else level, "size")) or ""
    return int(text[:-1]) << 10 if text[:-1].isdigit() and text.endswith("K") else 0


def cache_sharers(level):
    """How many CPUs share that cache; 0 where the system does not tell."""
    if not _LINUX:
        return _told_elsewhere().cache(level)[1]
    total = 0
    for part in (_read(_CACHE.format(0 if level == 1 else level, "shared_cpu_list")) or "").split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            total += int(last or first) - int(first) + 1
    return total


def _told_elsewhere():
    """The module that asks macOS and Windows."""
    return importlib.import_module(".other_systems", __package__)


def _read(path):
    """A small file's text; None where the system has no such file."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None
