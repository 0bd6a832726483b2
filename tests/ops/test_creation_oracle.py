"""Creation functions against PyTorch, line by line."""

import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

# fmt: off
CASES = [
    'torch.full((2,),1)',
    'torch.full((2,),1.5)',
    'torch.full((2,),True)',
    'torch.full((2,),1j)',
    'torch.full((2,),1.5,dtype=torch.int64)',
    'torch.full((2,),T(3))',
    'torch.full((2,),T(3.5))',
    'torch.full((-1,),1)',
    'torch.zeros(-1)',
    'torch.zeros(2,-3)',
    'torch.zeros(2.)',
    "torch.zeros('a')",
    'torch.zeros((2,),dtype=torch.int64)',
    'torch.zeros()',
    'torch.zeros(())',
    'torch.zeros([2])',
    'torch.zeros(2,out=torch.empty(3))',
    'torch.zeros(2,requires_grad=True)',
    'torch.zeros(2,dtype=torch.int64,requires_grad=True)',
    'torch.zeros(size=(2,))',
    'torch.zeros(T(2))',
    'torch.zeros(np.int64(2))',
    'torch.zeros(2,foo=1)',
    "torch.zeros(2,layout=torch.strided,device='cpu',pin_memory=False)",
    'torch.ones(True)',
    'torch.eye(2)',
    'torch.eye(2,3)',
    'torch.eye(-1)',
    'torch.eye(2,-1)',
    'torch.eye(2,dtype=torch.bool)',
    'torch.eye(0)',
    'torch.arange(5)',
    'torch.arange(5.)',
    'torch.arange(1,5,2)',
    'torch.arange(1,5,2.)',
    'torch.arange(5,1,-1)',
    'torch.arange(5,1)',
    'torch.arange(0,1,0)',
    "torch.arange(0,float('inf'))",
    "torch.arange(0,float('nan'))",
    'torch.arange(T(3))',
    'torch.arange(T(3.))',
    'torch.arange(0,1,0.1)',
    'torch.arange(0,2,0.3,dtype=torch.int64)',
    'torch.arange(0.5,3,dtype=torch.int64)',
    'torch.arange(3,dtype=torch.float16)',
    'torch.arange(start=1,end=3)',
    'torch.arange(end=3)',
    'torch.arange(1,end=3)',
    'torch.arange(1,3,step=1)',
    'torch.arange(3,dtype=torch.bool)',
    'torch.arange(True)',
    'torch.arange(1j)',
    'torch.arange(2**63)',
    'torch.arange(0,3,out=torch.empty(3))',
    'torch.arange(1,1)',
    "torch.arange('a')",
    'torch.range(1,3)',
    'torch.range(0,1,0.5)',
    'torch.linspace(0,1,5)',
    'torch.linspace(0,1,1)',
    'torch.linspace(0,1,0)',
    'torch.linspace(0,1,-1)',
    'torch.linspace(0,10,5,dtype=torch.int64)',
    'torch.linspace(0,1,3,dtype=torch.float64)',
    'torch.linspace(T(0.),T(1.),3)',
    'torch.linspace(0,1j,3)',
    'torch.linspace(0,1,steps=2)',
    'torch.zeros_like(T([1]))',
    'torch.zeros_like(T([1.]),dtype=torch.int64)',
    'torch.ones_like(T([1j]))',
    'torch.full_like(T([1]),2.5)',
    'torch.full_like(T([1.]),2)',
    'torch.full_like(T([1]),True)',
    'torch.empty_like(T([1.]),memory_format=torch.channels_last)',
    'torch.zeros_like([1])',
    'torch.empty_strided((2,3),(1,2)).stride()',
    'torch.empty_strided((2,3),(1,))',
    'torch.empty_strided((2,-3),(1,1))',
    'torch.empty_strided((2,3),(-1,1))',
    'torch.empty_permuted((2,3,4),(2,0,1)).stride()',
    'torch.scalar_tensor(3)',
    'torch.scalar_tensor(3,dtype=torch.int8)',
    'torch.scalar_tensor(True)',
    'torch.tril_indices(3,3)',
    'torch.tril_indices(2,3,1)',
    'torch.triu_indices(3,3,-1)',
    'torch.tril_indices(-1,3)',
    'torch.tril_indices(0,3)',
]
# fmt: on


def names(m):
    return {"T": m.tensor}


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    check(torch, rl, code, names)
