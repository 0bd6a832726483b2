"""linear_cross_entropy, its module and its options, as PyTorch has them."""

import itertools
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def outcome(act, library):
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            result = act(library)
    except Exception as error:
        return type(error).__name__, str(error).split("\nhint:")[0]
    return result, [(each.category.__name__, str(each.message)) for each in told]


def agree(act):
    ours, theirs = outcome(act, rushlight), outcome(act, torch)
    assert type(ours[0]) is type(theirs[0]), (ours, theirs)
    if isinstance(theirs[0], str):
        assert ours == theirs
    else:
        assert ours[1] == theirs[1]
        for mine, real in zip(ours[0], theirs[0], strict=True):
            np.testing.assert_allclose(mine, real, rtol=1e-6, atol=1e-8)


def losses(library, shape, further, bias, weight, probabilities, **options):
    """A loss and the gradients of what it is made of."""
    random = np.random.default_rng(5)
    classes = 4
    made = [random.standard_normal(shape), random.standard_normal((classes, *further, shape[-1]))]
    made += [random.standard_normal((classes, *further))] if bias else []
    made = [library.tensor(values, requires_grad=True) for values in made]
    places = (*shape[:-1], *further)
    target = (
        random.integers(0, classes, places) if not probabilities else random.random((*shape[:-1], classes, *further))
    )
    given = library.tensor(random.random(classes)) if weight else None
    found = library.nn.functional.linear_cross_entropy(
        made[0], made[1], library.tensor(target), linear_bias=made[2] if bias else None, weight=given, **options
    )
    (found * library.arange(1.0, found.numel() + 1, dtype=library.float64).reshape(found.shape)).sum().backward()
    return [found.detach().numpy(), *(each.grad.numpy() for each in made)]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none", "other"])
@pytest.mark.parametrize("size", [None, 1, 2, 100, "auto", "aspect_ratio:2"])
@pytest.mark.parametrize("shape", [(5, 3), (3,)], ids=str)
def test_parts(shape, size, reduction):
    for bias, weight, ignore_index in itertools.product((False, True), (False, True), (None, 1)):

        def act(library, bias=bias, weight=weight, ignore_index=ignore_index):
            options = None
            if size is not None:
                named = {"chunking_method": size} if isinstance(size, str) else {"batch_chunk_size": size}
                options = library.nn.LinearCrossEntropyOptions(**named)
            return losses(
                library, shape, (), bias, weight, False, reduction=reduction, ignore_index=ignore_index, options=options
            )

        agree(act)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("further", [(), (2,), (2, 3)], ids=str)
def test_further_dimensions_and_probabilities(further, probabilities, label_smoothing):
    for options, ignore_index, shape in itertools.product((False, True), (None, 2), ((5, 3), (3,))):

        def act(library, options=options, ignore_index=ignore_index, shape=shape):
            chosen = library.nn.LinearCrossEntropyOptions(batch_chunk_size=2) if options else None
            return losses(
                library, shape, further, True, False, probabilities, label_smoothing=label_smoothing, ignore_index=ignore_index,
                options=chosen,
            )  # fmt: skip

        agree(act)


def test_module():
    def act(library):
        module = library.nn.LinearCrossEntropyLoss(
            3, 4, out_features=(2,), bias=True, label_smoothing=0.1, dtype=library.float64
        )
        for place, parameter in enumerate(module.parameters()):
            library.nn.init.constant_(parameter, 0.5 * place)
        with library.no_grad():
            module.linear.weight[0] = 2
        loss = module(library.ones(2, 3, dtype=library.float64), library.tensor([[0, 1], [2, 3]]))
        loss.backward()
        return [loss.item(), module.linear.weight.grad.numpy()]

    agree(act)
    for options in ({}, {"out_features": (2, 3), "bias": True}, {"ignore_index": 3, "reduction": "sum"}):
        ours, theirs = (library.nn.LinearCrossEntropyLoss(3, 4, **options) for library in LIBRARIES)
        assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.parametrize(
    "text",
    [
        "nn.LinearCrossEntropyOptions(acc_policy='x')", "nn.LinearCrossEntropyOptions(chunking_method='x')",
        "nn.LinearCrossEntropyOptions(chunking_method='aspect_ratio:0')", "nn.LinearCrossEntropyOptions(batch_chunk_size=0)",
        "nn.LinearCrossEntropyOptions(batch_chunk_size=1.5)", "nn.LinearCrossEntropyOptions(acc_dtype=m.int32)",
        "nn.LinearCrossEntropyLoss(3, 4, weight=m.ones(3))", "nn.LinearCrossEntropyLoss(3, 4, label_smoothing=2)",
        "f(m.ones(1, 2, 3), m.ones(4, 3), m.tensor([0]))", "f(m.ones(2, 3), m.ones(3), m.tensor([0]))",
        "f(m.ones(2, 3), m.ones(4, 2), m.tensor([0]))", "f(m.ones(2, 3), m.ones(4, 3), m.tensor([0, 0]), linear_bias=m.ones(3))",
        "f(m.ones(3), m.ones(4, 2, 3), m.tensor([0]))", "f(m.ones(2, 3), m.ones(4, 3), m.ones(2, 4), ignore_index=1)",
        "f(m.ones(5, 3), m.ones(4, 3), m.zeros(5).long(), options=nn.LinearCrossEntropyOptions(batch_chunk_size=4, chunking_method='aspect_ratio'))",
        "f(m.ones(5, 3), m.ones(4, 3), m.zeros(5).long(), options=nn.LinearCrossEntropyOptions(batch_chunk_size=3, chunking_method='aspect_ratio'))",
    ],
)  # fmt: skip
def test_refusals(text):
    def act(library):
        return [eval(text, {"m": library, "nn": library.nn, "f": library.nn.functional.linear_cross_entropy}).numpy()]

    agree(act)
