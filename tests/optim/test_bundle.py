"""Parameters that take their steps together end up where they would have alone, small ones bit for bit."""

import copy

import pytest

import rushlight as rl
from rushlight.kernels.machine.host import host
from rushlight.optim import bundle

OPTIMIZERS = {
    "Adam": {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"lr": 0.1},
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "RMSprop": {"lr": 0.1, "centered": True, "momentum": 0.5},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1},
    "Adadelta": {"lr": 1.0},
    "Adamax": {"lr": 0.1},
    "Rprop": {"lr": 0.1},
    "ASGD": {"lr": 0.1, "t0": 2},
}
SHAPES = [(3, 4), (5,), (), (2, 3, 1), (60, 40)]  # the last one is too large for a bundle of small ones
LARGE = [(3, 4), (100, 60), (), (2, 3, 1)]  # the second one is enough for a kernel


def nothing(*arguments):
    """A story in which nothing happens between the steps."""


def lose_a_gradient(step, params, optimizer):
    if step % 3 == 1:
        params[1].grad = None


def write_into_the_state(step, params, optimizer):
    for values in optimizer.state.values():
        for value in values.values():
            value.mul_(0.5 if value.ndim else 1.0)


def exchange_a_state_tensor(step, params, optimizer):
    for values in optimizer.state.values():
        name = next(reversed(values))
        values[name] = values[name] * 0.5


def exchange_memory(step, params, optimizer):
    params[0].data = params[0].data * 2
    if step == 4:
        params[2].data = rl.ones(2, 2)
        params[2].grad = rl.ones(2, 2)
        optimizer.state.pop(params[2], None)


def load_a_checkpoint(step, params, optimizer):
    if step == 3:
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def add_a_group(step, params, optimizer):
    if step == 3:
        params.append(rl.ones(3, requires_grad=True))
        optimizer.add_param_group({"params": [params[-1]], "lr": 0.01})


def add_a_parameter_to_a_group(step, params, optimizer):
    if step == 3:
        params.append(rl.ones(3, requires_grad=True))
        optimizer.param_groups[0]["params"].append(params[-1])


def transpose_a_gradient(step, params, optimizer):
    if step % 3 == 1:
        params[0].grad = params[0].grad.t().contiguous().t()


STORIES = [
    nothing,
    lose_a_gradient,
    write_into_the_state,
    exchange_a_state_tensor,
    exchange_memory,
    load_a_checkpoint,
    add_a_group,
    add_a_parameter_to_a_group,
    transpose_a_gradient,
]


def run(name, story, shapes=SHAPES):
    """Thirty steps of an optimizer; all parameters and states afterwards, as lists."""
    rl.manual_seed(0)
    params = [rl.randn(shape, requires_grad=True) for shape in shapes]
    optimizer = getattr(rl.optim, name)(params, **OPTIMIZERS[name])
    for step in range(30):
        for param in params:
            param.grad = rl.randn(param.shape)
        story(step, params, optimizer)
        versions = [param._version for param in params]
        optimizer.step()
        updated = [param._version - version for param, version in zip(params, versions)]
        assert updated == [int(param.grad is not None) for param in params]
    states = [{key: value.tolist() for key, value in optimizer.state[param].items()} for param in params]
    return [param.tolist() for param in params], states, optimizer


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_together_are_steps_alone(name, story, monkeypatch):
    together = run(name, story)
    assert any(each.params for each in together[2]._bundles.values())
    monkeypatch.setattr(bundle, "SMALL", 0)
    alone = run(name, story)
    assert not any(each.params for each in alone[2]._bundles.values())
    assert together[:2] == alone[:2]


