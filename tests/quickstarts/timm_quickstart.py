"""Models of timm: parameters, outputs in both modes, gradients, features."""

import timm
import torch


def show(name, tensor):
    """The shape, the mean of the magnitudes and the first elements."""
    print(name, tuple(tensor.shape), tensor.double().abs().mean(), tensor.flatten()[:3].tolist())


for name, options in {
    "resnet18": {}, "resnet50": {}, "convnext_atto": {}, "vit_tiny_patch16_224": {"img_size": 64}, "mobilenetv3_small_050": {},
}.items():  # fmt: skip
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=10, **options)
    show(f"{name} parameters", torch.cat([one.detach().flatten() for one in model.parameters()]))
    x = torch.randn(4, 3, 64, 64)
    with torch.no_grad():
        show("evaluation", model.eval()(x))
    output = model.train()(x)
    torch.nn.functional.cross_entropy(output, torch.tensor([1, 2, 3, 4])).backward()
    show("training", output.detach())
    show("gradients", torch.cat([one.grad.flatten() for one in model.parameters()]))
for name, options in {"resnet18": {}, "convnext_atto": {}, "vit_tiny_patch16_224": {"img_size": 64}}.items():
    torch.manual_seed(0)
    model = timm.create_model(name, features_only=True, **options).eval()
    for feature in model(torch.randn(1, 3, 64, 64)):
        show(f"{name} feature", feature.detach())
    print(model.feature_info.channels(), model.feature_info.reduction())
