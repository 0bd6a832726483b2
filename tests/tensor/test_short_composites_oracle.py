"""Functions made of others whose plain calls are one operation's: results, graphs and refusals before and after their short
path is written, beside PyTorch's."""

import gc

import pytest

import rushlight
from rushlight.amp import lists
from rushlight.ops.table import COMPOSITES

torch = pytest.importorskip("torch")

CALLS = {
    "view": lambda m, x: x.view(6, 4),
    "view, inferred": lambda m, x: x.view(-1),
    "view, a row": lambda m, x: x.view([2, -1, 3]),
    "view, by name": lambda m, x: x.view(size=(8, 3)),
    "view, by name and place": lambda m, x: x.view(8, size=(8, 3)),
    "view, a dtype by name": lambda m, x: x.detach().view(dtype=m.int32),
    "view, a dtype": lambda m, x: x.view(m.int32),
    "view of what does not fit": lambda m, x: x.t().view(-1),
    "view, wrong length": lambda m, x: x.view(5, 5),
    "view, two inferred": lambda m, x: x.view(-1, -1),
    "view, below -1": lambda m, x: x.view(-2, 12),
    "view, a float": lambda m, x: x.view(6, 4.0),
    "view, no shape": lambda m, x: x.view(),
    "reshape": lambda m, x: x.reshape(3, 8),
    "reshape, as it lies": lambda m, x: x.reshape((4, 6)),
    "reshape, a copy": lambda m, x: x.t().reshape(-1),
    "reshape, another view": lambda m, x: x[:, :3].reshape(4, 1, 3),
    "reshape, a function": lambda m, x: m.reshape(x, (2, 12)),
    "reshape, a function of lengths": lambda m, x: m.reshape(x, 2, 12),
    "reshape, by name": lambda m, x: x.reshape(shape=(8, -1)),
    "reshape, a function by name": lambda m, x: m.reshape(input=x, shape=(8, 3)),
    "reshape, wrong length": lambda m, x: x.reshape(7, -1),
    "where": lambda m, x: m.where(x > 0, x, 0.0),
    "where, by name": lambda m, x: m.where(x > 0, input=x, other=-x),
    "where, a condition": lambda m, x: m.where(x > 0)[0],
    "where, no condition": lambda m, x: m.where(x, x, x),
    "where, shapes": lambda m, x: m.where(x > 0, x[:3], x),
    "max": lambda m, x: m.max(x),
    "max of two": lambda m, x: m.max(x, -x),
    "max along": lambda m, x: x.max(1).values,
    "max, too much": lambda m, x: m.max(x, 1, False, 2),
    "min": lambda m, x: x.min(),
    "min of nothing": lambda m, x: x[:0].min(),
    "median": lambda m, x: x.median(),
    "median along": lambda m, x: m.median(x, 0).values,
    "median, wrong class": lambda m, x: m.median(x, 0, 1),
    "nonzero": lambda m, x: (x > 0).nonzero(),
    "nonzero, a tuple": lambda m, x: m.nonzero(x > 0, as_tuple=True)[1],
    "argwhere": lambda m, x: m.argwhere(x > 0),
    "outer": lambda m, x: m.outer(x[0], x[1]),
    "outer of a matrix": lambda m, x: m.outer(x, x[0]),
    "outer, into": lambda m, x: m.outer(x[0], x[1], out=m.empty(6, 6)) if not x.requires_grad else x,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("tracked", (False, True))
def test_calls(name, tracked):
    numbers = torch.randn(4, 6, generator=torch.Generator().manual_seed(3)).tolist()
    found = [_outcomes(module, CALLS[name], numbers, tracked) for module in (rushlight, torch)]
    assert found[0] == found[1]


def _outcomes(module, call, numbers, tracked):
    """What the call gives again and again: until the short path is written, and from then on."""
    outcomes = []
    for _ in range(3):
        x = module.tensor(numbers, requires_grad=tracked)
        try:
            found = call(module, x)
        except Exception as error:
            outcomes.append((type(error), str(error).partition("\n")[0]))
            continue
        node = found.grad_fn and found.grad_fn.name()
        if node is not None:
            found.sum().backward()
        gradient = None if x.grad is None else [[round(each, 4) for each in row] for row in x.grad.tolist()]
        outcomes.append((found.tolist(), found.stride(), found._is_view(), node, gradient))
    return outcomes


def test_autocast_sees_all_that_it_casts():
    """A graft on a composite is not on its short path."""
    casting = {*lists.LOWER, *lists.FLOAT32, *lists.WIDEST, *lists.APART}
    assert not casting & {entry.name for entry in COMPOSITES.values() if entry.short is not None}


@pytest.mark.parametrize(
    "make", (lambda x: x, lambda x: x.t(), lambda x: x * 2, lambda x: x.detach(), lambda x: x.add_(1))
)
def test_tensors_hold_their_own_without_a_dictionary(make):
    assert not any(type(held) is dict for held in gc.get_referents(make(rushlight.zeros(2, 3))))
