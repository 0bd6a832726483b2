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
import threading
import warnings

_MAGIC = b"rushlight kernel 1\n"
_LARGEST = 256 << 20  # bytes; beyond it the files that were not used for longest go
_PRUNING = 256  # a process looks at the size of the whole at its first and then at every 256th file
_SUFFIX, _UNFINISHED = ".kernel", ".part"


def directory():
    """Where the files lie: RUSHLIGHT_CACHE, or ``rushlight/kernels`` in the user's cache folder."""
    chosen = os.environ.get("RUSHLIGHT_CACHE")
    if chosen:
        return chosen
    if sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "rushlight", "kernels")


def _private(path):
    """Whether the directory is there (it is made if need be) and only its owner, this user, can write to it."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    if not hasattr(os, "getuid"):
        return True
    status = os.lstat(path)
    mine = status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode)
    if not mine or status.st_mode & 0o022:
        warnings.warn(
            f"rushlight: the kernel cache {path} is not used, because others may write to it; "
            f"make it private with: chmod 700 {path}, or choose another with RUSHLIGHT_CACHE",
            stacklevel=2,
        )
        return False
    return True


class Cache:
    """The files of one directory. ``load`` and ``store`` take the key's parts, joined and hashed, as the name."""

    def __init__(self, path=None):
        self.path = directory() if path is None else path
        self._usable = None
        self._writable = True
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
        return os.path.join(self.path, hashlib.sha256(key.encode()).hexdigest() + _SUFFIX)

    def load(self, key):
        """The machine code stored under a key; None if there is none, or it is damaged."""
        if not self.usable:
            return None
        path = self._file(key)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            return None
        head = len(_MAGIC) + 32
        code = content[head:]
        if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(code).digest() != content[len(_MAGIC) : head]:
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        return code

    def store(self, key, code):
        """Keep machine code under a key, if the disk lets us."""
        if not (self.usable and self._writable):
            return
        path = self._file(key)
        # No other thread writes a file of this name.
        temporary = f"{path}.{os.getpid()}-{threading.get_ident()}{_UNFINISHED}"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
            with open(descriptor, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except FileNotFoundError:
            return  # someone is clearing the directory
        except OSError:
            self._writable = False  # what is there can still be read
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return
        if self._stored % _PRUNING == 0:
            self._prune()
        self._stored += 1

    def _entries(self):
        """(last use, bytes, path) of each file, oldest first; files that vanish meanwhile are left out.

        Unfinished ones are among them: a process that was killed leaves some.
        """
        found = []
        with contextlib.suppress(OSError), os.scandir(self.path) as files:
            for file in files:
                if file.name.endswith((_SUFFIX, _UNFINISHED)):
                    with contextlib.suppress(OSError):
                        status = file.stat()
                        found.append((max(status.st_atime, status.st_mtime), status.st_size, file.path))
        return sorted(found)

    def _prune(self):
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= _LARGEST:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size

    def information(self):
        """How many files there are, and their bytes."""
        entries = self._entries()
        return len(entries), sum(size for _, size, _ in entries)

    def clear(self):
        """Remove all files; how many there were."""
        removed = 0
        for _, _, path in self._entries():
            with contextlib.suppress(OSError):
                os.unlink(path)
                removed += 1
        return removed


@functools.cache
def disk():
    """The Cache that this process uses."""
    return Cache()
