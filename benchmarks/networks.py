"""What models are made of: parts of networks and training steps, under the module (rushlight or torch) that is given first."""

from __future__ import annotations

MODELS = {}  # names of workloads of `models` -> functions that take the module and give the step to be timed


def model(function):
    """Register a workload of `models`."""
    MODELS[function.__name__] = function
    return function


def labels(torch, count, classes=10):
    """Random class numbers."""
    return torch.randint(0, classes, (count,))


def adam(torch, network, kind="Adam"):
    """An Adam or AdamW optimizer of all parameters."""
    return getattr(torch.optim, kind)(network.parameters())


def training(torch, model, x, y, optimizer=None, loss_function=None):
    """A training step: SGD and cross-entropy unless others are given."""
    loss_function = loss_function or torch.nn.CrossEntropyLoss()
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        loss = loss_function(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def mlp(torch, *sizes, activation="ReLU", between=None):
    """Linear layers with an activation between them, and before it what ``between(width)`` makes."""
    nn, layers = torch.nn, []
    for inputs, outputs in zip(sizes[:-1], sizes[1:-1]):
        layers += [nn.Linear(inputs, outputs), *([between(outputs)] if between else []), getattr(nn, activation)()]
    layers.append(nn.Linear(*sizes[-2:]))
    return nn.Sequential(*layers)


def of(torch, forward, **modules):
    """A module with these submodules; ``forward(modules, x)`` is what it computes."""

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, module in modules.items():
                setattr(self, name, module)

        def forward(self, *inputs):
            return forward(self, *inputs)

    return Network()


def convolved(nn, inputs, outputs, size=3, activation=True, **options):
    """A convolution without bias, batch normalisation and, if wanted, a ReLU."""
    layers = [nn.Conv2d(inputs, outputs, size, bias=False, **options), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *[nn.ReLU()] * activation)


def residual(torch, channels):
    """A residual block of two 3x3 convolutions."""
    nn = torch.nn
    first = convolved(nn, channels, channels, padding=1)
    second = convolved(nn, channels, channels, activation=False, padding=1)
    return of(torch, lambda m, x: torch.relu(x + m.second(m.first(x))), first=first, second=second)


def classifier(torch, *layers, features, classes=10):
    """Layers of images, then the mean over pixels and a linear layer."""
    nn = torch.nn
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, classes))


def cnn28(torch):
    """Two convolutions and two linear layers for images of 28x28."""
    nn = torch.nn
    head = [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)]
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), *head)


def recurrent(torch, kind, inputs, size, **options):
    """A recurrent layer of sequences (N, steps, inputs), its last state to 10 classes."""
    nn = torch.nn
    layer = getattr(nn, kind)(inputs, size, batch_first=True, **options)
    head = nn.Linear(size * (2 if layer.bidirectional else 1), 10)
    return of(torch, lambda m, x: m.head(m.layer(x)[0][:, -1]), layer=layer, head=head)


def decoder(torch, length, width=128, heads=4, layers=2):
    """A GPT of byte tokens: causal attention by `scaled_dot_product_attention`, norms first."""
    nn, functional = torch.nn, torch.nn.functional

    def block(m, x):
        batch, steps, _ = x.shape
        split = m.enter(m.norm1(x)).view(batch, steps, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(*split.unbind(0), is_causal=True)
        x = x + m.leave(found.transpose(1, 2).reshape(batch, steps, width))
        return x + m.widen(m.norm2(x))

    def make():
        widen = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        enter, leave = nn.Linear(width, 3 * width), nn.Linear(width, width)
        return of(
            torch, block, norm1=nn.LayerNorm(width), norm2=nn.LayerNorm(width), enter=enter, leave=leave, widen=widen
        )

    def forward(m, tokens):
        return m.head(m.blocks(m.tokens(tokens) + m.places)).reshape(-1, 256)

    blocks = nn.Sequential(*[make() for _ in range(layers)])
    places = nn.Parameter(torch.zeros(length, width))
    return of(torch, forward, tokens=nn.Embedding(256, width), places=places, blocks=blocks, head=nn.Linear(width, 256))


def encoder(torch, width, heads, wide, layers, **options):
    """`nn.TransformerEncoder` of equal layers."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(width, heads, wide, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
