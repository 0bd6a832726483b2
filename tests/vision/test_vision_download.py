"""Downloads from a server on this machine: complete, resumed, interrupted, wrong, absent, and the progress bar."""

import hashlib
import io
import os
import sys
import threading

import pytest
from vision_files import compressed, mnist_arrays, mnist_files, tar_bytes
from vision_server import FileServer

from rushlight.vision import datasets
from rushlight.vision.datasets import download, progress, utils

DATA = bytes(range(256)) * 4000
MD5 = hashlib.md5(DATA).hexdigest()


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """No progress bars in the tests' output, and short chunks, so that a broken connection leaves something."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(download, "CHUNK", 4096)


def left_over(folder):
    """Names of what a download left besides its file."""
    return sorted(name for name in os.listdir(folder) if name != "file")


@pytest.mark.parametrize("md5", [MD5, None])
def test_complete(tmp_path, md5):
    with FileServer({"file": DATA}) as server:
        download.fetch(server.url + "file", str(tmp_path / "file"), md5)
        download.fetch(server.url + "file", str(tmp_path / "file"), md5)
    assert (tmp_path / "file").read_bytes() == DATA
    assert left_over(tmp_path) == [] and server.requests == [("file", None)]


@pytest.mark.parametrize("versions", [True, False])
def test_broken_connections_are_taken_up_again(tmp_path, versions):
    with FileServer({"file": DATA}, versions=versions) as server:
        server.cut["file"] = [100_000, 200_000]
        download.fetch(server.url + "file", str(tmp_path / "file"), MD5)
    assert (tmp_path / "file").read_bytes() == DATA and left_over(tmp_path) == []
    assert [wanted for _, wanted in server.requests] == [None, "bytes=100000-", "bytes=300000-"]


def test_the_next_call_resumes(tmp_path):
    path = str(tmp_path / "file")
    with FileServer({"file": DATA}) as server:
        server.cut["file"] = [1000, 1000, 1000]
        with pytest.raises(download.DownloadError, match=f"expected {len(DATA)} bytes, got 3000"):
            download.fetch(server.url + "file", path)
        assert not os.path.exists(path) and os.path.getsize(path + ".part") == 3000
        download.fetch(server.url + "file", path)
    assert (tmp_path / "file").read_bytes() == DATA and left_over(tmp_path) == []
    assert server.requests[-1] == ("file", "bytes=3000-")


def test_an_interrupted_program_resumes(tmp_path, monkeypatch):
    path = str(tmp_path / "file")

    class Stopped(progress.PlainBar):
        def update(self, count):
            super().update(count)
            if self.done > 50_000:
                raise KeyboardInterrupt

    with FileServer({"file": DATA}) as server:
        with monkeypatch.context() as patch:
            patch.setattr(download, "progress_bar", Stopped)
            with pytest.raises(KeyboardInterrupt):
                download.fetch(server.url + "file", path, MD5)
        kept = os.path.getsize(path + ".part")
        assert not os.path.exists(path) and 0 < kept < len(DATA)
        download.fetch(server.url + "file", path, MD5)
        assert server.requests[-1] == ("file", f"bytes={kept}-")
    assert (tmp_path / "file").read_bytes() == DATA and left_over(tmp_path) == []


def test_a_server_without_ranges_starts_over(tmp_path):
    path = str(tmp_path / "file")
    with FileServer({"file": DATA}, ranges=False) as server:
        server.cut["file"] = [1000]
        download.fetch(server.url + "file", path, MD5)
    assert (tmp_path / "file").read_bytes() == DATA


def test_a_file_that_changed_starts_over(tmp_path):
    path, other = str(tmp_path / "file"), DATA[::-1]
    with FileServer({"file": DATA}) as server:
        server.cut["file"] = [1000, 1000, 1000]
        with pytest.raises(download.DownloadError):
            download.fetch(server.url + "file", path)
        server.files["file"] = other
        download.fetch(server.url + "file", path)
    assert (tmp_path / "file").read_bytes() == other


def test_a_shorter_file_than_before_starts_over(tmp_path):
    path = str(tmp_path / "file")
    with FileServer({"file": DATA}, versions=False) as server:
        server.cut["file"] = [1000, 1000, 1000]
        with pytest.raises(download.DownloadError):
            download.fetch(server.url + "file", path, MD5)
        server.files["file"] = b"short"
        download.fetch(server.url + "file", path, hashlib.md5(b"short").hexdigest())
    assert (tmp_path / "file").read_bytes() == b"short"


def test_a_wrong_beginning_is_fetched_again(tmp_path):
    path = tmp_path / "file"
    with FileServer({"file": DATA}, versions=False) as server:
        (tmp_path / "file.part").write_bytes(b"x" * 5000)
        (tmp_path / "file.part.from").write_text(server.url + "file\n")
        download.fetch(server.url + "file", str(path), MD5)
    assert path.read_bytes() == DATA and [wanted for _, wanted in server.requests] == ["bytes=5000-", None]


def test_wrong_checksum(tmp_path):
    with FileServer({"file": b"something else"}) as server, pytest.raises(download.DownloadError) as caught:
        download.fetch(server.url + "file", str(tmp_path / "file"), MD5)
    message = str(caught.value)
    assert "14 bytes" in message and f"expected {MD5}" in message
    assert hashlib.md5(b"something else").hexdigest() in message
    assert not (tmp_path / "file").exists() and not (tmp_path / "file.part").exists()


def test_absent_and_offline(tmp_path):
    with FileServer({}) as server, pytest.raises(download.DownloadError, match="HTTP Error 404"):
        download.fetch(server.url + "file", str(tmp_path / "file"))
    assert len(server.requests) == 1
    with pytest.raises(download.DownloadError, match="refused"):
        download.fetch("http://127.0.0.1:9/file", str(tmp_path / "file"))


def test_processes_take_turns(tmp_path):
    with FileServer({"file": DATA}) as server:
        threads = [
            threading.Thread(target=download.fetch, args=(server.url + "file", str(tmp_path / "file"), MD5))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (tmp_path / "file").read_bytes() == DATA and left_over(tmp_path) == []
    assert server.requests == [("file", None)]


def test_one_turn_at_a_time(tmp_path):
    inside, most = [], []

    def hurry(name):
        for _ in range(200):
            with download.turn(str(tmp_path / "lock")):
                inside.append(name)
                most.append(len(inside))
                inside.remove(name)

    threads = [threading.Thread(target=hurry, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 1200 and not (tmp_path / "lock").exists()


def test_download_url(tmp_path):
    with FileServer({"file": DATA}) as server:
        utils.download_url(server.url + "file", str(tmp_path), md5=MD5)
        with pytest.raises(RuntimeError) as caught:
            utils.download_url(server.url + "file", str(tmp_path), filename="b", md5="0" * 32)
    assert str(caught.value).startswith("File not found or corrupted.\nhint: ")
    assert utils.check_integrity(tmp_path / "file", MD5) and not utils.check_integrity(tmp_path / "file", "0" * 32)
    assert utils.calculate_md5(tmp_path / "file") == MD5


def serve_mnist(monkeypatch):
    archives, resources = compressed(mnist_files(mnist_arrays()))
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    return archives


def test_mnist_comes_from_the_mirror_that_has_it(tmp_path, monkeypatch):
    archives = serve_mnist(monkeypatch)
    with FileServer({}) as empty, FileServer(archives) as full:
        monkeypatch.setattr(datasets.MNIST, "mirrors", [empty.url, full.url])
        dataset = datasets.MNIST(tmp_path, download=True)
    assert len(dataset) == 20 and len(full.requests) == 4 and len(empty.requests) == 4
    assert sorted(os.listdir(dataset.raw_folder)) == sorted([*archives, *(name[:-3] for name in archives)])


def test_a_mirror_with_wrong_files_is_passed_over(tmp_path, monkeypatch):
    archives = serve_mnist(monkeypatch)
    with FileServer(dict.fromkeys(archives, b"<html>")) as wrong, FileServer(archives) as full:
        monkeypatch.setattr(datasets.MNIST, "mirrors", [wrong.url, full.url])
        assert len(datasets.MNIST(tmp_path, download=True)) == 20


def test_only_missing_files_are_fetched(tmp_path, monkeypatch):
    archives = serve_mnist(monkeypatch)
    with FileServer(archives) as server:
        monkeypatch.setattr(datasets.MNIST, "mirrors", [server.url])
        dataset = datasets.MNIST(tmp_path, download=True)
        os.remove(os.path.join(dataset.raw_folder, "t10k-labels-idx1-ubyte"))
        os.remove(os.path.join(dataset.raw_folder, "t10k-labels-idx1-ubyte.gz"))
        datasets.MNIST(tmp_path, download=True)
    assert [name for name, _ in server.requests[4:]] == ["t10k-labels-idx1-ubyte.gz"]


def test_offline_error_says_which_files_go_where(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "mirrors", ["http://127.0.0.1:9/"])
    with pytest.raises(RuntimeError) as caught:
        datasets.MNIST(tmp_path, download=True)
    message = str(caught.value)
    assert message.startswith("Error downloading train-images-idx3-ubyte.gz:\nTried http://127.0.0.1:9/, got:\n")
    assert "hint: without a network, put train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-" in message
    assert str(tmp_path / "MNIST" / "raw") in message


def test_plain_progress_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = progress.progress_bar(2_000_000, 500_000, "a.gz")
    bar.update(500_000)
    bar.close()
    assert stream.getvalue() == "a.gz:  50% [###############...............] 1.0 MB of 2.0 MB\n"
    stream.isatty = lambda: True
    bar = progress.progress_bar(None, 0, "b")
    bar.update(1_000_000)
    bar.close()
    assert stream.getvalue().endswith("\rb: 1.0 MB\rb: 1.0 MB\n")


def test_tqdm_progress_bar():
    pytest.importorskip("tqdm")
    bar = progress.progress_bar(100, 10, "a.gz")
    assert (bar.total, bar.n, bar.unit) == (100, 10, "B")
    bar.close()


@pytest.mark.parametrize("ending", [".tar.gz", ".zip", ".gz", ".xz", ".bz2"])
def test_archives(tmp_path, ending):
    import bz2
    import gzip
    import lzma
    import zipfile

    source, target = tmp_path / f"a{ending}", tmp_path / "out"
    target.mkdir()
    if ending == ".tar.gz":
        source.write_bytes(tar_bytes({"d/a": b"one"}))
    elif ending == ".zip":
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr("d/a", b"one")
    else:
        source.write_bytes({".gz": gzip, ".xz": lzma, ".bz2": bz2}[ending].compress(b"one"))
    made = utils.extract_archive(source, target, remove_finished=True)
    nested = ending in (".tar.gz", ".zip")
    assert (target / "d" / "a" if nested else target / "a").read_bytes() == b"one"
    assert made == str(target if nested else target / "a") and not source.exists()
    assert not [name for _, _, names in os.walk(target) for name in names if name.endswith(".part")]


def test_unusable_archives(tmp_path):
    import gzip

    (tmp_path / "a.tar.gz").write_bytes(tar_bytes({"../outside": b"x"}))
    with pytest.raises(RuntimeError, match="would be written outside"):
        utils.extract_archive(tmp_path / "a.tar.gz", tmp_path / "in")
    assert not (tmp_path / "outside").exists()
    whole = gzip.compress(DATA)
    for damaged in (whole[: len(whole) // 2], b"not gzip", whole[:20] + b"\xff" * 40 + whole[60:]):
        (tmp_path / "b.gz").write_bytes(damaged)
        with pytest.raises(RuntimeError, match=r"b.gz cannot be unpacked"):
            utils.extract_archive(tmp_path / "b.gz")
        assert not (tmp_path / "b").exists()
    (tmp_path / "c.rar").write_bytes(b"")
    with pytest.raises(RuntimeError, match=r"Unknown compression or archive type: '.rar'"):
        utils.extract_archive(tmp_path / "c.rar")


def test_verify_str_arg():
    assert utils.verify_str_arg("train", "split", ("train", "test")) == "train"
    with pytest.raises(ValueError, match=r"Unknown value 'x' for argument split. Valid values are {'train', 'test'}."):
        utils.verify_str_arg("x", "split", ("train", "test"))
    with pytest.raises(ValueError, match=r"Expected type str for argument split, but got type <class 'int'>."):
        utils.verify_str_arg(3, "split")
