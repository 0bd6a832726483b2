"""Object files of x86-64 Linux (ELF), put into memory without a linker.

Code that LLVM generates for a just-in-time machine reaches everything, its own constants included, by 64-bit addresses: its
relocations are of one kind, and writing the addresses is all there is to linking. It takes a fraction of a millisecond,
where starting LLVM's own linker takes a fifth of a second: a process whose kernels are all on disk never loads LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import struct

_IDENTITY = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _ADDENDS, _NO_BITS = 2, 4, 8  # types of sections
_WRITABLE, _ALLOCATED = 1, 2  # their flags
_ABSOLUTE_64 = 1  # the type of relocation
_UNWINDING = ".eh_frame"  # nothing is thrown through this code


class Image:
    """An object file in memory: ``symbols`` are the addresses of what it defines, valid as long as the Image lives."""

    def __init__(self, content, imports):
        self._content = content
        self._sections = _sections(content)
        self._starts = {}  # number of a section -> its address
        self._memory = self._place()
        self.symbols, addresses = self._resolve(imports)
        self._relocate(addresses)
        self._protect()

    def _place(self):
        """Give each section its place: first what is only read or run, then, on pages of its own, what is written."""
        ends = 0
        offsets = {}
        for writable in (False, True):
            for number, section in enumerate(self._sections):
                if section.needed and section.writable == writable:
                    ends = -(-ends // section.alignment) * section.alignment
                    offsets[number] = ends
                    ends += section.size
            ends = -(-ends // mmap.PAGESIZE) * mmap.PAGESIZE
            if not writable:
                self._fixed = ends
        # Private: a forked child has data of its own.
        memory = mmap.mmap(-1, max(ends, mmap.PAGESIZE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for number, offset in offsets.items():
            section = self._sections[number]
            self._starts[number] = self._address + offset
            if section.type != _NO_BITS:
                memory[offset : offset + section.size] = self._content[section.offset : section.offset + section.size]
        return memory

    def _resolve(self, imports):
        """The addresses of named definitions, and of all symbols by number."""
        table = next(section for section in self._sections if section.type == _SYMBOLS)
        names = self._sections[table.link]
        defined, addresses = {}, []
        entries = self._content[table.offset : table.offset + table.size]
        for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", entries):
            text = _text(self._content, names.offset + name)
            if section in self._starts:
                address = self._starts[section] + value
                if text:
                    defined[text] = address
            elif section == 0 and text:
                address = imports[text] if text in imports else _of_process(text)
            else:
                address = None
            addresses.append(address)
        return defined, addresses

    def _relocate(self, addresses):
        for section in self._sections:
            if section.type == _ADDENDS and section.info in self._starts:
                start = self._starts[section.info] - self._address
                entries = self._content[section.offset : section.offset + section.size]
                for offset, info, addend in struct.iter_unpack("<QQq", entries):
                    struct.pack_into("<Q", self._memory, start + offset, addresses[info >> 32] + addend)

    def _protect(self):
        """Make what is not written executable; nothing is both."""
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mprotect(
            ctypes.c_void_p(self._address), ctypes.c_size_t(self._fixed), mmap.PROT_READ | mmap.PROT_EXEC
        )
        if failed:
            raise OSError(ctypes.get_errno(), "the system does not let generated code run")


class _Section:
    __slots__ = ("alignment", "flags", "info", "link", "name", "offset", "size", "type")

    def __init__(self, fields):
        _, self.type, self.flags, _, self.offset, self.size, self.link, self.info, self.alignment, _ = fields
        self.alignment = max(self.alignment, 1)

    @property
    def needed(self):
        return bool(self.flags & _ALLOCATED) and self.size > 0 and self.name != _UNWINDING

    @property
    def writable(self):
        return bool(self.flags & _WRITABLE)


def _text(content, start):
    return content[start : content.index(b"\0", start)].decode()


def _sections(content):
    (start,) = struct.unpack_from("<Q", content, 40)
    size, count, names = struct.unpack_from("<HHH", content, 58)
    fields = [struct.unpack_from("<IIQQQQIIQQ", content, start + number * size) for number in range(count)]
    sections = [_Section(each) for each in fields]
    for section, each in zip(sections, fields):
        section.name = _text(content, sections[names].offset + each[0])
    return sections


def _of_process(name):
    """The address of a function of the C library (memset, ...), which LLVM may call on its own account."""
    return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value


def can_place(content):
    """Whether an object file is one that an `Image` can be made of: of this kind of machine, with one kind of relocation."""
    if content[: len(_IDENTITY)] != _IDENTITY or struct.unpack_from("<HH", content, 16) != (_RELOCATABLE, _X86_64):
        return False
    sections = _sections(content)
    for section in sections:
        if section.type == _ADDENDS and sections[section.info].needed:
            entries = content[section.offset : section.offset + section.size]
            if any(info & 0xFFFFFFFF != _ABSOLUTE_64 for _, info, _ in struct.iter_unpack("<QQq", entries)):
                return False
    return True
