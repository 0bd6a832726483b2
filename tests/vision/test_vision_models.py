"""Image models: parameter counts, names and shapes, as torchvision 0.28 has them."""

import hashlib

import pytest
from model_cases import SMALL, leave_uninitialized, options

import rushlight
from rushlight.vision import models

# name: (parameters, hash of the names and shapes of the state); made from torchvision's own models
PINS = {
    "alexnet": (61100840, "fb0abbb96582"),
    "convnext_base": (88591464, "2e6c6ac0deb0"),
    "convnext_large": (197767336, "f880956921c3"),
    "convnext_small": (50223688, "48fb6338502e"),
    "convnext_tiny": (28589128, "f35a06dc6650"),
    "densenet121": (7978856, "79c2c8a32ac5"),
    "densenet161": (28681000, "bcd681053a4b"),
    "densenet169": (14149480, "7ff98be7ad6c"),
    "densenet201": (20013928, "67e1e762d707"),
    "efficientnet_b0": (5288548, "069233acf584"),
    "efficientnet_b1": (7794184, "12598568e10c"),
    "efficientnet_b2": (9109994, "c4467ed53896"),
    "efficientnet_b3": (12233232, "6bdac1937696"),
    "efficientnet_b4": (19341616, "32b520dbe6ba"),
    "efficientnet_b5": (30389784, "1ad2d1e102de"),
    "efficientnet_b6": (43040704, "62f733c07149"),
    "efficientnet_b7": (66347960, "30c54943ec00"),
    "efficientnet_v2_l": (118515272, "da8613838e2f"),
    "efficientnet_v2_m": (54139356, "940efe7956be"),
    "efficientnet_v2_s": (21458488, "42b9a4393171"),
    "googlenet": (13004888, "7bb52acb0440"),
    "inception_v3": (27161264, "d86c3cdc65db"),
    "mnasnet0_5": (2218512, "987ea38ccc5b"),
    "mnasnet0_75": (3170208, "0145b2a3e949"),
    "mnasnet1_0": (4383312, "79072ef7458a"),
    "mnasnet1_3": (6282256, "965b9a7f4d14"),
    "mobilenet_v2": (3504872, "1c18ba5f335c"),
    "mobilenet_v3_large": (5483032, "1df0a5ae5bf0"),
    "mobilenet_v3_small": (2542856, "d4f1a3a64443"),
    "regnet_x_16gf": (54278536, "0634eaf799ca"),
    "regnet_x_1_6gf": (9190136, "c80b94007aed"),
    "regnet_x_32gf": (107811560, "9b15631d3903"),
    "regnet_x_3_2gf": (15296552, "2448962aa778"),
    "regnet_x_400mf": (5495976, "fd5a6f674cc9"),
    "regnet_x_800mf": (7259656, "5192e9ce1911"),
    "regnet_x_8gf": (39572648, "4ac815bcbcbe"),
    "regnet_y_128gf": (644812894, "1a30fb99d993"),
    "regnet_y_16gf": (83590140, "044f6a21774b"),
    "regnet_y_1_6gf": (11202430, "7b6bc12ce721"),
    "regnet_y_32gf": (145046770, "c55385bd8b67"),
    "regnet_y_3_2gf": (19436338, "932877e00e61"),
    "regnet_y_400mf": (4344144, "6c5196584116"),
    "regnet_y_800mf": (6432512, "453d7fcea547"),
    "regnet_y_8gf": (39381472, "885991fb1d9b"),
    "resnet101": (44549160, "08d49ebbdc97"),
    "resnet152": (60192808, "e0308459e9c0"),
    "resnet18": (11689512, "9682c6fd405d"),
    "resnet34": (21797672, "b5362b8c3199"),
    "resnet50": (25557032, "f398fe5f16a9"),
    "resnext101_32x8d": (88791336, "b8d57ce9e87e"),
    "resnext101_64x4d": (83455272, "13b0cceab841"),
    "resnext50_32x4d": (25028904, "9a47faebfc93"),
    "shufflenet_v2_x0_5": (1366792, "843ba1c44b06"),
    "shufflenet_v2_x1_0": (2278604, "1614bda6c2c3"),
    "shufflenet_v2_x1_5": (3503624, "413a85835019"),
    "shufflenet_v2_x2_0": (7393996, "4735ecb6108b"),
    "squeezenet1_0": (1248424, "873c3481b9b2"),
    "squeezenet1_1": (1235496, "9cf34f8e4ebf"),
    "swin_b": (87768224, "5d1ec40694d4"),
    "swin_s": (49606258, "5a7c94037a2c"),
    "swin_t": (28288354, "442a329d52f0"),
    "swin_v2_b": (87930848, "cc6cc22dac10"),
    "swin_v2_s": (49737442, "046b38227acb"),
    "swin_v2_t": (28351570, "7a0e37625941"),
    "vgg11": (132863336, "37cf01db9dec"),
    "vgg11_bn": (132868840, "84dc7bc2edf6"),
    "vgg13": (133047848, "2a806d8cb236"),
    "vgg13_bn": (133053736, "11a299b0d71e"),
    "vgg16": (138357544, "e6f6dcd7f608"),
    "vgg16_bn": (138365992, "a49a9e064802"),
    "vgg19": (143667240, "94ee89e212fd"),
    "vgg19_bn": (143678248, "f91df4c4077c"),
    "vit_b_16": (86567656, "703cc94d7d59"),
    "vit_b_32": (88224232, "173edea6339f"),
    "vit_h_14": (632045800, "df5a1790f3ff"),
    "vit_l_16": (304326632, "ee8d17aee15d"),
    "vit_l_32": (306535400, "c8d2b1d7e97e"),
    "wide_resnet101_2": (126886696, "fe5070ab23b2"),
    "wide_resnet50_2": (68883240, "e373ab8541bc"),
}


def test_every_model_is_pinned():
    assert models.list_models(module=models) == sorted(PINS)


@pytest.mark.filterwarnings("ignore:The default weight initialization:FutureWarning")
@pytest.mark.parametrize("name", PINS)
def test_names_and_shapes(name, monkeypatch):
    leave_uninitialized(monkeypatch)
    model = models.get_model(name)
    shapes = [(key, tuple(value.shape)) for key, value in model.state_dict().items()]
    count = sum(parameter.numel() for parameter in model.parameters())
    assert (count, hashlib.sha256(repr(shapes).encode()).hexdigest()[:12]) == PINS[name]
    if name not in ("googlenet", "vit_h_14"):  # published without auxiliary classifiers, and for larger images
        assert models.get_model_weights(name).DEFAULT.meta["num_params"] == count


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


def test_auxiliary_classifiers_answer_while_training_only(monkeypatch):
    leave_uninitialized(monkeypatch)
    model = models.googlenet(**options("googlenet"))
    image = rushlight.zeros(2, 3, 32, 32)
    assert type(model(image)).__name__ == "GoogLeNetOutputs"
    assert type(model.eval()(image)) is rushlight.Tensor
    assert models.googlenet(aux_logits=False, **options("googlenet")).aux1 is None


def test_a_dense_block_that_saves_memory_has_the_same_gradients():
    results = []
    for saving in (False, True):
        rushlight.manual_seed(0)
        model = models.DenseNet(4, (2, 2), 8, num_classes=3, memory_efficient=saving)
        model(rushlight.ones(2, 3, 32, 32)).sum().backward()
        results.append([parameter.grad for parameter in model.parameters()])
    assert all(rushlight.allclose(one, other) for one, other in zip(*results))


def test_small_models_are_models():
    assert set(SMALL) <= set(PINS)
