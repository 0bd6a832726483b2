"""Linear layers, activations, dropout, embeddings and distances against PyTorch: outputs and gradients."""

import numpy as np
import pytest
from layer_pairs import LOOSE, check_layers, check_source, draw

import rushlight as rl

torch = pytest.importorskip("torch")


def pair(source):
    """The layer that ``source`` makes, in both libraries."""
    names = [{"nn": library.nn, "torch": library} for library in (rl, torch)]
    return [eval(source, scope) for scope in names]


ACTIVATIONS = [
    "nn.Threshold(0.1, 20.0)", "nn.ReLU()", "nn.Hardtanh(-0.5, 1.0)", "nn.ReLU6()", "nn.Sigmoid()", "nn.Hardsigmoid()",
    "nn.Tanh()", "nn.SiLU()", "nn.Mish()", "nn.Hardswish()", "nn.ELU(1.5)", "nn.CELU(0.7)", "nn.SELU()", "nn.GLU()",
    "nn.GLU(0)", "nn.GELU()", "nn.GELU('tanh')", "nn.Hardshrink()", "nn.LeakyReLU(0.2)", "nn.LogSigmoid()",
    "nn.Softplus(2.0, 1.0)", "nn.Softshrink()", "nn.Softsign()", "nn.Tanhshrink()", "nn.Softmin(0)", "nn.Softmax(1)",
    "nn.Softmax2d()", "nn.LogSoftmax(-1)", "nn.PReLU(4, dtype=torch.float64)", "nn.PReLU(dtype=torch.float64)",
]  # fmt: skip


@pytest.mark.parametrize("source", ACTIVATIONS)
def test_activations(source):
    inputs = [3 * draw(2, 4, 6)] if "2d" in source else [3 * draw(2, 4)]
    check_layers(*pair(source), inputs, tolerance={"rtol": 1e-6, "atol": 1e-7})  # PyTorch rounds constants to float32


@pytest.mark.parametrize(
    "name",
    ["ReLU", "Hardtanh", "ReLU6", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "ELU", "CELU", "SELU", "LeakyReLU"],
)
def test_in_place(name):
    check_source(f"(lambda x: (x, nn.{name}(inplace=True)(x), nn.{name}(inplace=True)(x) is x))(R(3, 4))", torch)


def test_random_leaky_slopes():
    check_layers(*pair("nn.RReLU()"), [draw(3, 5)], tolerance=LOOSE)


@pytest.mark.parametrize("source, shapes", [
    ("nn.Linear(3, 4, dtype=torch.float64)", [(5, 3)]),
    ("nn.Linear(3, 4, dtype=torch.float64)", [(3,)]),
    ("nn.Linear(3, 4, bias=False, dtype=torch.float64)", [(2, 5, 3)]),
    ("nn.Bilinear(2, 3, 4, dtype=torch.float64)", [(5, 2), (5, 3)]),
    ("nn.Bilinear(2, 3, 4, bias=False, dtype=torch.float64)", [(2, 5, 2), (2, 5, 3)]),
    ("nn.Identity()", [(2, 3)]),
    ("nn.Flatten()", [(2, 3, 4)]),
    ("nn.Flatten(0, 1)", [(2, 3, 4)]),
    ("nn.Unflatten(1, (2, -1))", [(2, 6)]),
    ("nn.CosineSimilarity()", [(4, 3), (4, 3)]),
    ("nn.CosineSimilarity(dim=0)", [(4, 3), (4, 3)]),
    ("nn.PairwiseDistance()", [(4, 3), (4, 3)]),
    ("nn.PairwiseDistance(1.0, keepdim=True)", [(4, 3), (4, 3)]),
])  # fmt: skip
def test_layers(source, shapes):
    check_layers(*pair(source), [draw(*shape, seed=place) for place, shape in enumerate(shapes)])


@pytest.mark.parametrize("source, shape", [
    ("nn.Dropout(0.3)", (7, 5)),
    ("nn.Dropout1d(0.5)", (4, 6, 3)),
    ("nn.Dropout2d(0.5)", (3, 4, 2, 2)),
    ("nn.Dropout3d(0.5)", (3, 4, 2, 2, 2)),
    ("nn.AlphaDropout(0.3)", (7, 5)),
    ("nn.FeatureAlphaDropout(0.3)", (4, 6, 3)),
])  # fmt: skip
def test_dropout_drops_the_same(source, shape):
    check_layers(*pair(source), [draw(*shape)], tolerance=LOOSE)


@pytest.mark.parametrize(
    "arguments", ["", "padding_idx=1", "scale_grad_by_freq=True", "max_norm=1.0", "max_norm=1.0, norm_type=1.0"]
)
def test_embedding(arguments):
    check_layers(
        *pair(f"nn.Embedding(6, 3, {arguments}{', ' * bool(arguments)}dtype=torch.float64)"),
        [np.array([[1, 2, 1], [5, 0, 2]])],
    )


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 1])
def test_embedding_bag(mode, padding_idx):
    layers = pair(f"nn.EmbeddingBag(6, 3, mode={mode!r}, padding_idx={padding_idx}, dtype=torch.float64)")
    check_layers(*layers, [np.array([[1, 2, 1], [5, 0, 2]])])
    check_layers(*layers, [np.array([1, 2, 1, 5, 0, 2]), np.array([0, 2, 2])])


def test_embedding_bag_weights():
    layers = pair("nn.EmbeddingBag(6, 3, mode='sum', dtype=torch.float64)")
    bags, weights = np.array([[1, 2, 1], [5, 0, 2]]), draw(2, 3)
    check_layers(
        *layers, [bags, weights], call=lambda library, layer, bags, weights: layer(bags, per_sample_weights=weights)
    )


def test_adaptive_log_softmax():
    layers = pair("nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0, dtype=torch.float64)")
    inputs = [draw(5, 8), np.array([0, 3, 5, 12, 19])]
    check_layers(*layers, inputs)
    check_layers(*layers, [inputs[0][0], np.array(12)])
    check_layers(*layers, inputs[:1], call=lambda library, layer, x: layer.log_prob(x))
    ours, theirs = layers
    x = inputs[0]
    assert ours.predict(rl.from_numpy(x)).tolist() == theirs.predict(torch.from_numpy(x)).tolist()


@pytest.mark.parametrize("arguments", [
    "R(5, 8), torch.tensor([0, 1, 2, 3, 20])",
    "R(5, 8), torch.tensor([0, 1, 2])",
    "R(8), torch.tensor([0])",
    "R(5, 8), torch.tensor(3)",
    "R(5, 8), torch.tensor([[1, 2]])",
])  # fmt: skip
def test_adaptive_log_softmax_errors(arguments):
    check_source(f"nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0)({arguments})", torch)
