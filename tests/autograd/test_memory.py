"""Deep graphs, and memory: what backward no longer needs is gone without the cycle collector."""

import gc
import tracemalloc
import weakref

import pytest

import rushlight as rl
from rushlight.optim import bundle


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_deep_graph_runs_and_is_freed():
    x = rl.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = (y * 1.0).neg()
    last = weakref.ref(y.grad_fn)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    assert last() is None


def test_an_unused_deep_graph_is_freed(no_collector):
    x = rl.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y.sin()
    first = weakref.ref(y.grad_fn)
    del y
    assert first() is None


def test_a_deep_chain_of_views_and_writes_is_freed(no_collector):
    x = rl.ones(4, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y[1:].mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4
    last = weakref.ref(y.grad_fn)
    del y
    assert last() is None


def train(steps):
    model = rl.nn.Sequential(rl.nn.Linear(4, 8), rl.nn.ReLU(), rl.nn.Linear(8, 2))
    optimizer = rl.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    data, target = rl.ones(5, 4), rl.tensor([0, 1, 0, 1, 0])

    def step():
        optimizer.zero_grad()
        loss = rl.nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()

    for _ in range(400):  # NumPy keeps some freed memory at hand: let that settle
        step()
    before = measure()
    for _ in range(steps):
        step()
    return before, measure()


def measure():
    return len(gc.get_objects()), tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("steps", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_training_leaves_memory_flat(no_collector, steps, monkeypatch):
    monkeypatch.setattr(bundle, "WARM", 100)  # the optimizer's kernel is loaded before the first look at the memory
    tracemalloc.start()
    try:
        (objects, memory), (objects_after, memory_after) = train(steps)
    finally:
        tracemalloc.stop()
    assert objects_after - objects < 50
    assert memory_after - memory < 100_000


def exp_class():
    class Exp(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(x, result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1]

    return Exp


USES = {
    "function": lambda x: exp_class().apply(x),
    "unary": lambda x: x.exp(),
    "softmax": lambda x: x.softmax(0),
    "view": lambda x: x[1:].view(-1),
    "write": lambda x: (x * 1).mul_(2),
    "view write": lambda x: written(x * 1),
    "several outputs": lambda x: x.max(0).values,
    "unbind": lambda x: x.unbind()[0],
    "hook": lambda x: hooked(x * 2),
    "retain": lambda x: retained(x * 2),
    "saved hooks": lambda x: packed(x),
    "checkpoint": lambda x: rl.utils.checkpoint.checkpoint(lambda v: v.sin().exp(), x, use_reentrant=False),
    "double backward": lambda x: rl.autograd.grad(x.exp().sum(), x, create_graph=True)[0],
}


def written(y):
    y[1:].mul_(3)
    return y


def hooked(y):
    y.register_hook(lambda grad: grad * 2)
    return y


def retained(y):
    y.retain_grad()
    return y


def packed(x):
    with rl.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), rl.from_numpy):
        return x.exp()


@pytest.mark.parametrize("run_backward", [False, True], ids=["dropped", "run"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_graphs_hold_no_cycles(no_collector, use, run_backward):
    x = rl.ones(3, requires_grad=True)
    use(x)  # classes, parsed schemas and plans are made on first use
    y = use(x)
    node = weakref.ref(y.grad_fn)
    if run_backward:
        y.sum().backward()
    del y
    assert node() is None


def test_freed_graphs_let_go_of_what_they_saved(no_collector):
    x = rl.ones(3, requires_grad=True)
    middle = x.sin()
    saved = weakref.ref(middle._array)
    loss = middle.exp().cos().sum()
    del middle
    loss.backward()
    del loss
    assert saved() is None
