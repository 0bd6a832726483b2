"""Image models against torchvision's: initial parameters, printed form, outputs and gradients, in both modes."""

import gc
import os

import numpy as np
import pytest
from model_cases import SMALL, options
from torchvision_oracle import torch, torchvision

import rushlight
from rushlight.vision import models

theirs = torchvision.models
SIZES = {"inception_v3": 299, "vit_h_14": 56}  # of images; 64 is what others take
CHEAP = ["mnasnet0_5", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1"]
OTHERS = [name for name in SMALL if name not in (*CHEAP, "alexnet", "vgg11")]  # those two have the largest layers
if os.environ.get("RUSHLIGHT_EXAMPLES"):  # all 79 of them take some ten minutes
    OTHERS = [name for name in models.list_models(module=models) if name not in CHEAP]
CASES = [*CHEAP, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]


def step(lib, model, image, labels):
    """The outputs, and the gradients by name, of one step; all in float64."""
    outputs = model(lib.from_numpy(image))
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    sum(lib.nn.functional.cross_entropy(output, lib.from_numpy(labels)) for output in outputs).backward()
    gradients = {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}
    return [output.detach().numpy() for output in outputs], gradients


@pytest.mark.parametrize("name", CASES)
def test_model_is_torchvisions(name):
    gc.collect()
    size = SIZES.get(name, 32 if name.startswith(("swin", "convnext")) else 64)
    torch.manual_seed(3)
    expected = theirs.get_model(name, **options(name, size))
    rushlight.manual_seed(3)
    model = models.get_model(name, **options(name, size))
    assert repr(model) == repr(expected)
    state, reference = model.state_dict(), expected.state_dict()
    assert list(state) == list(reference)
    for key, value in reference.items():
        assert np.array_equal(state[key].numpy(), value.numpy()), key
    random = np.random.default_rng(0)
    image, labels = random.standard_normal((2, 3, size, size)), np.array([1, 2])
    model.double()
    expected.double()
    if name.startswith("vit"):  # its last layer begins as zero, behind which all gradients are zero
        weight = 0.1 * random.standard_normal(tuple(model.heads.head.weight.shape))
        model.heads.head.weight.data.copy_(rushlight.from_numpy(weight))
        expected.heads.head.weight.data.copy_(torch.from_numpy(weight))
    # float64: in float32 a ReLU whose input is almost zero may fall to either side, in PyTorch as here,
    # and gradients then differ by a hundredth (see test_float32_errors_are_pytorchs_own)
    for training in (False, True):
        for lib, made in ((torch, expected), (rushlight, model)):
            made.train(training).zero_grad()
            lib.manual_seed(5)
        wanted, wanted_gradients = step(torch, expected, image, labels)
        got, gradients = step(rushlight, model, image, labels)
        for one, other in zip(got, wanted, strict=True):
            assert np.abs(one - other).max() < 1e-10 * np.abs(other).max()
        assert set(gradients) == set(wanted_gradients)
        largest = max(np.abs(gradient).max() for gradient in wanted_gradients.values())
        for key, gradient in wanted_gradients.items():
            scale = max(np.abs(gradient).max(), 1e-4 * largest)
            assert np.abs(gradients[key] - gradient).max() < 1e-7 * scale, (key, training)


@pytest.mark.slow
def test_float32_errors_are_pytorchs_own():
    """mobilenet_v2 at 64x64: the error of a float32 gradient is rounding, or a hundredth once a ReLU6 flips; so is PyTorch's."""
    errors = {"torch": [], "rushlight": []}
    for seed in range(8):
        image = np.random.default_rng(seed).standard_normal((4, 3, 64, 64), dtype=np.float32)
        labels = np.array([1, 2, 3, 0])
        gradients = {}
        for lib, made in ((torch, theirs), (rushlight, models)):
            for kind in ("float32", "float64"):
                lib.manual_seed(seed)
                model = made.mobilenet_v2(num_classes=10, dropout=0.0).to(getattr(lib, kind))
                gradients[lib.__name__, kind] = step(lib, model, image.astype(kind), labels)[1]
        exact = gradients["torch", "float64"]
        assert median_error(gradients["rushlight", "float64"], exact) < 1e-10
        for name in errors:
            errors[name].append(median_error(gradients[name, "float32"], exact))
    assert max(errors["rushlight"]) < 0.1
    assert min(errors["rushlight"]) < 2 * min(errors["torch"]) < 1e-4
    assert np.median(errors["rushlight"]) < 10 * np.median(errors["torch"])


def median_error(gradients, exact):
    return np.median([np.linalg.norm(gradients[k] - exact[k]) / (np.linalg.norm(exact[k]) + 1e-30) for k in exact])
