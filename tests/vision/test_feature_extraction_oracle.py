"""Feature extraction against torchvision's: names of nodes of every family, features, messages."""

import copy
import importlib
import warnings

import numpy as np
import pytest
from model_cases import SMALL, leave_uninitialized, options
from torchvision_oracle import torch, torchvision

import rushlight
from rushlight.vision import models
from rushlight.vision.models import feature_extraction

theirs = importlib.import_module("torchvision.models.feature_extraction")


@pytest.mark.parametrize("name", SMALL)
def test_names_of_nodes(name, monkeypatch):
    leave_uninitialized(monkeypatch)
    leave_uninitialized(monkeypatch, torch.nn.init)
    expected = torchvision.models.get_model(name, **options(name))
    model = models.get_model(name, **options(name))
    wanted = theirs.get_graph_node_names(expected, suppress_diff_warning=True)
    assert feature_extraction.get_graph_node_names(model, suppress_diff_warning=True) == wanted
    assert model.training


def test_features_and_their_gradients():
    found = []
    image = np.random.default_rng(0).standard_normal((2, 3, 64, 64))
    for lib, made, room in ((torch, torchvision.models, theirs), (rushlight, models, feature_extraction)):
        lib.manual_seed(0)
        model = made.mobilenet_v3_small().double().eval()
        extractor = room.create_feature_extractor(model, {"features.3.block": "early", "avgpool": "late"})
        features = extractor(lib.from_numpy(image))
        assert list(features) == ["early", "late"]
        (features["late"] ** 2).sum().backward()
        names = [name for name, _ in extractor.named_parameters()]
        found.append(
            [names, *(each.detach().numpy() for each in features.values()), model.features[0][0].weight.grad.numpy()]
        )
        again = copy.deepcopy(extractor.train())
        assert list(again(lib.from_numpy(image))) == ["early", "late"]
    assert found[0][0] == found[1][0]
    for expected, got in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"train_return_nodes": ["a"]},
        {"return_nodes": ["a"], "train_return_nodes": ["a"], "eval_return_nodes": ["a"]},
        {"return_nodes": ["x.y"]},
    ],
)
def test_refusals(arguments):
    messages = []
    for lib, room in ((torch, theirs), (rushlight, feature_extraction)):
        with pytest.raises(ValueError) as refused:
            room.create_feature_extractor(lib.nn.Sequential(lib.nn.ReLU()), **arguments)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_a_model_whose_modes_differ():
    def made(lib):
        class Model(lib.nn.Module):
            def forward(self, x):
                return (x * 2).relu() if self.training else x * 2

        return Model()

    messages = []
    for lib, room in ((torch, theirs), (rushlight, feature_extraction)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            extractor = room.create_feature_extractor(made(lib), train_return_nodes=["relu"], eval_return_nodes=["mul"])
        messages.append([str(warning.message) for warning in told])
        assert list(extractor(lib.ones(2))) == ["relu"]
        assert list(extractor.eval()(lib.ones(2))) == ["mul"]
    assert messages[0] == messages[1] and messages[0]
