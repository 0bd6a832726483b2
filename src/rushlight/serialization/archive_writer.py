"""Writing the zip container of a checkpoint: stored records, each aligned as PyTorch aligns them."""

from __future__ import annotations

import struct

from .archive import (
    CENTRAL_HEADER,
    END,
    END_64,
    LOCAL_HEADER,
    LOCATOR_64,
    MAX_16,
    MAX_32,
    STORED,
    ZIP64_EXTRA,
    central_header_layout,
    end_64_layout,
    end_layout,
    local_header_layout,
    locator_64_layout,
)

ALIGNMENT = 64
_UTF8_NAMES = 0x0800
_DATE_1980_01_01 = 0x0021
_PADDING_EXTRA = 0x4246  # "FB", the mark that PyTorch gives its padding
_VERSION_ZIP, _VERSION_ZIP64 = 20, 45
_CHUNK = 1 << 24


class ArchiveWriter:
    """Appends records to an open binary file; ``close`` writes the directory (and leaves the file open)."""

    def __init__(self, file, prefix, compute_crc32=True):
        self.file, self.prefix, self.compute_crc32 = file, prefix, compute_crc32
        self.position = 0
        self.directory = []

    def _write(self, data):
        self.file.write(data)
        self.position += len(data)

    def write(self, record, data, skipped=False):
        """Add one record: ``data`` is bytes or any contiguous buffer of bytes; ``skipped`` writes zeros in their place."""
        import zlib

        view = memoryview(data)
        name = f"{self.prefix}/{record}".encode()
        size = view.nbytes
        crc32 = zlib.crc32(view) if self.compute_crc32 and size and not skipped else 0
        header = self.position
        wide = struct.pack("<HH2Q", ZIP64_EXTRA, 16, size, size) if size >= MAX_32 else b""
        extra = wide + self._padding(local_header_layout.size + len(name) + len(wide))
        short = MAX_32 if wide else size
        version = _VERSION_ZIP64 if wide else _VERSION_ZIP
        self._write(
            local_header_layout.pack(
                LOCAL_HEADER,
                version,
                _UTF8_NAMES,
                STORED,
                0,
                _DATE_1980_01_01,
                crc32,
                short,
                short,
                len(name),
                len(extra),
            )
            + name
            + extra
        )
        for start in range(0, size, _CHUNK):
            chunk = view[start : start + _CHUNK]
            self._write(bytes(chunk.nbytes) if skipped else chunk)
        self.directory.append((name, header, size, crc32))

    def _padding(self, header_size):
        """The extra field that moves the record's bytes to the next aligned position."""
        fill = -(self.position + header_size + 4) % ALIGNMENT
        return struct.pack("<HH", _PADDING_EXTRA, fill) + b"Z" * fill

    def close(self):
        """Write the directory; the archive is complete afterwards."""
        start = self.position
        for name, header, size, crc32 in self.directory:
            values = [value for value in (size, size, header) if value >= MAX_32]
            extra = struct.pack(f"<HH{len(values)}Q", ZIP64_EXTRA, 8 * len(values), *values) if values else b""
            version = _VERSION_ZIP64 if values else _VERSION_ZIP
            short = min(size, MAX_32)
            self._write(
                central_header_layout.pack(
                    CENTRAL_HEADER, version, version, _UTF8_NAMES, STORED, 0, _DATE_1980_01_01, crc32, short, short,
                    len(name), len(extra), 0, 0, 0, 0, min(header, MAX_32),
                )
                + name
                + extra
            )  # fmt: skip
        count, size = len(self.directory), self.position - start
        if count >= MAX_16 or size >= MAX_32 or start >= MAX_32:
            end = self.position
            self._write(end_64_layout.pack(END_64, end_64_layout.size - 12, 45, 45, 0, 0, count, count, size, start))
            self._write(locator_64_layout.pack(LOCATOR_64, 0, end, 1))
        few, short_size, short_start = min(count, MAX_16), min(size, MAX_32), min(start, MAX_32)
        self._write(end_layout.pack(END, 0, 0, few, few, short_size, short_start, 0))
