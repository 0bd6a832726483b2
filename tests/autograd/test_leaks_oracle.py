"""What is freed without the cycle collector: graphs with hooks, saved outputs, custom Functions and checkpoints."""

import contextlib
import gc
import threading
import warnings
import weakref

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


def leaf(torch, *v, **o):
    return torch.tensor(v if len(v) > 1 else v[0], requires_grad=True, **o)


class Big:
    pass


def leaks(torch, note):
    Fn = torch.autograd.Function

    def run(name, build):
        note(name, [reference() is not None for reference in build()])

    W = weakref.ref

    def graph():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        z = (y * y).sigmoid()
        return [W(x), W(y), W(z)]

    run("plain", graph)

    def back():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        z = (y * y).sigmoid().sum()
        z.backward()
        return [W(x), W(y), W(z), W(x.grad)]

    run("backward", back)

    def retained():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        y.retain_grad()
        z = (y * y).sigmoid().sum()
        z.backward(retain_graph=True)
        return [W(x), W(y), W(z), W(y.grad)]

    run("retain", retained)

    def hook_self():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        y.register_hook(lambda g: y)
        return [W(x), W(y)]

    run("hook closing over its tensor", hook_self)

    def hook_leaf_self():
        x = leaf(torch, 1.0, 2.0)
        x.register_hook(lambda g: (x, None)[1])
        return [W(x)]

    run("leaf hook closing over its leaf", hook_leaf_self)

    def hook_input():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        y.register_hook(lambda g: (x, None)[1])
        return [W(x), W(y)]

    run("hook closing over input", hook_input)

    def post():
        x = leaf(torch, 1.0, 2.0)
        x.register_post_accumulate_grad_hook(lambda t: (x, None)[1])
        (x * 2).sum().backward()
        return [W(x)]

    run("post hook self", post)

    def nodehook():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        y.grad_fn.register_hook(lambda i, o: (y, None)[1])
        return [W(x), W(y)]

    run("node hook closing over output", nodehook)

    def nodehook2():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        b = Big()
        y.grad_fn.register_hook(lambda i, o: (b, None)[1])
        return [W(x), W(y), W(b)]

    run("node hook closing over object", nodehook2)

    def prehook():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        b = Big()
        y.grad_fn.register_prehook(lambda o: (b, None)[1])
        return [W(x), W(y), W(b)]

    run("node prehook", prehook)

    def attr():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        y.me = y
        return [W(x), W(y)]

    run("attribute cycle", attr)

    def metadata():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        b = Big()
        y.grad_fn.metadata["b"] = b
        return [W(x), W(y), W(b)]

    run("metadata", metadata)

    def metadata2():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        y.grad_fn.metadata["y"] = y
        return [W(x), W(y)]

    run("metadata cycle", metadata2)

    class Save(Fn):
        @staticmethod
        def forward(ctx, a, what, keep):
            out = a * 2
            if what == "in":
                ctx.save_for_backward(a)
            elif what == "out":
                ctx.save_for_backward(out)
            elif what == "inter":
                ctx.save_for_backward(a * 3)
            elif what == "attr out":
                ctx.out = out
            elif what == "attr in":
                ctx.a = a
            ctx.b = keep
            return out

        @staticmethod
        def backward(ctx, g):
            return (g, None, None)

    for what in ("in", "out", "inter", "attr out", "attr in", "none"):

        def fn():
            x = leaf(torch, 1.0, 2.0)
            b = Big()
            y = Save.apply(x, what, b)
            return [W(x), W(y), W(b)]

        run(f"function {what}", fn)

        def fn():
            x = leaf(torch, 1.0, 2.0)
            b = Big()
            y = Save.apply(x, what, b)
            y.sum().backward()
            return [W(x), W(y), W(b)]

        run(f"function {what} backward", fn)

        def fn():
            x = leaf(torch, 1.0, 2.0)
            b = Big()
            y = Save.apply(x, what, b)
            g = y.grad_fn
            return [W(x), W(y), W(b)]

        run(f"function {what} grad_fn", fn)

    class Dirty(Fn):
        @staticmethod
        def forward(ctx, a):
            ctx.mark_dirty(a)
            a.mul_(2)
            ctx.save_for_backward(a)
            return a

        @staticmethod
        def backward(ctx, g):
            return g

    def dirty():
        x = leaf(torch, 1.0, 2.0)
        y = x * 1
        z = Dirty.apply(y)
        return [W(x), W(y), W(z)]

    run("dirty saved", dirty)

    def dirtyview():
        x = leaf(torch, 1.0, 2.0)
        y = x * 1
        z = Dirty.apply(y[:1])
        return [W(x), W(y), W(z)]

    run("dirty view", dirtyview)

    def inplace():
        x = leaf(torch, 1.0, 2.0)
        y = x * 1
        y.exp_()
        return [W(x), W(y)]

    run("in place saved result", inplace)

    def inview():
        x = leaf(torch, 1.0, 2.0)
        y = x * 1
        v = y[:1]
        v.exp_()
        w = y * y
        return [W(x), W(y), W(v), W(w)]

    run("in place on view", inview)

    def leafview():
        x = leaf(torch, 1.0, 2.0)
        with torch.no_grad():
            v = x[:1]
            v.mul_(2)
        return [W(x), W(v)]

    run("view of leaf", leafview)

    def create():
        x = leaf(torch, 1.0, 2.0)
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return [W(x), W(y), W(g)]

    run("create_graph", create)

    def createb():
        x = leaf(torch, 1.0, 2.0)
        y = (x**3).sum()
        y.backward(create_graph=True)
        return [W(x), W(y), W(x.grad)]

    run("backward create_graph", createb)

    def multi():
        x = leaf(torch, 1.0, 2.0)
        y = leaf(torch, 1.0, 2.0)
        b = Big()
        h = torch.autograd.graph.register_multi_grad_hook((x, y), lambda g: (b, None)[1])
        (x * y).sum().backward()
        return [W(x), W(y), W(b)]

    run("multi", multi)

    def sth():
        x = leaf(torch, 1.0, 2.0)
        b = Big()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (t, b), lambda p: p[0]):
            y = x.exp()
            z = y * y
        return [W(x), W(y), W(z), W(b)]

    run("saved hooks", sth)

    def sth2():
        x = leaf(torch, 1.0, 2.0)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p):
            y = x.exp()
            z = y * y
            z.sum().backward()
        return [W(x), W(y), W(z)]

    run("saved hooks backward", sth2)

    def raw():
        x = leaf(torch, 1.0, 2.0)
        y = x.exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
        return [W(x), W(y)]

    run("raw hooks", raw)

    def acc():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        a = y.grad_fn.next_functions[0][0]
        a.register_hook(lambda i, o: None)
        del y
        return [W(x)]

    run("accumulator hook", acc)

    def acc2():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        a = y.grad_fn.next_functions[0][0]
        a.register_hook(lambda i, o: (x, None)[1])
        del y
        return [W(x)]

    run("accumulator hook self", acc2)

    def mod():
        m = torch.nn.Linear(2, 2)
        b = Big()
        m.register_full_backward_hook(lambda mm, i, o: (b, None)[1])
        x = leaf(torch, 1.0, 2.0)
        y = m(x)
        y.sum().backward()
        return [W(m), W(b), W(x), W(y)]

    run("module hook", mod)

    def mod2():
        m = torch.nn.Linear(2, 2)
        m.register_full_backward_hook(lambda mm, i, o: (m, None)[1])
        x = leaf(torch, 1.0, 2.0)
        y = m(x)
        return [W(m), W(x), W(y)]

    run("module hook self", mod2)

    def mod3():
        m = torch.nn.Linear(2, 2)
        m.register_forward_hook(lambda mm, i, o: None)
        x = leaf(torch, 1.0, 2.0)
        y = m(x)
        return [W(m), W(x), W(y)]

    run("module forward hook", mod3)
    from importlib import import_module

    ck = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    for r in (True, False):

        def ckp():
            x = leaf(torch, 1.0, 2.0)
            b = Big()
            y = ck(lambda a: (b, a.sin().exp())[1], x, use_reentrant=r)
            return [W(x), W(y), W(b)]

        run(f"checkpoint {r}", ckp)

        def ckp():
            x = leaf(torch, 1.0, 2.0)
            b = Big()
            y = ck(lambda a: (b, a.sin().exp())[1], x, use_reentrant=r)
            y.sum().backward()
            return [W(x), W(y), W(b), W(x.grad)]

        run(f"checkpoint backward {r}", ckp)

    def err():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        b = Big()

        def boom(g):
            c = b
            raise ValueError("boom")

        y.register_hook(boom)
        with contextlib.suppress(ValueError):
            y.sum().backward()
        return [W(x), W(y), W(b)]

    run("hook raised", err)

    def once():

        class Once(Fn):
            @staticmethod
            def forward(ctx, a):
                ctx.save_for_backward(a)
                return a * 2

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                return g * 2

        x = leaf(torch, 1.0, 2.0)
        y = Once.apply(x)
        (g,) = torch.autograd.grad(y, x, torch.ones(2, requires_grad=True), create_graph=True)
        return [W(x), W(y), W(g)]

    run("once", once)

    def edge():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        e = torch.autograd.graph.get_gradient_edge(y)
        b = W(e.node) if hasattr(e.node, "__weakref__") else W(y)
        return [W(x), W(y)]

    run("edge", edge)

    def sethook():
        x = leaf(torch, 1.0, 2.0)
        h = x.register_hook(lambda g: None)
        return [W(x)]

    run("handle", sethook)

    def detect():
        x = leaf(torch, 1.0, 2.0)
        with torch.autograd.set_detect_anomaly(True):
            y = x.exp()
            z = (y * y).sum()
            z.backward()
        return [W(x), W(y), W(z)]

    run("anomaly", detect)

    def jac():
        x = leaf(torch, 1.0, 2.0)
        b = Big()
        r = torch.autograd.functional.jacobian(lambda a: (b, a**2)[1], x)
        return [W(x), W(b), W(r)]

    run("jacobian", jac)

    def gc_():
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        torch.autograd.gradcheck(lambda a: a**2, (x,))
        return [W(x)]

    run("gradcheck", gc_)

    def thread():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        t = threading.Thread(target=lambda: y.sum().backward())
        t.start()
        t.join()
        return [W(x), W(y)]

    run("thread", thread)


def test_what_pytorch_frees_is_freed():
    """Without the cycle collector, nothing lives longer than in PyTorch."""
    alive = {rl: {}, torch: {}}
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for library, notes in alive.items():
                leaks(library, notes.__setitem__)
    finally:
        gc.enable()
    assert alive[rl].keys() == alive[torch].keys() and len(alive[rl]) > 50
    longer = [
        name
        for name, theirs in alive[torch].items()
        if any(ours and not freed for ours, freed in zip(alive[rl][name], theirs))
    ]
    assert not longer
