"""einsum, tensordot, inner and kron against PyTorch: values, gradients of two orders, refusals."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ij,kj->ki", (3, 4), (5, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)),
    ("bhqk,bkhd->bqhd", (2, 4, 3, 6), (2, 6, 4, 5)),
    ("...i,oij,...j->...o", (2, 3, 4), (6, 4, 5), (2, 3, 5)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->", (3,), (3,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ij->j", (3, 4), (3, 4)),
    ("ij->ji", (3, 4)),
    ("ij->", (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij,jj->i", (3, 3, 4), (4, 4)),
    ("iii->i", (3, 3, 3)),
    ("...ij->...ji", (2, 3, 4)),
    ("...,...", (3, 4), (4,)),
    ("i...,...->i...", (3, 4), (1,)),
    ("ij,j->i", (3, 4), (1,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ab,bc,ac->", (2, 3), (3, 4), (2, 4)),
    ("aB,Bc->ca", (2, 3), (3, 4)),
    ("b A , A C", (2, 3), (3, 4)),
    ("ijkl,klm->mij", (2, 3, 4, 5), (4, 5, 6)),
    ("ij,kl->ikjl", (2, 3), (4, 5)),
    ("...ij,jk->...ik", (0, 2, 3), (3, 4)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("ik,jk->", (2, 3), (4, 3)),
]


def arrays(shapes, kind=np.float64, seed=0):
    draw = np.random.default_rng(seed)
    found = [draw.standard_normal(shape) for shape in shapes]
    return [
        (a + 1j * draw.standard_normal(a.shape)).astype(kind) if np.dtype(kind).kind == "c" else a.astype(kind)
        for a in found
    ]


def both(make, values):
    """The results of ``make(module, *tensors)``, its gradients and gradients of those, from both sides."""
    found = []
    for module in (torch, rl):
        tensors = [module.tensor(v, requires_grad=True) for v in values]
        result = make(module, *tensors)
        weight = module.tensor(
            np.asarray(np.cos(np.arange(max(result.numel(), 1)))[: result.numel()].reshape(tuple(result.shape)))
        )
        first = module.autograd.grad(
            (result * weight).abs().sum() + (result * result).real.sum(), tensors, create_graph=True
        )
        total = sum((g * g.conj()).real.sum() for g in first)
        second = module.autograd.grad(total, tensors, allow_unused=True) if total.requires_grad else ()
        parts = [result, *first, *second]
        found.append([None if p is None else p.detach().resolve_conj().numpy() for p in parts])
    return found


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_values_and_gradients(case, kind):
    equation, *shapes = case
    expected, found = both(lambda module, *xs: module.einsum(equation, *xs), arrays(shapes, kind))
    for a, b in zip(expected, found):
        if a is not None and b is not None:
            assert a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int64", "int32"])
def test_dtypes(kind):
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    expected, found = (
        m.einsum("ij,jk->ik", m.tensor(a).to(getattr(m, kind)), m.tensor(b).to(getattr(m, kind))) for m in (torch, rl)
    )
    assert str(expected.dtype) == str(found.dtype)
    assert expected.tolist() == found.tolist()


def test_sublists_and_lists():
    a, b = arrays([(3, 4), (4, 5)])
    for call in (
        lambda m, x, y: m.einsum(x, [0, 1], y, [1, 2], [2, 0]),
        lambda m, x, y: m.einsum(x, [0, 51], y, [51, 2]),
        lambda m, x, y: m.einsum(x, [..., 1], [...]),
        lambda m, x, y: m.einsum("ij,jk", [x, y]),
        lambda m, x, y: m.einsum("ij,jk", (x, y)),
    ):
        expected, found = (call(m, m.tensor(a), m.tensor(b)).numpy() for m in (torch, rl))
        np.testing.assert_allclose(found, expected)


def test_strided_operands():
    a, b = arrays([(4, 3, 6), (6, 2, 3)])

    def call(m):
        x, y = m.tensor(a)[::2].transpose(1, 2), m.tensor(b).permute(1, 2, 0)[:, :, ::2]
        return m.einsum("bki,cik->bc", x[:, :3], y).numpy(), m.einsum("bki,ci->bkc", x, y[:, :, 0].expand(2, 3)).numpy()

    for expected, found in zip(call(torch), call(rl)):
        np.testing.assert_allclose(found, expected)


REFUSED = [
    ("ij,jk->ik", (3, 4)), ("ij", (3, 4), (4, 5)), ("ij,jk->il", (3, 4), (4, 5)), ("ij,jk->ii", (3, 4), (4, 5)),
    ("ijk,jk", (3, 4), (4, 5)), ("i,jk", (3, 4), (4, 5)), ("ij,jk", (3, 4), (3, 4)), ("i..j", (3, 4)), ("i.j", (3, 4)),
    ("...i...", (3, 4)), ("i1", (3, 4)), ("ij->i$", (3, 4)), ("ij-ik", (3, 4)), ("ij->i->j", (3, 4)),
    ("ij->i...j...", (3, 4)),
    ("...->i", (3, 4)), ("ii", (3, 4)), ("", (3, 4)), ("ij>", (3, 4)), ("ij->i..", (3, 4)),
    ("...i,...j", (3, 4), (4, 5)),
]  # fmt: skip


def first_line(call):
    with pytest.raises(Exception) as caught:
        call()
    return str(caught.value).split("\n")[0], caught.type.__name__


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0] or "empty")
def test_refusals(case):
    equation, *shapes = case
    assert first_line(lambda: rl.einsum(equation, *map(rl.zeros, shapes))) == first_line(
        lambda: torch.einsum(equation, *map(torch.zeros, shapes))
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.einsum("ij,jk->ik", []),
        lambda m: m.einsum("ij"),
        lambda m: m.einsum(m.zeros(2, 2), [0, 52]),
        lambda m: m.einsum("ij,jk", m.zeros(2, 2), m.zeros(2, 2, dtype=m.float64)),
        lambda m: m.tensordot(m.zeros(3, 4), m.zeros(2, 3), 1),
        lambda m: m.tensordot(m.zeros(3, 4), m.zeros(3, 4), -1),
        lambda m: m.tensordot(m.zeros(3, 4), m.zeros(3, 4), 3),
        lambda m: m.tensordot(m.zeros(3, 4), m.zeros(3, 4), ([0], [0, 1])),
        lambda m: m.inner(m.zeros(3, 4), m.zeros(3)),
    ],
)
def test_other_refusals(call):
    assert first_line(lambda: call(rl)) == first_line(lambda: call(torch))


@pytest.mark.parametrize(
    "make, shapes",
    [
        (lambda m, a, b: m.tensordot(a, b, 2), [(2, 3, 4), (3, 4, 5)]),
        (lambda m, a, b: m.tensordot(a, b, ([2, 0], [0, 1])), [(2, 3, 4), (4, 2, 5)]),
        (lambda m, a, b: m.tensordot(a, b, ([-1], [0])), [(2, 3, 1), (4, 5)]),
        (lambda m, a, b: m.tensordot(a, b, 0), [(2, 3), (4,)]),
        (lambda m, a, b: m.inner(a, b), [(2, 3), (4, 5, 3)]),
        (lambda m, a, b: m.inner(a, b), [(3,), (3,)]),
        (lambda m, a, b: m.inner(a, b), [(), (2, 3)]),
        (lambda m, a, b: m.kron(a, b), [(2, 3), (4, 5)]),
        (lambda m, a, b: m.kron(a, b), [(3,), (2, 2)]),
        (lambda m, a, b: m.kron(a, b), [(), (2, 2)]),
    ],
)
def test_relatives(make, shapes):
    expected, found = both(make, arrays(shapes))
    for a, b in zip(expected, found):
        if a is not None and b is not None:
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
