"""Opening what is read, and writing files so that a failed save leaves the old one untouched."""

from __future__ import annotations

import os
from contextlib import suppress

from ..base.contexts import contextmanager
from ..base.errors import hinted

_LOAD_HINT = (
    "You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and "
    "try to load from it instead."
)


def is_path(file):
    """Whether ``file`` names a file, rather than being an open one."""
    return isinstance(file, (str, os.PathLike))


@contextmanager
def readable(file):
    """The open binary file behind a path or file object; one that was opened here is closed at the end."""
    if is_path(file):
        with open(file, "rb") as opened:
            yield opened
        return
    for method in ("seek", "tell", "read"):
        if not hasattr(file, method):
            raise AttributeError(
                hinted(
                    f"'{type(file).__name__}' object has no attribute '{method}'. {_LOAD_HINT}",
                    "load takes a path, or a binary file object with read, seek and tell",
                )
            )
    if isinstance(file.read(0), str):
        raise TypeError(
            hinted("a bytes-like object is required, not 'str'", "open the file in binary mode: open(path, 'rb')")
        )
    yield file


@contextmanager
def writable(file):
    """An open binary file for a path or file object.

    A path is written under a temporary name in the same folder and renamed when the block ends well, so that readers
    never see half a file and an error keeps the previous one. Pipes, devices, and files in folders where nothing
    can be created are written in place.
    """
    if not is_path(file):
        if not hasattr(file, "write"):
            raise AttributeError(
                hinted(
                    "expected 'f' to be string, path, or a file-like object with a 'write' attribute",
                    f"save(obj, f) writes to f, which is {type(file).__name__} here",
                )
            )
        yield file
        return
    target = os.path.realpath(os.fsdecode(file))
    _check_target(target, os.path.dirname(os.fsdecode(file)) or ".")
    name = _name_beside(target)
    try:  # from before the file is there on: Ctrl-C may come at any moment
        opened = _created(name, target)
        if opened is not None:
            with opened:
                yield opened
            os.replace(name, target)
            return
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    with open(target, "wb") as opened:
        yield opened


def _check_target(target, folder):
    if not os.path.isdir(os.path.dirname(target)):
        raise RuntimeError(
            hinted(
                f"Parent directory {folder} does not exist.", f"make it first: os.makedirs({folder!r}, exist_ok=True)"
            )
        )
    if os.path.isdir(target):
        raise RuntimeError(
            hinted("open file failed with strerror: Is a directory", f"{target!r} is a folder; name a file in it")
        )
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", target)


def _name_beside(target):
    """A name for a new file in the folder of the target."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")


def _created(name, target):
    """The file of that name, new and open, with the target's permissions; None to write in place."""
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        return None
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except PermissionError:
        if exists:
            return None
        raise
    if exists:
        os.chmod(name, os.stat(target).st_mode & 0o7777)
    return os.fdopen(descriptor, "wb")
