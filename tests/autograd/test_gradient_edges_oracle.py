"""Gradient edges, and hooks on several tensors, against PyTorch."""

import gc

import pytest
from stories import assert_same_story, function_class, leaf

torch = pytest.importorskip("torch")


def gradient_edges(torch, note):
    G = torch.autograd.graph
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    e, ey, ez = (G.get_gradient_edge(x), G.get_gradient_edge(y), G.get_gradient_edge(z))
    note("fields", lambda: (e._fields, e.output_nr, ey.output_nr, type(e.node), e.ownership_token))
    note("grad in", lambda: torch.autograd.grad(z, e, retain_graph=True))
    note("grad in list", lambda: torch.autograd.grad(z, [e, ey, x, y], retain_graph=True))
    note("grad out", lambda: torch.autograd.grad(ez, x, retain_graph=True))
    note("grad out y", lambda: torch.autograd.grad(ey, x, retain_graph=True))
    note("grad out y given", lambda: torch.autograd.grad(ey, x, torch.ones(2), retain_graph=True))
    note("shape", lambda: torch.autograd.grad(ey, x, torch.ones(3), retain_graph=True))
    note("complex", lambda: torch.autograd.grad(ey, x, torch.ones(2).cfloat(), retain_graph=True))
    note("double", lambda: torch.autograd.grad(ey, x, torch.ones(2).double(), retain_graph=True))
    note("backward", lambda: (torch.autograd.backward(ez, retain_graph=True), x.grad))
    note("backward inputs", lambda: (torch.autograd.backward(z, inputs=[e], retain_graph=True), x.grad))
    note("backward inputs y", lambda: (torch.autograd.backward(z, inputs=[ey], retain_graph=True), x.grad))
    note("tuple", lambda: torch.autograd.grad([ez, z], [e], retain_graph=True))
    note("out itself", lambda: torch.autograd.grad(ey, ey, torch.ones(2), retain_graph=True))
    note("no grad", lambda: G.get_gradient_edge(torch.ones(2)))
    note("plain tuple", lambda: torch.autograd.grad((z.grad_fn, 0), x, retain_graph=True))
    note("made", lambda: torch.autograd.grad(G.GradientEdge(y.grad_fn, 0), x, torch.ones(2), retain_graph=True))
    b = x.unbind()[1]
    eb = G.get_gradient_edge(b)
    note(
        "unbind",
        lambda: (
            eb.output_nr,
            torch.autograd.grad(b * 3, eb, retain_graph=True),
            torch.autograd.grad(eb, x, retain_graph=True),
        ),
    )
    note("unused", lambda: torch.autograd.grad(z, eb, retain_graph=True))
    note("unused allow", lambda: torch.autograd.grad(z, eb, retain_graph=True, allow_unused=True))
    note("materialize", lambda: torch.autograd.grad(z, eb, retain_graph=True, materialize_grads=True))
    note("create", lambda: torch.autograd.grad(torch.autograd.grad(z, ey, create_graph=True)[0].sum(), x))
    A = function_class(torch, lambda ctx, p: p * 2, lambda ctx, g: g * 3)
    f = A.apply(x)
    ef = G.get_gradient_edge(f)
    del f
    gc.collect()
    note("function kept", lambda: torch.autograd.grad(ef, x, torch.ones(2)))
    note(
        "node of",
        lambda: (type(y.grad_fn.next_functions[0][0]) is type(e.node), y.grad_fn.next_functions[0][0] is e.node),
    )
    note("nodes", lambda: z.grad_fn.next_functions[0][0].next_functions[0][0] is y.grad_fn)


def several_tensors(torch, note):
    G = torch.autograd.graph
    log = []
    a, b, c = (leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), leaf(torch, 5.0, 6.0))
    d = a * b
    h = G.register_multi_grad_hook((a, b, c, d), lambda gs: log.append(("all", gs)))
    d.sum().backward()
    note("some", lambda: log)
    log.clear()
    (a * b * c).sum().backward()
    note("others", lambda: log)
    log.clear()
    h.remove()
    (a * b).sum().backward()
    note("removed", lambda: log)
    h = G.register_multi_grad_hook((a, b, c), lambda g: log.append(("any", g)), mode="any")
    (a * b).sum().backward()
    note("any", lambda: log)
    log.clear()
    h.remove()
    note("mode", lambda: G.register_multi_grad_hook((a,), print, mode="x"))
    note("no grad", lambda: G.register_multi_grad_hook((torch.ones(2),), print))
    note("no grad any", lambda: G.register_multi_grad_hook((torch.ones(2),), print, mode="any").handles)

    def boom(*x):
        raise ValueError("boom")

    h = G.register_multi_grad_hook((a, b), boom)
    note("raises", lambda: (a * b).sum().backward())
    h.remove()
    h = G.register_multi_grad_hook((a, b), lambda gs: (torch.ones(2), torch.ones(2)))
    a.grad = None
    note("returns", lambda: ((a * b).sum().backward(), a.grad))
    h.remove()
    h = G.register_multi_grad_hook((a, a), lambda gs: log.append(gs))
    (a * b).sum().backward()
    note("same twice", lambda: log)
    log.clear()
    h.remove()
    h = G.register_multi_grad_hook((), lambda gs: log.append(gs))
    (a * b).sum().backward()
    note("none", lambda: log)
    log.clear()
    x = leaf(torch, 1.0, 2.0, 3.0)
    p, q, r = x.unbind()
    h = G.register_multi_grad_hook((p, q, r), lambda gs: log.append(gs))
    (p * q).backward()
    note("unbind", lambda: log)
    log.clear()

    def nested(gs):
        log.append(gs)
        if len(log) == 1:
            with torch.enable_grad():
                (a * b).sum().backward()

    h = G.register_multi_grad_hook((a, b), nested)
    (a * b).sum().backward()
    note("nested", lambda: log)
    log.clear()


STORIES = [gradient_edges, several_tensors]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
