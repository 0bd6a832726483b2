"""CIFAR10 and CIFAR100: 32x32 colour images, in Python's pickle files, which are read as data and never run."""

from __future__ import annotations

import os

import numpy as np

from rushlight.base.errors import hinted

from .arrays import ArrayDataset
from .pickled import read_pickled_data
from .utils import calculate_md5, check_integrity, download_and_extract_archive


class CIFAR10(ArrayDataset):
    """Photographs of ten kinds of things (Krizhevsky): 50,000 training and 10,000 test images, 32x32, colour.

    `root` is the folder that holds ``cifar-10-batches-py``; `train` chooses the part; `download` fetches the archive
    unless the files are there and correct. ``data`` is a uint8 NumPy array (N, 32, 32, 3), ``targets`` a list of ints,
    ``classes`` the names, ``class_to_idx`` their numbers.

    Raises ``RuntimeError`` when files are missing or damaged; the message names them with their checksums.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                hinted("Dataset not found or corrupted. You can use download=True to download it", self._problems())
            )
        self.data, self.targets = self._load_data()
        self._load_meta()

    def _path(self, name):
        return os.path.join(self.root, self.base_folder, name)

    def _check_integrity(self):
        return all(check_integrity(self._path(name), md5) for name, md5 in self.train_list + self.test_list)

    def _problems(self):
        """What is wrong with which file, and where the files belong."""
        for name, md5 in self.train_list + self.test_list:
            path = self._path(name)
            if not os.path.isfile(path):
                folder = os.path.abspath(self.root)
                return f"{path} is missing; without a network, put {self.filename} into {folder} and use download=True"
            if not check_integrity(path, md5):
                size = os.path.getsize(path)
                return f"{path} ({size} bytes) has MD5 checksum {calculate_md5(path)}, expected {md5}"
        return "a file changed while it was read"

    def download(self):
        """Fetch and unpack the archive unless all files are there and correct."""
        if not self._check_integrity():
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def _load_data(self):
        """(images NxHxWxC, list of labels) of the chosen part."""
        images, labels = [], []
        for name, _ in self.train_list if self.train else self.test_list:
            entry = self._read(name)
            found = entry.get("labels", entry.get("fine_labels"))
            pixels = entry.get("data")
            if not isinstance(pixels, np.ndarray) or not isinstance(found, list) or pixels.shape != (len(found), 3072):
                raise self._unusable(name, "it lacks images of 3 x 32 x 32 bytes with as many labels")
            images.append(pixels)
            labels.extend(found)
        pixels = np.concatenate(images).reshape(-1, 3, 32, 32)
        return pixels.transpose(0, 2, 3, 1), labels

    def _load_meta(self):
        path = self._path(self.meta["filename"])
        if not check_integrity(path, self.meta["md5"]):
            state = f"MD5 checksum {calculate_md5(path)}" if os.path.isfile(path) else "no such file"
            raise RuntimeError(
                hinted(
                    "Dataset metadata file not found or corrupted. You can use download=True to download it",
                    f"{path}: {state}, expected MD5 checksum {self.meta['md5']}",
                )
            )
        self.classes = self._read(self.meta["filename"]).get(self.meta["key"])
        if not isinstance(self.classes, list):
            raise self._unusable(self.meta["filename"], f"it lacks the list '{self.meta['key']}'")
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _read(self, name):
        """The dict in one of the files."""
        try:
            entry = read_pickled_data(self._path(name))
        except (ValueError, RuntimeError, EOFError) as error:
            raise self._unusable(name, str(error).split("\n")[0]) from error
        if not isinstance(entry, dict):
            raise self._unusable(name, "it holds no dict")
        return entry

    def _unusable(self, name, what):
        return RuntimeError(
            hinted(f"Dataset file not usable: {self._path(name)}: {what}", "delete it and use download=True")
        )

    def extra_repr(self):
        """Which part it is."""
        return f"Split: {'Train' if self.train is True else 'Test'}"


class CIFAR100(CIFAR10):
    """Photographs of a hundred kinds of things: 50,000 training and 10,000 test images. Arguments as for CIFAR10."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}
