"""The played backward: its steps are those of the engine, its numbers the real gradients, and it changes nothing."""

import json
import math

import numpy as np
import pytest
from subjects import Tower, small_network

import rushlight as rl
from rushlight.draw import backward, graph
from rushlight.draw.numbers import Summary, bytes_text
from rushlight.utils.checkpoint import checkpoint


def watched(loss):
    """What hooks on the nodes see during a real backward: (node, gradients in, gradients out) in order."""
    seen, nodes, waiting = [], set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in nodes or hasattr(node, "variable"):
            continue
        nodes.add(node)
        node.register_hook(
            lambda inputs, outputs, node=node: seen.append((node.name(), copies(outputs), copies(inputs)))
        )
        waiting += [each for each, _ in node.next_functions if each is not None]
    loss.backward(retain_graph=True)
    return list(seen)  # the hooks stay


def copies(gradients):
    """A gradient may become a leaf's grad, which later calls add to."""
    return [None if each is None else each.clone() for each in gradients]


def numbers_of(gradient):
    return None if gradient is None else np.asarray(gradient.detach().numpy(), dtype=np.float64)


def check(summary, gradient):
    """A summary agrees with a gradient."""
    if gradient is None:
        assert summary is None
        return
    values = numbers_of(gradient)
    assert summary.shape == tuple(gradient.shape)
    assert summary.norm == pytest.approx(np.linalg.norm(values), rel=1e-6, abs=1e-12)
    assert (summary.lowest, summary.highest) == pytest.approx((values.min(), values.max()))
    shown = np.asarray(summary.values)
    assert shown == pytest.approx(values if summary.whole else values.reshape(-1)[:8])


@pytest.mark.parametrize("play", ["graph", "backward"])
def test_steps_are_what_hooks_see(play):
    rl.manual_seed(0)
    model = Tower()
    loss = model(rl.rand(3, 2)).square().mean()
    expected = watched(loss)
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    drawing = graph(loss, model, play=True) if play == "graph" else backward(loss, model)
    operations = [step for step in drawing.steps if step.kind == "operation"]
    assert len(operations) == len(expected) == len(drawing.model.operations)
    for step, (name, incoming, outgoing) in zip(operations, expected):
        assert drawing.model.operations[step.number].node_name == name
        for summary, gradient in zip(step.incoming, incoming, strict=True):
            check(summary, gradient)
        for summary, gradient in zip(step.outgoing, outgoing):
            check(summary, gradient)
    leaves = {drawing.model.leaves[step.number].name: step for step in drawing.steps if step.kind == "leaf"}
    assert set(leaves) == set(gradients)
    for name, gradient in gradients.items():
        check(leaves[name].incoming[0], gradient)
        check(next(leaf.gradient for leaf in drawing.model.leaves if leaf.name == name), gradient)


def expression(library):
    x = library.tensor([[0.1, 0.2, 0.3], [1.0, -2.0, 0.5]], dtype=library.float64, requires_grad=True)
    w = library.tensor([0.5, -0.25, 2.0], dtype=library.float64, requires_grad=True)
    return ((x * w).exp() + w).tanh().sum()


def test_steps_are_pytorchs():
    """The same nodes in the same order, with the same gradients, as hooks on PyTorch's nodes see."""
    torch = pytest.importorskip("torch")
    drawing = graph(expression(rl), play=True)
    operations = [step for step in drawing.steps if step.kind == "operation"]
    expected = watched(expression(torch))
    assert [drawing.model.operations[step.number].node_name for step in operations] == [name for name, _, _ in expected]
    for step, (_, incoming, outgoing) in zip(operations, expected):
        for summary, gradient in zip([*step.incoming, *step.outgoing], [*incoming, *outgoing], strict=True):
            check(summary, gradient)


def test_a_leaf_waits_for_all_its_contributions():
    w = rl.tensor([1.0, 2.0], requires_grad=True)
    drawing = graph((w * w + w).sum(), play=True)
    assert [(step.kind, drawing.model.operations[step.number].title if step.kind == "operation" else "w") for step in drawing.steps] == [
        ("operation", "Sum"), ("operation", "Add"), ("operation", "Mul"), ("leaf", "w")
    ]  # fmt: skip
    assert drawing.steps[-1].incoming[0].values == [3.0, 5.0]


def test_playing_changes_nothing():
    model, x, _, loss = small_network()
    model[0].bias.grad = rl.ones(3)
    graph(loss, play=True)
    graph(loss, play=True)  # nothing was freed
    assert model[0].bias.grad.tolist() == [1, 1, 1] and model[2].bias.grad is None and x.grad is None
    node = loss.grad_fn
    while node is not None and not hasattr(node, "variable"):
        assert node.hooks is None or not (node.hooks.before or node.hooks.after)
        node = node.next_functions[0][0]
    assert not x._backward_hooks
    loss.backward()
    assert model[2].bias.grad is not None


