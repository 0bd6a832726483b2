"""Mask R-CNN."""

from __future__ import annotations

from .... import nn
from ...ops import Conv2dNormActivation, MultiScaleRoIAlign
from ..weights import attribute_of
from ._building import detector, resnet50_pyramid
from .faster_rcnn import FasterRCNN, checked_kind, initialize_for_relu, larger_heads
from .rpn import renamed

__all__ = ["MaskRCNN"]


class MaskRCNN(FasterRCNN):
    """`FasterRCNN` that finds the masks of objects, too (He and others, 2017); targets have "masks", N x H x W of 0 and 1.

    Args:
        mask_roi_pool, mask_head, mask_predictor: features of a proposal, what is made of them, and a mask for each class.
    """

    def __init__(
        self, backbone, num_classes=None, *args, mask_roi_pool=None, mask_head=None, mask_predictor=None, **kwargs
    ):  # fmt: skip
        checked_kind(mask_roi_pool, "mask_roi_pool", MultiScaleRoIAlign)
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        if mask_roi_pool is None:
            mask_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if mask_head is None:
            mask_head = MaskRCNNHeads(backbone.out_channels, (256, 256, 256, 256), 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(backbone, num_classes, *args, **kwargs)
        self.roi_heads.mask_roi_pool = mask_roi_pool
        self.roi_heads.mask_head = mask_head
        self.roi_heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """Dilated convolutions of 3x3 over the maps of a proposal."""

    _version = 2

    def __init__(self, in_channels, layers, dilation, norm_layer=None):
        widths = [in_channels, *layers]
        options = {"padding": dilation, "dilation": dilation, "norm_layer": norm_layer}
        super().__init__(*(Conv2dNormActivation(before, after, 3, **options) for before, after in zip(widths, layers)))
        initialize_for_relu(self)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        if (local_metadata.get("version") or 1) < 2:
            renamed(state_dict, prefix, {f"mask_fcn{place + 1}": f"{place}.0" for place in range(len(self))})
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


class MaskRCNNPredictor(nn.Sequential):
    """A mask for each class, twice as large as the maps."""

    def __init__(self, in_channels, dim_reduced, num_classes):
        layers = {
            "conv5_mask": nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0),
            "relu": nn.ReLU(inplace=True),
            "mask_fcn_logits": nn.Conv2d(dim_reduced, num_classes, 1, 1, 0),
        }
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        for layer in (layers["conv5_mask"], layers["mask_fcn_logits"]):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")


def _resnet50(classes, weights, trained, layers, kwargs):
    return MaskRCNN(resnet50_pyramid(weights, trained, layers), classes, **kwargs)


def _resnet50_v2(classes, weights, trained, layers, kwargs):
    backbone = resnet50_pyramid(weights, trained, layers, nn.BatchNorm2d, frozen=False)
    heads = larger_heads(backbone)
    masks = MaskRCNNHeads(backbone.out_channels, [256, 256, 256, 256], 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(backbone, classes, mask_head=masks, **heads, **kwargs)


maskrcnn_resnet50_fpn = detector("maskrcnn_resnet50_fpn", _resnet50, "He and others, 2017", __name__, old_eps=True)
maskrcnn_resnet50_fpn_v2 = detector("maskrcnn_resnet50_fpn_v2", _resnet50_v2, "Li and others, 2021", __name__, None)
__all__ += ["maskrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn_v2"]

__getattr__ = attribute_of(__name__)
