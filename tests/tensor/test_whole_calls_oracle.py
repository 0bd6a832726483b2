"""Classes of programs with a ``__torch_function__`` are asked for whole calls: what is made of several operations, indices, backward,
operators under PyTorch's names, what is written in place, and the methods and attributes that no table holds."""

import functools
import operator
import subprocess
import sys

import pytest

import rushlight

torch = pytest.importorskip("torch")

SEEN: list = []
ATTRIBUTES = [
    "shape",
    "dtype",
    "device",
    "requires_grad",
    "grad",
    "grad_fn",
    "is_leaf",
    "ndim",
    "T",
    "real",
    "data",
    "layout",
]


@functools.cache
def classes(library):
    class Sub(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            owner = getattr(func, "__self__", None)  # of an attribute's __get__
            known = next((name for name in ATTRIBUTES if getattr(library.Tensor, name) is owner), None)
            SEEN.append((func.__name__, known, [type(value).__name__ for value in args]))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            SEEN.append((func.__name__, None, [type(value).__name__ for value in args]))
            return "duck"

    return Sub, Duck()


CALLS = """p[i]|p[i, 0]|p[:, i]|p.__setitem__(i, 1.0)|p.__setitem__((i, 0), 1.0)|p.__setitem__(0, v)|p[d]|p[d, 0]|y.backward()|x.detach()
    |torch.where(p > 0, p, d)|x.norm()|x.unflatten(0, (1, 3))|torch.nn.functional.softmax(x, 0)|x.new_tensor([1.0])
    |x + 1|1 + x|x - v|1 - x|p[0] - v|x / 2|2 / x|x // 2|2 // x|x % 2|2 % x|2 ** x|x == 1|1 == x|x < 1|1 < x|-x|abs(x)|x.clip(0)
    |i & 1|1 & i|i << 1|1 << i|i >> 1|1 >> i|operator.iadd(v, 1)|operator.ifloordiv(v, 2)|operator.ior(i, 1)|operator.imod(v, 2)
    |v.add_(1)|p.add_(v)|v.exp_()|v.zero_()|v.clamp_(0)|v.normal_()|v.masked_fill_(v > 0, 1)|torch.nn.init.zeros_(v)
    |v.item()|x.tolist()|x.size()|x.size(0)|x.dim()|x.numel()|x.stride()|x.data_ptr()|x.type()|v.numpy()|x.float()|x.double()|len(x)|bool(v)
    |float(v)|str(v)[:0]|f"{v}"[:0]|1.0 in x|v.requires_grad_()|x.is_floating_point()|x.to_dense()|x.is_contiguous()
    |x.shape|str(x.dtype)|x.device|x.requires_grad|v.grad|x.grad_fn|x.is_leaf|x.ndim|x[None].T|i.real|x.data|x.layout
    |setattr(v, 'requires_grad', True)|setattr(v, 'grad', None)|setattr(v, 'data', p)"""


def seen(library, text):
    sub, duck = classes(library)
    x = library.arange(3.0, requires_grad=True).as_subclass(sub)
    values = {
        "torch": library, "operator": operator, "x": x, "y": (x * 2).sum(), "d": duck, "p": library.arange(6.0).reshape(3, 2),
        "i": library.tensor([0, 1]).as_subclass(sub), "v": library.tensor(1.0).as_subclass(sub),
    }  # fmt: skip
    SEEN.clear()
    found = eval(text, values)
    return list(SEEN), type(found).__name__


@pytest.mark.parametrize("text", [*map(str.strip, CALLS.split("|"))])
def test_whole_calls_are_seen(text):
    expected, found = seen(torch, text), seen(rushlight, text)
    if "softmax" in text:  # written in Python there: its options are filled in
        assert found[0][0][0] == expected[0][0][0] == "softmax"
    else:
        assert found == expected


def test_programs_without_such_classes_pay_nothing():
    program = "import rushlight, sys\nclass A(rushlight.Tensor): pass\nassert 'rushlight.tensor.interception' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tensors_without_memory_are_refused_by_name():
    with pytest.raises(RuntimeError, match=r"must define __torch_dispatch__"):
        rushlight.Tensor._make_wrapper_subclass(classes(rushlight)[0], (2,))
