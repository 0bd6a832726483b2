"""Calls on sparse tensors, run with both libraries: what they print has to be the same, and the errors' first lines."""

import warnings


def names(module):
    """The tensors that the calls are about, made anew."""
    i = module.tensor([[0, 1, 1], [2, 0, 2]])
    v = module.tensor([3.0, 4.0, 5.0])

    def coo(values=v):
        return module.sparse_coo_tensor(i, values.clone(), (2, 3))

    def twice():
        return module.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], [3.0, 4.0, 5.0], (2, 3))

    def csr():
        return module.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))

    def back(leaf, result, gradient=None):
        """The gradient of a leaf."""
        dense = result.layout is module.strided
        result.backward(module.ones_like(result) if gradient is None and dense else gradient)
        return leaf.grad

    hybrid = module.sparse_coo_tensor(i, module.arange(6.0).reshape(3, 2) + 1, (2, 3, 2))
    found = {
        "torch": module,
        "i": i,
        "v": v,
        "s": coo(),
        "u": twice(),
        "c": csr(),
        "d": module.arange(6.0).reshape(2, 3) - 1,
        "h": hybrid,
    }
    found |= {"S": coo().requires_grad_(), "U": twice().requires_grad_(), "C": csr().requires_grad_(), "back": back}
    found |= {"D": (module.arange(6.0).reshape(2, 3) - 1).requires_grad_(), "M": module.ones(3, 2).requires_grad_()}
    found |= {
        "m": module.arange(6.0).reshape(3, 2),
        "k": module.sparse_coo_tensor([[0, 1], [1, 1]], [2.0, -1.0], (2, 3)),
    }
    starts, places = module.tensor([[0, 1, 2], [0, 0, 2]]), module.tensor([[1, 0], [0, 1]])
    numbers = module.tensor([[1.0, 2.0], [3.0, 4.0]])
    found |= {"starts": starts, "places": places, "numbers": numbers, "compressed": module.sparse_compressed_tensor}
    found |= {
        "b": module.sparse_csr_tensor(starts, places, numbers, (2, 2, 2)),
        "y": module.sparse_csr_tensor(starts[0], places[0], module.arange(6.0).reshape(2, 3), (2, 2, 3)),
        "t": module.arange(16.0).reshape(2, 2, 4) % 2 * module.arange(16.0).reshape(2, 2, 4),
    }
    return found


def outcome(module, code):
    """What a call gives, as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, once: that indices are not checked, that CSR is in beta
        try:
            return text(eval(code, names(module)))
        except Exception as error:
            return f"{type(error).__name__}: {first_line(error)}"


def text(value):
    if isinstance(value, (tuple, list)):
        return "\n".join(map(text, value))
    return repr(value)


def first_line(error):
    """The first line of a message; of those about backends, what comes before the list of PyTorch's backends."""
    line = (str(error).splitlines() or [""])[0].split(" (Triggered internally")[0].rstrip()
    return line.partition("possible resolutions.")[0]


