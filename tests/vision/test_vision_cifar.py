"""CIFAR: files as Python 2 and 3 pickle them, read as data; damaged, missing and hostile ones; batches."""

import hashlib
import os
import pickle

import numpy as np
import pytest
from vision_files import tar_bytes, write_cifar
from vision_server import FileServer

from rushlight.utils.data import default_collate
from rushlight.vision import datasets, transforms
from rushlight.vision.datasets.pickled import DataError, read_pickled_data

KINDS = [datasets.CIFAR10, datasets.CIFAR100]


@pytest.mark.parametrize("python2", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_reads(tmp_path, kind, python2):
    local, images, labels = write_cifar(tmp_path, kind, python2=python2)
    dataset = local(tmp_path, transform=transforms.ToTensor(), download=True)
    assert isinstance(dataset.data, np.ndarray) and np.array_equal(dataset.data, images)
    assert dataset.targets == labels and len(dataset) == len(labels)
    assert dataset.classes == ["airplane", "automobile", "bird"] and dataset.class_to_idx["bird"] == 2
    image, target = dataset[1]
    assert target == labels[1] and image.shape == (3, 32, 32)
    assert np.array_equal(image.numpy(), images[1].transpose(2, 0, 1) / np.float32(255))
    batch, single = dataset.__getbatch__([2, 0]), default_collate([dataset[2], dataset[0]])
    assert all(np.array_equal(one.numpy(), other.numpy()) for one, other in zip(batch, single))
    assert len(local(tmp_path, train=False)) == 4


def test_colour_transforms_in_batches(tmp_path):
    local, _, _ = write_cifar(tmp_path, datasets.CIFAR10)
    chain = transforms.Compose([transforms.Grayscale(), transforms.Resize(20), transforms.CenterCrop(16),
                                transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])  # fmt: skip
    dataset = local(tmp_path, transform=chain)
    batch, single = dataset.__getbatch__([3, 0]), default_collate([dataset[3], dataset[0]])
    assert np.array_equal(batch[0].numpy(), single[0].numpy()) and batch[0].shape == (2, 1, 16, 16)


def test_printed_form(tmp_path):
    local, _, _ = write_cifar(tmp_path, datasets.CIFAR10)
    assert repr(local(tmp_path, train=False)) == (
        f"Dataset CIFAR10\n    Number of datapoints: 4\n    Root location: {tmp_path}\n    Split: Test"
    )


def test_missing_and_changed_files(tmp_path):
    with pytest.raises(RuntimeError) as caught:
        datasets.CIFAR10(tmp_path)
    first, hint = str(caught.value).split("\n")
    assert first == "Dataset not found or corrupted. You can use download=True to download it"
    assert "data_batch_1 is missing" in hint and "put cifar-10-python.tar.gz into" in hint
    local, _, _ = write_cifar(tmp_path, datasets.CIFAR10)
    path = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(RuntimeError) as caught:
        local(tmp_path)
    expected = dict(local.train_list)["data_batch_3"]
    assert f"{path} ({path.stat().st_size} bytes) has MD5 checksum" in str(caught.value)
    assert f"expected {expected}" in str(caught.value)


def test_missing_names(tmp_path):
    local, _, _ = write_cifar(tmp_path, datasets.CIFAR10)
    os.remove(tmp_path / "cifar-10-batches-py" / "batches.meta")
    with pytest.raises(RuntimeError, match=r"Dataset metadata file not found or corrupted. You can use download=True"):
        local(tmp_path)


def with_file(tmp_path, data):
    """CIFAR10 whose first batch holds `data`, with the checksum to match."""
    local, _, _ = write_cifar(tmp_path, datasets.CIFAR10)
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(data)
    local.train_list[0][1] = hashlib.md5(data).hexdigest()
    return local


class Hostile:
    """Makes the folder `place` when pickle.load reads it."""

    place = "made"

    def __reduce__(self):
        return os.mkdir, (self.place,)


@pytest.mark.parametrize(
    "value",
    [Hostile(), [1], {"labels": [1]}, {"labels": [1], "data": np.zeros((1, 3072))},
     {"data": np.zeros((2, 3072), "u1"), "labels": [1]}, {"data": np.zeros(3, "O"), "labels": []}],
)  # fmt: skip
def test_other_contents_are_refused(tmp_path, value):
    Hostile.place = str(tmp_path / "made")
    with pytest.raises(RuntimeError, match=r"Dataset file not usable: .*data_batch_1: "):
        with_file(tmp_path, pickle.dumps(value))(tmp_path)
    assert not os.path.exists(Hostile.place)


@pytest.mark.parametrize("keep", [0, 1, 100, 2000])
def test_cut_files_are_refused(tmp_path, keep):
    write_cifar(tmp_path, datasets.CIFAR10)
    whole = (tmp_path / "cifar-10-batches-py" / "data_batch_1").read_bytes()
    (tmp_path / "again").mkdir()
    with pytest.raises(RuntimeError, match="Dataset file not usable"):
        with_file(tmp_path / "again", whole[:keep])(tmp_path / "again")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(tmp_path, protocol):
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    path = tmp_path / "a"
    for value in (array, np.asfortranarray(array)):
        path.write_bytes(pickle.dumps({"a": value, "b": [1, "x"]}, protocol))
        read = read_pickled_data(path)
        assert np.array_equal(read["a"], array) and read["b"] == [1, "x"] and read["a"].flags.writeable


def test_hostile_arrays(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(DataError, match=r"it asks for (posix|nt).mkdir, which plain data does not need"):
        read_pickled_data(path)


def test_download(tmp_path, monkeypatch, capsys):
    local, images, _ = write_cifar(tmp_path / "source", datasets.CIFAR10)
    folder = tmp_path / "source" / local.base_folder
    archive = tar_bytes({path.name: path.read_bytes() for path in folder.iterdir()}, "cifar-10-batches-py/")
    local.tgz_md5 = hashlib.md5(archive).hexdigest()
    with FileServer({local.filename: archive}) as server:
        local.url = server.url + local.filename
        assert np.array_equal(local(tmp_path / "data", download=True).data, images)
        local(tmp_path / "data", download=True)
    assert len(server.requests) == 1 and (tmp_path / "data" / local.filename).read_bytes() == archive
