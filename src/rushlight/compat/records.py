"""``torch.PyTorchFileReader``: the records of a checkpoint, by name."""

from __future__ import annotations

import os

from ..serialization.archive import Archive
from ..tensor.creation import frombuffer


class PyTorchFileReader:
    """Reads single records of a file that ``torch.save`` has written: ``get_record("data.pkl")``."""

    def __init__(self, name_or_buffer):
        named = isinstance(name_or_buffer, (str, os.PathLike))
        self._file = open(name_or_buffer, "rb") if named else name_or_buffer  # noqa: SIM115  # read from until it is gone
        self._archive = Archive(self._file)

    def get_all_records(self):
        """The names of all records."""
        return [name.removeprefix(self._archive.prefix) for name in self._archive.entries]

    def has_record(self, name):
        """Whether there is a record of this name."""
        return self._archive.has(name)

    def get_record(self, name):
        """The bytes of a record."""
        return bytes(self._archive.read(name))

    def get_record_size(self, name):
        """How many bytes a record has."""
        return self._archive.size(name)

    def get_record_offset(self, name):
        """Where the bytes of a record begin in the file."""
        return self._archive.position(name)

    def get_storage_from_record(self, name, numel, dtype):
        """A tensor without elements on a storage that holds those of a record."""
        data = bytearray(self._archive.read(name))
        return frombuffer(data, dtype=dtype, count=numel)[:0]

    def serialization_id(self):
        """The number that the writer gave the file."""
        known = ".data/serialization_id"
        return self.get_record(known).decode() if self.has_record(known) else ""
