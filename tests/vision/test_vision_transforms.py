"""Transforms: printed forms, values, errors, and what Pillow images give."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.vision import transforms
from rushlight.vision.transforms import InterpolationMode, functional, v2

REPRS = [
    (transforms.Compose([transforms.ToTensor(), transforms.Pad(1)]),
     "Compose(\n    ToTensor()\n    Pad(padding=1, fill=0, padding_mode=constant)\n)"),
    (transforms.PILToTensor(), "PILToTensor()"),
    (transforms.ToPILImage(), "ToPILImage()"),
    (transforms.ToPILImage("L"), "ToPILImage(mode=L)"),
    (transforms.ConvertImageDtype(rl.uint8), "ConvertImageDtype()"),
    (transforms.Normalize((0.5,), (0.25,)), "Normalize(mean=(0.5,), std=(0.25,))"),
    (transforms.Resize((3, 4), InterpolationMode.BICUBIC),
     "Resize(size=(3, 4), interpolation=bicubic, max_size=None, antialias=True)"),
    (transforms.Resize(256, 2), "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)"),
    (transforms.CenterCrop(10), "CenterCrop(size=(10, 10))"),
    (transforms.Lambda(abs), "Lambda()"),
    (transforms.RandomApply([transforms.CenterCrop(1)], 0.2),
     "RandomApply(\n    p=0.2\n    CenterCrop(size=(1, 1))\n)"),
    (transforms.RandomOrder([transforms.ToTensor()]), "RandomOrder(\n    ToTensor()\n)"),
    (transforms.RandomChoice([transforms.ToTensor()]), "RandomChoice(\n    ToTensor()\n)(p=None)"),
    (transforms.RandomCrop([4, 5], padding=2), "RandomCrop(size=(4, 5), padding=2)"),
    (transforms.RandomHorizontalFlip(), "RandomHorizontalFlip(p=0.5)"),
    (transforms.RandomVerticalFlip(0.1), "RandomVerticalFlip(p=0.1)"),
    (transforms.RandomPerspective(), "RandomPerspective(p=0.5)"),
    (transforms.RandomResizedCrop(224),
     "RandomResizedCrop(size=(224, 224), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, "
     "antialias=True)"),
    (transforms.FiveCrop(3), "FiveCrop(size=(3, 3))"),
    (transforms.TenCrop((3, 4)), "TenCrop(size=(3, 4), vertical_flip=False)"),
    (transforms.LinearTransformation(rl.eye(1), rl.zeros(1)),
     "LinearTransformation(transformation_matrix=[[1.0]], mean_vector=[0.0])"),
    (transforms.ColorJitter(0.5, (0.5, 2), 0, 0.1),
     "ColorJitter(brightness=(0.5, 1.5), contrast=(0.5, 2.0), saturation=None, hue=(-0.1, 0.1))"),
    (transforms.RandomRotation(30),
     "RandomRotation(degrees=[-30.0, 30.0], interpolation=nearest, expand=False, fill=0)"),
    (transforms.RandomRotation((1, 2), center=(3, 4)),
     "RandomRotation(degrees=[1.0, 2.0], interpolation=nearest, expand=False, center=(3, 4), fill=0)"),
    (transforms.RandomAffine(5, (0.1, 0.2), (0.9, 1.1), 3, InterpolationMode.BILINEAR, 7, (1, 1)),
     "RandomAffine(degrees=[-5.0, 5.0], translate=(0.1, 0.2), scale=(0.9, 1.1), shear=[-3.0, 3.0], "
     "interpolation=bilinear, fill=7, center=(1, 1))"),
    (transforms.Grayscale(), "Grayscale(num_output_channels=1)"),
    (transforms.RandomGrayscale(), "RandomGrayscale(p=0.1)"),
    (transforms.RandomErasing(), "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)"),
    (transforms.GaussianBlur(5, 0.5), "GaussianBlur(kernel_size=(5, 5), sigma=(0.5, 0.5))"),
    (transforms.RandomInvert(), "RandomInvert(p=0.5)"),
    (transforms.RandomPosterize(2), "RandomPosterize(bits=2,p=0.5)"),
    (transforms.RandomSolarize(192.0), "RandomSolarize(threshold=192.0,p=0.5)"),
    (transforms.RandomAdjustSharpness(2), "RandomAdjustSharpness(sharpness_factor=2,p=0.5)"),
    (transforms.RandomAutocontrast(), "RandomAutocontrast(p=0.5)"),
    (transforms.RandomEqualize(), "RandomEqualize(p=0.5)"),
]  # fmt: skip


CORNERS = [[0, 0], [8, 0], [8, 5], [0, 5]]


@pytest.mark.parametrize(("transform", "text"), REPRS, ids=[type(transform).__name__ for transform, _ in REPRS])
def test_printed_form(transform, text):
    assert repr(transform) == text


ERRORS = [
    (lambda: transforms.Lambda(3), TypeError, "Argument lambd should be callable, got 'int'"),
    (lambda: transforms.RandomChoice(3), TypeError, "Argument transforms should be a sequence"),
    (lambda: transforms.RandomChoice([abs], 3), TypeError, "Argument p should be a sequence"),
    (lambda: transforms.Resize("a"), TypeError, "Size should be int or sequence. Got <class 'str'>"),
    (lambda: transforms.Resize((1, 2, 3)), ValueError, "If size is a sequence, it should have 1 or 2 values"),
    (lambda: transforms.Resize(3, "bilinear"), TypeError, "Argument interpolation should be a InterpolationMode"),
    (lambda: transforms.CenterCrop((1, 2, 3)), ValueError, "Please provide only two dimensions"),
    (lambda: transforms.Pad("a"), TypeError, "Got inappropriate padding arg"),
    (lambda: transforms.Pad(1, fill={}), TypeError, "Got inappropriate fill arg"),
    (lambda: transforms.Pad(1, padding_mode="x"), ValueError, "Padding mode should be either constant"),
    (lambda: transforms.Pad((1, 2, 3)), ValueError, "Padding must be an int or a 1, 2, or 4 element tuple, not a 3"),
    (lambda: transforms.ConvertImageDtype(3), TypeError, "Argument dtype should be of type torch.dtype"),
    (lambda: transforms.ColorJitter(-1), ValueError, "If brightness is a single number, it must be non negative."),
    (lambda: transforms.ColorJitter(hue=0.6), ValueError, "hue values should be between"),
    (lambda: transforms.ColorJitter(contrast="a"), TypeError, "contrast should be a single number or a list/tuple"),
    (lambda: transforms.RandomRotation(-1), ValueError, "If degrees is a single number, it must be positive."),
    (lambda: transforms.RandomRotation((1, 2, 3)), ValueError, "degrees should be a sequence of length 2."),
    (lambda: transforms.RandomAffine(1, translate=3), TypeError, "translate should be a sequence of length 2."),
    (lambda: transforms.RandomAffine(1, (2, 0)), ValueError, "translation values should be between 0 and 1"),
    (lambda: transforms.RandomAffine(1, scale=(0, 1)), ValueError, "scale values should be positive"),
    (lambda: transforms.RandomAffine(1, shear=(1, 2, 3)), ValueError, "shear should be a sequence of length 2 or 4."),
    (lambda: transforms.RandomErasing(2), ValueError, "Random erasing probability should be between 0 and 1"),
    (lambda: transforms.RandomErasing(scale=(0, 2)), ValueError, "Scale should be between 0 and 1"),
    (lambda: transforms.RandomErasing(value="a"), ValueError, "If value is str, it should be 'random'"),
    (lambda: transforms.RandomErasing(1, value=(1, 2))(rl.zeros(3, 9, 9)), ValueError, "single value or 3"),
    (lambda: transforms.GaussianBlur(2), ValueError, "Kernel size value should be an odd and positive number."),
    (lambda: transforms.GaussianBlur(3, -1), ValueError, "If sigma is a single number, it must be positive."),
    (lambda: transforms.LinearTransformation(rl.ones(2, 3), rl.ones(2)), ValueError, "should be square. Got (2, 3)"),
    (lambda: transforms.LinearTransformation(rl.eye(2), rl.ones(2))(rl.ones(1, 1, 3)), ValueError, "[1 x 1 x 3] != 2"),
    (lambda: transforms.RandomCrop(5)(rl.zeros(1, 4, 9)), ValueError,
     "Required crop size (5, 5) is larger than input image size (4, 9)"),
    (lambda: functional.to_tensor([1]), TypeError, "pic should be PIL Image or ndarray. Got <class 'list'>"),
    (lambda: functional.to_tensor(np.zeros(3)), ValueError, "pic should be 2/3 dimensional. Got 1 dimensions."),
    (lambda: functional.pil_to_tensor(1), TypeError, "pic should be PIL Image. Got <class 'int'>"),
    (lambda: functional.to_pil_image(1), TypeError, "pic should be Tensor or ndarray. Got <class 'int'>."),
    (lambda: functional.normalize(1, [0], [1]), TypeError, "img should be Tensor Image. Got <class 'int'>"),
    (lambda: functional.normalize(rl.ones(1, 1, 1, dtype=rl.int64), [0], [1]), TypeError,
     "Input tensor should be a float tensor. Got torch.int64."),
    (lambda: functional.normalize(rl.ones(2, 2), [0], [1]), ValueError, "Got tensor.size() = torch.Size([2, 2])"),
    (lambda: functional.normalize(rl.ones(1, 2, 2), [0], [0]), ValueError,
     "std evaluated to zero after conversion to torch.float32, leading to division by zero."),
    (lambda: functional.convert_image_dtype(rl.ones(1), rl.int64), RuntimeError,
     "The cast from torch.float32 to torch.int64 cannot be performed safely."),
    (lambda: functional.resize(rl.zeros(1, 4, 4), 3, max_size=2), ValueError, "max_size = 2 must be strictly greater"),
    (lambda: functional.resize(rl.zeros(1, 4, 4), (3, 3), max_size=2), ValueError, "max_size should only be passed if"),
    (lambda: functional.five_crop(rl.zeros(1, 4, 4), 5), ValueError, "Requested crop size 5 is bigger than input size"),
    (lambda: functional.rotate(rl.zeros(1, 4, 4), "a"), TypeError, "Argument angle should be int or float"),
    (lambda: functional.affine(rl.zeros(1, 4, 4), 1, 3, 1, 1), TypeError, "Argument translate should be a sequence"),
    (lambda: functional.affine(rl.zeros(1, 4, 4), 1, (1, 2), 0, 1), ValueError, "Argument scale should be positive"),
    (lambda: functional.adjust_hue(rl.zeros(3, 4, 4), 1), ValueError, "hue_factor (1) is not in [-0.5, 0.5]."),
    (lambda: functional.rgb_to_grayscale(rl.zeros(3, 4, 4), 2), ValueError,
     "num_output_channels should be either 1 or 3"),
    (lambda: functional.gaussian_blur(rl.zeros(3, 4, 4), 4), ValueError, "kernel_size should have odd and positive"),
    (lambda: functional.posterize(rl.zeros(3, 4, 4), 9), ValueError, "between 0 and 8. Got 9"),
    (lambda: functional.erase(1, 0, 0, 1, 1, 0), TypeError, "img should be Tensor Image. Got <class 'int'>"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[text[:40] for _, _, text in ERRORS])
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_to_tensor():
    array = np.random.default_rng(0).integers(0, 256, (5, 4, 3), np.uint8)
    tensor = transforms.ToTensor()(array)
    assert tensor.shape == (3, 5, 4) and tensor.dtype is rl.float32 and tensor.is_contiguous()
    assert np.array_equal(tensor.numpy(), array.transpose(2, 0, 1) / np.float32(255))
    for other in (array.astype(np.int32), array.astype(np.float64)):
        tensor = transforms.ToTensor()(other)
        assert tensor.numpy().dtype == other.dtype and np.array_equal(tensor.numpy(), other.transpose(2, 0, 1))


def test_to_tensor_of_pillow_modes():
    image_module = pytest.importorskip("PIL.Image")
    array = np.random.default_rng(0).integers(0, 256, (5, 4, 3), np.uint8)
    rgb = image_module.fromarray(array)
    shapes = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4, "YCbCr": 3, "HSV": 3, "P": 1, "1": 1}
    for mode, channels in shapes.items():
        tensor = functional.to_tensor(rgb.convert(mode))
        assert (
            tensor.shape == (channels, 5, 4) and tensor.dtype is rl.float32 and 0 <= tensor.min() <= tensor.max() <= 1
        )
    assert set(functional.to_tensor(rgb.convert("1")).unique().tolist()) <= {0.0, 1.0}
    assert functional.to_tensor(rgb.convert("I")).dtype is rl.int32
    assert functional.to_tensor(rgb.convert("F")).dtype is rl.float32
    assert functional.to_tensor(rgb.convert("I").convert("I;16")).dtype is rl.int16
    assert functional.pil_to_tensor(rgb).dtype is rl.uint8 and functional.pil_to_tensor(rgb).shape == (3, 5, 4)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_to_pil_image_and_back(channels):
    pytest.importorskip("PIL")
    tensor = rl.from_numpy(np.random.default_rng(0).integers(0, 256, (channels, 5, 4), np.uint8))
    image = functional.to_pil_image(tensor)
    assert image.mode == {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels] and image.size == (4, 5)
    assert rl.equal(functional.pil_to_tensor(image), tensor)
    assert rl.equal(functional.pil_to_tensor(functional.to_pil_image(tensor / 255.0)), tensor)
    assert rl.equal(functional.pil_to_tensor(functional.to_pil_image(tensor.permute(1, 2, 0).numpy())), tensor)


def test_to_pil_image_modes():
    pytest.importorskip("PIL")
    for dtype, mode in ((np.int16, "I;16"), (np.int32, "I"), (np.float32, "F")):
        image = functional.to_pil_image(np.arange(6, dtype=dtype).reshape(2, 3))
        assert image.mode == mode and np.array_equal(np.asarray(image), np.arange(6).reshape(2, 3))
    assert functional.to_pil_image(rl.zeros(1, 2, 2), "F").mode == "F"
    assert functional.to_pil_image(rl.zeros(3, 2, 2), "HSV").mode == "HSV"
    with pytest.raises(ValueError, match=r"Only modes \['RGB', 'YCbCr', 'HSV'\] are supported for 3D inputs"):
        functional.to_pil_image(rl.zeros(3, 2, 2), "L")
    with pytest.raises(ValueError, match=r"Incorrect mode \(RGB\) supplied for input type .*. Should be L"):
        functional.to_pil_image(rl.zeros(1, 2, 2), "RGB")
    with pytest.raises(TypeError, match="Input type float64 is not supported"):
        functional.to_pil_image(np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match=r"pic should not have > 4 channels. Got 5 channels."):
        functional.to_pil_image(rl.zeros(5, 2, 2))


def test_convert_image_dtype():
    ramp = rl.arange(256, dtype=rl.uint8)
    assert rl.equal(functional.convert_image_dtype(functional.convert_image_dtype(ramp), rl.uint8), ramp)
    assert functional.convert_image_dtype(ramp, rl.int16)[-1] == 255 * 128
    assert rl.equal(functional.convert_image_dtype(functional.convert_image_dtype(ramp, rl.int32), rl.uint8), ramp)
    assert functional.convert_image_dtype(ramp, rl.uint8) is ramp
    assert functional.convert_image_dtype(rl.ones(1, dtype=rl.float64), rl.float32).dtype is rl.float32


def test_normalize_in_place_or_not():
    image = rl.ones(2, 3, 2, 2)
    made = functional.normalize(image, [0.5, 0.0, 1.0], rl.tensor([0.5, 2.0, 1.0]))
    assert made[1, :, 0, 0].tolist() == [1.0, 0.5, 0.0] and image.min() == 1
    assert functional.normalize(image, [0.5], [0.5], inplace=True) is image and image.max() == 1


def test_pillow_images_go_through_pillow():
    image_module = pytest.importorskip("PIL.Image")
    enhance, ops = pytest.importorskip("PIL.ImageEnhance"), pytest.importorskip("PIL.ImageOps")
    image = image_module.fromarray(np.random.default_rng(0).integers(0, 256, (6, 9, 3), np.uint8))
    pairs = [
        (functional.adjust_brightness(image, 0.5), enhance.Brightness(image).enhance(0.5)),
        (functional.adjust_contrast(image, 1.5), enhance.Contrast(image).enhance(1.5)),
        (functional.adjust_saturation(image, 0.0), enhance.Color(image).enhance(0.0)),
        (functional.adjust_sharpness(image, 2.0), enhance.Sharpness(image).enhance(2.0)),
        (functional.invert(image), ops.invert(image)),
        (functional.posterize(image, 3), ops.posterize(image, 3)),
        (functional.solarize(image, 100), ops.solarize(image, 100)),
        (functional.autocontrast(image), ops.autocontrast(image)),
        (functional.equalize(image), ops.equalize(image)),
        (functional.adjust_gamma(image, 1.0), image),
        (functional.adjust_hue(image.convert("L"), 0.3), image.convert("L")),
        (functional.resize(image, 3, InterpolationMode.LANCZOS), image.resize((4, 3), 1)),
        (functional.perspective(image, CORNERS, CORNERS, InterpolationMode.NEAREST), image),
    ]
    for made, expected in pairs:
        assert made.mode == expected.mode and np.array_equal(np.asarray(made), np.asarray(expected))
    assert functional.gaussian_blur(image, 3).mode == "RGB"
    hue = np.asarray(functional.adjust_hue(image, 0.25).convert("HSV"))[..., 0].astype(int)
    before = np.asarray(image.convert("HSV"))[..., 0].astype(int)
    assert 62 <= np.median((hue - before) % 256) <= 64
    with pytest.raises(TypeError, match="img should be Tensor Image"):
        functional.normalize(image, [0], [1])


def test_tensor_geometry():
    image = rl.arange(24).view(2, 3, 4)
    assert rl.equal(functional.hflip(image), image.flip(-1)) and rl.equal(functional.vflip(image), image.flip(-2))
    assert rl.equal(functional.crop(image, 1, 1, 2, 2), image[:, 1:3, 1:3])
    outside = functional.crop(image, -1, 3, 3, 4)
    assert outside.shape == (2, 3, 4) and outside[0].tolist() == [[0] * 4, [3, 0, 0, 0], [7, 0, 0, 0]]
    assert functional.crop(image, 9, 9, 2, 2).abs().sum() == 0
    array = image[0].numpy()
    for mode in ("constant", "edge", "reflect", "symmetric"):
        options = {"constant_values": 5} if mode == "constant" else {}
        expected = np.pad(array, ((2, 1), (1, 3)), mode, **options)
        made = functional.pad(image[:1], (1, 2, 3, 1), 5, mode)
        assert made.dtype is rl.int64 and np.array_equal(made.numpy()[0], expected), mode
    assert functional.pad(image, -1).shape == (2, 1, 2)
    assert [part.shape for part in functional.ten_crop(image, 2)] == [(2, 2, 2)] * 10
    assert rl.equal(functional.five_crop(image, (2, 3))[3], image[:, 1:, 1:])


def test_tensor_colours():
    image = rl.tensor([[[0, 100]], [[50, 200]], [[255, 30]]], dtype=rl.uint8)
    assert rl.equal(functional.adjust_brightness(image, 1.0), image)
    assert functional.adjust_brightness(image, 2.0).flatten().tolist() == [0, 200, 100, 255, 255, 60]
    assert rl.equal(functional.adjust_contrast(image, 1.0), image)
    assert functional.adjust_saturation(image, 0.0).unique().numel() == 2
    assert functional.rgb_to_grayscale(image, 3).shape == (3, 1, 2)
    assert functional.invert(image).flatten().tolist() == [255, 155, 205, 55, 0, 225]
    assert functional.posterize(image, 1).flatten().tolist() == [0, 0, 0, 128, 128, 0]
    assert functional.solarize(image, 200).flatten().tolist() == [0, 100, 50, 55, 0, 30]
    assert functional.autocontrast(image).flatten().tolist() == [0, 255, 0, 255, 255, 0]
    assert (functional.adjust_hue(image, 0.0).int() - image.int()).abs().max() <= 1
    red = rl.tensor([1.0, 0.0, 0.0]).view(3, 1, 1)
    assert functional.adjust_hue(red, 1 / 3).flatten().tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-5)
    assert functional.adjust_gamma(rl.full((1, 1, 1), 0.5), 2).item() == 0.25
    assert functional.gaussian_blur(rl.ones(2, 3, 5, 5), [3, 5], [0.5, 1.0]).flatten().tolist() == pytest.approx(
        [1.0] * 150
    )
    assert rl.equal(functional.adjust_sharpness(image, 2.0), image)


def test_random_transforms_at_their_limits():
    image = rl.arange(48.0).view(3, 4, 4)
    for flip, axis in ((transforms.RandomHorizontalFlip, -1), (transforms.RandomVerticalFlip, -2)):
        assert rl.equal(flip(0.0)(image), image) and rl.equal(flip(1.0)(image), image.flip(axis))
    assert transforms.RandomApply([lambda _: 1], p=1.0)(image) == 1
    assert transforms.RandomChoice([lambda _: 1, lambda _: 2], p=[0, 1])(image) == 2
    assert transforms.RandomOrder([lambda x: x + 1, lambda x: x + 2])(0) == 3
    assert transforms.RandomCrop(4)(image) is not None and rl.equal(transforms.RandomCrop(4)(image), image)
    assert transforms.RandomCrop(6, pad_if_needed=True)(image).shape == (3, 6, 6)
    erased = transforms.RandomErasing(1.0, value="random")(image)
    assert erased.shape == image.shape and not rl.equal(erased, image)
    assert transforms.RandomErasing(1.0, inplace=True)(image) is image
    assert transforms.RandomGrayscale(1.0)(image).shape == (3, 4, 4)
    with pytest.warns(UserWarning, match="Scale and ratio should be of kind"):
        transforms.RandomResizedCrop(3, scale=(1, 0))


def test_version_2_names():
    array = np.random.default_rng(0).integers(0, 256, (5, 4, 3), np.uint8)
    chain = v2.Compose(
        [v2.ToImage(), v2.ToDtype(rl.float32, scale=True), v2.Normalize([0.5], [0.5]), v2.ToPureTensor()]
    )
    expected = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5], [0.5])])(array)
    assert rl.allclose(chain(array), expected, rtol=0, atol=2e-7)
    assert v2.ToDtype(rl.int64)(rl.ones(1)).dtype is rl.int64 and v2.Identity()(3) == 3
    assert v2.functional.to_dtype(rl.ones(1), rl.uint8, scale=True).item() == 255
    assert rl.equal(v2.functional.horizontal_flip(expected), expected.flip(-1))
    assert v2.functional.get_size(array) == [5, 4]
    with pytest.raises(TypeError, match="Input can either be a pure Tensor, a numpy array, or a PIL image"):
        v2.functional.to_image(3)
    assert v2.ToImage()(3) == 3
