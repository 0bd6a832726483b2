"""Leaves take over a gradient that is a view where nobody else sees its memory, as PyTorch does; elsewhere they copy it."""

import importlib.util

import pytest

import rushlight

MODULES = [rushlight]
if importlib.util.find_spec("torch") is not None:
    import torch

    MODULES.append(torch)

TAKEN = [
    "x[None] * 2", "x.view(-1) * 2", "x.reshape(2, -1) * 2", "x.flatten() * 2", "x[:, :, None] * w[:, :, None]",
    "x.permute(1, 0).permute(1, 0) * 2", "x.T * torch.ones(6, 4).T", "x.roll(7) * 2", "x.view(1, 24, 1, 1) * 2",
    "torch.nn.functional.linear(torch.ones(2, 3, 4), x)", "w.view(-1) @ x.view(-1)",
]  # fmt: skip


@pytest.mark.parametrize("torch", MODULES, ids=lambda m: m.__name__)
@pytest.mark.parametrize("code", TAKEN)
def test_the_only_view_becomes_the_gradient(code, torch):
    x, w, arrived = torch.ones(6, 4, requires_grad=True), torch.full((6, 4), 3.0), []
    x.register_hook(lambda grad: arrived.append(grad.data_ptr()))
    eval(code, {"torch": torch, "x": x, "w": w}).sum().backward()
    assert arrived == [x.grad.data_ptr()]
    assert not x.grad._is_view() and x.grad.grad_fn is None and x.grad.is_leaf and x.grad.stride() == (4, 1)
    once = x.grad.clone()
    eval(code, {"torch": torch, "x": x, "w": w}).sum().backward()
    assert torch.equal(x.grad, 2 * once) and w.tolist() == [[3.0] * 4] * 6


def own(found, make, *others):
    """Backward, then a write into the gradient that must not be seen elsewhere."""
    torch = rushlight
    x = torch.ones(2, 2, requires_grad=True)
    seen = make(torch, x, *others)
    before = [tensor.tolist() for tensor in seen]
    assert found(x) is not None
    x.grad.mul_(7)
    assert [tensor.tolist() for tensor in seen] == before


def test_a_gradient_of_the_caller_is_copied():
    def run(torch, x):
        given = torch.ones(4)
        x.view(4).backward(given)
        return [given]

    own(lambda x: x.grad, run)


def test_a_gradient_that_another_leaf_takes_is_copied():
    def run(torch, x):
        y = torch.ones(2, 2, requires_grad=True)
        ((x.view(4) + y.view(4)) * 2).sum().backward()
        return [y.grad]

    own(lambda x: x.grad, run)


@pytest.mark.parametrize(
    "keep", [lambda g: g, lambda g: g.detach(), lambda g: g.view(2, 2), lambda g: g.numpy(), lambda g: g[:1]]
)
def test_a_gradient_that_a_hook_keeps_is_copied(keep):
    def run(torch, x):
        kept, y = [], x.view(4)
        y.register_hook(lambda grad: kept.append(keep(grad)))
        (y * 2).sum().backward()
        return kept

    own(lambda x: x.grad, run)


def test_a_gradient_that_a_hook_gives_is_copied():
    def run(torch, x):
        given, y = torch.full((4,), 3.0), x.view(4)
        y.register_hook(lambda grad: given)
        y.sum().backward()
        return [given]

    own(lambda x: x.grad, run)


def test_a_retained_gradient_is_copied():
    def run(torch, x):
        y = x.view(4)
        y.retain_grad()
        (y * 2).sum().backward()
        return [y.grad]

    own(lambda x: x.grad, run)


def test_saved_values_are_copied():
    def run(torch, x):
        w = torch.full((4,), 3.0)
        z = (x.view(4) * w).sum()
        z.backward(retain_graph=True)
        return [w]

    own(lambda x: x.grad, run)


def test_what_a_function_keeps_is_copied():
    kept = rushlight.full((4,), 3.0)

    class Keeping(rushlight.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return kept.view(2, 2)

    def run(torch, x):
        Keeping.apply(x).sum().backward()
        return [kept]

    own(lambda x: x.grad, run)


def test_memory_of_numpy_and_parts_are_copied():
    import numpy as np

    def run(torch, x):
        memory = np.ones(4, np.float32)
        x.view(4).backward(torch.from_numpy(memory))
        return [memory]

    own(lambda x: x.grad, run)
    x, y = (rushlight.ones(3, requires_grad=True) for _ in range(2))
    (rushlight.cat([x, y]) * 2).sum().backward()
    assert x.grad.untyped_storage().nbytes() == 12


@pytest.mark.filterwarnings("ignore:Using backward")
def test_with_create_graph_nothing_is_taken():
    x = rushlight.ones(2, 2, requires_grad=True)
    (x.view(4) ** 3).sum().backward(create_graph=True)
    assert x.grad.requires_grad and x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
