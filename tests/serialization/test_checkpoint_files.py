"""Files on disk: replaced as a whole or not at all; and what is said about files that are no checkpoints."""

import io
import os
import pickle
import stat
import sys
from pathlib import Path

import pytest
from checkpoints import saved, tensor

from rushlight.serialization import load, save


def test_every_way_to_name_a_file(tmp_path):
    path = tmp_path / "model.pt"
    for name in (path, str(path), os.fsencode(path).decode()):
        save([1, tensor([2])], name)
        assert load(name)[1].tolist() == [2]
        path.unlink()
    with open(path, "wb") as file:
        save(3, file)
    with open(path, "rb") as file:
        assert load(file) == 3
    assert os.listdir(tmp_path) == ["model.pt"]


def test_relative_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(1, "here.pt")
    assert load("here.pt") == 1 and load(Path("here.pt")) == 1


def test_a_failing_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    save(tensor([1]), path)
    with pytest.raises(pickle.PicklingError):
        save([tensor([2]), lambda: 0], path)
    assert load(path).tolist() == [1]

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rushlight.serialization.archive_writer.ArchiveWriter.close", full)
    with pytest.raises(OSError, match="No space left"):
        save(tensor([2]), path)
    with pytest.raises(OSError, match="No space left"):
        save(tensor([2]), tmp_path / "new.pt")
    assert load(path).tolist() == [1] and os.listdir(tmp_path) == ["model.pt"]


def test_readers_of_the_old_file_are_not_disturbed(tmp_path):
    path = tmp_path / "model.pt"
    save("old", path)
    with open(path, "rb") as file:
        save("new", path)
        assert load(file) == "old"
    assert load(path) == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_permissions_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.pt", tmp_path / "link.pt"
    save(1, real)
    real.chmod(0o640)
    link.symlink_to(real)
    save(2, link)
    assert link.is_symlink() and load(real) == 2 and stat.S_IMODE(real.stat().st_mode) == 0o640
    save(3, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_new_files_have_the_usual_permissions(tmp_path):
    plain, made = tmp_path / "plain", tmp_path / "made.pt"
    plain.write_bytes(b"")
    save(1, made)
    assert plain.stat().st_mode == made.stat().st_mode


def test_folders_that_do_not_exist(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .*missing does not exist\.\nhint: .*makedirs"):
        save(1, tmp_path / "missing" / "model.pt")
    with pytest.raises(RuntimeError, match="Is a directory"):
        save(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.pt")


def test_things_that_are_no_files():
    for thing in (None, 3, []):
        with pytest.raises(
            AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write'"
        ):
            save(1, thing)
        with pytest.raises(AttributeError, match=r"You can only torch\.load from a file that is seekable"):
            load(thing)
    with pytest.raises(TypeError, match="binary mode"):
        load(io.StringIO("text"))


class Trickle(io.RawIOBase):
    """A file that gives its bytes in small pieces and has the least of methods."""

    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def read(self, count=-1):
        return self.inner.read(min(count, 100) if count > 0 else count)

    def seek(self, *where):
        return self.inner.seek(*where)

    def tell(self):
        return self.inner.tell()


def test_storages_may_arrive_in_pieces():
    assert load(Trickle(saved(tensor(range(1000))).getvalue())).tolist() == list(range(1000))


def test_a_checkpoint_may_follow_other_data():
    file = io.BytesIO()
    file.write(b"1234567")
    save(tensor([5]), file)
    file.seek(7)
    assert load(file).tolist() == [5]


def test_old_checkpoints_may_follow_each_other():
    file = io.BytesIO()
    for number in range(3):
        save({"n": tensor([number])}, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [load(file)["n"].item() for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\n<!DOCTYPE html><html>", "web page"),
        (b"\x1f\x8b\x08\x00abc", "compressed"),
        (bytes(257) + b"ustar" + bytes(250), "tar archive"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00{}", "load_safetensors"),
        (pickle.dumps({"a": 1}, 2), "not one that torch.save wrote"),
        (b"nonsense", "not written by torch.save"),
        (b"\x80", "pickle"),
    ],
)
def test_other_files_are_told_apart(data, hint):
    with pytest.raises(RuntimeError, match=rf"Invalid magic number; corrupt file\?\nhint: .*{hint}"):
        load(io.BytesIO(data))


def test_an_empty_file():
    with pytest.raises(EOFError, match="Ran out of input\nhint: the file is empty"):
        load(io.BytesIO())


def test_an_old_checkpoint_of_a_later_protocol():
    data = saved([1], _use_new_zipfile_serialization=False).getvalue()
    with pytest.raises(RuntimeError, match="Invalid protocol version"):
        load(io.BytesIO(data.replace(b"\x80\x02M\xe9\x03.", b"\x80\x02M\xea\x03.")))
