"""The order in memory of tensors that copy NumPy arrays, against PyTorch."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

ARRAYS = {
    "rows": lambda a: a,
    "reversed": lambda a: a.T,
    "permuted": lambda a: a.transpose(1, 0, 2),
    "spaced": lambda a: a[:, ::2],
    "broadcast": lambda a: np.broadcast_to(a[0], (5, *a.shape[1:])),
    "single": lambda a: a[0, 0, 0],
}


@pytest.mark.parametrize("shape", [(2, 3, 4), (20, 30, 400)])
@pytest.mark.parametrize("dtype", [None, "float64", "float32", "int64"])
@pytest.mark.parametrize("layout", ARRAYS)
def test_copies_of_arrays(layout, dtype, shape):
    array = ARRAYS[layout](np.arange(np.prod(shape), dtype=np.float64).reshape(shape))
    wanted, found = (m.tensor(array, dtype=dtype and getattr(m, dtype)) for m in (torch, rushlight))
    assert str(found.dtype).split(".")[1] == str(wanted.dtype).split(".")[1]
    assert found.stride() == wanted.stride()
    assert found.tolist() == wanted.tolist()
    assert not np.may_share_memory(found.numpy(), array)
