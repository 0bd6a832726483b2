"""How the models are made small and cheap for tests."""

import rushlight

SMALL = {  # the smallest of each family, and the side of an image that it takes
    "alexnet": 64,
    "convnext_tiny": 32,
    "densenet121": 32,
    "efficientnet_b0": 32,
    "efficientnet_v2_s": 32,
    "googlenet": 32,
    "inception_v3": 75,
    "mnasnet0_5": 32,
    "mobilenet_v2": 32,
    "mobilenet_v3_small": 32,
    "regnet_x_400mf": 32,
    "regnet_y_400mf": 32,
    "resnet18": 32,
    "shufflenet_v2_x0_5": 32,
    "squeezenet1_1": 32,
    "swin_t": 32,
    "swin_v2_t": 32,
    "vgg11": 32,
    "vit_b_32": 64,
}


def options(name, size=None):
    """The arguments that a test makes the model with."""
    given = {"num_classes": 10}
    if name in ("googlenet", "inception_v3"):
        given["init_weights"] = True
    if name.startswith("vit"):
        given["image_size"] = size or 224
    return given


def leave_uninitialized(monkeypatch, init=rushlight.nn.init):
    """Parameters keep what their memory held: makes a model of a billion numbers in a moment."""
    for name in dir(init):
        if name.endswith("_") and not name.startswith("_"):
            monkeypatch.setattr(init, name, lambda tensor, *args, **kwargs: tensor)
