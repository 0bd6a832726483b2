"""Fetching a file over HTTP: into a temporary file that a later try resumes, checked, then renamed into place."""

from __future__ import annotations

import os

from ...base.contexts import contextmanager
from .progress import progress_bar

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
TRIES = 3  # connections per call, each going on where the last one broke off


class DownloadError(OSError):
    """A file could not be fetched: no connection, an HTTP error, too few bytes, or the wrong checksum."""


def md5_of(path, chunk_size=1 << 20):
    """The MD5 checksum of a file, in hexadecimal."""
    import hashlib

    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()


def fetch(url, path, md5=None):
    """Download `url` to `path`, which appears only when it is complete and, given `md5`, correct.

    What has arrived is kept in ``path.part`` when the connection breaks or the program is stopped, and the next call
    asks for the rest only. Processes that fetch the same file take turns. Raises ``DownloadError``.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = path + ".part"
    with turn(part + ".lock"):
        if os.path.exists(path) and (md5 is None or md5_of(path) == md5):
            return  # another process was faster
        checked = md5 is not None
        resumed = fetch_part(url, part, checked)
        problem = checksum_problem(part, md5)
        if problem and resumed:  # the kept beginning may be of another file: once more from the start
            os.remove(part)
            fetch_part(url, part, checked)
            problem = checksum_problem(part, md5)
        if problem:
            os.remove(part)
            raise DownloadError(f"{url}: {problem}")
        os.replace(part, path)
        forget(part)


def checksum_problem(path, md5):
    """What is wrong with the file's checksum, or None."""
    if md5 is None:
        return None
    actual = md5_of(path)
    if actual == md5:
        return None
    return f"the file that arrived ({os.path.getsize(path)} bytes) has MD5 checksum {actual}, expected {md5}"


def fetch_part(url, part, checked):
    """Bring the temporary file `part` to its full length; whether it began with bytes of an earlier call."""
    from http.client import HTTPException

    begun = kept_bytes(url, part, checked) > 0
    for attempt in range(TRIES):
        try:
            missing = receive(url, part, checked)
        except (OSError, HTTPException) as error:
            if attempt == TRIES - 1 or not worth_another_try(error):
                raise DownloadError(f"{url}: {describe(error)}") from error
            continue
        if not missing:
            return begun
    kept = os.path.getsize(part)
    raise DownloadError(
        f"{url}: the connection ended early, {TRIES} times: expected {kept + missing} bytes, got {kept}, "
        f"which are kept in {part}; try again to fetch the rest"
    )


def worth_another_try(error):
    """Whether another connection may help: not after an answer such as 404, without a network, or with a full disk."""
    code = getattr(error, "code", None)
    if isinstance(code, int):
        return code in (408, 416, 429, 500, 502, 503, 504)
    return isinstance(error, ConnectionError | TimeoutError) or not isinstance(error, OSError)


def describe(error):
    """An error of urllib in a few words."""
    if isinstance(getattr(error, "code", None), int):
        return f"HTTP Error {error.code}: {error.reason}"
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def receive(url, part, checked):
    """Append what is missing of `url` to `part` over one connection; the number of bytes that still miss.

    An answer that is the whole file replaces what was there.
    """
    import urllib.error
    import urllib.request

    have, version = kept_bytes(url, part, checked), read_note(part)[1]
    headers = {"User-Agent": "rushlight"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:  # the range is not to be had: the file is another one now
                os.remove(part)
            raise
    with response:
        if have and (response.status != 206 or not starts_at(response, have)):
            if response.status == 206:
                os.remove(part)
                raise ConnectionError(f"asked for bytes from {have}, got {response.headers.get('Content-Range')}")
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None and length.isdigit() else None
        if not have:
            write_note(part, url, response.headers.get("ETag") or response.headers.get("Last-Modified") or "")
        save(response, part, have, total, os.path.basename(url))
    return 0 if total is None else max(total - os.path.getsize(part), 0)


def starts_at(response, position):
    """Whether a partial answer begins at byte `position`."""
    return response.headers.get("Content-Range", "").startswith(f"bytes {position}-")


def save(response, part, have, total, label):
    """Write the answer's bytes to `part` from byte `have` on."""
    bar = progress_bar(total, have, label)
    try:
        with open(part, "r+b" if have else "wb") as file:
            file.seek(have)
            while chunk := response.read(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    finally:
        bar.close()


def kept_bytes(url, part, checked):
    """How many bytes of what `url` serves `part` begins with.

    None count whose version is unknown, unless the whole will be `checked` against a checksum.
    """
    noted, version = read_note(part)
    known = noted == url and (version or checked)
    return os.path.getsize(part) if known and os.path.exists(part) else 0


def read_note(part):
    """(url, version) of the file that `part` is the beginning of; empty strings when nothing is known."""
    try:
        with open(part + ".from", encoding="utf-8") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return "", ""
    return lines[0], lines[1] if len(lines) > 1 else ""


def write_note(part, url, version):
    """Remember where the bytes of `part` come from. A weak version does not identify bytes and is not kept."""
    with open(part + ".from", "w", encoding="utf-8") as file:
        file.write(f"{url}\n{'' if version.startswith('W/') else version}")


def forget(part):
    """Remove the note of a finished file."""
    if os.path.exists(part + ".from"):
        os.remove(part + ".from")


@contextmanager
def turn(path):
    """Hold the lock file `path`, so that processes that fetch the same file wait for each other (where the OS can)."""
    try:
        import fcntl
    except ImportError:  # Windows: the rename at the end still makes the result whole
        yield
        return
    while True:
        with open(path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not has_name(file, path):  # whoever held it before has removed it
                continue
            try:
                yield
            finally:
                os.remove(path)
            return


def has_name(file, path):
    """Whether `path` names the open `file` now, and no other file or none."""
    try:  # one look: between two, another process may remove the file
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