CREATION = """
torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
torch.sparse_coo_tensor(i, v)
torch.sparse_coo_tensor(i, v, (2, 3), dtype=torch.float64, requires_grad=True)
torch.sparse_coo_tensor(i.int(), v, (2, 3))
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor(size=(2, 3))
torch.sparse_coo_tensor((2, 3), dtype=torch.int64)
torch.sparse_coo_tensor([[]], [])
torch.sparse_coo_tensor([[0, 1]], [1, 2], (2,))
torch.sparse_coo_tensor([[0, 1]], [1, 2.5])
torch.sparse_coo_tensor([[0]], torch.tensor(2.0))
torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), dtype=torch.int32)
torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), dtype=torch.complex64)
torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3)).half()
torch.sparse_coo_tensor(torch.empty(0, 1, dtype=torch.long), torch.ones(1), ()).to_dense()
torch.sparse_coo_tensor([[0, -1], [0, 1]], torch.ones(2))
torch.sparse_coo_tensor([[0, 5], [0, 1]], torch.ones(2), (2, 3), check_invariants=True)
torch.sparse_coo_tensor([[0, 1], [0, -1]], torch.ones(2), (2, 3), check_invariants=True)
torch.sparse_coo_tensor([[0, 1], [0, 1]], torch.ones(3), (2, 3))
torch.sparse_coo_tensor([1, 2], torch.ones(1))
torch.sparse_coo_tensor([[0, 1]], torch.ones(2), (2, 3, 4))
torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (2, 4))
torch.sparse_coo_tensor([[1, 1]], torch.ones(2), (2,), is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor([[1, 0]], torch.ones(2), (2,), is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor([[0, 1]], torch.ones(2), (2,), is_coalesced=True).is_coalesced()
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [1.0, 2, 3])
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2]), v, (2, 3), dtype=torch.float64)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]).int(), torch.tensor([2, 0, 2]).int(), v, (2, 3)).col_indices()
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2]), v, (3, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([1, 1, 3]), torch.tensor([2, 0, 2]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 4]), torch.tensor([2, 0, 2]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 3]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, -1, 2]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 2, 0]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 4, 3]), torch.tensor([2, 0, 2]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]).int(), torch.tensor([2, 0, 1]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0.0, 1, 3]), torch.tensor([2.0, 0, 1]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([[0, 1, 3]]), torch.tensor([2, 0, 1]), v, (2, 3), check_invariants=True)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 1]), v, (2,), check_invariants=True)
torch.sparse_csc_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 3]), v, (3, 2), check_invariants=True)
torch.sparse_csc_tensor(torch.tensor([0, 1, 5]), torch.tensor([2, 0, 1]), v, (3, 2), check_invariants=True)
torch.sparse_csc_tensor(torch.tensor([0, 4, 3]), torch.tensor([2, 0, 1]), v, (3, 2), check_invariants=True)
torch.sparse_csc_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 1, 0]), v, (3, 2), check_invariants=True)
torch.sparse_csc_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 1, 0]), v, (3, 3), check_invariants=True)
torch.sparse_compressed_tensor(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), v, (3, 2), layout=torch.sparse_csc)
torch.sparse_compressed_tensor(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), v, (3, 2))
torch.sparse_bsr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2, 2, 3))
torch.sparse_bsr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2, 2, 3), (4, 6)).to_dense()
torch.sparse_bsr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1, 2, 3), (3, 3), check_invariants=True)
torch.zeros(2, 3, layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_csr)
torch.empty(2, 3, layout=torch.sparse_coo)
torch.ones(2, 3, layout=torch.sparse_coo)
torch.zeros_like(d, layout=torch.sparse_coo)
torch.zeros_like(s), torch.empty_like(s), torch.zeros_like(c)
torch.ones_like(s)
s.new_zeros(2), s.new_empty((2, 2)), s.new_tensor([1.0])
torch.sparse.FloatTensor(i, v, torch.Size([2, 3]))
torch.sparse.FloatTensor(2, 3)
s.new(i, v, torch.Size([2, 3])), s.new(i, v), s.new(2, 3), s.new(torch.Size([3])), s.new()
torch.sparse.LongTensor(i, v.long())
torch.sparse.FloatTensor, isinstance(s, torch.sparse.FloatTensor), isinstance(d, torch.sparse.FloatTensor)
torch.sparse.check_sparse_tensor_invariants.is_enabled()
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 3))
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 3), layout=torch.sparse_csr)
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 0]), (3, 3))
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1]), (3, 3))
torch.sparse.spdiags(torch.arange(3.0), torch.tensor(1), (3, 4)).to_dense()
"""

