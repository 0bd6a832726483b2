"""cdist and pdist by kernels, and their gradients: against NumPy's way, PyTorch, and the interpreter."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import watching
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.compiler.kernel import compiled
    from rushlight.kernels.products import distances

POWERS = [0.0, 0.5, 1.0, 1.7, 2.0, 3.0, 4.0, 20.0, math.inf]
SHAPES = [
    ((40, 5), (70, 5)),
    ((1, 300), (9, 300)),
    ((33, 1), (129, 1)),
    ((3, 17, 9), (3, 31, 9)),
    ((2, 1, 30, 3), (4, 40, 3)),
]


def numbers(shape, dtype, seed=0):
    """Numbers of which some are equal, for distances and differences of zero."""
    random = np.random.default_rng(seed)
    return np.where(random.random(shape) < 0.7, random.standard_normal(shape), random.integers(-1, 2, shape)).astype(
        dtype
    )


def close(found, wanted, dtype):
    tolerance = 3e-5 if dtype == "f4" else 1e-11
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("p", POWERS)
def test_pairs(shapes, p, dtype):
    x1, x2 = numbers(shapes[0], dtype), numbers(shapes[1], dtype, 1)
    found = distances.cdist_pairs(x1, x2, p, False)
    close(found, TABLE["cdist_pairs"].forward(x1, x2, p, False), dtype)
    turned = np.asfortranarray(x1)
    np.testing.assert_array_equal(distances.cdist_pairs(turned, x2[..., ::-1, :], p, False), found[..., ::-1])
    if p and not (p == 20 and dtype == "f4"):  # powers that float32 does not hold
        grad = numbers(found.shape, dtype, 2)
        arguments = grad, *(np.broadcast_to(x, found.shape[:-2] + x.shape[-2:]) for x in (x1, x2)), p, found
        wide = dtype if math.isinf(p) else "f8"  # a largest difference equals the distance
        with np.errstate(all="ignore"):
            wanted = TABLE["distance_gradient"].forward(*(a.astype(wide) if a is not p else p for a in arguments))
        close(distances.distance_gradient(*arguments), wanted.astype(dtype), dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(75, 3), (130, 33), (3, 40, 8)])
@pytest.mark.parametrize("p", POWERS)
def test_triangles(shape, p, dtype):
    x = numbers(shape, dtype)
    close(distances.pdist_pairs(x, p), TABLE["pdist_pairs"].forward(x, p), dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [2, 3, 17, 130])
def test_symmetric_matrices(count, dtype):
    packed = numbers((2, count * (count - 1) // 2), dtype)
    found = distances.symmetric_matrix(packed, count)
    np.testing.assert_array_equal(found, TABLE["symmetric_matrix"].forward(packed, count))
    for width in (2, 4, 8):
        slow = np.zeros_like(found)
        interpret(distances.symmetric("f32" if dtype == "f4" else "f64", width), packed, slow, 2, count, 3)
        np.testing.assert_array_equal(found, slow)


@pytest.mark.parametrize("p", POWERS)
def test_against_pytorch(p):
    torch = pytest.importorskip("torch")
    x1, x2 = numbers((60, 7), "f4"), numbers((50, 7), "f4", 1)

    def run(m, wrap):
        a, b = wrap(x1.copy()).requires_grad_(), wrap(x2.copy()).requires_grad_()
        pairs, triangle = m.cdist(a, b, p), m.pdist(a, p)
        flowing = [wrap(numbers(tuple(t.shape), "f4", 3)) for t in (pairs, triangle)]
        found = [
            pairs,
            triangle,
            *m.autograd.grad((pairs,), (a, b), flowing[:1]),
            *m.autograd.grad(triangle, a, flowing[1]),
        ]
        return [t.detach().numpy() for t in found]

    with watching() as seen:
        found = run(rl, rl.from_numpy)
    assert seen
    for mine, theirs in zip(found, run(torch, torch.from_numpy)):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-4)


def test_what_is_not_finite():
    x = numbers((40, 9), "f4")
    x[3, 4], x[5, 8], x[7, 0] = math.nan, math.inf, -math.inf
    for p in POWERS:
        with np.errstate(all="ignore"):
            wanted = TABLE["cdist_pairs"].forward(x, x, p, False)
        np.testing.assert_allclose(distances.cdist_pairs(x, x, p, False), wanted, rtol=3e-5, atol=1e-6)


def test_gradients_of_gradients():
    random = np.random.default_rng(0)
    x1, x2 = (rl.from_numpy(random.standard_normal((4, 3))).requires_grad_() for _ in range(2))
    for p in (1.7, 2.0, 3.0):
        assert rl.autograd.gradgradcheck(lambda a, b, p=p: rl.cdist(a, b, p), (x1, x2))
        assert rl.autograd.gradgradcheck(lambda a, p=p: rl.pdist(a, p), (x1,))


def test_under_transforms():
    x1, x2 = rl.from_numpy(numbers((3, 30, 4), "f4")), rl.from_numpy(numbers((3, 40, 4), "f4", 1))
    whole = rl.func.grad(lambda a: rl.cdist(a, x2, 3.0).sum())(x1)
    each = rl.func.vmap(rl.func.grad(lambda a, b: rl.cdist(a, b, 3.0).sum()))(x1, x2)
    np.testing.assert_allclose(each.numpy(), whole.numpy(), rtol=1e-5)
    triangles = rl.func.vmap(rl.func.grad(lambda a: rl.pdist(a).sum()))(x1)
    for one, x in zip(triangles, x1):
        np.testing.assert_allclose(one.numpy(), rl.func.grad(lambda a: rl.pdist(a).sum())(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("kind", [0.0, 1, 2, 3, math.inf])
def test_programs_do_what_the_interpreter_says(kind, width):
    x, y = numbers((2, 7, 5), "f4"), np.ascontiguousarray(numbers((2, 7, 5), "f4", 1).swapaxes(1, 2))
    # A cube root is left to the vector math's own tests: the interpreter's is NumPy's.
    exact = kind != 3
    for is_triangle, size in ((False, 49), (True, 21)):
        program = distances.pairs("f32", kind, is_triangle, width)
        fast, slow = (np.zeros((2, size), "f4") for _ in range(2))
        compiled(("test distances", kind, is_triangle, width), lambda program=program: program).threaded(
            x, y, fast, 2, 7, 7, 5, 2
        )
        interpret(program, x, y, slow, 2, 7, 7, 5, 2)
        np.testing.assert_allclose(fast, slow, rtol=0 if exact else 1e-6)
    if kind:
        program = distances.gradients("f32", kind, 4, width)
        grad, between = numbers((2, 7, 7), "f4", 2), np.abs(numbers((2, 7, 7), "f4", 3))
        fast, slow = (np.zeros((2, 5, 7), "f4") for _ in range(2))
        area, scratch = 14 * width, np.zeros(14 * width * 64, "f4")
        kernel = compiled(("test distance gradients", kind, width), lambda: program)
        kernel.alone(grad, between, x, y, fast, scratch, 2, 7, 7, 5, 2, area)
        interpret(program, grad, between, x, y, slow, scratch, 2, 7, 7, 5, 2, area)
        np.testing.assert_array_equal(fast, slow)
