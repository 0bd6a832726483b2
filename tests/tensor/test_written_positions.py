"""Positions that are written at: kept for the gradient as they were, whatever becomes of the index tensor; refused as in PyTorch."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("count", [2, 50_000])
@pytest.mark.parametrize("write", ["item", "put", "put_"])
def test_the_gradient_knows_the_positions_of_the_write(write, count):
    values = torch.ones(count, requires_grad=True)
    index, x = torch.arange(count), torch.zeros(count + 1)
    if write == "item":
        x[index] = values * 2
    else:
        x = getattr(x, "index_" + write)((index,), values * 2)
    index.fill_(count)
    x[:count].sum().backward()
    assert values.grad.tolist() == [2.0] * count


@pytest.mark.parametrize("count", [3, 50_000])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_positions_of_the_whole_range(dtype, count):
    x = torch.zeros(count)
    index = torch.arange(count).sub(count).to(dtype)
    assert x.index_put((index,), torch.arange(float(count))).tolist() == list(range(count))
    mask = torch.arange(count) > 0
    assert x.index_put((mask,), torch.tensor(1.0)).sum().item() == count - 1
    for wrong in (count, -count - 1):
        index[1] = wrong
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension 0 with size {count}"):
            x.index_put((index,), torch.ones(count))
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension 0 with size {count}"):
            x[index]
