"""Writes whose operands share memory with what is written, and writes into expanded tensors: refused as PyTorch does."""

import pytest
from stories import assert_same_story

import rushlight

torch = pytest.importorskip("torch")

PAIRS = {
    "overlapping": lambda t, x: (x[:4], x[2:6]),
    "the same tensor": lambda t, x: (x[:4],) * 2,
    "the same window": lambda t, x: (x[:4], x[:4]),
    "transposed": lambda t, x: (x[:4].view(2, 2), x[:4].view(2, 2).t()),
    "apart": lambda t, x: (x[:4], x[4:8]),
    "interleaved": lambda t, x: (x[:8:2], x[1:9:2]),
    "a number of it": lambda t, x: (x[:4], x[1]),
    "detached": lambda t, x: (x[:4], x.detach()[1:5]),
    "data": lambda t, x: (x[:4], x.data[1:5]),
    "expanded": lambda t, x: (x[:1].expand(4), t.ones(4)),
    "expanded, from itself": lambda t, x: (x[:1].expand(4), x[:1].expand(4)),
    "empty": lambda t, x: (x[:0], x[:0]),
}
WRITES = {
    "add_": lambda t, a, b: a.add_(b),
    "mul_": lambda t, a, b: a.mul_(b),
    "iadd": lambda t, a, b: a.__iadd__(b),
    "add_ with alpha": lambda t, a, b: a.add_(b, alpha=2),
    "copy_": lambda t, a, b: a.copy_(b),
    "assignment": lambda t, a, b: a.__setitem__(slice(None), b),
    "assignment of a number": lambda t, a, b: a.__setitem__(slice(None), 2.0),
    "assignment to positions": lambda t, a, b: a.__setitem__(t.tensor([1, 0]), b[:2]) if a.numel() and b.ndim else None,
    "addcmul_": lambda t, a, b: a.addcmul_(b, t.ones(b.shape)),
    "lerp_": lambda t, a, b: a.lerp_(b, 0.5),
    "sub_": lambda t, a, b: a.sub_(b),
    "gt_": lambda t, a, b: a.gt_(b),
    "clamp_": lambda t, a, b: a.clamp_(b),
    "sin_": lambda t, a, b: a.sin_(),
    "zero_": lambda t, a, b: a.zero_(),
    "fill_": lambda t, a, b: a.fill_(3),
    "fill_ with a tensor": lambda t, a, b: a.fill_(t.tensor(3.0)),
    "add out": lambda t, a, b: t.add(b, 1, out=a) if a.shape == b.shape else None,
    "maximum out": lambda t, a, b: t.maximum(a, b, out=a),
}


def writes(torch, note):
    for write_name, write in WRITES.items():
        for pair_name, pair in PAIRS.items():
            x = torch.arange(16.0)
            a, b = pair(torch, x)
            note(f"{write_name}: {pair_name}", lambda a=a, b=b, write=write: write(torch, a, b))
            note("memory", lambda x=x: x)


def test_same_story():
    assert_same_story(writes, torch, hints=False)


# Programs whose operands share memory where PyTorch does not look, since one of them has gaps: it reads what it wrote already.
UNSEEN = {
    "add_": lambda t, x, read: x.add_(read(x[:, 0])),
    "mul_": lambda t, x, read: x.mul_(read(x[:, :1])),
    "copy_": lambda t, x, read: x[:, 0].copy_(read(x[0])),
    "lerp_": lambda t, x, read: x.lerp_(read(x[:, 0]), 0.25),
    "assignment": lambda t, x, read: x.__setitem__((slice(None), 0), read(x[0])),
    "out": lambda t, x, read: t.add(read(x[:, 0]), read(x), out=x),
    "out that grows": lambda t, x, read: t.mul(read(x[0, 0]), read(x), out=x[0, :, 0]),
    "out of windows": lambda t, x, read: t.sub(read(x[:, 0]), read(x[:, 1]), out=x[1]),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", UNSEEN)
def test_unseen_overlap_reads_what_was_there_before(name):
    ours, theirs = rushlight.arange(1.0, 9).reshape(2, 2, 2), torch.arange(1.0, 9).reshape(2, 2, 2)
    UNSEEN[name](rushlight, ours, lambda tensor: tensor)
    UNSEEN[name](torch, theirs, torch.clone)
    assert ours.tolist() == theirs.tolist()
    UNSEEN[name](torch, theirs, lambda tensor: tensor)  # is not refused
