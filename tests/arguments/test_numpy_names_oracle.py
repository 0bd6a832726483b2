"""NumPy's names for arguments, which PyTorch's functions take, too."""

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

# They differ for another reason: wrong calls that do not fail here, and functions that tell something else first.
ELSEWHERE = {"random_", "size", "stride", "eig", "lstsq", "matrix_rank", "solve", "symeig", "nuclear_norm", "normal", "norm_except_dim", "copy_", "module_load", "dist", "pairwise_distance", "result_type",
             "DisableTorchFunctionSubclass", "compile", "save", "load", "seed", "manual_seed", "set_default_device"}  # fmt: skip
NAMED = ({"axis": 0}, {"axis": 0, "keepdims": True}, {"keepdim": True, "dim": 0}, {"x2": 1})


def taken(library, owner, name):
    """Which of the calls raise no TypeError."""
    found = []
    for options in NAMED:
        x = library.arange(6.0).view(2, 3)
        call = getattr(x, name) if owner == "Tensor" else getattr(library, name)
        try:
            call(*(() if owner == "Tensor" else (x,)), **options)
        except Exception as error:
            found.append(not isinstance(error, TypeError))
        else:
            found.append(True)
    return found


@pytest.mark.parametrize("owner", ["Tensor", "torch"])
def test_names_that_functions_take(owner):
    theirs, ours = (torch.Tensor, rushlight.Tensor) if owner == "Tensor" else (torch, rushlight)
    names = [name for name in dir(theirs) if name[0] != "_" and name not in ELSEWHERE]
    names = [name for name in names if callable(getattr(theirs, name)) and hasattr(ours, name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        different = {
            name: found
            for name in names
            if (found := [taken(library, owner, name) for library in (torch, rushlight)])[0] != found[1]
        }
    assert different == {}
    assert len(names) > 300