def test_backward_is_backward():
    model, x, _, loss = small_network()
    model[2].bias.grad = rl.ones(1)
    drawing = backward(loss, model)
    assert model[2].bias.grad.tolist() == [0.0]  # 1, and the gradient -1
    assert next(leaf for leaf in drawing.model.leaves if leaf.name == "2.bias").gradient.values == [-1.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        backward(loss, model)
    assert not x._backward_hooks


def test_an_error_takes_the_hooks_away():
    w = rl.ones(2, requires_grad=True)
    y = w.exp()
    loss = (y * y).sum()
    y.register_hook(lambda grad: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            graph(loss, play=True)
        assert not w._backward_hooks and not loss.grad_fn.hooks.before


def test_gradient_to_start_from():
    w = rl.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    assert graph(y, play=True, gradient=rl.tensor([1.0, 10.0])).steps[-1].incoming[0].values == [3.0, 30.0]
    drawing = graph([y, w.exp()], play=True, gradient=[rl.ones(2), rl.zeros(2)])
    assert drawing.steps[-1].incoming[0].values == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        graph(y, play=True)


def test_a_leaf_that_requires_no_grad_any_more():
    w = rl.ones(2, requires_grad=True)
    loss = (w * 3).sum()
    w.requires_grad_(False)
    assert [step.kind for step in graph(loss, play=True).steps] == ["operation", "operation"]


def test_what_the_limit_leaves_out_runs_too():
    w, v = rl.ones(2, requires_grad=True), rl.ones(2, requires_grad=True)
    z = w
    for _ in range(20):
        z = z * 0.5
    for _ in range(5):
        z = z + v
    drawing = graph(z.sum(), play=True, limit=4)
    assert drawing.model.left_out == 22
    assert [step.kind for step in drawing.steps] == ["operation"] * 4 + ["leaf"]
    assert drawing.steps[-1].incoming[0].values == [5, 5]  # two contributions come from what is not drawn
    drawing = graph((w * 2).exp().sum(), play=True, limit=1)
    assert len(drawing.steps) == 1 and drawing.steps[0].outgoing[0].values == [1, 1]


def test_second_derivatives_and_checkpoints_can_be_played():
    x = rl.tensor(2.0, requires_grad=True)
    (slope,) = rl.autograd.grad(x**3, x, create_graph=True)
    assert graph(slope, play=True).steps[-1].incoming[0].values == 12.0
    loss = checkpoint(lambda t: (t * x).exp(), x, use_reentrant=False)
    assert len(graph(loss, play=True).steps) == 3
    assert backward(checkpoint(lambda t: t * t, x, use_reentrant=True)).steps[-1].incoming[0].values == 4.0


def test_nan_in_the_steps_is_marked_and_stays_json():
    w = rl.tensor([0.0, 1.0], requires_grad=True)
    drawing = graph((w.sqrt() * 0 + w.log()).sum(), play=True)
    text = json.dumps(drawing.data(), allow_nan=False)
    (step,) = (step for step in json.loads(text)["steps"] if step["kind"] == "leaf")
    assert step["incoming"][0]["norm"] == "nan" and step["incoming"][0]["nan"] == 1
    assert step["incoming"][0]["values"] == ["nan", 1.5 - 0.5]
    assert 'class="rl-gradient rl-bad"' in drawing.svg()


def test_outputs_that_no_gradient_reaches():
    x = rl.ones(4, requires_grad=True)
    low, _ = x.exp().split(2)
    drawing = graph(low.sum(), play=True)
    (step,) = (step for step in drawing.steps if step.kind == "operation" and len(step.incoming) == 2)
    assert step.incoming[0].values == [1, 1] and step.incoming[1] is None


def test_summary_of_odd_tensors():
    assert Summary(rl.zeros(0, 3)).data()["lowest"] is None
    assert Summary(rl.tensor(2.5)).values == 2.5
    assert Summary(rl.ones(100)).values == [1] * 8 and not Summary(rl.ones(100)).whole
    found = Summary(rl.tensor([3 + 4j]))
    assert found.norm == pytest.approx(5) and json.loads(json.dumps(found.data()))["values"] == ["(3+4j)"]
    assert math.isinf(Summary(rl.tensor([math.inf, 1])).norm) and str(Summary(rl.tensor([math.inf]))) == "∞"


@pytest.mark.parametrize(
    ("value", "shown"), [(-2.5, "-2.5"), ([[-3.0]], "-3"), ([-math.inf], "-∞"), ([-3.0, 4.0], "5")]
)
def test_a_single_number_is_shown_with_its_sign(value, shown):
    summary = Summary(rl.tensor(value))
    assert str(summary) == summary.data()["text"] == shown
    assert summary.described == (shown if summary.single else f"norm {shown}")
    assert Summary(rl.tensor([1.5], dtype=rl.bfloat16)).values == [1.5]


@pytest.mark.parametrize("count, text", [(0, "0 B"), (999, "999 B"), (1234, "1.2 kB"), (99_400, "99.4 kB"), (123_456, "123 kB"),
                                         (999_600, "1.0 MB"), (5_500_000_000, "5.5 GB")])  # fmt: skip
def test_bytes(count, text):
    assert bytes_text(count) == text
