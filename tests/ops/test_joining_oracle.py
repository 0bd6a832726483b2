"""Joining, repeating, grids and copying views against PyTorch, line by line; and their gradients."""

import numpy as np
import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:index_reduce")

CASES = [
    "torch.cat([x, x])", "torch.cat([x, x], -1)", "torch.cat([x, x.int()])", "torch.cat([x, e])", "torch.cat([])",
    "torch.cat([x, x[0]])", "torch.cat([x, x.t()])", "torch.cat([s, s])", "torch.cat([x, x], 2)", "torch.cat((x,), dim=1)",
    "torch.concat([x, x])", "torch.stack([x, x], 1)", "torch.stack([x, x.t()])", "torch.stack([])", "torch.stack([s, s])",
    "torch.hstack([v, v])", "torch.vstack([v, x])", "torch.dstack([v, v])", "torch.column_stack([v, x.t()])",
    "x.repeat(2, 1)", "x.repeat(2)", "x.repeat(2, 1, 1)", "x.repeat(0, 1)", "x.repeat(-1, 1)", "x.tile(2)", "x.tile(2, 1)",
    "v.repeat_interleave(2)", "v.repeat_interleave(torch.tensor([1, 0, 2]))", "x.repeat_interleave(2, 0)",
    "x.repeat_interleave(-1)", "torch.repeat_interleave(torch.tensor([1, 2]))", "v.repeat_interleave(torch.tensor([1, 2]))",
    "x.repeat_interleave(2, 1, output_size=6)", "x.repeat_interleave(2, 1, output_size=5)", "x.roll(1)", "x.roll(1, 1)",
    "x.roll((1, 2), (0, 1))", "x.roll(1, (0, 1))", "x.flip(0)", "x.flip(0, 1)", "x.flip(0, 0)", "x.fliplr()", "v.fliplr()",
    "x.flipud()", "s.flipud()", "x.rot90()", "x.rot90(2)", "x.rot90(3)", "x.rot90(-1, (1, 0))", "x.rot90(1, (0, 0))",
    "v.rot90()", "torch.block_diag(x, v)", "torch.block_diag()", "torch.block_diag(x, s, e)",
    "torch.block_diag(x, torch.zeros(1, 1, 1))", "torch.cartesian_prod(v, v)", "torch.cartesian_prod(v)",
    "torch.cartesian_prod(x)", "torch.combinations(v)", "torch.combinations(v, 3, True)", "torch.combinations(v, 0)",
    "torch.combinations(v, -1)", "torch.combinations(x)", "torch.meshgrid(v, v, indexing='xy')",
    "torch.meshgrid([v, v[:2]], indexing='xy')", "torch.meshgrid((v,), indexing='ij')", "torch.meshgrid([v, 3], indexing='ij')",
    "torch.meshgrid([v], [v], indexing='ij')", "torch.atleast_1d([s, v])", "torch.atleast_2d((s, v))", "torch.atleast_3d([v, 3])",
    "torch.meshgrid(v, v[:2], indexing='xy')", "torch.meshgrid(v, v[:2], s, indexing='ij')", "torch.atleast_3d(s, v, x)",
    "torch.select_copy(x, 0, 1)", "torch.slice_copy(x, 1, 0, 2)", "torch.squeeze_copy(x[:1])", "torch.t_copy(x)",
    "torch.permute_copy(x, (1, 0))", "torch.view_copy(x, (6,))", "torch.expand_copy(v, (2, 3))", "torch.unbind_copy(x)",
    "torch.split_copy(x, 1)", "torch.split_with_sizes_copy(x, [1, 1])", "torch.diagonal_copy(x)", "torch.alias_copy(x)",
    "torch.as_strided_copy(x, (2,), (1,))", "torch.unfold_copy(v, 0, 2, 1)", "torch.transpose_copy(x, 0, 1)",
    "torch.unsqueeze_copy(v, 0)", "x.narrow_copy(1, 1, 2)", "x.narrow_copy(1, 1, 3)",
    "x.select_scatter(v, 0, 1)",
    "x.select_scatter(s, 0, 1)", "x.slice_scatter(x[:1], 0, 1)", "x.diagonal_scatter(v[:2])",
    "x.as_strided_scatter(v, (3,), (2,))", "x.as_strided_scatter(v, (2,), (2,))",
]  # fmt: skip


def names(m):
    x = m.arange(6.0).view(2, 3)
    return {"x": x, "v": m.tensor([1.0, 2.0, 3.0]), "s": m.tensor(4.0), "e": m.zeros(0)}


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    check(torch, rl, code, names)


DIFFERENTIABLE = [
    "torch.cat([x, x.t().reshape(2, 3)], 1)", "torch.stack([x, x * 2], 1)", "x.repeat(2, 2)", "x.repeat_interleave(3, 1)",
    "x.roll((1, 2), (0, 1))", "x.flip(0, 1)", "x.rot90()", "torch.block_diag(x, x[0])", "torch.combinations(x[0])",
    "torch.permute_copy(x, (1, 0))", "torch.unbind_copy(x)[1]", "x.narrow_copy(1, 1, 2)", "x.unsafe_split(2, 1)[1]",
    "x.select_scatter(x[0], 0, 1)", "x.slice_scatter(x[:1], 0, 1)", "x.diagonal_scatter(x[0, :2])", "x[1:, ::2]",
    "x.diagonal()", "x.unfold(1, 2, 1)", "x.as_strided((2, 2), (1, 1))", "x.expand(2, 2, 3)", "x.t().reshape(6)",
    "x.squeeze(0)", "x.movedim(0, 1)", "x.unbind(1)[2]", "x.tensor_split(2, 1)[1]", "x[[0, 0, 1]]", "x[x > 2]",
    "x.gather(1, torch.tensor([[0, 0], [2, 1]]))", "x.take(torch.tensor([0, 5, 5]))", "x.masked_select(x > 2)",
    "x.scatter_reduce(1, torch.tensor([[0, 0], [2, 0]]), x[:, 1:], 'prod')",
    "x.scatter_reduce(1, torch.tensor([[0, 0], [2, 0]]), x[:, 1:], 'amax', include_self=False)",
    "x.index_reduce(1, torch.tensor([0, 0]), x[:, 1:], 'mean')", "x.index_add(0, torch.tensor([1, 1]), x, alpha=2)",
    "x.index_put((torch.tensor([0, 0]),), x[0], accumulate=True)", "x.put(torch.tensor([0, 5]), x[0, :2])",
]  # fmt: skip


@pytest.mark.parametrize("code", DIFFERENTIABLE)
def test_gradients_of_both_orders(code):
    found = []
    for m in (torch, rl):
        leaf = m.tensor(np.linspace(0.5, 3.0, 6).reshape(2, 3), requires_grad=True)
        result = eval(code, {"torch": m, "x": leaf * 1})
        (first,) = m.autograd.grad((result**3).sum(), leaf, create_graph=True)
        (second,) = m.autograd.grad((first * first).sum(), leaf)
        found.append((first.detach().numpy(), second.numpy()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-10)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-10)
