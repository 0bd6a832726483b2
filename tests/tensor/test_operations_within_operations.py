"""Operations that run while another one of the same thread computes: in a debugger, or in a finaliser."""

import gc
import sys
import threading

import numpy as np
import pytest

import rushlight as torch

F = torch.nn.functional
SMALL = torch.tensor([0.5, -1.0, 2.0, 3.0])
MATRIX = torch.ones(2, 4)


def written(write):
    return lambda: write(SMALL.clone())


# One for each way in which operations come to NumPy: tensor/dispatch.py, fast.py, forms.py, writes.py, linear.py, compute.py.
OPERATIONS = {
    "one operand": lambda: SMALL.exp(),
    "two operands": lambda: SMALL / 0,
    "a number": lambda: SMALL**2.5,
    "several operands": lambda: torch.lerp(SMALL, SMALL + 1, SMALL),
    "promotion": lambda: torch.lerp(SMALL.double(), torch.tensor(1.0, dtype=torch.float64), 2),
    "a formula": lambda: F.gelu(SMALL),
    "reduction": lambda: SMALL.sum(),
    "dimension": lambda: SMALL.cumsum(0),
    "general": lambda: MATRIX.sum(dim=1, keepdim=True),
    "list": lambda: torch.cat([SMALL, SMALL]),
    "new": lambda: torch.linspace(0, 1, 5),
    "linear": lambda: F.linear(MATRIX, MATRIX),
    "norm": lambda: F.layer_norm(MATRIX, (4,)),
    "in place": written(lambda x: x.div_(SMALL)),
    "in place, several operands": written(lambda x: x.clamp_(0.0, 1.0)),
    "in place, of another shape": written(lambda x: x.mul_(torch.tensor([2]))),
    "only in place": written(lambda x: x.fill_(2.0)),
    "out": lambda: torch.exp(SMALL, out=torch.empty(4)),
    "backward": lambda: gradient(),
}


def text(tensor):
    return str(tensor.tolist())  # in which NaN is equal to itself


def gradient():
    x = SMALL.clone().requires_grad_()
    with torch.enable_grad():  # within another backward call recording is off
        (F.softplus(x) * x).sum().backward()
    return x.grad


EXPECTED = {name: text(operation()) for name, operation in OPERATIONS.items()}


def compute_all():
    """Run every operation; the names of those that failed, with the error."""
    failed = []
    for name, operation in OPERATIONS.items():
        try:
            if text(operation()) != EXPECTED[name]:
                failed.append((name, "wrong"))
        except RuntimeError as error:
            failed.append((name, str(error)))
    return failed


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_tracer_may_compute_at_every_call_inside_an_operation(name):
    failed, calls = set(), []

    def trace(frame, event, argument):
        calls.append(frame.f_code.co_name)
        failed.update(compute_all())

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = OPERATIONS[name]()
    finally:
        sys.settrace(before)
    assert text(found) == EXPECTED[name]
    assert calls and not failed


def test_finalisers_may_compute():
    failed, done = set(), []

    class Cycle:
        def __init__(self):
            self.own = self

        def __del__(self):
            failed.update(compute_all())
            done.append(1)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(20):
            Cycle()
            F.gelu(SMALL)
            F.layer_norm(MATRIX, (4,))
    finally:
        gc.set_threshold(*before)
    assert done and not failed


def test_all_threads_compute_at_once():
    failed = []
    threads = [threading.Thread(target=lambda: [failed.extend(compute_all()) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_the_users_setting_stays_and_holds_nowhere_inside():
    with np.errstate(all="raise"):
        assert not compute_all()
        assert np.geterr()["divide"] == "raise"
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)
