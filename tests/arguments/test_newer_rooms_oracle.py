"""Wrong calls of functions in the rooms beside ``torch`` itself: sparse, nested, masked, autograd, distributions; against PyTorch."""

import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

REFUSED = """
torch.sparse.mm(3, x)
torch.sparse.mm(x, np.ones((2, 2)))
torch.sparse.mm(s, s, s, s, s)
torch.sparse.softmax(3, 0)
torch.sparse.log_softmax(s, "a")
torch.sparse.addmm(3, x, x)
torch.sparse.sampled_addmm(3, x, x)
torch.sparse.spdiags(x, 3, x)
torch.sparse.DoubleTensor(x, x)
torch.sparse.FloatTensor(range(3))
torch.sparse.FloatTensor([2, 3])
torch.sparse.FloatTensor(i)
torch.smm(3, x)
torch.hspmm(s, [1])
torch.values_copy(3)
s.true_divide_(2, 3)
s.mul(x)
x / s
x // s
s / s
s.to_sparse(layout=3)
s.sparse_mask(3)
s.sparse_resize_(3, 1, 1)
torch.nested.nested_tensor([x], dtype=3)
torch.nested.nested_tensor_from_jagged(3, x)
torch.nested.to_padded_tensor()
torch.nested.to_padded_tensor(x, "a")
torch.masked.sum([1])
torch.masked.mean("a")
torch.masked.argmax(3, 0)
torch.masked.logaddexp(np.ones(2), x)
torch.autograd.graph.get_gradient_edge(3)
torch.autograd.graph.get_gradient_edge(x)
torch.autograd.functional.hvp(x, x)
torch.autograd.functional.vhp(lambda y: 3, x)
torch.autograd.functional.jvp(3, x)
torch.autograd.functional.hessian(3, [1], outer_jacobian_strategy="a")
torch.autograd.forward_ad.make_dual([], 3, level=0)
torch.autograd.forward_ad.make_dual(i, x, level=3)
torch.broadcast_shapes(2.5)
torch.distributions.AffineTransform(1.0, 2.0).forward_shape(2.5)
torch.convolution(x, x, None, [1], [0], [1], 1, [0], 1)
torch.embedding_bag(x, i)
torch.segment_reduce(x, 3)
torch.grid_sampler(x, x, 0, 0, 1)
torch.norm_except_dim(3)
torch.dropout_(x, 0.5, 1)
torch.as_strided_(x, 3, 1)
torch.lu_unpack(torch.eye(3), torch.tensor([9, 1, 1]).int())
torch.lu_unpack(torch.eye(3), torch.tensor([0, 1, 1]).int())
"""
TAKEN = (
    "torch.autograd.forward_ad.dual_level()(orig_func=lambda: 3)()",
    "torch.nested.to_padded_tensor(torch.nested.nested_tensor([x, x]), 0.5)",
    "torch.sparse.FloatTensor(torch.Size([2]))",
    "torch.embedding_bag(x, i[0], i[0, :1], False, 0, False, None, False, 1)[0]",
    "list(torch.utils.data.IterDataPipe.register_datapipe_as_function.__name__)",
)


def names(module):
    return {
        "torch": module, "np": np, "x": module.ones(2, 2), "i": module.tensor([[0, 1]]), "s": module.eye(3).to_sparse(),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", REFUSED.strip().splitlines())
def test_first_lines(code):
    found = []
    for module in (rl, torch):
        with pytest.raises(Exception) as caught:
            eval(code, names(module))
        found.append((caught.type.__name__, str(caught.value).split("\n")[0]))
    assert found[0] == found[1]


@pytest.mark.parametrize("code", TAKEN)
def test_calls_that_are_taken(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (eval(code, names(module)) for module in (rl, torch))
    assert str(ours) == str(theirs)


def test_a_sparse_tensor_is_no_array_for_operations_in_place():
    s = rl.eye(2).to_sparse()
    for _ in range(3):  # the general path first, then the short one
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            s.div_(rl.ones(2, 2))
        assert "ufunc" not in str(caught.value)
