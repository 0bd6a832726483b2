"""Reading the zip container of a checkpoint, with every length and offset checked against the file first."""

from __future__ import annotations

import io
import struct
from typing import NamedTuple

import numpy as np

from .messages import broken_archive

LOCAL_HEADER, CENTRAL_HEADER, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END_64, LOCATOR_64 = b"PK\x06\x06", b"PK\x06\x07"
STORED, DEFLATED = 0, 8
ZIP64_EXTRA = 1
MAX_16, MAX_32 = 0xFFFF, 0xFFFFFFFF

local_header_layout = struct.Struct("<4s5H3I2H")
central_header_layout = struct.Struct("<4s6H3I5H2I")
end_layout = struct.Struct("<4s4H2IH")
end_64_layout = struct.Struct("<4sQ2H2I4Q")
locator_64_layout = struct.Struct("<4sIQI")

_CHUNK = 1 << 20
# A deflated record may unpack to this much, or to this many times its stored size, whichever is more; and never to more
# than deflating gains on the best of data.
_UNPACKED_LIMIT, _RATIO_LIMIT, _BEST_RATIO = 1 << 28, 100, 1040


class Entry(NamedTuple):
    """One record of the archive: where its header stands, how long it is, how it is packed, where it must end."""

    name: str
    header: int
    stored_size: int
    size: int
    crc32: int
    method: int
    limit: int


