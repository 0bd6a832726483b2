"""Training steps of networks of convolutions."""

from __future__ import annotations

import networks
from networks import adam, classifier, convolved, labels, mlp, model, of, residual, training


@model
def lenet(torch):
    nn = torch.nn
    layers = [nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    network = nn.Sequential(*layers, nn.Flatten(), *mlp(torch, 400, 120, 84, 10))
    return training(torch, network, torch.rand(32, 3, 32, 32), labels(torch, 32))


@model
def cnn_batch_1(torch):
    return training(torch, networks.cnn28(torch), torch.rand(1, 1, 28, 28), labels(torch, 1))


@model
def resnet_block(torch):
    network = classifier(torch, residual(torch, 64), features=64)
    return training(torch, network, torch.rand(8, 64, 28, 28), labels(torch, 8))


@model
def resnet(torch):
    nn = torch.nn
    layers = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), residual(torch, 16)]
    for channels in (32, 64):
        layers += [nn.Conv2d(channels // 2, channels, 3, 2, 1), nn.ReLU(), residual(torch, channels)]
    network = classifier(torch, *layers, features=64)
    return training(torch, network, torch.rand(32, 3, 32, 32), labels(torch, 32))


@model
def bottleneck(torch):
    nn = torch.nn
    layers = convolved(nn, 256, 64, 1), convolved(nn, 64, 64, padding=1), convolved(nn, 64, 256, 1, activation=False)
    block = of(torch, lambda m, x: torch.relu(x + m.layers(x)), layers=nn.Sequential(*layers))
    return training(torch, classifier(torch, block, features=256), torch.rand(8, 256, 14, 14), labels(torch, 8))


@model
def depthwise(torch):
    nn = torch.nn
    layers = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU6()]
    for _ in range(3):
        layers += [nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.ReLU6(), nn.Conv2d(32, 32, 1), nn.ReLU6()]
    return training(torch, classifier(torch, *layers, features=32), torch.rand(16, 3, 64, 64), labels(torch, 16))


@model
def mobilenet_block(torch):
    nn = torch.nn
    layers = [nn.Conv2d(24, 144, 1, bias=False), nn.BatchNorm2d(144), nn.ReLU6()]
    layers += [nn.Conv2d(144, 144, 3, 2, 1, groups=144, bias=False), nn.BatchNorm2d(144), nn.ReLU6()]
    layers += [nn.Conv2d(144, 32, 1, bias=False), nn.BatchNorm2d(32)]
    return training(torch, classifier(torch, *layers, features=32), torch.rand(8, 24, 56, 56), labels(torch, 8))


@model
def convnext_block(torch):
    nn, functional = torch.nn, torch.nn.functional

    def forward(m, x):
        inner = m.narrow(functional.gelu(m.widen(m.norm(m.depthwise(x).permute(0, 2, 3, 1)))))
        return x + inner.permute(0, 3, 1, 2)

    layers = {"depthwise": nn.Conv2d(64, 64, 7, padding=3, groups=64), "norm": nn.LayerNorm(64)}
    layers |= {"widen": nn.Linear(64, 256), "narrow": nn.Linear(256, 64)}
    network = classifier(torch, of(torch, forward, **layers), features=64)
    return training(torch, network, torch.rand(8, 64, 28, 28), labels(torch, 8))


@model
def stem_7x7(torch):
    nn = torch.nn
    network = classifier(torch, nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1), features=64)
    return training(torch, network, torch.rand(4, 3, 112, 112), labels(torch, 4))


@model
def conv_512_channels(torch):
    nn = torch.nn
    network = classifier(torch, nn.Conv2d(512, 512, 3, padding=1), nn.ReLU(), features=512)
    return training(torch, network, torch.rand(8, 512, 7, 7), labels(torch, 8))


@model
def group_norm(torch):
    nn, layers = torch.nn, []
    for inputs in (3, 32):
        layers += [nn.Conv2d(inputs, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.SiLU()]
    network = nn.Sequential(*layers, nn.AvgPool2d(2), nn.Flatten(), nn.Linear(32 * 256, 10))
    return training(torch, network, torch.rand(8, 3, 32, 32), labels(torch, 8))


@model
def unet(torch):
    nn = torch.nn

    def double(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(m, x):
        first = m.down1(x)
        second = m.down2(m.pool(first))
        x = m.up1(torch.cat([m.raise1(m.bottom(m.pool(second))), second], 1))
        return m.head(m.up2(torch.cat([m.raise2(x), first], 1)))

    parts = {"down1": double(3, 16), "down2": double(16, 32), "bottom": double(32, 64), "pool": nn.MaxPool2d(2)}
    parts |= {"raise1": nn.ConvTranspose2d(64, 32, 2, 2), "up1": double(64, 32)}
    parts |= {"raise2": nn.ConvTranspose2d(32, 16, 2, 2), "up2": double(32, 16), "head": nn.Conv2d(16, 2, 1)}
    network = of(torch, forward, **parts)
    images, masks = torch.rand(4, 3, 64, 64), torch.randint(0, 2, (4, 64, 64))
    return training(torch, network, images, masks, adam(torch, network))


@model
def autoencoder(torch):
    nn = torch.nn
    layers = [nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()]
    layers += [nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1)]
    network, images = nn.Sequential(*layers), torch.rand(32, 1, 28, 28)
    return training(torch, network, images, images, adam(torch, network), nn.MSELoss())


@model
def generator(torch):
    """The generator of a DCGAN."""
    nn, layers = torch.nn, []
    for inputs, outputs, stride, padding in ((64, 128, 1, 0), (128, 64, 2, 1), (64, 32, 2, 1)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False)]
        layers += [nn.BatchNorm2d(outputs), nn.ReLU()]
    network = nn.Sequential(*layers, nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh())
    images = torch.rand(16, 1, 32, 32)
    return training(torch, network, torch.randn(16, 64, 1, 1), images, adam(torch, network), nn.MSELoss())


@model
def conv1d(torch):
    nn = torch.nn
    layers = [
        nn.Conv1d(8, 32, 7, padding=3),
        nn.ReLU(),
        nn.Conv1d(32, 64, 5, stride=2),
        nn.ReLU(),
        nn.Conv1d(64, 64, 3),
    ]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 5))
    return training(torch, network, torch.rand(16, 8, 500), labels(torch, 16, 5))


@model
def dilated_conv1d(torch):
    nn, layers = torch.nn, [torch.nn.Conv1d(4, 32, 1)]
    for dilation in (1, 2, 4, 8):
        layers += [nn.Conv1d(32, 32, 3, padding=dilation, dilation=dilation), nn.ReLU()]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 3))
    return training(torch, network, torch.rand(16, 4, 256), labels(torch, 16, 3))


@model
def conv3d(torch):
    nn = torch.nn
    layers = [nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(8, 16, 3, padding=1), nn.ReLU()]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 4))
    return training(torch, network, torch.rand(4, 1, 16, 32, 32), labels(torch, 4, 4))
