"""Copies of the parts of sparse tensors, largest and smallest products of rows, what is for GPUs alone."""

import pytest

import rushlight

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of SparseSemiStructuredTensor"),
]

COPIES = (
    "crow_indices_copy",
    "col_indices_copy",
    "ccol_indices_copy",
    "row_indices_copy",
    "values_copy",
    "indices_copy",
)
LAYOUTS = {
    "CSR": lambda t: t.to_sparse_csr(), "CSC": lambda t: t.to_sparse_csc(), "COO": lambda t: t.to_sparse(), "dense": lambda t: t,
    "BSR": lambda t: t.to_sparse_bsr((1, 1)),
}  # fmt: skip


def told(call):
    try:
        found = call()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0].split(" with arguments from")[0]
    return str(found.dtype), found.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", COPIES)
def test_copies(name, layout):
    results = []
    for module in (rushlight, torch):
        tensor = LAYOUTS[layout](module.tensor([[0.0, 2.0], [3.0, 0.0]]))
        results.append(told(lambda: getattr(module, name)(tensor)))
    assert results[0] == results[1]


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "prod", "most"])
def test_products_of_rows(reduce):
    results = []
    for module in (rushlight, torch):
        one = module.tensor([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 0.0, 4.0]]).to_sparse_csr().requires_grad_()
        two = module.tensor([[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0]], requires_grad=True)
        try:
            found = module.sparse.mm(one, two, reduce)
        except RuntimeError as error:
            results.append(str(error).splitlines()[0])
            continue
        (found * module.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
        results.append((found.tolist(), one.grad.values().tolist(), two.grad.tolist()))
    assert results[0] == results[1]


def test_what_is_for_gpus():
    for module in (rushlight, torch):
        for name in ("CUTLASS", "CUSPARSELT"):
            kind = getattr(module.sparse, f"SparseSemiStructuredTensor{name}")
            assert issubclass(kind, module.sparse.SparseSemiStructuredTensor)
            with pytest.raises(RuntimeError, match="Only CUDA tensors are currently supported"):
                kind.from_dense(module.ones(32, 32))
            with pytest.raises(ValueError, match="At least one of packed or packed_t must be provided"):
                kind((2, 2), None, None, None, None, None)
            with pytest.raises(NotImplementedError, match="_sparse_semi_structured_tile"):
                kind.prune_dense_static_sort(module.ones(32, 32))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "float32"])
def test_differences_wrap_and_bools_have_none(dtype):
    outcomes = []
    for module in (torch, rushlight):
        a = module.ones(3, dtype=getattr(module, dtype)).to_sparse()
        b = module.tensor([0, 2, 1]).to(getattr(module, dtype)).to_sparse()
        found = []
        for difference in (
            lambda: a - b,
            lambda: a.sub(b, alpha=2),
            lambda: a.to_dense() - b,
            lambda: a.clone().sub_(b),
        ):
            try:
                result = difference()
                found.append((result.to_dense() if result.is_sparse else result).tolist())
            except RuntimeError as error:
                found.append(str(error).split("\n")[0])
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]
