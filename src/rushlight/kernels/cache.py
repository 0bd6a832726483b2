"""Machine code on disk: a private directory of checked files, shared by all processes of a user.

A file is called by its key, a hash of everything that the code depends on, and holds a checksum before the code. Files
are written beside and moved into place, so that readers see whole ones only, whoever else writes. A disk that is full or
read-only, or a directory that others may write to, means that code is compiled anew; nothing fails.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from pathlib import Path

_MAGIC = b"rushlight kernel 1\n"
_LARGEST = 256 << 20  # bytes; beyond it the files that were not used for longest go
_PRUNING = 256  # a process looks at the size of the whole at its first and then at every 256th file
_SUFFIX = ".kernel"


def directory():
    """Where the files lie: RUSHLIGHT_CACHE, or ``rushlight/kernels`` in the user's cache folder."""
    chosen = os.environ.get("RUSHLIGHT_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "rushlight" / "kernels"


def _private(path):
    """Whether the directory is there (it is made if need be) and only its owner, this user, can write to it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not hasattr(os, "getuid"):
        return True
    status = path.lstat()
    mine = status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode)
    if not mine or status.st_mode & 0o022:
        warnings.warn(
            f"rushlight: the kernel cache {path} is not used, because others may write to it; "
            f"make it private with: chmod 700 {path}",
            stacklevel=2,
        )
        return False
    return True


class Cache:
    """The files of one directory. ``load`` and ``store`` take the key's parts, joined and hashed, as the name."""

    def __init__(self, path=None):
        self.path = Path(path) if path is not None else directory()
        self._usable = None
        self._stored = 0

    @property
    def usable(self):
        if self._usable is None:
            try:
                self._usable = _private(self.path)
            except OSError:
                self._usable = False
        return self._usable

    def _file(self, key):
        return self.path / (hashlib.sha256(key.encode()).hexdigest() + _SUFFIX)

    def load(self, key):
        """The machine code stored under a key; None if there is none, or it is damaged."""
        if not self.usable:
            return None
        path = self._file(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + 32
        code = content[head:]
        if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(code).digest() != content[len(_MAGIC) : head]:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return code

    def store(self, key, code):
        """Keep machine code under a key, if the disk lets us."""
        if not self.usable:
            return
        path = self._file(key)
        try:
            descriptor, temporary = tempfile.mkstemp(dir=self.path, suffix=".part")
        except OSError:
            self._usable = False
            return
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except OSError:
            self._usable = False
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return
        if self._stored % _PRUNING == 0:
            self._prune()
        self._stored += 1

    def _entries(self):
        """(last use, bytes, path) of each file, oldest first; files that vanish meanwhile are left out."""
        found = []
        for path in self.path.glob("*" + _SUFFIX):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((max(status.st_atime, status.st_mtime), status.st_size, path))
        return sorted(found)

    def _prune(self):
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= _LARGEST:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def information(self):
        """How many files there are, and their bytes."""
        entries = self._entries()
        return len(entries), sum(size for _, size, _ in entries)

    def clear(self):
        """Remove all files; how many there were."""
        entries = self._entries()
        for _, _, path in entries:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        return len(entries)


@functools.cache
def disk():
    """The Cache that this process uses."""
    return Cache()
