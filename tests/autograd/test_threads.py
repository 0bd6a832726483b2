"""Backward from several threads at once: shared leaves, shared graphs, modes and hooks of each thread."""

import sys
import threading

import pytest

import rushlight as torch
from rushlight.autograd import engine
from rushlight.tensor.base import quiet


def in_threads(work, count=4):
    """Call ``work(number)`` in ``count`` threads at once; raise what the first of them raised."""
    start, errors = threading.Barrier(count), []

    def run(number):
        start.wait()
        try:
            work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def restless():
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("size, count, rounds", [(1, 200, 3), (100_000, 2, 25)])
@pytest.mark.usefixtures("restless")
def test_gradients_of_all_threads_arrive_at_shared_leaves(size, count, rounds):
    leaves = [torch.zeros(size, requires_grad=True) for _ in range(count)]

    def work(number):
        for _ in range(rounds):
            sum((leaf * (number + 1)).sum() for leaf in leaves).backward()

    in_threads(work)
    for leaf in leaves:
        assert torch.equal(leaf.grad, torch.full((size,), rounds * 10.0))


def test_one_thread_at_a_time_writes_a_gradient(monkeypatch):
    leaf, taken = torch.ones(3, requires_grad=True), []
    copied = engine.functions.copied_gradient

    def watched(variable, grad):
        taken.append(engine.accumulating.acquire(blocking=False))
        return copied(variable, grad)

    def in_another_thread(variable, grad):
        found = []
        thread = threading.Thread(target=lambda: found.append(watched(variable, grad)))
        thread.start()
        thread.join()
        return found[0]

    monkeypatch.setattr(engine.functions, "copied_gradient", in_another_thread)
    in_threads(lambda number: leaf.sum().backward(), count=1)
    assert taken == [False]
    assert leaf.grad.tolist() == [1.0, 1.0, 1.0]


def test_one_graph_is_walked_by_all_threads():
    leaf = torch.ones(1000, requires_grad=True)
    middle = (leaf * 2).sin()
    parts = [(middle * (number + 1)).sum() for number in range(4)]
    in_threads(lambda number: parts[number].backward(retain_graph=True))
    expected = torch.full((1000,), 2.0 * 10) * torch.cos(torch.tensor(2.0))
    assert torch.allclose(leaf.grad, expected)


def test_numpy_computes_large_operands_quietly_in_every_thread_at_once():
    large = torch.full((300_000,), 1000.0)
    found = []
    work = threading.Thread(target=lambda: found.append((large.exp(), torch.nn.functional.softplus(large))))
    quiet().run(lambda: [work.start(), work.join()])  # this thread is inside a quiet context all the while
    assert found[0][0].isinf().all() and (found[0][1] == 1000).all()


def test_gradients_are_returned_to_the_thread_that_asked():
    leaf = torch.ones(3, requires_grad=True)
    root = (leaf * leaf).sum()
    found = [None] * 4

    def work(number):
        for _ in range(25):
            found[number] = torch.autograd.grad(root, leaf, torch.tensor(float(number)), retain_graph=True)[0]

    in_threads(work)
    assert [grad[0].item() for grad in found] == [0.0, 2.0, 4.0, 6.0]
    assert leaf.grad is None


def test_hooks_run_in_the_thread_of_their_backward():
    leaf = torch.ones(2, requires_grad=True)
    seen = []
    leaf.register_hook(lambda grad: seen.append(threading.get_ident()))
    idents = [None] * 4

    def work(number):
        idents[number] = threading.get_ident()
        (leaf * 2).sum().backward()

    in_threads(work)
    assert sorted(seen) == sorted(idents)


def test_an_error_in_one_thread_leaves_the_others_alone():
    leaf = torch.ones(2, requires_grad=True)

    def refuse(grad):
        raise ValueError("boom")

    def work(number):
        result = leaf * 2
        if number == 0:
            result.register_hook(refuse)
        result.sum().backward()

    with pytest.raises(ValueError, match="boom"):
        in_threads(work)
    assert leaf.grad.tolist() == [6.0, 6.0]
    assert torch.is_grad_enabled()


def test_a_deep_backward_within_backward_keeps_the_modes_of_its_thread():
    depth, seen = 60, []

    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append((threading.get_ident(), torch.is_anomaly_enabled()))
            if ctx.level < depth:
                with torch.enable_grad():
                    Deeper.apply(torch.ones(1, requires_grad=True), ctx.level + 1).sum().backward()
            return grad, None

    with pytest.warns(UserWarning, match="Anomaly Detection"):
        mode = torch.autograd.detect_anomaly()
    with mode:
        Deeper.apply(torch.ones(1, requires_grad=True), 1).sum().backward()
    assert len(seen) == depth
    assert {anomaly for _, anomaly in seen} == {True}
    assert len({thread for thread, _ in seen}) > 1


def test_an_error_comes_up_through_all_levels_of_backward_within_backward():
    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.level == 40:
                raise ValueError("the deepest")
            with torch.enable_grad():
                Deeper.apply(torch.ones(1, requires_grad=True), ctx.level + 1).sum().backward()
            return grad, None

    with pytest.raises(ValueError, match="the deepest"):
        Deeper.apply(torch.ones(1, requires_grad=True), 1).sum().backward()
    assert torch.is_grad_enabled()
