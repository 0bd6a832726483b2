"""Sparse tensors by themselves: what is refused before anything is read, what shares memory, derivatives, files, copies."""

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck

I = torch.tensor([[0, 1, 1], [2, 0, 2]])  # PyTorch's documentation calls them i and v
V = torch.tensor([3.0, 4.0, 5.0])


def coo(values=V, **options):
    return torch.sparse_coo_tensor(I, values, (2, 3), **options)


@pytest.mark.parametrize("indices", [[[0, 5], [0, 1]], [[0, 1], [0, 3]], [[0, -1], [0, 1]], [[0, 1], [-4, 0]]])
def test_coordinates_outside_are_refused_unasked(indices):
    with pytest.raises(RuntimeError, match=r"size is inconsistent|negative index"):
        torch.sparse_coo_tensor(indices, [1.0, 2.0], (2, 3))


@pytest.mark.parametrize("starts, others", [
    ([0, 1, 4], [2, 0, 2]), ([1, 1, 3], [2, 0, 2]), ([0, 4, 3], [2, 0, 2]), ([0, 1, 3], [2, 0, 3]), ([0, 1, 3], [2, -1, 0]),
    ([0, 1], [2, 0, 2]), ([0, 1, 3], [2, 0]),
])  # fmt: skip
@pytest.mark.parametrize("make", [torch.sparse_csr_tensor, torch.sparse_csc_tensor])
def test_compressed_lines_that_are_impossible_are_refused_unasked(make, starts, others):
    size = (2, 3) if make is torch.sparse_csr_tensor else (3, 2)
    with pytest.raises(RuntimeError, match=r"is not satisfied|must be equal"):
        make(starts, others, [1.0, 2.0, 3.0], size)


def test_order_is_checked_on_demand_alone():
    given = [0, 1, 3], [2, 2, 0], [1.0, 2.0, 3.0], (2, 3)
    assert torch.sparse_csr_tensor(*given).to_dense().tolist() == [[0, 0, 1], [3, 0, 2]]
    checks = torch.sparse.check_sparse_tensor_invariants
    with checks(), pytest.raises(RuntimeError, match="sorted and distinct"):
        torch.sparse_csr_tensor(*given)
    assert not checks.is_enabled()
    checks.enable()
    try:
        assert checks.is_enabled()
        with checks(False):
            torch.sparse_csr_tensor(*given)
    finally:
        checks.disable()

    @checks()
    def inside():
        return checks.is_enabled()

    assert inside() and not checks.is_enabled()


def test_a_claim_of_being_coalesced_is_looked_up():
    twice = torch.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (2,), is_coalesced=True)
    assert not twice.is_coalesced() and twice.to_dense().tolist() == [0, 5]


def test_values_share_memory_and_indices_cannot_be_written():
    values, indices = V.clone(), I.clone()
    x = torch.sparse_coo_tensor(indices, values, (2, 3))
    values.mul_(2)
    indices.zero_()
    assert x.to_dense().tolist() == [[0, 0, 6], [8, 0, 10]]
    x._values().add_(1)
    assert values.tolist() == [7, 9, 11]
    many = torch.sparse_coo_tensor(torch.zeros(1, 100_000, dtype=torch.int64), torch.ones(100_000), (5,))
    for tensor in (x, many):
        with pytest.raises(RuntimeError, match="read-only"):
            tensor._indices().add_(1)
    csr = x.to_sparse_csr()
    for part in (csr.crow_indices(), csr.col_indices()):
        with pytest.raises(RuntimeError, match="read-only"):
            part.add_(1)


def test_empty_ones():
    for size in ((0,), (2, 0), (0, 3), (2, 3)):
        x = torch.sparse_coo_tensor(size)
        assert x.to_dense().shape == size and x.coalesce()._nnz() == 0 and (x + x)._nnz() == 0
    assert (torch.sparse_coo_tensor((2, 3)) @ torch.ones(3, 4)).tolist() == [[0] * 4] * 2
    assert torch.zeros(3, 3).to_sparse_csr()._nnz() == 0


def test_large_sizes():
    big = 1 << 20
    x = torch.sparse_coo_tensor([[5, 0, 5], [big - 1, 3, big - 1], [7, 7, 7]], [1.0, 2.0, 3.0], (big, big, big))
    found = x.coalesce()
    assert found.indices().tolist() == [[0, 5], [3, big - 1], [7, 7]] and found.values().tolist() == [2, 4]
    assert (found * found).values().tolist() == [4, 16]
    assert x.sparse_mask(found)._values().tolist() == [2, 4] and x.numel() == big**3
    with pytest.raises(RuntimeError, match="overflow"):
        torch.sparse_coo_tensor([[0], [0]], [1.0], (1 << 40, 1 << 40))


