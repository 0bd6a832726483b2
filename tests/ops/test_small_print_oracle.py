"""Refusals, overlapping memory, memory formats and rarely used functions against PyTorch, line by line."""

import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

CASES = """
torch.linspace(0, 1j, 5, dtype=torch.float32)
torch.linspace(0, 1, 5, dtype=torch.bool)
torch.linspace(0, 1j, 3)
torch.logspace(0, 1j, 5, dtype=torch.float32)
torch.arange(1.175494351e-38, 3.402823466e+38)
torch.range(0, 5, step=0)
torch.range(3, 1)
torch.range(5, 0, -2)
torch.range(0.5, 2)
torch.tensor([1e-323, 0j, -1j], dtype=torch.bool)
torch.tensor([2**63, 0], dtype=torch.bool)
torch.hstack(torch.ones(2))
torch.vstack(torch.ones(2))
torch.sort(torch.tensor([2, 1]), stable=None)
torch.zeros(2, layout=torch.strided)
torch.addr(i, w, w, beta=2.)
torch.addr(i, w, w, alpha=1.)
torch.addr(i, w, w, beta=True)
torch.addr(i, w.float(), w)
torch.addr(x * float('nan'), v, v, beta=0)
torch.addr(x, v, v, beta=2, alpha=0.5)
torch.addr(x[0], v, v)
torch.addmv(v, x, v, beta=0.5, alpha=2)
torch.addmv(v[0], x, v)
torch.addmv(v, x, v[:2])
torch.addmv(v[:2], x, v)
torch.addmv(v, x.double(), v)
torch.addmv(w, i, w, beta=2.7, alpha=1.6)
torch.addbmm(x, x[None], x[None], alpha=0.5)
torch.addbmm(x, x[None], torch.ones(2, 3, 3))
torch.addbmm(x.double(), x[None], x[None])
v.clone().addmv_(x, v, beta=0.5)
x.clone().addr_(v, v)
torch.vdot(v, v)
torch.vdot(x, v)
torch.vdot(v, v.double())
torch.vdot(torch.tensor([1j, 2]), torch.tensor([1j, 3]))
torch.linalg.cond(torch.diag(torch.tensor([1., 1., 0.])), 1)
torch.linalg.cond(torch.diag(torch.tensor([1., 1., 0.])), 'nuc')
torch.linalg.matrix_norm(torch.ones(2, 2, 2), dim=(0,))
torch.linalg.matrix_norm(x, ord=1 + 2j)
torch.lstsq(x, x)
x.lstsq(x)
torch.matrix_rank(x)
torch.symeig(x)
x.eig()
torch.solve(x, x)
torch.nuclear_norm(x)
torch.nuclear_norm(x, dim=(0, 1), keepdim=True)
torch.frobenius_norm(x, (0, 1))
reversed(torch.tensor(42))
[round(v, 3) for v in (torch.istft(torch.arange(20.).reshape(10, 2) * (1 + 0.5j), 10, window=torch.ones(10)) + 2).tolist()]
(torch.istft(torch.arange(20.).reshape(10, 2) * (1 + 0.5j), 10, window=torch.ones(10), return_complex=True) + 0).real
torch.zeros(14, 3)[::2].fill_diagonal_(1, wrap=True)
torch.zeros(4, 6).t().fill_diagonal_(1, wrap=True)
torch.device('')
torch.device('cuda:01')
torch.device('cpu', -1)
torch.device('other')
torch.use_deterministic_algorithms(1)
torch.set_deterministic_debug_mode(5)
torch.geqrf(torch.eye(3)).a.stride()
torch.special.i1(torch.zeros(1, requires_grad=True))
reversed(w)
x.sparse_dim(), x.dense_dim()
x.clone().apply_(lambda k: 's')
torch.frexp(torch.tensor([1.5, -3, 0, float('inf'), float('nan')]))
torch.frexp(w)
x.frexp().exponent
torch.hash_tensor(w).item()
torch.hash_tensor(x.half()).item()
torch.hash_tensor(torch.tensor([True, False]), 0).item()
torch.index_select(torch.ones(0, 3), 1, torch.tensor([0, 5]))
torch.index_select(torch.ones(0, 3), 0, torch.tensor([0]))
torch.ones(0, 2).index_fill_(1, torch.tensor([5]), -1)
torch.ones(0, 2).index_add_(1, torch.tensor([5]), torch.ones(0, 1))
torch.ones(0, 2).index_copy_(1, torch.tensor([5]), torch.ones(0, 1))
x[torch.tensor(1, dtype=torch.int16)]
x[torch.tensor(1, dtype=torch.int8), torch.tensor(0, dtype=torch.int16)]
x[torch.tensor([1], dtype=torch.int16)]
e().index_add_(0, p, v)
x[0].index_add_(0, p, x[0])
e().put_(p, v)
torch.arange(6).put_(p, torch.arange(3))
w.put_(w, w)
w.index_add_(0, w.clone(), w)
e().scatter_(0, p, v)
e().masked_scatter_(v > 0, v)
e().masked_fill_(v > 0, 0.)
e().index_fill_(0, p, 0.)
v.index_put_((p,), v)
v.scatter_add_(0, p, v)
v.index_copy_(0, p, v)
v.scatter_reduce_(0, p, v, 'sum')
torch.cat((c, c)).stride()
torch.cat((c, c), 1).stride()
torch.cat((c, c), 2).stride()
torch.cat((c, c.contiguous()), 3).stride()
torch.cat((c[:, :, :1], c[:, :, :1]), 3).stride()
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride()
torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).stride()
torch.zeros(2, 3, 400, 500).contiguous(memory_format=torch.channels_last).stride()
F.interpolate(c, (3, 3)).stride()
F.interpolate(c, (3, 3), mode='bilinear').stride()
F.interpolate(c, (3, 3), mode='bicubic', antialias=True).stride()
F.interpolate(c[0][None], (3, 3)).stride()
F.interpolate(torch.ones(1, 3, 4, 4, dtype=torch.int32), (3, 3))
F.interpolate(torch.ones(1, 3, 4, 4, dtype=torch.int32), (3, 3), mode='bicubic')
F.interpolate(torch.ones(1, 3, 4, dtype=torch.int64), 3, mode='linear')
F.interpolate(torch.ones(1, 3, 4, 4, dtype=torch.uint8), (3, 3), mode='bilinear')
F.affine_grid(torch.tensor([[[1., 0.5, 0], [0, 1, 0.2]]]), (1, 1, 2, 3), align_corners=False)
F.affine_grid(torch.tensor([[[1., 0.5, 0], [0, 1, 0.2]]]), (1, 1, 2, 3), align_corners=True)
F.embedding_bag(p, x, torch.tensor([0, 1, 1]), mode='max')
F.embedding_bag(p, x, torch.tensor([0, 1, 1]), mode='mean')
F.embedding_bag(p[None], x, mode='sum', per_sample_weights=v[None])
F.embedding_bag(p, x, torch.tensor([0, 2]), mode='max', padding_idx=1)
torch.promote_types(torch.complex32, torch.float32), torch.promote_types(torch.chalf, torch.float16)
torch.promote_types(torch.complex32, torch.bfloat16), torch.promote_types(torch.complex32, torch.float64)
torch.promote_types(torch.float8_e5m2, torch.float32)
torch.complex32, torch.float8_e4m3fn, torch.complex32.itemsize, torch.float8_e5m2.is_floating_point
torch.from_dlpack(np.arange(3.0))
torch.from_dlpack(v.__dlpack__())
torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(v))
torch.asarray(torch.utils.dlpack.to_dlpack(v), copy=False)
torch.from_dlpack(v).data_ptr() == v.data_ptr(), torch.from_dlpack(v.__dlpack__()).data_ptr() == v.data_ptr()
""".strip().split("\n")


