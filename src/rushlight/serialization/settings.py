"""Process-wide choices for loading and saving: byte order, memory mapping, checksums, and trusted classes."""

from __future__ import annotations

import enum
import threading

from ..base.errors import hinted
from ..base.public_names import public_module


class LoadEndianness(enum.Enum):
    """The byte order that a checkpoint without a ``byteorder`` record is read in."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


MAP_SHARED, MAP_PRIVATE = 1, 2  # as in the module mmap, which is loaded only when a file is mapped


class _Settings:
    """The current choices; one instance for the process."""

    endianness = None
    mmap_flags = None
    compute_crc32 = True
    safe_globals = ()


_settings = _Settings()


def get_default_load_endianness():
    """The byte order assumed for files that do not record theirs: a ``LoadEndianness``, or None for little endian."""
    return _settings.endianness


def set_default_load_endianness(endianness):
    """Set the byte order assumed for files that do not record theirs (``LoadEndianness`` or None).

    >>> import rushlight as torch
    >>> torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.LITTLE)
    >>> torch.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _settings.endianness = endianness


def get_crc32_options():
    """Whether ``save`` computes a checksum for every record, and ``load`` compares it (the default)."""
    return _settings.compute_crc32


def set_crc32_options(compute_crc32):
    """Choose whether ``save`` computes checksums and ``load`` compares them. Without, damage goes unnoticed."""
    _settings.compute_crc32 = bool(compute_crc32)


def get_default_mmap_options():
    """The flags that ``load(mmap=True)`` maps files with: ``mmap.MAP_PRIVATE`` unless changed."""
    return MAP_PRIVATE if _settings.mmap_flags is None else _settings.mmap_flags


class set_default_mmap_options:
    """Set the flags of ``load(mmap=True)``, at once or for a ``with`` block.

    ``mmap.MAP_PRIVATE`` keeps writes to loaded tensors in memory; ``mmap.MAP_SHARED`` carries them to the file.
    """

    def __init__(self, flags):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self._before = _settings.mmap_flags
        _settings.mmap_flags = flags

    def __enter__(self):
        return None

    def __exit__(self, *error):
        _settings.mmap_flags = self._before


class _Skipping(threading.local):
    """Whether this thread leaves out the bytes of storages."""

    now = False


_skipping = _Skipping()


def skips_data():
    """Whether the bytes of storages are neither written nor read: inside `skip_data`."""
    return _skipping.now


class skip_data:
    """A block in which ``save`` leaves the bytes of tensors out, as room that is zero, and ``load`` makes tensors without reading theirs.

    ``materialize_fake_tensors`` is accepted: there are no fake tensors here.

    >>> import io, rushlight as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self._before, _skipping.now = _skipping.now, True

    def __exit__(self, *error):
        _skipping.now = self._before


def global_name(entry):
    """The dotted name that a file uses for an entry of the safe list: a class, a function or ``(object, name)``."""
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[1], str):
            raise ValueError(
                hinted(
                    f"Expected either a global or a tuple of (global, name) but got tuple of length {len(entry)}",
                    "pass the class itself, or (the class, 'module.Name') when it was saved under another name",
                )
            )
        return entry[1]
    module, name = getattr(entry, "__module__", None), getattr(entry, "__qualname__", getattr(entry, "__name__", None))
    if module is None or name is None:
        raise TypeError(
            hinted(
                f"a safe global must be a class or a function, not {type(entry).__name__}",
                "pass the class, not an object",
            )
        )
    return f"{public_module(module)}.{name}"


def add_safe_globals(safe_globals):
    """Trust these classes when loading with ``weights_only=True``.

    Classes of Python and NumPy that are plain data (``slice``, ``frozenset``, ``collections.deque``, NumPy scalars,
    ...) are then read. Instances of your own classes are rebuilt as data: the object is made without running
    ``__init__`` and its attributes are filled in, by the class's ``__setstate__`` where it has one. A trusted *function*
    may be referred to, as a hook or an activation; nothing that a file names is called.

    >>> import rushlight as torch
    >>> torch.serialization.add_safe_globals([slice])
    >>> torch.serialization.get_safe_globals()
    [<class 'slice'>]
    >>> torch.serialization.clear_safe_globals()
    """
    entries = list(safe_globals)
    for entry in entries:
        global_name(entry)
    _settings.safe_globals = tuple(dict.fromkeys((*_settings.safe_globals, *entries)))


def get_safe_globals():
    """The classes that ``add_safe_globals`` has put on the list."""
    return list(_settings.safe_globals)


def clear_safe_globals():
    """Empty the list of trusted classes."""
    _settings.safe_globals = ()


class safe_globals:
    """``add_safe_globals`` for a ``with`` block; the list is restored at its end.

    >>> import rushlight as torch
    >>> with torch.serialization.safe_globals([range]):
    ...     torch.serialization.get_safe_globals()
    [<class 'range'>]
    """

    def __init__(self, safe_globals):
        self._added = list(safe_globals)

    def __enter__(self):
        self._before = _settings.safe_globals
        add_safe_globals(self._added)

    def __exit__(self, *error):
        _settings.safe_globals = self._before


def safe_globals_by_name():
    """The trusted objects under the dotted names that files use for them."""
    return {global_name(e): e[0] if isinstance(e, tuple) else e for e in _settings.safe_globals}