PARTS = """
s.is_coalesced(), s.coalesce().is_coalesced(), torch.sparse_coo_tensor((2, 3)).is_coalesced(), d.to_sparse().is_coalesced()
s.sparse_dim(), s.dense_dim(), c.sparse_dim(), c.dense_dim(), h.sparse_dim(), h.dense_dim(), d.sparse_dim(), d.dense_dim()
s.layout, c.layout, d.layout, s.is_sparse, s.is_sparse_csr, c.is_sparse, c.is_sparse_csr, d.is_sparse
s.shape, s.size(0), s.ndim, s.numel(), len(s), s.dtype, s.device, s.requires_grad, s.is_leaf, s._nnz(), c._nnz(), s.element_size()
u, u.coalesce(), u.coalesce().coalesce()
u.values()
u.indices()
u.coalesce().indices(), u.coalesce().values(), u._indices(), u._values()
c.values(), c.crow_indices(), c.col_indices()
c.ccol_indices()
c.coalesce()
c.indices()
c._indices()
s.crow_indices()
d.coalesce()
d.indices()
d._nnz()
d.crow_indices()
d.values()
d.is_coalesced()
s.type()
c.type()
s.type(torch.float64), s.type("torch.sparse.DoubleTensor")
s.stride(), s.storage_offset(), s.is_contiguous(), c.storage_offset()
c.stride()
c.is_contiguous()
s.data_ptr()
s.untyped_storage()
c.untyped_storage()
s.share_memory_()
s.nbytes
s.numpy()
c.numpy()
s.item()
torch.sparse_coo_tensor([[0]], [2.0]).item(), bool(torch.sparse_coo_tensor([[0]], [2.0]))
s.tolist()
torch.sparse_coo_tensor([[0] * 3000], torch.arange(3000.0), (1,))
torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3, 4), (2, 3, 4))
torch.sparse_coo_tensor([[0, 1]], torch.tensor([1e-9, 1e9]), (10000,), dtype=torch.float64, requires_grad=True)
torch.sparse_coo_tensor([[0, 1]], torch.tensor([True, False]))
torch.nn.Parameter(s)
s.detach(), S.detach().requires_grad, S.data
s.double(), s.half(), s.int(), s.bool(), s.to(torch.complex64)
s.float() is s, s.to("cpu") is s, s.cpu() is s
c.double(), c.int()
s.clone(), c.clone(), s.to(d)
torch.is_tensor(s), torch.is_floating_point(s), isinstance(s, torch.Tensor), s.is_same_size(c)
torch.sparse_coo_tensor((2, 3)).sparse_resize_((4, 5), 2, 0)
s.clone().sparse_resize_((3, 3), 2, 0)
s.clone().sparse_resize_and_clear_((3, 3), 2, 0)
"""

CONVERSION = """
s.to_dense(), u.to_dense(), c.to_dense(), h.to_dense(), d.to_dense()
s.to_dense(torch.float64)
d.to_sparse(), d.to_sparse(1), torch.tensor(2.0).to_sparse(), torch.zeros(2, 0).to_sparse()
d.to_sparse(3)
d.to_sparse(0)
d.to_sparse(layout=torch.sparse_csr)
d.to_sparse_csr(), d.to_sparse_csc(), d.to_sparse_bsr((1, 3)), d.to_sparse_bsc((2, 1))
torch.ones(3, 4).to_sparse_bsr((2, 2))
s.to_sparse(), c.to_sparse(), s.to_sparse_csr(), u.to_sparse_csr(), s.to_sparse_csc(), c.to_sparse_csc(), c.to_sparse_bsr((2, 3))
s.to_sparse_csc().ccol_indices(), s.to_sparse_csc().row_indices()
s.to_sparse_csc().to_dense(), c.to_sparse_bsr((1, 3)).to_dense(), s.to_sparse_csc().to_sparse()
d.sparse_mask(s), d.sparse_mask(u), d.sparse_mask(c), s.sparse_mask(s), s.sparse_mask(k), u.sparse_mask(k)
d.sparse_mask(d)
torch.ones(3, 3).sparse_mask(s)
"""

