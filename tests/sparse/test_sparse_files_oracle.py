"""Files with sparse tensors go both ways between PyTorch and Rushlight; broken ones are refused."""

import io
import warnings

import pytest

import rushlight
from rushlight.serialization import constructors

torch = pytest.importorskip("torch")


def tensors(module):
    i, v = module.tensor([[0, 1, 1], [2, 0, 2]]), module.tensor([3.0, 4.0, 5.0])
    s = module.sparse_coo_tensor(i, v, (2, 3))
    noted = s.clone()
    noted.note = "kept"
    return {
        "coo": s, "coalesced": s.coalesce(), "csr": s.to_sparse_csr(), "csc": s.to_sparse_csc(), "bsr": s.to_dense().to_sparse_bsr((1, 3)),
        "parameter": module.nn.Parameter(s.clone()), "tracked": s.clone().requires_grad_(), "noted": noted,
        "hybrid": module.sparse_coo_tensor([[1]], module.ones(1, 2, dtype=module.float64), (2, 2)), "empty": module.sparse_coo_tensor((2, 3)),
    }  # fmt: skip


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("writer, reader", [(torch, rushlight), (rushlight, torch), (rushlight, rushlight)])
def test_files(writer, reader, weights_only):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = io.BytesIO()
        writer.save(tensors(writer), file)
        file.seek(0)
        found, expected = reader.load(file, weights_only=weights_only), tensors(reader)
    expected["tracked"] = expected["tracked"].detach()  # files do not say it
    assert {name: repr(each) for name, each in found.items()} == {name: repr(each) for name, each in expected.items()}
    assert found["noted"].note == "kept"
    assert [found[name].is_coalesced() for name in ("coo", "coalesced")] == [False, True]


I, V = rushlight.tensor([[0, 5]]), rushlight.tensor([1.0, 2.0])
BROKEN = {
    "an index outside": (rushlight.sparse_coo, (I, V, (2,), False)),
    "a size that is none": (rushlight.sparse_coo, (I, V, (-2,), False)),
    "a size of something else": (rushlight.sparse_coo, (I, V, ("2",), False)),
    "too few parts": (rushlight.sparse_coo, (I, V)),
    "no tensor": (rushlight.sparse_coo, ([[0]], V, (2,), False)),
    "dense": (rushlight.strided, (I, V, (2,), False)),
    "lines that do not end": (rushlight.sparse_csr, (rushlight.tensor([0, 9]), rushlight.tensor([0, 0]), V, (1, 2))),
    "no layout": ("torch.sparse_coo", (I, V, (9,), False)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name):
    with pytest.raises(Exception, match="sparse tensor"):
        constructors.TABLE["torch._utils._rebuild_sparse_tensor"].build(BROKEN[name])
