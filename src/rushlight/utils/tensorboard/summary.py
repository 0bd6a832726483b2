"""``torch.utils.tensorboard.summary``: what a writer makes of values before it writes them, under PyTorch's names."""

from .plugins import compute_curve, custom_scalars, hparams, mesh, pr_curve, pr_curve_raw
from .summaries import (
    audio,
    histogram,
    histogram_raw,
    image,
    image_boxes,
    make_histogram,
    make_image,
    make_video,
    scalar,
    tensor_proto,
    text,
    video,
)

__all__ = [
    "audio",
    "compute_curve",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "make_image",
    "make_video",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]