class Archive:
    """The records of a checkpoint in an open, seekable binary file that starts at the file's position.

    ``RuntimeError`` with PyTorch's first line for anything that does not hold together: a missing directory,
    records outside the file or on top of each other, sizes or checksums that disagree with the bytes.
    """

    def __init__(self, file, verify=True):
        self.file, self.verify = file, verify
        self.start = file.tell()
        self.end = file.seek(0, 2)
        self.entries = self._read_directory()
        if not self.entries:
            raise broken_archive("the archive is empty", "it holds no records")
        first = next(iter(self.entries))
        self.prefix = first[: first.find("/") + 1]

    def has(self, record):
        """Whether the archive has this record, such as ``data.pkl``."""
        return self.prefix + record in self.entries

    def size(self, record):
        """The record's length in bytes once unpacked."""
        return self._entry(record).size

    def stored_size(self, record):
        """The record's length in bytes as it stands in the file."""
        return self._entry(record).stored_size

    def read(self, record, limit=None):
        """The bytes of a record; ``limit`` bounds the length that a small record may claim."""
        entry = self._entry(record)
        if limit is not None and entry.size > limit:
            raise broken_archive(
                f"record {record} is too large", f"{entry.size} bytes where at most {limit} make sense"
            )
        return bytes(self.unpacked(record))

    def unpacked(self, record):
        """A writable buffer with the bytes of a record, whose checksum is verified (unless told not to).

        It takes memory for bytes that are there: those of a deflated record are counted as they come.
        """
        import zlib

        entry = self._entry(record)
        self.file.seek(self._data_start(entry))
        if entry.method == STORED:
            # Bytes that are filled at once need not be zeroed before.
            buffer = np.empty(entry.size, np.uint8)
            view = memoryview(buffer)
            if entry.size:
                self._fill(view, f"record {record}")
        else:
            buffer = self._inflated(entry)
            view = memoryview(buffer)
        # PyTorch leaves 0 where it was told not to compute checksums.
        if self.verify and entry.crc32 and zlib.crc32(view) != entry.crc32:
            raise broken_archive(
                f"record {record} fails its CRC-32 check",
                "its bytes have changed; torch.serialization.set_crc32_options(False) loads it all the same",
            )
        return buffer

    def position(self, record):
        """Where a stored record's bytes begin in the file, or None for a deflated one."""
        entry = self._entry(record)
        return self._data_start(entry) if entry.method == STORED else None

    def _entry(self, record):
        entry = self.entries.get(self.prefix + record)
        if entry is None:
            raise broken_archive(f"{record}: file not found", "a record of the archive is missing", "locating file")
        return entry

    def _fill(self, view, what):
        readinto = getattr(self.file, "readinto", None)  # saves a copy where the file has it
        done = 0
        while done < len(view):
            if readinto is not None:
                try:
                    count = readinto(view[done:])
                except (NotImplementedError, io.UnsupportedOperation):  # inherited from io's classes, not written
                    readinto = None
                    continue
            else:
                block = self.file.read(min(len(view) - done, 16 * _CHUNK))
                count = len(block)
                view[done : done + count] = block
            if not count:
                raise broken_archive(f"{what} is cut short", f"it ends after {done} of {len(view)} bytes")
            done += count

    def _inflated(self, entry):
        import zlib

        unpack = zlib.decompressobj(-15)
        left, found = entry.stored_size, bytearray()
        try:
            while not unpack.eof:
                pending = unpack.unconsumed_tail
                if not pending and left:
                    pending = self.file.read(min(left, _CHUNK))
                    left -= len(pending)
                block = unpack.decompress(pending, min(entry.size - len(found) + 1, _CHUNK))
                if (not block and not pending) or len(block) > entry.size - len(found):
                    break
                found += block
        except zlib.error as error:
            raise broken_archive(f"decompression failed ({error})", f"record {entry.name} is damaged") from None
        if len(found) != entry.size or not unpack.eof:
            raise broken_archive(
                f"record {entry.name} unpacks to another size than it declares", f"it declares {entry.size} bytes"
            )
        return found

    # ------------------------------------------------------------ the directory

    def _read_at(self, position, size, what):
        if position < self.start or size < 0 or position + size > self.end:
            raise broken_archive(f"{what} lies outside the file", f"the file has {self.end - self.start} bytes")
        self.file.seek(position)
        data = bytearray(size)
        self._fill(memoryview(data), what)
        return bytes(data)

    def _find_end(self):
        size = min(self.end - self.start, end_layout.size + MAX_16)
        tail = self._read_at(self.end - size, size, "the central directory's end")
        found = tail.rfind(END)
        if found < 0 or len(tail) - found < end_layout.size:
            raise broken_archive("failed finding central directory", "the end of the file is missing")
        return self.end - size + found, end_layout.unpack_from(tail, found)

    def _read_directory(self):
        end, (_, disk, first_disk, here, count, size, offset, _) = self._find_end()
        directory_end = end
        if MAX_16 in (here, count) or MAX_32 in (size, offset) or self._has_locator(end):
            directory_end, (disk, first_disk, here, count, size, offset) = self._read_end_64(end)
        if disk or first_disk or here != count:
            raise broken_archive("the archive spans several disks", "PyTorch writes single-file archives")
        directory = directory_end - size
        # What precedes the archive in the file shifts every recorded offset.
        shift = directory - offset
        if shift < 0:
            raise broken_archive("invalid central directory offset", "the directory is not where it is declared")
        data = self._read_at(directory, size, "the central directory")
        entries = list(self._parse(data, count, shift))
        return self._check_layout(entries, directory)

    def _has_locator(self, end):
        at = end - locator_64_layout.size
        return at >= self.start and self._read_at(at, 4, "the directory locator") == LOCATOR_64

    def _read_end_64(self, end):
        data = self._read_at(end - locator_64_layout.size, locator_64_layout.size, "the directory locator")
        magic, _, declared, _ = locator_64_layout.unpack(data)
        # The record normally stands right before its locator; the declared offset is relative to the archive.
        at = end - locator_64_layout.size - end_64_layout.size
        if magic != LOCATOR_64 or declared > at:
            raise broken_archive("invalid zip64 directory locator", "the end of the file is damaged")
        fields = end_64_layout.unpack(self._read_at(at, end_64_layout.size, "the zip64 directory end"))
        if fields[0] != END_64:
            raise broken_archive("invalid zip64 directory end", "the end of the file is damaged")
        return at, fields[4:]

    def _parse(self, data, count, shift):
        position = 0
        if count * central_header_layout.size > len(data):
            raise broken_archive("invalid central directory size", f"it cannot hold the {count} records it declares")
        for _ in range(count):
            if position + central_header_layout.size > len(data):
                raise broken_archive("the central directory is cut short", f"it declares {count} records")
            fields = central_header_layout.unpack_from(data, position)
            magic, flags, method, crc32 = fields[0], fields[3], fields[4], fields[7]
            stored_size, size, name_size, extra_size, comment_size = fields[8:13]
            header = fields[16]
            position += central_header_layout.size
            name_bytes = data[position : position + name_size]
            extra = data[position + name_size : position + name_size + extra_size]
            position += name_size + extra_size + comment_size
            if magic != CENTRAL_HEADER or position > len(data):
                raise broken_archive("invalid central directory header", "the list of records is damaged")
            size, stored_size, header = _zip64_sizes(extra, size, stored_size, header)
            entry = Entry(_decode_name(name_bytes), header + shift, stored_size, size, crc32, method, 0)
            _check_entry(entry, flags)
            yield entry

    def _check_layout(self, entries, directory):
        """The entries by name, in the directory's order; each ends where the next one's header begins, or before."""
        by_name, limits, limit = {}, {}, directory
        for entry in sorted(entries, key=lambda entry: entry.header, reverse=True):
            if entry.name in limits:
                raise broken_archive(f"record {entry.name} appears twice", "which of the two is meant cannot be known")
            if entry.header < self.start or entry.header + local_header_layout.size + entry.stored_size > limit:
                raise broken_archive(
                    f"record {entry.name} overlaps another one or the file's end", "its declared place is impossible"
                )
            limits[entry.name] = limit
            limit = entry.header
        for entry in entries:
            by_name[entry.name] = entry._replace(limit=limits[entry.name])
        return by_name

    def _data_start(self, entry):
        fields = local_header_layout.unpack(
            self._read_at(entry.header, local_header_layout.size, f"the header of {entry.name}")
        )
        magic, method, name_size, extra_size = fields[0], fields[3], fields[9], fields[10]
        name_at = entry.header + local_header_layout.size
        name = _decode_name(self._read_at(name_at, name_size, f"the header of {entry.name}"))
        if magic != LOCAL_HEADER or name != entry.name or method != entry.method:
            raise broken_archive("invalid local header", f"{entry.name} is described differently in two places")
        start = name_at + name_size + extra_size
        if start + entry.stored_size > entry.limit:
            raise broken_archive(f"record {entry.name} overlaps another one", "its declared size is impossible")
        return start


