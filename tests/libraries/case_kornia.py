"""kornia: filters, colours, geometry, losses, features and seeded augmentations of small images, and a gradient through them."""

import kornia
import kornia.augmentation as augmentation
import torch
from report import norms, say

torch.manual_seed(0)
image = torch.rand(1, 3, 24, 32)
gray = image.mean(1, keepdim=True)
points = torch.tensor([[[1.0, 2.0], [20.0, 3.0], [25.0, 20.0], [2.0, 18.0]]])
moved = points + torch.tensor([[[1.0, 0.5], [-2.0, 1.0], [0.5, -1.0], [1.0, 1.0]]])
matrix = kornia.geometry.transform.get_perspective_transform(points, moved)
RESULTS = {
    "gaussian": lambda: kornia.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5)),
    "median": lambda: kornia.filters.median_blur(image, (3, 3)),
    "bilateral": lambda: kornia.filters.bilateral_blur(image, (3, 3), 0.1, (1.5, 1.5)),
    "sobel": lambda: kornia.filters.sobel(image),
    "laplacian": lambda: kornia.filters.laplacian(image, 3),
    "canny": lambda: kornia.filters.canny(image)[0],
    "unsharp": lambda: kornia.filters.unsharp_mask(image, (3, 3), (1.5, 1.5)),
    "hsv": lambda: kornia.color.rgb_to_hsv(image),
    "lab": lambda: kornia.color.rgb_to_lab(image),
    "ycbcr": lambda: kornia.color.rgb_to_ycbcr(image),
    "grayscale": lambda: kornia.color.rgb_to_grayscale(image),
    "matrix": lambda: matrix,
    "warp_perspective": lambda: kornia.geometry.transform.warp_perspective(image, matrix, (24, 32)),
    "rotate": lambda: kornia.geometry.transform.rotate(image, torch.tensor([30.0])),
    "resize": lambda: kornia.geometry.transform.resize(image, (12, 20), antialias=True),
    "pyramid": lambda: kornia.geometry.transform.pyrdown(image),
    "homography": lambda: kornia.geometry.homography.find_homography_dlt(points, moved),
    "rotation": lambda: kornia.geometry.conversions.axis_angle_to_rotation_matrix(torch.tensor([[0.3, -0.2, 0.5]])),
    "gamma": lambda: kornia.enhance.adjust_gamma(image, 2.0),
    "equalize": lambda: kornia.enhance.equalize(image),
    "clahe": lambda: kornia.enhance.equalize_clahe(image, grid_size=(2, 2)),
    "histogram": lambda: kornia.enhance.histogram(gray.flatten(1), torch.linspace(0, 1, 8), torch.tensor(0.1)),
    "harris": lambda: kornia.feature.harris_response(gray),
    "hardnet": lambda: kornia.feature.SIFTDescriptor(16)(gray[..., :16, :16]),
    "dilation": lambda: kornia.morphology.dilation(image, torch.ones(3, 3)),
    "ssim": lambda: kornia.losses.ssim_loss(image, image.flip(-1), 5),
    "dice": lambda: kornia.losses.dice_loss(image, (gray[:, 0] > 0.5).long()),
    "focal": lambda: kornia.losses.focal_loss(image, (gray[:, 0] > 0.5).long(), alpha=0.5, gamma=2.0, reduction="mean"),
    "total_variation": lambda: kornia.losses.total_variation(image),
    "psnr": lambda: kornia.metrics.psnr(image, image.flip(-1), 1.0),
}
for name, result in RESULTS.items():
    say(name, norms(result()))

learned = image.clone().requires_grad_()
kornia.filters.sobel(kornia.color.rgb_to_lab(learned)).mean().backward()
say("gradient", norms(learned.grad))


torch.manual_seed(2)
pipeline = augmentation.AugmentationSequential(
    augmentation.RandomHorizontalFlip(p=0.5),
    augmentation.RandomGrayscale(p=0.5),
    data_keys=["input", "mask"],
)
for index, output in enumerate(pipeline(image.repeat(3, 1, 1, 1), gray.repeat(3, 1, 1, 1))):
    say(f"flipped{index}", norms(output))


def varied():
    torch.manual_seed(2)
    pipeline = augmentation.AugmentationSequential(
        augmentation.RandomAffine(degrees=20.0, translate=(0.1, 0.1), p=1.0),
        augmentation.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0),
        augmentation.RandomErasing(p=0.5),
        data_keys=["input", "mask"],
    )
    return [norms(output) for output in pipeline(image.repeat(3, 1, 1, 1), gray.repeat(3, 1, 1, 1))]


say("augmented", varied())