def names(m):
    v = m.arange(3.0)
    return {
        "F": m.nn.functional, "v": v, "w": m.arange(3), "x": m.arange(9.0).view(3, 3), "i": m.arange(9).view(3, 3),
        "p": m.tensor([2, 1, 0]), "e": lambda: m.ones(1).expand(3),
        "c": m.arange(120.0).view(2, 3, 4, 5).contiguous(memory_format=m.channels_last),
    }  # fmt: skip


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    check(torch, rl, code, names)


@pytest.mark.parametrize("name", ["masked_fill_", "index_fill_", "index_put_"])
def test_writing_into_expanded_tensors_warns(name):
    for module in (rl, torch):
        expanded = module.ones(1).expand(3)
        place = module.tensor([True, False, True]) if name == "masked_fill_" else module.tensor([0])
        arguments = {
            "masked_fill_": (place, 0.0),
            "index_fill_": (0, place, 0.0),
            "index_put_": ((place,), module.ones(1)),
        }
        with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated"):
            getattr(expanded, name)(*arguments[name])


@pytest.mark.parametrize("name", ["uint4", "float4_e2m1fn_x2"])
def test_types_that_hold_nothing_say_so(name):
    with pytest.raises(NotImplementedError, match=f"torch.{name} is not available"):
        rl.zeros(2, dtype=getattr(rl, name))
