"""Keypoint R-CNN."""

from __future__ import annotations

from .... import nn
from ...ops import MultiScaleRoIAlign
from ..weights import attribute_of
from ._building import detector, resnet50_pyramid
from .faster_rcnn import FasterRCNN, checked_kind

__all__ = ["KeypointRCNN"]


class KeypointRCNN(FasterRCNN):
    """`FasterRCNN` that finds key points of objects, too (He and others, 2017); targets have "keypoints", N x points x 3.

    Args:
        num_keypoints: how many; 17 unless given, None where a ``keypoint_predictor`` is given.
        keypoint_roi_pool, keypoint_head, keypoint_predictor: features of a proposal, what is made of them, and a map for each point.
    """

    def __init__(
        self, backbone, num_classes=None, min_size=None, *args, keypoint_roi_pool=None, keypoint_head=None,
        keypoint_predictor=None, num_keypoints=None, **kwargs,
    ):  # fmt: skip
        checked_kind(keypoint_roi_pool, "keypoint_roi_pool", MultiScaleRoIAlign)
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        if keypoint_roi_pool is None:
            keypoint_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if keypoint_head is None:
            keypoint_head = KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        if keypoint_predictor is None:
            keypoint_predictor = KeypointRCNNPredictor(512, 17 if num_keypoints is None else num_keypoints)
        min_size = (640, 672, 704, 736, 768, 800) if min_size is None else min_size
        super().__init__(backbone, num_classes, min_size, *args, **kwargs)
        self.roi_heads.keypoint_roi_pool = keypoint_roi_pool
        self.roi_heads.keypoint_head = keypoint_head
        self.roi_heads.keypoint_predictor = keypoint_predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions of 3x3 with ReLU over the maps of a proposal."""

    def __init__(self, in_channels, layers):
        made = []
        for before, after in zip((in_channels, *layers), layers):
            made += [nn.Conv2d(before, after, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
        super().__init__(*made)
        for layer in self.children():
            if isinstance(layer, nn.Conv2d):
                _initialize(layer)


def _initialize(layer):
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    nn.init.zeros_(layer.bias)


class KeypointRCNNPredictor(nn.Module):
    """A map for each point, four times as large as those of the proposal."""

    def __init__(self, in_channels, num_keypoints):
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        _initialize(self.kps_score_lowres)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x):
        options = {"mode": "bilinear", "align_corners": False, "recompute_scale_factor": False}
        return nn.functional.interpolate(self.kps_score_lowres(x), scale_factor=float(self.up_scale), **options)


def _resnet50(classes, weights, trained, layers, kwargs):
    return KeypointRCNN(resnet50_pyramid(weights, trained, layers), classes, **kwargs)


keypointrcnn_resnet50_fpn = detector(
    "keypointrcnn_resnet50_fpn", _resnet50, "He and others, 2017", __name__, old_eps=True, classes=2
)
__all__ += ["keypointrcnn_resnet50_fpn"]

__getattr__ = attribute_of(__name__)