def _decode_name(name):
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = "\0"
    if not text.isprintable():
        raise broken_archive("invalid record name", "a name in the archive is not text")
    return text


def _zip64_sizes(extra, size, stored_size, header):
    """The 64-bit values that stand in the extra field where the 32-bit ones are all ones."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        body = extra[position + 4 : position + 4 + length]
        position += 4 + length
        if kind != ZIP64_EXTRA:
            continue
        wide = list(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
        values = [size, stored_size, header]
        for index, value in enumerate(values):
            if value == MAX_32:
                if not wide:
                    raise broken_archive("invalid zip64 sizes", "the list of records is damaged")
                values[index] = wide.pop(0)
        return tuple(values)
    return size, stored_size, header


def _check_entry(entry, flags):
    if flags & 0x41:
        raise broken_archive(f"record {entry.name} is encrypted", "PyTorch writes plain records")
    if entry.method == STORED:
        if entry.size != entry.stored_size:
            raise broken_archive(f"record {entry.name} has contradictory sizes", "its declared sizes differ")
    elif entry.method == DEFLATED:
        likely = max(_UNPACKED_LIMIT, _RATIO_LIMIT * entry.stored_size)
        if entry.size > min(likely, _BEST_RATIO * entry.stored_size):
            raise broken_archive(
                f"record {entry.name} claims to unpack from {entry.stored_size} to {entry.size} bytes",
                "that looks like a zip bomb; if you trust the file, unpack it and store it with `zip -0 -r`",
            )
    else:
        raise broken_archive(
            f"record {entry.name} uses compression method {entry.method}", "PyTorch stores records plainly"
        )
