"""What kernels remember is bounded, and parameters that share memory are updated one after the other."""

import numpy as np

import rushlight as rl
from rushlight.kernels.planning import plans


def test_plans_forget_when_full(monkeypatch):
    monkeypatch.setattr(plans, "_MOST", 3)
    kept, made = plans.Plans(), []
    for number in (1, 1, 2, 3, 1, 4):
        assert kept.remembered((number,), lambda n: made.append(n) or n * 10) == number * 10
        assert len(kept) <= 3
    assert made == [1, 2, 3, 4] and list(kept) == [(4,)]


def test_parameters_that_share_memory():
    memory = np.ones(30_000, np.float32)
    whole, part = (rl.nn.Parameter(rl.from_numpy(m)) for m in (memory, memory[5000:25_000]))
    for parameter in (whole, part):
        parameter.grad = rl.ones(parameter.shape)
    rl.optim.SGD([whole, part], lr=0.25, momentum=0.9).step()
    assert (memory[:5000] == 0.75).all() and (memory[5000:25_000] == 0.5).all() and (memory[25_000:] == 0.75).all()
