"""Conversions of tensors to dtypes, numbers and NumPy arrays against PyTorch, line by line."""

import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

# fmt: off
CASES = [
    'isinstance(T([1.]),torch.FloatTensor)',
    'isinstance(T([1.]),torch.Tensor)',
    'T([1]).type()',
    "T([1]).type('torch.FloatTensor')",
    'T([1]).type(torch.FloatTensor)',
    'T([1]).type(torch.float64)',
    "T([1]).type('foo')",
    'T([1]).type(float)',
    'T([1.]).type(int)',
    'T([1j]).type()',
    'T([1],dtype=torch.uint16).type()',
    'T([1.5]).to(torch.int64)',
    "T([1]).to('cpu')",
    "T([1]).to('cpu',torch.float32)",
    "T([1]).to(torch.device('cpu'),torch.float32)",
    'T([1]).to(torch.float32,True)',
    'T([1]).to(torch.float32,non_blocking=True,copy=True)',
    'T([1]).to(T([1.5]))',
    'T([1]).to(other=T([1.5]))',
    'T([1]).to(dtype=torch.float16)',
    "T([1]).to(device='cpu',dtype=torch.float16)",
    "T([1]).to('cuda')",
    'T([1]).to()',
    'T([1]).to(float)',
    'T([1]).to(None)',
    "T([1]).to('cpu',None)",
    'T([1]).to(torch.float32,copy=True,memory_format=torch.contiguous_format)',
    'T([1]).to(memory_format=torch.channels_last)',
    'T([1]).to(foo=1)',
    'T([1]).to(torch.preserve_format)',
    'T([1]).to(torch.float32,torch.float64)',
    'T([1]).float()',
    'T([1.5]).bool()',
    'T([1]).cdouble()',
    'T([1]).float(memory_format=torch.preserve_format)',
    'T([300.]).byte()',
    'T([-1.]).byte()',
    "T([float('nan')]).int()",
    'T([1e10]).int()',
    'T([1+2j]).float()',
    'T([1]).cpu()',
    'T([1]).cuda()',
    'T([1]).item()',
    'T([1,2]).item()',
    'T([]).item()',
    'T([[1.5]]).item()',
    'T([1],dtype=torch.bfloat16).item()',
    'T([[1,2]]).tolist()',
    'T(1).tolist()',
    'bool(T([]))',
    'bool(T([0]))',
    'bool(T([1,2]))',
    "bool(T([float('nan')]))",
    'int(T([1.7]))',
    'int(T([1j]))',
    "int(T([float('nan')]))",
    "int(T([float('inf')]))",
    'float(T([1]))',
    'float(T([1j]))',
    'complex(T([1.]))',
    'float(T([1,2]))',
    'T(1).__index__()',
    'T(1.).__index__()',
    'T([1]).__index__()',
    'T([1,2]).__index__()',
    'T(True).__index__()',
    '[10,20][T(1)]',
    'T([1.]).numpy()',
    'T([1.],requires_grad=True).numpy()',
    'T([1.],requires_grad=True).numpy(force=True)',
    'T([1.],dtype=torch.bfloat16).numpy()',
    'np.asarray(T([1.]))',
    'np.asarray(T([1.],requires_grad=True))',
    'np.asarray(T([1.]),dtype=np.int64)',
    'np.array(T([1.,2]))',
    'np.add(T([1.]),1)',
    'type(np.add(T([1.]),1)).__name__',
    'np.sin(T([0.]))',
    'np.add(np.ones(1),T([1.]))',
    'np.float64(2)*T([1.])',
    'type(np.float64(2)*T([1.])).__name__',
    'np.float32(2)-T([1])',
    'np.concatenate([T([1.]),T([2.])])',
    'np.exp(T([0.],requires_grad=True))',
    'len(T([1,2]))',
    'np.from_dlpack(T([1.]))',
]
# fmt: on


def names(m):
    return {"T": m.tensor}


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    check(torch, rl, code, names)