ARITHMETIC = """
s + s, s + k, k - s, torch.add(s, k, alpha=3)
(u + s).coalesce(), (u - s).coalesce(), (u + k).coalesce()
s.coalesce() + k.coalesce(), s.coalesce() - k.coalesce(), s.coalesce() * k.coalesce()
d + s, d + u, d - s, torch.add(d, s, alpha=2), d + h.sum(2)
s + d
s - d
s + 1
1 + s
1 - s
s + torch.ones(3)
s * 2, 2 * s, s * 2.5, s * torch.tensor(2.0), s / 2, s / torch.tensor(2.0), -s, s.neg(), +s
s.int() * 2, s.int() / 2, s.int() * 2.5, s.int() + s
s * s, (s * u).to_dense(), (u * k).to_dense(), s * d, d * s, (s * k).to_dense()
s / s
s / d
2 / s
s ** 2, s.pow(3), s.square()
s // 2
s.abs(), u.abs(), u.sin(), s.tanh(), s.sqrt(), s.sign(), s.floor(), s.relu(), s.expm1(), s.log1p(), s.isnan(), s.trunc()
torch.nn.functional.relu(s), torch.abs(s), torch.sin(s), torch.square(s)
c.sin(), c.abs(), c.neg()
c * 2, c + c
c * c
c.relu()
c + d, d + c, c * d
c + c * 2, c + torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 1.0], (2, 3))
c / 2
s * c
torch.exp(s)
s.cos()
s == s
s > 0
torch.where(d > 0, s, s)
s.clamp(0)
s.fill_(1)
torch.equal(s, s)
torch.nonzero(s)
s.max()
s.nonzero()
torch.nn.functional.dropout(s)
torch.nn.functional.softmax(s, 1)
s.clone().mul_(2), s.clone().div_(2), s.clone().neg_(), s.clone().add_(s), s.clone().sub_(s), s.clone().mul_(s), s.clone().zero_()
s.clone().add_(s, alpha=3), s.coalesce().clone().abs_(), s.coalesce().clone().sin_(), c.clone().mul_(2), c.clone().zero_()
s.clone().abs_()
s.clone().add_(d)
S.mul_(2)
s.clone().copy_(s.double()), s.clone().copy_(torch.sparse_coo_tensor((3, 3)))
d.clone().copy_(s)
s.clone().copy_(d)
d.clone().add_(s), d.clone().add_(s, alpha=2), d.clone().sub_(s), d.t().clone().t().add_(s), d.clone().mul_(s)
d.int().add_(s)
"""

PRODUCTS = """
s @ m, c @ m, u @ m, torch.mm(s, m), torch.sparse.mm(s, m), torch.sparse.mm(c, m), torch.spmm(s, m), torch.dsmm(s, m), s.mm(m)
s @ m[:, 0], c @ m[:, 0], torch.mv(s, m[:, 0]), s.t() @ d, c.t() @ d, s.to_sparse_csc() @ m
m @ s, m @ c, m @ u
s @ s.t(), torch.sparse.mm(s, s.t()), u @ k.t(), (c @ c.t()).to_dense()
torch.addmm(torch.ones(2, 2), s, m), torch.addmm(torch.ones(2), s, m), torch.addmm(torch.ones(2, 2), s, m, beta=2, alpha=3)
torch.sparse.addmm(torch.ones(2, 2), s, m, beta=2, alpha=3), torch.sparse.addmm(torch.ones(2), s, m)
torch.sparse.mm(d, m)
torch.sparse.mm(s.int(), m.int())
torch.sparse.mm(s.double(), m.double())
torch.sparse.mm(c, m, "mean")
torch.sparse.mm(c, m, "sum")
torch.smm(s, torch.ones(3, 2))
torch.hspmm(s, m)
torch.sspaddmm(s, s, torch.ones(3, 3)).to_dense()
torch.bmm(torch.stack([s, s]), torch.stack([m, m]))
torch.sparse.sampled_addmm(c, torch.ones(2, 4), torch.ones(4, 3), beta=2, alpha=3)
torch.nn.functional.linear(s, torch.ones(4, 3))
torch.matmul(s, m)
s @ torch.ones(4)
s @ torch.ones(4, 2)
s @ m.double()
torch.sparse.mm(s, torch.ones(4, 2))
torch.ones(3, 2) @ c.t()
torch.sparse_coo_tensor((2, 3)) @ m, torch.sparse_coo_tensor([[], []], [], (2, 0)) @ torch.ones(0, 2)
s @ torch.ones(3, 0)
"""

