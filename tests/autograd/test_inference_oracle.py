"""Inference mode against PyTorch: which tensors are inference tensors, and what they may be used for."""

import sys

import numpy as np
import pytest
from stories import assert_same_story

from rushlight.tensor import inference

torch = pytest.importorskip("torch")


def made_inside(torch, x, plain):
    """Tensors made in inference mode: new ones, views, and others of normal tensors."""
    t, functional = torch, torch.nn.functional
    return {
        "ones": t.ones(3), "tensor": t.tensor([1.0, 2.0, 3.0]), "sum of normal": plain + 1, "product of leaf": x * 2,
        "clone": x.clone(), "detach of leaf": x.detach(), "view of leaf": x[:2], "view of normal": plain[:2],
        "sum": x.sum(), "integers": t.arange(3), "from_numpy": t.from_numpy(np.ones(3)),
        "requires grad": t.ones(3, requires_grad=True), "view of new": t.ones(3)[:2], "part of new": t.ones(3).split(1)[0],
        "part of normal": plain.split(1)[0], "part of leaf": x.split(1)[0], "zeros_like": t.zeros_like(x),
        "converted": x.to(t.float64), "not converted": plain.to(t.float32), "product": t.ones(2, 2) @ t.ones(2, 2),
        "cat": t.cat([plain, plain]), "filled": t.empty(3).fill_(2.0), "parameter": t.nn.Parameter(t.ones(3)),
        "comparison": plain > 0, "scalar": t.tensor(3.0), "new_ones": plain.new_ones(3), "as_tensor": t.as_tensor([1.0, 2.0]),
        "linear": functional.linear(plain, t.ones(2, 3)),
        "linear of rows": functional.linear(t.ones(2, 3), t.ones(4, 3), t.ones(4)), "sum by name": t.ones(2, 3).sum(dim=1), "max": plain.max(), "where": t.where(plain > 0, plain, plain),
        "index": plain[t.tensor([0, 1])], "relu": plain.relu(), "reshaped normal": plain.reshape(3, 1),
        "contiguous normal": plain.contiguous(), "softmax": plain.softmax(0), "expanded normal": plain.expand(2, 3),
        "row of new": t.ones(2, 2)[0], "rows of new": t.ones(2, 2).unbind()[0], "power": plain**2, "difference": 1 - plain,
        "sorted": plain.sort().values, "eye": t.eye(2), "stack": t.stack([plain, plain]), "mean": plain.mean(),
        "convolution": functional.conv1d(t.ones(1, 1, 3), t.ones(1, 1, 2)),
    }  # fmt: skip


def flags(tensor):
    return tensor.is_inference(), tensor.requires_grad, tensor.is_leaf, tensor._is_view()


