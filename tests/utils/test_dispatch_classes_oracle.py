"""Subclasses of Tensor with a ``__torch_dispatch__``: with and without memory of their own, in both libraries."""

import pytest

import rushlight
import rushlight.utils._pytree
from rushlight.tensor.overrides import DisableTorchDispatch, disabled_torch_function

torch = pytest.importorskip("torch")
LIBRARIES = {"rushlight": rushlight, "torch": torch}


def wrapping(library):
    """A class without memory that counts what it sees, as programs write it."""
    off = disabled_torch_function if library is rushlight else torch._C._disabled_torch_function_impl
    tree_map = library.utils._pytree.tree_map

    class Wrapping(library.Tensor):
        __slots__ = ("inner",)
        __torch_function__ = off
        seen: list = []

        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            made = library.Tensor._make_wrapper_subclass(
                cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
                layout=inner.layout, device=inner.device, requires_grad=requires_grad,
            )  # fmt: skip
            made.inner = inner
            return made

        def __repr__(self):
            return super().__repr__(tensor_contents=f"{self.inner}")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(str(func))
            inside = tree_map(lambda each: each.inner if isinstance(each, cls) else each, (args, kwargs or {}))
            found = func(*inside[0], **inside[1])
            return tree_map(lambda each: cls(each) if isinstance(each, library.Tensor) else each, found)

    return Wrapping


def attributes(m, make):
    x = make(m.arange(6.0).view(2, 3).t(), requires_grad=True)
    half = make(m.zeros(2, dtype=m.float16))
    return x.shape, x.stride(), x.is_leaf, x.requires_grad, x.is_contiguous(), half.dtype, half.element_size(), half


def gradients(m, make):
    x = make(m.ones(2, 3), requires_grad=True)
    y = (x * 2 + 1).exp().sum()
    y.backward()
    first = f"{x.grad}"
    x.exp().sum().backward()
    return first, x.grad, y, type(x.grad).__name__, type(y.grad_fn).__name__.removesuffix("0")


def writes(m, make):
    x = make(m.ones(2, 3), requires_grad=True).detach()
    x.add_(1).mul_(x)
    x[0].zero_()
    return x, x.sum().item(), x._version


def views(m, make):
    x = make(m.arange(6.0).view(2, 3), requires_grad=True)
    return (
        x[0],
        x.t().shape,
        m.cat([x, x]).shape,
        x.reshape(6),
        x[:, 1:].sum(),
        [type(each).__name__ for each in x.unbind()],
    )


def several(m, make):
    x = make(m.tensor([[1.0, 3.0], [4.0, 2.0]]), requires_grad=True)
    values, places = x.max(1)
    values.sum().backward()
    return values, places, x.grad, x.sort(1)[0], x.split(1)[1]


def made_like(m, make):
    x = make(m.ones(2, 3, dtype=m.float64))
    return m.zeros_like(x), m.ones_like(x).dtype, x.to(m.float32), x.clone(), m.full_like(x, 2.0)


def layers(m, make):
    layer = m.nn.Linear(2, 2)
    layer.weight = m.nn.Parameter(make(m.ones(2, 2)))
    with m.no_grad():
        layer.bias.zero_()
    out = layer(m.ones(1, 2))
    out.sum().backward()
    kept = isinstance(layer.weight, m.nn.Parameter), type(out).__name__, layer.weight.grad
    m.optim.SGD([layer.weight], lr=0.1).step()
    return (*kept, layer.weight)


def plain_beside_it(m, make):
    x, y = m.ones(3, requires_grad=True), make(m.full((3,), 2.0))
    z = x * y
    z.sum().backward()
    return z, x.grad, type(x.grad).__name__


CASES = [attributes, gradients, writes, views, several, made_like, layers, plain_beside_it]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_classes_without_memory(case):
    found = [str(case(library, wrapping(library))) for library in LIBRARIES.values()]
    assert found[0] == found[1]


def test_the_class_sees_pytorchs_operations():
    def seen(library):
        make = wrapping(library)
        x = make(library.ones(2, 3), requires_grad=True)
        library.nn.functional.linear(x, library.ones(4, 3)).relu().sum(1, keepdim=True)
        return [name for name in make.seen if "detach" not in name]

    assert seen(rushlight) == seen(torch) == ["aten.mm.default", "aten.relu.default", "aten.sum.dim_IntList"]


def test_classes_with_memory():
    def run(library, off):
        seen = []

        class Counting(library.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(str(func))
                with off():
                    return func(*args, **(kwargs or {}))

        x = library.Tensor._make_subclass(Counting, library.ones(2, 3))
        y = library.add(x, 1)
        with off():
            z = x * 2
        x.mul_(3)
        return y.tolist(), z.tolist(), x.sum().item(), [name for name in seen if "scalar" not in name]

    assert run(rushlight, DisableTorchDispatch) == run(torch, torch._C._DisableTorchDispatch)


def test_a_class_that_passes_nothing_on_and_one_without_a_handler():
    class Refusing(rushlight.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Bare(rushlight.Tensor):
        pass

    x = rushlight.Tensor._make_wrapper_subclass(Refusing, (2, 3))
    with pytest.raises(TypeError, match="Multiple dispatch failed for"):
        x.exp()
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        x.numpy()
    with pytest.raises(RuntimeError, match="Bare must define __torch_dispatch__"):
        rushlight.Tensor._make_wrapper_subclass(Bare, (2, 3))
