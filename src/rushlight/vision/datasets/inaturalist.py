"""INaturalist: photographs of plants and animals in folders that are named by their classification."""

from __future__ import annotations

import os

from rushlight.base.errors import hinted

from ..images import pillow
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset, transformed

CATEGORIES_2021 = ["kingdom", "phylum", "class", "order", "family", "genus"]
_URL = "https://ml-inat-competition-datasets.s3.amazonaws.com/"
DATASET_URLS = {
    "2017": f"{_URL}2017/train_val_images.tar.gz",
    "2018": f"{_URL}2018/train_val2018.tar.gz",
    "2019": f"{_URL}2019/train_val2019.tar.gz",
    "2021_train": f"{_URL}2021/train.tar.gz",
    "2021_train_mini": f"{_URL}2021/train_mini.tar.gz",
    "2021_valid": f"{_URL}2021/val.tar.gz",
}
DATASET_MD5 = {
    "2017": "7c784ea5e424efaec655bd392f87301f",
    "2018": "b1c6952ce38f31868cc50ea72d066cc3",
    "2019": "c60a6e2962c9b8ccbd458d12c8582644",
    "2021_train": "e0526d53c7f7b2e3167b2b43bb2690ed",
    "2021_train_mini": "db6ed8330e634445efc8fec83ae81442",
    "2021_valid": "f6f6e0e242e3d4c9569ba56400938afc",
}


class INaturalist(VisionDataset):
    """The iNaturalist competitions of 2017, 2018, 2019 and 2021 (the default is "2021_train"), in ``root/version``.

    `target_type` is one or a list of "full" (the species) and, for 2021, "kingdom", "phylum", "class", "order", "family",
    "genus", else "super"; an item's target is a number, or a tuple of them. `loader` reads an image from its path (None:
    Pillow). ``all_categories`` are the species' folders; ``index`` the (species, file) pairs.

    Raises ``RuntimeError`` where the folder is missing or its names are not those of the competition.
    """

    def __init__(self, root, version="2021_train", target_type="full", transform=None, target_transform=None,
                 download=False, loader=None):  # fmt: skip
        self.version = verify_str_arg(version, "version", DATASET_URLS.keys())
        super().__init__(os.path.join(root, version), transform=transform, target_transform=target_transform)
        os.makedirs(root, exist_ok=True)
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(
                hinted(
                    "Dataset not found or corrupted. You can use download=True to download it",
                    f"the folders of {DATASET_URLS[version]} belong into {os.path.abspath(self.root)}",
                )
            )
        of_2021 = self.version.startswith("2021")
        known = ("full", *(CATEGORIES_2021 if of_2021 else ["super"]))
        kinds = target_type if isinstance(target_type, list) else [target_type]
        self.target_type = [verify_str_arg(kind, "target_type", known) for kind in kinds]
        self.all_categories = []  # the folder of each species
        self.categories_index = {kind: {} for kind in known[1:]}  # kind: {name: number}
        self.categories_map = []  # for each species {kind: number}
        if of_2021:
            self._init_2021()
        else:
            self._init_pre2021()
        self.index = [
            (number, name)
            for number, folder in enumerate(self.all_categories)
            for name in os.listdir(os.path.join(self.root, folder))
        ]
        self.loader = loader

    def _init_2021(self):
        """Species as folders ``NUMBER_kingdom_phylum_class_order_family_genus_species``."""
        self.all_categories = sorted(os.listdir(self.root))
        for number, folder in enumerate(self.all_categories):
            words = folder.split("_")
            if len(words) != 8:
                raise RuntimeError(f"Unexpected category name {folder}, wrong number of pieces")
            if words[0] != f"{number:05d}":
                raise RuntimeError(f"Unexpected category id {words[0]}, expecting {number:05d}")
            self.categories_map.append(
                {
                    kind: self.categories_index[kind].setdefault(name, len(self.categories_index[kind]))
                    for kind, name in zip(CATEGORIES_2021, words[1:7], strict=True)
                }
            )

    def _init_pre2021(self):
        """Species as folders in those of super categories: by name in 2017, afterwards by number."""
        found = {}  # number of the species: (number of the super category, folder)
        supers = sorted(os.listdir(self.root))
        self.categories_index["super"] = {name: number for number, name in enumerate(supers)}
        for super_number, super_name in enumerate(supers):
            for name in sorted(os.listdir(os.path.join(self.root, super_name))):
                if self.version == "2017":
                    number = len(found)
                elif name.isdecimal():
                    number = int(name)
                else:
                    raise RuntimeError(f"Unexpected non-numeric dir name: {name}")
                if number in found:
                    raise RuntimeError(f"Duplicate category {name}")
                found[number] = super_number, os.path.join(super_name, name)
        for number in range(max(found, default=-1) + 1):
            if number not in found:
                raise RuntimeError(f"Missing category {number}")
            self.categories_map.append({"super": found[number][0]})
            self.all_categories.append(found[number][1])

    def __getitem__(self, index):
        """(image, number of the category or a tuple of numbers), each transformed."""
        species, name = self.index[index]
        path = os.path.join(self.root, self.all_categories[species], name)
        image = pillow("reading image files").open(path) if self.loader is None else self.loader(path)
        numbers = self.categories_map[species]
        target = tuple(species if kind == "full" else numbers[kind] for kind in self.target_type)
        target = target if len(target) > 1 else target[0]
        return transformed(image, target, self.transform, self.target_transform)

    def __len__(self):
        return len(self.index)

    def category_name(self, category_type, category_id):
        """The name of a category: ``category_type`` is one of the target types, ``category_id`` its number."""
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            raise ValueError(f"Invalid category type '{category_type}'")
        for name, number in self.categories_index[category_type].items():
            if number == category_id:
                return name
        raise ValueError(f"Invalid category id {category_id} for {category_type}")

    def _check_exists(self):
        return os.path.exists(self.root) and len(os.listdir(self.root)) > 0

    def download(self):
        """Fetch and unpack the images, unless the folder holds something."""
        if self._check_exists():
            return
        base, url = os.path.dirname(self.root), DATASET_URLS[self.version]
        download_and_extract_archive(url, base, filename=f"{self.version}.tgz", md5=DATASET_MD5[self.version])
        unpacked = os.path.join(base, os.path.basename(url).removesuffix(".tar.gz"))
        if not os.path.exists(unpacked):
            raise RuntimeError(f"Unable to find downloaded files at {unpacked}")
        os.rename(unpacked, self.root)