def inside(torch, note):
    x, plain = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.ones(3)
    with torch.inference_mode():
        for name, tensor in made_inside(torch, x, plain).items():
            note(name, lambda tensor=tensor: flags(tensor))
            note("used", lambda tensor=tensor: flags(tensor + 1))
            note("viewed", lambda tensor=tensor: flags(tensor.view(-1)))
        made = torch.ones(3)
        note("version", lambda: made._version)
        note("write", lambda: made.add_(1))
        note("requires_grad_", lambda: flags(made.requires_grad_()))
        note("used", lambda: flags(made * 2))
        note("write into what requires grad", lambda: flags(made.mul_(2)))
        note("write into normal", lambda: (flags(plain.add_(1)), plain._version))
        note("write into leaf", lambda: (flags(x.mul_(1)), x._version))
        note("backward", lambda: x.sum().backward())
        note("modes", lambda: (torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        with torch.enable_grad():
            note("enable_grad", lambda: (torch.is_inference_mode_enabled(), torch.is_grad_enabled(), flags(x * 2)))
        with torch.inference_mode(False):
            note("left inside", lambda: (torch.is_inference_mode_enabled(), torch.is_grad_enabled(), flags(x * 2)))
            note("new", lambda: flags(torch.ones(2)))
            note("inference tensor", lambda: (flags(made * 2), flags(made + x)))
            note("product", lambda: x * made)
        note("out", lambda: flags(torch.add(plain, 1, out=torch.empty(3))))
    note("written there", lambda: (plain, plain._version))

    @torch.inference_mode()
    def double(tensor):
        return tensor * 2

    note("decorator", lambda: flags(double(x)))
    target = torch.ones(3)
    with torch.inference_mode():
        note("out of before", lambda: flags(torch.add(plain, 1, out=target)))


def outside(torch, note):
    for name in made_inside(torch, torch.ones(3), torch.ones(3)):
        x, plain = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.ones(3)
        with torch.inference_mode():
            tensor = made_inside(torch, x, plain)[name]
        number = torch.tensor(2.0, requires_grad=True)
        floating = tensor.is_floating_point()
        uses = {
            "flags": lambda: flags(tensor),
            "version": lambda: tensor._version,
            "used": lambda: flags(tensor + 1),
            "requires_grad_": lambda: flags(tensor.requires_grad_()),
            "requires_grad = True": lambda: setattr(tensor, "requires_grad", True),
            "requires_grad = False": lambda: setattr(tensor, "requires_grad", False),
            "product": lambda: floating and flags(tensor * number),
            "product reversed": lambda: floating and flags(number * tensor),
            "sum with tracked": lambda: floating and flags(tensor + number),
            "unrecorded": lambda: flags(in_no_grad(torch, lambda: tensor + 1)),
            "unrecorded write": lambda: flags(in_no_grad(torch, lambda: tensor.add_(1))),
            "write": lambda: flags(tensor.add_(1)),
            "value": lambda: tensor,
            "write of tracked": lambda: floating and flags(tensor.mul_(number)),
            "view": lambda: flags(tensor.view(-1)),
            "write through view": lambda: flags(tensor.view(-1).mul_(1)),
            "unsqueeze_": lambda: flags(tensor.unsqueeze_(0)),
            "item": lambda: tensor.__setitem__(0, 1),
            "fill_": lambda: flags(tensor.fill_(1)),
            "detach": lambda: flags(tensor.detach()),
            "data": lambda: flags(tensor.data),
            "clone": lambda: flags(tensor.clone()),
            "product with clone": lambda: floating and flags(tensor.clone() * number),
            "out": lambda: flags(torch.add(tensor, 1, out=tensor)),
            "resize_": lambda: flags(tensor.resize_(1)),
            "back inside": lambda: flags(in_inference(torch, lambda: tensor.add_(1))),
            "back inside used": lambda: flags(in_inference(torch, lambda: tensor + 1)),
            "printed": lambda: tensor,
        }
        for use, action in uses.items():
            note(f"{name}: {use}", action)


def in_no_grad(torch, function):
    with torch.no_grad():
        return function()


def in_inference(torch, function):
    with torch.inference_mode():
        return function()


def saved(torch, note):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with torch.inference_mode():
        c, positions = torch.ones(3), torch.tensor([0, 1])
    functional = torch.nn.functional
    note("matmul", lambda: x.view(1, 3) @ c.view(3, 1))
    note("cat", lambda: flags(torch.cat([x, c])))
    note("stack", lambda: flags(torch.stack([x, c])))
    note("where", lambda: torch.where(c > 0, x, c).sum())
    note("linear", lambda: functional.linear(c, torch.ones(2, 3, requires_grad=True)))
    note("layer", lambda: torch.nn.Linear(3, 2)(c))
    for name, operate in {"div": lambda a, b: a / b, "sub": lambda a, b: a - b, "pow": lambda a, b: a**b}.items():
        note(name, lambda operate=operate: flags(operate(c, x)))
        note(name, lambda operate=operate: flags(operate(x, c)))
    note("embedding", lambda: functional.embedding(positions, torch.ones(2, 3, requires_grad=True)))
    note("grad", lambda: setattr(x, "grad", c))
    note("gradient to start from", lambda: torch.autograd.grad(x * 2, x, c))
    note("parameter", lambda: flags(torch.nn.Parameter(torch.ones(3))))
    note("parameter of it", lambda: torch.nn.Parameter(c))
    note("set_", lambda: c.set_(torch.ones(2)))
    note("numpy", lambda: c.numpy())


STORIES = [inside, outside, saved]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=False)


def test_every_module_that_makes_tensors_marks_them():
    maker = inference.base.new_tensor
    makers = {name for name, module in sys.modules.items() if vars(module).get("new_tensor") is maker}
    assert makers == {module.__name__ for module in inference._MAKERS}
