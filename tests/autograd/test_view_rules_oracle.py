"""Views of every kind against PyTorch: where gradients flow, what writing through them does, and what is refused."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def leaf(torch, *values, **options):
    return torch.tensor([*map(float, values)], requires_grad=True, **options)


def flags(tensor):
    return tensor.requires_grad, tensor.is_leaf, tensor._is_view(), tensor._version


def history(tensor, depth=6):
    """The names of the nodes that made a tensor, as nested lists."""

    def names(node, depth):
        return node and depth and [node.name(), *[names(following, depth - 1) for following, _ in node.next_functions]]

    return names(tensor.grad_fn, depth)


def bases(torch):
    """Ways to make a tensor of six elements that views look into."""
    return {
        "leaf": lambda: leaf(torch, 1, 2, 3, 4, 5, 6),
        "tracked": lambda: leaf(torch, 1, 2, 3, 4, 5, 6) * 2,
        "plain": lambda: torch.arange(6.0),
        "integers": lambda: torch.arange(6),
    }


VIEWS = {
    "slice": lambda t, b: b[:2],
    "unbind": lambda t, b: b.unbind()[1],
    "split": lambda t, b: b.split(1)[0],
    "view of a chunk": lambda t, b: b.chunk(2)[0].view(-1, 1),
    "split of a view": lambda t, b: b[:2].split(1)[0],
    "tensor_split": lambda t, b: b.tensor_split(2)[0],
    "detach": lambda t, b: b.detach(),
    "view of detach": lambda t, b: b.detach()[1:],
    "detach of a view": lambda t, b: b[1:].detach(),
    "expand": lambda t, b: b.expand(2, 6),
    "view_as": lambda t, b: b.view_as(b),
    "unfold": lambda t, b: b.unfold(0, 2, 2),
    "diagonal": lambda t, b: b.view(1, 6).diagonal(),
    "flatten": lambda t, b: b.flatten(),
    "reshape": lambda t, b: b.reshape(-1),
    "reshape of a transposed view": lambda t, b: b.view(2, 3).t().reshape(3, 2, 1),
    "contiguous": lambda t, b: b.contiguous(),
    "to": lambda t, b: b.to(b.dtype),
    "squeeze": lambda t, b: b.squeeze(),
    "data": lambda t, b: b.data,
    "ellipsis": lambda t, b: b[...],
    "all": lambda t, b: b[:],
    "transposed": lambda t, b: b.view(6, 1).mT,
    "movedim": lambda t, b: b.movedim(0, 0),
    "hsplit": lambda t, b: b.hsplit(3)[0],
    "iteration": lambda t, b: next(iter(b)),
    "narrow": lambda t, b: b.narrow(0, 1, 1),
    "as_strided": lambda t, b: b.as_strided((2,), (1,)),
    "broadcast_tensors": lambda t, b: t.broadcast_tensors(b, t.ones(6))[0],
    "permute": lambda t, b: b.permute(0),
    "unflatten": lambda t, b: b.unflatten(0, (3, 2)),
    "select_scatter": lambda t, b: b.select_scatter(b[0].detach(), 0, 0),
}


def recorded_views(torch, note):
    x = leaf(torch, 1, 2, 3)
    for base_name, make in bases(torch).items():
        for view_name, view in VIEWS.items():
            if base_name == "integers" and view_name in (
                "unbind",
                "split",
                "view of a chunk",
                "split of a view",
                "iteration",
            ):
                continue  # PyTorch refuses the write below for the view, Rushlight for the dtype
            label = f"{view_name} of {base_name}"

            def both(
                label, change, after=lambda v, b: (flags(v), flags(b), history(v), history(b)), view=view, make=make
            ):
                b = make()
                v = view(torch, b)
                note(label, lambda: change(v, b))
                note(label + " flags", lambda: (v.requires_grad, v._is_view(), v._version, b.requires_grad, b._version))
                note(label + " after", lambda: after(v, b))
                return v, b

            def of_view(v, b):
                w = v.view(v.shape)
                return flags(w), w._base is b, w._base is v, history(w)

            both(label, lambda v, b: (flags(v), history(v), v._base is b, v._base is None, v is b), of_view)
            both(label + " add_", lambda v, b: v.add_(1) is v)
            v, b = both(label + " mul_ by tracked", lambda v, b: v.mul_(x[0]) is v)
            note(label + " gradient", lambda v=v: torch.autograd.grad(v.sum(), x, allow_unused=True))
            note(label + " gradient of base", lambda b=b: torch.autograd.grad(b.sum(), x, allow_unused=True))
            with torch.no_grad():
                both(label + " mul_ unrecorded", lambda v, b: v.mul_(x[0].detach()) is v)
            both(label + " base mul_", lambda v, b: b.mul_(x[0]) is b)
            both(label + " detach_", lambda v, b: v.detach_() is v)
            both(label + " requires_grad_", lambda v, b: v.requires_grad_() is v)
            both(label + " requires_grad_(False)", lambda v, b: v.requires_grad_(False) is v)
            both(label + " requires_grad = False", lambda v, b: setattr(v, "requires_grad", False))
            both(label + " requires_grad_ add_", lambda v, b: v.requires_grad_().add_(1) is v)
            both(label + " requires_grad_, base add_", lambda v, b: (v.requires_grad_(), b.add_(1))[1] is b)


def unrecorded_views(torch, note):
    x = leaf(torch, 1, 2, 3, 4, 5, 6)
    for base_name, make in bases(torch).items():
        for view_name in ("slice", "split", "unfold", "detach"):

            def fresh(make=make, view=VIEWS[view_name]):
                b = make()
                with torch.no_grad():
                    return view(torch, b), b

            label = f"unrecorded {view_name} of {base_name}"
            v, b = fresh()
            note(label, lambda: (flags(v), history(v), v._base is b))
            for name, use in {
                "mul": lambda: v * 2,
                "sin": lambda: v.sin(),
                "sum": lambda: v.sum(),
                "unsqueeze": lambda: v.unsqueeze(0),
                "unbind": lambda: v.unbind()[0],
                "product of both": lambda: v * v.clone(),
            }.items():
                if base_name != "integers" or name != "sin":
                    note(f"{label} {name}", lambda use=use: (flags(use()), history(use())))
            note(label + " retain_grad", lambda: v.retain_grad())
            note(label + " hook", lambda: v.register_hook(lambda g: g) and None)
            note(label + " backward", lambda: (v * 2).sum().backward())
            note(label + " backward", lambda: v.sum().backward())
            note(label + " backward of itself", lambda: v.flatten()[0].backward())
            note(label + " grad", lambda: torch.autograd.grad((v * 2).sum(), v, allow_unused=True))
            note(label + " grad", lambda: torch.autograd.grad((v * 2).sum(), v))
            note(label + " requires_grad_(False)", lambda: (v.requires_grad_(False) is v, flags(v)))
            note(label + " requires_grad_", lambda: (v.requires_grad_() is v, flags(v), history(v * 2)))
            note(label + " backward", lambda: (v * 2).sum().backward())
            note(label + " its grad", lambda: v.grad)
            note(label + " mul_", lambda: v.mul_(2))
            for writer, change in {
                "base mul_ unrecorded": lambda: unrecorded(torch, lambda: b.mul_(2)),
                "base mul_": lambda: b.mul_(2),
                "base mul_ by tracked": lambda: b.mul_(x.to(b.dtype)),
                "view mul_ unrecorded": lambda: unrecorded(torch, lambda: v.mul_(2)),
            }.items():
                v, b = fresh()
                note(f"{label}, {writer}", lambda change=change: change() is None)
                note("view", lambda: flags(v))
                note("view", lambda: v.requires_grad)
                note("view", lambda: history(v))
                note("used", lambda: history(v * 2))
                note("written", lambda: v.add_(1))
                note("viewed unrecorded", lambda: flags(unrecorded(torch, lambda: v[:1])))
                note("viewed", lambda: flags(v[:1]))
                note("printed", lambda: v)


def unrecorded(torch, function):
    with torch.no_grad():
        return function()


def histories_that_moved_on(torch, note):
    x = leaf(torch, 1, 2)

    def fresh():
        b = torch.ones(3)
        v = b[:2]
        b[1:].mul_(x)
        return v, b

    v, b = fresh()
    note("asked", lambda: (v.requires_grad, v.retains_grad, v.is_leaf, history(v)))
    v, b = fresh()
    note("requires_grad_(False) of what looks like a leaf", lambda: v.requires_grad_(False) is v)
    v, b = fresh()
    note("retain_grad of what looks like a leaf", lambda: (v.retain_grad(), v.retains_grad))
    v.grad_fn  # noqa: B018 - now it has been looked at
    note("retain_grad", lambda: (v.retain_grad(), v.retains_grad, (v * 2).sum().backward(), v.grad))
    v, b = fresh()
    note("write", lambda: v.add_(1))
    b = torch.ones(3)
    v = b[:2]
    b.requires_grad_()
    note("base made a leaf", lambda: (flags(v), history(v), history(v * 2)))
    note("write", lambda: v.add_(1))
    unrecorded(torch, lambda: b.add_(1))
    note("after a write", lambda: (flags(v), history(v), history(v * 2)))
    b = torch.ones(3)
    v = b[:2].requires_grad_()
    y = v * 2
    note("a view that is a leaf", lambda: (b.requires_grad, history(y), y.sum().backward(), v.grad))
    b[1:].mul_(x)
    note("its base gets a history", lambda: (flags(v), history(v), history(b)))
    v = torch.ones(3)[:2].requires_grad_()
    y = v * 3
    v.requires_grad_(False)
    note("no longer a leaf that requires grad", lambda: (y.sum().backward(), v.grad))
    x = leaf(torch, 1, 2)
    y = x * 3
    x.requires_grad_(False)
    note("the same without views", lambda: (y.sum().backward(), x.grad))
    x = leaf(torch, 1, 2)
    h = x * 2
    h.retain_grad()
    h[0] = 5
    h.sum().backward()
    note("retained over a write", lambda: (h.grad, x.grad))


def shapes_in_place(torch, note):
    x = leaf(torch, 1, 2, 3, 4, 5, 6)

    def gradient(y):
        weights = torch.arange(1.0, y.numel() + 1).view(y.shape)
        return torch.autograd.grad((y * weights).sum(), x, retain_graph=True, allow_unused=True)

    makes = {
        "leaf": lambda: leaf(torch, 1, 2, 3, 4, 5, 6).detach().view(2, 3).clone().requires_grad_(),
        "tracked": lambda: (x * 2).view(2, 3).clone(),
        "plain": lambda: torch.arange(6.0).view(2, 3).clone(),
        "integers": lambda: torch.arange(6).view(2, 3).clone(),
        "row": lambda: (x * 2).view(1, 6).clone(),
    }
    views = {
        "itself": lambda b: b,
        "columns": lambda b: b[:, 1:],
        "whole": lambda b: b.view(b.shape),
        "unbind": lambda b: b.unbind()[0],
        "t": lambda b: b.t(),
        "detach": lambda b: b.detach(),
    }
    changes = {
        "unsqueeze_(0)": lambda v: v.unsqueeze_(0),
        "unsqueeze_(-1)": lambda v: v.unsqueeze_(-1),
        "squeeze_()": lambda v: v.squeeze_(),
        "squeeze_(0)": lambda v: v.squeeze_(0),
        "squeeze_((0, 1))": lambda v: v.squeeze_((0, 1)),
        "t_": lambda v: v.t_(),
        "transpose_": lambda v: v.transpose_(0, 1),
        "swapaxes_": lambda v: v.swapaxes_(0, -1),
        "swapdims_": lambda v: v.swapdims_(0, 1),
        "as_strided_": lambda v: v.as_strided_((2,), (2,)),
        "as_strided_ with offset": lambda v: v.as_strided_((2, 2), (1, 2), 1),
    }
    for base_name, make in makes.items():
        for view_name, view in views.items():
            for name, change in changes.items():
                label = f"{view_name} of {base_name} {name}"
                b = make()
                v = view(b)
                w = v.view_as(v)
                note(label, lambda change=change, v=v: change(v) is v)
                note("geometry", lambda v=v: (v.shape, v.stride(), v.storage_offset(), v.detach().tolist()))
                note("histories", lambda v=v, b=b, w=w: [(flags(t), history(t)) for t in (v, b, w)])
                if v.is_floating_point():
                    note("gradients", lambda v=v, b=b: (gradient(v), gradient(b)))
                    note("written", lambda v=v, b=b: (v.mul_(3) is v, flags(v), history(v), history(b)))
                    note("gradients", lambda v=v, b=b: (gradient(v), gradient(b)))
                b = make()
                v = view(b)
                note("unrecorded", lambda change=change, v=v: unrecorded(torch, lambda: change(v)) is v)
                note(
                    "geometry",
                    lambda v=v, b=b: (v.shape, v.stride(), flags(v), v._base is b, history(v), history(v * 2)),
                )
    note("too many dimensions", lambda: torch.ones(1, 1, 1).t_())
    note("no such dimension", lambda: torch.ones(2, 2).transpose_(0, 1) is None)


def other_memory(torch, note):
    x = leaf(torch, 1, 2, 3)
    changes = {
        "resize_": lambda v: v.resize_(2, 3),
        "resize_(0)": lambda v: v.resize_(0),
        "resize_as_": lambda v: v.resize_as_(torch.ones(3)),
        "set_ to a tensor": lambda v: v.set_(torch.ones(2, 2, dtype=v.dtype)),
        "set_ to nothing": lambda v: v.set_(),
        "set_ to a storage": lambda v: v.set_(torch.ones(8, dtype=v.dtype).untyped_storage()),
        "set_ to a window": lambda v: v.set_(torch.arange(8).to(v.dtype).untyped_storage(), 1, (2, 2), (2, 1)),
        "set_ to a window of a tensor": lambda v: v.set_(torch.arange(8).to(v.dtype), 1, (2, 2)),
        "set_ to itself": lambda v: v.set_(v),
        "set_ to tracked": lambda v: v.set_(x.to(v.dtype)),
        "set_ to another dtype": lambda v: v.set_(torch.ones(2, dtype=torch.float16)),
        "set_ to text": lambda v: v.set_("a"),
        "data": lambda v: setattr(v, "data", torch.ones(2, 2, dtype=v.dtype)),
        "data of another dtype": lambda v: setattr(v, "data", torch.ones(2, dtype=torch.int64)),
        "data None": lambda v: setattr(v, "data", None),
        "data tracked": lambda v: setattr(v, "data", x * 2),
        "grad": lambda v: setattr(v, "grad", torch.ones(6)),
        "grad too short": lambda v: setattr(v, "grad", torch.ones(5)),
        "grad of another dtype": lambda v: setattr(v, "grad", torch.ones(6, dtype=torch.float16)),
        "grad itself": lambda v: setattr(v, "grad", v),
        "grad deleted": lambda v: delattr(v, "grad"),
    }
    makes = {
        **bases(torch),
        "view of plain": lambda: torch.arange(8.0)[1:7],
        "view of tracked": lambda: (leaf(torch, *range(8)) * 2)[1:7],
        "detached view": lambda: (leaf(torch, *range(8)) * 2)[1:7].detach(),
        "unrecorded view": lambda: unrecorded(torch, lambda: leaf(torch, *range(8))[1:7]),
    }
    for base_name, make in makes.items():
        for name, change in changes.items():
            for mode in (torch.enable_grad, torch.no_grad):
                label = f"{name} of {base_name} under {mode.__name__}"
                v = make()
                b = v._base

                def run(change=change, mode=mode, v=v):
                    with mode():
                        return change(v) is v

                note(label, run)
                note("geometry", lambda v=v: (v.shape, v.stride(), v.storage_offset(), v.dtype, flags(v)))
                note("histories", lambda v=v: history(v))
                note("values", lambda v=v: v.detach().tolist())
                note("base", lambda b=b: b is None or flags(b))
                note("grad", lambda v=v: v.grad)
    y = x * 2
    y.set_(torch.ones(2))
    note("backward through set_", lambda: y.sum().backward())
    a = torch.arange(6.0)
    others = [a.view(6), a[1:], torch.arange(6.0), a.view(2, 3), a.detach(), a.data, torch.arange(6.0).set_(a)]
    note("is_set_to", lambda: [a.is_set_to(other) for other in others])
    out = x.clone()
    unrecorded(torch, lambda: x.set_(torch.ones(3)))
    note("a leaf in other memory", lambda: torch.autograd.grad(out.sum(), x))


def views_of_other_memory(torch, note):
    """Views that were given memory of their own, maybe more than their base has, before the base was written."""
    views = {
        "expand": lambda b: b.expand(2, 2, 3),
        "row": lambda b: b[1],
        "transposed": lambda b: b.t(),
        "unrecorded": lambda b: unrecorded(torch, lambda: b[:1]),
        "parts": lambda b: b.unbind()[0],
        "all": lambda b: b[:],
    }
    memories = {
        "twice": lambda v: v * 2,
        "contiguous": lambda v: v.clone(memory_format=torch.contiguous_format),
        "gaps": lambda v: torch.arange(4.0 * v.numel()).reshape(-1, 2)[1:].as_strided(v.shape, v.stride()),
        "longer": lambda v: torch.arange(40.0)[3:],
        "empty": lambda v: v[..., :0],
    }
    writes = {
        "under no_grad": lambda b, v: unrecorded(torch, lambda: b.mul_(2)),
        "tracked": lambda b, v: b.mul_(b.detach()),
        "a detached view": lambda b, v: b.detach()[0].mul_(2),
    }
    for view_name, view in views.items():
        for memory_name, memory in memories.items():
            for write_name, write in writes.items():
                x = leaf(torch, 1, 2, 3, 4, 5, 6)
                b = x.reshape(2, 3).clone()
                v = view(b)
                v.data = memory(v.detach())
                label = f"{view_name} in {memory_name}, {write_name}"
                note(label, lambda b=b, v=v, write=write: write(b, v) is None)
                note("histories", lambda b=b, v=v: (history(b), history(v)))
                factor = torch.arange(1.0, 1 + v.numel()).reshape(v.shape)
                note("gradient", lambda v=v, x=x, f=factor: torch.autograd.grad((v * f).sum(), x, retain_graph=True))
                note("of the base", lambda b=b, x=x: torch.autograd.grad((b * b).sum(), x))


def written_views_run_once(torch, note):
    """What a write through a view recorded is there for one backward, unless it is told to keep the graph."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            ctx.mark_dirty(v)
            return v.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    writes = {
        "item": lambda b, x: b.__setitem__(0, x),
        "all": lambda b, x: b.__setitem__(..., x),
        "item of another dtype": lambda b, x: b.__setitem__(0, x.double()),
        "positions": lambda b, x: b.__setitem__([0, 1], x),
        "copy_": lambda b, x: b[0].copy_(x),
        "fill_": lambda b, x: b[0].fill_(x[0]),
        "add_": lambda b, x: b[0].add_(x),
        "mul_": lambda b, x: b[0].mul_(x),
        "mul_ by a number": lambda b, x: b.add_(x)[0].mul_(2),
        "zero_": lambda b, x: b.add_(x)[0].zero_(),
        "neg_": lambda b, x: b.add_(x)[0].neg_(),
        "exp_": lambda b, x: b.add_(x)[0].exp_(),
        "two": lambda b, x: (b[0].add_(x), b[1].zero_()),
        "custom": lambda b, x: Twice.apply(b.add_(x)[0]),
        "all of it": lambda b, x: b.add_(x),
    }
    ways = {
        "backward": lambda b, x: b.sum().backward(),
        "kept": lambda b, x: b.sum().backward(retain_graph=True),
        "grad": lambda b, x: torch.autograd.grad(b.sum(), x),
        "of a part": lambda b, x: b[1].sum().backward(),
        "of the written part": lambda b, x: b[0].sum().backward(),
        "created": lambda b, x: torch.autograd.grad(b.sum(), x, create_graph=True)[0].detach(),
    }
    for write_name, write in writes.items():
        for first in ways:
            for second in ("backward", "of the written part"):
                x = leaf(torch, 2)
                b = torch.ones(2, 1)
                write(b, x)
                note(f"{write_name}, {first}", lambda b=b, x=x, way=ways[first]: way(b, x))
                note(f"then {second}", lambda b=b, x=x, way=ways[second]: (way(b, x), x.grad))


