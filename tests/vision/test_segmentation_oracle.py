"""Models of segmentation against torchvision's."""

import os

import numpy as np
import pytest
from torchvision_oracle import torch, torchvision

import rushlight
from rushlight.vision import models

NAMES = models.list_models(module=models.segmentation)
CHEAP = "lraspp_mobilenet_v3_large"
OTHERS = ["deeplabv3_mobilenet_v3_large", "fcn_resnet50"]
if os.environ.get("RUSHLIGHT_EXAMPLES"):
    OTHERS = [name for name in NAMES if name != CHEAP]


def test_the_same_models_but_for_detection_and_video():
    assert torchvision.models.list_models(module=torchvision.models.segmentation) == NAMES


@pytest.mark.parametrize("name", [CHEAP, *(pytest.param(n, marks=pytest.mark.slow) for n in OTHERS)])
def test_model_is_torchvisions(name):
    options = {"weights_backbone": None, "num_classes": 5}
    if name != CHEAP:
        options["aux_loss"] = True
    image = np.random.default_rng(0).standard_normal((2, 3, 48, 40))
    found = []
    for lib, room in ((torch, torchvision.models), (rushlight, models)):
        lib.manual_seed(2)
        model = room.get_model(name, **options).double().eval()
        outputs = model(lib.from_numpy(image))
        state = {key: value.numpy() for key, value in model.state_dict().items()}
        found.append((state, {key: value.detach().numpy() for key, value in outputs.items()}, repr(model)))
    (state, expected, text), (ours, got, our_text) = found
    assert list(ours) == list(state) and our_text == text
    assert all(np.array_equal(ours[key], state[key]) for key in state)
    assert list(got) == list(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(got[key], value, rtol=1e-9, atol=1e-10)
