"""Whole-batch reads give what reading sample by sample gives, and step aside where they might not."""

import pytest
from data_examples import Numbers

import rushlight as rl
from rushlight.utils import data
from rushlight.utils.data.batch_read import batch_reader
from rushlight.utils.data.collate import default_collate_fn_map


def same(left, right):
    assert type(left) is type(right)
    if isinstance(left, rl.Tensor):
        assert left.dtype == right.dtype and left.shape == right.shape and rl.equal(left, right)
        assert left.is_contiguous() and left.requires_grad == right.requires_grad
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            same(left[key], right[key])
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        for one, other in zip(left, right):
            same(one, other)
    else:
        assert left == right


def columns(size, offset=0):
    return data.TensorDataset(
        rl.arange(offset, offset + size), rl.rand(size, 3, 4), rl.rand(size, 4, 3).transpose(1, 2), rl.rand(2, size).T
    )


def datasets():
    plain, other = columns(9), columns(6, 100)
    return {
        "tensors": plain,
        "subset": data.Subset(plain, [8, 1, 3, 3, 0, 5, 2]),
        "split": data.random_split(plain, [5, 4])[0],
        "concat": plain + other,
        "concat of subsets": data.Subset(plain, [7, 0]) + data.Subset(other, [5, 4, 3]) + plain,
        "subset of concat": data.Subset(plain + other, [14, 0, 8, 9, 10, 3]),
        "stack": data.StackDataset(plain, columns(9)),
        "named stack": data.StackDataset(a=plain, b=columns(9)),
        "concat of named stacks": data.StackDataset(a=plain) + data.StackDataset(a=other),
        "tensor": rl.rand(7, 2),
        "one column": data.TensorDataset(rl.arange(5)),
    }


@pytest.mark.parametrize("name", list(datasets()))
@pytest.mark.parametrize("shuffle", [False, True])
def test_equal_to_reading_one_by_one(name, shuffle):
    rl.manual_seed(0)
    dataset = datasets()[name]
    reader = batch_reader(dataset)
    assert reader is not None and reader([0, 1]) is not NotImplemented
    rl.manual_seed(1)
    fast = list(data.DataLoader(dataset, 4, shuffle=shuffle))
    rl.manual_seed(1)
    slow = list(data.DataLoader(dataset, 4, shuffle=shuffle, collate_fn=lambda batch: data.default_collate(batch)))
    same(fast, slow)


def test_batches_are_copies():
    table = rl.arange(4)
    for (batch,) in data.DataLoader(data.TensorDataset(table), 2):
        batch.add_(10)
    assert table.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "sampler", [[-1, 2], [7, 0], [-6, 1], [True, False], [slice(0, 2), slice(1, 3)], [rl.tensor(1), rl.tensor(2)]]
)
def test_unusual_indices(sampler):
    for dataset in (data.TensorDataset(rl.arange(5)), data.Subset(data.TensorDataset(rl.arange(9)), [8, 1, 3, 5, 6])):
        outcomes = []
        for options in ({}, {"collate_fn": lambda batch: data.default_collate(batch)}):
            try:
                outcomes.append(
                    [batch[0].tolist() for batch in data.DataLoader(dataset, 2, sampler=sampler, **options)]
                )
            except Exception as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]


def test_empty_batch():
    with pytest.raises(IndexError):
        list(data.DataLoader(data.TensorDataset(rl.arange(5)), batch_sampler=[[]]))


def test_gradients_reach_the_tensors():
    table = rl.ones(4, 2, requires_grad=True)
    for (batch,) in data.DataLoader(data.TensorDataset(table), 2):
        batch.sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0]] * 4


def test_concat_of_unlike_parts():
    mixed = data.TensorDataset(rl.arange(3)) + data.TensorDataset(rl.arange(3.0))
    assert [batch[0].dtype for batch in data.DataLoader(mixed, 4)] == [rl.float32, rl.float32]
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        list(data.DataLoader(data.TensorDataset(rl.arange(3)) + data.TensorDataset(rl.arange(3), rl.arange(3)), 4))
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        list(data.DataLoader(data.TensorDataset(rl.zeros(3)) + data.TensorDataset(rl.zeros(3, 2)), 4))


class Batched(Numbers):
    """Counts its batched reads."""

    reads = 0

    def __getitem__(self, index):
        return index

    def __getbatch__(self, indices):
        assert type(indices) is list and indices and all(type(index) is int for index in indices)
        Batched.reads += 1
        return rl.tensor(indices)


class Doubled(Batched):
    def __getitem__(self, index):
        return super().__getitem__(index) * 2


class Manifold(Batched):
    def __getitems__(self, indices):
        return [index * 3 for index in indices]


class Inherited(Batched):
    pass


@pytest.mark.parametrize(
    ("kind", "options", "expected", "reads"),
    [
        (Batched, {}, [[0, 1], [2]], 2),
        (Inherited, {}, [[0, 1], [2]], 2),
        (Doubled, {}, [[0, 2], [4]], 0),
        (Manifold, {}, [[0, 3], [6]], 0),
        (Batched, {"collate_fn": lambda batch: rl.tensor(batch)}, [[0, 1], [2]], 0),
        (Batched, {"sampler": [rl.tensor(2)]}, [[2]], 0),
    ],
)
def test_who_is_read_in_one_go(kind, options, expected, reads):
    Batched.reads = 0
    assert [batch.tolist() for batch in data.DataLoader(kind(3), 2, **options)] == expected
    assert Batched.reads == reads


def test_overridden_methods_inside_wrappers_are_respected():
    wrapped = data.Subset(Doubled(5), [4, 1]) + data.Subset(Doubled(3), [2])
    assert [batch.tolist() for batch in data.DataLoader(wrapped, 3)] == [[8, 2, 4]]


def test_changed_collation_is_respected(monkeypatch):
    monkeypatch.setitem(default_collate_fn_map, rl.Tensor, lambda batch, *, collate_fn_map=None: len(batch))
    assert list(data.DataLoader(data.TensorDataset(rl.arange(3)), 2)) == [[2], [1]]
