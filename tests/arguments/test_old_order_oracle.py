"""Calls with numbers before the tensors that they multiply, which PyTorch still takes, against PyTorch's."""

import subprocess
import sys
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

VALUES = "v, m, b = torch.rand(2), torch.rand(2, 2), torch.rand(2, 2, 2)"
CALLS = """
torch.add(v, 2, v)
v.add(2, v)
v.add_(-0.5, m[0])
torch.sub(v, 2, v)
v.sub(2, v)
v.sub_(2, m[0])
torch.addcmul(v, 2, v, v)
v.addcmul(2, v, v)
v.addcmul_(2, m[0], m[1])
torch.addcdiv(v, 2, v, v)
v.addcdiv(2, v, v)
v.addcdiv_(-2, m[0], m[1])
torch.addmm(2, m, 3, m, m)
torch.addmm(2, m, m, m)
m.addmm(2, 3, m, m)
m.addmm(2, m, m)
m.addmm_(2, 3, b[0], b[1])
m.addmm_(2, b[0], b[1])
torch.addmv(2, v, 3, m, v)
v.addmv(2, m, v)
v.addmv_(2, 3, m, m[0])
torch.addr(2, m, 3, v, v)
torch.addr(2, m, v, v)
m.addr_(2, 3, v, v)
torch.addbmm(2, m, 3, b, b)
m.addbmm_(2, b, b)
torch.baddbmm(2, b, 3, b, b)
b.baddbmm(2, b, b)
b.baddbmm_(2, 3, b.clone(), b.clone())
torch.add(v, 2, v, out=m[0])
torch.addmm(2, m, 3, m, m, out=b[0])
""".strip().split("\n")
WRONG = """
torch.add(v, v, v)
torch.add(2, v, v)
v.add_(2, 3, v)
v.addcmul_(v, 2, v)
torch.addmm(m, 2, 3, m, m)
m.addmm_(2, 3, 4, m, m)
torch.mul(v, 2, v)
v.add_(2, v, alpha=3)
""".strip().split("\n")


def outcome(library, call):
    library.manual_seed(0)
    space = {"torch": library}
    exec(VALUES, space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(call, space)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    return [value.tolist() for value in (result, space["v"], space["m"], space["b"])]


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    theirs, ours = outcome(torch, call), outcome(rushlight, call)
    assert isinstance(theirs, list)
    assert [flat(value) for value in ours] == [pytest.approx(flat(value), rel=1e-5) for value in theirs]


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("call", WRONG)
def test_orders_that_are_none(call):
    theirs, ours = outcome(torch, call), outcome(rushlight, call)
    assert theirs[0] == ours[0] == "TypeError"


def test_gradients():
    x = rushlight.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * 1).add_(3, x).sum().backward()
    assert x.grad.tolist() == [4, 4]


WARN = """
import warnings
import {library} as torch
{values}
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    {call}
    {call}
print(len(told), told[0].category.__name__, str(told[0].message).split(" (Triggered")[0], told[0].filename)
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS[:29:4])
def test_the_first_is_warned_of(call):
    texts = [
        subprocess.run(
            [sys.executable, "-c", WARN.format(library=library, values=VALUES, call=call)],
            capture_output=True,
            text=True,
        ).stdout
        for library in ("torch", "rushlight")
    ]
    assert texts[0] == texts[1] != ""
