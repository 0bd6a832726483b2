"""vision.io and drawing against torchvision's."""

import importlib

import numpy as np
import pytest
from torchvision_oracle import torch, torchvision

import rushlight
from rushlight.vision import io, utils

theirs = importlib.import_module("torchvision.io")
native = pytest.mark.skipif(
    not theirs.image._has_image_ops(), reason="torchvision's image operations do not load beside this PyTorch"
)


def picture(channels=3, seed=0, size=(20, 24)):
    base = np.linspace(0, 200, size[0] * size[1]).reshape(1, *size) + 25 * np.arange(channels)[:, None, None]
    return (base + np.random.default_rng(seed).integers(0, 5, base.shape)).clip(0, 255).astype(np.uint8)


@native
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("mode", ["UNCHANGED", "GRAY", "RGB", "RGB_ALPHA", "GRAY_ALPHA"])
def test_png(channels, mode, tmp_path):
    ours_png = io.encode_png(rushlight.from_numpy(picture(channels)))
    expected = theirs.decode_png(torch.from_numpy(ours_png.numpy()), theirs.ImageReadMode[mode]).numpy()
    got = io.decode_image(ours_png, io.ImageReadMode[mode]).numpy()
    assert got.shape == expected.shape
    assert np.abs(got.astype(int) - expected).max() <= (1 if mode.startswith("GRAY") and channels == 3 else 0)


@pytest.mark.parametrize("channels", [1, 3])
def test_files(channels, tmp_path):
    image = rushlight.from_numpy(picture(channels))
    io.write_png(image, tmp_path / "a.png")
    assert rushlight.equal(io.read_image(tmp_path / "a.png"), image)
    io.write_jpeg(image, tmp_path / "a.jpg", quality=95)
    assert (io.read_image(str(tmp_path / "a.jpg")).int() - image.int()).abs().max() < 12
    assert len(io.decode_jpeg([io.read_file(tmp_path / "a.jpg")] * 2)) == 2
    with pytest.raises(RuntimeError, match="No such file or directory"):
        io.read_image(tmp_path / "b.png")
    with pytest.raises(RuntimeError, match="Unsupported image file"):
        io.decode_image(rushlight.zeros(9, dtype=rushlight.uint8))
    with pytest.raises(RuntimeError, match="The number of channels should be 1 or 3, got: 2"):
        io.encode_png(image[:1].expand(2, -1, -1))


def drawn_by_both(name, arrays, *rest, **options):
    found = []
    for lib, room in ((torch, torchvision.utils), (rushlight, utils)):
        found.append(getattr(room, name)(*(lib.from_numpy(array) for array in arrays), *rest, **options).numpy())
    assert found[0].dtype == found[1].dtype
    np.testing.assert_array_equal(found[1], found[0])


BOXES = np.array([[2, 3, 12, 10], [5, 6, 20, 18], [0, 0, 8, 8]], np.float32)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"colors": "red", "width": 2},
        {"colors": ["red", (0, 9, 200), "#00ff00"], "fill": True},
        {"labels": ["a", "b", "c"]},
        {"labels": ["a", "b", "c"], "fill_labels": True, "label_colors": "blue", "label_background_colors": "white"},
    ],
)
def test_boxes(options):
    drawn_by_both("draw_bounding_boxes", [picture(), BOXES], **options)
    drawn_by_both("draw_bounding_boxes", [picture(1), BOXES], **options)
    drawn_by_both("draw_bounding_boxes", [picture().astype(np.float32) / 255, BOXES], **options)
    corners = np.array([[2, 3, 12, 4, 11, 14, 3, 12]], np.float32)
    if "labels" not in options and not isinstance(options.get("colors"), list):
        drawn_by_both("draw_bounding_boxes", [picture(), corners], **options)


def test_masks_and_keypoints():
    masks = np.random.default_rng(0).random((3, 20, 24)) > 0.6
    for image in (picture(), picture().astype(np.float32) / 255):
        drawn_by_both("draw_segmentation_masks", [image, masks])
        drawn_by_both("draw_segmentation_masks", [image, masks[0]], alpha=0.4, colors="green")
        points = np.array([[[3, 4], [10, 12], [20, 8]]], np.float32)
        drawn_by_both("draw_keypoints", [image, points], connectivity=[(0, 1), (1, 2)], colors="red")


def test_flow():
    for shape in ((2, 9, 8), (3, 2, 9, 8)):
        flow = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        expected = torchvision.utils.flow_to_image(torch.from_numpy(flow)).numpy().astype(int)
        assert np.abs(utils.flow_to_image(rushlight.from_numpy(flow)).numpy() - expected).max() <= 1


def test_refusals():
    image, boxes = picture(), BOXES
    wrong = [
        ("draw_bounding_boxes", [image[None], boxes], {}),
        ("draw_bounding_boxes", [image.astype(np.int64), boxes], {}),
        ("draw_bounding_boxes", [image[:2], boxes], {}),
        ("draw_bounding_boxes", [image, boxes[:, [2, 1, 0, 3]]], {}),
        ("draw_bounding_boxes", [image, boxes], {"labels": ["a"]}),
        ("draw_bounding_boxes", [image, boxes], {"colors": ["red"]}),
        ("draw_bounding_boxes", [image, boxes], {"colors": (1, 2)}),
        ("draw_segmentation_masks", [image[:1], image > 3], {}),
        ("draw_segmentation_masks", [image, image], {}),
        ("draw_keypoints", [image, boxes], {}),
    ]
    for name, arrays, options in wrong:
        messages = []
        for lib, room in ((torch, torchvision.utils), (rushlight, utils)):
            with pytest.raises(ValueError) as refused:
                getattr(room, name)(*(lib.from_numpy(array) for array in arrays), **options)
            messages.append(str(refused.value))
        assert messages[0] == messages[1]
