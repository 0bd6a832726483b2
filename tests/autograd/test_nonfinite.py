"""``rushlight.find_nonfinite``: the operation that made a NaN or infinity is named, with its inputs and its line."""

import inspect
import threading
import warnings

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.tensor.interposers import INTERPOSERS

NAN, INF = float("nan"), float("inf")


def leaf(*values):
    return rl.tensor(values, requires_grad=True)


def line_above():
    return inspect.currentframe().f_back.f_lineno - 1


def reports(action, **options):
    with rl.find_nonfinite(action="collect", **options) as found:
        action()
    return found.reports


@pytest.mark.parametrize(
    ("operation", "name", "kind"),
    [
        (lambda: rl.zeros(2).log(), "log", "-inf"),
        (lambda: rl.tensor([1.0, -1.0]) / 0, "div", "inf"),
        (lambda: rl.tensor([-1e5]).half(), "to_copy", "-inf"),
        (lambda: rl.tensor([-1.0]).log(), "log", "NaN"),
        (lambda: rl.zeros(2) / rl.zeros(2), "div", "NaN"),
        (lambda: rl.ones(2) / 0, "div", "inf"),
        (lambda: rl.tensor([100.0]).exp(), "exp", "inf"),
        (lambda: (rl.ones(1, dtype=rl.float16) * 60000) * 2, "mul", "inf"),
        (lambda: rl.tensor([1e5]).half(), "to_copy", "inf"),
        (lambda: rl.full((2, 2), 3e38) @ rl.full((2, 2), 3e38), "mm", "inf"),
        (lambda: rl.tensor([-INF, -INF]).softmax(0), "softmax", "NaN"),
        (lambda: rl.tensor([INF]) - rl.tensor([INF]), "sub", "NaN"),
        (lambda: rl.ones(2).div_(rl.zeros(2)), "div_", "inf"),
        (lambda: rl.ones(2, dtype=rl.bfloat16) / 0, "div", "inf"),
        (lambda: rl.ones(2, dtype=rl.complex64) / 0, "div", "NaN"),
        (lambda: rl.cat([rl.ones(2), rl.zeros(1)]).reciprocal(), "reciprocal", "inf"),
    ],
)
def test_what_makes_a_nonfinite_value_is_named(operation, name, kind):
    found = reports(operation)
    assert [(each.operation, each.kind, each.phase) for each in found] == [(name, kind, "forward")]


@pytest.mark.parametrize(
    "operation",
    [
        lambda: rl.tensor([1.0, NAN]).exp(),
        lambda: rl.tensor([INF]) * 2,
        lambda: rl.ones(2).masked_fill(rl.tensor([True, False]), -INF).softmax(0),
        lambda: rl.full_like(rl.ones(2), NAN) + 1,
        lambda: rl.ones(2).fill_(INF),
        lambda: rl.empty_like(rl.tensor([NAN])),
        lambda: rl.tensor([NAN, 1.0]).nan_to_num().exp(),
        lambda: rl.tensor([NAN]).isnan(),
        lambda: rl.ones(3).long() // 2,
        lambda: rl.where(rl.tensor([True, False]), rl.ones(2), INF),
    ],
)
def test_what_was_given_such_values_is_not_blamed(operation):
    assert reports(operation) == []


def test_the_report_has_ranges_and_the_line():
    x = rl.tensor([[1.0, 0.0], [3.0, 4.0]])
    (report,) = reports(lambda: x.log())
    line = line_above()
    assert (report.file, report.line, report.module) == (__file__, line, None)
    (given,), (made,) = report.inputs, report.results
    assert (given.name, given.shape, given.dtype) == ("self", (2, 2), "float32")
    assert (given.low, given.high, given.nans, given.infs) == (0, 4, 0, 0)
    assert (made.nans, made.infs) == (0, 1)
    text = str(report)
    assert "log made -inf in the forward pass: 1 of 4 elements\n" in text
    assert f"{__file__}:{line}: (report,) = reports(lambda: x.log())" in text
    assert "hint: log(0) is -inf" in text


def test_in_backward_the_forward_line_of_the_derivative_is_told():
    x = leaf(0.0, 4.0)
    with rl.find_nonfinite(action="collect") as found:
        y = x.sqrt()
        line = line_above()
        y.sum().backward()
    (report,) = found.reports
    assert (report.operation, report.phase, report.kind) == ("SqrtBackward0", "backward", "inf")
    assert (report.file, report.line) == (__file__, line)
    assert [each.name for each in report.inputs] == ["gradient 0", "kept result"]
    assert x.grad.isinf().any()


def test_nan_in_backward_of_a_masked_branch():
    x = leaf(0.0, 1.0)
    found = reports(lambda: rl.where(x > 0, x.log(), x).sum().backward(), inf=False)
    assert [(each.operation, each.phase, each.kind) for each in found] == [("LogBackward0", "backward", "NaN")]


