"""The region proposal network: where in an image there may be an object."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ...ops import Conv2dNormActivation, batched_nms, box_iou, clip_boxes_to_image, remove_small_boxes
from ._utils import BalancedPositiveNegativeSampler, BoxCoder, Matcher, _topk_min
from .anchor_utils import AnchorGenerator  # noqa: F401  # programs import it from here
from .image_list import ImageList  # noqa: F401


def initialize(module, std=0.01):
    """Small random weights, biases of 0, for every convolution within."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=std)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def renamed(state_dict, prefix, names):
    """Give parameters of a state that an older version wrote the names that they have now."""
    for old, new in names.items():
        for kind in ("weight", "bias"):
            if f"{prefix}{old}.{kind}" in state_dict:
                state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")


def permute_and_flatten(layer, N, A, C, H, W):
    """A map with A x C channels as a list of C numbers for each anchor, place by place: N x (H W A) x C."""
    return layer.view(N, -1, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(box_cls, box_regression):
    """What a head has made of all maps, anchor by anchor: classes in one column for each, boxes in four."""
    classes, boxes = [], []
    for scores, codes in zip(box_cls, box_regression):
        count, width, *sides = scores.shape
        anchors = codes.shape[1] // 4
        classes.append(permute_and_flatten(scores, count, anchors, width // anchors, *sides))
        boxes.append(permute_and_flatten(codes, count, anchors, 4, *sides))
    return functions.cat(classes, dim=1).flatten(0, -2), functions.cat(boxes, dim=1).reshape(-1, 4)


class RPNHead(nn.Module):
    """For each anchor whether there is an object, and where; `conv_depth` convolutions before."""

    _version = 2

    def __init__(self, in_channels, num_anchors, conv_depth=1):
        super().__init__()
        layers = [Conv2dNormActivation(in_channels, in_channels, 3, norm_layer=None) for _ in range(conv_depth)]
        self.conv = nn.Sequential(*layers)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1)
        initialize(self)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        if (local_metadata.get("version") or 1) < 2:
            renamed(state_dict, prefix, {"conv": "conv.0.0"})
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def forward(self, x):
        hidden = [self.conv(each) for each in x]
        return [self.cls_logits(each) for each in hidden], [self.bbox_pred(each) for each in hidden]


class RegionProposalNetwork(nn.Module):
    """Proposals: the best boxes that a head makes of anchors (Ren and others, 2015); in training its losses, too.

    Args:
        anchor_generator, head: what makes anchors, and what judges and moves them.
        fg_iou_thresh, bg_iou_thresh: overlap with a true box from which on an anchor is one, and below which it is none.
        batch_size_per_image, positive_fraction: how many anchors count in the loss, and how many of those lie on objects.
        pre_nms_top_n, post_nms_top_n: how many boxes are kept of each map before, and of the image after, overlapping ones go;
            dictionaries with "training" and "testing".
        nms_thresh, score_thresh: the overlap from which on the worse box goes; the least chance of an object.
    """

    def __init__(
        self, anchor_generator, head, fg_iou_thresh, bg_iou_thresh, batch_size_per_image, positive_fraction, pre_nms_top_n,
        post_nms_top_n, nms_thresh, score_thresh=0.0,
    ):  # fmt: skip
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = box_iou
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self):
        """How many boxes of each map are kept at first."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self):
        """How many boxes of an image are kept."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(self, anchors, targets):
        """For each image the labels of its anchors (1 object, 0 none, -1 neither) and their true boxes."""
        labels, matched = [], []
        for every, target in zip(anchors, targets):
            truth = target["boxes"]
            if truth.numel() == 0:
                labels.append(functions.zeros((len(every),), dtype=dtypes.float32))
                matched.append(functions.zeros(every.shape, dtype=dtypes.float32))
                continue
            places = self.proposal_matcher(self.box_similarity(truth, every))
            label = (places >= 0).to(dtype=dtypes.float32)
            label[places == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1.0
            labels.append(label)
            matched.append(truth[places.clamp(min=0)])
        return labels, matched

    def _get_top_n_idx(self, objectness, num_anchors_per_level):
        found, offset = [], 0
        for scores in objectness.split(num_anchors_per_level, 1):
            found.append(scores.topk(_topk_min(scores, self.pre_nms_top_n(), 1), dim=1)[1] + offset)
            offset += scores.shape[1]
        return functions.cat(found, dim=1)

    def filter_proposals(self, proposals, objectness, image_shapes, num_anchors_per_level):
        """The best boxes of each image, and the chances that they are objects."""
        count = proposals.shape[0]
        objectness = objectness.detach().reshape(count, -1)
        levels = [functions.full((length,), level) for level, length in enumerate(num_anchors_per_level)]
        best = self._get_top_n_idx(objectness, num_anchors_per_level)
        images = functions.arange(count)[:, None]
        chances = functions.sigmoid(objectness[images, best])
        chosen = zip(proposals[images, best], chances, functions.cat(levels)[best], image_shapes)
        found = [self._of_image(*each) for each in chosen]
        return [boxes for boxes, _ in found], [scores for _, scores in found]

    def _of_image(self, boxes, scores, levels, shape):
        boxes = clip_boxes_to_image(boxes, shape)
        kept = remove_small_boxes(boxes, self.min_size)
        kept = kept[scores[kept] >= self.score_thresh]
        boxes, scores = boxes[kept], scores[kept]
        kept = batched_nms(boxes, scores, levels[kept], self.nms_thresh)[: self.post_nms_top_n()]
        return boxes[kept], scores[kept]

    def compute_loss(self, objectness, pred_bbox_deltas, labels, regression_targets):
        """The losses of a sample of anchors: of whether, and of where."""
        positive, negative = (functions.where(functions.cat(each))[0] for each in self.fg_bg_sampler(labels))
        sample = functions.cat([positive, negative])
        goals = functions.cat(regression_targets)[positive]
        options = {"beta": 1 / 9, "reduction": "sum"}
        boxes = nn.functional.smooth_l1_loss(pred_bbox_deltas[positive], goals, **options) / sample.numel()
        scores, truth = objectness.flatten()[sample], functions.cat(labels)[sample]
        return nn.functional.binary_cross_entropy_with_logits(scores, truth), boxes

    def forward(self, images, features, targets=None):
        maps = list(features.values())
        objectness, codes = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        lengths = [each[0].numel() for each in objectness]
        objectness, codes = concat_box_prediction_layers(objectness, codes)
        proposals = self.box_coder.decode(codes.detach(), anchors).view(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, objectness, images.image_sizes, lengths)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        goals = self.box_coder.encode(matched, anchors)
        losses = self.compute_loss(objectness, codes, labels, goals)
        return boxes, dict(zip(("loss_objectness", "loss_rpn_box_reg"), losses))
