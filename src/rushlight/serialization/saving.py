"""``save``: tensors and plain data as checkpoints that PyTorch opens."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from ..base.errors import hinted
from .archive_writer import ALIGNMENT, ArchiveWriter
from .files import is_path, writable
from .legacy import save_legacy
from .pickler import Pickler
from .settings import get_crc32_options, skips_data
from .storages import UNTYPED, storage_name

DEFAULT_PROTOCOL = 2
_NEWEST_PROTOCOL = 5


def save(
    obj: object,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write tensors and containers of them to a file that ``torch.load`` and ``rushlight.load`` read (``torch.save``).

    Args:
        obj: tensors, parameters, state_dicts, numbers, strings, bytes, dtypes, devices, sizes, NumPy values, in lists,
            tuples, dicts and sets. Modules, optimizers and instances of your own classes are saved as their class's name
            and their attributes, functions and classes as their names, which ``load(..., weights_only=False)`` reads.
            A ``state_dict()`` needs neither to be found again.
        f: a path, or a binary file object with ``write``. A path is replaced as a whole when everything is written,
            so that a failing ``save`` leaves the file that was there.
        pickle_protocol: 2 or newer; the file always holds protocol 2, which every reader knows.

    Tensors that share memory are written as views of one storage, and share it again after ``load``; the whole storage
    is written, so ``clone()`` a small view of a large tensor first. Errors: ``pickle.PicklingError`` for objects that
    are more than data, ``RuntimeError`` for a missing folder.

    >>> import io, rushlight as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.arange(3), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0, 1, 2])
    """
    if pickle_module is not None and getattr(pickle_module, "__name__", "") != "pickle":
        raise RuntimeError(
            hinted("save writes with its own pickler", "leave pickle_module out: checkpoints hold plain data only")
        )
    if type(pickle_protocol) is not int or not 2 <= pickle_protocol <= _NEWEST_PROTOCOL:
        raise ValueError(
            hinted(f"pickle protocol must be <= {_NEWEST_PROTOCOL}", f"2 to {_NEWEST_PROTOCOL} can be asked for")
        )
    if skips_data() and not _use_new_zipfile_serialization:
        raise RuntimeError(
            hinted(
                "Cannot use skip_data=True with _use_new_zipfile_serialization=False",
                "the older format has no places for data that comes later",
            )
        )
    pickler = Pickler(legacy=not _use_new_zipfile_serialization)
    pickled = pickler.dump(obj)
    storages = list(pickler.storages.values())
    with writable(f) as file:
        if _use_new_zipfile_serialization:
            _write_archive(file, _archive_name(f), pickled, storages, not _disable_byteorder_record)
        else:
            typed = [(key, None if storage_name(dtype)[1] == UNTYPED else dtype, data) for key, dtype, data in storages]
            save_legacy(file, pickled, typed)


def _write_archive(file, name, pickled, storages, with_byteorder):
    archive = ArchiveWriter(file, name, get_crc32_options())
    archive.write("data.pkl", pickled)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    if with_byteorder:
        archive.write("byteorder", sys.byteorder.encode())
    for key, _, data in storages:
        archive.write(f"data/{key}", data, skipped=skips_data())
    archive.write("version", b"3\n")
    archive.close()


def _archive_name(file):
    """The folder that the records stand in: the file's name without its ending, as PyTorch has it."""
    if is_path(file):
        stem = os.path.splitext(os.path.basename(os.fsdecode(file)))[0]
        if re.fullmatch(r"[\w.-]+", stem, re.ASCII):
            return stem
    return "archive"
