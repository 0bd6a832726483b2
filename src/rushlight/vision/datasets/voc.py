"""VOCSegmentation and VOCDetection: images of twenty classes of things, with masks or with boxes."""

from __future__ import annotations

import os

from rushlight.base.errors import hinted

from ..images import pillow
from .folder import pil_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

# Of each part: the folder and the file of the archive's address, its name here, its MD5 checksum, and the folder within it.
ARCHIVES = {
    "2012": ("2012", "VOCtrainval_11-May-2012.tar", None, "6cd6e144f989b92b3379bac3b3de84fd", "VOCdevkit/VOC2012"),
    "2011": (
        "2011",
        "VOCtrainval_25-May-2011.tar",
        None,
        "6c3384ef61512963050cb5d687e5bf1e",
        "TrainVal/VOCdevkit/VOC2011",
    ),
    "2010": ("2010", "VOCtrainval_03-May-2010.tar", None, "da459979d0c395079b5c75ee67908abb", "VOCdevkit/VOC2010"),
    "2009": ("2009", "VOCtrainval_11-May-2009.tar", None, "a3e00b113cfcfebf17e343f59da3caa1", "VOCdevkit/VOC2009"),
    "2008": (
        "2008",
        "VOCtrainval_14-Jul-2008.tar",
        "VOCtrainval_11-May-2012.tar",
        "2629fa636546599198acfcfbfcf1904a",
        "VOCdevkit/VOC2008",
    ),
    "2007": ("2007", "VOCtrainval_06-Nov-2007.tar", None, "c52e279531787c972589f7e41ab4ae64", "VOCdevkit/VOC2007"),
    "2007-test": ("2007", "VOCtest_06-Nov-2007.tar", None, "b6e924de25625d8de591ea690078ad9f", "VOCdevkit/VOC2007"),
}
SERVER = "https://thor.robots.ox.ac.uk/pascal/VOC/voc"


class VOC(VisionDataset):
    """What both share: the files of one year and one part, found by the lists that come with them."""

    splits: str  # the folder of the lists
    folder: str  # the folder of the targets, and how their files end
    ending: str

    def __init__(
        self,
        root,
        year="2012",
        image_set="train",
        download=False,
        transform=None,
        target_transform=None,
        transforms=None,
    ):
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [str(each) for each in range(2007, 2013)])
        parts = ["train", "trainval", "val", *(["test"] if year == "2007" else [])]
        self.image_set = verify_str_arg(image_set, "image_set", parts)
        address, archive, name, self.md5, base = ARCHIVES["2007-test" if image_set == "test" else year]
        self.url, self.filename = f"{SERVER}{address}/{archive}", name or archive
        if download:
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.md5)
        base = os.path.join(self.root, *base.split("/"))
        if not os.path.isdir(base):
            raise RuntimeError(
                hinted(
                    "Dataset not found or corrupted. You can use download=True to download it",
                    f"looked for {os.path.abspath(base)}",
                )
            )
        with open(os.path.join(base, "ImageSets", self.splits, f"{image_set}.txt")) as file:
            names = [line.strip() for line in file]
        self.images = [os.path.join(base, "JPEGImages", f"{name}.jpg") for name in names]
        self.targets = [os.path.join(base, self.folder, f"{name}{self.ending}") for name in names]

    def __getitem__(self, index):
        """(image, target), each transformed."""
        image, target = pil_loader(self.images[index]), self.read_target(self.targets[index])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self):
        return len(self.images)


class VOCSegmentation(VOC):
    """Images with masks of classes (Everingham and others, "PASCAL VOC", 2007 to 2012); both are PIL images.

    `root` is the folder that holds ``VOCdevkit``; `year` is "2007" to "2012", `image_set` "train", "trainval", "val" and,
    for 2007, "test". `transforms` takes image and target together. Raises ``RuntimeError`` when the files are missing.
    """

    splits, folder, ending = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self):
        """The paths of the masks."""
        return self.targets

    @staticmethod
    def read_target(path):
        """The mask in a file, its values the numbers of classes (255: none)."""
        with open(path, "rb") as file:
            mask = pillow("reading image files").open(file)
            mask.load()
        return mask


class VOCDetection(VOC):
    """Images with what their annotation says, a dict of dicts: boxes, names, sizes, as texts. Arguments as for VOCSegmentation."""

    splits, folder, ending = "Main", "Annotations", ".xml"

    @property
    def annotations(self):
        """The paths of the annotations."""
        return self.targets

    def read_target(self, path):
        """The annotation in a file."""
        from xml.etree.ElementTree import parse

        return self.parse_voc_xml(parse(path).getroot())

    @staticmethod
    def parse_voc_xml(node):
        """{tag: text, or what is within}; what is there several times is a list, and so are the objects of an annotation."""
        text, within = (node.text or "").strip(), {}
        if len(node) == 0:
            return {node.tag: text} if node.text else {}
        for child in node:
            for tag, value in VOCDetection.parse_voc_xml(child).items():
                within.setdefault(tag, []).append(value)
        content = {tag: values[0] if len(values) == 1 else values for tag, values in within.items()}
        if node.tag == "annotation":
            content["object"] = within.get("object", [])
        return {node.tag: content}
