"""`swap_in_optimizer_params_and_state` beside PyTorch's: steps on other tensors, what is put back, what is refused."""

import copy

import pytest

import rushlight

torch = pytest.importorskip("torch")


def ready(module):
    """An optimizer that has made a step, its parameters, and others."""
    own = [module.tensor([1.0, 2.0], requires_grad=True), module.tensor([3.0], requires_grad=True)]
    optimizer = module.optim.Adam([{"params": own[:1], "lr": 0.1}, {"params": own[1:], "lr": 0.2}])
    for parameter in own:
        parameter.grad = module.ones_like(parameter)
    optimizer.step()
    others = {name: module.full_like(parameter, 5.0, requires_grad=True) for name, parameter in zip("ab", own)}
    for parameter in others.values():
        parameter.grad = module.full_like(parameter, -2.0)
    return optimizer, own, others


def outcome(module):
    optimizer, own, others = ready(module)
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][1]["lr"] = 0.5
    groups, held = [dict(group) for group in optimizer.param_groups], optimizer.state
    with module.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
        optimizer.step()
        inside = [group["lr"] for group in optimizer.param_groups]
    assert optimizer.state is held
    assert optimizer.param_groups == groups
    steps = [float(state["state"][number]["exp_avg"].sum()) for number in (0, 1)]
    return inside, [t.tolist() for t in (*own, *others.values())], steps


def test_steps_on_other_tensors():
    (inside, values, steps), expected = outcome(rushlight), outcome(torch)
    assert inside == expected[0]
    assert steps == pytest.approx(expected[2])
    for found, wanted in zip(values, expected[1]):
        assert found == pytest.approx(wanted)


def _without_state(optimizer, others, state):
    optimizer.state.clear()
    return others, state


CHANGES = {
    "no state": _without_state,
    "no dict": lambda optimizer, others, state: (others, [1]),
    "state is a list": lambda optimizer, others, state: (others, state | {"state": []}),
    "state by tensors": lambda optimizer, others, state: (others, state | {"state": {others["a"]: {}}}),
    "state of numbers": lambda optimizer, others, state: (others, state | {"state": {0: 1}}),
    "no groups": lambda optimizer, others, state: (others, state | {"param_groups": None}),
    "a group less": lambda optimizer, others, state: (others, state | {"param_groups": state["param_groups"][:1]}),
    "a group is a list": lambda optimizer, others, state: (others, state | {"param_groups": [[], []]}),
    "groups of names": lambda optimizer, others, state: (
        others,
        state | {"param_groups": [{"params": ["a"]}, {"params": ["b"]}]},
    ),
    "a parameter more": lambda optimizer, others, state: (
        others,
        state | {"param_groups": [{"params": [0, 1]}, {"params": [2]}]},
    ),
    "other keys": lambda optimizer, others, state: (
        others,
        state | {"param_groups": [{"params": [0], "x": 1}, {"params": [1]}]},
    ),
    "a tensor less": lambda optimizer, others, state: ({"a": others["a"]}, state),
    "state of others": lambda optimizer, others, state: (others, state | {"state": {**state["state"], 7: {}}}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_refused(name):
    lines = []
    for module in (rushlight, torch):
        optimizer, _, others = ready(module)
        given = CHANGES[name](optimizer, others, optimizer.state_dict())
        with pytest.raises(RuntimeError) as raised, module.optim.swap_in_optimizer_params_and_state(optimizer, *given):
            pass
        lines.append(str(raised.value).splitlines()[0])
    assert lines[0] == lines[1]