REDUCTIONS = """
torch.sparse.sum(s), torch.sparse.sum(s, 0), torch.sparse.sum(s, 1), torch.sparse.sum(s, (0, 1)), torch.sparse.sum(u, -1)
torch.sparse.sum(h, 2), torch.sparse.sum(h, (0, 1)), torch.sparse.sum(h, 0), torch.sparse.sum(h, (0, 2))
torch.sparse.sum(s, 0, dtype=torch.float64)
torch.sparse.sum(d)
torch.sparse.sum(c, 0)
torch.sparse.sum(s, 5)
s.sum(), s.sum(0), s.sum(0, keepdim=True), s.sum(1, keepdim=True), s.sum(dtype=torch.float64), h.sum(2), c.sum(), s.int().sum()
c.sum(0)
c.sum(0, keepdim=True), c.sum(1, keepdim=True)
s.norm(), u.norm(), s.norm(1), h.norm(), s.any()
s.norm(dim=0)
s.mean()
s.nansum()
torch.sparse.softmax(s, 0), torch.sparse.softmax(s, 1), torch.sparse.softmax(u, 1), torch.sparse.softmax(h, 2), torch.sparse.softmax(h, 1)
torch.sparse.softmax(s, 1, dtype=torch.float64), torch.sparse.log_softmax(s, 1), torch.sparse.log_softmax(h, 2)
torch.sparse.softmax(c, 1)
torch.sparse.softmax(d, 1)
torch.sparse.softmax(s, 5)
"""

SHAPES = """
s.t(), s.T, s.transpose(0, 1), s.permute(1, 0), h.permute(1, 0, 2), s.mH, s.t().is_coalesced(), s.transpose(0, 0)
c.t(), c.transpose(0, 1), c.t().t()
h.transpose(1, 2)
h.permute(2, 0, 1)
s.permute(1, 1)
s.permute(0)
s.unsqueeze(0), s.unsqueeze(-1), h.unsqueeze(2), h.unsqueeze(3), s[None]
s.select(0, 1), s[1], s[0, 1], s[-1], h[0], h[0, 2], h[..., 0], s[:, 2], c[0], c[0, 2]
s[2]
s[0:1]
s[torch.tensor([1, 0])]
list(s), s.unbind(1)
s.index_select(0, torch.tensor([1, 0])), s.index_select(1, torch.tensor([2, 2])), h.index_select(2, torch.tensor([1]))
s.index_select(0, torch.tensor([], dtype=torch.int64))
torch.cat([s, s]), torch.cat([s, k], 1), torch.cat([h, h], 2), torch.stack([s, s]), torch.stack([s, k], -1)
torch.cat([s, d])
torch.cat([s, s.t()])
s.narrow_copy(0, 0, 1), s.narrow_copy(1, 1, 2)
s.reshape(6)
s.view(6)
s.expand(2, 2, 3)
s.contiguous() is s
"""

