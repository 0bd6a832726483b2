"""Windows of a storage that begin before the tensor whose storage it is."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("offset", [0, 1, 2])
def test_gradients_where_the_window_begins_before_the_tensor(start, offset):
    x = torch.arange(12, dtype=torch.float64)[start : start + 9].reshape(3, 3).detach().requires_grad_()
    source = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)

    def scattered(x, source):
        return torch.as_strided_scatter(x, source, (2, 2), (2, 1), offset)

    assert torch.autograd.gradcheck(scattered, (x, source))
