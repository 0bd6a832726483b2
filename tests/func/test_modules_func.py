"""Modules as functions of their parameters: functional_call and stacks of models, and whole layers under vmap."""

import importlib
import subprocess
import sys
import warnings

import pytest

import rushlight as rl
from rushlight.func import (
    functional_call,
    functionalize,
    grad,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vmap,
)
from rushlight.nn import functional as F


class Tied(rl.nn.Module):
    """Two names for one parameter, and a buffer that a call replaces."""

    def __init__(self):
        super().__init__()
        self.a = rl.nn.Parameter(rl.ones(2))
        self.b = self.a
        self.register_buffer("count", rl.zeros(()))

    def forward(self, x, scale=1.0):
        self.count = self.count + 1
        return (x + self.a * 10 + self.b) * scale


class Net(rl.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = rl.nn.Conv2d(1, 3, 3)
        self.norm = rl.nn.GroupNorm(3, 3)
        self.fc = rl.nn.Linear(27, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return F.log_softmax(self.fc(x.flatten(1)), 1)


def close(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        assert rl.allclose(found[name], expected[name], 1e-4, 1e-5), name


def test_the_module_is_as_before():
    layer = rl.nn.Linear(2, 1)
    before = dict(layer.named_parameters())
    found = functional_call(layer, {"weight": rl.ones(1, 2), "bias": rl.zeros(1)}, rl.tensor([3.0, 4.0]))
    assert found.tolist() == [7.0]
    assert all(after is before[name] for name, after in layer.named_parameters())
    with pytest.raises(RuntimeError):
        functional_call(layer, {"weight": rl.ones(1, 3)}, rl.ones(2))
    assert layer.weight is before["weight"]


def test_arguments_and_several_dictionaries():
    state, buffers = {"a": rl.zeros(2)}, {"count": rl.tensor(5.0)}
    found = functional_call(Tied(), (state, buffers), (rl.ones(2),), {"scale": 2.0})
    assert found.tolist() == [2.0, 2.0] and buffers["count"].item() == 5.0


def test_what_the_call_assigns_is_found_in_the_dictionary():
    state = {"count": rl.tensor(5.0)}
    module = Tied()
    functional_call(module, state, rl.ones(2))
    assert state["count"].item() == 6.0 and module.count.item() == 0.0


def test_tied_parameters():
    module = Tied()
    assert functional_call(module, {"b": rl.zeros(2)}, rl.ones(2)).tolist() == [1.0, 1.0]
    assert functional_call(module, {"b": rl.zeros(2)}, rl.ones(2), tie_weights=False).tolist() == [11.0, 11.0]
    with pytest.raises(ValueError, match=r"got multiple values for keys \['a', 'b'\], which are tied"):
        functional_call(module, {"a": rl.zeros(2), "b": rl.ones(2)}, rl.ones(2))


def test_parametrized_modules():
    class Doubled(rl.nn.Module):
        def forward(self, x):
            return x * 2

    layer = rl.nn.Linear(2, 1, bias=False)
    rl.nn.utils.parametrize.register_parametrization(layer, "weight", Doubled())
    found = functional_call(layer, {"parametrizations.weight.original": rl.ones(1, 2)}, rl.tensor([1.0, 2.0]))
    assert found.tolist() == [6.0]


REFUSED = {
    "strict": lambda t, m: t.func.functional_call(m, {"weight": t.ones(1, 2), "other": t.ones(1)}, t.ones(2), strict=True),
    "a list of others": lambda t, m: t.func.functional_call(m, [3], t.ones(2)),
    "a number": lambda t, m: t.func.functional_call(m, 3, t.ones(2)),
    "repeated": lambda t, m: t.func.functional_call(m, ({"bias": t.ones(1)}, {"bias": t.ones(1)}), t.ones(2)),
    "no submodule": lambda t, m: t.func.functional_call(m, {"a.b": t.ones(1)}, t.ones(2)),
    "no tensor": lambda t, m: t.func.functional_call(m, {"bias": 3}, t.ones(2)),
    "no models": lambda t, m: t.func.stack_module_state([]),
    "modes": lambda t, m: t.func.stack_module_state([m, t.nn.Linear(2, 1).eval()]),
    "classes": lambda t, m: t.func.stack_module_state([m, t.nn.Identity()]),
    "frozen": lambda t, m: t.func.stack_module_state([m, t.nn.Linear(2, 1).requires_grad_(False)]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    errors = []
    for module in (rl, torch):
        with pytest.raises((RuntimeError, ValueError, AttributeError, TypeError)) as error:
            REFUSED[name](module, module.nn.Linear(2, 1))
        lines = str(error.value).split("hint:")[0].strip()
        errors.append((type(error.value).__name__, lines))
    assert errors[0] == errors[1]


def test_the_old_name_warns():
    layer = rl.nn.Linear(2, 1)
    with pytest.warns(FutureWarning, match="functional_call` is deprecated as of PyTorch 2.0"):
        found = rl.nn.utils.stateless.functional_call(layer, {"weight": rl.ones(1, 2)}, rl.ones(2))
    assert found.shape == (1,)


def test_gradients_of_each_sample():
    rl.manual_seed(0)
    net, images, classes = Net(), rl.randn(4, 1, 8, 8), rl.tensor([0, 3, 1, 1])
    params = {name: param.detach() for name, param in net.named_parameters()}

    def loss(params, image, label):
        return F.nll_loss(functional_call(net, params, (image.unsqueeze(0),)), label.unsqueeze(0))

    found = vmap(grad(loss), (None, 0, 0))(params, images, classes)
    each = [grad(loss)(params, image, label) for image, label in zip(images, classes)]
    close(found, {name: rl.stack([one[name] for one in each]) for name in params})


def test_an_ensemble():
    rl.manual_seed(0)
    models, images = [Net() for _ in range(3)], rl.randn(2, 1, 8, 8)
    params, buffers = stack_module_state(models)
    assert params["fc.weight"].requires_grad and params["fc.weight"].is_leaf and not buffers

    def call(params, buffers, images):
        return functional_call(models[0], (params, buffers), (images,))

    found = vmap(call, (0, 0, None))(params, buffers, images)
    assert rl.allclose(found, rl.stack([model(images) for model in models]), 1e-4, 1e-5)
    found.sum().backward()
    models[1](images).sum().backward()
    assert rl.allclose(params["conv.weight"].grad[1], models[1].conv.weight.grad, 1e-3, 1e-4)


def test_batch_norms_without_running_statistics():
    net = rl.nn.Sequential(rl.nn.BatchNorm1d(3), rl.nn.Sequential(rl.nn.BatchNorm2d(3), rl.nn.InstanceNorm1d(3)))
    batch = rl.randn(2, 5, 3)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the running_mean"):
        vmap(net[0])(batch)
    assert replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is None and not net[1][0].track_running_stats
    assert rl.allclose(vmap(net[0])(batch), rl.stack([net[0](each) for each in batch]), 1e-4, 1e-5)


def _encoder():
    return rl.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)


LAYERS = {
    "linear": (lambda: rl.nn.Linear(4, 3), (2, 4)),
    "bilinear": (lambda: rl.nn.Bilinear(4, 4, 3), (2, 4)),
    "conv1d": (lambda: rl.nn.Conv1d(2, 3, 3, padding=1), (1, 2, 4)),
    "conv2d grouped": (lambda: rl.nn.Conv2d(2, 4, 3, padding=1, groups=2), (1, 2, 4, 4)),
    "conv transposed": (lambda: rl.nn.ConvTranspose2d(2, 3, 3, stride=2), (1, 2, 3, 3)),
    "layer norm": (lambda: rl.nn.LayerNorm(4), (2, 4)),
    "group norm": (lambda: rl.nn.GroupNorm(2, 4), (2, 4, 3)),
    "batch norm": (lambda: rl.nn.BatchNorm1d(4, track_running_stats=False), (5, 4)),
    "instance norm": (lambda: rl.nn.InstanceNorm1d(3, affine=True), (2, 3, 4)),
    "prelu": (lambda: rl.nn.PReLU(2), (1, 2, 3)),
    "rnn": (lambda: rl.nn.RNN(4, 3), (5, 1, 4)),
    "lstm": (lambda: rl.nn.LSTM(4, 3, bidirectional=True), (5, 1, 4)),
    "gru": (lambda: rl.nn.GRU(4, 3, 2), (5, 1, 4)),
    "gru cell": (lambda: rl.nn.GRUCell(4, 3), (2, 4)),
    "attention": (lambda: rl.nn.MultiheadAttention(4, 2), (3, 1, 4)),
    "encoder": (_encoder, (1, 3, 4)),
}


@pytest.mark.parametrize("trained", [False, True], ids=["one for all", "one each"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, trained):
    """A layer on a batch of inputs, and with parameters of its own for each; values, and gradients by the parameters."""
    rl.manual_seed(0)
    make, shape = LAYERS[name]
    layer, batch = make(), rl.randn(3, *shape)
    params = {key: value.detach() for key, value in layer.named_parameters()}
    if trained:
        params = {key: rl.stack([value, value * 1.1, value * 0.9]) for key, value in params.items()}
    arguments = {"bilinear": 2, "attention": 3}.get(name, 1)

    def loss(params, x):
        found = functional_call(layer, params, (x,) * arguments)
        found = found[0] if isinstance(found, tuple) else found
        return (found * found).sum(), found

    dims = (0 if trained else None, 0)
    found, output = vmap(grad(loss, has_aux=True), dims)(params, batch)
    each = []
    for number, x in enumerate(batch):
        own = {key: value[number] for key, value in params.items()} if trained else params
        each.append(grad(loss, has_aux=True)(own, x))
    assert rl.allclose(output, rl.stack([one for _, one in each]), 1e-4, 1e-5)
    close(found, {key: rl.stack([one[key] for one, _ in each]) for key in params})


@pytest.mark.parametrize("name", LAYERS)
def test_second_derivatives_outside(name):
    """The gradient, by all of a batch, of a number made of the gradients of its entries."""
    rl.manual_seed(0)
    make, shape = LAYERS[name]
    layer = make().double()
    params = {key: value.detach() for key, value in layer.named_parameters()}
    batch = rl.randn(2, *shape, dtype=rl.float64)
    arguments = {"bilinear": 2, "attention": 3}.get(name, 1)

    def loss(params, x):
        found = functional_call(layer, params, (x,) * arguments)
        found = found[0] if isinstance(found, tuple) else found
        return (found.sin() * found).sum()

    def size(gradients):
        return sum((gradient**2).sum() for gradient in gradients.values())

    mapped = grad(lambda params, batch: size(vmap(grad(loss), (None, 0))(params, batch)), (0, 1))
    loop = grad(lambda params, batch: sum(size(grad(loss)(params, x)) for x in batch), (0, 1))
    (found, of_batch), (expected, of_entries) = mapped(params, batch), loop(params, batch)
    close(found, expected)
    assert rl.allclose(of_batch, of_entries, 1e-6, 1e-8)


LOSSES = {
    "cross_entropy": lambda s, y: F.cross_entropy(s, y),
    "cross_entropy smoothed": lambda s, y: F.cross_entropy(s, y, label_smoothing=0.1, reduction="sum"),
    "cross_entropy weighted": lambda s, y: F.cross_entropy(s, y, rl.tensor([1.0, 2.0, 3.0])),
    "cross_entropy of each": lambda s, y: F.cross_entropy(s, y, reduction="none").sin().sum(),
    "nll ignoring": lambda s, y: F.nll_loss(s.log_softmax(1), y, ignore_index=1),
    "multi_margin": lambda s, y: F.multi_margin_loss(s, y),
    "mse": lambda s, y: F.mse_loss(s, s.detach().flip(1)),
    "huber": lambda s, y: F.huber_loss(s, s.detach().flip(1), reduction="sum"),
    "bce": lambda s, y: F.binary_cross_entropy_with_logits(s, s.detach().sigmoid()),
    "kl_div": lambda s, y: F.kl_div(s.log_softmax(1), s.detach().flip(1).softmax(1), reduction="batchmean"),
    "embedding": lambda s, y: (F.embedding(y, s, padding_idx=1) ** 2).sum(),
    "embedding_bag": lambda s, y: F.embedding_bag(rl.tensor([0, 1, 1]), s, rl.tensor([0, 2])).sin().sum(),
    "gather": lambda s, y: s.gather(1, y.unsqueeze(1)).sin().sum(),
    "index": lambda s, y: s[y, :2].sin().sum(),
    "index_add": lambda s, y: s.index_add(0, y, s * 2).sin().sum(),
    "scatter": lambda s, y: s.scatter(1, y.unsqueeze(1), s[:, :1] * 3).sin().sum(),
    "take": lambda s, y: s.take(y).sin().sum(),
    "sort": lambda s, y: (s.sort(1).values * rl.arange(3.0)).sum(),
    "cumprod": lambda s, y: s.cumprod(1).sin().sum(),
    "max_pool": lambda s, y: F.max_pool1d(s, 2, 1).sin().sum(),
    "interpolate": lambda s, y: F.interpolate(s[None], 5, mode="linear").sin().sum(),
    "attention": lambda s, y: F.scaled_dot_product_attention(s, s, s * 2).sin().sum(),
    "solve": lambda s, y: rl.linalg.solve(s[:3] @ s[:3].T + rl.eye(3), s[:3]).sin().sum(),
    "fft": lambda s, y: rl.fft.rfft(s).abs().sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_where_both_are_mapped(name):
    rl.manual_seed(0)
    scores, labels = rl.randn(3, 4, 3), rl.tensor([[0, 1, 2, 1], [2, 2, 0, 0], [1, 0, 1, 2]])
    derivative = grad(LOSSES[name])
    found = vmap(derivative)(scores, labels)
    assert rl.allclose(found, rl.stack([derivative(s, y) for s, y in zip(scores, labels)]), 1e-4, 1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_second_derivatives_outside_of_losses(name):
    rl.manual_seed(0)
    scores = rl.randn(2, 4, 3, dtype=rl.float64)
    labels = rl.tensor([[0, 1, 2, 1], [2, 2, 0, 0]])
    if name == "cross_entropy weighted":
        pytest.skip("its weights are float32")
    derivative = grad(LOSSES[name])
    found = grad(lambda s: (vmap(derivative)(s, labels) ** 2).sum())(scores)
    expected = grad(lambda s: sum((derivative(each, y) ** 2).sum() for each, y in zip(s, labels)))(scores)
    assert rl.allclose(found, expected, 1e-6, 1e-8)


def test_second_derivatives_of_entries():
    rl.manual_seed(0)
    scores, labels = rl.randn(3, 4, 3), rl.tensor([[0, 1, 2, 1], [2, 2, 0, 0], [1, 0, 1, 2]])
    twice = grad(lambda s, y: (grad(lambda s, y: F.cross_entropy(s, y))(s, y) ** 2).sum())
    found = vmap(twice)(scores, labels)
    assert rl.allclose(found, rl.stack([twice(s, y) for s, y in zip(scores, labels)]), 1e-4, 1e-5)


def test_functorch_names():
    from rushlight import _functorch

    assert importlib.import_module("rushlight._functorch.vmap").restore_vmap  # a module; the name stays the function's
    with pytest.warns(FutureWarning, match="functorch.vmap` is deprecated"):
        assert _functorch.vmap(rl.sin)(rl.zeros(2)).tolist() == [0.0, 0.0]
    layer = rl.nn.Linear(2, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call, params = _functorch.make_functional(layer)
        found = call(params, rl.ones(2))
        stacked = _functorch.combine_state_for_ensemble([layer, layer])[1]
    assert rl.equal(found, layer(rl.ones(2))) and stacked[0].shape == (2, 1, 2)


def test_functorch_is_found_where_rushlight_stands_for_pytorch():
    script = """
from rushlight.compat import install_as_torch
install_as_torch()
import functorch, torch
from functorch.experimental import chunk_vmap
assert functorch.experimental.__name__.startswith("rushlight")
assert chunk_vmap(torch.sin, chunks=2)(torch.zeros(3)).tolist() == [0, 0, 0]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_functionalize_computes_the_same():
    def double(x):
        return x.mul_(2)

    given = rl.ones(2)
    assert functionalize(double)(given).tolist() == [2.0, 2.0] and given.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="invalid argument for remove="):
        functionalize(double, remove="all")