def test_the_backward_of_a_custom_function_is_searched_line_by_line():
    class Zero(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            nothing = grad * 0
            return nothing / nothing

    line = inspect.currentframe().f_lineno - 2
    x = leaf(1.0)
    (report, *_) = reports(lambda: Zero.apply(x).sum().backward())
    assert (report.operation, report.phase, report.kind, report.line) == ("div", "backward", "NaN", line)


def test_sums_of_gradients_are_looked_at_too():
    x = leaf(1.0)
    y = x * 1
    found = reports(lambda: (y * 2e38 + y * 2e38).sum().backward())
    assert [(each.operation, each.phase) for each in found] == [("add", "forward"), ("add", "backward")]


def test_raising_and_warning():
    with pytest.raises(FloatingPointError, match="log made -inf in the forward pass") as caught, rl.find_nonfinite():
        rl.zeros(2).log()
    assert caught.value.report.operation == "log"
    with pytest.warns(RuntimeWarning, match="log made -inf") as seen, rl.find_nonfinite(action="warn"):
        rl.zeros(2).log()
        line = line_above()
    assert (seen[0].filename, seen[0].lineno) == (__file__, line)
    with pytest.raises(ValueError, match="action must be one of 'raise', 'warn', 'collect', not 'stop'"):
        rl.find_nonfinite(action="stop")


def test_the_function_that_was_called_is_named_where_the_operation_has_another_name():
    (report,) = reports(lambda: rl.linalg.inv(rl.full((1, 1), 1e-45)))
    assert (report.function, report.kind) == ("linalg_inv", "inf")
    assert "\n  in linalg_inv()\n" in str(report)
    (report,) = reports(lambda: rl.zeros(2).log())
    assert report.function is None


def test_infinities_can_be_left_out():
    assert reports(lambda: rl.zeros(2).log(), inf=False) == []
    assert [each.kind for each in reports(lambda: rl.zeros(2) / 0, inf=False)] == ["NaN"]


def test_nan_that_came_from_outside_is_told_when_nothing_else_was_found():
    data = rl.tensor([1.0, NAN])
    with pytest.warns(RuntimeWarning, match=r"mul was given NaN(.|\n)*in the data, came from an optimizer"):
        with rl.find_nonfinite() as found:
            data * 2
    assert found.reports == [] and found.given.operation == "mul"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x):
        return (self.layers(x) * 0).log()


def test_the_module_is_named():
    net = Net()
    (report,) = reports(lambda: net(rl.ones(1, 2)))
    assert report.module == "`net` (Net)"
    net.layers[0].weight.data.fill_(3e38)
    report, *_ = reports(lambda: net(rl.ones(1, 2)))
    assert report.module == "`net.layers.0` (Linear)"


def test_everything_is_as_before_afterwards_even_after_an_error():
    before = rl.is_anomaly_enabled(), list(INTERPOSERS)
    with pytest.raises(FloatingPointError), rl.find_nonfinite():
        rl.zeros(1).log()
    assert (rl.is_anomaly_enabled(), list(INTERPOSERS)) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rl.zeros(1).log().item() == -INF


def test_inside_transforms_the_operations_on_whole_batches_are_looked_at():
    found = reports(lambda: rl.func.vmap(rl.func.grad(lambda x: x.sqrt().sum()))(rl.zeros(3, 2)))
    assert [(each.operation, each.phase, each.kind) for each in found] == [("sqrt_backward", "backward", "inf")]
    assert found[0].results[0].shape == (3, 2)
    found = reports(lambda: rl.func.grad(lambda x: x.sqrt().sum())(rl.zeros(2)))
    assert [(each.operation, each.kind) for each in found] == [("SqrtBackward0", "inf")]
    with rl.autograd.forward_ad.dual_level():
        (report,) = reports(lambda: rl.autograd.forward_ad.make_dual(rl.zeros(2), rl.ones(2)).sqrt())
    assert report.kind == "inf"


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_not_blamed_for_what_was_found_inside(reentrant):
    x = leaf(0.0)
    found = reports(lambda: rl.utils.checkpoint.checkpoint(rl.sqrt, x, use_reentrant=reentrant).sum().backward())
    assert [each.operation for each in found] == ["SqrtBackward0"]


def test_other_threads_are_left_alone():
    with rl.find_nonfinite():
        found = []
        thread = threading.Thread(target=lambda: found.append(rl.zeros(1).log()))
        thread.start()
        thread.join()
    assert found[0].item() == -INF


def test_a_training_step_computes_the_same_inside():
    def step():
        rl.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 3))
        optimizer = rl.optim.Adam(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(rl.randn(5, 4)), rl.arange(5) % 3).backward()
            optimizer.step()
        return [p.tolist() for p in net.parameters()]

    plain = step()
    with rl.find_nonfinite():
        assert step() == plain


def test_results_that_go_into_a_given_tensor_are_computed_inside_too():
    target = rl.ones(2)
    with rl.find_nonfinite():
        rl.exp(rl.zeros(2), out=target)
    assert target.tolist() == [1.0, 1.0]


def test_what_an_optimizer_made_is_told_as_given():
    weight = nn.Parameter(rl.tensor([3e38]))
    weight.grad = rl.tensor([-3e38])
    with rl.find_nonfinite(action="collect") as found:
        rl.optim.SGD([weight], lr=3.0).step()
        (weight * 0).sum()
        (weight * 0 + 1).sum()
    assert weight.isinf().all()
    assert [(each.operation, each.kind) for each in found.reports][:1] == [("mul", "NaN")]
    assert found.reports[0].inputs[0].infs == 1
