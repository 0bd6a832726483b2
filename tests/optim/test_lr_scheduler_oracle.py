"""Every scheduler against PyTorch: hyperparameters, state_dict and warnings after each of some epochs."""

import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight import optim

torch = pytest.importorskip("torch")


class Power:
    """A callable object, whose attributes are saved."""

    def __init__(self, base):
        self.base = base

    def __call__(self, x):
        return self.base**x


# name -> function of (lr_scheduler module, optimizer, last_epoch)
SIMPLE = {
    "lambda": lambda s, o, e=-1: s.LambdaLR(o, lambda x: 0.9**x, e),
    "lambdas": lambda s, o, e=-1: s.LambdaLR(o, [lambda x: 0.9**x, Power(0.5)], e),
    "too few lambdas": lambda s, o, e=-1: s.LambdaLR(o, [lambda x: 0.9**x], e),
    "multiplicative": lambda s, o, e=-1: s.MultiplicativeLR(o, [lambda x: 0.9, Power(0.5)], e),
    "no function": lambda s, o, e=-1: s.MultiplicativeLR(o, 3, e),
    "step": lambda s, o, e=-1: s.StepLR(o, 2, last_epoch=e),
    "step 3": lambda s, o, e=-1: s.StepLR(o, 3, 0.5, e),
    "milestones": lambda s, o, e=-1: s.MultiStepLR(o, [2, 2, 4], last_epoch=e),
    "constant": lambda s, o, e=-1: s.ConstantLR(o, last_epoch=e),
    "constant 3": lambda s, o, e=-1: s.ConstantLR(o, 0.5, 3, e),
    "bad constant": lambda s, o, e=-1: s.ConstantLR(o, 2),
    "linear": lambda s, o, e=-1: s.LinearLR(o, last_epoch=e),
    "linear down": lambda s, o, e=-1: s.LinearLR(o, 0.5, 0.1, 4, e),
    "bad linear": lambda s, o, e=-1: s.LinearLR(o, 0),
    "bad linear end": lambda s, o, e=-1: s.LinearLR(o, 1, 2),
    "exponential": lambda s, o, e=-1: s.ExponentialLR(o, 0.9, e),
    "polynomial": lambda s, o, e=-1: s.PolynomialLR(o, last_epoch=e),
    "polynomial 7": lambda s, o, e=-1: s.PolynomialLR(o, 7, 2.0, e),
    "cosine": lambda s, o, e=-1: s.CosineAnnealingLR(o, 4, last_epoch=e),
    "cosine 3": lambda s, o, e=-1: s.CosineAnnealingLR(o, 3, 0.05, e),
    "restarts": lambda s, o, e=-1: s.CosineAnnealingWarmRestarts(o, 3, last_epoch=e),
    "longer restarts": lambda s, o, e=-1: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01, last_epoch=e),
    "bad restarts": lambda s, o, e=-1: s.CosineAnnealingWarmRestarts(o, 0),
    "bad factor": lambda s, o, e=-1: s.CosineAnnealingWarmRestarts(o, 2, 1.5),
    "bad minimum": lambda s, o, e=-1: s.CosineAnnealingWarmRestarts(o, 2, 1, "a"),
    "cyclic": lambda s, o, e=-1: s.CyclicLR(o, 0.1, 0.5, 2, last_epoch=e),
    "cyclic 2": lambda s, o, e=-1: s.CyclicLR(o, [0.1, 0.2], [0.5, 0.6], 2, 3, mode="triangular2", last_epoch=e),
    "cyclic 3": lambda s, o, e=-1: s.CyclicLR(
        o, 0.1, 0.5, 2, 3, mode="exp_range", gamma=0.8, cycle_momentum=False, last_epoch=e
    ),
    "cyclic 4": lambda s, o, e=-1: s.CyclicLR(
        o, 0.1, 0.5, 2, 3, scale_fn=lambda x: 1 / x, base_momentum=[0.7, 0.75], max_momentum=[0.8, 0.95], last_epoch=e
    ),
    "cyclic 5": lambda s, o, e=-1: s.CyclicLR(
        o, 0.1, 0.5, 2, 3, scale_fn=Power(0.5), scale_mode="iterations", last_epoch=e
    ),
    "bad cyclic": lambda s, o, e=-1: s.CyclicLR(o, [0.1], 0.5),
    "bad mode": lambda s, o, e=-1: s.CyclicLR(o, 0.1, 0.5, mode="x"),
    "one cycle": lambda s, o, e=-1: s.OneCycleLR(o, 0.5, 8, last_epoch=e),
    "three phases": lambda s, o, e=-1: s.OneCycleLR(
        o, [0.5, 0.6], None, 2, 5, 0.4, "linear", three_phase=True, last_epoch=e
    ),
    "over": lambda s, o, e=-1: s.OneCycleLR(o, 0.5, 3, last_epoch=e),
    "no steps": lambda s, o, e=-1: s.OneCycleLR(o, 0.5),
    "bad steps": lambda s, o, e=-1: s.OneCycleLR(o, 0.5, -1),
    "bad start": lambda s, o, e=-1: s.OneCycleLR(o, 0.5, 5, pct_start=2),
    "bad strategy": lambda s, o, e=-1: s.OneCycleLR(o, 0.5, 5, anneal_strategy="x"),
    "bad epochs": lambda s, o, e=-1: s.OneCycleLR(o, 0.5, epochs=0, steps_per_epoch=3),
    "not an optimizer": lambda s, o, e=-1: s.StepLR(3, 1),
}
COMBINED = {
    "sequence": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]),
    "three": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1, 3), s.CosineAnnealingLR(o, 4), s.StepLR(o, 2)], [3, 6]
    ),
    "nested": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]), s.StepLR(o, 1)], [4]
    ),
    "restarts first": lambda s, o: s.SequentialLR(
        o, [s.CosineAnnealingWarmRestarts(o, 2), s.MultiplicativeLR(o, lambda e: 0.5), s.PolynomialLR(o, 4)], [2, 5]
    ),
    "cyclic last": lambda s, o: s.SequentialLR(o, [s.MultiStepLR(o, [1, 3]), s.CyclicLR(o, 0.1, 0.4, 2)], [4]),
    "chain first": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]), s.StepLR(o, 2)], [4]
    ),
    "none": lambda s, o: s.SequentialLR(o, [], [4]),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [4]),
    "plateau": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.ReduceLROnPlateau(o)], [4]),
    "no scheduler": lambda s, o: s.SequentialLR(o, [3], []),
    "chain": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
    "chain with optimizer": lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), s.CosineAnnealingLR(o, 5)], o),
    "chain of none": lambda s, o: s.ChainedScheduler([]),
    "chain with plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "sequence in chain": lambda s, o: s.ChainedScheduler(
        [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]), s.PolynomialLR(o, 6)]
    ),
}
PLATEAUS = [
    {},
    {"patience": 1},
    {"patience": 0, "cooldown": 2},
    {"mode": "max", "patience": 1, "threshold_mode": "abs", "threshold": 0.05},
    {"min_lr": [0.05, 0.5], "patience": 0},
    {"patience": 0, "eps": 0.05},
    {"factor": 1.0},
    {"mode": "x"},
    {"threshold_mode": "x"},
    {"min_lr": [1]},
]
LOSSES = [1, 0.9, 0.9, 0.9, 0.95, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9, 1.0, float("nan"), 0.7]


