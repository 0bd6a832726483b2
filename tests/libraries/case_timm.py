"""timm: models made by name, forward, backward, features, an optimizer of its own, a schedule, an average of weights."""

import timm
import torch
from report import gradient_norm, norms, say
from timm.data import resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy

MODELS = {
    "resnet10t": {},
    "vit_tiny_patch16_224": {"img_size": 64, "depth": 3},
    "convnext_atto": {"depths": (1, 1, 2, 1)},
    "mobilenetv3_small_050": {},
    "regnetx_002": {},
}
for name, options in MODELS.items():
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10, **options)
    say(f"{name}.parameters", norms(torch.cat([parameter.flatten() for parameter in model.parameters()])))
    images = torch.randn(4, 3, 64, 64)
    model.train()
    output = model(images)
    loss = torch.nn.functional.cross_entropy(output, torch.tensor([1, 2, 3, 4]))
    loss.backward()
    say(f"{name}.loss", loss, within=1e-4)
    say(
        f"{name}.gradient", gradient_norm(model), within=1e-3
    )  # 2x2 images of 4 samples under BatchNorm: badly conditioned
    model.eval()
    with torch.no_grad():
        say(f"{name}.eval", norms(model(images)), within=1e-4)

for name in ("resnet10t", "convnext_atto"):
    torch.manual_seed(0)
    backbone = timm.create_model(name, features_only=True, out_indices=(1, 2)).eval()
    with torch.no_grad():
        for index, feature in enumerate(backbone(torch.randn(1, 3, 64, 64))):
            say(f"{name}.feature{index}", norms(feature))
    say(f"{name}.channels", [backbone.feature_info.channels(), backbone.feature_info.reduction()])

model = timm.create_model("resnet10t", num_classes=0)
say("pooled", list(model(torch.zeros(1, 3, 64, 64)).shape))
say("data_config", resolve_data_config({}, model=model))
say("listed", timm.list_models("resnet1*"))

for optimizer_name in ("adamw", "sgd", "lamb", "adafactor", "lion", "rmsproptf", "nadamw"):
    torch.manual_seed(1)
    layer = torch.nn.Linear(4, 3)
    optimizer = create_optimizer_v2(layer, opt=optimizer_name, lr=1e-2, weight_decay=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        loss = layer(torch.randn(5, 4)).square().mean()
        loss.backward()
        optimizer.step()
    say(f"optimizer.{optimizer_name}", loss)

schedule = CosineLRScheduler(optimizer, t_initial=10, warmup_t=2)
rates = []
for epoch in range(6):
    schedule.step(epoch)
    rates.append(optimizer.param_groups[0]["lr"])
say("cosine", rates)
average = ModelEmaV3(layer, decay=0.9)
optimizer.step()
average.update(layer)
say("average", norms(average.module.weight))
say("accuracy", accuracy(torch.eye(5), torch.tensor([0, 1, 2, 4, 3]), topk=(1, 2)))
logits = torch.arange(6.0).view(2, 3)
say("smoothing", LabelSmoothingCrossEntropy()(logits, torch.tensor([0, 2])))
say("soft", SoftTargetCrossEntropy()(logits, logits.softmax(1)))