FUNCTIONS = {
    "to_dense": lambda v: coo(v).to_dense(),
    "coalesce": lambda v: torch.sparse_coo_tensor([[0, 0, 1]], v, (2,)).coalesce().values() ** 2,
    "product": lambda v: coo(v) @ torch.ones(3, 2, dtype=v.dtype),
    "sparse.mm": lambda v: torch.sparse.mm(coo(v), torch.ones(3, 2, dtype=v.dtype)) ** 2,
    "two sparse": lambda v: (coo(v) @ coo(v).t()).to_dense(),
    "times": lambda v: (coo(v) * coo(v)).to_dense(),
    "sum": lambda v: torch.sparse.sum(coo(v) * 2, 0).to_dense() ** 2,
    "softmax": lambda v: torch.sparse.softmax(coo(v), 1).to_dense(),
    "log_softmax": lambda v: torch.sparse.log_softmax(coo(v), 0).to_dense(),
    "csr": lambda v: (coo(v).to_sparse_csr() @ torch.ones(3, 2, dtype=v.dtype)) ** 2,
    "sampled": lambda v: torch.sparse.sampled_addmm(coo().double().to_sparse_csr(), v[:2, None], v[None]).values() ** 2,
    "parts": lambda v: torch.cat([coo(v), coo(v * v)]).index_select(0, torch.tensor([3, 0])).to_dense(),
    "selected": lambda v: coo(v)[1].to_dense() * coo(v).t().to_dense()[2, 0],
    "mask": lambda v: (v * torch.ones(2, 3, dtype=v.dtype)).sparse_mask(coo()).to_dense() ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    v = V.double().requires_grad_()
    assert gradcheck(FUNCTIONS[name], (v,))
    assert gradgradcheck(FUNCTIONS[name], (v,))


def test_gradients_of_both_factors():
    def product(v, x):
        return torch.sparse.mm(coo(v), x)

    arguments = V.double().requires_grad_(), torch.rand(3, 2, dtype=torch.float64).requires_grad_()
    assert gradcheck(product, arguments) and gradgradcheck(product, arguments)


def test_gradients_of_places_that_come_twice():
    """The gradient says how the element counts, however many parts its sum has."""
    x = torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).requires_grad_()
    (x.to_dense() * torch.tensor([5.0, 7.0])).sum().backward()
    assert x.grad.to_dense().tolist() == [5, 7]
    x.coalesce().values().sum().backward()
    assert x.grad.to_dense().tolist() == [6, 8]


def test_gradients_are_not_shared():
    table = torch.nn.Embedding(4, 2, sparse=True)
    found = table(torch.tensor([1, 2]))
    gradient = torch.ones(2, 2)
    found.backward(gradient)
    table.weight.grad.mul_(3)
    assert gradient.tolist() == [[1, 1], [1, 1]]
    assert table.weight.grad.to_dense().sum().item() == 12


def test_copies_pickles_files():
    module = torch.nn.Module()
    module.register_buffer("adjacency", coo())
    module.p = torch.nn.Parameter(coo().to_sparse_csr())
    assert isinstance(module.p, torch.nn.Parameter) and module.p.layout is torch.sparse_csr
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file)
    torch.testing.assert_close(loaded["adjacency"], coo())
    module.load_state_dict(loaded)
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(again.state_dict()) == repr(module.state_dict()) and again.p.requires_grad
        again.adjacency.mul_(2)
        assert module.adjacency.values is not None and module.adjacency.to_dense().sum().item() == 12
    assert module.double().adjacency.dtype is torch.float64


def test_comparison():
    torch.testing.assert_close(coo(), coo())
    with pytest.raises(AssertionError, match="layout"):
        torch.testing.assert_close(coo(), coo().to_sparse_csr())
    with pytest.raises(AssertionError, match="number of specified values"):
        torch.testing.assert_close(coo(), torch.sparse_coo_tensor((2, 3)))
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(coo(), coo() * 2)


def test_transforms():
    x = torch.ones(3)
    assert torch.func.jacrev(lambda x: coo() @ x)(x).tolist() == coo().to_dense().tolist()
    assert torch.func.grad(lambda x: (coo() @ x).sum())(torch.ones(3, 2)).tolist() == [[4, 4], [0, 0], [8, 8]]
    assert torch.func.vmap(lambda x: coo() @ x)(torch.ones(2, 3, 2)).shape == (2, 2, 2)


def test_numpy_is_refused():
    for x in (coo(), coo().to_sparse_csr()):
        for read in (np.asarray, lambda x: x.numpy(), lambda x: np.asarray(x._array), lambda x: np.add(x._array, 1)):
            with pytest.raises((TypeError, NotImplementedError)):
                read(x)


def test_no_sparse_tensor_no_room():
    import subprocess
    import sys

    code = (
        "import sys, rushlight as torch; x = torch.ones(2, 2); x.layout, x.is_sparse, (x + x).relu().sum();"
        "torch.nn.Embedding(3, 2)(torch.tensor([1])).sum().backward();"
        "assert not any(m.startswith('rushlight.sparse') for m in sys.modules); x.to_dense(); assert 'rushlight.sparse' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
