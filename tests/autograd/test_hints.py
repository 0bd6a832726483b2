"""What our errors say below PyTorch's first line: what happened here, and the way out."""

import inspect
import re

import pytest

import rushlight as rl


def leaf(*values):
    return rl.tensor(values, requires_grad=True)


def message(kind=RuntimeError, match=""):
    return pytest.raises(kind, match=re.compile(match, re.DOTALL))


def test_backward_twice_names_the_call_that_freed_the_graph():
    loss = leaf(1.0, 2.0).exp().sum()
    loss.backward()
    line = inspect.currentframe().f_lineno - 1
    with message(match=rf"a second time.*hint: .*test_hints.py:{line}.*retain_graph=True"):
        loss.backward()


def test_grad_twice_names_the_call_that_freed_the_graph():
    x = leaf(1.0, 2.0)
    y = x.exp()
    rl.autograd.grad(y.sum(), x)
    line = inspect.currentframe().f_lineno - 1
    with message(match=f"test_hints.py:{line}"):
        y.sum().backward()
    with message(match=f"test_hints.py:{line}"):
        assert y.grad_fn._saved_result


def test_backward_of_many_elements_names_three_ways_out():
    with message(match=r"only for scalar outputs\nhint: .*\[2\].*sum\(\).*gradient=.*one element"):
        leaf(1.0, 2.0).exp().backward()


def test_backward_without_a_graph():
    with message(match=r"does not have a grad_fn\nhint: .*requires_grad_"):
        rl.ones(()).backward()


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda y: y.add_(1), "add_"),
        (lambda y: y[:1].mul_(2), "mul_"),
        (lambda y: y.__setitem__(0, 5.0), r"(copy_|fill_)\w*"),
        (lambda y: y.detach().zero_(), "zero_"),
        (lambda y: rl.autograd.graph.increment_version(y), "increment_version"),
    ],
)
def test_a_write_to_a_saved_tensor_names_the_writer_and_versions(write, name):
    y = leaf(1.0, 2.0).exp()
    write(y)
    with message(match=rf"modified by an inplace operation.*\nhint: {name}\(\).*version 0 -> 1.*clone"):
        y.sum().backward()


def line_above():
    return inspect.currentframe().f_back.f_lineno - 1


def test_a_write_to_a_saved_tensor_names_the_line_of_the_write_and_the_operation_that_had_saved():
    y = leaf(1.0, 2.0).exp()
    y += 1
    line = line_above()
    with message(
        match=rf"hint: add_\(\) at {__file__}:{line} wrote into `y` after ExpBackward0 had saved.*detect_anomaly"
    ):
        y.sum().backward()


def test_an_optimizer_step_between_forward_and_backward():
    net = rl.nn.Sequential(rl.nn.Linear(2, 2), rl.nn.Linear(2, 2))
    optimizer = rl.optim.SGD(net.parameters(), lr=0.1)
    loss = net(rl.ones(1, 2)).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    line = line_above()
    with message(match=rf"hint: \w+\(\) at {__file__}:{line} wrote into `net.1.weight` after AddmmBackward0 had"):
        loss.backward()


def test_anomaly_mode_tells_the_lines_of_both_culprits():
    x, factor = leaf(1.0, 2.0), rl.ones(2)
    with pytest.warns(UserWarning, match="Anomaly|Error detected"), rl.autograd.detect_anomaly():
        y = x * factor
        made = line_above()
        factor.add_(factor)
        wrote = line_above()
        with message(
            match=rf"add_\(\) at {__file__}:{wrote} wrote into `factor` after MulBackward0, made at {__file__}:{made}, had"
        ):
            y.sum().backward()


def test_a_memory_that_is_written_for_ever_does_not_pay_for_places():
    total = rl.zeros(2)
    for _ in range(40):
        total += 1
    assert total._version_counter.writer == "add_"
    assert rl.zeros(2).add_(1)._version_counter.writer[0] == "add_"


def test_every_unused_input_is_named():
    net = rl.nn.ModuleList([rl.nn.Linear(2, 2), rl.nn.Linear(2, 2)])
    with message(match=r"index 2 .*\nhint: input 2, `net.1.weight` \(shape \[2, 2\]\), input 3, `net.1.bias`"):
        rl.autograd.grad(net[0](rl.ones(1, 2)).sum(), list(net.parameters()))


class Unfinished(rl.nn.Module):
    def __init__(self):
        leaf(1.0).add_(1)  # an error before Module.__init__ has run: its names cannot be asked for


def test_a_write_to_a_leaf():
    with message(match=r"hint: add_\(\) would change a tensor of shape"):
        Unfinished()
    with message(match=r"a leaf Variable.*\nhint: add_\(\).*no_grad.*clone"):
        leaf(1.0).add_(1)
    with message(match=r"a view of a leaf Variable.*\nhint: mul_\(\)"):
        leaf(1.0)[:1].mul_(2)


def test_an_operand_that_shares_the_written_memory_is_refused():
    y = leaf(1.0, 2.0) * 1
    y.mul_(y)
    with message(match="modified by an inplace operation"):
        y.sum().backward()


def test_reading_the_gradient_of_a_non_leaf():
    y = leaf(1.0) * 2
    with pytest.warns(
        UserWarning,
        match=r"not a leaf Tensor(.|\n)*hint: `y` \(shape \[1\]\) was made by MulBackward0; call retain_grad",
    ):
        assert y.grad is None


def test_an_unused_input():
    x = leaf(1.0)
    with message(match=r"index 1 .*\nhint: input 1, a tensor of shape \[1\] does.*allow_unused"):
        rl.autograd.grad(x.sum(), [x, leaf(2.0)])


def test_a_wrong_number_of_gradients():
    class Two(rl.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, grad):
            return grad

    with message(match=r"incorrect number of gradients \(expected 2, got 1\)\nhint: .*None"):
        Two.apply(leaf(1.0), leaf(2.0)).backward()


def test_anomaly_mode_shows_the_forward_call():
    x = leaf(0.0)
    with pytest.warns(UserWarning) as seen, rl.autograd.detect_anomaly():
        y = (x / x.detach()).sqrt().sum()
        line = inspect.currentframe().f_lineno - 1
        with message(match=r"returned nan values.*\nhint:"):
            y.backward()
    shown = [str(w.message) for w in seen if "Error detected" in str(w.message)]
    assert len(shown) == 1
    assert f"line {line}" in shown[0] and "x / x.detach()" in shown[0]


def test_saved_tensors_of_a_gradient_that_was_never_asked_for_are_not_kept():
    x, y = leaf(1.0), rl.ones(1)
    assert (x * y).grad_fn._saved_self is None
    assert (x * y).grad_fn._saved_other is y
