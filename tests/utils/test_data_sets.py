"""Datasets: indexing, joining, splitting, and their errors."""

import pytest
from data_examples import Numbers, Stream

import rushlight as rl
from rushlight.utils import data


def test_tensor_dataset():
    dataset = data.TensorDataset(rl.arange(4), rl.arange(8).reshape(4, 2))
    number, pair = dataset[1]
    assert number.item() == 1 and pair.tolist() == [2, 3]
    assert [part.tolist() for part in dataset[1:3]] == [[1, 2], [[2, 3], [4, 5]]]
    assert len(dataset) == 4
    with pytest.raises(AssertionError, match="Size mismatch between tensors\nhint: their first sizes are 3, 4"):
        data.TensorDataset(rl.zeros(3), rl.zeros(4))


def test_stack_dataset():
    numbers = Numbers(3)
    assert data.StackDataset(numbers, "abc")[1] == (1, "b")
    assert data.StackDataset(n=numbers, c="abc")[-1] == {"n": -1, "c": "c"}
    assert data.StackDataset(numbers, "abc").__getitems__([0, 2]) == [(0, "a"), (2, "c")]
    assert data.StackDataset(n=numbers, c="abc").__getitems__([0, 2]) == [{"n": 0, "c": "a"}, {"n": 2, "c": "c"}]
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        data.StackDataset()
    with pytest.raises(ValueError, match="Supported either"):
        data.StackDataset(numbers, n=numbers)
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(numbers, Numbers(4))


def test_stack_dataset_checks_what_getitems_returns():
    class Short(Numbers):
        def __getitems__(self, indices):
            return indices[1:]

    with pytest.raises(ValueError, match=r"Nested dataset's output size mismatch\. Expected 2, got 1"):
        data.StackDataset(Short(5), Numbers(5)).__getitems__([0, 1])


def test_concat_dataset():
    joined = Numbers(3) + Numbers(2)
    assert isinstance(joined, data.ConcatDataset)
    assert [joined[index] for index in range(-5, 5)] == [0, 1, 2, 0, 1] * 2
    assert joined.cumulative_sizes == data.ConcatDataset.cumsum([Numbers(3), Numbers(2)]) == [3, 5]
    with pytest.raises(IndexError):
        joined[5]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        joined[-6]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        Numbers(1) + Stream(1)
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert joined.cummulative_sizes == [3, 5]


def test_chain_dataset():
    joined = Stream(2) + Stream(1)
    assert isinstance(joined, data.ChainDataset) and list(joined) == [0, 1, 0]
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(Stream(2) + Numbers(1))
    with pytest.raises(TypeError, match="has no len"):
        len(joined)


def test_subset():
    subset = data.Subset(Numbers(10), [9, 4, 1])
    assert [subset[0], subset[-1], len(subset)] == [9, 1, 3]
    assert subset.__getitems__([2, 0]) == [1, 9]
    rows = data.Subset(data.TensorDataset(rl.arange(10)), [9, 4, 1])[[0, 2]]
    assert rows[0].tolist() == [9, 1]


def test_subset_passes_getitems_on():
    class Tens(Numbers):
        def __getitems__(self, indices):
            return [index * 10 for index in indices]

    assert data.Subset(Tens(5), [4, 2]).__getitems__([0, 1]) == [40, 20]


def test_base_classes_say_what_is_missing():
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        data.Dataset()[0]
    with pytest.raises(TypeError, match="Can't instantiate abstract class IterableDataset"):
        data.IterableDataset()
    with pytest.raises(TypeError, match="has no len"):
        len(data.Dataset())
    assert data.Dataset[int] is not None and data.DataLoader[int] is not None


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([4, 6], [4, 6]),
        ([0.5, 0.5], [5, 5]),
        ([0.35, 0.35, 0.3], [4, 3, 3]),
        ([1], [10]),
        ([10], [10]),
        ([0, 10], [0, 10]),
    ],
)
def test_random_split(lengths, sizes):
    parts = data.random_split(Numbers(10), lengths, generator=rl.Generator().manual_seed(1))
    assert [len(part) for part in parts] == sizes
    assert sorted(index for part in parts for index in part) == list(range(10))


def test_random_split_refuses():
    with pytest.raises(ValueError, match=r"Sum of input lengths does not equal.*!\nhint: the lengths sum to 11"):
        data.random_split(Numbers(10), [5, 6])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(Numbers(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 0 is 0. This might result in an empty dataset."):
        data.random_split(Numbers(10), [0.0, 1.0])
