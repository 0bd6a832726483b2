"""Transforms against PyTorch: the same random numbers, resizes, warps and blurs (torchvision itself is not needed)."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight.vision import transforms
from rushlight.vision.transforms import InterpolationMode, functional

torch = pytest.importorskip("torch")
F = torch.nn.functional


def both(shape, dtype=np.float32):
    """The same random image as (ours, PyTorch's)."""
    draw = np.random.default_rng(0)
    array = draw.integers(0, 256, shape).astype(dtype) if np.dtype(dtype).kind in "iu" else draw.random(shape, dtype)
    return rl.from_numpy(array), torch.from_numpy(array.copy())


def close(ours, theirs, tolerance=1e-5):
    assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)


def uniform(low, high):
    return torch.empty(1).uniform_(low, high).item()


def integer(low, high):
    return torch.randint(low, high, (1,)).item()


@pytest.mark.parametrize("seed", range(8))
def test_draws(seed):
    image = rl.zeros(3, 40, 60)

    def drawn(call, expected):
        rl.manual_seed(seed)
        torch.manual_seed(seed)
        assert call() == expected()
        assert rl.rand(1).item() == torch.rand(1).item()

    drawn(lambda: transforms.RandomCrop.get_params(image, (9, 8)), lambda: (integer(0, 32), integer(0, 53), 9, 8))
    drawn(lambda: transforms.RandomRotation.get_params([-20.0, 30.0]), lambda: uniform(-20.0, 30.0))
    drawn(lambda: transforms.GaussianBlur.get_params(0.1, 2.0), lambda: uniform(0.1, 2.0))
    drawn(
        lambda: transforms.RandomAffine.get_params(
            [-5.0, 5.0], (0.1, 0.2), (0.5, 2.0), [-1.0, 1.0, -2.0, 2.0], (60, 40)
        ),
        lambda: (
            uniform(-5.0, 5.0),
            (round(uniform(-6.0, 6.0)), round(uniform(-8.0, 8.0))),
            uniform(0.5, 2.0),
            (uniform(-1.0, 1.0), uniform(-2.0, 2.0)),
        ),
    )
    drawn(
        lambda: [part if not isinstance(part, rl.Tensor) else part.tolist() for part in
                 transforms.ColorJitter.get_params((0.5, 1.5), None, (0.2, 1.8), (-0.1, 0.1))],
        lambda: [torch.randperm(4).tolist(), uniform(0.5, 1.5), None, uniform(0.2, 1.8), uniform(-0.1, 0.1)],
    )  # fmt: skip
    drawn(lambda: transforms.RandomPerspective.get_params(60, 40, 0.5)[1], perspective_ends)
    drawn(lambda: transforms.RandomResizedCrop.get_params(image, (0.08, 1.0), (0.75, 4 / 3)), resized_crop_box)
    drawn(
        lambda: transforms.RandomErasing.get_params(image, (0.02, 0.33), (0.3, 3.3), [0.0])[:4],
        lambda: erased_box((0.02, 0.33), (0.3, 3.3)),
    )


def perspective_ends():
    """The corners for an image of width 60 and height 40 and scale 0.5."""
    return [
        [integer(0, 16), integer(0, 11)],
        [integer(44, 60), integer(0, 11)],
        [integer(44, 60), integer(29, 40)],
        [integer(0, 16), integer(29, 40)],
    ]


def box_size(scale, ratio):
    """One try at an area and a shape for a 40x60 image: (square root of area times shape, and of area over shape)."""
    low, high = torch.log(torch.tensor(ratio))
    area = 2400 * uniform(*scale)
    shape = torch.exp(torch.empty(1).uniform_(low, high)).item()
    return round(math.sqrt(area * shape)), round(math.sqrt(area / shape))


def resized_crop_box():
    for _ in range(10):
        wide, tall = box_size((0.08, 1.0), (0.75, 4 / 3))
        if 0 < wide <= 60 and 0 < tall <= 40:
            top = integer(0, 40 - tall + 1)
            return top, integer(0, 60 - wide + 1), tall, wide
    return 0, 3, 40, 53


def erased_box(scale, ratio):
    for _ in range(10):
        tall, wide = box_size(scale, ratio)
        if tall < 40 and wide < 60:
            row = integer(0, 40 - tall + 1)
            return row, integer(0, 60 - wide + 1), tall, wide
    return 0, 0, 40, 60


def test_whole_transforms_draw_in_order():
    """A chain of flips, an erasure with noise and a skipped RandomApply leave the generator where PyTorch's is."""
    image = rl.ones(1, 8, 8)
    for seed in range(5):
        rl.manual_seed(seed)
        torch.manual_seed(seed)
        chain = transforms.Compose(
            [transforms.RandomHorizontalFlip(), transforms.RandomApply([transforms.RandomVerticalFlip()], p=0.3)]
        )
        chain(image)
        torch.rand(1)
        if torch.rand(1) <= 0.3:
            torch.rand(1)
        assert rl.rand(1).item() == torch.rand(1).item()


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_resize(mode, antialias, dtype):
    ours, theirs = both((3, 20, 30), dtype)
    options = {"align_corners": False, "antialias": antialias} if mode in ("bilinear", "bicubic") else {}
    for size in ((10, 10), (33, 32), (5, 60)):
        expected = F.interpolate(theirs[None].float(), size, mode=mode, **options)[0]
        if dtype is np.uint8:
            expected = expected.clamp(0, 255).round().to(torch.uint8)
        made = functional.resize(ours, size, InterpolationMode(mode), antialias=antialias)
        if dtype is np.uint8:
            assert (made.int() - rl.from_numpy(expected.int().numpy())).abs().max() <= 1  # halves may round either way
        else:
            close(made, expected)


