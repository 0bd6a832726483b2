"""Tensors kept from a transform that has ended: what is inside them, with the graphs of the levels below."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def after_the_transform(library):
    kept = []
    weight = library.tensor([1.0, 2.0], requires_grad=True)

    def product(x):
        kept.append(x * weight)
        return kept[-1].sum()

    library.func.grad(product)(library.ones(2))
    library.func.vjp(product, library.ones(2))
    loss = sum((each * 3).sum() for each in kept)
    loss.backward()
    return loss.item(), weight.grad.tolist()


def in_an_outer_transform(library):
    kept = []

    def inner(x):
        kept.append(x * x)
        return kept[-1].sum()

    def outer(x):
        slope = library.func.grad(inner)(x).sum()
        return (kept[-1] * x).sum() + slope

    return library.func.grad(outer)(library.tensor([1.0, 2.0])).tolist()


def written(library):
    kept = []
    library.func.grad(lambda x: kept.append(x * 2) or kept[-1].sum())(library.ones(2))
    kept[0].add_(1)
    return (kept[0] + 1).tolist()


@pytest.mark.parametrize(
    "story", [after_the_transform, in_an_outer_transform, written], ids=lambda story: story.__name__
)
def test_kept_tensors(story):
    assert story(rushlight) == story(torch)
