"""What is freed without the cycle collector: graphs with hooks, saved outputs, custom Functions and checkpoints."""

import contextlib
import functools
import gc
import threading
import warnings
from importlib import import_module
from weakref import ref

import pytest
from stories import leaf

import rushlight as rl

torch = pytest.importorskip("torch")
CASES = {}  # name -> a function of a library that makes objects, and returns weak references to them


def case(name, *arguments):
    """Put the decorated function among the cases: it gets the library and these arguments."""

    def register(build):
        CASES[name] = lambda torch: build(torch, *arguments)
        return build

    return register


class Big:
    """Something that a hook or a node may hold."""


@case("plain")
def plain_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    z = (y * y).sigmoid()
    return [ref(x), ref(y), ref(z)]


@case("backward")
def after_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    z = (y * y).sigmoid().sum()
    z.backward()
    return [ref(x), ref(y), ref(z), ref(x.grad)]


@case("retain")
def retained_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    y.retain_grad()
    z = (y * y).sigmoid().sum()
    z.backward(retain_graph=True)
    return [ref(x), ref(y), ref(z), ref(y.grad)]


@case("hook closing over its tensor")
def hook_of_its_own_tensor(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: y)
    return [ref(x), ref(y)]


@case("leaf hook closing over its leaf")
def hook_of_its_own_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    x.register_hook(lambda g: (x, None)[1])
    return [ref(x)]


@case("hook closing over input")
def hook_of_an_input(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: (x, None)[1])
    return [ref(x), ref(y)]


@case("post hook self")
def post_hook_of_its_own_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda t: (x, None)[1])
    (x * 2).sum().backward()
    return [ref(x)]