GRADIENTS = """
back(S, S.to_dense()), back(C, C.to_dense()), back(U, U.to_dense())
back(S, torch.mm(S, m)), back(S, S @ m), back(S, S @ m[:, 0]), back(C, C @ m), back(C, C @ m[:, 0]), back(U, U @ m)
back(S, torch.sparse.mm(S, m))
back(C, torch.sparse.mm(C, m))
back(U, torch.sparse.mm(U, m))
back(S, torch.addmm(torch.ones(2, 2), S, m))
back(S, torch.sparse.addmm(torch.ones(2, 2), S, m, beta=2, alpha=3))
back(C, torch.sparse.addmm(torch.ones(2, 2), C, m))
back(S, m @ S)
back(C, m @ C)
back(S, S.sum())
back(C, C.sum())
back(S, torch.sparse.sum(S))
back(S, torch.sparse.sum(S, 0).to_dense())
back(S, S.coalesce().values())
back(C, C.values())
back(S, (S * 2).to_dense())
back(S, (S / 2).to_dense())
back(S, (-S).to_dense())
back(S, (S * S).to_dense())
back(S, (S + S).to_dense())
back(S, torch.ones(2, 3) + S)
back(S, (S * d).to_dense())
back(S, S.abs().to_dense())
back(S, S.relu().to_dense())
back(S, S.t().to_dense()).coalesce()
back(C, C.t().to_dense())
back(S, S.to(torch.float64).to_dense())
back(S, torch.sparse.softmax(S, 1), s)
back(S, torch.sparse.log_softmax(S, 1), s)
back(S, S.clone().to_dense())
back(S, S.to_sparse_csr().to_dense())
back(D, D.to_sparse().to_dense())
back(D, D.to_sparse_csr().to_dense())
back(D, D.sparse_mask(s).to_dense())
back(D, D * s, s)
back(D, D + s)
back(M, s @ M), back(M, c @ M)
back(M, u @ M)
back(M, torch.sparse.mm(s, M))
back(M, torch.addmm(torch.ones(2, 2), s, M, beta=2, alpha=3))
back(M, M @ s)
[back(x, torch.sparse_coo_tensor(i, x, (2, 3)).to_dense()) for x in [v.clone().requires_grad_()]]
[back(x, torch.sparse_coo_tensor(i, x, (2, 3)).coalesce().values()) for x in [v.clone().requires_grad_()]]
[back(x, torch.sparse_coo_tensor(i, x, (2, 3)) @ m) for x in [v.clone().requires_grad_()]]
[back(x, torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2]), x, (2, 3)) @ m) for x in [v.clone().requires_grad_()]]
S * 2, S + S, S - S, -S, S.sin()
S.coalesce(), S.t(), S.to_dense(), S ** 2, S / 2, S @ m
torch.sparse.mm(S, m)
S.clone()
C * 2, C.values(), C @ m, S.sum()
torch.sparse_coo_tensor(i, v.clone().requires_grad_(), (2, 3))
D.to_sparse(), D.sparse_mask(s)
D.to_sparse_csr(), C.to_sparse(), S.double()
[(S.to_dense().sum() * 2).backward(), S.to_dense().sum().backward(), S.grad]
"""

