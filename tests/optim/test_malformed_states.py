"""Malformed dictionaries given to load_state_dict: the key is named, and nothing is taken over."""

from copy import deepcopy

import pytest

import rushlight as rl
from rushlight import optim
from rushlight.optim import lr_scheduler

OPTIMIZERS = [
    name
    for name in optim.__all__
    if name
    not in ("Optimizer", "lr_scheduler", "swa_utils", "SparseAdam", "LBFGS", "swap_in_optimizer_params_and_state")
]


def stepped(name):
    param = rl.nn.Parameter(rl.ones(3, 3))
    optimizer = getattr(optim, name)([param], lr=0.1)
    param.grad = rl.ones(3, 3)
    optimizer.step()
    return optimizer


def group(dictionary):
    return dictionary["param_groups"][0]


FAULTS = {
    "param_groups": [
        lambda d: d.pop("param_groups"),
        lambda d: d.update(param_groups=None),
        lambda d: d.update(param_groups=3),
        lambda d: d.update(param_groups=[3]),
        lambda d: d.update(param_groups=["group"]),
    ],
    "params": [lambda d: group(d).pop("params"), lambda d: group(d).update(params=None), lambda d: group(d).update(params=0)],
    "state": [lambda d: d.pop("state"), lambda d: d.update(state=None), lambda d: d.update(state=[1]), lambda d: d.update(state={0: 3})],
    "lr": [lambda d: group(d).update(lr=None), lambda d: group(d).update(lr="fast"), lambda d: group(d).update(lr=[0.1])],
    "weight_decay": [lambda d: group(d).update(weight_decay="much")],
    "betas": [lambda d: group(d).update(betas=(0.9,)), lambda d: group(d).update(betas=None), lambda d: group(d).update(betas=(0.9, "b"))],
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("key", FAULTS)
def test_optimizers(name, key):
    if key in ("weight_decay", "betas") and key not in stepped(name).param_groups[0]:
        return
    for fault in FAULTS[key]:
        optimizer = stepped(name)
        before = deepcopy(optimizer.state_dict())
        wrong = deepcopy(before)
        fault(wrong)
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)) as caught:
            optimizer.load_state_dict(wrong)
        assert f"'{key}'" in str(caught.value) and "hint:" in str(caught.value), caught.value
        assert str(optimizer.state_dict()) == str(before)


@pytest.mark.parametrize("wrong", [None, 3, [], "state", ()])
def test_no_dictionary_at_all(wrong):
    for each in (stepped("SGD"), lr_scheduler.StepLR(stepped("SGD"), 2)):
        with pytest.raises((TypeError, AttributeError), match="hint:"):
            each.load_state_dict(wrong)


def schedulers():
    def made(kind, *args, **options):
        return pytest.param(lambda: getattr(lr_scheduler, kind)(stepped("SGD"), *args, **options), id=kind)

    def chained():
        optimizer = stepped("SGD")
        return lr_scheduler.ChainedScheduler(
            [lr_scheduler.ConstantLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.9)]
        )

    yield from (
        made("StepLR", 2), made("MultiStepLR", [2, 4]), made("ConstantLR"), made("LinearLR"), made("ExponentialLR", 0.9),
        made("CosineAnnealingLR", 4), made("CosineAnnealingWarmRestarts", 2), made("PolynomialLR"), made("ReduceLROnPlateau"),
        made("LambdaLR", lambda epoch: 0.5), made("MultiplicativeLR", lambda epoch: 0.5), made("OneCycleLR", 0.1, 9, cycle_momentum=False),
        made("CyclicLR", 0.1, 0.2, cycle_momentum=False), pytest.param(chained, id="ChainedScheduler"),
    )  # fmt: skip


PARTS = ("_schedulers", "lr_lambdas")  # entries are dictionaries, or None
AS_MANY = ("base_lrs", "_last_lr", *PARTS)  # others may have more or fewer numbers


def faults_of(key, value):
    """Values that cannot stand for ``value``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ["text", None, {}]
    if not isinstance(value, list) or not value:
        return []
    numbers = all(isinstance(each, (int, float)) for each in value)
    texts = [["text"] * len(value)] if numbers and key not in PARTS else []
    return [None, 3, *texts] * (numbers or key in PARTS) + [value[1:]] * (key in AS_MANY)


@pytest.mark.parametrize("make", [*schedulers()])
def test_schedulers(make):
    right = deepcopy(make().state_dict())
    make().load_state_dict(right)
    for key, value in right.items():
        for wrong in faults_of(key, value):
            scheduler = make()
            before = str(scheduler.state_dict())
            with pytest.raises((KeyError, TypeError, ValueError)) as caught:
                scheduler.load_state_dict({**right, key: wrong})
            assert f"'{key}'" in str(caught.value), (key, wrong, caught.value)
            assert str(scheduler.state_dict()) == before


@pytest.mark.parametrize("key", ["_schedulers", "lr_lambdas"])
def test_parts_that_are_missing(key):
    optimizer = stepped("SGD")
    scheduler = (
        lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(optimizer)])
        if key == "_schedulers"
        else lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
    )
    state = scheduler.state_dict()
    del state[key]
    with pytest.raises(KeyError, match=f"'{key}'"):
        scheduler.load_state_dict(state)
