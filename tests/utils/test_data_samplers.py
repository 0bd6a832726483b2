"""Samplers: what they yield, how long they are, what they refuse."""

from itertools import chain
from types import SimpleNamespace

import pytest
from data_examples import Numbers

import rushlight as rl
from rushlight.base import process_group
from rushlight.utils import data


def seeded(seed=0):
    return rl.Generator().manual_seed(seed)


def test_sequential_and_batches():
    assert list(data.SequentialSampler(Numbers(4))) == [0, 1, 2, 3]
    sampler = data.BatchSampler(data.SequentialSampler(Numbers(5)), 2, False)
    assert list(sampler) == [[0, 1], [2, 3], [4]] and len(sampler) == 3
    sampler = data.BatchSampler(data.SequentialSampler(Numbers(5)), 2, True)
    assert list(sampler) == [[0, 1], [2, 3]] and len(sampler) == 2


def test_random_sampler():
    sampler = data.RandomSampler(Numbers(20), generator=seeded())
    orders = [list(sampler), list(sampler)]
    assert orders[0] != orders[1] and all(sorted(order) == list(range(20)) for order in orders)
    longer = list(data.RandomSampler(Numbers(4), num_samples=10, generator=seeded()))
    assert sorted(longer[:4]) == sorted(longer[4:8]) == [0, 1, 2, 3] and len(set(longer[8:])) == 2
    drawn = list(data.RandomSampler(Numbers(4), replacement=True, num_samples=70, generator=seeded()))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2, 3}


def test_random_sampler_follows_its_data():
    numbers = Numbers(5)
    sampler = data.RandomSampler(numbers)
    numbers.size = 3
    assert sorted(sampler) == [0, 1, 2] and len(sampler) == 3


def test_subset_and_weighted():
    assert sorted(data.SubsetRandomSampler([7, 3, 5], generator=seeded())) == [3, 5, 7]
    sampler = data.WeightedRandomSampler([0, 1, 3], 50, generator=seeded())
    assert set(sampler) == {1, 2} and len(sampler) == 50 and sampler.weights.dtype == rl.float64
    assert sorted(data.WeightedRandomSampler([1, 1, 3], 3, replacement=False)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "error", "line"),
    [
        (lambda: data.RandomSampler(Numbers(3), replacement=1), TypeError, "replacement should be a boolean value"),
        (lambda: data.RandomSampler(Numbers(3), num_samples=0), ValueError, "num_samples should be a positive integer"),
        (lambda: data.RandomSampler(Numbers(0)), ValueError, "but got num_samples=0\nhint: the dataset is empty"),
        (lambda: data.WeightedRandomSampler([1.0], True), ValueError, "num_samples should be a positive integer"),
        (lambda: data.WeightedRandomSampler([1.0], 1, 1), ValueError, "replacement should be a boolean value"),
        (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, r"weights have shape \(1, 1\)"),
        (lambda: data.BatchSampler([1], 2.0, False), ValueError, "batch_size should be a positive integer value"),
        (lambda: data.BatchSampler([1], True, False), ValueError, "batch_size should be a positive integer value"),
        (lambda: data.BatchSampler([1], 2, 0), ValueError, "drop_last should be a boolean value"),
        (lambda: data.DistributedSampler(Numbers(3)), ValueError, "Default process group has not been initialized"),
        (lambda: data.DistributedSampler(Numbers(3), 2, 2), ValueError, r"Invalid rank 2, .* interval \[0, 1\]"),
        (lambda: iter(data.Sampler()), NotImplementedError, "defines no __iter__"),
    ],
)
def test_refusals(make, error, line):
    with pytest.raises(error, match=line):
        make()


def test_distributed_sampler():
    def shares(size, **options):
        return [list(data.DistributedSampler(Numbers(size), 3, rank, **options)) for rank in range(3)]

    assert shares(7, shuffle=False) == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    assert shares(7, shuffle=False, drop_last=True) == [[0, 3], [1, 4], [2, 5]]
    assert shares(1, shuffle=False) == [[0], [0], [0]]
    assert sorted(chain.from_iterable(shares(6, seed=5))) == list(range(6))
    sampler = data.DistributedSampler(Numbers(50), 1, 0)
    before = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != before and sorted(before) == list(range(50)) and len(sampler) == 50


def test_distributed_sampler_asks_the_process_group():
    process_group.set_world(SimpleNamespace(size=lambda: 2, rank=lambda: 1))
    try:
        assert list(data.DistributedSampler(Numbers(4), shuffle=False)) == [1, 3]
    finally:
        process_group.set_world(None)


def test_iterations_side_by_side_draw_from_generators_of_their_own():
    sampler = data.RandomSampler(Numbers(9), num_samples=40)

    def interleaved():
        rl.manual_seed(3)
        first, second = iter(sampler), iter(sampler)
        found = [[next(iterator) for _ in range(40)] for iterator in (first, second)]
        return found, list(sampler)

    def mixed():
        rl.manual_seed(3)
        iterators = iter(sampler), iter(sampler)
        found = [[], []]
        for _ in range(40):
            for numbers, iterator in zip(found, iterators):
                numbers.append(next(iterator))
        return found, list(sampler)

    list(sampler)
    assert interleaved() == mixed()
    left = iter(sampler)
    next(left)
    rl.manual_seed(3)
    again = list(sampler)
    rl.manual_seed(3)
    assert again == list(data.RandomSampler(Numbers(9), num_samples=40))