BATCHES = """
b, b.values(), b.to_dense(), b.to_sparse(), b._nnz(), b.numel(), b.sparse_dim(), b.dense_dim()
y, y.values(), y.to_dense(), y.to_sparse(), y._nnz(), y.numel(), y.sparse_dim(), y.dense_dim()
t.to_sparse_csr(), t.to_sparse_csc(), t.to_sparse_bsr((2, 2)), t.to_sparse_bsc((1, 2))
t.to_sparse_csr(dense_dim=1), t.to_sparse_csc(dense_dim=1), t.to_sparse_bsr((1, 2), dense_dim=1), t.to_sparse_bsc((2, 1), dense_dim=1)
[x.to_dense() for x in (t.to_sparse_csc(), t.to_sparse_bsr((2, 2)), t.to_sparse_bsc((1, 2)), t.to_sparse_bsr((1, 2), dense_dim=1))]
[x.to_sparse() for x in (t.to_sparse_csr(), t.to_sparse_csc(), t.to_sparse_bsr((2, 2)))]
t.to_sparse_csr().to_sparse_csc(), t.to_sparse_csc().to_sparse_csr(), t.to_sparse_bsr((2, 2)).to_sparse_bsc((2, 2))
y.to_sparse_csc(), y.to_sparse_bsr((1, 1)), t.to_sparse(2).to_sparse_csr(), t.to_sparse(2).to_sparse_csc()
t.to_sparse().to_sparse_csr()
t.to_sparse_csr(dense_dim=2)
t[0].to_sparse_csr(dense_dim=1)
t.to_sparse_bsr((2, 3))
t.to_sparse(layout=torch.sparse_bsr)
torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse_csr()
torch.empty(0, 2, 2).to_sparse_csr()
torch.empty(2, 2, 0).to_sparse_csr(), torch.zeros(2, 0, 3).to_sparse_csc()
torch.zeros(2, 3, 4, layout=torch.sparse_csr), torch.zeros(0, 3, 4, layout=torch.sparse_csc), torch.zeros_like(b), torch.zeros_like(y)
torch.zeros(2, 3, 4, layout=torch.sparse_bsr)
torch.empty(3, 4, layout=torch.sparse_bsc)
compressed(starts, places, numbers, (2, 2, 3), layout=torch.sparse_csr), compressed(starts, places, numbers, layout=torch.sparse_csc)
compressed(starts, places, torch.ones(2, 2, 2, 3), layout=torch.sparse_bsr), compressed(starts[0], places[0], torch.ones(2, 2, 3, 4), layout=torch.sparse_bsc)
compressed(starts, places, numbers, (2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places, numbers, (1, 2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places[:1], numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places, numbers, (3, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places[0], numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places, numbers[0], (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places, numbers, (2, 4, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places[:, :1], numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, places, numbers, (2, 2, 3), layout=torch.sparse_bsr, check_invariants=True)
compressed(starts, places, torch.ones(2, 2, 2, 3), (2, 4, 7), layout=torch.sparse_bsr, check_invariants=True)
compressed(starts, places, torch.ones(2, 2, 2, 3), (2, 6, 6), layout=torch.sparse_bsr, check_invariants=True)
compressed(torch.tensor(0), torch.tensor(1), torch.tensor(1.0), layout=torch.sparse_csr, check_invariants=True)
compressed(starts[:, :0], places, numbers, (2, 0, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(torch.tensor([[0, 1, 2], [1, 1, 2]]), places, numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(torch.tensor([[0, 1, 2], [0, 1, 1]]), places, numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, torch.tensor([[1, 0], [0, 7]]), numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(starts, torch.tensor([[1, 0], [1, 1]]), numbers, (2, 2, 3), layout=torch.sparse_csr, check_invariants=True)
compressed(torch.tensor([[0, 0, 2], [0, 2, 2]]), torch.tensor([[0, 1], [0, 1]]), numbers, layout=torch.sparse_csr, check_invariants=True)
b * 2, b + b, -b, b.sin(), b.isnan(), b.sum(), b.double(), b.clone(), y * 2, y + y, y * y, y.sin(), y.sum()
torch.ones(2, 2, 2) + b, b + torch.ones(2, 2, 2), t.sparse_mask(t.to_sparse_csr()), t.sparse_mask(t.to_sparse_bsc((1, 2)))
b.clone().mul_(2), b.clone().relu_(), b.clone().copy_(b * 3), b.clone().zero_()
b / 2
b[0], b[-1], b.select(0, 1), b[1].to_dense(), y[0], y.select(1, 0), y.select(2, 1), y.select(-1, 2)
b[5]
b.select(1, 0)
b.transpose(1, 2), b.mT, b.transpose(1, 2).to_dense(), t.to_sparse_bsr((2, 2)).mT.to_dense()
b.transpose(0, 1)
b.transpose(-1, 0)
y.transpose(0, 1)
b.t()
b.permute(1, 0, 2)
[[x, x[0], x[1, 2], x.select(1, 2), x.transpose(0, 1), x.mT.to_dense()] for x in [torch.eye(2).expand(2, 3, 2, 2).to_sparse_csr()]]
torch.sparse.sampled_addmm(b, torch.ones(2, 2, 3), torch.arange(12.0).reshape(2, 3, 2), beta=2, alpha=3)
torch.sparse.sampled_addmm(b, torch.ones(2, 2, 3), torch.ones(2, 4, 2))
torch.sparse.sampled_addmm(b, torch.ones(2, 2, 3), torch.ones(3, 2))
torch.sparse.sampled_addmm(b, torch.ones(3, 2, 3), torch.ones(3, 3, 2))
torch.sparse.sampled_addmm(b, torch.ones(2, 3, 3), torch.ones(2, 3, 2))
torch.sparse.sampled_addmm(b, torch.ones(2, 2, 3), torch.ones(2, 3, 3))
torch.bmm(b, torch.ones(2, 2, 3))
torch.bmm(torch.ones(2, 3, 2), b)
torch.bmm(torch.ones(2, 3, 2), b.to_sparse())
torch.bmm(b.to_sparse(), torch.ones(2, 2, 3))
torch.sparse.mm(b, torch.ones(2, 2, 3))
[back(x, compressed(starts[0], places[0], x, (2, 2, 3), layout=torch.sparse_csr).to_dense()) for x in [torch.ones(2, 3, requires_grad=True)]]
[back(x, compressed(starts, places, x, (2, 2, 3), layout=torch.sparse_csr).values()) for x in [torch.ones(2, 2, requires_grad=True)]]
[back(x, compressed(starts, places, x, (2, 2, 3), layout=torch.sparse_csr).sum()) for x in [torch.ones(2, 2, requires_grad=True)]]
[back(x, x.to_sparse_csr(dense_dim=1).to_dense()) for x in [torch.ones(2, 2, 3, requires_grad=True)]]
[back(x, x.to_dense()) for x in [y.clone().requires_grad_()]]
"""

