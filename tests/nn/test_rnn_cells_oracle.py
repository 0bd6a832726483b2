"""Recurrent cells against PyTorch: derivatives of two orders, parts without gradients, writes in place."""

import pytest
from layer_pairs import copied, draw

import rushlight as rl

torch = pytest.importorskip("torch")
KINDS = ("LSTMCell", "GRUCell", "RNNCell")


def pair(kind):
    ours, theirs = (getattr(library.nn, kind)(3, 4).double() for library in (rl, torch))
    copied(ours, theirs)
    return (rl, ours), (torch, theirs)


def arrays(rows=5):
    return draw(rows, 3), draw(rows, 4), draw(rows, 4)


def run(cell, input, hidden, state):
    """The results as a tuple, whatever the kind."""
    if "LSTM" in type(cell).__name__:
        return cell(input, (hidden, state))
    return (cell(input, hidden),)


def assert_close(found):
    ours, theirs = found
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(torch.from_numpy(a.detach().numpy()), b.detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_two_orders(kind, used):
    found, given = [], arrays()
    if kind != "LSTMCell" and used != (0,):
        pytest.skip("one result")
    for library, cell in pair(kind):
        input, *states = (library.tensor(x, requires_grad=True) for x in given)
        results = run(cell, input, *states)
        leaves = [input, *states[: len(results)], *cell.parameters()]
        total = sum((results[k] ** 2).sum() for k in used)
        first = library.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        again = sum((x.sin()).sum() for x in first if x is not None)
        second = library.autograd.grad(again, leaves, create_graph=True, allow_unused=True)
        third = library.autograd.grad(sum((x**2).sum() for x in second if x is not None), leaves, allow_unused=True)
        found.append([*results, *first, *second, *third])
    assert_close(found)


@pytest.mark.parametrize("kind", KINDS)
def test_printed_names(kind):
    found, given = [], arrays()
    for library, cell in pair(kind):
        results = run(cell, *map(library.tensor, given))
        found.append([result.grad_fn.name() for result in results])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", ["cell", "states", "all"])
def test_parts_without_gradients(kind, frozen):
    found, given = [], arrays()
    for library, cell in pair(kind):
        cell.requires_grad_(frozen == "states")
        tensors = [library.tensor(x, requires_grad=frozen == "cell") for x in given]
        results = run(cell, *tensors)
        assert results[0].requires_grad == (frozen != "all")
        if frozen != "all":
            sum(x.sum() for x in results).backward()
        found.append([results[0], *(x.grad for x in (*tensors, *cell.parameters()))])
    assert_close(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("written", ["hidden result", "last result", "hidden", "cell state"])
def test_writes_in_place_before_backward(kind, frozen, written):
    said, given = [], arrays()
    for library, cell in pair(kind):
        cell.requires_grad_(not frozen)
        input, hidden, state = (library.tensor(x, requires_grad=True) for x in given)
        hidden, state = hidden + 0, state + 0
        results = run(cell, input, hidden, state)
        targets = {"hidden result": results[0], "last result": results[-1], "hidden": hidden, "cell state": state}
        with library.no_grad():
            targets[written].add_(1)
        try:
            sum(x.sum() for x in results).backward()
            said.append((True, input.grad.sum().item()))
        except RuntimeError as error:
            said.append((False, "modified by an inplace operation" in str(error)))
    assert said[0][0] == said[1][0]
    assert said[0][1] == pytest.approx(said[1][1])


@pytest.mark.parametrize("kind", KINDS)
def test_both_biases_have_gradients_of_their_own(kind):
    for library, cell in pair(kind):
        run(cell, *map(library.tensor, arrays()))[0].sum().backward()
        before = cell.bias_hh.grad.clone()
        cell.bias_ih.grad.zero_()
        assert cell.bias_hh.grad.equal(before)


@pytest.mark.parametrize("kind", KINDS)
def test_no_samples(kind):
    for library, cell in pair(kind):
        results = run(cell, *(library.zeros(0, n, dtype=library.float64, requires_grad=True) for n in (3, 4, 4)))
        assert [tuple(x.shape) for x in results] == [(0, 4)] * len(results)
        sum(x.sum() for x in results).backward()
        assert not cell.weight_ih.grad.any()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_computed(kind):
    found, given = [], arrays()
    for library, cell in pair(kind):

        class Doubled(library.nn.Module):
            def forward(self, weight):
                return 2 * weight

        library.nn.utils.parametrize.register_parametrization(cell, "weight_hh", Doubled())
        results = run(cell, *map(library.tensor, given))
        results[0].sum().backward()
        found.append([*results, cell.parametrizations.weight_hh.original.grad])
    assert_close(found)
