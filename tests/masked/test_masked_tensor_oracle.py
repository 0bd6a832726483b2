"""MaskedTensor beside PyTorch's: printing, operations, reductions, gradients, errors."""

import re

import pytest

import rushlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # each call of PyTorch's warns that these are a prototype

OVERLOAD = re.compile(r"[.](default|int|dim|Tensor)(?=')")

CALLS = """
masked_tensor(data,mask)
masked_tensor(data[0],mask[0])
masked_tensor(data[0,0],mask[0,0])
masked_tensor(data[0,1],mask[0,1])
masked_tensor(data.int(),mask)
masked_tensor(torch.arange(8.).reshape(2,2,2),torch.arange(8).reshape(2,2,2)%3==0)
masked_tensor(data,mask,requires_grad=True)
masked_tensor(data>0,mask)
masked_tensor(data,mask.int())
masked_tensor(data,mask[0])
masked_tensor(data,mask[:, :2])
masked_tensor(data.bfloat16(),mask)
masked_tensor(data.to(torch.complex64),mask)
masked_tensor([1.],mask)
masked_tensor(data,[True])
masked_tensor(masked_tensor(data,mask),mask)
as_masked_tensor(data,mask)
is_masked_tensor(mt), is_masked_tensor(data), isinstance(mt,torch.Tensor), type(mt).__name__
mt.get_data()
mt.get_mask()
mt.to_tensor(0)
mt.to_tensor(-1.5)
mt.shape, mt.dtype, mt.dim(), mt.layout, mt.size(0), mt.numel(), mt.device, len(mt)
mt.requires_grad, mt.is_leaf, mt.grad_fn
mt.sin()
torch.sin(mt)
mt.abs()
-mt
mt.neg()
abs(mt)
mt.exp()
mt.clamp(0,2)
mt.clamp(min=0)
mt.pow(2)
mt**2
mt.sqrt_()
mt.sin_() is mt
mt.isnan()
mt.isfinite()
torch.isclose(mt, mt*2)
mt.data
torch.masked.sum(mt)
torch.masked.amax(mt, 0)
mt.round()
mt.nan_to_num()
mt.frexp()
mt.logical_not()
mt.cumsum(0)
mt+mt
mt+1
1+mt
mt*mt
mt/mt
mt-data
data-mt
mt.add(mt)
mt.add(mt,alpha=2)
torch.add(mt,mt)
mt==mt
mt<mt
mt>0
mt<0
mt.lt(0)
mt.eq(1)
mt+masked_tensor(data,~mask)
mt.maximum(mt)
mt.fmin(mt)
mt.add_(1)
mt//2
mt%2
mt.sum()
mt.sum(0)
mt.sum(1,keepdim=True)
mt.sum(dim=1)
mt.sum((0,1))
mt.mean()
mt.mean(0)
mt.prod()
mt.prod(1)
mt.amax()
mt.amax(1)
mt.amin(0)
mt.argmin()
mt.argmax(1)
mt.all()
mt.std()
mt.var()
mt.var(0)
mt.std(1)
mt.max()
mt.min(0)
mt.median()
torch.sum(mt)
torch.mean(mt,1)
torch.sum(mt,1,dtype=torch.float64)
mt[0]
mt[:,1]
mt[0,0]
mt[mask]
mt[torch.tensor([1,0])]
mt.t()
mt.T
mt.transpose(0,1)
mt.reshape(3,2)
mt.view(6)
mt.unsqueeze(0)
mt.squeeze()
mt.expand(2,2,3)
mt.permute(1,0)
mt.flatten()
torch.cat([mt,mt])
torch.stack([mt,mt])
torch.cat([mt,data])
mt.split(1)
mt.unbind()
mt.chunk(2)
mt.repeat(2,1)
mt.clone()
mt.detach()
mt.to(torch.float64)
mt.double()
mt.int()
mt.contiguous()
mt.is_contiguous()
mt.stride()
mt.softmax(1)
torch.softmax(mt,0)
mt.softmax(-1)
torch.ones_like(mt)
torch.zeros_like(mt)
torch.where(mask,mt,data)
torch.where(data>0,mt,mt)
mt.copy_(mt)
mt.item()
masked_tensor(data[0,0],mask[0,0]).item()
masked_tensor(data[0,1],mask[0,1]).item()
mt.tolist()
mt.numpy()
mt.to_sparse()
mt.to_sparse_csr()
mt.to_sparse().to_dense()
mt.to_sparse().sin()
mt.to_sparse()+mt.to_sparse()
mt.is_sparse
mt.is_sparse_coo()
torch.nn.functional.relu(mt)
torch.sigmoid(mt)
torch.tanh(mt)
mt.square()
mt.log()
mt.sign()
mt.floor()
mt.bool()
list(mt)[0]
grad(lambda m: m.sum())
grad(lambda m: (m*m).sum())
grad(lambda m: (m*2).sum())
grad(lambda m: m.sin().sum())
grad(lambda m: m.mean())
grad(lambda m: m.prod())
grad(lambda m: m.amax())
grad(lambda m: m.amax(0).sum())
grad(lambda m: m.amin(1).sum())
grad(lambda m: m.std())
grad(lambda m: m.var(1).sum())
grad(lambda m: (m/m).sum())
grad(lambda m: m.get_data().sum())
grad(lambda m: m.reshape(6).exp().sum())
grad(lambda m: torch.cat([m,m]).sum())
grad(lambda m: m.to_tensor(0).sum())
grad(lambda m: m.log().sum())
grad(lambda m: (m.softmax(0)*m).sum())
""".strip().splitlines()


