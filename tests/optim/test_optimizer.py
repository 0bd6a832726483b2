"""Optimizer itself: groups, hooks, closures, state, and a look at what a step computes; runs without PyTorch."""

import copy
import pickle

import numpy as np
import pytest
from optimizer_cases import ELEMENTWISE, array_of, label

import rushlight as rl
from rushlight import optim
from rushlight.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def leaf(*values):
    return rl.tensor(values).requires_grad_()


def quadratic(param):
    return ((param - 1) ** 2).sum()


@pytest.mark.parametrize("case", ELEMENTWISE, ids=label)
def test_a_quadratic_is_minimised(case):
    name, options = case
    options = {"lr": 0.05, **{key: value for key, value in options.items() if key not in ("maximize", "weight_decay")}}
    param = leaf(1.5, 0.6)
    optimizer = getattr(optim, name)([param], **options)
    before = quadratic(param).item()
    for _ in range(60):
        optimizer.zero_grad()
        quadratic(param).backward()
        optimizer.step()
    assert quadratic(param).item() < before


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_solves_a_small_problem(line_search):
    x, y = leaf(-1.2), leaf(1.0)
    optimizer = optim.LBFGS([x, y], lr=1 if line_search else 0.1, max_iter=200, line_search_fn=line_search)

    def closure():
        optimizer.zero_grad()
        loss = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        loss.sum().backward()
        return loss.sum()

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(24.2)
    assert closure().item() < (1e-6 if line_search else 5)


def test_sgd_by_hand():
    param = leaf(1.0, 2.0)
    optimizer = optim.SGD([param], lr=0.1, momentum=0.5)
    for _ in range(2):
        param.grad = rl.tensor([1.0, 2.0])
        optimizer.step()
    np.testing.assert_allclose(array_of(param), [1 - 0.1 - 0.15, 2 - 0.2 - 0.3], rtol=1e-6)


def test_adam_takes_first_steps_of_size_lr():
    param = leaf(1.0, 2.0)
    param.grad = rl.tensor([100.0, -0.01])
    optim.Adam([param], lr=0.5).step()
    np.testing.assert_allclose(array_of(param), [0.5, 2.5], rtol=1e-5)


def test_a_step_without_gradients_does_nothing():
    param = leaf(1.0)
    for name in {name for name, _ in ELEMENTWISE} - {"Adagrad"}:
        optimizer = getattr(optim, name)([param])
        assert optimizer.step() is None
        assert not optimizer.state
    assert param.item() == 1.0


def test_step_counts_are_tensors_of_their_own():
    a, b = leaf(1.0), leaf(2.0)
    optimizer = optim.Adam([a, b])
    a.grad, b.grad = rl.tensor([1.0]), rl.tensor([1.0])
    optimizer.step()
    b.grad = None
    optimizer.step()
    assert repr(optimizer.state[a]["step"]) == "tensor(2.)"
    assert repr(optimizer.state[b]["step"]) == "tensor(1.)"


def test_a_step_raises_the_version_of_parameters():
    param = leaf(1.0)
    param.grad = rl.tensor([1.0])
    before = param._version
    optim.SGD([param]).step()
    optim.Adam([param]).step()
    assert param._version == before + 2