@case("node hook closing over output")
def node_hook_of_its_output(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.grad_fn.register_hook(lambda i, o: (y, None)[1])
    return [ref(x), ref(y)]


@case("node hook closing over object")
def node_hook_of_an_object(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    b = Big()
    y.grad_fn.register_hook(lambda i, o: (b, None)[1])
    return [ref(x), ref(y), ref(b)]


@case("node prehook")
def node_prehook_of_an_object(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    b = Big()
    y.grad_fn.register_prehook(lambda o: (b, None)[1])
    return [ref(x), ref(y), ref(b)]


@case("attribute cycle")
def attribute_of_itself(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    y.me = y
    return [ref(x), ref(y)]


@case("metadata")
def metadata_of_an_object(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    b = Big()
    y.grad_fn.metadata["b"] = b
    return [ref(x), ref(y), ref(b)]


@case("metadata cycle")
def metadata_of_its_output(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    y.grad_fn.metadata["y"] = y
    return [ref(x), ref(y)]


@functools.cache
def saving(torch):
    """A Function that keeps what it is told to, and an object."""

    class Save(torch.autograd.Function):
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

    return Save


def function_that_keeps(torch, what):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    y = saving(torch).apply(x, what, b)
    return [ref(x), ref(y), ref(b)]


def function_that_kept(torch, what):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    y = saving(torch).apply(x, what, b)
    y.sum().backward()
    return [ref(x), ref(y), ref(b)]


def function_whose_node_is_held(torch, what):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    y = saving(torch).apply(x, what, b)
    held = y.grad_fn
    return [ref(x), ref(y), ref(b)]


for _what in ("in", "out", "inter", "attr out", "attr in", "none"):
    case(f"function {_what}", _what)(function_that_keeps)
    case(f"function {_what} backward", _what)(function_that_kept)
    case(f"function {_what} grad_fn", _what)(function_whose_node_is_held)


@functools.cache
def writing(torch):
    """A Function that writes into its input, and saves it."""

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.mark_dirty(a)
            a.mul_(2)
            ctx.save_for_backward(a)
            return a

        @staticmethod
        def backward(ctx, g):
            return g

    return Dirty


@case("dirty saved")
def written_and_saved(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    z = writing(torch).apply(y)
    return [ref(x), ref(y), ref(z)]


@case("dirty view")
def view_written_and_saved(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    z = writing(torch).apply(y[:1])
    return [ref(x), ref(y), ref(z)]


@case("in place saved result")
def result_saved_in_place(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    y.exp_()
    return [ref(x), ref(y)]


@case("in place on view")
def write_into_a_view(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    v = y[:1]
    v.exp_()
    w = y * y
    return [ref(x), ref(y), ref(v), ref(w)]


@case("view of leaf")
def write_into_a_view_of_a_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.no_grad():
        v = x[:1]
        v.mul_(2)
    return [ref(x), ref(v)]


@case("create_graph")
def gradient_with_a_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return [ref(x), ref(y), ref(g)]


@case("backward create_graph")
def backward_with_a_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x**3).sum()
    y.backward(create_graph=True)
    return [ref(x), ref(y), ref(x.grad)]


@case("multi")
def hook_on_several_tensors(torch):
    x = leaf(torch, 1.0, 2.0)
    y = leaf(torch, 1.0, 2.0)
    b = Big()
    h = torch.autograd.graph.register_multi_grad_hook((x, y), lambda g: (b, None)[1])
    (x * y).sum().backward()
    return [ref(x), ref(y), ref(b)]


@case("saved hooks")
def saved_tensors_hooks_of_an_object(torch):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t, b), lambda p: p[0]):
        y = x.exp()
        z = y * y
    return [ref(x), ref(y), ref(z), ref(b)]


@case("saved hooks backward")
def saved_tensors_hooks_after_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p):
        y = x.exp()
        z = y * y
        z.sum().backward()
    return [ref(x), ref(y), ref(z)]


@case("raw hooks")
def hooks_of_a_raw_saved_tensor(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    return [ref(x), ref(y)]


@case("accumulator hook")
def hook_of_an_accumulator(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    a = y.grad_fn.next_functions[0][0]
    a.register_hook(lambda i, o: None)
    del y
    return [ref(x)]


@case("accumulator hook self")
def accumulator_hook_of_its_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    a = y.grad_fn.next_functions[0][0]
    a.register_hook(lambda i, o: (x, None)[1])
    del y
    return [ref(x)]


@case("module hook")
def module_hook_of_an_object(torch):
    m = torch.nn.Linear(2, 2)
    b = Big()
    m.register_full_backward_hook(lambda mm, i, o: (b, None)[1])
    x = leaf(torch, 1.0, 2.0)
    y = m(x)
    y.sum().backward()
    return [ref(m), ref(b), ref(x), ref(y)]


@case("module hook self")
def module_hook_of_its_module(torch):
    m = torch.nn.Linear(2, 2)
    m.register_full_backward_hook(lambda mm, i, o: (m, None)[1])
    x = leaf(torch, 1.0, 2.0)
    y = m(x)
    return [ref(m), ref(x), ref(y)]


@case("module forward hook")
def module_forward_hook(torch):
    m = torch.nn.Linear(2, 2)
    m.register_forward_hook(lambda mm, i, o: None)
    x = leaf(torch, 1.0, 2.0)
    y = m(x)
    return [ref(m), ref(x), ref(y)]


def checkpointed(torch, reentrant):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    y = checkpoint(lambda a: (b, a.sin().exp())[1], x, use_reentrant=reentrant)
    return [ref(x), ref(y), ref(b)]


def checkpointed_after_backward(torch, reentrant):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    y = checkpoint(lambda a: (b, a.sin().exp())[1], x, use_reentrant=reentrant)
    y.sum().backward()
    return [ref(x), ref(y), ref(b), ref(x.grad)]


for _reentrant in (True, False):
    case(f"checkpoint {_reentrant}", _reentrant)(checkpointed)
    case(f"checkpoint backward {_reentrant}", _reentrant)(checkpointed_after_backward)


@case("hook raised")
def hook_that_raised(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    b = Big()

    def boom(g):
        c = b
        raise ValueError("boom")

    y.register_hook(boom)
    with contextlib.suppress(ValueError):
        y.sum().backward()
    return [ref(x), ref(y), ref(b)]


@case("once")
def function_differentiable_once(torch):

    class Once(torch.autograd.Function):
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
    return [ref(x), ref(y), ref(g)]


@case("edge")
def gradient_edge(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    e = torch.autograd.graph.get_gradient_edge(y)
    b = ref(e.node) if hasattr(e.node, "__weakref__") else ref(y)
    return [ref(x), ref(y)]


@case("handle")
def handle_of_a_hook(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x.register_hook(lambda g: None)
    return [ref(x)]


@case("anomaly")
def anomaly_mode(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        z = (y * y).sum()
        z.backward()
    return [ref(x), ref(y), ref(z)]


@case("jacobian")
def jacobian(torch):
    x = leaf(torch, 1.0, 2.0)
    b = Big()
    r = torch.autograd.functional.jacobian(lambda a: (b, a**2)[1], x)
    return [ref(x), ref(b), ref(r)]


@case("gradcheck")
def gradcheck(torch):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda a: a**2, (x,))
    return [ref(x)]


@case("thread")
def backward_in_a_thread(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    t = threading.Thread(target=lambda: y.sum().backward())
    t.start()
    t.join()
    return [ref(x), ref(y)]


def test_what_pytorch_frees_is_freed():
    """Without the cycle collector, nothing lives longer than in PyTorch."""
    alive = {rl: {}, torch: {}}
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for library, notes in alive.items():
                for name, build in CASES.items():
                    notes[name] = [reference() is not None for reference in build(library)]
    finally:
        gc.enable()
    assert alive[rl].keys() == alive[torch].keys() and len(alive[rl]) > 50
    longer = [
        name
        for name, theirs in alive[torch].items()
        if any(ours and not freed for ours, freed in zip(alive[rl][name], theirs))
    ]
    assert not longer
