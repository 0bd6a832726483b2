"""ImageNet 2012: images of 1,000 classes, from the archives of the competition, which have to be fetched by hand."""

from __future__ import annotations

import os
import shutil
import tempfile

from rushlight.base.errors import hinted, missing_package
from rushlight.serialization import load, save

from .folder import ImageFolder
from .utils import check_integrity, extract_archive, verify_str_arg

ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
META_FILE = "meta.bin"


class ImageNet(ImageFolder):
    """1,281,167 training and 50,000 validation images (Russakovsky et al.): `split` is "train" or "val".

    `root` holds the archives of the competition; the first use unpacks them into ``root/train`` or ``root/val``, and writes
    ``root/meta.bin`` with the classes' names (which needs SciPy). Further arguments are those of `ImageFolder`.
    ``wnids`` are the classes' WordNet ids, ``wnid_to_idx`` their numbers; ``classes`` are tuples of names, each of which
    ``class_to_idx`` finds.

    Raises ``RuntimeError`` where an archive is missing or damaged.
    """

    def __init__(self, root, split="train", **kwargs):
        self.root = os.path.expanduser(root)
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        names = load_meta_file(self.root)[0]
        super().__init__(self.split_folder, **kwargs)
        self.root = os.path.expanduser(root)
        self.wnids, self.wnid_to_idx = self.classes, self.class_to_idx
        self.classes = [names[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: number for number, names in enumerate(self.classes) for name in names}

    def parse_archives(self):
        """Unpack what is not unpacked yet."""
        if not check_integrity(os.path.join(self.root, META_FILE)):
            parse_devkit_archive(self.root)
        if not os.path.isdir(self.split_folder):
            (parse_train_archive if self.split == "train" else parse_val_archive)(self.root)

    @property
    def split_folder(self):
        """The folder of the part's images."""
        return os.path.join(self.root, self.split)

    def extra_repr(self):
        """Which part it is."""
        return f"Split: {self.split}"


def load_meta_file(root, file=None):
    """(names of each WordNet id, WordNet ids of the validation images) from the file that the dataset wrote into ``root``."""
    path = os.path.join(root, file or META_FILE)
    if not check_integrity(path):
        raise RuntimeError(
            hinted(
                f"The meta file {path} is not present in the root directory or is corrupted. This file is automatically "
                "created by the ImageNet dataset.",
                f"parse_devkit_archive(root) makes it of {ARCHIVE_META['devkit'][0]}",
            )
        )
    return load(path, weights_only=True)


def _archive(root, file, part):
    """The path of an archive, which has to be there and whole."""
    name, md5 = ARCHIVE_META[part]
    path = os.path.join(root, file or name)
    if not check_integrity(path, md5):
        raise RuntimeError(
            hinted(
                f"The archive {file or name} is not present in the root directory or is corrupted. You need to download it "
                f"externally and place it in {root}.",
                "https://image-net.org/challenges/LSVRC/2012/2012-downloads.php gives it to those who register",
            )
        )
    return path


def parse_devkit_archive(root, file=None):
    """Write ``root/meta.bin``: the classes' names and the validation images' classes, from the archive of the development kit."""
    path = _archive(root, file, "devkit")
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(path, folder)
        data = os.path.join(folder, "ILSVRC2012_devkit_t12", "data")
        synsets = _synsets(os.path.join(data, "meta.mat"))
        with open(os.path.join(data, "ILSVRC2012_validation_ground_truth.txt")) as lines:
            classes = [synsets[int(line)][0] for line in lines]
        save((dict(synsets.values()), classes), os.path.join(root, META_FILE))


def _synsets(path):
    """``{number: (WordNet id, names)}`` of the classes, those that have no classes below them, from a MATLAB file."""
    try:
        from scipy.io import loadmat
    except ImportError:
        raise missing_package("scipy", "reading ImageNet's development kit") from None
    entries = loadmat(path, squeeze_me=True)["synsets"]
    return {
        int(number): (str(wnid), tuple(str(words).split(", ")))
        for number, wnid, words, _, children, *_ in entries
        if children == 0
    }


def parse_train_archive(root, file=None, folder="train"):
    """Unpack the training images into ``root/train``, a folder for each class."""
    path, folder = _archive(root, file, "train"), os.path.join(root, folder)
    extract_archive(path, folder)
    for name in os.listdir(folder):
        inner = os.path.join(folder, name)
        extract_archive(inner, os.path.splitext(inner)[0], remove_finished=True)


def parse_val_archive(root, file=None, wnids=None, folder="val"):
    """Unpack the validation images into ``root/val``, a folder for each class; ``wnids`` are the images' classes, in order of name."""
    path, folder = _archive(root, file, "val"), os.path.join(root, folder)
    wnids = load_meta_file(root)[1] if wnids is None else wnids
    extract_archive(path, folder)
    images = sorted(os.listdir(folder))
    for wnid in set(wnids):
        os.mkdir(os.path.join(folder, wnid))
    for wnid, image in zip(wnids, images, strict=False):
        shutil.move(os.path.join(folder, image), os.path.join(folder, wnid, image))
