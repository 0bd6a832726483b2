"""Kernels: loop programs made callable. From memory, from the disk, or built and compiled (see `lowering`)."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
import os
import sys
import threading
import time

from ..machine import launch, launch_log, system, threads, tickets
from ..machine.cache import disk
from ..machine.host import host
from ..machine.runtime import runtime_code

_LOG = os.environ.get("RUSHLIGHT_LOG_KERNELS", "") not in ("", "0")
# All that machine code can be made of: this room, and those it may import. Formulas from elsewhere are traced into the keys.
ROOMS = ("base", "random", "ops", "kernels")
_lock = threading.RLock()  # one thread compiles at a time
_known = {}  # key -> Kernel


class Kernel:
    """A compiled program.

    ``alone(*arguments)`` runs it on the calling thread, ``threaded(*arguments)`` on all; both take NumPy arrays for
    pointers (None for NULL), lists of arrays for pointers to pointers, ints and floats, and return None. Nothing but
    the arguments' classes is checked: whoever calls has seen to dtypes, sizes and layouts.
    """

    __slots__ = ("_launches", "_loaded", "alone", "build", "description", "key", "name", "threaded")

    def __init__(self, key, name, build, addresses, loaded):
        self.key, self.name, self.build, self._loaded = key, name, build, loaded
        self.alone = launch.built_in(name, addresses["call_alone"])
        threaded = addresses.get("call_threaded")
        self.threaded = self.alone if threaded is None else launch.built_in(name, threaded)
        self.description = addresses["description"]  # its address: what the launch log calls the kernel by
        self._launches = ctypes.c_int64.from_address(self.description)

    @property
    def launches(self):
        """How often the kernel was run in this process."""
        return self._launches.value

    def program(self):
        """The loop program, built again: for people and tests to look at."""
        return self.build()

    def __repr__(self):
        return f"<kernel {self.name}>"


def compiled(key, build):
    """The Kernel for a key; ``build()`` gives its Program where it is in neither memory nor the disk's cache.

    The key (a tuple of plain values; the first is the kernel's name) must determine the program.
    """
    found = _known.get(key)
    if found is None:
        with _lock:
            found = _known.get(key) or _make(key, build)
            _known[key] = found
    return found


def known():
    """All kernels made so far."""
    return _known.values()


@functools.cache
def pool():
    """The Pool of worker threads, started at first use."""
    return threads.Pool(stored_code(("runtime",), runtime_code))


def stored_code(key, source):
    """The machine code for a key, from the disk or compiled of ``source()``, the text of LLVM IR."""
    return _code(key, source)[0]


@functools.cache
def _fingerprint():
    """A hash of what kernels are made by: the source files of ROOMS, the CPU, the versions."""
    found = hashlib.sha256(f"{host().description} {sys.version}".encode())
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    for room in ROOMS:
        for path, status in _sources(os.path.join(package, room)):
            found.update(f"{path[len(package) :]} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()


def _sources(folder):
    """(path, status) of each source file below a folder, in the order of their names."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry.path, entry.stat()
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _sources(entry.path)


@functools.cache
def _shared():
    """The addresses of what programs and their entry points call, and what keeps it in memory."""
    code = stored_code(("shared",), lambda: launch.launch_code() + launch_log.log_code() + tickets.share_code())
    imports = {**launch.python_symbols(), **launch_log.symbols(), **system.addresses(), **pool().symbols}
    return host().load(code, ("launch", "take_chunk", "finish_chunks"), imports)


def _code(key, source):
    """The machine code for a key, from the disk or of what ``source()`` gives: a Program, or the text of LLVM IR; and
    whether it was compiled now."""
    name = f"{_fingerprint()} {key!r}"
    found = disk().load(name)
    if found is not None:
        return found, False
    # Imported where something has to be compiled: a process whose kernels are all on disk needs none of it.
    found = importlib.import_module(".lowering", __package__).machine_code(source)
    disk().store(name, found)
    return found, True


def _make(key, build):
    imports, _ = _shared()
    began = time.perf_counter()
    code, fresh = _code(key, build)
    addresses, loaded = host().load(code, ("call_alone", "call_threaded", "description"), imports)
    if _LOG:
        took = (time.perf_counter() - began) * 1e3
        origin = "compiled" if fresh else "loaded"
        print(f"rushlight: kernel {key[0]} {origin} in {took:.1f} ms ({len(code)} bytes) {key[1:]}", file=sys.stderr)
    return Kernel(key, key[0], build, addresses, loaded)
