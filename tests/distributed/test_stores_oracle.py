"""Stores of several processes: what each method gives, and the errors after waiting, as PyTorch has them."""

import multiprocessing
import os
from datetime import timedelta

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (torch, rushlight)
SHORT = timedelta(milliseconds=30)


def story(store, library):
    def told(act):
        try:
            return act()
        except RuntimeError as error:
            return type(error).__name__, str(error).split("\nhint:")[0].split("\n")[0]

    calls = [
        lambda: store.set("a", "1"), lambda: store.get("a"), lambda: store.add("n", 2), lambda: store.add("n", 3), lambda: store.get("n"),
        lambda: store.check(["a", "z"]), lambda: store.check(["a"]), lambda: store.compare_set("a", "1", "2"), lambda: store.compare_set("a", "1", "3"),
        lambda: store.compare_set("q", "", "3"), lambda: store.delete_key("a"), lambda: store.delete_key("a"), lambda: store.wait(["zz"], SHORT),
        lambda: library.distributed.PrefixStore("p", store).set("x", "y"), lambda: store.get("p/x"), lambda: store.set("bytes", b"\x00\xff"),
        lambda: store.get("bytes"), lambda: str(store.timeout),
    ]  # fmt: skip
    return [told(each) for each in calls]


def test_files(tmp_path):
    ours, theirs = (
        story(library.distributed.FileStore(str(tmp_path / library.__name__), 1), library) for library in LIBRARIES
    )
    assert ours == theirs


def test_hosts_and_ports():
    stories = [story(library.distributed.TCPStore("localhost", 0, 1, is_master=True), library) for library in LIBRARIES]
    assert stories[0] == stories[1]


def worker(port):
    store = rushlight.distributed.TCPStore("127.0.0.1", port, 2, False, timedelta(seconds=30))
    store.set("from the worker", str(store.add("count", 1)))


def test_two_processes_meet():
    port = 20000 + os.getpid() % 9000
    process = multiprocessing.get_context("fork").Process(target=worker, args=(port,))
    process.start()
    store = rushlight.distributed.TCPStore("localhost", port, 2, True, timedelta(seconds=30))
    assert store.get("from the worker") == b"1"
    process.join()
    with pytest.raises(
        rushlight.distributed.DistNetworkError, match="has timed out after 30ms while trying to connect"
    ):
        rushlight.distributed.TCPStore("localhost", port + 1, 2, False, SHORT)
    with pytest.raises(NotImplementedError, match="elsewhere is another machine"):
        rushlight.distributed.TCPStore("elsewhere", 1)
