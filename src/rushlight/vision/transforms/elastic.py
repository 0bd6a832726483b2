"""ElasticTransform: an image as if seen through moving water, and the function behind it."""

from __future__ import annotations

from rushlight.nn import Module
from rushlight.ops.table import functions

from ..images import is_pillow, is_tensor
from . import on_tensor
from .conversion import pil_to_tensor, to_pil_image
from .forms import operation
from .functional_color import gaussian_blur
from .interpolation import InterpolationMode, as_mode

BILINEAR = InterpolationMode.BILINEAR


def identity_grid(height, width):
    """Where ``grid_sample`` finds each pixel of an image: 1 x `height` x `width` x 2."""
    down, across = (functions.linspace((1 - size) / size, (size - 1) / size, size) for size in (height, width))
    return functions.stack(functions.meshgrid(across, down, indexing="xy"), -1).unsqueeze(0)


def elastic_transform(img, displacement, interpolation=BILINEAR, fill=None):
    """The image with each pixel taken from a place beside its own.

    `displacement`, 1 x height x width x 2, holds the ways right and down, in halves of the image's width and height.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.elastic_transform(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[[1.0, 0.0], [0.0, 0.0]]]]))
    tensor([[[2., 2.]]])
    """
    interpolation = as_mode(interpolation)
    if not is_tensor(displacement):
        raise TypeError("Argument displacement should be a Tensor")
    if not is_tensor(img):
        if not is_pillow(img):
            raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
        moved = elastic_transform(pil_to_tensor(img), displacement, interpolation, fill)
        return to_pil_image(moved, mode=img.mode)
    shape = (1, *img.shape[-2:], 2)
    if shape != displacement.shape:
        raise ValueError(f"Argument displacement shape should be {shape}, but given {displacement.shape}")
    return on_tensor.sample(img, identity_grid(*img.shape[-2:]) + displacement, interpolation, fill)


def pair_of_floats(value, name):
    """`value`, a float or two, as a list of two."""
    if isinstance(value, float):
        return [value, value]
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    if len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    for each in value:
        if not isinstance(each, float):
            raise TypeError(f"{name} should be a sequence of floats. Got {type(each)}")
    return value


def smooth_noise(size, sigma, way):
    """Noise between -1 and 1 of `size`, blurred with `sigma` (across, down) by a window for `sigma[way]`."""
    noise = functions.rand([1, 1, *size]) * 2 - 1
    if sigma[way] > 0.0:
        window = int(8 * sigma[way] + 1) | 1
        noise = gaussian_blur(noise, [window, window], list(sigma))
    return noise


class ElasticTransform(Module):
    """The image with its pixels moved by smooth noise; `alpha` is how far, `sigma` how smooth, each one float or (across, down).

    >>> from rushlight.vision import transforms
    >>> transforms.ElasticTransform(alpha=30.0)
    ElasticTransform(alpha=[30.0, 30.0], sigma=[5.0, 5.0], interpolation=InterpolationMode.BILINEAR, fill=[0.0])
    """

    def __init__(self, alpha=50.0, sigma=5.0, interpolation=BILINEAR, fill=0):
        super().__init__()
        self.alpha = pair_of_floats(alpha, "alpha")
        self.sigma = pair_of_floats(sigma, "sigma")
        self.interpolation = as_mode(interpolation)
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError(f"fill should be int or float or a list or tuple of them. Got {type(fill)}")
        self.fill = [float(each) for each in (fill if isinstance(fill, (list, tuple)) else [fill])]

    @staticmethod
    def get_params(alpha, sigma, size):
        """The displacement for an image of `size` [height, width]."""
        ways = [smooth_noise(size, sigma, way) * alpha[way] / size[1 - way] for way in (0, 1)]
        return functions.cat(ways, 1).permute(0, 2, 3, 1)

    def forward(self, tensor):
        """The image, moved."""
        displacement = self.get_params(self.alpha, self.sigma, operation("get_dimensions", tensor)(tensor)[1:])
        return elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def __repr__(self):
        names = ("alpha", "sigma", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"
