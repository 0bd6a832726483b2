"""Machine code on disk: a private directory of checked files, shared by all processes of a user.

A file is called by the hash of its key, which says everything that the code depends on; it holds key and code behind a
checksum of both, so that a file under another's name counts as missing, as a damaged one does. What is read will be run:
directory and file are looked at through their open descriptors, where nobody can exchange them, and must belong to this
user with no right for others to write. Files are written beside and moved into place, so that readers see whole ones
only, whoever else writes. A disk that is full or read-only, or a directory that others may write to, means that code is
compiled anew; nothing fails.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import stat
import sys
import threading
import warnings

_MAGIC = b"rushlight kernel 2\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
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
    elif sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "rushlight", "kernels")


# Windows has neither owners nor descriptors of directories; a user's folders are private there.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# Nothing waits for the other end of a pipe that lies in a file's place.
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def _make(path):
    """Make the directory and those above it that miss, all for their owner only, whatever the umask."""
    if not os.path.isdir(path):
        above = os.path.dirname(os.path.abspath(path))
        if above != path:
            _make(above)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def _is_mine(status, is_kind):
    """Whether a file is of a kind, this user's, and closed to the writing of others."""
    if not is_kind(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _identity(descriptor):
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _is_same(descriptor, identity):
    try:
        return _identity(descriptor) == identity
    except OSError:
        return False


def _name_of(key):
    return hashlib.sha256(key.encode()).hexdigest() + _SUFFIX


class Cache:
    """The files of one directory. ``load`` and ``store`` take the key's parts, joined, the hash of which is the name."""

    def __init__(self, path=None):
        self.path = directory() if path is None else path
        self._usable = None
        self._writable = True
        self._stored = 0
        self._held = None  # the directory's descriptor, and what tells that it is still that
        self._opening = threading.Lock()

    @property
    def usable(self):
        """Whether the directory is there (it is made if need be) and only its owner, this user, can write to it."""
        usable = self._usable
        if usable is None:
            try:
                _make(self.path)
                usable = self._is_private()
            except OSError:
                usable = False
            self._usable = usable
        return usable

    def _is_private(self):
        if _is_mine(os.fstat(self._folder()) if _BY_DESCRIPTOR else os.lstat(self.path), stat.S_ISDIR):
            return True
        warnings.warn(
            f"rushlight: the kernel cache {self.path} is not used, because others may write to it, and what they put there "
            f"would be run; delete the folder, so that a private one is made: rm -r {self.path}, "
            "or choose another with RUSHLIGHT_CACHE",
            stacklevel=4,
        )
        return False

    def _folder(self):
        """The directory's descriptor, opened at first use: a path may lead elsewhere the next time."""
        held = self._held
        if held is None:
            with self._opening:  # by one thread; the others take what it has opened
                held = self._held
                if held is None:
                    descriptor = os.open(self.path, _DIRECTORY)
                    held = self._held = descriptor, _identity(descriptor)
        elif not _is_same(*held):
            # A program that became a daemon closed all, and something else may have the number now.
            self._held = self._usable = None
            raise FileNotFoundError(self.path)
        return held[0]

    def _place(self, name):
        """A file of the directory, as the functions of ``os`` take it: its path, and ``dir_fd``."""
        if _BY_DESCRIPTOR:
            return name, self._folder()
        return os.path.join(self.path, name), None

    def load(self, key):
        """The machine code stored under a key; None if there is none, or it is damaged or not this user's."""
        if not self.usable:
            return None
        name, key = _name_of(key), key.encode()
        try:
            content = self._read(name)
        except OSError:
            return None
        if content is not None:
            held, body = content[len(_MAGIC) : _HEAD], memoryview(content)[_HEAD:]
            size = len(key)
            right = content.startswith(_MAGIC) and body[:size] == key and hashlib.sha256(body).digest() == held
            if right:
                return bytes(body[size:])
        with contextlib.suppress(OSError):
            self._remove(name)
        return None

    def _read(self, name):
        """The bytes of a file; None if others can have written them, or what has the name is no file."""
        path, folder = self._place(name)
        try:
            descriptor = os.open(path, _READING, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket
                return None
            raise
        try:
            status = os.fstat(descriptor)
            return os.read(descriptor, status.st_size) if _is_mine(status, stat.S_ISREG) else None
        finally:
            os.close(descriptor)

    def _remove(self, name):
        path, folder = self._place(name)
        os.unlink(path, dir_fd=folder)

    def store(self, key, code):
        """Keep machine code under a key, if the disk lets us."""
        if not (self.usable and self._writable):
            return
        name = _name_of(key)
        unfinished = f"{name}.{os.urandom(8).hex()}{_UNFINISHED}"
        body = key.encode() + code
        try:
            temporary, folder = self._place(unfinished)
            with open(os.open(temporary, _WRITING, 0o600, dir_fd=folder), "wb") as file:
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(temporary, self._place(name)[0], src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return  # someone is clearing the directory
        except BaseException as error:  # a full disk, or Ctrl-C
            with contextlib.suppress(OSError):
                self._remove(unfinished)
            if not isinstance(error, OSError):
                raise
            # What is there can still be read. On Windows a file that somebody reads cannot be replaced; others can be written.
            self._writable = os.name == "nt" and error.filename2 is not None
            return
        if self._stored % _PRUNING == 0:
            self._prune()
        self._stored += 1

    def _entries(self):
        """(last use, bytes, name) of each file, oldest first; files that vanish meanwhile are left out.

        Unfinished ones are among them: a process that was killed leaves some.
        """
        found = []
        with contextlib.suppress(OSError), os.scandir(self._folder() if _BY_DESCRIPTOR else self.path) as files:
            for file in files:
                if file.name.endswith((_SUFFIX, _UNFINISHED)):
                    with contextlib.suppress(OSError):
                        status = file.stat(follow_symlinks=False)
                        found.append((max(status.st_atime, status.st_mtime), status.st_size, file.name))
        return sorted(found)

    def _prune(self):
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        for _, size, name in entries:
            if total <= _LARGEST:
                return
            with contextlib.suppress(OSError):
                self._remove(name)
            total -= size

    def information(self):
        """How many files there are, and their bytes."""
        entries = self._entries()
        return len(entries), sum(size for _, size, _ in entries)

    def clear(self):
        """Remove all files; how many there were."""
        removed = 0
        for _, _, name in self._entries():
            with contextlib.suppress(OSError):
                self._remove(name)
                removed += 1
        return removed


@functools.cache
def disk():
    """The Cache that this process uses."""
    return Cache()
