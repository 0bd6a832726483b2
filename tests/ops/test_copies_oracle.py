"""Copies, memory formats, storages and resizing against PyTorch, line by line."""

import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

CASES = [
    "z.clone()", "z.t().clone()", "z.expand(2, 2, 3).clone()", "q.permute(2, 0, 1).double()", "z.t().contiguous()",
    "q.permute(2, 0, 1)[:, :, 1:].double()", "torch.zeros_like(q.permute(2, 0, 1)[:, :, 1:])", "torch.empty_like(z.t()).stride()",
    "i.to(memory_format=torch.channels_last)", "i.contiguous(memory_format=torch.channels_last).is_contiguous()",
    "i.clone(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)",
    "z.contiguous(memory_format=torch.channels_last)", "z.contiguous(memory_format=torch.preserve_format)",
    "z.copy_(torch.tensor([1, 2, 3]))", "z.copy_(torch.zeros(2, 2, 3))", "z.copy_(torch.tensor(2))", "z.copy_([1])",
    "z.expand(2, 2, 3).copy_(z)", "z.expand(2, 2, 3).add_(1)", "z[:1].expand(2, 3).fill_(1)", "z.fill_(torch.ones(2))",
    "z.fill_(1j)", "z.long().fill_(float('nan'))", "z.fill_(True)", "torch.fill(z, 2)", "z.zero_()", "z.sum_to_size(1, 3)",
    "z.sum_to_size(3)", "z.sum_to_size(2, 2)", "z.bool().sum_to_size(1, 3)", "z.bool().sum_to_size(2, 3)",
    "z.clone().resize_(3)", "z.clone().resize_(2, 2)", "z[1:].resize_(2).storage_offset()", "z.clone().resize_(-1)",
    "z.requires_grad_().resize_(3)", "z.clone().resize_(30).shape", "z.clone().resize_as_(torch.zeros(6))", "z.resize(7)",
    "z.clone().set_(z[1:]).storage_offset()", "z.clone().set_(torch.tensor([1]))", "z.clone().set_().shape",
    "z.clone().set_(z.untyped_storage(), 1, (2,), (2,))", "z.clone().set_(z.storage())", "z.is_set_to(z.view(2, 3))",
    "z.is_set_to(z[1:])", "z.untyped_storage().nbytes()", "z[1:].untyped_storage() == z.untyped_storage()",
    "z.storage().tolist()", "len(z.storage())", "z.storage()[1]", "z.storage().dtype", "torch.is_storage(z.storage())",
    "z[1:].untyped_storage().data_ptr() == z.data_ptr()", "z.clone().apply_(lambda v: v + 1)", "z.map_(z, lambda a, b: a * b)",
    "z.requires_grad_().apply_(abs)", "z.view(torch.int32)", "z.view(torch.int16)", "z.view(torch.float64)",
    "z.t().view(torch.int16)", "torch.zeros(4, 4)[:, 1:3].view(torch.float64)", "z.dim_order()", "z.t().dim_order()",
    "torch.numel(z)", "torch.numel([1])", "torch.typename(z)", "torch.typename(1)", "torch.is_same_size(z, z)",
    "torch.set_num_threads(0)", "torch.set_num_threads('a')", "torch.get_default_device()",
]  # fmt: skip


def names(m):
    return {"z": m.arange(6.0).view(2, 3), "q": m.arange(24.0).view(2, 3, 4), "i": m.zeros(1, 2, 3, 4)}


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    check(torch, rl, code, names)
