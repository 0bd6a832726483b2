"""How the gradients of leaves lie in memory: as the leaf does, or row by row where that has gaps."""

import itertools

import pytest

import rushlight

torch = pytest.importorskip("torch")

SHAPE = (3, 4, 5)
LOSSES = {
    "product": lambda t, w, c: (w * c).sum(),
    "twice": lambda t, w, c: (w * c).sum() + w.exp().sum(),
    "sum": lambda t, w, c: w.sum(),
    "mean": lambda t, w, c: w.mean(1).sum(),
    "slice": lambda t, w, c: (w[:, :2] * 2).sum(),
    "permuted": lambda t, w, c: (w.permute(2, 0, 1) * c.permute(2, 0, 1)).sum(),
    "reshaped": lambda t, w, c: (w.reshape(-1) * c.reshape(-1)).sum(),
    "joined": lambda t, w, c: t.cat([w, w], 1).mul(3).sum(),
}


def steps(tensor):
    return tuple(step for length, step in zip(tensor.shape, tensor.stride()) if length > 1)


def leaves():
    """Dense in each order of the dimensions, and the same with gaps."""
    for order in itertools.permutations(range(3)):
        lengths, back = [SHAPE[axis] for axis in order], [order.index(axis) for axis in range(3)]
        yield torch.rand(lengths).permute(back)
        yield torch.rand([2 * n for n in lengths])[tuple(slice(0, n) for n in lengths)].permute(back)


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("recording", [False, True])
def test_leaf_gradients(name, recording):
    constant = torch.rand(SHAPE[::-1]).permute(2, 1, 0)
    for leaf in leaves():
        found = []
        for module in (torch, rushlight):
            w, c = (x.detach() if module is torch else rushlight.from_numpy(x.numpy()) for x in (leaf, constant))
            w.requires_grad_()
            for _ in range(2):  # the second is added to the first
                LOSSES[name](module, w, c).backward(create_graph=recording)
                found.append(steps(w.grad))
            w.grad = None
        assert found[:2] == found[2:], leaf.stride()
