"""What may be switched on leaves and assigned to them, against PyTorch: the dtype of their gradients."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def gradient_dtypes(torch, note):
    makes = {
        "leaf": lambda: torch.ones(3, requires_grad=True),
        "half leaf": lambda: torch.ones(3, dtype=torch.float16, requires_grad=True),
        "plain": lambda: torch.ones(3),
        "integers": lambda: torch.arange(3),
    }
    for name, make in makes.items():
        v = make()
        note(f"{name}: own", lambda v=v: v.grad_dtype)
        for dtype in (torch.float64, torch.int64, None, 3, "float32", torch.float32):
            note(f"{name}: set {dtype}", lambda v=v, dtype=dtype: setattr(v, "grad_dtype", dtype))
            note("then", lambda v=v: v.grad_dtype)
            for given in (torch.float32, torch.float64, torch.int64):
                note(f"assign {given}", lambda v=v, given=given: setattr(v, "grad", torch.ones(3, dtype=given)))
                v.grad = None
    note("computed", lambda: (torch.ones(3, requires_grad=True) * 2).grad_dtype)
    for own, wanted in ((torch.float32, torch.float64), (torch.float16, torch.float32), (torch.float16, None)):
        x = torch.ones(3, dtype=own, requires_grad=True)
        x.grad_dtype = wanted
        seen = []
        note("backward", lambda x=x: ((x * 2).sum().backward(), x.grad))
        note("again", lambda x=x: ((x * 2).sum().backward(), x.grad))
        x.register_hook(lambda grad, seen=seen: seen.append(grad.dtype))
        note("grad", lambda x=x: torch.autograd.grad((x * 2).sum(), x))
        note("hooked", lambda x=x, seen=seen: ((x * 2).sum().backward(), x.grad, seen))
        note(
            "others", lambda x=x: (x.detach().grad_dtype, x.data.grad_dtype, torch.nn.Parameter(x.detach()).grad_dtype)
        )
    x = torch.ones(3, dtype=torch.float16, requires_grad=True)
    y = x * 2
    x.grad_dtype = torch.float32
    note("set after use", lambda: (y.sum().backward(), x.grad))
    for dtype in (torch.float64, None, torch.float32):
        note("set beside a gradient", lambda dtype=dtype: setattr(x, "grad_dtype", dtype))
    x, seen = torch.ones(2, requires_grad=True), []
    handle = x.register_hook(lambda grad: seen.append("removed"))
    x.register_hook(lambda grad: seen.append("stays"))
    x.grad_dtype = torch.float64
    handle.remove()
    note("hooks from before", lambda: ((x * 2).sum().backward(), x.grad, seen))


def data_of_other_dtypes(torch, note):
    """What was computed before ends at the former leaf, which still adds to ``grad``; what is computed after it at a new one."""
    changes = {
        "the same": lambda x: setattr(x, "data", x.data * 2),
        "float64": lambda x: setattr(x, "data", x.data.double()),
        "there and back": lambda x: [setattr(x, "data", x.data.to(dtype)) for dtype in (torch.float64, torch.float32)],
        "complex": lambda x: setattr(x, "data", x.data.to(torch.complex64)),
        "half": lambda x: setattr(x, "data", x.data.half()),
    }
    for name, change in changes.items():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        heard = []
        x.register_hook(lambda grad, heard=heard: heard.append(grad.dtype))
        parts, before = x.unbind(), (x * 2).sum()
        note(name, lambda change=change, x=x: change(x))
        after = (x.abs() * 3).sum()
        for end in (before, after, parts[0]):
            note("unused or not", lambda e=end, x=x: torch.autograd.grad(e, x, allow_unused=True, retain_graph=True))
            note("with zeros", lambda e=end, x=x: torch.autograd.grad(e, x, materialize_grads=True, retain_graph=True))
        note("nodes", lambda a=after, b=before: a.grad_fn.next_functions == b.grad_fn.next_functions)
        note("backward", lambda b=before, x=x, heard=heard: (b.backward(), x.grad, heard))


@pytest.mark.parametrize("story", [gradient_dtypes, data_of_other_dtypes], ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
