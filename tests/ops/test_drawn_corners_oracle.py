"""Corners that the random testers found: losses of several dtypes, impossible labels, products that fold, scattered parts."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight as rl  # noqa: E402

HALVES = {"float16": 3e-3, "bfloat16": 2e-2}


def outcome(library, make, call):
    """The result's dtype, node and edges, and the numbers of it and its gradients; or the error of either."""
    leaves = make(library)
    try:
        result = call(library, *leaves)
        wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
        grads = library.autograd.grad(result, wanted, library.full_like(result, 0.37)) if wanted else []
    except (RuntimeError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    node = result.grad_fn
    names = node and (node.name(), [n and n.name() for n, _ in node.next_functions])
    return str(result.dtype), names, [t.detach().double().numpy() for t in (result, *grads)]


def agree(make, call, tolerance=1e-5):
    ours, theirs = (outcome(library, make, call) for library in (rl, torch))
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours[:2] == theirs[:2]
    for found, expected in zip(ours[2], theirs[2], strict=True):
        np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtypes", [
    ("float32", "float16", None, None), ("float16", "float32", None, None), ("float64", "bfloat16", "float32", None),
    ("bfloat16", "float32", None, "float64"), ("float32", "float32", "float16", "bfloat16"), ("float32", "int64", None, None),
    ("float32", "float64", "complex64", None), ("float32", "bool", None, "bool"), ("float16", "float32", None, "complex64"),
])  # fmt: skip
def test_logits_targets_and_weights_of_several_dtypes(dtypes, reduction):
    numbers = [np.random.default_rng(place).normal(size=(2, 3)) for place in range(4)]

    def make(library):
        made = [d and library.tensor(n).to(getattr(library, d)) for n, d in zip(numbers, dtypes)]
        for tensor in made[:2]:
            tensor.requires_grad_(tensor.is_floating_point())
        return made

    def call(library, x, y, weight, pos_weight):
        function = library.nn.functional.binary_cross_entropy_with_logits
        return function(x, y, weight, pos_weight=pos_weight, reduction=reduction)

    agree(make, call, max(HALVES.get(d, 1e-5) for d in dtypes))


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("targets, lengths", [
    ([[1, 1, 1], [1, 2, 1]], (3, 3)), ([[0, 2, 0], [0, 0, 1]], (3, 2)), ([[2, 0, 1], [0, 1, 2]], (0, 1)), ([[True] * 3, [False] * 3], (2, 1)),
])  # fmt: skip
def test_labels_that_do_not_fit_or_are_blank(targets, lengths, zero_infinity):
    numbers = np.random.default_rng(0).normal(size=(4, 2, 3))

    def make(library):
        return [library.tensor(numbers).log_softmax(2).detach().requires_grad_()]

    def call(library, scores):
        labels = library.tensor(targets)
        return library.nn.functional.ctc_loss(
            scores, labels, (4, 3), lengths, reduction="none", zero_infinity=zero_infinity
        )

    agree(make, call)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tracked", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shapes", [
    ((0, 3), (2, 3, 4)), ((2, 0), (2, 0, 4)), ((3,), (2, 3, 0)), ((3,), (2, 3, 2)), ((2, 3), (2, 3, 2)), ((2, 2, 3), (3, 0)),
    ((4,), (2, 3, 2)), ((2, 4), (2, 3, 2)), ((3,), (2, 2, 3, 2)), ((1, 3), (2, 1, 3, 2)),
])  # fmt: skip
def test_products_of_a_matrix_and_a_batch_fold_as_in_pytorch(shapes, tracked, dtype):
    first, second = (np.random.default_rng(7).normal(size=shape) for shape in shapes)

    def make(library):
        a, b = library.tensor(first).float(), library.tensor(second).to(getattr(library, dtype))
        return a.requires_grad_(tracked[0]), b.requires_grad_(tracked[1])

    agree(make, lambda library, a, b: a @ b)


@pytest.mark.parametrize("tracked", ["self", "src", "both"])
@pytest.mark.parametrize("shape", [(4, 3), (4, 2), (3, 3), (0, 3), (4, 1)])
@pytest.mark.parametrize("call", [
    lambda x, i, s: x.scatter(1, i, s), lambda x, i, s: x.scatter_add(1, i, s), lambda x, i, s: x.scatter_reduce(1, i, s, "sum"),
    lambda x, i, s: x.scatter_reduce(1, i, s, "mean"), lambda x, i, s: x.scatter_reduce(1, i, s, "prod"),
    lambda x, i, s: x.scatter_reduce(1, i, s, "amax", include_self=False),
])  # fmt: skip
def test_gradients_of_a_source_of_which_a_part_is_scattered(call, shape, tracked):
    numbers = [np.random.default_rng(place).normal(size=size) for place, size in enumerate([(4, 5), (4, 3)])]

    def make(library):
        x, source = map(library.tensor, numbers)
        return x.requires_grad_(tracked != "src"), source.requires_grad_(tracked != "self")

    agree(make, lambda library, x, source: call(x, library.zeros(*shape, dtype=library.long), source))