def make_optimizer(module, library, adam=False, resume=False):
    groups = [{"params": [module.zeros(2).requires_grad_()], "lr": lr} for lr in (0.1, 1.0)]
    if resume:
        for group in groups:
            group.update(initial_lr=2 * group["lr"], max_lr=3.0, min_lr=0.01, max_momentum=0.9, base_momentum=0.8)
    return library.Adam(groups) if adam else library.SGD(groups, momentum=0.9)


def without_functions(value):
    if isinstance(value, dict):
        return {key: without_functions(entry) for key, entry in value.items() if key != "_scale_fn_ref"}
    return [without_functions(entry) for entry in value] if isinstance(value, list) else value


def history(module, library, make, steps, arguments=lambda step: (), adam=False, resume=False, first_step=True):
    """All that can be seen of a schedule after each step; at the end, the error where there was one."""
    found = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizer = make_optimizer(module, library, adam, resume)
            scheduler = make(library.lr_scheduler, optimizer)
            for step in range(-1, steps):
                if step >= 0:
                    if step > 0 or first_step:
                        optimizer.step()
                    scheduler.step(*arguments(step))
                groups = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
                messages = [str(warning.message) for warning in caught]
                state = without_functions(scheduler.state_dict())
                found.append({"groups": groups, "state": state, "last": scheduler.get_last_lr(), "warnings": messages})
    except Exception as error:
        found.append({"error": type(error), "message": str(error).split("\nhint:")[0]})
    return found


