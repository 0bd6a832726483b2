"""Datasets of images with masks, boxes and captions, on small files, against torchvision's."""

import importlib
import json
import sys
import types

import numpy as np
import PIL.Image
import pytest
from torchvision_oracle import torchvision  # noqa: F401

from rushlight.vision import datasets

theirs = importlib.import_module("torchvision.datasets")
ANNOTATION = """<annotation>
  <folder>VOC2012</folder>
  <size><width>6</width><height>4</height></size>
  <empty></empty>
  {objects}
</annotation>"""
OBJECT = "<object><name>{}</name><bndbox><xmin>1</xmin><xmax>{}</xmax></bndbox>{}</object>"
PART = "<part><name>{}</name></part>"


def image(seed):
    return PIL.Image.fromarray(np.random.default_rng(seed).integers(0, 256, (4, 6, 3), np.uint8))


@pytest.fixture(scope="module")
def voc(tmp_path_factory):
    root = tmp_path_factory.mktemp("voc")
    base = root / "VOCdevkit" / "VOC2012"
    for folder in ("JPEGImages", "SegmentationClass", "Annotations", "ImageSets/Main", "ImageSets/Segmentation"):
        (base / folder).mkdir(parents=True)
    objects = ["", OBJECT.format("cat", 3, ""), OBJECT.format("cat", 3, PART.format("head") * 2) * 2]
    for number, found in enumerate(objects):
        image(number).save(base / "JPEGImages" / f"{number}.jpg")
        image(number).convert("L").save(base / "SegmentationClass" / f"{number}.png")
        (base / "Annotations" / f"{number}.xml").write_text(ANNOTATION.format(objects=found))
    for split in ("Main", "Segmentation"):
        (base / "ImageSets" / split / "val.txt").write_text("0\n1\n2\n")
    return root


def content(sample):
    return [np.asarray(part).tolist() if isinstance(part, PIL.Image.Image) else part for part in sample]


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # torchvision leaves the masks' files open
@pytest.mark.parametrize("name", ["VOCDetection", "VOCSegmentation"])
def test_voc(voc, name):
    options = ({}, {"transform": lambda image: image.size}, {"transforms": lambda image, target: (image.size, 1)})
    for each in options:
        ours, expected = (getattr(room, name)(voc, image_set="val", **each) for room in (datasets, theirs))
        assert len(ours) == len(expected) == 3
        for number in range(3):
            assert content(ours[number]) == content(expected[number])
        assert (ours.images, ours.targets, ours.url, ours.filename) == (
            expected.images,
            expected.targets,
            expected.url,
            expected.filename,
        )
    assert repr(datasets.VOCDetection(voc, image_set="val")) == repr(theirs.VOCDetection(voc, image_set="val"))


def test_what_is_not_there(voc, tmp_path):
    for options in ({"year": "2013"}, {"image_set": "test"}, {"image_set": 3}):
        texts = []
        for room in (datasets, theirs):
            with pytest.raises(ValueError, match="argument") as caught:
                room.VOCDetection(voc, **options)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
    for room in (datasets, theirs):
        with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):
            room.VOCSegmentation(tmp_path)


def test_every_name_can_be_imported_and_derived_from():
    for name in theirs.__all__:
        assert callable(getattr(datasets, name)), name
    assert not hasattr(datasets, "NoSuch")
    for kind in (datasets.STL10, type("Mine", (datasets.STL10,), {})):
        with pytest.raises(NotImplementedError, match="STL10 is not in this version"):
            kind("folder")


class Coco:
    """The part of pycocotools' index that the datasets use."""

    def __init__(self, path):
        with open(path) as file:
            found = json.load(file)
        self.imgs = {each["id"]: each for each in found["images"]}
        self.found = found["annotations"]

    def loadImgs(self, id):
        return [self.imgs[id]]

    def getAnnIds(self, id):
        return [each["id"] for each in self.found if each["image_id"] == id]

    def loadAnns(self, ids):
        return [each for each in self.found if each["id"] in ids]


@pytest.mark.parametrize("name", ["CocoDetection", "CocoCaptions"])
def test_coco(name, tmp_path, monkeypatch):
    module = types.ModuleType("pycocotools.coco")
    module.COCO = Coco
    monkeypatch.setitem(sys.modules, "pycocotools", types.ModuleType("pycocotools"))
    monkeypatch.setitem(sys.modules, "pycocotools.coco", module)
    for number in (7, 2):
        image(number).save(tmp_path / f"{number}.png")
    path = tmp_path / "annotations.json"
    path.write_text(
        json.dumps(
            {
                "images": [{"id": number, "file_name": f"{number}.png"} for number in (7, 2)],
                "annotations": [{"id": 10 + n, "image_id": 7 - 5 * (n % 2), "caption": str(n)} for n in range(3)],
            }
        )
    )
    ours, expected = (getattr(room, name)(tmp_path, str(path)) for room in (datasets, theirs))
    assert (len(ours), ours.ids) == (len(expected), expected.ids)
    assert [content(ours[place]) for place in (0, 1)] == [content(expected[place]) for place in (0, 1)]
    for dataset in (ours, expected):
        with pytest.raises(ValueError, match="Index must be of type integer, got <class 'str'> instead"):
            dataset["0"]


def test_coco_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycocotools", None)
    with pytest.raises(ImportError, match="pycocotools"):
        datasets.CocoDetection(tmp_path, "annotations.json")
