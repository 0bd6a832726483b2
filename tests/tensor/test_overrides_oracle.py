"""Subclasses of Tensor and ``__torch_function__``: the same classes of results as PyTorch."""

import importlib

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = [
    "x + 1", "x + p", "p + x", "torch.add(p, x)", "x.sum()", "x[0]", "x[x > 0]", "x.view(6)", "x.unbind()", "1 - x",
    "torch.cat([x, p])", "torch.cat([p, x])", "torch.stack([p, x])", "x.max(0)", "x.t()", "x.T", "x.add_(1)", "x.clone()",
    "x.to(torch.float64)", "x == x", "x @ x.t()", "torch.relu(x)", "x.reshape(3, 2)", "torch.where(x > 0, x, p)",
    "torch.zeros_like(x)", "x.new_zeros(2)", "x.detach()", "x.data", "x.numpy()", "x.tolist()", "x.shape", "p + 1",
    "torch.nn.functional.relu(x)", "torch.nn.Parameter(p) * 1", "x.as_subclass(torch.Tensor)",
    "torch.cumsum(input=x, dim=1)", "torch.add(input=x, other=1)", "torch.add(p, other=x)", "torch.clamp(input=x, min=0)",
    "torch.cat(tensors=[p, x])", "torch.where(p > 0, input=x, other=p)", "torch.flatten(input=x)",
    "torch.nn.functional.linear(p, weight=x)", "torch.chunk(input=x, chunks=1)",
]  # fmt: skip


def class_names(value):
    return [class_names(v) for v in value] if isinstance(value, (tuple, list)) else type(value).__name__


@pytest.mark.parametrize("code", CALLS)
def test_results_are_of_the_subclass(code):
    found = []
    for m in (torch, rl):
        subclass = type("Sub", (m.Tensor,), {})
        space = {"torch": m, "x": m.ones(2, 3).as_subclass(subclass), "p": m.ones(2, 3)}
        found.append(class_names(eval(code, space)))
    assert found[1] == found[0]


@pytest.mark.parametrize("m", [torch, rl])
def test_override_with_super(m):
    calls = []

    class Logged(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = m.ones(2, requires_grad=True).as_subclass(Logged)
    y = m.sum(x * 2)
    assert type(y) is Logged
    assert calls == ["mul", "sum"]
    y.backward()


@pytest.mark.parametrize("m", [torch, rl])
def test_other_classes_may_implement_functions(m):
    handled = {}

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return handled[func](*args, **(kwargs or {})) if func in handled else NotImplemented

    handled[m.mean] = lambda duck: "mean"
    assert m.mean(Duck()) == "mean"
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.sum'"):
        m.sum(Duck())


@pytest.mark.parametrize("code", CALLS)
def test_results_are_plain_where_the_subclass_has_the_disabled_override(code):
    found = []
    for m, disabled in (
        (torch, torch._C._disabled_torch_function_impl),
        (rl, importlib.import_module("rushlight.compat.inside._C")._disabled_torch_function_impl),
    ):
        subclass = type("Sub", (m.Tensor,), {"__torch_function__": disabled})
        space = {"torch": m, "x": m.ones(2, 3).as_subclass(subclass), "p": m.ones(2, 3)}
        found.append((class_names(eval(code, space)), m.overrides.has_torch_function((space["x"],))))
        assert disabled(m.add, (subclass,), (m.ones(1), 1), {"alpha": 2}).item() == 3
    assert found[1] == found[0]
