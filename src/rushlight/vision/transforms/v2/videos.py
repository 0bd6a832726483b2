"""Videos of samples: fewer frames."""

from __future__ import annotations

from rushlight.ops.table import functions

from ...images import is_tensor
from .joint import Transform, on_image

__all__ = ["UniformTemporalSubsample"]


def uniform_temporal_subsample(inpt, num_samples):
    """A video (..., frames, channels, height, width) with `num_samples` of its frames, the first and the last among them."""

    def fewer(video):
        frames = functions.linspace(0, video.shape[-4] - 1, num_samples).long()
        return video.index_select(-4, frames)

    return on_image(inpt, fewer)


class UniformTemporalSubsample(Transform):
    """The videos of a sample with `num_samples` of their frames; see ``v2.functional.uniform_temporal_subsample``."""

    def __init__(self, num_samples):
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt, params):
        return uniform_temporal_subsample(inpt, self.num_samples) if is_tensor(inpt) else inpt
