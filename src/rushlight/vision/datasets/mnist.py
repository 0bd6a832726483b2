"""MNIST and its kin (Fashion, K, Q): 28x28 gray images of ten classes, in IDX files under ``root/NAME/raw``."""

from __future__ import annotations

import os
import warnings
from typing import Any

from rushlight.base.errors import hinted

from ..images import for_transform
from .arrays import ArrayDataset, item
from .idx import damaged, read_image_file, read_label_file, read_sn3_pascalvincent_tensor
from .utils import check_integrity, download_from_mirrors, verify_str_arg
from .vision import transformed


class MNIST(ArrayDataset):
    """Handwritten digits (LeCun, Cortes, Burges): 60,000 training and 10,000 test images, 28x28, gray.

    `root` is the folder that holds ``MNIST/raw``; `train` chooses the part; `download` fetches what is missing (files
    that are there are taken as they are). ``data`` is a uint8 tensor (N, 28, 28), ``targets`` an int64 tensor (N).
    An item is (PIL image or what `transform` makes of it, int or what `target_transform` makes of it).

    Raises ``RuntimeError`` when files are missing, damaged or cannot be downloaded; the message names them.

    >>> from rushlight.vision import datasets
    >>> datasets.MNIST.classes[3]
    '3 - three'
    """

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]
    resources: Any = [  # (archive, checksum), by parts in a class below
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four",
               "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"]  # fmt: skip

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(
                hinted("Dataset not found. You can use download=True to download it", self._where_files_go())
            )
        self.data, self.targets = self._load_data()

    @property
    def raw_folder(self):
        """The folder of the IDX files: ``root/NAME/raw``."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def processed_folder(self):
        """Where old versions of torchvision kept converted files; not used."""
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def class_to_idx(self):
        """The number of each class name."""
        return {name: number for number, name in enumerate(self.classes)}

    @property
    def train_labels(self):
        """Old name of ``targets``; warns."""
        return self._renamed("train_labels", "targets")

    @property
    def test_labels(self):
        """Old name of ``targets``; warns."""
        return self._renamed("test_labels", "targets")

    @property
    def train_data(self):
        """Old name of ``data``; warns."""
        return self._renamed("train_data", "data")

    @property
    def test_data(self):
        """Old name of ``data``; warns."""
        return self._renamed("test_data", "data")

    def _renamed(self, old, new):
        warnings.warn(f"{old} has been renamed {new}", stacklevel=3)
        return getattr(self, new)

    def _archives(self):
        """(archive, checksum) of each file."""
        return self.resources

    def _missing(self):
        """The IDX files that are not there."""
        names = [os.path.splitext(archive)[0] for archive, _ in self._archives()]
        return [name for name in names if not check_integrity(os.path.join(self.raw_folder, name))]

    def _check_exists(self):
        return not self._missing()

    def _where_files_go(self):
        """What to put where for want of a network."""
        return (
            f"put {', '.join(self._missing())} (or each with .gz, and use download=True) "
            f"into {os.path.abspath(self.raw_folder)}"
        )

    def download(self):
        """Fetch and unpack the files that are missing, from the first mirror that has them."""
        missing = self._missing()
        for archive, md5 in self._archives():
            if os.path.splitext(archive)[0] in missing:
                download_from_mirrors(self.mirrors, archive, self.raw_folder, md5, self._where_files_go)

    def _load_data(self):
        """(images, labels) of the chosen part, checked against each other."""
        part = "train" if self.train else "t10k"
        image_path, label_path = (
            os.path.join(self.raw_folder, f"{part}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1")
        )
        images, labels = read_image_file(image_path), read_label_file(label_path)
        if len(images) != len(labels):
            raise damaged(label_path, f"holds {len(labels)} labels, but {image_path} holds {len(images)} images")
        return images, labels

    def extra_repr(self):
        """Which part it is."""
        return f"Split: {'Train' if self.train is True else 'Test'}"


class FashionMNIST(MNIST):
    """Articles of clothing (Zalando): 60,000 training and 10,000 test images, 28x28, gray. Arguments as for MNIST.

    >>> from rushlight.vision import datasets
    >>> datasets.FashionMNIST.classes[0]
    'T-shirt/top'
    """

    mirrors = [
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
               "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]  # fmt: skip


class KMNIST(MNIST):
    """Cursive Japanese characters (Kuzushiji-MNIST): 60,000 training and 10,000 test images. Arguments as for MNIST."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


class QMNIST(MNIST):
    """MNIST made anew from NIST's images, with 60,000 test images and where each digit comes from (Yadav, Bottou).

    `what` is "train", "test", "test10k" (those of MNIST), "test50k" (the others) or "nist" (all 402,953 digits); None takes
    "train" or "test" as `train` says. `compat` gives targets as the class; without, as an int64 tensor of eight numbers.
    Further arguments as for MNIST.
    """

    subsets = {"train": "train", "test": "test", "test10k": "test", "test50k": "test", "nist": "nist"}
    mirrors = ["https://raw.githubusercontent.com/facebookresearch/qmnist/master/"]
    resources = {
        "train": [
            (f"{mirrors[0]}qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (f"{mirrors[0]}qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (f"{mirrors[0]}qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (f"{mirrors[0]}qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (f"{mirrors[0]}xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (f"{mirrors[0]}xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(self, root, what=None, compat=True, train=True, **kwargs):
        self.what = verify_str_arg(what or ("train" if train else "test"), "what", tuple(self.subsets))
        self.compat = compat
        super().__init__(root, train, **kwargs)

    def _archives(self):
        """(archive, checksum) of the images and of the labels."""
        return [(os.path.basename(url), md5) for url, md5 in self.resources[self.subsets[self.what]]]

    @property
    def images_file(self):
        """The path of the images."""
        return self._unpacked(0)

    @property
    def labels_file(self):
        """The path of the labels."""
        return self._unpacked(1)

    def _unpacked(self, place):
        return os.path.join(self.raw_folder, os.path.splitext(self._archives()[place][0])[0])

    def _load_data(self):
        """(images, rows of eight numbers) of the chosen part."""
        images, labels = read_image_file(self.images_file), read_sn3_pascalvincent_tensor(self.labels_file).long()
        if labels.ndim != 2 or len(labels) != len(images):
            raise damaged(self.labels_file, f"holds labels of shape {tuple(labels.shape)} for {len(images)} images")
        if self.what == "test10k":
            return images[:10000].clone(), labels[:10000].clone()
        if self.what == "test50k":
            return images[10000:].clone(), labels[10000:].clone()
        return images, labels

    def __getitem__(self, index):
        """(image, class or its eight numbers), each transformed."""
        image, target = for_transform(item(self.data, index), self.transform), self.targets[index]
        target = int(target[0]) if self.compat else target
        return transformed(image, target, self.transform, self.target_transform)

    def __getbatch__(self, indices):
        """NotImplemented: items are read one by one, as their targets have two forms."""
        return NotImplemented

    def extra_repr(self):
        """Which part it is."""
        return f"Split: {self.what}"