WRITTEN = """
[torch.abs(x, out=x.clone()) for x in (s, u, c, h, b)], torch.round(c), torch.round(h / 3), c.clone().round_()
[y is torch.sin(s, out=y) for y in [k.clone()]]
torch.sin(c, out=torch.zeros(2, 3, layout=torch.sparse_csr))
torch.neg(u, out=u.clone()), torch.neg(c, out=c.clone()), torch.nan_to_num(s, out=s.clone())
torch.sin(s, out=torch.sparse_coo_tensor([[4]], [1.0], (7,)))
torch.sin(s, out=torch.zeros(7, layout=torch.sparse_coo)), torch.sin(s, out=s.double())
s.sparse_resize_((2, 3, 2), 2, 1)
torch.sin(s, out=s.int())
torch.isinf(s, out=s.bool()), torch.signbit(s, out=s.bool())
torch.signbit(s, out=s.clone())
torch.isposinf(c, out=c.clone())
torch.add(s, k, out=s.clone()), torch.sub(s, s, out=k.clone()), torch.mul(s, 2, out=s.clone()), torch.div(s, 2, out=k.clone()), torch.pow(s, 2, out=k.clone())
torch.add(d, s, out=torch.empty(0)), torch.mm(s, m, out=torch.empty(2, 2)), torch.mm(c, m, out=torch.empty(2, 2)), torch.addmm(torch.ones(2, 2), s, m, out=torch.empty(2, 2))
torch.sin(S, out=s.clone())
s**0
"""

SUBJECTS = {
    "creation": CREATION, "parts": PARTS, "conversion": CONVERSION, "arithmetic": ARITHMETIC, "products": PRODUCTS,
    "reductions": REDUCTIONS, "shapes": SHAPES, "gradients": GRADIENTS, "batches": BATCHES,
    "written": WRITTEN,
}  # fmt: skip
CALLS = {name: lines.strip().splitlines() for name, lines in SUBJECTS.items()}
