"""transforms.v2 on samples against torchvision's: the same draws, images, boxes, masks."""

import copy
import importlib

import numpy as np
import PIL.Image
import pytest
from torchvision_oracle import torch

import rushlight
from rushlight.vision import transforms, tv_tensors
from rushlight.vision.transforms import v2

theirs = importlib.import_module("torchvision.transforms.v2")
their_tensors = importlib.import_module("torchvision.tv_tensors")
FIRST = importlib.import_module("torchvision.transforms"), transforms
PACKAGES = ((torch, theirs, their_tensors), (rushlight, v2, tv_tensors))


def sample(lib, tensors, form="XYXY", dtype="float32", image_dtype=np.uint8):
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (3, 20, 30))
    image = image.astype(np.uint8) if image_dtype == np.uint8 else (image / 255).astype(image_dtype)
    boxes = np.array([[2, 3, 12, 10], [5, 6, 9, 8], [20, 1, 29, 19]])
    if form != "XYXY":
        boxes = np.array([[6, 5, 8, 6], [15, 10, 10, 12], [25, 15, 6, 8]])
    return {
        "image": tensors.Image(lib.from_numpy(image)),
        "boxes": tensors.BoundingBoxes(
            lib.from_numpy(boxes).to(getattr(lib, dtype)), format=form, canvas_size=(20, 30)
        ),
        "masks": tensors.Mask(lib.from_numpy(random.random((3, 20, 30)) > 0.5)),
        "labels": lib.tensor([1, 2, 0]),
        "name": "a",
    }


def compare(make, tolerance=0, seeds=range(4), **options):
    for seed in seeds:
        found = []
        for lib, room, tensors in PACKAGES:
            lib.manual_seed(seed)
            made = make(lib, room)(sample(lib, tensors, **options))
            found.append((made, lib.rand(1).item()))
        (expected, after), (got, ours_after) = found
        assert list(got) == list(expected) and got["name"] == "a"
        for name in ("image", "boxes", "masks", "labels"):
            assert type(got[name]).__name__ == type(expected[name]).__name__, name
            one, other = got[name].numpy(), expected[name].numpy()
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name
            allowed = 1e-4 if name == "boxes" else tolerance
            np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=0, atol=allowed, err_msg=name)
        if isinstance(got["boxes"], tv_tensors.BoundingBoxes):
            assert got["boxes"].canvas_size == tuple(expected["boxes"].canvas_size)
            assert got["boxes"].format.value == expected["boxes"].format.value
        assert after == ours_after


GEOMETRY = {
    "RandomHorizontalFlip": lambda lib, room: room.RandomHorizontalFlip(0.5),
    "RandomVerticalFlip": lambda lib, room: room.RandomVerticalFlip(0.5),
    "Resize": lambda lib, room: room.Resize((10, 24)),
    "Resize one number": lambda lib, room: room.Resize(13, max_size=18),
    "CenterCrop": lambda lib, room: room.CenterCrop((12, 40)),
    "Pad": lambda lib, room: room.Pad((1, 2, 3, 4), fill=7),
    "RandomCrop": lambda lib, room: room.RandomCrop((12, 20), padding=2),
    "RandomCrop padded": lambda lib, room: room.RandomCrop((25, 20), pad_if_needed=True),
    "RandomResizedCrop": lambda lib, room: room.RandomResizedCrop((16, 16)),
    "RandomRotation": lambda lib, room: room.RandomRotation(40, interpolation="bilinear", fill=9),
    "RandomRotation expanded": lambda lib, room: room.RandomRotation((10, 80), expand=True),
    "RandomRotation about": lambda lib, room: room.RandomRotation(30, center=(4, 7)),
    "RandomAffine": lambda lib, room: room.RandomAffine(20, translate=(0.1, 0.2), scale=(0.8, 1.2), shear=(1, 9, 2, 8)),
    "RandomPerspective": lambda lib, room: room.RandomPerspective(p=0.8, fill=3),
    "ElasticTransform": lambda lib, room: room.ElasticTransform(alpha=30.0, sigma=2.0),
    "RandomZoomOut": lambda lib, room: room.RandomZoomOut(fill=5, p=0.8),
    "RandomIoUCrop": lambda lib, room: room.RandomIoUCrop(),
    "ScaleJitter resized": lambda lib, room: room.ScaleJitter((24, 24), scale_range=(0.5, 2.0)),
    "RandomShortestSize resized": lambda lib, room: room.RandomShortestSize([8, 12, 16], max_size=22),
    "RandomResize": lambda lib, room: room.RandomResize(8, 16, interpolation="nearest"),
    "Compose": lambda lib, room: room.Compose(
        [
            room.RandomResizedCrop((16, 16), antialias=True),
            room.RandomHorizontalFlip(),
            room.ClampBoundingBoxes(),
            room.SanitizeBoundingBoxes(),
            room.ToDtype({torch_class(room, "Image"): lib.float32, "others": None}, scale=True),
            room.Normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.3]),
            room.ToPureTensor(),
        ]
    ),
    "ConvertBoundingBoxFormat": lambda lib, room: room.ConvertBoundingBoxFormat("CXCYWH"),
}


