"""Schedulers by themselves: values, warnings, resuming; runs without PyTorch."""

import math
import pickle
import warnings

import pytest

import rushlight as rl
from rushlight import optim
from rushlight.optim import lr_scheduler


def optimizer(lr=1.0, **options):
    return optim.SGD([rl.zeros(1).requires_grad_()], lr=lr, momentum=0.9, **options)


def rates(scheduler, count):
    found = [scheduler.get_last_lr()[0]]
    for _ in range(count):
        scheduler.optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


EXPECTED = {
    "LambdaLR": ((lambda epoch: 1 / (1 + epoch),), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    "MultiplicativeLR": ((lambda epoch: epoch / 2,), [1, 0.5, 0.5, 0.75, 1.5]),
    "StepLR": ((2,), [1, 1, 0.1, 0.1, 0.01]),
    "MultiStepLR": (([1, 4, 4],), [1, 0.1, 0.1, 0.1, 0.001]),
    "ConstantLR": ((0.5, 2), [0.5, 0.5, 1, 1, 1]),
    "LinearLR": ((0.5, 1.0, 2), [0.5, 0.75, 1, 1, 1]),
    "ExponentialLR": ((0.5,), [1, 0.5, 0.25, 0.125, 0.0625]),
    "PolynomialLR": ((4, 2.0), [1, 9 / 16, 4 / 16, 1 / 16, 0]),
    "CosineAnnealingLR": ((4,), [(1 + math.cos(math.pi * t / 4)) / 2 for t in range(5)]),
    "CosineAnnealingWarmRestarts": ((2,), [1, 0.5, 1, 0.5, 1]),
    "CyclicLR": ((1.0, 3.0, 2), [1, 2, 3, 2, 1]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_values(name):
    arguments, expected = EXPECTED[name]
    scheduler = getattr(lr_scheduler, name)(optimizer(), *arguments)
    assert rates(scheduler, 4) == pytest.approx(expected)


@pytest.mark.parametrize("name", EXPECTED)
def test_state_dicts_resume(name):
    arguments, expected = EXPECTED[name]
    first = getattr(lr_scheduler, name)(optimizer(), *arguments)
    rates(first, 2)
    resumed = optimizer()
    resumed.load_state_dict(first.optimizer.state_dict())
    second = getattr(lr_scheduler, name)(resumed, *arguments)
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(first.optimizer.state_dict())
    assert rates(second, 2) == pytest.approx(expected[2:])


def test_one_cycle():
    scheduler = lr_scheduler.OneCycleLR(optimizer(), max_lr=1.0, total_steps=5, pct_start=0.4, anneal_strategy="linear")
    found = rates(scheduler, 4)
    assert found[0] == pytest.approx(0.04)
    assert max(found) == found[1] == pytest.approx(1.0)
    assert found[-1] == pytest.approx(0.04 / 1e4)
    scheduler.optimizer.step()
    scheduler.step()
    scheduler.optimizer.step()
    with pytest.raises(ValueError, match=r"Tried to step 6 times. The specified number of total steps is 5"):
        scheduler.step()


def test_momentum_cycles_against_the_learning_rate():
    adam = optim.Adam([rl.zeros(1).requires_grad_()])
    scheduler = lr_scheduler.CyclicLR(adam, 0.1, 0.5, 1, base_momentum=0.8, max_momentum=0.9)
    assert adam.param_groups[0]["betas"] == (0.9, 0.999)
    adam.step()
    scheduler.step()
    assert adam.param_groups[0]["betas"] == pytest.approx((0.8, 0.999))
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        lr_scheduler.CyclicLR(optim.Adagrad([rl.zeros(1).requires_grad_()]), 0.1, 0.5)


def test_plateau():
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer(), patience=1, cooldown=1)
    found = []
    for loss in (2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5):
        scheduler.step(rl.tensor(loss))
        found.append(scheduler.get_last_lr()[0])
    assert found == pytest.approx([1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_sequential_and_chained():
    base = optimizer()
    sequence = lr_scheduler.SequentialLR(
        base, [lr_scheduler.ConstantLR(base, 0.5, 2), lr_scheduler.ExponentialLR(base, 0.5)], milestones=[2]
    )
    assert rates(sequence, 4) == pytest.approx([0.5, 0.5, 1, 0.5, 0.25])
    base = optimizer()
    chain = lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(base, 0.5, 2), lr_scheduler.ExponentialLR(base, 0.5)]
    )
    assert rates(chain, 3) == pytest.approx([0.5, 0.25, 0.25, 0.125])


def test_order_of_steps():
    scheduler = lr_scheduler.StepLR(optimizer(), 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    scheduler.step()
    scheduler = lr_scheduler.StepLR(optimizer(), 1)
    scheduler.optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden"):
        scheduler.step()


def test_epoch_argument_is_deprecated_and_uses_the_closed_form():
    scheduler = lr_scheduler.StepLR(optimizer(), 2)
    scheduler.optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(5)
    assert scheduler.get_last_lr() == pytest.approx([0.01])


def test_get_lr_is_for_the_scheduler():
    scheduler = lr_scheduler.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        assert scheduler.get_lr() == [1.0]


def test_a_learning_rate_that_is_a_tensor_stays_one():
    lr = rl.tensor(1.0)
    scheduler = lr_scheduler.ExponentialLR(optimizer(lr), 0.5)
    assert rates(scheduler, 2)[-1].item() == 0.25
    assert scheduler.optimizer.param_groups[0]["lr"] is lr


def test_a_users_scheduler():
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    assert rates(Halving(optimizer()), 2) == [1, 0.5, 0.25]


def test_resuming_needs_the_initial_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified"):
        lr_scheduler.StepLR(optimizer(), 1, last_epoch=3)
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)


def test_states_can_be_pickled():
    for name, (arguments, _) in EXPECTED.items():
        state = getattr(lr_scheduler, name)(optimizer(), *arguments).state_dict()
        assert pickle.loads(pickle.dumps(state)) == state


def test_optimizers_without_schedulers_know_nothing_of_them():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base = optimizer()
        base.step()
        first = lr_scheduler.StepLR(base, 1)
        base.step()
        first.step()
        second = lr_scheduler.StepLR(base, 1)
        second.step()