def test_only_small_parameters_of_one_dtype_are_bundled():
    params = [rl.ones(3), rl.ones(4), rl.ones(5, dtype=rl.float64), rl.ones(6, dtype=rl.float16), rl.ones(3000)]
    params += [rl.ones(2, 3).t(), rl.ones(0), rl.ones(2, dtype=rl.complex64)]
    for param in params:
        param.requires_grad_().grad = rl.ones_like(param)
    optimizer = rl.optim.Adam(params)
    optimizer.step()
    (made,) = optimizer._bundles.values()
    assert [len(param) for param in made.params] == [3, 4]
    assert len(made.rest) == 6


def test_a_kernel_updates_small_parameters_beside_large_ones():
    params = [rl.ones(3), rl.ones(4), rl.ones(10_000)]
    for param in params:
        param.requires_grad_().grad = rl.ones_like(param)
    optimizer = rl.optim.Adam(params)
    optimizer.step()
    (made,) = optimizer._bundles.values()
    assert len(made.params) == (2 if host() is None else 3)  # NumPy would go through the small ones one by one
    assert len(made.rest) == 3 - len(made.params)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_large_parameters_step_together_as_alone(name, story, monkeypatch):
    together = run(name, story, LARGE)
    if host() is not None:
        assert any(len(each.params) > 2 and each.room is None for each in together[2]._bundles.values())
    monkeypatch.setattr(bundle, "_members", lambda *arguments: [])
    alone = run(name, story, LARGE)
    assert flat(together[:2]) == pytest.approx(flat(alone[:2]), rel=2e-5, abs=2e-5)


def test_parameters_that_share_memory_are_not_bundled():
    memory = rl.ones(4)
    params = [memory[:3].requires_grad_(), memory[1:].requires_grad_(), rl.ones(3, requires_grad=True)]
    optimizer = rl.optim.SGD(params, lr=1.0, momentum=0.5)
    for param in params:
        param.grad = rl.ones(3)
    optimizer.step()
    assert memory.tolist() == [0, -1, -1, 0]
    assert not any(each.params for each in optimizer._bundles.values())


def test_each_group_has_its_bundle():
    params = [rl.ones(3, requires_grad=True) for _ in range(4)]
    optimizer = rl.optim.Adam([{"params": params[:2]}, {"params": params[2:], "lr": 0.1}])
    for param in params:
        param.grad = rl.ones_like(param)
    for _ in range(3):
        optimizer.step()
    assert [(len(each.params), each.misses) for each in optimizer._bundles.values()] == [(2, 0), (2, 0)]


def test_a_state_tensor_keeps_its_identity_and_counts_writes():
    params = [rl.ones(3, requires_grad=True), rl.ones(2, requires_grad=True)]
    optimizer = rl.optim.Adam(params)
    for param in params:
        param.grad = rl.ones_like(param)
    optimizer.step()
    average = optimizer.state[params[0]]["exp_avg"]
    version, before = average._version, average.tolist()
    optimizer.step()
    assert optimizer.state[params[0]]["exp_avg"] is average
    assert average._version > version
    assert average.tolist() != before


def test_a_copied_optimizer_has_its_own_bundle():
    params = [rl.ones(3, requires_grad=True), rl.ones(2, requires_grad=True)]
    optimizer = rl.optim.Adam(params)
    for param in params:
        param.grad = rl.ones_like(param)
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    before = [values["exp_avg"].tolist() for values in twin.state.values()]
    optimizer.step()
    assert [values["exp_avg"].tolist() for values in twin.state.values()] == before


def flat(value):
    """The numbers in nested lists and dictionaries, in order."""
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flat(item)]
    return flat(list(value.values())) if isinstance(value, dict) else [value]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_warm_bundle_steps_like_a_cold_one(name, story, monkeypatch):
    cold = run(name, story)
    monkeypatch.setattr(bundle, "WARM", 3)
    warm = run(name, story)
    if host() is not None and story is nothing:
        assert all(each.kernel is not None for each in warm[2]._bundles.values())
    assert flat(warm[:2]) == pytest.approx(flat(cold[:2]), rel=2e-5, abs=2e-5)