def torch_class(room, name):
    return getattr(their_tensors if room is theirs else tv_tensors, name)


@pytest.mark.parametrize("form", ["XYXY", "XYWH", "CXCYWH"])
@pytest.mark.parametrize("name", GEOMETRY)
def test_geometry(name, form):
    # a value between two bytes may round either way
    blurred = any(part in name for part in ("esize", "Compose", "RandomRotation", "Perspective", "Elastic"))
    compare(GEOMETRY[name], 1 if blurred else 0, form=form)
    if name != "Compose":
        compare(GEOMETRY[name], 1 if blurred else 0, form=form, dtype="int64", seeds=[0])
        compare(GEOMETRY[name], 1e-4, form=form, image_dtype=np.float32, seeds=[1])


COLORS = {
    "ColorJitter": lambda lib, room: room.ColorJitter(0.3, 0.3, 0.3, 0.1),
    "RandomGrayscale": lambda lib, room: room.RandomGrayscale(0.5),
    "RandomInvert": lambda lib, room: room.RandomInvert(),
    "RandomSolarize": lambda lib, room: room.RandomSolarize(100),
    "GaussianBlur": lambda lib, room: room.GaussianBlur(3),
    "RandomApply": lambda lib, room: room.RandomApply([room.RandomHorizontalFlip(1.0)], p=0.5),
    "RandomChoice": lambda lib, room: room.RandomChoice([room.RandomHorizontalFlip(1.0), room.CenterCrop(8)], p=[1, 3]),
    "RandomOrder": lambda lib, room: room.RandomOrder([room.RandomVerticalFlip(0.5), room.CenterCrop(8)]),
    "ToDtype": lambda lib, room: room.ToDtype(lib.float32, scale=True),
    "RandomPhotometricDistort": lambda lib, room: room.RandomPhotometricDistort(),
    "RandomChannelPermutation": lambda lib, room: room.RandomChannelPermutation(),
    "GaussianNoise": lambda lib, room: room.GaussianNoise(0.1, 0.2),
    "RandomErasing": lambda lib, room: room.RandomErasing(p=0.9, value=[1, 2, 3]),
    "RandomPosterize": lambda lib, room: room.RandomPosterize(3),
    "RandomEqualize": lambda lib, room: room.RandomEqualize(),
    "RGB": lambda lib, room: room.RGB(),
}


@pytest.mark.filterwarnings("ignore:RandomErasing:UserWarning")  # it passes boxes and masks
@pytest.mark.parametrize("name", COLORS)
def test_colors(name):
    tolerance = {"ColorJitter": 2, "GaussianBlur": 1, "RandomGrayscale": 1, "RandomPhotometricDistort": 3}.get(name, 0)
    compare(COLORS[name], tolerance)
    if name not in ("RandomSolarize", "RandomGrayscale"):
        compare(COLORS[name], 1e-5, image_dtype=np.float32, seeds=[0, 3])


LISTS = {
    "AutoAugment": lambda room: room.AutoAugment(),
    "AutoAugment CIFAR10": lambda room: room.AutoAugment(room.AutoAugmentPolicy.CIFAR10),
    "AutoAugment SVHN": lambda room: room.AutoAugment(room.AutoAugmentPolicy.SVHN, fill=7),
    "RandAugment": lambda room: room.RandAugment(3, 12),
    "TrivialAugmentWide": lambda room: room.TrivialAugmentWide(),
    "AugMix": lambda room: room.AugMix(),
    "ElasticTransform": lambda room: room.ElasticTransform(alpha=40.0, sigma=2.0),
    "RandomAdjustSharpness": lambda room: room.RandomAdjustSharpness(2, p=1.0),
    "AugMix few": lambda room: room.AugMix(all_ops=False, severity=9, chain_depth=2, fill=3),
}


