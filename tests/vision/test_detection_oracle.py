"""Detectors against torchvision's: first values, losses with their gradients, and what they find."""

import inspect
import os
import sys

import numpy as np
import pytest
from torchvision_oracle import torch, torchvision

import rushlight
from rushlight.vision import models

theirs, ours = torchvision.models.detection, models.detection
NAMES = models.list_models(module=ours)
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torchvision asks for TorchScript
WIDTH = 32  # channels of the small backbones: group norms have 32 groups


@pytest.fixture(autouse=True)
def compiled_operations(monkeypatch):
    """torchvision's compiled function, of which nothing was built: the best box, then the best that does not overlap it, ..."""

    def nms(boxes, scores, iou_threshold):
        overlap, kept = torchvision.ops.box_iou(boxes, boxes), []
        for place in scores.sort(descending=True, stable=True)[1].tolist():
            if not any(overlap[place, better] > iou_threshold for better in kept):
                kept.append(place)
        return torch.tensor(kept, dtype=torch.int64)

    monkeypatch.setattr(torchvision.ops.boxes, "nms", nms)
    regions = sys.modules["torchvision.ops.roi_align"]  # its Python form would be compiled
    monkeypatch.setattr(regions, "_roi_align", inspect.unwrap(regions._roi_align))


def backbone(lib, maps):
    """Convolutions of stride 2; their outputs from the second on."""

    class Backbone(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = lib.nn.ModuleList(
                [lib.nn.Conv2d(WIDTH if place else 3, WIDTH, 3, 2, 1) for place in range(maps + 1)]
            )
            self.out_channels = WIDTH

        def forward(self, x):
            found = {}
            for place, layer in enumerate(self.layers):
                x = lib.nn.functional.gelu(layer(x))
                if place:
                    found[str(place - 1)] = x
            return found if maps > 1 else x

    return Backbone()


def two_stage(kind):
    def make(lib, rooms, classes=4, maps=2, **options):
        room = {"FasterRCNN": "faster_rcnn", "MaskRCNN": "mask_rcnn", "KeypointRCNN": "keypoint_rcnn"}[kind]
        room, pools = getattr(rooms.detection, room), {"box": 3}
        if kind == "MaskRCNN":
            pools["mask"] = 4
            options["mask_head"] = room.MaskRCNNHeads(WIDTH, (16, 8), 1)
            options["mask_predictor"] = room.MaskRCNNPredictor(8, 6, classes)
        if kind == "KeypointRCNN":
            pools["keypoint"] = 4
            options["keypoint_head"] = room.KeypointRCNNHeads(WIDTH, (16, 8))
            options["keypoint_predictor"] = room.KeypointRCNNPredictor(8, 3)
        ops = torchvision.ops if lib is torch else rushlight.vision.ops
        for name, size in pools.items():
            options[f"{name}_roi_pool"] = ops.MultiScaleRoIAlign([str(place) for place in range(maps)], size, 2)
        options["box_head"] = rooms.detection.faster_rcnn.TwoMLPHead(WIDTH * 9, 16)
        options["box_predictor"] = rooms.detection.faster_rcnn.FastRCNNPredictor(16, classes)
        anchors = rooms.detection.rpn.AnchorGenerator(((8,), (20,))[:maps], ((0.5, 1.0, 2.0),) * maps)
        return getattr(room, kind)(
            backbone(lib, maps), None, min_size=options.pop("min_size", 48), max_size=70, rpn_anchor_generator=anchors,
            box_score_thresh=0.05, rpn_pre_nms_top_n_test=30, rpn_post_nms_top_n_test=12, box_detections_per_img=9,
            rpn_pre_nms_top_n_train=60, rpn_post_nms_top_n_train=20, box_batch_size_per_image=16, rpn_batch_size_per_image=20,
            **options,
        )  # fmt: skip

    return make


def retinanet(lib, rooms):
    anchors = rooms.detection.rpn.AnchorGenerator(((8, 12), (20, 30)), ((0.5, 1.0),) * 2)
    options = {"min_size": 48, "max_size": 70, "score_thresh": 0.0099, "detections_per_img": 20, "topk_candidates": 30}
    return rooms.detection.RetinaNet(backbone(lib, 2), 4, anchor_generator=anchors, **options)


def fcos(lib, rooms):
    anchors = rooms.detection.rpn.AnchorGenerator(((4,), (8,)), ((1.0,),) * 2)
    options = {"min_size": 48, "max_size": 70, "score_thresh": 0.05, "detections_per_img": 20, "topk_candidates": 30}
    return rooms.detection.FCOS(backbone(lib, 2), 4, anchor_generator=anchors, **options)


def ssd(lib, rooms):
    anchors = rooms.detection.anchor_utils.DefaultBoxGenerator([[2], [2, 3]], min_ratio=0.2)
    options = {"detections_per_img": 20, "topk_candidates": 30, "score_thresh": 0.2}
    return rooms.detection.ssd.SSD(backbone_of_ssd(lib), anchors, (40, 40), 4, **options)


def backbone_of_ssd(lib):
    made = backbone(lib, 2)
    made.out_channels = [WIDTH, WIDTH]
    return made


MODELS = {
    "faster": two_stage("FasterRCNN"),
    "mask": two_stage("MaskRCNN"),
    "keypoint": two_stage("KeypointRCNN"),
    "retinanet": retinanet,
    "fcos": fcos,
    "ssd": ssd,
}


def samples(lib, empty=False):
    """Two images of different sizes, and what is to be found in them; in the second nothing, if ``empty``."""
    random = np.random.default_rng(1)
    images, targets = [], []
    for number, (height, width) in enumerate(((40, 52), (47, 33))):
        images.append(lib.from_numpy(random.random((3, height, width), dtype=np.float32)))
        count = 0 if empty and number else 3
        corner = random.random((count, 2)) * 15
        boxes = np.concatenate([corner, corner + 5 + random.random((count, 2)) * 12], 1).astype(np.float32)
        points = np.concatenate([random.random((count, 3, 2)) * 20, random.integers(0, 2, (count, 3, 1))], 2)
        found = {
            "boxes": boxes.reshape(count, 4),
            "labels": random.integers(1, 4, count),
            "masks": random.integers(0, 2, (count, height, width)).astype(np.uint8),
            "keypoints": points.astype(np.float32),
        }
        targets.append({name: lib.from_numpy(value) for name, value in found.items()})
    return images, targets


def pair(make):
    torch.manual_seed(3)
    expected = make(torch, torchvision.models)
    rushlight.manual_seed(3)
    return expected, make(rushlight, models)


def check_same_values(model, expected):
    state, reference = model.state_dict(), expected.state_dict()
    assert list(state) == list(reference)
    for key, value in reference.items():
        assert np.allclose(state[key].numpy(), value.numpy(), atol=1e-6), key


SLOW = {("faster", False), ("faster", True), ("mask", True), ("retinanet", True)}  # others show most of what these do
CASES = [
    (name, empty) for name in MODELS for empty in (False, True) if (name, empty) != ("keypoint", True)
]  # no points: refused
CASES = [pytest.param(*case, marks=pytest.mark.slow) if case in SLOW else case for case in CASES]


@pytest.mark.parametrize("name, empty", CASES)
def test_losses_and_their_gradients(name, empty):
    expected, model = pair(MODELS[name])
    check_same_values(model, expected)
    losses = {}
    for lib, made in ((torch, expected), (rushlight, model)):
        lib.manual_seed(5)
        images, targets = samples(lib, empty)
        found = made.train()(images, targets)
        sum(found.values()).backward()
        losses[lib] = {key: value.item() for key, value in found.items()}
    assert losses[rushlight] == pytest.approx(losses[torch], rel=1e-4, abs=1e-6)
    gradients = {key: parameter.grad.numpy() for key, parameter in expected.named_parameters()}
    largest = max(np.linalg.norm(gradient) for gradient in gradients.values())
    for key, parameter in model.named_parameters():
        scale = max(np.linalg.norm(gradients[key]), 1e-2 * largest)  # of a bias before a norm it is rounding alone
        assert np.linalg.norm(parameter.grad.numpy() - gradients[key]) < 5e-3 * scale, key


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ("faster", "keypoint") else name for name in MODELS]
)
def test_detections(name):
    expected, model = pair(MODELS[name])
    random = np.random.default_rng(2)
    for parameter, reference in zip(model.parameters(), expected.parameters()):  # so that no two scores are close
        noise = 0.1 * random.standard_normal(parameter.shape)
        parameter.data, reference.data = rushlight.from_numpy(noise), torch.from_numpy(noise)
    wanted = expected.eval()([image.double() for image in samples(torch)[0]])
    found = model.eval()([image.double() for image in samples(rushlight)[0]])
    for got, reference in zip(found, wanted, strict=True):
        assert list(got) == list(reference)
        assert len(reference["boxes"]) > 2
        for key, value in reference.items():
            assert got[key].shape == value.shape, key
            assert np.allclose(got[key].detach().numpy(), value.detach().numpy(), atol=1e-4, rtol=1e-5), key


