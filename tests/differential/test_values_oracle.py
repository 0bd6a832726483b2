"""Special values (NaN, infinities, zeros of both signs, denormals, equal elements) through PyTorch's database of operations."""

import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # what the database imports

from values import trial  # noqa: E402
from values_calls import DTYPES, label, operations  # noqa: E402

import rushlight  # noqa: E402

EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "300"))
SEEDS = max(1, EXAMPLES // 300)  # of the sweep over all operations
SHARE = 12  # of the database, one operation in so many is tried in every run


def _differences(seed, infos, dtypes, most):
    """What differs, as lines."""
    found = []
    for info in infos:
        for dtype in dtypes:
            if getattr(torch, dtype) not in info.dtypes:
                continue
            tried = trial(torch, rushlight, info, dtype, seed, most)
            if tried is not None and tried[1] is not None:
                found.append(f"{label(info)} {dtype} (seed {seed}): {tried[1][0]}: {tried[1][1]}")
    return found


def test_a_sample_of_operations():
    differences = _differences(0, operations()[::SHARE], DTYPES[:4], 5)
    assert not differences, "\n".join(differences)


@pytest.mark.slow
def test_all_operations():
    dtypes = ["float32"] if SEEDS == 1 else DTYPES
    asked = operations()[:: 1 if EXAMPLES >= 300 else 3]
    differences = [line for seed in range(SEEDS) for line in _differences(seed, asked, dtypes, 5)]
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("dtype", DTYPES[:5])
@pytest.mark.parametrize("incoming", [float("inf"), float("nan"), 2.0])
def test_gradient_of_a_product_with_two_zeros_is_zero(dtype, incoming):
    found = []
    for module in (torch, rushlight):
        leaf = module.tensor([0.0, 0.0, 3.0], dtype=getattr(module, dtype), requires_grad=True)
        leaf.prod().backward(module.tensor(incoming, dtype=getattr(module, dtype)))
        found.append(leaf.grad.tolist())
    assert found[0] == found[1] == [0, 0, 0]
