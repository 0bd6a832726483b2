"""nn.utils.parametrizations.orthogonal: its three maps, what they are made of and what they refuse, as in PyTorch."""

import itertools

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

SHAPES = [(4, 4), (5, 3), (3, 5), (2, 4, 4), (2, 5, 3), (2, 3, 5), (1, 1)]
MAPS = [None, "matrix_exp", "cayley", "householder"]


def holder(library, values):
    module = library.nn.Module()
    module.weight = library.nn.Parameter(library.tensor(values.copy()))
    return module


def trained(library, values, orthogonal_map, use_trivialization, seed=0):
    """A parametrized module after three steps: weights on the way, gradient, state."""
    library.manual_seed(seed)
    module = holder(library, values)
    library.nn.utils.parametrizations.orthogonal(
        module, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization
    )
    optimizer = library.optim.SGD(module.parameters(), lr=0.05)
    factors = library.arange(float(values.size)).reshape(values.shape) / values.size
    seen = []
    for _ in range(3):
        optimizer.zero_grad()
        weight = module.weight
        (weight * factors).abs().square().sum().add((weight.real * factors).sum()).backward()
        (original,) = module.parameters()
        seen += [weight.detach().numpy().copy(), original.grad.numpy().copy()]
        optimizer.step()
    return module, seen, {name: value.numpy() for name, value in module.state_dict().items()}


def outcome(act):
    try:
        return act()
    except Exception as error:
        return type(error).__name__, str(error).split("\nhint:")[0]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_gradients_and_state(shape, dtype):
    random = np.random.default_rng(1)
    values = random.standard_normal(shape)
    if dtype == "complex128":
        values = values + 1j * random.standard_normal(shape)
    for orthogonal_map, use_trivialization in itertools.product(MAPS, (True, False)):
        ours, theirs = (
            outcome(lambda library=library: trained(library, values, orthogonal_map, use_trivialization))
            for library in (rushlight, torch)
        )
        assert len(ours) == len(theirs)
        if len(theirs) == 2:
            assert ours == theirs
            continue
        for mine, real in zip(ours[1], theirs[1], strict=True):
            np.testing.assert_allclose(mine, real, rtol=1e-8, atol=1e-10)
        assert list(ours[2]) == list(theirs[2])
        for name, real in theirs[2].items():
            np.testing.assert_allclose(ours[2][name], real, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("use_trivialization", [True, False])
def test_assignment_and_removal(orthogonal_map, use_trivialization):
    values = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]

    def story(library, assigned):
        module = holder(library, values)
        library.nn.utils.parametrizations.orthogonal(
            module, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization
        )
        module.weight = library.tensor(assigned)
        before = module.weight.detach().numpy().copy()
        library.nn.utils.parametrize.remove_parametrizations(module, "weight")
        return [before, module.weight.detach().numpy()]

    for assigned in (values[::-1].copy(), values * 2 + 1, values[:3].copy()):
        ours, theirs = (outcome(lambda library=library: story(library, assigned)) for library in (rushlight, torch))
        if isinstance(theirs, tuple):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_state_goes_over_both_ways():
    for give, take in ((rushlight, torch), (torch, rushlight)):
        given = give.nn.utils.parametrizations.orthogonal(give.nn.Linear(3, 5))
        taken = take.nn.utils.parametrizations.orthogonal(take.nn.Linear(3, 5))
        taken.load_state_dict({name: take.tensor(value.numpy()) for name, value in given.state_dict().items()})
        np.testing.assert_allclose(taken.weight.detach().numpy(), given.weight.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "act",
    [
        lambda library, orthogonal: orthogonal(library.nn.Linear(2, 3), "absent"),
        lambda library, orthogonal: orthogonal(library.nn.Linear(2, 3), "bias"),
        lambda library, orthogonal: orthogonal(library.nn.Linear(2, 3), orthogonal_map="rotation"),
        lambda library, orthogonal: orthogonal(
            library.nn.Linear(2, 2, dtype=library.complex64), orthogonal_map="householder"
        ),
    ],
)
def test_refusals(act):
    ours, theirs = (
        outcome(lambda library=library: act(library, library.nn.utils.parametrizations.orthogonal))
        for library in (rushlight, torch)
    )
    assert ours == theirs


def transferred(library, parametrizations, tensor_name):
    library.manual_seed(3)
    given, taken = library.nn.Linear(3, 3), library.nn.Linear(3, 3)
    for each in parametrizations:
        getattr(library.nn.utils.parametrizations, each)(given)
    result = library.nn.utils.parametrize.transfer_parametrizations_and_params(given, taken, tensor_name)
    assert result is taken
    same = [name for name, value in taken.named_parameters() if any(value is other for other in given.parameters())]
    return {name: value.numpy().tolist() for name, value in taken.state_dict().items()}, same


@pytest.mark.parametrize("tensor_name", [None, "weight", "bias"])
@pytest.mark.parametrize("parametrizations", [[], ["orthogonal"], ["weight_norm"], ["spectral_norm"]], ids=str)
def test_transfer(parametrizations, tensor_name):
    ours, theirs = (
        outcome(lambda library=library: transferred(library, parametrizations, tensor_name))
        for library in (rushlight, torch)
    )
    if isinstance(theirs[0], str):
        assert ours == theirs
        return
    assert ours[1] == theirs[1] and list(ours[0]) == list(theirs[0])
    for name, real in theirs[0].items():
        np.testing.assert_allclose(ours[0][name], real, atol=1e-5)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_memory_formats_of_weights(dimensions):
    def strides(library):
        layers = library.nn
        net = layers.Sequential(
            getattr(layers, f"Conv{dimensions}d")(1, 4, 3),
            layers.Sequential(
                getattr(layers, f"ConvTranspose{dimensions}d")(4, 2, 1), layers.Conv2d(3, 5, 2), layers.Conv3d(3, 5, 2)
            ),
        )
        form = library.channels_last if dimensions == 2 else library.channels_last_3d
        convert = getattr(layers.utils, f"convert_conv{dimensions}d_weight_memory_format")
        assert convert(net, form) is net
        first = [tuple(each.stride()) for each in net.parameters()]
        convert(net, library.contiguous_format)
        return first, [tuple(each.stride()) for each in net.parameters()]

    assert strides(rushlight) == strides(torch)