def test_backward_through_a_changed_parameter_is_refused():
    param = leaf(1.0)
    loss = (param * param).sum()
    param.grad = rl.tensor([1.0])
    optim.SGD([param]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_closures_run_with_gradients():
    param = leaf(3.0)
    optimizer = optim.SGD([param], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = quadratic(param)
        loss.backward()
        return loss

    with rl.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert param.item() == pytest.approx(2.6)


def test_zero_grad():
    param = leaf(1.0)
    optimizer = optim.SGD([param])
    param.grad = rl.tensor([5.0])
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert param.grad is None


def test_groups_have_their_own_hyperparameters():
    a, b = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    a.grad, b.grad = rl.tensor([1.0]), rl.tensor([1.0])
    optimizer.step()
    assert a.item() == pytest.approx(0.9)
    assert b.item() == pytest.approx(0.5)
    c = leaf(1.0)
    optimizer.add_param_group({"params": [c], "momentum": 0.9})
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.9]


def test_a_changed_learning_rate_counts_at_once():
    param = leaf(1.0)
    optimizer = optim.SGD([param], lr=0.1)
    optimizer.param_groups[0]["lr"] = np.float64(0.25)
    param.grad = rl.tensor([1.0])
    optimizer.step()
    assert param.item() == 0.75
    assert param.dtype is rl.float32


def test_named_parameters():
    a, b = leaf(1.0), leaf(2.0)
    optimizer = optim.SGD([("a", a), ("b", b)], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.param_groups[0]["params"] == [a, b] or optimizer.param_groups[0]["params"][1] is b


def test_hooks_run_around_the_step():
    calls = []
    param = leaf(1.0)
    param.grad = rl.tensor([1.0])
    optimizer = optim.Adam([param])
    handles = [
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: calls.append("global before")),
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: calls.append("global after")),
        optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: calls.append(("before", sorted(kwargs)))),
        optimizer.register_step_post_hook(lambda optimizer, args, kwargs: calls.append(("after", len(args)))),
    ]
    assert optimizer.step(closure=lambda: 5) == 5
    assert calls == ["global before", ("before", ["closure"]), ("after", 1), "global after"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 4


def test_a_pre_hook_may_replace_the_arguments():
    param = leaf(1.0)
    optimizer = optim.SGD([param])
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: ((optimizer, lambda: 7), {}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_hooks_of_state_dicts():
    param = leaf(1.0)
    optimizer = optim.SGD([param], lr=0.5)
    optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "extra": 1})
    saved = optimizer.state_dict()
    assert saved["extra"] == 1
    seen = []
    optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: seen.append(sorted(state)))
    optimizer.register_load_state_dict_post_hook(lambda optimizer: seen.append("after"))
    optimizer.load_state_dict(saved)
    assert seen == [["extra", "param_groups", "state"], "after"]


@pytest.mark.parametrize("case", ELEMENTWISE, ids=label)
def test_a_loaded_optimizer_goes_on_in_the_same_way(case):
    name, options = case
    a = leaf(1.0, 2.0)
    first = getattr(optim, name)([a], **options)

    def step(optimizer, param, value):
        param.grad = rl.tensor([value, -value])
        optimizer.step()

    for value in (1.0, 0.5):
        step(first, a, value)
    b = a.detach().clone().requires_grad_()
    second = getattr(optim, name)([b])
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for value in (0.25, 2.0):
        step(first, a, value)
        step(second, b, value)
    assert a.tolist() == b.tolist()


def test_loaded_state_takes_the_dtype_of_the_parameter():
    a = leaf(1.0)
    a.grad = rl.tensor([1.0])
    first = optim.Adam([a])
    first.step()
    b = rl.tensor([1.0], dtype=rl.float64).requires_grad_()
    second = optim.Adam([b])
    second.load_state_dict(first.state_dict())
    assert second.state[b]["exp_avg"].dtype is rl.float64
    assert second.state[b]["step"].dtype is rl.float32


def test_old_checkpoints_of_sgd_load():
    param = leaf(1.0)
    optimizer = optim.SGD([param], lr=0.1, momentum=0.9)
    saved = {"state": {0: {"momentum_buffer": None}}, "param_groups": [{"lr": 0.5, "momentum": 0.9, "params": [0]}]}
    optimizer.load_state_dict(saved)
    param.grad = rl.tensor([1.0])
    optimizer.step()
    assert param.item() == 0.5


def test_pickle_and_deepcopy():
    param = leaf(1.0)
    param.grad = rl.tensor([1.0])
    optimizer = optim.Adam([param], lr=0.5)
    optimizer.step()
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert copied.param_groups[0]["params"][0] is not param
        assert copied.state_dict()["state"][0]["step"].item() == 1.0
        copied.param_groups[0]["params"][0].grad = rl.tensor([1.0])
        copied.step()
    assert optimizer.state_dict()["state"][0]["step"].item() == 1.0


