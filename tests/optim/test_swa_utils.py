"""Averages of models, update_bn and SWALR."""

import copy

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.optim import swa_utils


def models():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    return model, copy.deepcopy(model)


def set_all(model, value):
    with rl.no_grad():
        for param in model.parameters():
            param.fill_(value)
        for buffer in model.buffers():
            buffer.fill_(value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 2.0),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 2.0),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 2.25),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 2.25),
        ({"avg_fn": lambda average, current, count: average + current}, 6.0),
    ],
)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages(options, expected, use_buffers):
    model, _ = models()
    averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers, **options)
    for value in (1.0, 2.0, 3.0):
        set_all(model, value)
        averaged.update_parameters(model)
    assert averaged.n_averaged.item() == 3
    assert averaged.module[0].weight.flatten().tolist() == pytest.approx([expected] * 4)
    wanted = expected if use_buffers else 3.0
    assert averaged.module[1].running_mean.tolist() == pytest.approx([wanted] * 2)
    assert set(averaged.state_dict()) == {"n_averaged"} | {f"module.{name}" for name in model.state_dict()}


def test_an_averaged_model_computes():
    model, _ = models()
    averaged = swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    x = rl.randn(4, 2)
    assert averaged.eval()(x).tolist() == model.eval()(x).tolist()


def test_wrong_arguments():
    model, _ = models()
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa_utils.AveragedModel(model, avg_fn=max, multi_avg_fn=max)
    with pytest.raises(ValueError, match="Invalid decay value 2 provided"):
        swa_utils.get_ema_avg_fn(2)


def test_update_bn():
    model, _ = models()
    batches = [(rl.randn(5, 2), rl.zeros(5)), (rl.randn(5, 2), rl.zeros(5))]
    model.eval()
    swa_utils.update_bn(batches, model)
    assert not model.training
    assert model[1].momentum == 0.1
    with rl.no_grad():
        means = [model[0](batch).mean(0) for batch, _ in batches]
    assert model[1].running_mean.tolist() == pytest.approx(((means[0] + means[1]) / 2).tolist(), abs=1e-6)


@pytest.mark.parametrize("epochs", [0, 1, 4])
@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_swalr_oracle(epochs, strategy):
    torch = pytest.importorskip("torch")
    found = []
    for module, library in ((rl, optim), (torch, torch.optim)):
        groups = [{"params": [module.zeros(1).requires_grad_()], "lr": lr} for lr in (0.1, 1.0)]
        optimizer = library.SGD(groups)
        scheduler = library.swa_utils.SWALR(optimizer, [0.05, 0.5], epochs, strategy)
        rates = [scheduler.get_last_lr()]
        for _ in range(6):
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        found.append((rates, scheduler.state_dict()))
    for mine, real in zip(found[0][0], found[1][0]):
        assert mine == pytest.approx(real)
    assert set(found[0][1]) == set(found[1][1])
