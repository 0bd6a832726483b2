"""Calls at the edge of what is taken: both libraries take them with the same result, or refuse them in the same words."""

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = [
    "x=torch.zeros(3); x[x==0]=torch.tensor([1],dtype=torch.int64); r=x",
    "x=torch.zeros(3,dtype=torch.int64); x[x==0]=torch.tensor([1.5]); r=x",
    "x=torch.zeros(3,dtype=torch.int64); x[x==0]=torch.tensor(1.5); r=x",
    "x=torch.zeros(3); x[torch.tensor([0,1])]=torch.tensor([1],dtype=torch.int64); r=x",
    "x=torch.zeros(3); x[torch.tensor([0,1])]=torch.tensor(1,dtype=torch.int64); r=x",
    "x=torch.zeros(3); x[torch.tensor([0,1])]=torch.tensor([1,2],dtype=torch.int64); r=x",
    "x=torch.zeros(3); x.index_put_((torch.tensor([0,1]),),torch.tensor(1,dtype=torch.int64)); r=x",
    "x=torch.zeros(3); x.index_put_((torch.tensor([0,1]),),torch.tensor([1],dtype=torch.int64)); r=x",
    "x=torch.zeros(3); x.index_put_((torch.tensor([0,1]),),torch.tensor([1,2],dtype=torch.int64)); r=x",
    "x=torch.zeros(3); r=x.index_put((torch.tensor([True,False,True]),),torch.tensor([1],dtype=torch.int64))",
    "x=torch.zeros(3); r=x.index_put((torch.tensor([True,False,True]),),torch.tensor([[1]],dtype=torch.float64))",
    "x=torch.zeros(3); r=x.index_put((torch.tensor([True,False,True]),),torch.tensor([1],dtype=torch.int64),accumulate=True)",
    "x=torch.zeros(3,dtype=torch.bool); x[x==0]=torch.tensor([2],dtype=torch.int64); r=x",
    "x=torch.zeros(3); x[x==0]=torch.tensor([1j]); r=x",
    "x=torch.zeros(2,3); x[torch.tensor([True,False])]=torch.tensor([1],dtype=torch.int64); r=x",
    "x=torch.zeros(2,3); x[torch.tensor([True,False])]=torch.tensor([1,2,3],dtype=torch.int64); r=x",
    "x=torch.zeros(2,3); x[torch.tensor([[True,False,True],[False]*3])]=torch.tensor([1,2],dtype=torch.int64); r=x",
    "x=torch.zeros(2,3); x[torch.tensor([[True,False,True],[False]*3])]=torch.tensor([1,2],dtype=torch.float64); r=x",
    "x=torch.zeros(2,3); x[:,torch.tensor([1])]=torch.tensor([1],dtype=torch.int64); r=x",
    "x=torch.zeros(2,3); x.masked_fill_(x==0,torch.tensor([1])); r=x",
    "x=torch.zeros(2,3); x.index_fill_(0,torch.tensor([1]),torch.tensor([1])); r=x",
    "x=torch.zeros(3); r=torch.clamp(x,min=torch.tensor([1.,2,3]),max=2)",
    "x=torch.zeros(3); r=torch.clamp(x,min=1,max=torch.tensor([1.,2,3]))",
    "x=torch.zeros(3); r=x.clamp(min=torch.tensor(1.),max=2)",
    "x=torch.zeros(3); r=x.clamp_(min=torch.tensor(1.),max=2)",
    "x=torch.zeros(3); r=x.clip(torch.tensor(1.),2)",
    "x=torch.zeros(3); r=x.copy_(3)",
    "x=torch.zeros(3); r=x.copy_(3.5)",
    "x=torch.zeros(3,dtype=torch.int64); r=x.copy_(3.5)",
    "x=torch.zeros(3,dtype=torch.int64); r=x.copy_(True)",
    "x=torch.zeros(3); r=x.copy_(2j)",
    "x=torch.zeros(3); r=x.copy_([1,2,3])",
    "x=torch.zeros(3); r=x.copy_(None)",
    "x=torch.zeros(3,requires_grad=True); r=(x*1).copy_(3)",
    "r=torch.tensor(1.).mT",
    "r=torch.tensor(1.).mH",
    "r=torch.tensor(1.).T",
    "r=torch.tensor(1.).H",
    "r=torch.zeros(3).mT",
    "r=torch.zeros(3).H",
    "r=torch.zeros(2,3,4).H",
    "r=torch.zeros(3).mH",
    "r=torch.tensor(1.).adjoint()",
    "r=torch.zeros(3).adjoint()",
    "r=torch.histc(torch.zeros(3,requires_grad=True))",
    "r=torch.bincount(torch.tensor([1,2]),weights=torch.ones(2,requires_grad=True))",
    "x=torch.ones(3,requires_grad=True); r=x.logical_and_(x)",
    "x=torch.ones(3,requires_grad=True); r=x.logical_not_()",
    "x=torch.ones(3,requires_grad=True); r=x.logical_or_(x)",
    "x=torch.ones(3,requires_grad=True); r=x.logical_xor_(x)",
    "x=torch.ones(3,requires_grad=True); r=x.eq_(x)",
    "x=torch.ones(3,requires_grad=True); r=x.gt_(0)",
    "x=torch.ones(3,requires_grad=True); y=x*1; r=y.logical_and_(x)",
    "x=torch.ones(3,requires_grad=True); y=x*1; r=y.logical_not_()",
    "x=torch.ones(3,requires_grad=True); y=x*1; r=y.eq_(x)",
    "x=torch.ones(3,requires_grad=True); y=x*1; r=y.sign_()",
    "x=torch.ones(3,requires_grad=True); y=x*1; r=y.heaviside_(x)",
    "x=torch.ones(3,requires_grad=True); y=x*1; r=y.floor_divide_(x)",
    "x=torch.ones(3,requires_grad=True); r=torch.floor_divide(x,x)",
    "x=torch.ones(3,requires_grad=True); r=torch.isclose(x,x)",
    "r=F.instance_norm(torch.zeros(0,3,4))",
    "r=F.instance_norm(torch.zeros(2,0,4))",
    "r=F.instance_norm(torch.zeros(2,3,0))",
    "r=F.instance_norm(torch.zeros(0,3,4,4))",
    "r=F.instance_norm(torch.zeros(2,3,1))",
    "r=torch.nn.InstanceNorm1d(3)(torch.zeros(0,3,4))",
    "r=torch.nn.InstanceNorm2d(3)(torch.zeros(0,3,4,4))",
    "r=torch.nn.InstanceNorm2d(3)(torch.zeros(2,3,0,4))",
    "r=torch.nn.InstanceNorm2d(3,track_running_stats=True)(torch.zeros(0,3,4,4))",
    "r=torch.nn.InstanceNorm1d(3)(torch.zeros(2,3,0))",
    "r=F.interpolate(torch.zeros(0,3,4),size=2,mode='area')",
    "r=F.interpolate(torch.zeros(0,3,4,4),size=2,mode='area')",
    "r=F.interpolate(torch.zeros(0,3,4,4,4),size=2,mode='area')",
    "r=F.interpolate(torch.zeros(1,0,4,4),size=2,mode='area')",
    "r=F.interpolate(torch.zeros(1,3,0,4),size=2,mode='area')",
    "r=F.interpolate(torch.zeros(0,3,4),size=2,mode='nearest')",
    "r=F.interpolate(torch.zeros(0,3,4,4),size=2,mode='bilinear')",
    "r=F.interpolate(torch.zeros(1,0,4,4),size=2,mode='bilinear')",
    "r=F.interpolate(torch.zeros(1,0,4),size=2,mode='linear')",
    "r=torch.logcumsumexp(torch.tensor([1+1j,2]),0)",
    "r=torch.logcumsumexp(torch.tensor([1+1j,2,0,-3j]),0)",
    "x=torch.tensor([1+1j,2],requires_grad=True); y=torch.logcumsumexp(x,0); y.abs().sum().backward(); r=x.grad",
    "r=F.conv2d(torch.zeros(1,0,4,4),torch.zeros(2,0,3,3))",
    "r=F.conv2d(torch.zeros(0,3,4,4),torch.zeros(2,3,3,3))",
    "r=F.conv2d(torch.zeros(1,3,4,4),torch.zeros(0,3,3,3))",
    "r=F.conv2d(torch.zeros(1,3,0,4),torch.zeros(2,3,3,3),padding=2)",
    "r=F.conv1d(torch.zeros(1,0,4),torch.zeros(2,0,3))",
    "r=F.conv1d(torch.zeros(1,0,4),torch.zeros(2,0,3),torch.ones(2))",
    "r=F.conv_transpose2d(torch.zeros(1,0,4,4),torch.zeros(0,2,3,3))",
    "r=F.conv_transpose2d(torch.zeros(0,3,4,4),torch.zeros(3,2,3,3))",
    "r=F.conv_transpose1d(torch.zeros(1,0,4),torch.zeros(0,2,3))",
    "r=F.conv3d(torch.zeros(1,0,4,4,4),torch.zeros(2,0,3,3,3))",
    "x=torch.ones(1,0,4,4,requires_grad=True); w=torch.ones(2,0,3,3,requires_grad=True); y=F.conv2d(x,w); y.sum().backward(); r=(x.grad,w.grad)",
    "x=torch.ones(0,3,4,4,requires_grad=True); w=torch.ones(2,3,3,3,requires_grad=True); y=F.conv2d(x,w); y.sum().backward(); r=(x.grad,w.grad)",
    "x=torch.ones(1,3,4,4,requires_grad=True); w=torch.ones(0,3,3,3,requires_grad=True); y=F.conv2d(x,w); y.sum().backward(); r=(x.grad,w.grad)",
    "x=torch.rand(3,requires_grad=True); y=torch.erfinv(x); y.add_(1); y.sum().backward(); r=1",
    "x=torch.rand(3,requires_grad=True); z=x*1; y=torch.erfinv(z); z.add_(1); y.sum().backward(); r=1",
    "x=torch.randn(3,3,requires_grad=True); z=x*1; y=torch.linalg.svdvals(z); z.add_(1); y.sum().backward(); r=1",
    "q=torch.randn(1,2,3,4,requires_grad=True); y=F.scaled_dot_product_attention(q,q,q); y.add_(1); y.sum().backward(); r=1",
    "q=torch.randn(1,2,3,4,requires_grad=True); z=q*1; y=F.scaled_dot_product_attention(z,q,q); z.add_(1); y.sum().backward(); r=1",
    "q=torch.randn(1,2,3,4,requires_grad=True); y=F.scaled_dot_product_attention(q,q,q,is_causal=True); y.add_(1); y.sum().backward(); r=1",
    "q=torch.randn(1,2,3,4,requires_grad=True); y=F.scaled_dot_product_attention(q,q,q,attn_mask=torch.zeros(3,3)); y.add_(1); y.sum().backward(); r=1",
]


def outcome(module, code):
    """The text of ``r`` after the code has run, or the error."""
    names = {"torch": module, "F": module.nn.functional}
    module.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, names)
        except Exception as error:
            return type(error).__name__, str(error).splitlines()[0].rstrip()
    result = names["r"]
    return repr(result), getattr(result, "requires_grad", None)


@pytest.mark.parametrize("code", CALLS)
def test_call(code):
    assert outcome(rushlight, code) == outcome(torch, code)
