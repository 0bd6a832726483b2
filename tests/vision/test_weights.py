"""Trained weights: the enums, what is known of each, and how a state comes into a model."""

import hashlib
import io
import pickle
import re
import sys
import types

import pytest
from model_cases import leave_uninitialized
from vision_server import FileServer

import rushlight
from rushlight.vision import models
from rushlight.vision.models import ResNet18_Weights, ResNet50_Weights, resnet
from rushlight.vision.models.weights import catalogue


def test_every_model_has_weights_and_every_enum_a_model():
    assert sorted(entry["model"] for entry in catalogue().values()) == models.list_models()


@pytest.mark.parametrize("name", models.list_models())
def test_what_is_known_of_each(name):
    enum = models.get_model_weights(name)
    assert enum is models.get_model_weights(models.get_model_builder(name)) is getattr(models, enum.__name__)
    assert enum.DEFAULT in list(enum)
    for weights in enum:
        assert re.fullmatch(r"https://download\.pytorch\.org/models/\S+-[0-9a-f]{8,10}\.pth", weights.url)
        assert models.get_weight(f"{enum.__name__}.{weights.name}") is weights
        assert pickle.loads(pickle.dumps(weights)) is weights
        assert {"num_params", "min_size", "categories", "_metrics"} <= set(weights.meta)
        room = models.get_model_builder(name).__module__.split(".")[3]
        counts = {"segmentation": 21, "detection": 2 if name.startswith("keypoint") else 91}
        if weights.meta["categories"] is not None:
            assert len(weights.meta["categories"]) == counts.get(room, 1000)
        transform = weights.transforms()
        if room == "detection":
            assert transform(rushlight.full((3, 8, 9), 255, dtype=rushlight.uint8)).sum() == 3 * 8 * 9
            continue
        side = (getattr(transform, "crop_size", None) or transform.resize_size)[0]
        assert transform(rushlight.zeros(3, 8, 8, dtype=rushlight.uint8)).shape == (3, side, side)


def test_names_as_torchvision_has_them():
    assert repr(ResNet50_Weights.DEFAULT) == "ResNet50_Weights.IMAGENET1K_V2"
    assert resnet.ResNet50_Weights is ResNet50_Weights
    assert ResNet50_Weights.DEFAULT.meta["categories"][:2] == ["tench", "goldfish"]
    assert "ResNet50_Weights" in models.__all__
    assert ResNet50_Weights.verify("ResNet50_Weights.IMAGENET1K_V1") is ResNet50_Weights["IMAGENET1K_V1"]
    assert ResNet50_Weights.DEFAULT.transforms().resize_size == [232]


def test_refusals():
    with pytest.raises(ValueError, match=r"^Invalid weight name provided: 'a'\."):
        models.get_weight("a")
    with pytest.raises(
        ValueError, match=r"^The weight enum 'A_Weights' for the specific method couldn't be retrieved\."
    ):
        models.get_weight("A_Weights.B")
    with pytest.raises(KeyError, match="IMAGENET"):
        models.resnet18(weights="IMAGENET")
    with pytest.raises(TypeError, match="expected ResNet18_Weights but received ResNet50_Weights"):
        models.resnet18(weights=ResNet50_Weights.DEFAULT)
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10"):
        models.resnet18(weights="DEFAULT", num_classes=10)
    with pytest.raises(AttributeError, match="Nothing_Weights"):
        models.Nothing_Weights  # noqa: B018


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the downloads: `hub.state` is what every address holds, `hub.asked` what was asked for."""
    made = types.ModuleType("rushlight.hub")
    made.asked = []

    def load_state_dict_from_url(url, **options):
        made.asked.append((url, options))
        return dict(made.state)

    made.load_state_dict_from_url = load_state_dict_from_url
    monkeypatch.setitem(sys.modules, "rushlight.hub", made)
    return made


def test_a_state_is_loaded_with_its_hash_checked(hub, monkeypatch):
    leave_uninitialized(monkeypatch)
    source = models.resnet18()
    source.fc.weight.data.fill_(0.25)
    hub.state = source.state_dict()
    model = models.resnet18(weights=ResNet18_Weights.DEFAULT, progress=False)
    assert hub.asked == [(ResNet18_Weights.DEFAULT.url, {"progress": False, "check_hash": True})]
    assert (model.fc.weight == 0.25).all()


def test_a_download_is_checked_against_the_digits_in_its_name(tmp_path, monkeypatch):
    source, file = models.squeezenet1_1(), io.BytesIO()
    rushlight.save(source.state_dict(), file)
    digits = hashlib.sha256(file.getvalue()).hexdigest()[:8]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    weights = models.SqueezeNet1_1_Weights.DEFAULT
    with FileServer({f"good-{digits}.pth": file.getvalue(), "bad-01234567.pth": file.getvalue()}) as server:
        monkeypatch.setattr(weights.value, "url", f"{server.url}good-{digits}.pth")
        model = models.squeezenet1_1(weights="DEFAULT", progress=False)
        monkeypatch.setattr(weights.value, "url", f"{server.url}bad-01234567.pth")
        with pytest.raises(RuntimeError, match="invalid hash value"):
            models.squeezenet1_1(weights="DEFAULT", progress=False)
    assert rushlight.equal(model.features[0].weight, source.features[0].weight)


def test_old_names_of_a_densenet(hub, monkeypatch):
    leave_uninitialized(monkeypatch)
    state = models.densenet121().state_dict()
    hub.state = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))([12])", r"\1.\2", name): value for name, value in state.items()
    }
    assert set(hub.state) != set(state)
    models.densenet121(weights="DEFAULT")


def test_inception_networks_become_what_their_weights_need(hub, monkeypatch):
    leave_uninitialized(monkeypatch)
    hub.state = models.googlenet(init_weights=True).state_dict()
    model = models.googlenet(weights="DEFAULT")
    assert model.transform_input and not model.aux_logits and model.aux1 is None
    with pytest.warns(UserWarning, match="auxiliary heads in the pretrained googlenet model are NOT pretrained"):
        assert models.googlenet(weights="DEFAULT", aux_logits=True).aux1 is not None
    hub.state = models.inception_v3(init_weights=True).state_dict()
    assert models.inception_v3(weights="DEFAULT").AuxLogits is not None
    with pytest.raises(ValueError, match="'aux_logits' expected value True but got False"):
        models.inception_v3(weights="DEFAULT", aux_logits=False)


def test_arguments_of_old_programs(hub, monkeypatch):
    leave_uninitialized(monkeypatch)
    hub.state = models.resnet18().state_dict()
    with pytest.warns(UserWarning) as told:
        models.resnet18(pretrained=True)
    assert [str(warning.message).split(" is ")[0].split(" are ")[0] for warning in told] == [
        "The parameter 'pretrained'",
        "Arguments other than a weight enum or `None` for 'weights'",
    ]
    assert hub.asked.pop()[0] == ResNet18_Weights.IMAGENET1K_V1.url
    with pytest.warns(UserWarning) as told:
        models.resnet18(True)
    assert str(told[0].message).startswith("Using 'weights' as positional parameter(s) is deprecated")
    assert hub.asked
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="No weights available for model vit_h_14"):
        models.vit_h_14(pretrained=True)
