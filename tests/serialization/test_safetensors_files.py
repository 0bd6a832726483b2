"""The safetensors helpers, through the library."""

import numpy as np
import pytest
from checkpoints import tensor

from rushlight.base.dtypes import ALL, complex128
from rushlight.serialization import load_safetensors, save_safetensors
from rushlight.tensor import wrap

safetensors = pytest.importorskip("safetensors")


def test_every_dtype_of_the_format(tmp_path):
    pytest.importorskip("ml_dtypes")
    path = tmp_path / "all.safetensors"
    tensors = {
        dtype.name: wrap(np.arange(6).reshape(2, 3).astype(dtype.numpy)) for dtype in ALL if dtype is not complex128
    }
    tensors["scalar"], tensors["empty"], tensors["turned"] = (
        tensor(2.5),
        tensor([]),
        wrap(np.arange(6.0).reshape(2, 3).T),
    )
    save_safetensors(tensors, path, metadata={"made": "here"})
    result = load_safetensors(str(path))
    assert result.keys() == tensors.keys()
    for name, expected in tensors.items():
        found = result[name]
        assert found.dtype is expected.dtype and found.shape == expected.shape and found._array.flags.writeable
        assert np.array_equal(found._array, expected._array)
    with safetensors.safe_open(path, framework="np") as file:
        assert file.metadata() == {"made": "here"}


def test_a_failing_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "model.safetensors"
    save_safetensors({"a": tensor([1])}, path)
    for bad in ({"a": [1]}, {"a": tensor([1], "complex128")}):
        with pytest.raises(ValueError, match="\nhint: "):
            save_safetensors(bad, path)
    assert load_safetensors(path)["a"].tolist() == [1]


def test_damaged_files_and_other_devices(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"nonsense")
    with pytest.raises(safetensors.SafetensorError):
        load_safetensors(path)
    with pytest.raises(AssertionError, match="CUDA"):
        load_safetensors(path, device="cuda")
