"""Batches on their way from a worker: all layouts and dtypes, and shared memory that is reused."""

import gc
import multiprocessing

import numpy as np
import pytest
from data_examples import Blocks, Given, first

import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight.utils.data.transport import LARGE, SLOTS, BatchReceiver, BatchSender

BIG = LARGE  # float32 elements: four times what goes to shared memory


@pytest.fixture
def ends():
    ours, theirs = multiprocessing.Pipe()
    yield BatchSender(theirs), BatchReceiver(ours)
    ours.close()
    theirs.close()


def there(ends, message):
    sender, receiver = ends
    sender.send(message)
    return receiver.unpack(receiver.read())


@pytest.mark.parametrize("size", [1, 10, BIG])
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "uint16"]
)
def test_dtypes(ends, dtype, size):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    sent = (rl.arange(size) % 2).to(getattr(rl, dtype))
    got = there(ends, sent)
    assert got.dtype == sent.dtype and got.shape == sent.shape and rl.equal(got, sent)
    got[0] = 1  # what arrives can be written to


@pytest.mark.parametrize("scale", [1, 60])
def test_layouts(ends, scale):
    base = rl.arange(2 * 3 * 4 * scale * scale).reshape(2, 3, 2 * scale, 2 * scale)
    for sent in (
        base,
        base.permute(0, 2, 3, 1),
        base.transpose(0, 3),
        base.permute(3, 1, 0, 2),
        rl.tensor(5.0),
    ):
        got = there(ends, sent)
        assert got.stride() == sent.stride() and got.shape == sent.shape and rl.equal(got, sent)
    for sent in (rl.zeros(0, 3), base[:, ::2], base[0, 0, 0].expand(4, 2 * scale), base[..., 1]):
        got = there(ends, sent)
        assert got.shape == sent.shape and rl.equal(got, sent)


def test_autograd(ends):
    leaf = there(ends, rl.ones(BIG, requires_grad=True))
    assert leaf.requires_grad and leaf.is_leaf
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        there(ends, rl.ones(2, requires_grad=True) * 2)


def test_structures(ends):
    sent = {"array": np.arange(BIG), "text": "x" * 100_000, "same": [1, None, (2.5, b"b")]}
    got = there(ends, sent)
    assert np.array_equal(got.pop("array"), sent.pop("array")) and got == sent
    tensor = rl.zeros(BIG)
    one, other = there(ends, [tensor, tensor])
    assert one is other


def test_slots_return_when_their_tensors_are_gone(ends):
    sender, receiver = ends
    for _ in range(3 * SLOTS):
        batch = there(ends, [rl.zeros(BIG), rl.zeros(BIG)])
        part = batch[0][1:]
        del batch
        assert not receiver.released
        del part
        assert list(receiver.released) == [0]
        sender.release([receiver.released.popleft()])
    assert len(sender._slots) == 1


def test_what_is_held_is_never_overwritten(ends):
    held = []
    for number in range(3 * SLOTS):
        sender, receiver = ends
        sender.release([receiver.released.popleft() for _ in range(len(receiver.released))])
        held.append(there(ends, rl.full((BIG,), float(number))))
        if number % 5 == 4:
            del held[number // 5]
    assert len(sender._slots) <= SLOTS
    values = {tensor[0].item() for tensor in held}
    assert len(values) == len(held) and all(tensor.min() == tensor.max() for tensor in held)


def test_without_memfd(ends, monkeypatch):
    monkeypatch.delattr("os.memfd_create", raising=False)
    assert there(ends, rl.arange(100)).tolist() == list(range(100))
    assert not ends[0]._slots


@pytest.mark.parametrize("persistent", [False, True])
def test_through_a_loader(persistent):
    loader = DataLoader(Blocks(40, (100, 50)), 2, num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        batches = list(loader)
        assert [batch[:, 0, 0].tolist() for batch in batches] == [[2.0 * i, 2.0 * i + 1] for i in range(20)]
        assert all(rl.equal(batch, batch[:, :1, :1].expand_as(batch)) for batch in batches)
    kept = next(iter(loader))
    del loader, batches
    gc.collect()
    assert kept.sum().item() == 5000.0  # outlives the workers


def test_batches_of_growing_size():
    sizes = [10, 5_000, 100, 200_000, 50_000, 7]
    loader = DataLoader(Given(lambda index: rl.full((sizes[index],), float(index)), 6), num_workers=1, collate_fn=first)
    assert [(batch.numel(), batch[-1].item()) for batch in loader] == [(size, i) for i, size in enumerate(sizes)]


def test_large_index_lists_do_not_block():
    indices = [list(range(60_000))] * 6
    loader = DataLoader(Given(lambda index: 0, 60_000), batch_sampler=indices, num_workers=1, collate_fn=len)
    assert list(loader) == [60_000] * 6