@pytest.mark.parametrize("form", ["pillow", "uint8", "float32", "video"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", LISTS)
def test_augmentations_from_a_list(name, version, form):
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    if version == 1 and form in ("float32", "video"):
        pytest.skip("the first version takes images of uint8 alone")
    rooms = PACKAGES if version == 2 else [(lib, first, tensors) for (lib, _, tensors), first in zip(PACKAGES, FIRST)]
    for seed in range(4):
        found = []
        for lib, room, tensors in rooms:
            lib.manual_seed(seed)
            transform = LISTS[name](room)
            planes = lib.from_numpy(image.transpose(2, 0, 1).copy())
            given = {
                "pillow": lambda: PIL.Image.fromarray(image),
                "uint8": lambda: planes,
                "float32": lambda: tensors.Image(planes / 255),
                "video": lambda: tensors.Video(lib.stack([planes, planes.flip(1)])),
            }[form]()
            made = transform(given)
            array = np.asarray(made) if form == "pillow" else made.numpy()
            found.append((type(made).__name__, array.dtype, array.astype(float), lib.rand(1).item()))
            if version == 1:
                found[-1] += (repr(transform),)
        assert found[0][:2] + found[0][3:] == found[1][:2] + found[1][3:]
        # rounding decides which of two neighbours is nearest to a point between them
        assert (np.abs(found[0][2] - found[1][2]) > (0.01 if form == "float32" else 2)).mean() < 0.02


def test_augmentations_refuse_boxes_and_pairs_of_images():
    for lib, room, tensors in PACKAGES:
        with pytest.raises(TypeError, match="Inputs of type BoundingBoxes are not supported by RandAugment"):
            room.RandAugment()(sample(lib, tensors))
        image = sample(lib, tensors)["image"]
        with pytest.raises(TypeError, match="single image or video, but found 2"):
            room.AugMix()(image, image)


def test_functions_keep_the_class():
    found = []
    for lib, room, tensors in PACKAGES:
        F, made = room.functional, sample(lib, tensors)
        image, boxes, masks = made["image"], made["boxes"], made["masks"]
        results = [
            F.adjust_brightness(image, 2.0),
            F.gaussian_blur(image, 3),
            F.resize(boxes, [10, 15]),
            F.crop(masks, 1, 2, 5, 6),
            F.pad(boxes, [1, 2]),
            F.rotate(masks, 30),
            F.affine(boxes, 10, [1, 2], 1.5, [3, 4]),
            F.perspective(boxes, [[0, 0], [29, 0], [29, 19], [0, 19]], [[2, 1], [25, 3], [28, 18], [1, 15]]),
            F.permute_channels(image, [2, 0, 1]),
            F.posterize(image, 3),
            *F.five_crop(image, 4),
            F.grayscale_to_rgb(image[:1]),
            F.uniform_temporal_subsample(tensors.Video(lib.arange(24).view(6, 1, 2, 2)), 3),
        ]
        facts = [F.get_size(boxes), F.get_num_channels(image), F.get_num_frames(lib.zeros(5, 3, 2, 2))]
        found.append(
            [(type(each).__name__, each.numpy().astype(float)) for each in results]
            + [("", np.array(facts[0] + facts[1:]))]
        )
        with pytest.raises(TypeError, match="adjust_hue supports inputs of"):
            F.adjust_hue(boxes, 0.1)
    for (kind, expected), (our_kind, got) in zip(*found, strict=True):
        assert kind == our_kind
        np.testing.assert_allclose(got, expected, rtol=0, atol=1.01 if kind == "Image" else 1e-4)


def test_crops_by_overlap_need_boxes():
    for lib, room, _ in PACKAGES:
        with pytest.raises(TypeError, match="requires input sample to contain tensor or PIL images and bounding boxes"):
            room.RandomIoUCrop()(lib.zeros(3, 8, 8))


@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_mixing(name):
    images = np.random.default_rng(0).random((4, 3, 9, 8), dtype=np.float32)
    for seed in range(4):
        found = []
        for lib, room, _ in PACKAGES:
            lib.manual_seed(seed)
            made = getattr(room, name)(alpha=0.7, num_classes=5)(lib.from_numpy(images), lib.tensor([0, 1, 4, 2]))
            found.append([part.numpy() for part in made])
        for expected, got in zip(*found, strict=True):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="num_classes must be passed if the labels are index-based"):
        getattr(v2, name)()(rushlight.from_numpy(images), rushlight.tensor([0, 1, 4, 2]))
    with pytest.raises(ValueError, match="Expected a batched input with 4 dims, but got 3"):
        getattr(v2, name)(num_classes=5)(rushlight.from_numpy(images[0]), rushlight.tensor([0, 1, 4]))


def test_tensors_that_say_what_they_are():
    found = []
    for lib, _, tensors in PACKAGES:
        made = sample(lib, tensors)
        image, boxes = made["image"], made["boxes"]
        facts = [
            type(each).__name__
            for each in (
                image + 1,
                image.clone(),
                image.to(lib.float32),
                image.detach(),
                image.to(lib.float32).requires_grad_(),
                boxes[0],
                copy.deepcopy(boxes),
            )
        ]
        facts += [type(tensors.wrap(boxes + 1, like=boxes)).__name__, repr(boxes), repr(tensors.Image(lib.zeros(2, 2)))]
        with tensors.set_return_type("TVTensor"):
            facts.append(type(image + 1).__name__)
        facts += [type(image + 1).__name__, type(tensors.Mask(lib.ones(2, 2))).__name__, boxes.clone().canvas_size]
        found.append(facts)
    assert found[0] == found[1]


def test_rotated_boxes_are_refused():
    boxes = tv_tensors.BoundingBoxes([[1.0, 2, 3, 4, 30]], format="CXCYWHR", canvas_size=(8, 8))
    with pytest.raises(NotImplementedError, match="CXCYWHR"):
        v2.RandomHorizontalFlip(1.0)({"boxes": boxes})
