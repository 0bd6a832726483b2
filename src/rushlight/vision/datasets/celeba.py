"""CelebA: faces of famous people with attributes, identities, boxes and landmarks, in ``root/celeba``."""

from __future__ import annotations

import csv
import os
from collections import namedtuple

from rushlight.base.errors import hinted
from rushlight.ops.table import functions

from ..images import pillow
from .utils import check_integrity, download_file_from_google_drive, extract_archive, verify_str_arg
from .vision import VisionDataset

CSV = namedtuple("CSV", ["header", "index", "data"])
_PARTS = {"train": 0, "valid": 1, "test": 2, "all": None}


class CelebA(VisionDataset):
    """202,599 faces of 10,177 people (Liu, Luo, Wang, Tang), 178x218, in three parts.

    `root` is the folder that holds ``celeba`` with the lists and the folder ``img_align_celeba``. `split` is "train",
    "valid", "test" or "all". `target_type` is one or a list of "attr" (int64 tensor (40), 0 or 1), "identity" (int64
    tensor), "bbox" (x, y, width, height) and "landmarks" (ten coordinates); an empty list gives None.

    Raises ``RuntimeError`` where files are missing or damaged. `download` needs the package gdown.
    """

    base_folder = "celeba"
    file_list = [
        ("0B7EVK8r0v71pZjFTYXZWM3FlRnM", "00d2c5bc6d35e252742224ab0c1e8fcb", "img_align_celeba.zip"),
        ("0B7EVK8r0v71pblRyaVFSWGxPY0U", "75e246fa4810816ffd6ee81facbd244c", "list_attr_celeba.txt"),
        ("1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS", "32bd1bd63d3c78cd57e08160ec5ed1e2", "identity_CelebA.txt"),
        ("0B7EVK8r0v71pbThiMVRxWXZ4dU0", "00566efa6fedff7a56946cd1c10f1c16", "list_bbox_celeba.txt"),
        ("0B7EVK8r0v71pd0FJY3Blby1HUTQ", "cc24ecafdb5b50baae59b03474781f8c", "list_landmarks_align_celeba.txt"),
        ("0B7EVK8r0v71pY0NSMzRuSXJEVkk", "d32c9cbf5e040fd4025c592c306e6668", "list_eval_partition.txt"),
    ]

    def __init__(self, root, split="train", target_type="attr", transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = split
        self.target_type = target_type if isinstance(target_type, list) else [target_type]
        if not self.target_type and self.target_transform is not None:
            raise RuntimeError("target_transform is specified but target_type is empty")
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                hinted(
                    "Dataset not found or corrupted. You can use download=True to download it", self._where_files_go()
                )
            )
        wanted = _PARTS[verify_str_arg(split.lower() if isinstance(split, str) else split, "split", tuple(_PARTS))]
        parts = self._load_csv("list_eval_partition.txt")
        rows = [row for row, (part,) in enumerate(parts.data.tolist()) if wanted in (None, part)]
        self.filename = [parts.index[row] for row in rows]
        self.identity = self._load_csv("identity_CelebA.txt").data[rows]
        self.bbox = self._load_csv("list_bbox_celeba.txt", header=1).data[rows]
        self.landmarks_align = self._load_csv("list_landmarks_align_celeba.txt", header=1).data[rows]
        attributes = self._load_csv("list_attr_celeba.txt", header=1)
        self.attr = (attributes.data[rows] > 0).long()  # -1 and 1 in the file
        self.attr_names = attributes.header

    def _load_csv(self, filename, header=None):
        """The list in a file: (names of the columns, names of the images, numbers); ``header`` is the line of the names."""
        with open(os.path.join(self.root, self.base_folder, filename)) as file:
            lines = list(csv.reader(file, delimiter=" ", skipinitialspace=True))
        names = [] if header is None else lines[header]
        lines = lines if header is None else lines[header + 1 :]
        numbers = functions.tensor([[int(word) for word in line[1:]] for line in lines])
        return CSV(names, [line[0] for line in lines], numbers)

    def _check_integrity(self):
        folder = os.path.join(self.root, self.base_folder)
        lists = (entry for entry in self.file_list if not entry[2].endswith(".zip"))
        present = all(check_integrity(os.path.join(folder, name), md5) for _, md5, name in lists)
        return present and os.path.isdir(os.path.join(folder, "img_align_celeba"))

    def _where_files_go(self):
        names = ", ".join(name for _, _, name in self.file_list[1:])
        return f"put {names} and the folder img_align_celeba into {os.path.abspath(os.path.join(self.root, self.base_folder))}"

    def download(self):
        """Fetch and unpack what is missing, with the package gdown."""
        if self._check_integrity():
            return
        folder = os.path.join(self.root, self.base_folder)
        for key, md5, name in self.file_list:
            download_file_from_google_drive(key, folder, name, md5)
        extract_archive(os.path.join(folder, "img_align_celeba.zip"))

    def _target(self, kind, index):
        if kind == "attr":
            return self.attr[index, :]
        if kind == "identity":
            return self.identity[index, 0]
        if kind == "bbox":
            return self.bbox[index, :]
        if kind == "landmarks":
            return self.landmarks_align[index, :]
        raise ValueError(f'Target type "{kind}" is not recognized.')

    def __getitem__(self, index):
        """(image, target): the image transformed, or as a PIL image; a tuple of targets where there are several kinds."""
        targets = tuple(self._target(kind, index) for kind in self.target_type)
        path = os.path.join(self.root, self.base_folder, "img_align_celeba", self.filename[index])
        image = pillow("reading image files").open(path)
        if self.transform is not None:
            image = self.transform(image)
        if not targets:
            return image, None
        target = targets if len(targets) > 1 else targets[0]
        return image, target if self.target_transform is None else self.target_transform(target)

    def __len__(self):
        return len(self.attr)

    def extra_repr(self):
        """Which targets and which part."""
        return f"Target type: {self.target_type}\nSplit: {self.split}"
