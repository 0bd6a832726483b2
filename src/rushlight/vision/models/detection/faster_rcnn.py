"""Faster R-CNN."""

from __future__ import annotations

from rushlight.ops.table import functions

from .... import nn
from ....fx._symbolic_trace import _assert
from ...ops import Conv2dNormActivation, MultiScaleRoIAlign
from ..registry import BUILDERS
from ..weights import attribute_of
from ._building import detector, frozen_if, resnet50_pyramid
from .anchor_utils import AnchorGenerator
from .backbone_utils import _mobilenet_extractor, _validate_trainable_layers
from .generalized_rcnn import GeneralizedRCNN
from .roi_heads import RoIHeads
from .rpn import RegionProposalNetwork, RPNHead
from .transform import GeneralizedRCNNTransform

__all__ = ["FasterRCNN"]

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
_RATIOS = (0.5, 1.0, 2.0)


def checked_kind(value, name, kind):
    """TypeError unless an argument is of a class, or None."""
    if not isinstance(value, (kind, type(None))):
        raise TypeError(f"{name} should be of type {kind.__name__} or None instead of {type(value)}")


def check_backbone(backbone):
    """ValueError unless a backbone says how many channels its maps have."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output channels (assumed to be the same for "
            "all the levels)"
        )


def _default_anchorgen():
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), (_RATIOS,) * 5)


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN (Ren and others, 2015) over a `backbone` with ``out_channels``.

    Args:
        num_classes: with the background; None where a ``box_predictor`` is given.
        min_size, max_size, image_mean, image_std: see `GeneralizedRCNNTransform`.
        rpn_...: of the proposals, see `RegionProposalNetwork`.
        box_...: of what is in them, see `RoIHeads`.
    """

    def __init__(
        self, backbone, num_classes=None, min_size=800, max_size=1333, image_mean=None, image_std=None, rpn_anchor_generator=None,
        rpn_head=None, rpn_pre_nms_top_n_train=2000, rpn_pre_nms_top_n_test=1000, rpn_post_nms_top_n_train=2000,
        rpn_post_nms_top_n_test=1000, rpn_nms_thresh=0.7, rpn_fg_iou_thresh=0.7, rpn_bg_iou_thresh=0.3,
        rpn_batch_size_per_image=256, rpn_positive_fraction=0.5, rpn_score_thresh=0.0, box_roi_pool=None, box_head=None,
        box_predictor=None, box_score_thresh=0.05, box_nms_thresh=0.5, box_detections_per_img=100, box_fg_iou_thresh=0.5,
        box_bg_iou_thresh=0.5, box_batch_size_per_image=512, box_positive_fraction=0.25, bbox_reg_weights=None, **kwargs,
    ):  # fmt: skip
        check_backbone(backbone)
        checked_kind(rpn_anchor_generator, "rpn_anchor_generator", AnchorGenerator)
        checked_kind(box_roi_pool, "box_roi_pool", MultiScaleRoIAlign)
        if num_classes is not None and box_predictor is not None:
            raise ValueError("num_classes should be None when box_predictor is specified")
        if num_classes is None and box_predictor is None:
            raise ValueError("num_classes should not be None when box_predictor is not specified")
        channels = backbone.out_channels
        anchors = _default_anchorgen() if rpn_anchor_generator is None else rpn_anchor_generator
        head = RPNHead(channels, anchors.num_anchors_per_location()[0]) if rpn_head is None else rpn_head
        rpn = RegionProposalNetwork(
            anchors, head, rpn_fg_iou_thresh, rpn_bg_iou_thresh, rpn_batch_size_per_image, rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test}, rpn_nms_thresh, rpn_score_thresh,
        )  # fmt: skip
        if box_roi_pool is None:
            box_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=7, sampling_ratio=2)
        if box_head is None:
            box_head = TwoMLPHead(channels * box_roi_pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes)
        heads = RoIHeads(
            box_roi_pool, box_head, box_predictor, box_fg_iou_thresh, box_bg_iou_thresh, box_batch_size_per_image,
            box_positive_fraction, bbox_reg_weights, box_score_thresh, box_nms_thresh, box_detections_per_img,
        )  # fmt: skip
        mean, deviation = image_mean or MEAN, image_std or DEVIATION
        super().__init__(backbone, rpn, heads, GeneralizedRCNNTransform(min_size, max_size, mean, deviation, **kwargs))


