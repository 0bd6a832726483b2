"""Image models: parameter counts, names and shapes, as torchvision 0.28 has them."""

import hashlib

import pytest

import rushlight
from rushlight.vision import models

# name: (parameters, hash of the names and shapes of the state); made from torchvision's own models
PINS = {
    "alexnet": (61100840, "fb0abbb96582"),
    "mobilenet_v2": (3504872, "1c18ba5f335c"),
    "resnet101": (44549160, "08d49ebbdc97"),
    "resnet152": (60192808, "e0308459e9c0"),
    "resnet18": (11689512, "9682c6fd405d"),
    "resnet34": (21797672, "b5362b8c3199"),
    "resnet50": (25557032, "f398fe5f16a9"),
    "resnext101_32x8d": (88791336, "b8d57ce9e87e"),
    "resnext101_64x4d": (83455272, "13b0cceab841"),
    "resnext50_32x4d": (25028904, "9a47faebfc93"),
    "squeezenet1_0": (1248424, "873c3481b9b2"),
    "squeezenet1_1": (1235496, "9cf34f8e4ebf"),
    "vgg11": (132863336, "37cf01db9dec"),
    "vgg11_bn": (132868840, "84dc7bc2edf6"),
    "vgg13": (133047848, "2a806d8cb236"),
    "vgg13_bn": (133053736, "11a299b0d71e"),
    "vgg16": (138357544, "e6f6dcd7f608"),
    "vgg16_bn": (138365992, "a49a9e064802"),
    "vgg19": (143667240, "94ee89e212fd"),
    "vgg19_bn": (143678248, "f91df4c4077c"),
    "wide_resnet101_2": (126886696, "fe5070ab23b2"),
    "wide_resnet50_2": (68883240, "e373ab8541bc"),
}
SMALL = {"resnet18", "mobilenet_v2", "squeezenet1_0", "squeezenet1_1"}
CASES = [pytest.param(name, marks=[] if name in SMALL else pytest.mark.slow) for name in PINS]


def test_every_model_is_pinned():
    assert models.list_models() == sorted(PINS)


@pytest.mark.parametrize("name", CASES)
def test_names_and_shapes(name):
    model = models.get_model(name)
    shapes = [(key, tuple(value.shape)) for key, value in model.state_dict().items()]
    count = sum(parameter.numel() for parameter in model.parameters())
    assert (count, hashlib.sha256(repr(shapes).encode()).hexdigest()[:12]) == PINS[name]


def test_training_step():
    rushlight.manual_seed(0)
    model = models.mobilenet_v2(num_classes=3, width_mult=0.25)
    before = model.classifier[1].weight.detach().clone()
    optimizer = rushlight.optim.SGD(model.parameters(), lr=0.1)
    loss = rushlight.nn.functional.cross_entropy(model(rushlight.randn(2, 3, 64, 64)), rushlight.tensor([0, 2]))
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    optimizer.step()
    assert not rushlight.equal(before, model.classifier[1].weight)


def test_weights_are_refused():
    with pytest.raises(NotImplementedError, match="hint: make the model with weights=None"):
        models.resnet18(weights="DEFAULT")
