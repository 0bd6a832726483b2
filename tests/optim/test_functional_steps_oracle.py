"""Steps on lists (``torch.optim.adam.adam`` and its like) against PyTorch's."""

import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")

# Algorithm -> lists of states, of numbers that are states, and sets of options.
ADAM = {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8, "maximize": False}
MOMENTS = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}
ADAGRAD = {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}
RMSPROP = {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.0, "centered": False}
SGD = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False}
RPROP = {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}
CASES = {
    "adadelta": ("square_avgs acc_deltas", "state_steps",
                 [{"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": True}]),
    "adagrad": ("state_sums", "state_steps", [ADAGRAD]),
    "adam": ("exp_avgs exp_avg_sqs max_exp_avg_sqs", "state_steps",
             [ADAM, ADAM | {"amsgrad": True, "maximize": True}, ADAM | {"decoupled_weight_decay": True}]),
    "adamw": ("exp_avgs exp_avg_sqs max_exp_avg_sqs", "state_steps", [ADAM]),
    "adamax": ("exp_avgs exp_infs", "state_steps", [MOMENTS | {"maximize": True}]),
    "asgd": ("axs", "mus etas state_steps", [{"lambd": 0.1, "lr": 0.1, "t0": 2.0, "alpha": 0.75, "weight_decay": 0.1}]),
    "nadam": ("exp_avgs exp_avg_sqs", "mu_products state_steps", [MOMENTS | {"momentum_decay": 0.01}]),
    "radam": ("exp_avgs exp_avg_sqs", "state_steps", [MOMENTS, MOMENTS | {"decoupled_weight_decay": True}]),
    "rmsprop": ("square_avgs grad_avgs momentum_buffer_list", "state_steps",
                [RMSPROP, RMSPROP | {"momentum": 0.9, "centered": True, "maximize": True}]),
    "rprop": ("prevs step_sizes", "state_steps", [RPROP]),
    "sgd": ("momentum_buffer_list", "", [SGD, SGD | {"nesterov": True}, SGD | {"momentum": 0.0}, SGD | {"dampening": 0.5}]),
}  # fmt: skip
EACH = [(name, options, "float32") for name, (_, _, sets) in CASES.items() for options in sets]
EACH.append(("adam", ADAM, "complex64"))


def three_steps(library, package, name, options, dtype="float32", first_buffer=True, **more):
    """All parameters and states after three steps, as lists of numbers."""
    states, numbers, _ = CASES[name]
    library.manual_seed(0)
    dtype = getattr(library, dtype)
    params = [library.randn(3, 2, dtype=dtype), library.randn(4, dtype=dtype)]
    lists = {key: [library.full_like(param, 0.1) for param in params] for key in states.split()}
    if not first_buffer:
        lists = {key: [None] * len(params) for key in lists}
    start = {"mus": 1.0, "etas": 0.1, "mu_products": 1.0, "state_steps": 0.0}
    lists |= {key: [library.tensor(start[key]) for _ in params] for key in numbers.split()}
    step = getattr(importlib.import_module(f"{package}.optim.{name}"), name)
    gradients = "d_p_list" if name == "sgd" else "grads"
    for _ in range(3):
        given = {gradients: [library.randn_like(param) for param in params]}
        step(params=params, **given, **lists, **options, **more)
    return [[value.tolist() for value in each if value is not None] for each in (params, *lists.values())]


@pytest.mark.parametrize(("name", "options", "dtype"), EACH)
def test_three_steps(name, options, dtype):
    more = {"has_complex": True} if dtype == "complex64" else {}
    theirs = three_steps(torch, "torch", name, options, dtype, **more)
    ours = three_steps(rushlight, "rushlight", name, options, dtype, **more)
    for one, other in zip(theirs, ours, strict=True):
        torch.testing.assert_close(torch.tensor(flat(other)), torch.tensor(flat(one)), rtol=1e-5, atol=1e-6)


def flat(values):
    return [number for value in values for number in flat(value)] if isinstance(values, list) else [values]


def test_momentum_that_begins_with_the_step():
    theirs = three_steps(torch, "torch", "sgd", SGD, first_buffer=False)
    ours = three_steps(rushlight, "rushlight", "sgd", SGD, first_buffer=False)
    assert flat(ours) == pytest.approx(flat(theirs), rel=1e-5)


@pytest.mark.parametrize("name", ["adam", "rmsprop", "adagrad"])
def test_gradients_flow_through_a_differentiable_step(name):
    """Of the parameter after the step for the gradient that entered it."""
    states, numbers, (options, *_) = CASES[name]
    found = []
    for library, package in ((torch, "torch"), (rushlight, "rushlight")):
        grad = library.tensor([0.5, -1.0], requires_grad=True)
        param = library.tensor([1.0, 2.0], requires_grad=True).clone()
        lists = {key: [library.tensor([0.1, 0.2])] for key in states.split()}
        lists |= {key: [library.tensor(0.0)] for key in numbers.split()}
        step = getattr(importlib.import_module(f"{package}.optim.{name}"), name)
        step([param], [grad], **lists, **options, differentiable=True)
        param.sum().backward()
        found.append(grad.grad.tolist())
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def test_step_counts_are_tensors():
    for library, package in ((torch, "torch"), (rushlight, "rushlight")):
        adam = importlib.import_module(f"{package}.optim.adam").adam
        state = [library.zeros(1)]
        with pytest.raises(
            RuntimeError, match="API has changed, `state_steps` argument must contain a list of singleton"
        ):
            adam([library.ones(1)], [library.ones(1)], state, state, state, [1], **ADAM)


def test_all_are_in_one_place():
    functional = importlib.import_module("rushlight.optim._functional")
    assert sorted(functional.__all__) == sorted(CASES)
