"""Image models against torchvision's: names, shapes, initial parameters, outputs, a training step."""

import numpy as np
import pytest

import rushlight
from rushlight.vision import models

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torchvision.models")

SMALL = ["resnet18", "mobilenet_v2", "squeezenet1_0", "squeezenet1_1"]
LARGE = [name for name in models.list_models() if name not in SMALL]


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_model_is_torchvisions(name):
    torch.manual_seed(3)
    expected = theirs.get_model(name, weights=None)
    rushlight.manual_seed(3)
    model = models.get_model(name, weights=None)
    state, reference = model.state_dict(), expected.state_dict()
    assert [(key, tuple(v.shape)) for key, v in state.items()] == [(k, tuple(v.shape)) for k, v in reference.items()]
    for key, value in reference.items():
        assert np.array_equal(state[key].numpy(), value.numpy()), key
    image = np.random.default_rng(0).standard_normal((1, 3, 64, 64), dtype=np.float32)
    with torch.no_grad(), rushlight.no_grad():
        wanted = expected.eval()(torch.from_numpy(image)).numpy()
        got = model.eval()(rushlight.from_numpy(image)).numpy()
    difference = np.abs(got - wanted).max() / np.abs(wanted).max()
    print(name, difference)
    assert difference < 1e-4
