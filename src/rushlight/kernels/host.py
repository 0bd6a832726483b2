"""This machine as LLVM sees it: its CPU, the width of its vectors, compiling IR text to machine code and loading it."""

from __future__ import annotations

import ctypes
import functools
import os
import sys

MINIMUM_LLVMLITE = (0, 44)  # the first with LLJIT and opaque pointers

_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18  # x86-64 Linux's numbers
_LEVEL = 1  # of code generation: 0 is unusable, 2 and 3 take longer and gain nothing for explicit vectors


class Host:
    """The CPU and the just-in-time linker; one for a process, made at first use (see ``host``)."""

    def __init__(self, llvm):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self.target = llvm.Target.from_default_triple()
        self.cpu = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features().flatten()
        self.machine = self._new_machine()
        self._linker = None
        self._libraries = 0
        enabled = set(self.features.split(","))
        self.vector_bytes = 64 if "+avx512f" in enabled else 32 if "+avx2" in enabled else 16
        self.has_tiles = {"+amx-tile", "+amx-bf16", "+avx512f"} <= enabled and _may_use_tiles()

    def _new_machine(self):
        return self.target.create_target_machine(cpu=self.cpu, features=self.features, opt=_LEVEL, jit=True)

    @property
    def description(self):
        """What machine code depends on besides the program: part of its key in the cache."""
        version = self._llvm.llvm_version_info
        return f"{self.target.triple} {self.cpu} {self.features} LLVM {version} level {_LEVEL}"

    def parse(self, text):
        head = f'target triple = "{self.target.triple}"\ntarget datalayout = "{self.machine.target_data}"\n'
        return self._llvm.parse_assembly(head + text)

    def compile(self, text):
        """The object file (bytes) of LLVM IR text."""
        return self.machine.emit_object(self.parse(text))

    def assembly(self, text):
        """The assembly (text) of LLVM IR text."""
        return self.machine.emit_assembly(self.parse(text))

    def load(self, machine_code, exports, imports):
        """Link an object file into the process; the addresses of ``exports``, and what keeps them loaded.

        ``imports`` gives the addresses of the functions and data that it names.
        """
        if self._linker is None:
            self._linker = self._llvm.create_lljit_compiler(self._new_machine())
        library = self._llvm.JITLibraryBuilder().add_object_img(machine_code)
        for name, address in imports.items():
            library.import_symbol(name, address)
        for name in exports:
            library.export_symbol(name)
        self._libraries += 1
        tracker = library.link(self._linker, f"kernel{self._libraries}")
        return {name: tracker[name] for name in exports}, tracker


def _may_use_tiles():
    """Ask Linux for the use of the tile registers, for this process and its threads to come."""
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


@functools.cache
def host():
    """The Host; None where llvmlite is missing or too old, or RUSHLIGHT_KERNELS=off leaves everything to NumPy."""
    if os.environ.get("RUSHLIGHT_KERNELS", "").lower() in ("off", "0"):
        return None
    try:
        import llvmlite
        import llvmlite.binding as llvm
    except (ImportError, OSError):  # missing, or its library cannot be loaded
        return None
    if tuple(int(part) for part in llvmlite.__version__.split(".")[:2]) < MINIMUM_LLVMLITE:
        return None
    return Host(llvm)


def lanes(scalar_size):
    """How many elements of so many bytes a vector of this machine holds."""
    return host().vector_bytes // scalar_size