def names_in(module):
    """What the expressions of CALLS may name, of one library."""
    data = module.tensor([[1.0, 2.0, -3.0], [4.0, float("nan"), 6.0]])
    mask = module.tensor([[True, False, True], [True, False, False]])
    masked = module.masked

    def grad(function):
        tensor = masked.masked_tensor(data.clone(), mask, requires_grad=True)
        function(tensor).backward()
        return tensor.grad

    return {
        "torch": module, "data": data, "mask": mask, "mt": masked.masked_tensor(data, mask), "grad": grad,
        **{name: getattr(masked, name) for name in ("masked_tensor", "as_masked_tensor", "is_masked_tensor")},
    }  # fmt: skip


def told(module, expression):
    """What an expression gives, as text, or the error's type and first line, without the overload that PyTorch names."""
    try:
        return repr(eval(expression, names_in(module)))
    except Exception as error:
        line = (str(error).splitlines() or [""])[0]
        return f"{type(error).__name__}: {OVERLOAD.sub('', line)}"


@pytest.mark.parametrize("expression", CALLS)
def test_same_as_pytorch(expression):
    assert told(rushlight, expression) == told(torch, expression)


def test_warnings():
    data, mask = rushlight.ones(2), rushlight.tensor([True, False])
    with pytest.warns(UserWarning, match="The PyTorch API of MaskedTensors is in prototype stage") as seen:
        rushlight.masked.masked_tensor(data, mask)
    assert seen[0].filename == __file__
    with pytest.warns(
        UserWarning, match="It is not recommended to create a MaskedTensor with a tensor that requires_grad"
    ):
        rushlight.masked.masked_tensor(data.requires_grad_(), mask)
    masked = rushlight.masked.masked_tensor(data.detach(), mask)
    with pytest.warns(UserWarning, match="cumsum is not implemented in __torch_dispatch__"), pytest.raises(TypeError):
        masked.cumsum(0)


def test_history_is_kept():
    """`as_masked_tensor` passes gradients to its data, which get none where they are masked."""
    for module in (rushlight, torch):
        data = module.tensor([1.0, 2.0, 3.0], requires_grad=True)
        masked = module.masked.as_masked_tensor(data, module.tensor([True, False, True]))
        (masked * masked).sum().backward()
        found = data.grad.to_tensor(0) if module is torch else data.grad  # PyTorch's is a MaskedTensor
        assert found.tolist() == [2, 0, 6]


def test_a_leaf_collects():
    """Two backward passes add up, an optimizer steps, NaN of masked elements reaches nothing."""
    data, mask = rushlight.tensor([1.0, float("nan"), 3.0]), rushlight.tensor([True, False, True])
    leaf = rushlight.masked.masked_tensor(data, mask, requires_grad=True)
    for _ in range(2):
        (leaf * 3).sum().backward()
    assert leaf.grad.to_tensor(0).tolist() == [6, 0, 6]
    leaf.grad = None
    assert leaf.grad is None
    x = data.clone().requires_grad_()
    rushlight.masked.as_masked_tensor(x, mask).std().backward()
    assert x.grad.isfinite().all()


def test_in_place():
    """Leaves are refused as any others; what was computed is written, and its gradient knows; masks must match."""
    for module in (rushlight, torch):
        leaf = module.masked.masked_tensor(module.tensor([4.0, 9.0]), module.tensor([True, False]), requires_grad=True)
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            leaf.sqrt_()
        computed = leaf * 1
        computed *= 4
        computed.sqrt_()
        computed.sum().backward()
        assert leaf.grad.to_tensor(0).tolist() == [0.5, 0]
        other = module.masked.masked_tensor(module.ones(2), module.tensor([False, True]))
        for call in (lambda: computed.add_(other), lambda: computed.__imul__(other)):
            with pytest.raises(ValueError, match="Input masks must match"):
                call()
