"""Machine code on disk: private, checked, atomic, and never in the way."""

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rushlight.kernels.machine import cache
from rushlight.kernels.machine.cache import Cache
from rushlight.kernels.machine.host import host


@pytest.fixture
def kept(tmp_path):
    return Cache(tmp_path / "kernels")


def test_stores_and_loads(kept):
    assert kept.load("a") is None
    kept.store("a", b"code")
    assert kept.load("a") == b"code" and kept.load("b") is None
    count, size = kept.information()
    assert count == 1 and size > len(b"code")
    assert kept.clear() == 1 and kept.load("a") is None


def test_directory_is_private(kept):
    kept.store("a", b"code")
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in kept.path.iterdir())


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: c[:-1] + b"x", lambda c: b"", lambda c: b"y" + c[1:]])
def test_damaged_files_are_not_loaded(kept, damage):
    kept.store("a", b"code")
    (path,) = kept.path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert kept.load("a") is None
    assert not path.exists()
    kept.store("a", b"code")
    assert kept.load("a") == b"code"


def test_directory_that_others_may_write_to_is_refused(tmp_path):
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o777)
    kept = Cache(path)
    with pytest.warns(UserWarning, match="others may write to it.*rm -r"):
        kept.store("a", b"code")
    assert kept.load("a") is None and not list(path.iterdir())


def test_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    kept = Cache(tmp_path / "file" / "kernels")
    kept.store("a", b"code")
    assert kept.load("a") is None


def test_full_disk(kept, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", full)
    kept.store("a", b"code")
    assert kept.load("a") is None and not list(kept.path.iterdir())


@pytest.mark.parametrize("system, stored", [("nt", [b"b"]), ("posix", [])])
def test_a_file_that_is_read_cannot_be_replaced_on_windows(kept, monkeypatch, system, stored):
    """That one is there, and later ones are stored; elsewhere such an error means that nothing can be."""
    replace = os.replace

    def in_use(*args, **kwargs):
        raise PermissionError(13, "Access is denied", "from", 5, "to")

    monkeypatch.setattr(cache.os, "replace", in_use)
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, "name", system)
        kept.store("a", b"a")
    monkeypatch.setattr(cache.os, "replace", replace)
    kept.store("b", b"b")
    assert [code for key in "ab" if (code := kept.load(key)) is not None] == stored
    assert len(list(kept.path.iterdir())) == len(stored)


def test_what_is_there_is_read_where_nothing_can_be_written(kept, monkeypatch):
    kept.store("a", b"code")
    later = Cache(kept.path)

    open_ = os.open

    def refused(path, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise OSError(30, "Read-only file system")
        return open_(path, flags, *args, **kwargs)

    monkeypatch.setattr(cache.os, "open", refused)
    later.store("b", b"code")
    assert later.load("a") == b"code" and later.load("b") is None


def test_clearing_beside_a_writer(kept):
    kept.store("a", b"code")
    shutil.rmtree(kept.path)
    kept.store("b", b"code")
    assert kept.load("a") is kept.load("b") is None and not kept.path.exists()
    Cache(kept.path).store("c", b"code")
    assert Cache(kept.path).load("c") == b"code"


def test_the_directory_is_held_not_its_path(kept, tmp_path):
    """Who may rename a folder above cannot put another in its place."""
    kept.store("a", b"code")
    os.rename(kept.path, tmp_path / "away")
    planted = Cache(kept.path)
    planted.store("a", b"planted")
    kept.store("b", b"code")
    assert kept.load("a") == kept.load("b") == b"code" and planted.load("b") is None


def test_a_descriptor_closed_by_others_is_opened_anew(kept, tmp_path):
    kept.store("a", b"code")
    number = kept._held[0]
    os.close(number)
    other = tmp_path / "other"
    other.mkdir()
    try:
        while os.open(other, os.O_RDONLY) != number:
            pass
        kept.store("b", b"code")  # notices
        assert not list(other.iterdir())
        assert kept.load("a") == b"code"
    finally:
        os.close(number)


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_folders_above_are_private_too(tmp_path, umask):
    former = os.umask(umask)
    try:
        Cache(tmp_path / "a" / "b" / "c").store("key", b"code")
    finally:
        os.umask(former)
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    (file,) = path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_files_that_changed_places_are_missing(kept):
    kept.store("a", b"code of a")
    (first,) = kept.path.iterdir()
    kept.store("b", b"code of b")
    (second,) = set(kept.path.iterdir()) - {first}
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)
    assert kept.load("a") is kept.load("b") is None


def _by_another_user(status):
    return os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))


@pytest.mark.parametrize("plant", ["mode", "owner", "link", "pipe", "folder"])
def test_planted_files_are_not_run(kept, tmp_path, monkeypatch, plant):
    """What another user left in a folder that was open to all stays out after ``chmod 700``."""
    kept.store("a", b"planted")
    (path,) = kept.path.iterdir()
    if plant == "mode":
        path.chmod(0o666)
    elif plant == "owner":
        fstat = os.fstat

        def of_file(descriptor):
            status = fstat(descriptor)
            return _by_another_user(status) if stat.S_ISREG(status.st_mode) else status

        monkeypatch.setattr(cache.os, "fstat", of_file)
    else:
        path.rename(tmp_path / "elsewhere")
        if plant == "link":
            path.symlink_to(tmp_path / "elsewhere")
        elif plant == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
    assert Cache(kept.path).load("a") is None
    monkeypatch.undo()
    if plant != "folder":
        kept.store("a", b"code")
        assert kept.load("a") == b"code"


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path):
    Cache(tmp_path / "real").store("a", b"code")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert not Cache(tmp_path / "link").usable


def test_what_a_killed_process_left_goes_too(kept):
    kept.store("a", b"code")
    (kept.path / "0123.kernel.77-88.part").write_bytes(b"half")
    assert kept.information()[0] == 2
    assert kept.clear() == 2 and not list(kept.path.iterdir())


def test_concurrent_writers(kept):
    code = bytes(range(256)) * 400

    def work(number):
        for i in range(20):
            kept.store(f"key {i}", code + bytes([i]))
            found = Cache(kept.path).load(f"key {(i + number) % 20}")
            assert found is None or found[:-1] == code
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert not list(kept.path.glob("*.part"))


def test_old_files_go_when_there_are_too_many(kept, monkeypatch):
    monkeypatch.setattr(cache, "_LARGEST", 1500)
    monkeypatch.setattr(cache, "_PRUNING", 1)
    for i in range(4):
        kept.store(f"{i}", bytes(500))
        for path in kept.path.iterdir():
            os.utime(path, (path.stat().st_atime - 10, path.stat().st_mtime - 10))
    assert [kept.load(f"{i}") is not None for i in range(4)] == [False, False, True, True]


@pytest.mark.skipif(host() is None, reason="no generated kernels here")
def test_second_process_loads_what_the_first_compiled(tmp_path):
    code = "from rushlight.kernels.compiler.kernel import pool; pool()"
    environment = {**os.environ, "RUSHLIGHT_CACHE": str(tmp_path / "c")}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "c").iterdir()}
        assert len(files) == 1 + Path("/proc/cpuinfo").exists()  # the threads' code, and what is known of the CPU
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert files == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "c").iterdir()}
