"""`torch.lobpcg` beside PyTorch's: eigenpairs, the way to them as a tracker sees it, gradients, refusals."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def positive(size, *, seed=0, batch=()):
    factor = np.random.default_rng(seed).standard_normal((*batch, size, size))
    return factor @ factor.swapaxes(-1, -2) / size + np.eye(size)


def search(library, matrix, count, other=None, **options):
    """The pairs, with vectors up to their sign, and what a tracker saw of each step."""
    library.manual_seed(4)
    steps = []

    def note(worker):
        steps.append((dict(worker.ivars), sorted(worker.fvars), [tuple(worker.S.shape), tuple(worker.R.shape)]))

    other = None if other is None else library.tensor(other)
    found = library.lobpcg(library.tensor(matrix), count, other, tracker=note, **options)
    return found[0].numpy(), np.abs(found[1].numpy()), steps


@pytest.mark.parametrize("method", ["ortho", "basic", None])
@pytest.mark.parametrize("largest", [True, False, None])
@pytest.mark.parametrize("generalized", [False, True])
def test_pairs_and_steps(method, largest, generalized):
    matrix, other = positive(9), positive(9, seed=1) if generalized else None
    ours, theirs = (search(each, matrix, 2, other, method=method, largest=largest, niter=12) for each in LIBRARIES)
    assert ours[2] == theirs[2]
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-8)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-4)


def test_batches_starts_and_preconditioners():
    matrices, start = positive(9, batch=(2, 1)), np.eye(9)[None, None, :, :2].repeat(2, 0)
    for options in ({}, {"X": start}, {"method": "basic", "iK": np.linalg.inv(positive(9))}, {"n": 3, "k": 1}):
        ours, theirs = (
            search(
                each,
                matrices,
                options.get("k", 2),
                **{key: each.tensor(v) if key in ("X", "iK") else v for key, v in options.items() if key != "k"},
            )
            for each in LIBRARIES
        )
        assert ours[0].shape == theirs[0].shape == (2, 1, options.get("k", 2))
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-5)


def test_sparse_matrices():
    rushlight.manual_seed(0)
    matrix = rushlight.arange(1.0, 41.0).diag().to_sparse()
    values, vectors = rushlight.lobpcg(matrix, 3, largest=False)
    assert rushlight.allclose(values, rushlight.tensor([1.0, 2.0, 3.0]), rtol=1e-4)
    assert vectors.shape == (40, 3)


def test_a_start_that_has_the_answer():
    values, vectors = rushlight.lobpcg(rushlight.eye(9), X=rushlight.ones(9, 1))
    assert values.item() == pytest.approx(1, rel=1e-6)
    assert vectors.norm().item() == pytest.approx(1, rel=1e-6)


def test_a_tracker_ends_the_search():
    def stop(worker):
        worker.bvars["force_stop"] = worker.ivars["istep"] == 2
        seen.append(str(worker).split("=")[0])

    for library in LIBRARIES:
        seen = []
        library.lobpcg(library.tensor(positive(9)), 2, tracker=stop)
        assert seen == ["LOBPCG:\n  iparams"] * 2


@pytest.mark.parametrize(("size", "count"), [(6, 1), (9, 3)])
@pytest.mark.parametrize("largest", [True, False])
def test_gradients(size, count, largest):
    matrix, weights = positive(size), np.random.default_rng(3).standard_normal((size, count))

    def gradient(library):
        library.manual_seed(1)
        leaf = library.tensor(matrix, requires_grad=True)
        values, vectors = library.lobpcg(leaf, count, largest=largest, tol=1e-11, niter=100)
        ((vectors.abs() * library.tensor(weights)).sum() + values.square().sum()).backward()
        return leaf.grad.numpy(), type(values.grad_fn).__name__

    (ours, name), (theirs, other) = map(gradient, LIBRARIES)
    assert name == other
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_double_gradients():
    def values(matrix):
        rushlight.manual_seed(2)
        return rushlight.lobpcg(matrix, 1, tol=1e-9, niter=50)[0]

    matrix = rushlight.tensor(positive(4), requires_grad=True)
    assert rushlight.autograd.gradgradcheck(values, matrix, atol=1e-3)


def refusals(library):
    eye, eight = library.eye(9), library.eye(8)
    leaf = (eye + library.arange(9.0).diag()).requires_grad_()
    for call in (
        lambda: library.lobpcg(eye[:3]),
        lambda: library.lobpcg(library.eye(5), 2),
        lambda: library.lobpcg(eye, 2, eight),
        lambda: library.lobpcg(eye, X=eight[:, :2]),
        lambda: library.lobpcg(eye.expand(2, 9, 9), X=library.ones(2, 8, 2)),
        lambda: library.lobpcg(eye.half()),
        lambda: library.lobpcg(eye.long()),
        lambda: library.lobpcg(eye, X=library.zeros(9, 1)),
        lambda: library.lobpcg(eye, X=library.ones(9, 2)),
        lambda: library.lobpcg(eye.to_sparse().requires_grad_())[0].sum().backward(),
        lambda: library.lobpcg(leaf, B=eye)[0].sum().backward(),
    ):
        try:
            yield call()
        except Exception as error:
            yield type(error).__name__, str(error).partition("\n")[0]


def test_refusals():
    assert list(refusals(rushlight)) == list(refusals(torch))


def test_other_classes_are_asked():
    class Asked(rushlight.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function, sorted(kwargs)

    found = rushlight.lobpcg(rushlight.eye(9).as_subclass(Asked), 2)
    assert found[0] is rushlight.lobpcg
    assert len(found[1]) == 13
