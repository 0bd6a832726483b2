"""Stores that several processes of one machine, or all that see a folder, share: tables in files. There are no sockets here."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from ..base.errors import hinted
from ..base.sharing import alive, held
from .errors import DistNetworkError, DistStoreError
from .meeting import folder_of
from .stores import Store

_LOOK = 0.01  # seconds between two looks into the file


class _SharedTable(Store):
    """A store whose table is in a file."""

    def __init__(self, path):
        super().__init__()
        self.path = str(path)

    @contextmanager
    def _open(self):
        """The file, which no other process opens meanwhile."""
        with open(self.path, "a+b") as file, held(file):
            file.seek(0)
            yield file

    def _look(self):
        with self._open() as file:
            return _table(file.read())

    def _change(self, act):
        with self._open() as file:
            values = _table(file.read())
            found = act(values)
            file.truncate(0)
            file.write(json.dumps({key: value.decode("latin-1") for key, value in values.items()}).encode())
        return found

    def _wait_until(self, ready, seconds):
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK)
        return True


def _table(text):
    return {key: value.encode("latin-1") for key, value in json.loads(text or b"{}").items()}


class FileStore(_SharedTable):
    """A store in a file, for processes that see it.

    Args:
        file_name: a path; the file is made where it is not there.
        world_size: how many processes share it. Default: any number

    Follows ``torch.distributed.FileStore``.
    """

    def __init__(self, file_name, world_size=-1):
        super().__init__(file_name)
        self.world_size, self.meeting_place = world_size, f"file://{file_name}"

    def delete_key(self, key):
        """Take a key away. Returns True, whether it was there or not."""
        super().delete_key(key)
        return True


class TCPStore(_SharedTable):
    """The store that programs make with a host and a port: among processes of one machine a table in a file that both name.

    Args:
        host_name: this machine.
        port: any number that no other job uses; 0: one is chosen.
        world_size: how many processes share it; the master waits for them. Default: any number
        is_master (bool): whether this process begins it. Default: False
        timeout: how long to wait for the master, for the others, and in ``get`` and ``wait``. Default: 5 minutes
        wait_for_workers (bool): whether the master waits for the others. Default: True
        multi_tenant, master_listen_fd, use_libuv: accepted.

    Raises:
        NotImplementedError: ``host_name`` is another machine: `init_process_group` without a store works over MPI.
        DistNetworkError: the master has not come.

    Follows ``torch.distributed.TCPStore``.

    >>> import rushlight.distributed as dist
    >>> store = dist.TCPStore("localhost", 0, 1, is_master=True)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(
        self, host_name, port, world_size=None, is_master=False, timeout=timedelta(seconds=300), wait_for_workers=True,
        multi_tenant=False, master_listen_fd=None, use_libuv=True,
    ):  # fmt: skip
        if host_name not in ("localhost", "127.0.0.1", "::1", "0.0.0.0", socket.gethostname(), socket.getfqdn()):
            message = f"TCPStore: {host_name} is another machine, and a store over several is not in this version"
            raise NotImplementedError(hinted(message, "init_process_group() without a store works over MPI"))
        self.host, self.port = host_name, port or os.getpid() % 40000 + 20000
        folder = folder_of(f"store://localhost:{self.port}")
        path = folder / "table.json"
        super().__init__(path)
        self.world_size, self.meeting_place, self.timeout = world_size, f"tcp://{self.host}:{self.port}", timeout
        if is_master:
            path.unlink(missing_ok=True)
            (folder / "master").write_text(str(os.getpid()))
            atexit.register(_remove, folder, os.getpid())
        elif not self._wait_until(lambda: _alive(folder / "master"), timeout.total_seconds()):
            milliseconds = int(timeout.total_seconds() * 1000)
            message = f"The client socket has timed out after {milliseconds}ms while trying to connect to ({host_name}, {port})."
            raise DistNetworkError(hinted(message, "the process with is_master=True has not made its store"))
        if world_size is not None and wait_for_workers:
            self._wait_for_workers(world_size, is_master)

    def _wait_for_workers(self, world_size, is_master):
        self.add("init/", 1)
        if is_master and not self._wait_until(
            lambda: int(self._look()["init/"]) >= world_size, self.timeout.total_seconds()
        ):
            message = f"Timed out after {self.timeout.total_seconds():.0f} seconds waiting for clients. {self.add('init/', 0)}/{world_size} clients joined."
            raise DistStoreError(hinted(message, "each process makes the store with the same host and port"))

    def _late(self, keys, limit):
        names = ", ".join(f"/{key}" for key in keys)
        message = f"wait timeout after {int(limit.total_seconds() * 1000)}ms, keys: {names}"
        return DistStoreError(hinted(message, "no process has set them"))


def _alive(path: Path) -> bool:
    """Whether the process that a file names runs."""
    try:
        return alive(int(path.read_text()))
    except (FileNotFoundError, ValueError):
        return False


def _remove(folder, process):
    """Take a store away when its master ends; a process that was forked from it does nothing."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)  # another store of the same place may have done so
