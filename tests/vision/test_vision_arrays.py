"""Array images: the same bytes as Pillow gives, for every operation that promises them."""

import random

import numpy as np
import pytest

from rushlight.vision.transforms import InterpolationMode, array_warp, functional, on_array, on_pillow
from rushlight.vision.transforms.conversion import to_tensor

Image = pytest.importorskip("PIL.Image")
SHAPES = [(28, 28), (32, 32, 3), (17, 45), (45, 17, 3), (1, 5), (3, 3, 3)]
WARPS = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR]


def pictures(shape):
    """A random array and the Pillow image of it."""
    array = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    return array, Image.fromarray(array)


@pytest.mark.parametrize("mode", InterpolationMode)
@pytest.mark.parametrize("shape", [(28, 28), (8, 8), (32, 32, 3)])
def test_resize_of_squares(shape, mode):
    array, image = pictures(shape)
    for size in (1, 5, 14, 28, 33, 64):
        made = functional.resize(array, [size, size], mode)
        assert np.array_equal(made, np.asarray(functional.resize(image, [size, size], mode))), size


@pytest.mark.parametrize("mode", InterpolationMode)
def test_resize_in_one_direction(mode):
    array, image = pictures((17, 45, 3))
    for size in ((17, 9), (17, 60), (5, 45), (40, 45)):
        assert np.array_equal(on_array.resize(array, size, mode), np.asarray(on_pillow.resize(image, size, mode)))


@pytest.mark.parametrize("shape", SHAPES)
def test_crops_flips_and_gray(shape):
    array, image = pictures(shape)
    assert np.array_equal(functional.hflip(array), np.asarray(functional.hflip(image)))
    assert np.array_equal(functional.vflip(array), np.asarray(functional.vflip(image)))
    for box in ((0, 0, 3, 3), (-2, -3, 10, 50), (5, 5, 60, 60), (-9, 4, 3, 3), (2, 1, 1, 2)):
        assert np.array_equal(functional.crop(array, *box), np.asarray(functional.crop(image, *box))), box
    for size in (2, (1, 9), (70, 3)):
        assert np.array_equal(functional.center_crop(array, size), np.asarray(functional.center_crop(image, size)))
    for channels in (1, 3):
        gray = functional.rgb_to_grayscale(array, channels)
        assert np.array_equal(gray, np.asarray(functional.rgb_to_grayscale(image, channels)))
    assert functional.get_dimensions(array) == functional.get_dimensions(image)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_pad(shape, mode):
    array, image = pictures(shape)
    borders = [1, (2, 1), (2, 0, 1, 1), 0]
    borders += [(-1, 1, 0, -1)] if min(shape[:2]) > 2 and mode != "constant" else []
    for border in borders:
        if mode == "reflect" and min(shape[:2]) < 3:
            continue
        padded = functional.pad(array, border, 7, mode)
        assert np.array_equal(padded, np.asarray(functional.pad(image, border, 7, mode))), border


def test_pad_with_a_colour():
    array, image = pictures((4, 5, 3))
    padded = functional.pad(array, 2, (1, 2, 3))
    assert np.array_equal(padded, np.asarray(functional.pad(image, 2, (1, 2, 3))))
    for picture in (array, image):
        with pytest.raises(ValueError, match=r"does not match the number of channels of the image \(2 != 3\)"):
            functional.pad(picture, 2, (1, 2))


@pytest.mark.parametrize("mode", WARPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rotate(shape, mode):
    array, image = pictures(shape)
    draw = random.Random(0)
    for angle in (0, 90, 180, 270, -90, 45, 400, *(draw.uniform(-180, 180) for _ in range(6))):
        for expand in (False, True):
            for center in (None, (3, 2), (0.0, 0.0)):
                turned = functional.rotate(array, angle, mode, expand, center, 9)
                expected = functional.rotate(image, angle, mode, expand, center, 9)
                assert np.array_equal(turned, np.asarray(expected)), (angle, expand, center)


@pytest.mark.parametrize("mode", WARPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_affine(shape, mode):
    array, image = pictures(shape)
    draw = random.Random(1)
    for _ in range(20):
        matrix = [draw.uniform(-1.5, 1.5) * (10 if place % 3 == 2 else 1) for place in range(6)]
        for numbers in (matrix, [matrix[0], 0, matrix[2], 0, matrix[4], matrix[5]]):
            made = array_warp.affine(array, numbers, mode, None)
            assert np.array_equal(made, np.asarray(on_pillow.affine(image, numbers, mode, None))), numbers
    arguments = (20.0, (3, -2), 1.2, (5.0, 3.0), mode, 4)
    assert np.array_equal(functional.affine(array, *arguments), np.asarray(functional.affine(image, *arguments)))


def test_to_tensor_of_both_forms():
    for shape in SHAPES:
        array, image = pictures(shape)
        assert np.array_equal(to_tensor(array).numpy(), to_tensor(image).numpy())


def test_what_arrays_cannot_do():
    array = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(TypeError, match="'adjust_hue' takes PIL images and tensors"):
        functional.adjust_hue(array, 0.1)
    with pytest.raises(TypeError, match="an array image has dtype uint8, not float64"):
        functional.hflip(np.zeros((4, 4)))
    with pytest.raises(TypeError, match="Unexpected type <class 'list'>"):
        functional.hflip([1, 2])
    with pytest.raises(ValueError, match="BICUBIC is not supported for arrays"):
        functional.rotate(array, 10, InterpolationMode.BICUBIC)