def grid_for(matrix, height, width):
    """PyTorch's own grid for a map measured in pixels from the middle."""
    a, b, c, d, e, f = matrix
    theta = torch.tensor([[a, b * height / width, 2 * c / width], [d * width / height, e, 2 * f / height]])
    return F.affine_grid(theta[None], (1, 1, height, width), align_corners=False)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("angle", [0.0, 30.0, -77.3])
def test_rotate_and_affine(mode, angle):
    ours, theirs = both((2, 21, 34))
    turn = math.radians(angle)
    turned = [math.cos(turn), -math.sin(turn), 0.0, math.sin(turn), math.cos(turn), 0.0]
    expected = F.grid_sample(theirs[None], grid_for(turned, 21, 34), mode=mode, align_corners=False)[0]
    made = functional.rotate(ours, angle, InterpolationMode(mode))
    if mode == "nearest":
        assert (made.numpy() != expected.numpy()).mean() < 0.01  # places halfway between two pixels
    else:
        close(made, expected, 1e-4)
    scaled = [part / 1.37 for part in turned]
    scaled[2] = scaled[0] * -3 + scaled[1] * 2
    scaled[5] = scaled[3] * -3 + scaled[4] * 2
    expected = F.grid_sample(theirs[None], grid_for(scaled, 21, 34), mode=mode, align_corners=False)[0]
    made = functional.affine(ours, -angle, (3, -2), 1.37, 0.0, InterpolationMode(mode))
    assert (np.abs(made.numpy() - expected.numpy()) > 1e-4).mean() < 0.01


def test_rotate_fills_and_expands():
    image = rl.ones(3, 10, 20)
    filled = functional.rotate(image, 45, InterpolationMode.BILINEAR, fill=[2.0, 3.0, 4.0])
    assert filled[:, 0, 0].tolist() == [2.0, 3.0, 4.0]
    assert functional.rotate(image, 90, expand=True).shape == (3, 20, 10)
    assert functional.rotate(image, 45, expand=True).shape == (3, 22, 22)
    turned = functional.rotate(image.to(rl.uint8), 30, fill=7)
    assert turned.dtype is rl.uint8 and turned[0, 0, 0] == 7


def test_perspective():
    ours, theirs = both((1, 12, 16))
    corners = [[0, 0], [15, 0], [15, 11], [0, 11]]
    close(functional.perspective(ours, corners, corners), theirs, 1e-4)
    moved = functional.perspective(ours, corners, [[x + 2, y + 1] for x, y in corners], fill=9.0)
    close(moved[:, 1:, 2:], theirs[:, :-1, :-2], 1e-4)
    assert moved[0, 0, 0] == 9


def test_gaussian_blur():
    ours, theirs = both((3, 12, 16))
    weights = [torch.exp(-0.5 * (torch.linspace(-n // 2 + 1, n // 2, n) / s) ** 2) for n, s in ((5, 0.8), (3, 1.5))]
    across, down = (part / part.sum() for part in weights)
    kernel = torch.outer(down, across).expand(3, 1, 3, 5)
    expected = F.conv2d(F.pad(theirs[None], [2, 2, 1, 1], mode="reflect"), kernel, groups=3)[0]
    close(functional.gaussian_blur(ours, [5, 3], [0.8, 1.5]), expected)


@pytest.mark.parametrize("factor", [-0.5, -0.1, 0.25])
def test_hue_agrees_with_colorsys(factor):
    import colorsys

    ours, theirs = both((3, 4, 5))
    made = functional.adjust_hue(ours, factor).numpy()
    for row in range(4):
        for column in range(5):
            hue, saturation, value = colorsys.rgb_to_hsv(*theirs[:, row, column].tolist())
            expected = colorsys.hsv_to_rgb((hue + factor) % 1.0, saturation, value)
            assert made[:, row, column] == pytest.approx(expected, abs=1e-5)


def test_tensor_colours_agree_with_pillow():
    pytest.importorskip("PIL")
    ours, _ = both((3, 16, 16), np.uint8)
    image = functional.to_pil_image(ours)
    for name, factor in (
        ("brightness", 0.7),
        ("brightness", 1.6),
        ("contrast", 0.4),
        ("saturation", 1.7),
        ("hue", 0.2),
    ):
        adjust = getattr(functional, f"adjust_{name}")
        difference = adjust(ours, factor).int() - functional.pil_to_tensor(adjust(image, factor)).int()
        assert difference.abs().max() <= (12 if name == "hue" else 2), name
    for name in ("equalize", "autocontrast", "invert"):
        change = getattr(functional, name)
        difference = change(ours).int() - functional.pil_to_tensor(change(image)).int()
        assert difference.abs().max() <= 1, name


def test_normalize_to_tensor_and_erase():
    ours, theirs = both((3, 6, 7))
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    expected = (theirs - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    assert np.array_equal(functional.normalize(ours, mean, std).numpy(), expected.numpy())
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    expected = torch.from_numpy(levels).to(torch.float32).div(255)
    assert np.array_equal(functional.to_tensor(levels).numpy()[0], expected.numpy())
    assert np.array_equal(transforms.ToTensor().batch(levels[None]).numpy()[0, 0], expected.numpy())
    assert functional.erase(ours, 1, 2, 3, 4, rl.tensor(5.0))[:, 1:4, 2:6].eq(5).all()


def test_convert_image_dtype():
    ours, theirs = both((1, 5, 5))
    for name in ("uint8", "int8", "int16"):
        limit = torch.iinfo(getattr(torch, name)).max
        expected = theirs.mul(limit + 1.0 - 1e-3).to(getattr(torch, name))
        assert np.array_equal(functional.convert_image_dtype(ours, getattr(rl, name)).numpy(), expected.numpy())
