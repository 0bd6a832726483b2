"""Object files of the ELF format, for x86-64 and 64-bit ARM, put into memory without a linker.

Code that LLVM generates for a just-in-time machine reaches everything, its own constants included, by 64-bit addresses:
writing them is all there is to linking. On x86-64 they stand there whole, on ARM as four moves of 16 bits each. Only ARM's
calls reach no further than 128 MB; those of functions from elsewhere go by way of a `_VENEER`, a jump behind the code. It
takes a fraction of a millisecond, where starting LLVM's own linker takes a fifth of a second: a process whose kernels are
all on disk never loads LLVM. llvmlite generates such files on Linux, and on Windows, too.
"""

from __future__ import annotations

import mmap
import struct

from .system import address_of, system

_IDENTITY = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
_RELOCATABLE = 1
_X86_64, _ARM_64 = 62, 183
_SYMBOLS, _ADDENDS, _NO_BITS = 2, 4, 8  # types of sections
_SYMBOL = struct.Struct("<IBBHQQ")  # name, ..., section, value, size
_WRITABLE, _ALLOCATED = 1, 2  # their flags
# Types of relocations: whole addresses, the parts of them that moves take (by how far the part is shifted), calls and jumps.
_ADDRESSES = {_X86_64: 1, _ARM_64: 257}
_PARTS = {264: 0, 266: 16, 268: 32, 269: 48}
_CALLS = (282, 283)
_KNOWN = {_X86_64: {_ADDRESSES[_X86_64]}, _ARM_64: {_ADDRESSES[_ARM_64], *_PARTS, *_CALLS}}
_VENEER = bytes.fromhex("50000058 00021fd6")  # ldr x16, 8 bytes on; br x16; then the address
_VENEER_BYTES = len(_VENEER) + 8
_UNWINDING = ".eh_frame"  # nothing is thrown through this code


class Image:
    """An object file in memory: ``symbols`` are the addresses of what it defines, valid as long as the Image lives."""

    def __init__(self, content, imports):
        self._content = content
        self._sections = _sections(content)
        self._starts = {}  # number of a section -> its address
        self._veneers = {}  # address of a function elsewhere -> of the veneer by which calls reach it
        self._memory = self._place()
        self.symbols, addresses = self._resolve(imports)
        self._relocate(addresses)
        self._memory.seal(self._fixed)

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
            if not writable:
                self._next_veneer = -(-ends // _VENEER_BYTES) * _VENEER_BYTES
                if _machine(self._content) == _ARM_64:
                    ends = self._next_veneer + self._symbols().size // _SYMBOL.size * _VENEER_BYTES
            ends = -(-ends // mmap.PAGESIZE) * mmap.PAGESIZE
            if not writable:
                self._fixed = ends
        memory = system().memory(ends)
        for number, offset in offsets.items():
            section = self._sections[number]
            self._starts[number] = memory.address + offset
            if section.type != _NO_BITS:
                content = self._content[section.offset : section.offset + section.size]
                memory.content[offset : offset + section.size] = content
        return memory

    def _symbols(self):
        return next(section for section in self._sections if section.type == _SYMBOLS)

    def _resolve(self, imports):
        """The addresses of named definitions, and of all symbols by number."""
        table = self._symbols()
        names = self._sections[table.link]
        defined, addresses = {}, []
        entries = self._content[table.offset : table.offset + table.size]
        for name, _, _, section, value, _ in _SYMBOL.iter_unpack(entries):
            text = _text(self._content, names.offset + name)
            if section in self._starts:
                address = self._starts[section] + value
                if text:
                    defined[text] = address
            elif section == 0 and text:
                address = imports[text] if text in imports else address_of(text)
            else:
                address = None
            addresses.append(address)
        return defined, addresses

    def _relocate(self, addresses):
        whole = _ADDRESSES[_machine(self._content)]
        for section in self._sections:
            if section.type == _ADDENDS and section.info in self._starts:
                start = self._starts[section.info] - self._memory.address
                entries = self._content[section.offset : section.offset + section.size]
                for offset, info, addend in struct.iter_unpack("<QQq", entries):
                    place, kind, target = start + offset, info & 0xFFFFFFFF, addresses[info >> 32] + addend
                    if kind == whole:
                        struct.pack_into("<Q", self._memory.content, place, target)
                    elif kind in _PARTS:
                        self._complete(place, (target >> _PARTS[kind] & 0xFFFF) << 5)
                    else:
                        self._complete(place, self._steps_to(target, place) & 0x3FFFFFF)

    def _complete(self, place, operand):
        """Put an operand into an instruction of ARM that has none yet."""
        (instruction,) = struct.unpack_from("<I", self._memory.content, place)
        struct.pack_into("<I", self._memory.content, place, instruction | operand)

    def _steps_to(self, target, place):
        """How many instructions of ARM a call goes: to its target in this memory, else to the target's veneer."""
        inside = target - self._memory.address
        if not 0 <= inside < self._fixed:
            inside = self._veneers.get(target)
            if inside is None:
                inside = self._veneers[target] = self._next_veneer
                self._memory.content[inside : inside + _VENEER_BYTES] = _VENEER + struct.pack("<Q", target)
                self._next_veneer += _VENEER_BYTES
        return (inside - place) >> 2


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


def _machine(content):
    """The kind of machine that an object file is for."""
    return struct.unpack_from("<H", content, 18)[0]


def can_place(content):
    """Whether an object file is one that an `Image` can be made of: of these kinds of machine, with no other relocations."""
    if content[: len(_IDENTITY)] != _IDENTITY or struct.unpack_from("<H", content, 16) != (_RELOCATABLE,):
        return False
    known = _KNOWN.get(_machine(content))
    if known is None:
        return False
    sections = _sections(content)
    for section in sections:
        if section.type == _ADDENDS and sections[section.info].needed:
            entries = content[section.offset : section.offset + section.size]
            if any(info & 0xFFFFFFFF not in known for _, info, _ in struct.iter_unpack("<QQq", entries)):
                return False
    return True