class TwoMLPHead(nn.Module):
    """Two linear layers with ReLU over the numbers of a proposal."""

    def __init__(self, in_channels, representation_size):
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x):
        return functions.relu(self.fc7(functions.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions, then linear layers, over the maps of a proposal of `input_size` (channels, height, width)."""

    def __init__(self, input_size, conv_layers, fc_layers, norm_layer=None):
        width, *sides = input_size
        layers = []
        for channels in conv_layers:
            layers.append(Conv2dNormActivation(width, channels, norm_layer=norm_layer))
            width = channels
        layers.append(nn.Flatten())
        width *= sides[0] * sides[1]
        for channels in fc_layers:
            layers += [nn.Linear(width, channels), nn.ReLU(inplace=True)]
            width = channels
        super().__init__(*layers)
        initialize_for_relu(self)


def initialize_for_relu(module):
    """Weights as ReLU wants them, biases of 0, for every convolution within."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """The scores of the classes of a proposal, and for each of them the codes of its box."""

    def __init__(self, in_channels, num_classes):
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x):
        if x.dim() == 4:
            sides = list(x.shape[2:])
            message = f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of {sides}"
            _assert(sides == [1, 1], message)
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


def _resnet50(classes, weights, trained, layers, kwargs):
    return FasterRCNN(resnet50_pyramid(weights, trained, layers), classes, **kwargs)


def larger_heads(backbone):
    """What the second versions have in other form: anchors, their head, and that of boxes, by the names of the arguments."""
    anchors = _default_anchorgen()
    channels = backbone.out_channels
    head = RPNHead(channels, anchors.num_anchors_per_location()[0], conv_depth=2)
    boxes = FastRCNNConvFCHead((channels, 7, 7), [256, 256, 256, 256], [1024], norm_layer=nn.BatchNorm2d)
    return {"rpn_anchor_generator": anchors, "rpn_head": head, "box_head": boxes}


def _resnet50_v2(classes, weights, trained, layers, kwargs):
    backbone = resnet50_pyramid(weights, trained, layers, nn.BatchNorm2d, frozen=False)
    return FasterRCNN(backbone, classes, **larger_heads(backbone), **kwargs)


def _mobilenet(**defaults):
    def construct(classes, weights, trained, layers, kwargs):
        layers = _validate_trainable_layers(trained, layers, 6, 3)
        backbone = BUILDERS["mobilenet_v3_large"](weights=weights, norm_layer=frozen_if(trained))
        backbone = _mobilenet_extractor(backbone, True, layers)
        anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, (_RATIOS,) * 3)
        return FasterRCNN(backbone, classes, rpn_anchor_generator=anchors, **{**defaults, **kwargs})

    return construct


_SMALL = {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150, "rpn_post_nms_top_n_test": 150}
_paper = "Ren and others, 2015"
fasterrcnn_resnet50_fpn = detector("fasterrcnn_resnet50_fpn", _resnet50, _paper, __name__, old_eps=True)
fasterrcnn_resnet50_fpn_v2 = detector("fasterrcnn_resnet50_fpn_v2", _resnet50_v2, "Li and others, 2021", __name__, None)
fasterrcnn_mobilenet_v3_large_fpn = detector(
    "fasterrcnn_mobilenet_v3_large_fpn", _mobilenet(rpn_score_thresh=0.05), _paper, __name__
)
fasterrcnn_mobilenet_v3_large_320_fpn = detector(
    "fasterrcnn_mobilenet_v3_large_320_fpn", _mobilenet(rpn_score_thresh=0.05, **_SMALL), _paper, __name__
)
__all__ += [name for name in list(globals()) if name.startswith("fasterrcnn_")]

__getattr__ = attribute_of(__name__)