def lazy_bits_that_moved_on(torch, note):
    ways = {
        "conj": lambda x: x.conj(),
        "conj of a row": lambda x: x[0].conj(),
        "row of conj": lambda x: x.conj()[0],
        "view of conj of a row": lambda x: x[0].conj().view(1, 2),
        "imag of conj of a row": lambda x: x[0].conj().imag,
        "parts": lambda x: torch.view_as_real(x),
        "parts of a transposed row": lambda x: torch.view_as_real(x.t()[1]),
        "row of parts": lambda x: torch.view_as_real(x)[1],
        "pairs of parts": lambda x: torch.view_as_complex(torch.view_as_real(x)),
        "pairs of parts of a row": lambda x: torch.view_as_complex(torch.view_as_real(x)[1:]),
        "conj of a transposed part": lambda x: x[:, :1].t().conj(),
    }
    for name, way in ways.items():
        for tracked in (True, False):
            x = torch.tensor([[1 + 2j, 2 - 1j], [3 + 1j, 4j]], dtype=torch.complex128, requires_grad=True)
            base = x * 1 if tracked else x
            view = way(base)
            with torch.enable_grad() if tracked else torch.no_grad():
                base.mul_(2)
            note(name, lambda view=view: (view.grad_fn.name(), view.is_conj(), view.is_neg()))
            note("gradient", lambda view=view, x=x: torch.autograd.grad(view.abs().sum(), x)[0] + 0)


STORIES = [
    lazy_bits_that_moved_on,
    written_views_run_once,
    recorded_views,
    unrecorded_views,
    histories_that_moved_on,
    shapes_in_place,
    other_memory,
    views_of_other_memory,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=False)
