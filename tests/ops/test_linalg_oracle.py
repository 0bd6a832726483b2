"""Linear algebra against PyTorch: values, gradients of two orders, refusals. Vectors of free sign are compared by
what is free of it."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


def matrix(kind, *shape, positive=False, seed=0):
    draw = np.random.default_rng(seed)
    found = draw.standard_normal(shape)
    if kind.startswith("complex"):
        found = found + 1j * draw.standard_normal(shape)
    if positive:
        found = found @ found.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1])
    return found.astype(kind)


def projector(values, vectors):
    """What does not depend on the phases of orthonormal vectors: values and the matrix of a function of them."""
    return [values, (vectors * values.unsqueeze(-2)[..., : vectors.shape[-1]].abs()) @ vectors.mH]


def hermitian(x):
    return x + x.mH


CASES = {
    "inv": (lambda m, a: [m.linalg.inv(a)], [(3, 3)]),
    "inv batch": (lambda m, a: [m.linalg.inv(a)], [(2, 1, 4, 4)]),
    "det": (lambda m, a: [m.linalg.det(a)], [(2, 4, 4)]),
    "slogdet": (lambda m, a: list(m.linalg.slogdet(a)), [(2, 4, 4)]),
    "logdet": (lambda m, a: [m.logdet(a @ a.mH)], [(3, 3)]),
    "solve": (lambda m, a, b: [m.linalg.solve(a, b)], [(2, 3, 3), (2, 3, 4)]),
    "solve vector": (lambda m, a, b: [m.linalg.solve(a, b)], [(2, 3, 3), (3,)]),
    "solve batch of vectors": (lambda m, a, b: [m.linalg.solve(a, b)], [(2, 3, 3), (2, 3)]),
    "solve right": (lambda m, a, b: [m.linalg.solve(a, b, left=False)], [(3, 3), (2, 4, 3)]),
    "triangular upper": (lambda m, a, b: [m.linalg.solve_triangular(a, b, upper=True)], [(2, 3, 3), (3, 4)]),
    "triangular lower unit": (
        lambda m, a, b: [m.linalg.solve_triangular(a, b, upper=False, unitriangular=True)],
        [(3, 3), (3, 2)],
    ),
    "triangular right": (lambda m, a, b: [m.linalg.solve_triangular(a, b, upper=True, left=False)], [(3, 3), (2, 3)]),
    "cholesky": (lambda m, a: [m.linalg.cholesky(a @ a.mH + m.eye(3, dtype=a.dtype))], [(2, 3, 3)]),
    "cholesky upper": (lambda m, a: [m.linalg.cholesky(a @ a.mH + m.eye(3, dtype=a.dtype), upper=True)], [(3, 3)]),
    "cholesky_solve": (lambda m, a, b: [m.cholesky_solve(b, a.tril())], [(3, 3), (3, 2)]),
    "cholesky_inverse": (
        lambda m, a: [m.cholesky_inverse(m.linalg.cholesky(a @ a.mH + m.eye(3, dtype=a.dtype)))],
        [(3, 3)],
    ),
    "qr": (lambda m, a: [(lambda q, r: q @ m.exp(r.abs()).to(q.dtype))(*m.linalg.qr(a))], [(4, 3)]),
    "qr wide": (lambda m, a: [(lambda q, r: q @ (r * r.abs()))(*m.linalg.qr(a))], [(3, 5)]),
    "svd": (lambda m, a: (lambda u, s, v: [s, (u * s.sin().unsqueeze(-2)) @ v])(*m.linalg.svd(a, False)), [(2, 4, 3)]),
    "svd wide": (lambda m, a: (lambda u, s, v: [(u * s.sin().unsqueeze(-2)) @ v])(*m.linalg.svd(a, False)), [(3, 4)]),
    "svdvals": (lambda m, a: [m.linalg.svdvals(a)], [(3, 4)]),
    "pinv": (lambda m, a: [m.linalg.pinv(a)], [(2, 4, 3)]),
    "eigh": (lambda m, a: projector(*m.linalg.eigh(hermitian(a))), [(2, 3, 3)]),
    "eigvalsh": (lambda m, a: [m.linalg.eigvalsh(hermitian(a))], [(3, 3)]),
    "lstsq": (lambda m, a, b: [m.linalg.lstsq(a, b).solution], [(5, 3), (5, 2)]),
    "lstsq residuals": (lambda m, a, b: list(m.linalg.lstsq(a, b, driver="gels")[:2]), [(5, 3), (5, 2)]),
    "matrix_exp": (lambda m, a: [m.linalg.matrix_exp(a)], [(2, 3, 3)]),
    "matrix_power": (lambda m, a: [m.linalg.matrix_power(a, 5), m.linalg.matrix_power(a, -2)], [(3, 3)]),
    "lu": (lambda m, a: list(m.linalg.lu(a)), [(4, 4)]),
    "lu tall": (lambda m, a: list(m.linalg.lu(a)), [(5, 3)]),
    "lu wide": (lambda m, a: list(m.linalg.lu(a)), [(3, 5)]),
    "lu_solve": (lambda m, a, b: [m.linalg.lu_solve(*m.linalg.lu_factor(a), b)], [(2, 3, 3), (3, 2)]),
    "lu_solve right adjoint": (
        lambda m, a, b: [m.linalg.lu_solve(*m.linalg.lu_factor(a), b, left=False, adjoint=True)],
        [(3, 3), (2, 3)],
    ),
    "householder_product": (lambda m, a, t: [m.linalg.householder_product(a, t)], [(4, 3), (3,)]),
    "ormqr": (lambda m, a, t, b: [m.ormqr(a, t, b, True, True)], [(4, 3), (3,), (4, 2)]),
    "cross": (lambda m, a, b: [m.linalg.cross(a, b)], [(4, 3), (1, 3)]),
    "vecdot": (lambda m, a, b: [m.linalg.vecdot(a, b)], [(4, 3), (3,)]),
    "multi_dot": (lambda m, a, b, c: [m.linalg.multi_dot([a, b, c])], [(4,), (4, 3), (3, 5)]),
    "vander": (lambda m, a: [m.linalg.vander(a, N=4)], [(2, 3)]),
    "tensorinv": (lambda m, a: [m.linalg.tensorinv(a, 1)], [(4, 2, 2)]),
    "cond": (lambda m, a: [m.linalg.cond(a), m.linalg.cond(a, -2)], [(3, 3)]),
}


def gradients(module, tensors, results):
    """Gradients of a smooth number made of the results, and gradients of their squares."""
    total = sum((r * r.conj()).real.sum() + (r * 0.3).sin().real.sum() for r in results if r.requires_grad)
    first = module.autograd.grad(total, tensors, create_graph=True)
    second = module.autograd.grad(sum((g * g.conj()).real.sum() for g in first), tensors)
    return [*first, *second]


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, kind):
    make, shapes = CASES[name]
    values = [matrix(kind, *shape, seed=i) for i, shape in enumerate(shapes)]
    found = []
    for module in (torch, rl):
        tensors = [module.tensor(v, requires_grad=True) for v in values]
        results = make(module, *tensors)
        parts = [*results, *gradients(module, tensors, results)]
        found.append([p.detach().resolve_conj().numpy() for p in parts])
    for expected, own in zip(*found):
        assert expected.shape == own.shape and expected.dtype == own.dtype
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-7 * max(1, np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("name", ["inv", "det", "solve", "svdvals", "eigvalsh", "matrix_exp", "pinv"])
@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_single_precision(name, kind):
    make, shapes = CASES[name]
    values = [matrix(kind, *shape, seed=i) for i, shape in enumerate(shapes)]
    expected, own = (make(m, *map(m.tensor, values))[0].numpy() for m in (torch, rl))
    assert expected.dtype == own.dtype
    np.testing.assert_allclose(own, expected, rtol=1e-3, atol=1e-3)


def test_eig_reconstructs():
    a = rl.tensor(matrix("float64", 4, 4), requires_grad=True)
    values, vectors = rl.linalg.eig(a)
    np.testing.assert_allclose(
        (vectors @ rl.diag(values) @ rl.linalg.inv(vectors)).detach().numpy(), a.detach().numpy(), atol=1e-10
    )
    t = torch.tensor(matrix("float64", 4, 4), requires_grad=True)
    for module, x in ((rl, a), (torch, t)):
        L, V = module.linalg.eig(x)
        ((L * L).abs().sum() + ((V @ module.diag(L.exp())) @ module.linalg.inv(V)).real.sin().sum()).backward()
    np.testing.assert_allclose(a.grad.numpy(), t.grad.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rank", [3, 2])
def test_derivative_of_a_singular_determinant(rank):
    values = matrix("float64", 4, rank) @ matrix("float64", rank, 4, seed=1)
    found = []
    for m in (torch, rl):
        a = m.tensor(values, requires_grad=True)
        m.linalg.det(a).backward()
        found.append(a.grad.numpy())
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)


@pytest.mark.parametrize(
    "shape", [(5, 5), (70, 70), (3, 40, 20), (100, 60), (60, 100), (40, 4, 4), (0, 3, 3), (2, 0, 0)]
)
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_lu_of_many_sizes(shape, kind):
    values = matrix(kind, *shape)
    expected, own = (m.linalg.lu_factor(m.tensor(values)) for m in (torch, rl))
    np.testing.assert_array_equal(own.pivots.numpy(), expected.pivots.numpy())
    np.testing.assert_allclose(own.LU.numpy(), expected.LU.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("upper", [True, False])
def test_triangular_systems_of_many_sizes(size, upper):
    a, b = matrix("float64", size, size) / size + 2 * np.eye(size), matrix("float64", size, 3, seed=1)
    expected, own = (m.linalg.solve_triangular(m.tensor(a), m.tensor(b), upper=upper).numpy() for m in (torch, rl))
    np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_ldl(kind, hermitian):
    values = matrix(kind, 3, 7, 7)
    values = values + (values.conj() if hermitian else values).swapaxes(-1, -2)
    b = matrix(kind, 3, 7, 2, seed=1)
    found = []
    for m in (torch, rl):
        LD, pivots = m.linalg.ldl_factor(m.tensor(values), hermitian=hermitian)
        found.append(
            (LD.numpy(), pivots.numpy(), m.linalg.ldl_solve(LD, pivots, m.tensor(b), hermitian=hermitian).numpy())
        )
    for expected, own in zip(*found):
        np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.linalg.matrix_rank(m.eye(3) * 2),
        lambda m: m.linalg.matrix_rank(m.ones(2, 3, 3), tol=0.5),
        lambda m: m.linalg.matrix_rank(m.eye(3), hermitian=True),
        lambda m: m.linalg.matrix_rank(m.eye(2), atol=m.tensor([0.5, 2.0])),
        lambda m: m.linalg.pinv(m.diag(m.tensor([1.0, 1e-3])), rtol=0.1),
        lambda m: m.linalg.pinv(m.diag(m.tensor([1.0, -2.0])), hermitian=True),
        lambda m: m.linalg.inv_ex(m.zeros(2, 3, 3)).info,
        lambda m: m.linalg.cholesky_ex(m.diag(m.tensor([1.0, -1.0, 2.0]))).info,
        lambda m: m.linalg.solve_triangular(m.zeros(3, 3), m.ones(3, 1), upper=True),
        lambda m: m.linalg.cond(m.zeros(3, 3), 1),
        lambda m: m.linalg.cond(m.eye(3) + 1, 1),
        lambda m: m.linalg.cond(m.eye(3) + 1, "nuc"),
        lambda m: m.vander(m.tensor([1, 2, 3]), 4),
        lambda m: m.linalg.matrix_power(m.tensor([[1, 1], [0, 1]]), 5),
        lambda m: m.linalg.det(m.zeros(0, 0)),
        lambda m: m.linalg.lstsq(m.ones(4, 2), m.ones(4, 1), driver="gelsd").rank,
        lambda m: m.triangular_solve(m.ones(2, 1), m.eye(2) * 2).solution,
    ],
)
@pytest.mark.filterwarnings("ignore")  # PyTorch's own, about deprecated names and resized outputs
def test_plain_values(call):
    expected, own = call(torch), call(rl)
    assert str(expected.dtype) == str(own.dtype)
    np.testing.assert_allclose(own.numpy(), expected.numpy(), rtol=1e-5)


def first_line(call, *args):
    with pytest.raises((RuntimeError, NotImplementedError, TypeError, IndexError, ValueError)) as caught:
        call(*args)
    return caught.type.__name__.lstrip("_"), str(caught.value).split("\n")[0]


SQUARE = [
    "det",
    "slogdet",
    "inv",
    "inv_ex",
    "eigh",
    "eigvalsh",
    "eig",
    "eigvals",
    "cholesky",
    "cholesky_ex",
    "matrix_exp",
]
ANY = ["svd", "svdvals", "qr", "pinv", "lu", "lu_factor", "matrix_rank", "cond"]


@pytest.mark.parametrize("name", SQUARE + ANY)
def test_refused_matrices(name):
    makers = [lambda m: m.zeros(3), lambda m: m.eye(3, dtype=m.int64), lambda m: m.tensor(1.0)]
    if name != "matrix_exp":
        makers.append(lambda m: m.eye(3, dtype=m.float16))
    if name in SQUARE:
        makers.append(lambda m: m.zeros(3, 4))
    for make in makers:
        assert first_line(getattr(rl.linalg, name), make(rl)) == first_line(getattr(torch.linalg, name), make(torch))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.linalg.inv(m.zeros(3, 3)),
        lambda m: m.linalg.inv(m.stack([m.eye(2), m.ones(2, 2)])),
        lambda m: m.linalg.cholesky(m.diag(m.tensor([1.0, -1.0, 2.0]))),
        lambda m: m.cholesky(m.zeros(2, 2, 2)),
        lambda m: m.linalg.solve(m.zeros(3, 3), m.zeros(3)),
        lambda m: m.linalg.solve(m.eye(3), m.zeros(4, 2)),
        lambda m: m.linalg.solve(m.eye(3), m.zeros(3, dtype=m.float64)),
        lambda m: m.linalg.solve(m.eye(3), m.zeros(2, 4), left=False),
        lambda m: m.linalg.lu_factor(m.zeros(2, 2)),
        lambda m: m.linalg.lstsq(m.zeros(5, 3), m.zeros(4, 2)),
        lambda m: m.linalg.lstsq(m.zeros(5, 3), m.zeros(5, 2), driver="foo"),
        lambda m: m.linalg.qr(m.eye(3), "foo"),
        lambda m: m.linalg.eigh(m.eye(3), "X"),
        lambda m: m.linalg.svd(m.full((3, 3), float("nan"))),
        lambda m: m.linalg.eigh(m.full((3, 3), float("nan"))),
        lambda m: m.linalg.cross(m.zeros(2, 4), m.zeros(2, 4)),
        lambda m: m.cross(m.zeros(2, 4), m.zeros(2, 4)),
        lambda m: m.linalg.multi_dot([m.eye(2)]),
        lambda m: m.linalg.multi_dot([m.zeros(3, 4), m.zeros(3, 4)]),
        lambda m: m.linalg.tensorinv(m.zeros(4, 2, 3)),
        lambda m: m.linalg.tensorinv(m.zeros(4, 2, 2), ind=0),
        lambda m: m.linalg.tensorsolve(m.zeros(2, 2, 4), m.zeros(3)),
        lambda m: m.linalg.householder_product(m.zeros(2, 3), m.zeros(3)),
        lambda m: m.linalg.vander(m.tensor(1.0)),
        lambda m: m.linalg.cond(m.zeros(3, 4), 1),
        lambda m: m.cholesky_solve(m.zeros(4, 1), m.eye(3)),
        lambda m: m.linalg.qr(m.ones(4, 2, requires_grad=True), "r").R.sum().backward(),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated", "ignore:Using torch.cross without")
def test_refusals(call):
    assert first_line(lambda: call(rl)) == first_line(lambda: call(torch))


def test_named_results_print_as_in_pytorch():
    assert repr(rl.linalg.svd(rl.ones(1, 1))) == repr(torch.linalg.svd(torch.ones(1, 1)))
    assert repr(rl.linalg.lstsq(rl.eye(2), rl.eye(2))) == repr(torch.linalg.lstsq(torch.eye(2), torch.eye(2)))


def test_out():
    out = rl.empty(2, 2)
    assert rl.linalg.inv(rl.eye(2) * 2, out=out) is out and out.tolist() == [[0.5, 0.0], [0.0, 0.5]]
    values, vectors = rl.empty(2), rl.empty(2, 2)
    rl.linalg.eigh(rl.eye(2), out=(values, vectors))
    assert values.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["det", "inv", "cholesky", "qr", "svdvals", "eigh", "matrix_exp", "pinv"])
def test_node_names(name):
    results = []
    for m in (torch, rl):
        found = getattr(m.linalg, name)(m.eye(3, requires_grad=True))
        results.append((found[0] if isinstance(found, tuple) else found).grad_fn.name())
    assert results[0] == results[1]
