"""What processes of one machine share: files that are held, processes that are asked for; Windows' ways with recorders in its place."""

import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import pytest

from rushlight.base import sharing

FAR = 1 << 30


class Msvcrt:
    """Notes what is locked, where; the first tries are refused."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self, refused=0):
        self.calls, self.refused = [], refused

    def locking(self, descriptor, mode, count):
        self.calls.append((mode, os.lseek(descriptor, 0, os.SEEK_CUR), count))
        if self.refused:
            self.refused -= 1
            raise PermissionError(13, "Permission denied")


def test_a_file_is_held_on_windows(monkeypatch, tmp_path):
    msvcrt = Msvcrt(refused=2)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with open(tmp_path / "table", "a+b") as file, sharing.held(file):
        assert msvcrt.calls == [(2, FAR, 1)] * 3
        file.write(b"text")
        file.seek(0)
        assert file.read() == b"text"
    assert msvcrt.calls[3:] == [(0, FAR, 1)] and (tmp_path / "table").read_bytes() == b"text"


def test_other_errors_of_windows_come_through(monkeypatch, tmp_path):
    def locking(*given):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0, locking=locking))
    with open(tmp_path / "table", "a+b") as file, pytest.raises(OSError, match="Bad file"), sharing.held(file):
        pass


@pytest.mark.parametrize("handle, told, wanted", [(0, 0, False), (7, 0x102, True), (7, 0, False)])
def test_processes_of_windows(monkeypatch, handle, told, wanted):
    """One that has ended is told of as long as somebody holds it."""
    closed = []
    kernel = SimpleNamespace(
        OpenProcess=lambda rights, inherited, process: (
            handle if (rights, inherited, process) == (1 << 20, 0, 42) else 0
        ),
        WaitForSingleObject=lambda given, milliseconds: told if (given, milliseconds) == (7, 0) else None,
        CloseHandle=closed.append,
    )
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sharing.ctypes, "CDLL", lambda name: {"kernel32": kernel}[name])
    assert sharing.alive(42) is wanted and closed == [handle] * bool(handle)


def test_folder_of_windows(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "getuid")
    assert sharing.own_folder("x") == sharing.own_folder("x") == tmp_path / "rushlight-x"


def test_processes_here():
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    assert sharing.alive(os.getpid()) and not sharing.alive(ended.pid)


def test_a_file_is_held_here(tmp_path):
    path = tmp_path / "table"
    other = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(f.read())"
    with open(path, "a+b") as file:
        with sharing.held(file):
            waits = subprocess.Popen([sys.executable, "-S", "-c", other, str(path)], stdout=subprocess.PIPE, text=True)
            with pytest.raises(subprocess.TimeoutExpired):
                waits.wait(0.3)
            file.write(b"whole")
        assert waits.communicate(timeout=30)[0] == "whole\n"  # the file is still open here