@pytest.mark.parametrize("name", ["faster", "ssd", "fcos"])
def test_what_is_refused(name):
    expected, model = pair(MODELS[name])

    def words(made, lib, change):
        images, targets = samples(lib)
        targets = change(lib, images, targets)
        with pytest.raises((AssertionError, ValueError, TypeError)) as caught:
            made.train()(images, targets)
        return type(caught.value), str(caught.value).partition("\n")[0]

    changes = [
        lambda lib, images, targets: None,
        lambda lib, images, targets: [{**each, "boxes": each["boxes"][:, :3]} for each in targets],
        lambda lib, images, targets: [{**each, "boxes": each["boxes"] * 0} for each in targets],
        lambda lib, images, targets: images.__setitem__(0, images[0][0]) or targets,
        lambda lib, images, targets: images.__setitem__(0, images[0].int()) or targets,
    ]
    for change in changes:
        assert words(model, rushlight, change) == words(expected, torch, change)


def test_names_of_the_room():
    assert torchvision.models.list_models(module=theirs) == NAMES
    places = "_utils anchor_utils backbone_utils faster_rcnn mask_rcnn keypoint_rcnn retinanet fcos ssd ssdlite rpn roi_heads transform image_list generalized_rcnn"
    for place in places.split():
        their, our = getattr(theirs, place), getattr(ours, place)
        names = [name for name, value in vars(their).items() if getattr(value, "__module__", "") == their.__name__]
        missing = {name for name in names if not hasattr(our, name) and "onnx" not in name.lower()}
        assert missing <= {
            "_sum",
            "_v1_to_v2_weights",
            "expand_masks_tracing_scale",
            "_fasterrcnn_mobilenet_v3_large_fpn",
        }


FEW = ["fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large"]  # all of them take over a minute


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES if int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) >= 300 else FEW)
def test_models_by_name(name):
    torch.manual_seed(3)
    expected = torchvision.models.get_model(name, weights=None, weights_backbone=None).eval()
    rushlight.manual_seed(3)
    model = models.get_model(name, weights=None, weights_backbone=None).eval()
    assert repr(model) == repr(expected)
    check_same_values(model, expected)
    with rushlight.no_grad(), torch.no_grad():
        image = np.random.default_rng(0).random(
            (3, *([300, 300] if name.startswith("ssd300") else [64, 64])), dtype=np.float32
        )
        found, wanted = (
            made.backbone(lib.from_numpy(image[None])) for lib, made in ((rushlight, model), (torch, expected))
        )
    assert list(found) == list(wanted)
    for key, value in wanted.items():
        assert np.allclose(found[key].numpy(), value.numpy(), atol=1e-4 * value.abs().max().item()), key
