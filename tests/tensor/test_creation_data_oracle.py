"""torch.tensor and its relatives against PyTorch, line by line."""

import array
import decimal

import numpy as np
import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

# fmt: off
CASES = [
    'T([])',
    'T([[]])',
    'T([[],[]])',
    'T(())',
    'T(1)',
    'T(1.5)',
    'T(True)',
    'T(1j)',
    'T([1,2.5])',
    'T([1,True])',
    'T([True,1])',
    'T([1,1j])',
    'T([1.,1j])',
    'T(2**63-1)',
    'T(2**63)',
    'T(-2**63)',
    'T(2**64)',
    'T([2**63])',
    'T(2**63,dtype=torch.uint64)',
    'T(2**63,dtype=torch.float32)',
    'T(300,dtype=torch.uint8)',
    'T(-1,dtype=torch.uint8)',
    'T(256,dtype=torch.int8)',
    'T(1.9,dtype=torch.int64)',
    "T(float('nan'),dtype=torch.int64)",
    "T(float('inf'),dtype=torch.int32)",
    'T(1j,dtype=torch.float32)',
    'T([1,2],dtype=torch.bool)',
    "T('a')",
    "T(['a'])",
    'T(None)',
    'T([None])',
    'T([1,None])',
    "T([1,'a'])",
    'T([[1,2],[3]])',
    'T([[1],2])',
    'T([1,[2]])',
    'T([[1,2],[3,4,5]])',
    'T([[[1]],[[2,3]]])',
    'T([[1,2],3.5])',
    'T(np.float32(1))',
    'T(np.float64(1))',
    'T(np.int8(1))',
    'T(np.bool_(True))',
    'T([np.float32(1)])',
    'T([np.float64(1)])',
    'T([np.int8(1)])',
    'T([np.int32(1),2.5])',
    'T([np.bool_(True)])',
    'T([1.5,np.float64(1)])',
    'T(np.array([1,2],dtype=np.int16))',
    'T([np.array([1,2]),np.array([3,4])])',
    'T([np.array([1.,2],dtype=np.float32)])',
    "T(np.array(['a']))",
    'T(np.array([None]))',
    "T(np.array([1,2],dtype='>i4'))",
    'T(a[::-1])',
    'T(a.T)',
    'T(T([1,2]))',
    'T([T(1),T(2)])',
    'T([T(1.),T(2)])',
    'T([T([1,2]),T([3,4])])',
    'T([T([1.,2]),T([3,4])])',
    'T([T([1,2])])',
    'T([T(1,dtype=torch.int8)])',
    'T([T([1,2]),3])',
    'T(range(3))',
    'T((1,2))',
    'T([(1,2),[3,4]])',
    'T({})',
    'T({1})',
    'T({1:2})',
    'T(Seq())',
    'T(Arr())',
    'T([Seq()])',
    "T(b'ab')",
    "T(bytearray(b'ab'))",
    "T(array.array('i',[1,2]))",
    "T(memoryview(b'ab'))",
    'T(object())',
    'T(torch.Size([1,2]))',
    'T(torch.float32)',
    'T([1.],requires_grad=True)',
    'T([1],requires_grad=True)',
    'T([1.],dtype=float)',
    'T([1],dtype=int)',
    "T([1],dtype='float32')",
    'T([1],dtype=np.float32)',
    "T([1],device='cpu')",
    "T([1],device='cuda')",
    'T([1],pin_memory=False)',
    'T([1],foo=1)',
    'T()',
    'T(data=[1])',
    'torch.Tensor()',
    'torch.Tensor([1,2])',
    'torch.Tensor((1,2))',
    'torch.Tensor([[1,2],[3]])',
    'torch.Tensor(torch.Size([2])).shape',
    'torch.Tensor(T([1,2]))',
    'torch.Tensor(T([1.,2]))',
    'torch.Tensor(1.5)',
    'torch.Tensor(True)',
    "torch.Tensor('a')",
    'torch.Tensor(np.array([1,2]))',
    'torch.Tensor(-1)',
    'torch.Tensor(None)',
    'torch.Tensor(2.,3)',
    'torch.Tensor([1,2],[3])',
    "torch.Tensor(device='cpu')",
    'torch.Tensor(dtype=torch.int64)',
    'torch.FloatTensor([1,2])',
    'torch.LongTensor([1,2])',
    'torch.LongTensor([1.5])',
    'torch.LongTensor(2).shape',
    'torch.LongTensor(T([1]))',
    'torch.ByteTensor([300])',
    'torch.BoolTensor([True,0])',
    'torch.HalfTensor([1])',
    'torch.BFloat16Tensor([1])',
    'torch.DoubleTensor(np.array([1.]))',
    'torch.FloatTensor(np.array([1.]))',
    'torch.FloatTensor.dtype',
    'torch.FloatTensor',
    'T([1]).new(2,3).shape',
    'T([1]).new([1,2])',
    'T([1]).new()',
    'T([1]).new(T([1,2]))',
    'T([1]).new(torch.Size([2])).shape',
    'T([1.]).new_tensor([1,2])',
    'T([1.]).new_tensor(T([1,2]))',
    'T([1]).new_tensor([1.5])',
    'T([1]).new_tensor(1.5)',
    'T([1.]).new_full((2,),3)',
    'T([1]).new_full((2,),3.5)',
    'T([1]).new_full((2,),True)',
    'T([1.]).new_zeros(2)',
    'T([1.]).new_zeros((2,),dtype=torch.int64)',
    'T([1.]).new_ones(2,2)',
    'T([1.]).new_empty((2,3)).shape',
    'T([1.]).new_empty_strided((2,3),(1,2)).stride()',
    'torch.as_tensor(a)',
    'torch.as_tensor([1,2])',
    'torch.as_tensor(T([1]))',
    'torch.as_tensor(1.5)',
    'torch.as_tensor(a,dtype=torch.float32)',
    'torch.as_tensor(None)',
    'torch.as_tensor(np.float32(3))',
    'torch.asarray(a)',
    'torch.asarray([1,2])',
    'torch.asarray(a,copy=False)',
    'torch.asarray(a,dtype=torch.float32,copy=False)',
    'torch.asarray([1],copy=False)',
    'torch.asarray(1.5)',
    'torch.asarray(None)',
    "torch.asarray(b'abcd',dtype=torch.uint8)",
    "torch.asarray(bytearray(b'abcd'),dtype=torch.int32)",
    "torch.asarray(bytearray(b'abcd'))",
    'torch.asarray(np.float64(2.))',
    'torch.asarray([1.],requires_grad=True)',
    'torch.asarray(T([1.],requires_grad=True))',
    'torch.asarray(T([1.],requires_grad=True)*1)',
    'torch.asarray(T([1.],requires_grad=True)*1,requires_grad=True)',
    'torch.from_numpy(a)',
    'torch.from_numpy([1])',
    'torch.from_numpy(a[::-1])',
    "torch.from_numpy(np.array(['a']))",
    'torch.from_numpy(np.float64(1))',
    'torch.from_numpy(np.array(3.))',
    "torch.from_numpy(np.zeros(3,dtype='>f4'))",
    "torch.from_numpy(np.zeros(3,dtype=[('a','i4'),('b','i8')])['b'])",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.uint8)",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.int16,offset=2)",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.int32,offset=1)",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.int16,count=3)",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.int16,count=0)",
    "torch.frombuffer(bytearray(b''),dtype=torch.int16)",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.uint8,offset=4)",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.uint8,offset=-1)",
    'torch.frombuffer([1],dtype=torch.uint8)',
    "torch.frombuffer(bytearray(b'abcd'))",
    "torch.frombuffer(bytearray(b'abcd'),dtype=torch.float32,requires_grad=True).requires_grad",
    'T([1.])+np.ones(1)',
    'T([1.])*np.float64(2)',
    'T([1])@np.array([2])',
    'torch.from_dlpack(a)',
    'torch.from_dlpack(T([1]))',
]
# fmt: on


class Seq:
    """A sequence that is no list."""

    def __len__(self):
        return 2

    def __getitem__(self, place):
        if place > 1:
            raise IndexError
        return place + 5


class Arr:
    """Something that NumPy can convert."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2])


class Whole:
    def __index__(self):
        return 3


class Real:
    def __float__(self):
        return 3.5


def names(m):
    return {"T": m.tensor, "a": np.arange(6.0).reshape(2, 3), "array": array, "decimal": decimal} | {
        kind.__name__: kind for kind in (Seq, Arr, Whole, Real)
    }


ITEMS = ("None", "'a'", "b'a'", "object()", "{}", "{1}", "iter([1])", "len", "type", "torch.float32", "decimal.Decimal('1.5')", "Whole()",
         "Real()", "np.float32(1.5)", "np.float64(1.5)", "np.bool_(True)", "np.int64(2)", "2.5", "1j", "True", "T(1)")  # fmt: skip
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("item", ITEMS)
def test_an_item_of_any_kind_in_a_given_dtype(item, dtype):
    for data in (item, f"[1, {item}]", f"[[1], [{item}]]"):
        check(torch, rl, f"T({data}, dtype=torch.{dtype})", names)


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    check(torch, rl, code, names)
