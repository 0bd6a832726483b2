"""The DataLoader in one process: arguments, batches, lengths, warnings."""

import pickle
from itertools import chain

import pytest
from data_examples import MeasuredStream, Numbers, Stream

import rushlight as rl
from rushlight.utils import data
from rushlight.utils.data import DataLoader


def rows(loader):
    return [batch.tolist() for batch in loader]


def test_batches():
    assert rows(DataLoader(Numbers(5), 2)) == [[0, 1], [2, 3], [4]]
    assert rows(DataLoader(Numbers(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert rows(DataLoader(Stream(5), 2)) == [[0, 1], [2, 3], [4]]
    assert rows(DataLoader(Stream(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert rows(DataLoader(Numbers(5), sampler=[3, 1], batch_size=2)) == [[3, 1]]
    assert rows(DataLoader(Numbers(5), batch_sampler=[[3], [1, 2]])) == [[3], [1, 2]]
    assert list(DataLoader(Numbers(3), batch_size=None)) == [0, 1, 2]
    assert list(DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    assert rows(DataLoader([1.5, 2.5], 2)) == [[1.5, 2.5]]
    assert rows(DataLoader(rl.arange(4).reshape(2, 2), 2)) == [[[0, 1], [2, 3]]]
    assert list(DataLoader(Numbers(3), 2, collate_fn=tuple)) == [(0, 1), (2,)]
    assert rows(DataLoader([], 2)) == []


def test_getitems():
    class Tens(Numbers):
        def __getitems__(self, indices):
            return [index * 10 for index in indices]

    assert rows(DataLoader(Tens(3), 2)) == [[0, 10], [20]]
    Tens.__getitems__ = None
    assert rows(DataLoader(Tens(3), 2)) == [[0, 1], [2]]


def test_shuffle_depends_on_the_seed_alone():
    def epochs(**options):
        rl.manual_seed(3)
        loader = DataLoader(Numbers(50), 7, shuffle=True, **options)
        return [rows(loader), rows(loader)]

    once = epochs()
    assert once == epochs() and once[0] != once[1]
    assert sorted(chain.from_iterable(once[0])) == list(range(50))
    before = rl.get_rng_state()
    epochs_with_own = DataLoader(Numbers(50), 7, shuffle=True, generator=rl.Generator().manual_seed(1))
    rl.set_rng_state(before)
    rows(epochs_with_own)
    assert rl.equal(rl.get_rng_state(), before)


def test_lengths():
    assert len(DataLoader(Numbers(10), 3)) == len(iter(DataLoader(Numbers(10), 3))) == 4
    assert len(DataLoader(Numbers(10), 3, drop_last=True)) == 3
    assert len(DataLoader(Numbers(10), None)) == 10
    assert len(DataLoader(MeasuredStream(7, 7), 3)) == 3
    assert len(DataLoader(MeasuredStream(7, 7), 3, drop_last=True)) == 2
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Stream(3)))


def test_a_stream_longer_than_promised_warns():
    loader = DataLoader(MeasuredStream(4, 3))
    assert rows(loader) == [[0], [1], [2], [3]]
    assert len(loader) == 3
    with pytest.warns(UserWarning, match=r"was reported to be 3\(when accessing len\(dataloader\)\), but 4 samples"):
        rows(loader)


@pytest.mark.parametrize(
    ("options", "error", "line"),
    [
        ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in multiprocessing"),
        ({"num_workers": 1, "prefetch_factor": -1}, ValueError, "prefetch_factor option should be non-negative"),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, ValueError, "batch_size=None option disables auto-batching"),
        ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
        (
            {"multiprocessing_context": "fork"},
            ValueError,
            "multiprocessing_context can only be used with multi-process",
        ),
        ({"multiprocessing_context": "no", "num_workers": 1}, ValueError, "should specify a valid start method"),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "should be a valid context object"),
        ({"unknown": 3}, TypeError, "unexpected keyword argument"),
    ],
)
def test_refusals(options, error, line):
    with pytest.raises(error, match=line):
        DataLoader(Numbers(3), **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_refusals_for_streams(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"DataLoader with IterableDataset: expected unspecified {name} option"):
        DataLoader(Stream(3), **options)
    assert rows(DataLoader(Stream(1), shuffle=False)) == [[0]]


def test_refusals_at_iteration():
    with pytest.raises(AssertionError, match="_SingleProcessDataLoaderIter requires timeout == 0"):
        iter(DataLoader(Numbers(3), timeout=1))


def test_attributes_are_fixed():
    loader = DataLoader(Numbers(3), 2, shuffle=True)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, getattr(loader, name))
    loader.collate_fn = list
    assert list(loader)[1:][0].__class__ is list
    assert isinstance(loader.sampler, data.RandomSampler) and isinstance(loader.batch_sampler, data.BatchSampler)
    assert loader.multiprocessing_context is None and loader.prefetch_factor is None


def test_pinning_without_an_accelerator_warns():
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert rows(DataLoader(Numbers(1), pin_memory=True)) == [[0]]


def test_more_workers_than_processors_warn():
    with pytest.warns(UserWarning, match="This DataLoader will create 5000 worker processes in total"):
        DataLoader(Numbers(1), num_workers=5000)


def test_pickling():
    loader = pickle.loads(pickle.dumps(DataLoader([1, 2, 3], 2)))
    assert rows(loader) == [[1, 2], [3]]
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(loader))


def test_errors_come_through_and_iteration_goes_on():
    class Gap(Numbers):
        def __getitem__(self, index):
            if index == 1:
                raise LookupError("gap")
            return index

    iterator = iter(DataLoader(Gap(3)))
    assert next(iterator).tolist() == [0]
    with pytest.raises(LookupError, match="gap"):
        next(iterator)
    assert next(iterator).tolist() == [2]
    with pytest.raises(StopIteration):
        next(iterator)


def test_no_worker_here():
    assert data.get_worker_info() is None
