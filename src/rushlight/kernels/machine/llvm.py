"""This machine as LLVM sees it: its CPU, the width of its vectors, compiling IR text to machine code and loading it."""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

from ...base.contexts import contextmanager
from .cache import disk
from .generation import Generator
from .object_file import Image, bundle, can_place, unbundled
from .system import can_publish

_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18  # x86-64 Linux's numbers
_LEVEL = 1  # of code generation: 0 is unusable, 2 and 3 take longer and gain nothing for explicit vectors


class Host:
    """The CPU, and LLVM to generate code for it; one for a process, made at first use (see ``host``).

    What is known about the CPU is kept beside the kernels, so that LLVM is loaded only where something must be compiled.
    ``description`` is what machine code depends on besides the program: part of its key in the cache. With ``most_bits``
    (512, 256 or 128) no longer vectors are used, nor the instructions of CPUs that have longer ones, or tiles.
    """

    def __init__(self, version, most_bits=None):
        self._most_bits = most_bits
        key = _machine_key(f"{version} {most_bits} bits" if most_bits else version)
        stored = None if key is None else disk().load(key)
        facts = self._facts() if stored is None else stored.decode()
        if stored is None and key is not None:
            disk().store(key, facts.encode())
        self.description, self.cpu, vector_bytes, has_tiles, has_dots = facts.split("\n")
        self.vector_bytes = int(vector_bytes)
        many = self.vector_bytes == 64 or self.description.startswith(("aarch64", "arm64"))
        self.vector_registers = 32 if many else 16
        self.has_tiles = has_tiles == "tiles" and _may_use_tiles()
        self.has_dots = has_dots == "dots"
        self._libraries = 0

    def _facts(self):
        """What LLVM says of the CPU, as lines: description, name, bytes of a vector, whether it has tiles, and dots of bfloat16."""
        features, version = self._features, self._llvm.llvm_version_info
        cpu = self._llvm.get_host_cpu_name()
        enabled = set(features.split(","))
        description = f"{self._target.triple} {cpu} {features} LLVM {version} level {_LEVEL}"
        vector_bytes = 64 if "+avx512f" in enabled else 32 if "+avx2" in enabled else 16
        if self._most_bits:
            vector_bytes = min(vector_bytes, self._most_bits // 8)
            description += f" {vector_bytes} bytes"
        tiles = "tiles" if {"+amx-tile", "+amx-bf16", "+avx512f"} <= enabled else "no tiles"
        dots = "dots" if "+avx512bf16" in enabled else "no dots"
        return "\n".join((description, cpu, str(vector_bytes), tiles, dots))

    @functools.cached_property
    def _llvm(self):
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm

    @functools.cached_property
    def _features(self):
        """LLVM's text of what the CPU can do (+) and cannot (-)."""
        found = self._llvm.get_host_cpu_features()
        if self._most_bits:
            beyond = ("amx",) if self._most_bits == 512 else ("avx512", "avx10", "amx")
            found.update((name, False) for name in found if name.startswith(beyond))
        return found.flatten()

    @functools.cached_property
    def _target(self):
        return self._llvm.Target.from_default_triple()

    @functools.cached_property
    def _machine(self):
        return self._new_machine()

    def _new_machine(self):
        cpu = self._llvm.get_host_cpu_name()
        return self._target.create_target_machine(cpu=cpu, features=self._features, opt=_LEVEL, jit=True)

    @functools.cached_property
    def _linker(self):
        return self._llvm.create_lljit_compiler(self._new_machine())

    @functools.cached_property
    def _generator(self):
        return Generator(self._llvm, self._new_machine)

    @functools.cached_property
    def _head(self):
        return f'target triple = "{self._target.triple}"\ntarget datalayout = "{self._machine.target_data}"\n'

    def compile(self, *texts):
        """The bundle (bytes) of the object files of LLVM IR texts, whose functions may call each other. Texts are compiled at
        once, each by a thread."""
        with self._addresses_as_written():
            return bundle(self._generator.object_files([self._head + text for text in texts]))

    def assembly(self, text):
        """The assembly (text) of LLVM IR text."""
        with self._addresses_as_written():
            return self._machine.emit_assembly(self._llvm.parse_assembly(self._head + text))

    @contextmanager
    def _addresses_as_written(self):
        """Keep LLVM from working over loops' address arithmetic: a fifth of its time, for code that is no faster.

        The option is the process's, so it is put back for others who compile with llvmlite.
        """
        try:
            self._llvm.set_option("rushlight", "-disable-lsr")
            yield
        finally:
            try:
                self._llvm.set_option("rushlight", "-disable-lsr=false")
            except BaseException:  # Ctrl-C came before it was done
                self._llvm.set_option("rushlight", "-disable-lsr=false")
                raise

    def load(self, machine_code, exports, imports):
        """Put a bundle of object files into the process; the addresses of those of ``exports`` that it has, and what keeps it there.

        ``imports`` gives the addresses of the functions and data that it names.
        """
        if can_publish() and can_place(machine_code):
            image = Image(machine_code, imports)
            return {name: image.symbols[name] for name in exports if name in image.symbols}, image
        library = self._llvm.JITLibraryBuilder()
        for content in unbundled(machine_code):
            library.add_object_img(content)
        present = [name for name in exports if name.encode() in machine_code]  # symbols' names stand there as text
        for name, address in imports.items():
            library.import_symbol(name, address)
        for name in present:
            library.export_symbol(name)
        self._libraries += 1
        tracker = library.link(self._linker, f"kernel{self._libraries}")
        return {name: tracker[name] for name in present}, tracker


# What tells processors apart in /proc/cpuinfo: of x86-64, then of ARM.
_CPU_LINES = (
    "vendor_id",
    "cpu family",
    "model",
    "stepping",
    "flags",
    "Features",
    "CPU implementer",
    "CPU part",
    "CPU variant",
)


def _machine_key(version):
    """What the facts about this CPU, as this version of LLVM sees it, are stored under; None where that cannot be told."""
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read()
    except OSError:
        return None
    first = text.partition("\n\n")[0].splitlines()
    return (
        f"CPU, its tiles and dots, level {_LEVEL} llvmlite {version} {sys.platform} {platform.machine()} "
        + " ".join(line for line in first if line.startswith(_CPU_LINES))
    )


def _may_use_tiles():
    """Ask Linux for the use of the tile registers, for this process and its threads to come."""
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0