def test_float64_as_default_dtype_makes_the_step_count_float64():
    rl.set_default_dtype(rl.float64)
    try:
        param = leaf(1.0)
        param.grad = rl.tensor([1.0])
        optimizer = optim.Adam([param])
        optimizer.step()
        assert optimizer.state[param]["step"].dtype is rl.float64
    finally:
        rl.set_default_dtype(rl.float32)


def test_a_users_optimizer():
    class Descent(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @rl.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    param.sub_(param.grad, alpha=group["lr"])
            return "done"

    param = leaf(1.0)
    param.grad = rl.tensor([1.0])
    optimizer = Descent([param])
    calls = []
    optimizer.register_step_post_hook(lambda optimizer, args, kwargs: calls.append(1))
    assert optimizer.step() == "done"
    assert param.item() == pytest.approx(0.9)
    assert calls == [1]
    assert repr(optimizer) == "Descent (\nParameter Group 0\n    lr: 0.1\n)"


def test_a_required_hyperparameter():
    from rushlight.optim.optimizer import required

    with pytest.raises(
        ValueError, match="parameter group didn't specify a value of required optimization parameter lr"
    ):
        optim.Optimizer([leaf(1.0)], {"lr": required})


def test_errors_carry_a_hint():
    with pytest.raises(TypeError, match=r"but got torch.FloatTensor\nhint: put the tensor into a list"):
        optim.SGD(leaf(1.0))
    with pytest.raises(ValueError, match=r"can't optimize a non-leaf Tensor\nhint: this tensor of shape \(1,\)"):
        optim.SGD([leaf(1.0) * 2])


def test_bfloat16_parameters():
    pytest.importorskip("ml_dtypes")
    param = rl.tensor([1.0, -2.0], dtype=rl.bfloat16).requires_grad_()
    optimizer = optim.Adam([param], lr=0.5)
    param.grad = rl.tensor([1.0, -3.0], dtype=rl.bfloat16)
    optimizer.step()
    assert param.dtype is rl.bfloat16
    assert param.float().tolist() == [0.5, -1.5]


@pytest.mark.parametrize("case", [case for case in ELEMENTWISE if case[0] != "Rprop"], ids=label)
def test_gradients_flow_through_differentiable_steps(case):
    name, options = case
    if "dampening" in options or (options.get("momentum") and name == "SGD"):
        pytest.skip("as in PyTorch, the first momentum buffer of SGD is apart from the graph")

    def trained(start, first, second):
        param = start.clone()
        optimizer = getattr(optim, name)([param], **{"lr": 0.1, **options, "differentiable": True})
        for grad in (first, second):
            param.grad = grad
            optimizer.step()
        return param

    inputs = [rl.tensor(values, dtype=rl.float64).requires_grad_() for values in ([1.0, -2.0], [0.5, 1.5], [-1.0, 2.0])]
    found = rl.autograd.grad(trained(*inputs).sum(), inputs)
    for index, grad in enumerate(found):
        for place in range(2):
            moved = []
            for shift in (1e-4, -1e-4):
                shifted = [value.detach().clone() for value in inputs]
                shifted[index][place] += shift
                moved.append(trained(*shifted).sum().item())
            assert grad[place].item() == pytest.approx((moved[0] - moved[1]) / 2e-4, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("owner", ["optimizer", "module"])
def test_zero_grad_fills_gradients_that_are_views(owner):
    layer = rl.nn.Linear(3, 2, bias=False)
    memory = rl.ones(6)
    layer.weight.grad = memory.view(2, 3)
    (rl.optim.SGD(layer.parameters(), lr=0.1) if owner == "optimizer" else layer).zero_grad(set_to_none=False)
    assert memory.tolist() == [0.0] * 6


def test_zero_grad_takes_gradients_out_of_the_graph():
    weight = rl.ones(2, requires_grad=True)
    (weight.grad,) = rl.autograd.grad((weight**3).sum(), weight, create_graph=True)
    assert weight.grad.grad_fn is not None
    rl.optim.SGD([weight], lr=0.1).zero_grad(set_to_none=False)
    assert weight.grad.grad_fn is None and not weight.grad.requires_grad and weight.grad.tolist() == [0.0, 0.0]
