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
_GLOBAL = 1  # in a symbol: other files may use it
_RELOCATION = struct.Struct("<QQq")  # place, type and symbol, addend
_BUNDLE = b"rushlight object files\n"
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
    """Object files in memory: ``symbols`` are the addresses of what they define, valid as long as the Image lives.

    ``content`` is that of an object file, or a bundle of several that call each other's functions.
    """

    def __init__(self, content, imports):
        self._objects = [_ObjectFile(each) for each in unbundled(content)]
        self._veneers = {}  # address of a function elsewhere -> of the veneer by which calls reach it
        self._memory = self._place()
        self.symbols = {name: address for each in self._objects for name, address in each.definitions()}
        for each in self._objects:
            self._relocate(each, each.addresses({**imports, **self.symbols}))
        self._memory.seal(self._fixed)

    def _place(self):
        """Give each section its place: first what is only read or run, then, on pages of its own, what is written."""
        ends = 0
        sections = [(file, *each) for file in self._objects for each in enumerate(file.sections)]
        placed = []
        for writable in (False, True):
            for file, number, section in sections:
                if section.needed and section.writable == writable:
                    ends = -(-ends // section.alignment) * section.alignment
                    placed.append((file, number, section, ends))
                    ends += section.size
            if not writable:
                self._next_veneer = -(-ends // _VENEER_BYTES) * _VENEER_BYTES
                if self._objects[0].machine == _ARM_64:
                    ends = self._next_veneer + sum(len(file.symbols) for file in self._objects) * _VENEER_BYTES
            ends = -(-ends // mmap.PAGESIZE) * mmap.PAGESIZE
            if not writable:
                self._fixed = ends
        memory = system().memory(ends)
        for file, number, section, offset in placed:
            file.starts[number] = memory.address + offset
            if section.type != _NO_BITS:
                memory.content[offset : offset + section.size] = file.part(section)
        return memory

    def _relocate(self, file, addresses):
        whole = _ADDRESSES[file.machine]
        for section, start in file.relocated():
            start -= self._memory.address
            for offset, info, addend in _RELOCATION.iter_unpack(file.part(section)):
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


def bundle(contents):
    """Several object files as one, for an `Image`; a single one is its own bundle."""
    if len(contents) == 1:
        return contents[0]
    return b"".join([_BUNDLE, struct.pack(f"<{1 + len(contents)}Q", len(contents), *map(len, contents)), *contents])


def unbundled(content):
    """The contents of the object files in a bundle."""
    if content[: len(_BUNDLE)] != _BUNDLE:
        return [content]
    (count,) = struct.unpack_from("<Q", content, len(_BUNDLE))
    lengths = struct.unpack_from(f"<{count}Q", content, len(_BUNDLE) + 8)
    found, start = [], len(_BUNDLE) + 8 * (1 + count)
    for length in lengths:
        found.append(content[start : start + length])
        start += length
    return found


class _ObjectFile:
    """What stands in an object file, and where its sections are in memory once they were placed: ``starts``, by numbers."""

    def __init__(self, content):
        self._content, self.sections, self.starts = content, _sections(content), {}
        self.machine = _machine(content)
        table = next(section for section in self.sections if section.type == _SYMBOLS)
        names = self.sections[table.link].offset
        self.symbols = [
            (_text(content, names + name), info >> 4 == _GLOBAL, section, value)
            for name, info, _, section, value, _ in _SYMBOL.iter_unpack(self.part(table))
        ]

    def part(self, section):
        """The bytes of a section."""
        return self._content[section.offset : section.offset + section.size]

    def definitions(self):
        """The names that other files may use, and their addresses."""
        for name, is_global, section, value in self.symbols:
            if is_global and section in self.starts:
                yield name, self.starts[section] + value

    def addresses(self, known):
        """The addresses of all symbols by their numbers; ``known`` are those of names from elsewhere."""
        found = []
        for name, _, section, value in self.symbols:
            if section in self.starts:
                found.append(self.starts[section] + value)
            elif section == 0 and name:
                found.append(known[name] if name in known else address_of(name))
            else:
                found.append(None)
        return found

    def relocated(self):
        """Each section of relocations, and where the section is that they change."""
        for section in self.sections:
            if section.type == _ADDENDS and section.info in self.starts:
                yield section, self.starts[section.info]


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
    """Whether all object files in a bundle are ones that an `Image` can be made of: of these kinds of machine, with no other
    relocations."""
    return all(map(_can_place, unbundled(content)))


def _can_place(content):
    if content[: len(_IDENTITY)] != _IDENTITY or struct.unpack_from("<H", content, 16) != (_RELOCATABLE,):
        return False
    known = _KNOWN.get(_machine(content))
    if known is None:
        return False
    sections = _sections(content)
    for section in sections:
        if section.type == _ADDENDS and sections[section.info].needed:
            entries = content[section.offset : section.offset + section.size]
            if any(info & 0xFFFFFFFF not in known for _, info, _ in _RELOCATION.iter_unpack(entries)):
                return False
    return True