def assert_close(mine, real, where):
    if isinstance(real, dict):
        assert set(mine) == set(real), where
        for key in real:
            assert_close(mine[key], real[key], (*where, key))
    elif isinstance(real, (list, tuple)):
        assert len(mine) == len(real), where
        for index, (a, b) in enumerate(zip(mine, real)):
            assert_close(a, b, (*where, index))
    elif isinstance(real, float):
        assert mine == pytest.approx(real, rel=1e-12, abs=1e-15, nan_ok=True), where
    else:
        assert mine == real, where


def compare(make, steps, **options):
    mine = history(rl, optim, make, steps, **options)
    real = history(torch, torch.optim, make, steps, **options)
    assert_close(mine, real, ())


@pytest.mark.parametrize("adam", [False, True], ids=["sgd", "adam"])
@pytest.mark.parametrize("name", SIMPLE)
def test_simple(name, adam):
    compare(SIMPLE[name], 9, adam=adam)
    compare(SIMPLE[name], 2, adam=adam, first_step=False)


@pytest.mark.parametrize("name", SIMPLE)
def test_resuming(name):
    for epoch in range(8):
        compare(lambda s, o, epoch=epoch: SIMPLE[name](s, o, epoch), 4, resume=True)
    compare(lambda s, o: SIMPLE[name](s, o, 2), 1)


@pytest.mark.parametrize("name", SIMPLE)
def test_steps_to_given_epochs(name):
    compare(SIMPLE[name], 5, arguments=lambda step: (step + 2,))
    compare(SIMPLE[name], 6, arguments=lambda step: (7 - step,))


@pytest.mark.parametrize("name", COMBINED)
def test_combined(name):
    compare(COMBINED[name], 9)
    compare(COMBINED[name], 2, first_step=False)


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateau(options):
    compare(lambda s, o: s.ReduceLROnPlateau(o, **options), 14, arguments=lambda step: (LOSSES[step],))
    compare(lambda s, o: s.ReduceLROnPlateau(o, **options), 4, arguments=lambda step: (LOSSES[step], step + 3))


def test_fractions_of_epochs():
    compare(SIMPLE["longer restarts"], 9, arguments=lambda step: (step / 3 + 1,))
    compare(SIMPLE["longer restarts"], 2, arguments=lambda step: (-1,))


@pytest.mark.parametrize("name", ["step", "linear", "cosine", "polynomial", "exponential", "constant", "lambda"])
def test_a_tensor_as_learning_rate(name):
    found = []
    for module, library in ((rl, optim), (torch, torch.optim)):
        optimizer = library.SGD([module.zeros(1).requires_grad_()], lr=module.tensor(0.5))
        scheduler = SIMPLE[name](library.lr_scheduler, optimizer)
        rates = [optimizer.param_groups[0]["lr"].item()]
        for _ in range(7):
            optimizer.step()
            scheduler.step()
            rates.append(optimizer.param_groups[0]["lr"].item())
        found.append(rates)
    np.testing.assert_allclose(*found, 1e-6, 1e-8)
