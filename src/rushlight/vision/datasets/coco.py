"""CocoDetection and CocoCaptions: images with the annotations of a file in COCO's form, which pycocotools reads."""

from __future__ import annotations

import os

from rushlight.base.errors import hinted

from .folder import pil_loader
from .vision import VisionDataset


def opened(path):
    """The index that pycocotools makes of a file of annotations."""
    try:
        from pycocotools.coco import COCO
    except ImportError:
        raise ImportError(
            hinted(
                "a file of annotations in COCO's form needs the package 'pycocotools', which is not installed",
                "pip install pycocotools",
            )
        ) from None
    return COCO(path)


class CocoDetection(VisionDataset):
    """Images with their annotations, a list of dicts each (Lin and others, "Microsoft COCO", 2014).

    `root` is the folder of the images, `annFile` the path of the annotations; ``coco`` is what pycocotools makes of it,
    ``ids`` the sorted numbers of the images. `transforms` takes image and target together.
    """

    def __init__(self, root, annFile, transform=None, target_transform=None, transforms=None):
        super().__init__(root, transforms, transform, target_transform)
        self.coco = opened(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_image(self, id):
        return pil_loader(os.path.join(self.root, self.coco.loadImgs(id)[0]["file_name"]))

    def _load_target(self, id):
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __getitem__(self, index):
        """(image, target), each transformed."""
        if not isinstance(index, int):
            raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
        image, target = self._load_image(self.ids[index]), self._load_target(self.ids[index])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self):
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """Images with their captions, a list of texts each. Arguments as for CocoDetection."""

    def _load_target(self, id):
        return [annotation["caption"] for annotation in super()._load_target(id)]
