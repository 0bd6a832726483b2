"""``torchvision.datasets.utils``: checksums, downloads, archives."""

from __future__ import annotations

import os

from rushlight.base.errors import hinted

from .download import DownloadError, fetch, md5_of


def calculate_md5(fpath, chunk_size=1024 * 1024):
    """The MD5 checksum of the file at `fpath`, in hexadecimal."""
    return md5_of(fpath, chunk_size)


def check_md5(fpath, md5, **kwargs):
    """Whether the file at `fpath` has this MD5 checksum."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath, md5=None):
    """Whether `fpath` is a file and, given `md5`, has that checksum.

    >>> from rushlight.vision.datasets.utils import check_integrity
    >>> check_integrity("no-such-file")
    False
    """
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(url, root, filename=None, md5=None, max_redirect_hops=3):
    """Download `url` into the folder `root` as `filename` (None: the URL's last part), unless it is there and correct.

    The file appears complete or not at all; an interrupted download is resumed by the next call. Raises
    ``RuntimeError`` when it cannot be fetched or `md5` does not fit.
    """
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or os.path.basename(url))
    if check_integrity(path, md5):
        return
    try:
        fetch(url, path, md5)
    except DownloadError as error:
        raise RuntimeError(
            hinted(
                "File not found or corrupted.", f"{error}; the file can also be put at {os.path.abspath(path)} by hand"
            )
        ) from error


def download_from_mirrors(mirrors, filename, folder, md5, where_files_go):
    """Fetch `filename` from the first of `mirrors` (URLs ending in /) that has it, into `folder`, and unpack it there.

    An archive that is there already and has the checksum is only unpacked. ``RuntimeError`` with what each mirror said
    and, from ``where_files_go()``, what to do by hand.
    """
    path, errors = os.path.join(folder, filename), []
    for mirror in mirrors:
        if check_integrity(path, md5):
            break
        try:
            fetch(f"{mirror}{filename}", path, md5)
        except DownloadError as error:
            errors.append(f"Tried {mirror}, got:\n{error}")
    if not check_integrity(path, md5):
        tried = "\n".join(errors)
        raise RuntimeError(hinted(f"Error downloading {filename}:\n{tried}", f"without a network, {where_files_go()}"))
    extract_archive(path, folder)


def download_and_extract_archive(url, download_root, extract_root=None, filename=None, md5=None, remove_finished=False):
    """`download_url` to `download_root`, then `extract_archive` to `extract_root` (None: the same folder)."""
    download_root = os.path.expanduser(download_root)
    filename = filename or os.path.basename(url)
    download_url(url, download_root, filename, md5)
    extract_archive(os.path.join(download_root, filename), extract_root or download_root, remove_finished)


def download_file_from_google_drive(file_id, root, filename=None, md5=None):
    """Download a file of Google Drive into the folder `root` as `filename` (None: its id), unless it is there and correct.

    Raises ``RuntimeError`` without the package gdown, and where `md5` does not fit afterwards.
    """
    try:
        import gdown
    except ModuleNotFoundError:
        raise RuntimeError(
            hinted(
                "To download files from GDrive, 'gdown' is required. You can install it with 'pip install gdown'.",
                f"or put the file into {os.path.abspath(root)} by hand",
            )
        ) from None
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or file_id)
    os.makedirs(root, exist_ok=True)
    if check_integrity(path, md5):
        return
    gdown.download(id=file_id, output=path, quiet=False)
    if not check_integrity(path, md5):
        raise RuntimeError(hinted("File not found or corrupted.", f"it is {os.path.abspath(path)}"))


def extract_archive(from_path, to_path=None, remove_finished=False):
    """Unpack a .zip, .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz into the folder `to_path` (None: beside it), or a single
    compressed .gz, .bz2 or .xz file to the same name without that ending. Returns `to_path`, or the file's path.

    Each file appears complete or not at all. Raises ``RuntimeError`` for a damaged archive, for one with a file that
    would land outside `to_path`, and for an unknown ending.
    """
    from_path = os.fspath(from_path)
    to_path = os.path.dirname(from_path) if to_path is None else os.fspath(to_path)
    name = os.path.basename(from_path).lower()
    stem, ending = os.path.splitext(name)
    import lzma
    import struct
    import zlib

    try:
        if ending == ".zip":
            _unzip(from_path, to_path)
        elif ending in (".tar", ".tgz", ".tbz", ".tbz2") or stem.endswith(".tar"):
            _untar(from_path, to_path)
        elif ending in _OPENERS:
            to_path = os.path.join(to_path, os.path.splitext(os.path.basename(from_path))[0])
            with _OPENERS[ending](from_path) as source:
                _write(source, to_path)
        else:
            raise RuntimeError(
                hinted(f"Unknown compression or archive type: '{ending}'.", f"it is the ending of {from_path}")
            )
    except (
        EOFError,
        OSError,
        ValueError,
        OverflowError,
        NotImplementedError,
        struct.error,
        zlib.error,
        lzma.LZMAError,
    ) as error:
        raise _damaged(from_path, error) from error
    if remove_finished:
        os.remove(from_path)
    return to_path


def _damaged(path, error):
    return RuntimeError(
        hinted(
            f"{path} cannot be unpacked: {error or type(error).__name__}",
            f"it has {os.path.getsize(path)} bytes; if it is incomplete, delete it and use download=True",
        )
    )


def _gzip(path):
    import gzip

    return gzip.open(path, "rb")


def _bz2(path):
    import bz2

    return bz2.open(path, "rb")


def _xz(path):
    import lzma

    return lzma.open(path, "rb")


_OPENERS = {".gz": _gzip, ".bz2": _bz2, ".xz": _xz}


def _write(source, path):
    """Copy an open file to `path`, which appears when it is complete."""
    import shutil

    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _inside(folder, name):
    """The path of the archive member `name` in `folder`; ``ValueError`` when it would lie outside."""
    folder = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(folder, name))
    if os.path.commonpath([folder, path]) != folder:
        raise ValueError(f"its member '{name}' would be written outside {folder}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def _untar(from_path, to_path):
    import tarfile

    try:
        with tarfile.open(from_path) as archive:
            for member in archive:
                path = _inside(to_path, member.name)
                if member.isdir():
                    os.makedirs(path, exist_ok=True)
                elif member.isfile():
                    with archive.extractfile(member) as source:
                        _write(source, path)
                else:
                    raise ValueError(f"its member '{member.name}' is neither a file nor a folder")
    except tarfile.TarError as error:
        raise _damaged(from_path, error) from error


def _unzip(from_path, to_path):
    import zipfile

    try:
        with zipfile.ZipFile(from_path) as archive:
            for member in archive.infolist():
                if member.flag_bits & 1:
                    raise ValueError(f"its member '{member.filename}' is encrypted")
                if not member.filename:
                    raise ValueError("it has a member without a name")
                path = _inside(to_path, member.filename)
                if member.is_dir():
                    os.makedirs(path, exist_ok=True)
                else:
                    with archive.open(member) as source:
                        _write(source, path)
    except zipfile.BadZipFile as error:
        raise _damaged(from_path, error) from error


def verify_str_arg(value, arg=None, valid_values=None, custom_msg=None):
    """`value` if it is a string and one of `valid_values`; ``ValueError`` otherwise."""
    if not isinstance(value, str):
        about = "Expected type str" if arg is None else f"Expected type str for argument {arg}"
        raise ValueError(f"{about}, but got type {type(value)}.")
    if valid_values is None or value in valid_values:
        return value
    if custom_msg is not None:
        raise ValueError(custom_msg)
    listed = "'" + "', '".join(str(item) for item in valid_values) + "'"
    raise ValueError(f"Unknown value '{value}' for argument {arg}. Valid values are {{{listed}}}.")
