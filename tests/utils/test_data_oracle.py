"""torch.utils.data side by side with PyTorch's: orders, splits, batches, errors, and the generator afterwards."""

from collections import namedtuple

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils import data

torch = pytest.importorskip("torch")
torch_data = pytest.importorskip("torch.utils.data")

LIBRARIES = (rl, torch)
MODULES = {rl: data, torch: torch_data}
Point = namedtuple("Point", "x y")


def plain(value):
    """Nested values in a form that compares across the two libraries: tensors as (dtype, shape, list)."""
    if isinstance(value, (rl.Tensor, torch.Tensor)):
        return ("tensor", str(value.dtype), tuple(value.shape), value.tolist())
    if isinstance(value, dict):
        return type(value), {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [plain(one) for one in value]
    return value


def outcome(work):
    """What ``work`` returns, or the type and first line of what it raises."""
    try:
        return plain(work())
    except Exception as error:
        return type(error), str(error).split("\n")[0]


def numbers(library, size):
    class Numbers(MODULES[library].Dataset):
        def __len__(self):
            return size

        def __getitem__(self, index):
            return index

    return Numbers()


def stream(library, size):
    class Stream(MODULES[library].IterableDataset):
        def __iter__(self):
            return iter(range(size))

    return Stream()


def both(work):
    """The outcomes of ``work(library, its utils.data)`` from seed 0, each with the generator's next number."""

    def one(library):
        library.manual_seed(0)
        return outcome(lambda: work(library, MODULES[library])), library.rand(1).item()

    return [one(library) for library in LIBRARIES]


def same(work):
    ours, theirs = both(work)
    assert ours == theirs


SAMPLERS = [
    lambda lib, d: d.RandomSampler(range(10)),
    lambda lib, d: d.RandomSampler(range(1000)),
    lambda lib, d: d.RandomSampler(range(10), num_samples=3),
    lambda lib, d: d.RandomSampler(range(10), num_samples=25),
    lambda lib, d: d.RandomSampler(range(10), num_samples=20),
    lambda lib, d: d.RandomSampler(range(10), replacement=True),
    lambda lib, d: d.RandomSampler(range(10), replacement=True, num_samples=32),
    lambda lib, d: d.RandomSampler(range(10), replacement=True, num_samples=97),
    lambda lib, d: d.SubsetRandomSampler([3, 1, 4, 1, 5]),
    lambda lib, d: d.SubsetRandomSampler("abc"),
    lambda lib, d: d.WeightedRandomSampler([0.1, 0.2, 0.7], 20),
    lambda lib, d: d.WeightedRandomSampler([0.1, 0.2, 0.7], 3, replacement=False),
    lambda lib, d: d.WeightedRandomSampler([0.1, 0.2, 0.7], 4, replacement=False),
    lambda lib, d: d.WeightedRandomSampler([-0.1, 0.2], 4),
    lambda lib, d: d.BatchSampler(d.RandomSampler(range(10)), 3, False),
    lambda lib, d: d.BatchSampler(d.RandomSampler(range(10)), 3, True),
    lambda lib, d: d.DistributedSampler(range(10), 3, 1),
    lambda lib, d: d.DistributedSampler(range(10), 3, 2, drop_last=True),
    lambda lib, d: d.DistributedSampler(range(10), 3, 0, shuffle=False),
    lambda lib, d: d.DistributedSampler(range(3), 10, 9, seed=7),
    lambda lib, d: d.DistributedSampler(range(3), 10, 9, drop_last=True),
    lambda lib, d: d.DistributedSampler(range(3), 2, 2),
    lambda lib, d: d.DistributedSampler(range(3), 2, -1),
    lambda lib, d: d.RandomSampler(range(3), replacement="yes"),
    lambda lib, d: d.RandomSampler(range(3), num_samples=2.5),
    lambda lib, d: d.RandomSampler([]),
    lambda lib, d: d.WeightedRandomSampler([0.5], 2.5),
    lambda lib, d: d.WeightedRandomSampler(0.5, 1),
    lambda lib, d: d.BatchSampler(range(3), "2", False),
    lambda lib, d: d.BatchSampler(range(3), 2, None),
]


@pytest.mark.parametrize("number", range(len(SAMPLERS)))
def test_samplers(number):
    same(lambda lib, d: [(list(sampler), list(sampler), len(sampler)) for sampler in [SAMPLERS[number](lib, d)]])


@pytest.mark.parametrize("number", [0, 2, 4, 5, 6, 7, 8, 10, 14])
def test_own_generators_move_as_far(number):
    def work(lib, d):
        generator = lib.Generator().manual_seed(4)
        sampler = SAMPLERS[number](lib, d)
        inner = getattr(sampler, "sampler", sampler)
        inner.generator = generator
        return list(sampler), lib.rand(3, generator=generator), next(iter(sampler)), lib.rand(3, generator=generator)

    same(work)


SPLITS = [
    [5, 5], [5, 6], [0.5, 0.5], [0.3, 0.3, 0.3], [0.3, 0.3, 0.4], [0.9, 0.2], [1.0], [1], [10], [0, 10], [-1, 11],
    [0.1] * 10, [0.34, 0.33, 0.33], [1.5, -0.5], [-0.1, 1.1], [], [0, 0],
]  # fmt: skip


@pytest.mark.parametrize("lengths", SPLITS, ids=str)
@pytest.mark.parametrize("own", [False, True])
def test_random_split(lengths, own):
    def work(lib, d):
        options = {"generator": lib.Generator().manual_seed(42)} if own else {}
        return [part.indices for part in d.random_split(range(10), lengths, **options)]

    same(work)


LOADERS = [
    {"batch_size": 3},
    {"batch_size": 3, "shuffle": True},
    {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": None, "shuffle": True},
    {"batch_size": None},
    {"shuffle": True, "own": True},
    {"sampler": [3, -1, 2], "batch_size": 2},
    {"sampler": [3, 10], "batch_size": 2},
    {"batch_sampler": [[1, 2], [3]]},
    {"batch_sampler": [(1, 2), [3]]},
    {"batch_sampler": [3]},
    {"batch_sampler": [[]]},
    {"shuffle": 3},
    {"collate_fn": 3},
    {"sampler": 3},
    {"timeout": 3},
    {"timeout": -3},
    {"timeout": "a"},
    {"num_workers": -1, "timeout": -1},
    {"num_workers": "a"},
    {"prefetch_factor": 3, "persistent_workers": True},
    {"persistent_workers": True, "multiprocessing_context": "fork"},
    {"multiprocessing_context": "fork", "batch_size": -1},
    {"num_workers": 1, "prefetch_factor": -1, "multiprocessing_context": "no"},
    {"num_workers": 1, "multiprocessing_context": "no"},
    {"num_workers": 1, "multiprocessing_context": 3},
    {"num_workers": 1, "prefetch_factor": 0},
    {"shuffle": True, "sampler": [1], "batch_sampler": [[1]]},
    {"batch_sampler": [[1]], "batch_size": None, "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 2.0},
    {"drop_last": 1},
]


def loader_of(lib, d, options, dataset):
    options = dict(options)
    if options.pop("own", False):
        options["generator"] = lib.Generator().manual_seed(9)
    return d.DataLoader(dataset, **options)


# PyTorch fails again in __del__ of an iterator that was refused; that second failure is not what is compared.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("options", LOADERS, ids=str)
@pytest.mark.parametrize("kind", ["numbers", "stream", "tensors", "subset", "concat", "list"])
def test_loaders(options, kind):
    def work(lib, d):
        table = lib.arange(20).reshape(10, 2)
        dataset = {
            "numbers": lambda: numbers(lib, 10),
            "stream": lambda: stream(lib, 10),
            "tensors": lambda: d.TensorDataset(table, lib.arange(10.0)),
            "subset": lambda: d.Subset(d.TensorDataset(table), range(9, 2, -1)),
            "concat": lambda: d.TensorDataset(table) + d.TensorDataset(-table),
            "list": lambda: [(i, str(i)) for i in range(10)],
        }[kind]()
        loader = loader_of(lib, d, options, dataset)
        epochs = []
        for _ in range(2):
            epochs.append((list(loader), lib.rand(2)))
        return epochs, len(loader) if kind != "stream" else None

    same(work)


def test_partial_epochs_leave_the_generator_alike():
    def work(lib, d):
        loader = d.DataLoader(numbers(lib, 30), 4, shuffle=True)
        seen = []
        for epoch in range(4):
            for step, batch in enumerate(loader):
                seen.append((batch, lib.rand(1), lib.randn(3)))
                if step == epoch:
                    break
        iter(loader)
        return seen

    same(work)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_leave_the_generator_alike(persistent):
    def work(lib, d):
        loader = d.DataLoader(numbers(lib, 10), 4, shuffle=True, num_workers=1, persistent_workers=persistent)
        return [(list(loader), lib.rand(1)) for _ in range(3)]

    same(work)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("batched", [False, True])
def test_samplers_that_draw_when_iter_is_called(workers, batched):
    def work(lib, d):
        class Eager(d.Sampler):
            def __iter__(self):
                order = lib.randperm(8).tolist()
                return iter([order[:5], order[5:]] if batched else order)

        options = {"batch_sampler": Eager()} if batched else {"batch_size": None, "sampler": Eager()}
        loader = d.DataLoader(numbers(lib, 10), num_workers=workers, **options)
        return [(list(loader), lib.rand(1)) for _ in range(2)]

    same(work)


def test_worker_seeds():
    import random

    def work(lib, d):
        class Draws(d.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                seed = d.get_worker_info().seed
                return seed, lib.initial_seed(), lib.rand(2).tolist(), random.random(), np.random.rand()

        loader = d.DataLoader(Draws(), None, num_workers=2, collate_fn=lambda sample: sample)
        return list(loader), list(loader)

    same(work)


def worker_outcomes(lib, d, dataset, **options):
    iterator = iter(d.DataLoader(dataset, num_workers=2, **options))
    seen = []
    while True:
        try:
            seen.append(next(iterator).tolist())
        except StopIteration:
            return seen
        except Exception as error:
            seen.append((type(error), str(error).split("\n")[:2]))


def test_exceptions_in_workers():
    def work(lib, d):
        class Failing(d.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                if index == 2:
                    raise KeyError("two")
                if index == 4:
                    raise UnicodeDecodeError("utf8", b"a", 0, 1, "r")
                return index

        return worker_outcomes(lib, d, Failing())

    same(work)


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": 4, "drop_last": True}, {"prefetch_factor": 4}])
def test_uneven_streams_in_workers(options):
    def work(lib, d):
        class Uneven(d.IterableDataset):
            def __iter__(self):
                worker = d.get_worker_info().id
                for number in range(7 if worker else 2):
                    if number == 5:
                        raise ValueError("five")
                    yield worker * 100 + number

        return worker_outcomes(lib, d, Uneven(), **options)

    same(work)


BATCHES = {
    "floats": lambda lib: [1.5, 2],
    "ints": lambda lib: [1, 2.5],
    "bools": lambda lib: [True, False],
    "bool and int": lambda lib: [True, 2],
    "huge": lambda lib: [-(2**63), 5],
    "none": lambda lib: [None],
    "set": lambda lib: [{1}],
    "complex": lambda lib: [1j],
    "bytes": lambda lib: [b"a", b"b"],
    "array": lambda lib: [np.arange(3), np.arange(3)],
    "0-d array": lambda lib: [np.array(1), np.array(2)],
    "unequal arrays": lambda lib: [np.zeros(2), np.zeros(3)],
    "objects": lambda lib: [np.array([None])],
    "text": lambda lib: [np.array(["a"])],
    "int8": lambda lib: [np.int8(1), np.int8(2)],
    "half": lambda lib: [np.float16(1)],
    "mixed scalars": lambda lib: [np.float64(1), np.float32(2)],
    "datetime": lambda lib: [np.datetime64("2020")],
    "unequal": lambda lib: [lib.zeros(2), lib.zeros(3)],
    "mixed dtypes": lambda lib: [lib.zeros(2), lib.zeros(2, dtype=lib.int64)],
    "point": lambda lib: [Point(1, lib.zeros(1)), Point(2, lib.ones(1))],
    "dicts": lambda lib: [{"a": 1, "b": (2.0, "c")}, {"a": 2, "b": (3.0, "d"), "e": 5}],
    "missing key": lambda lib: [{"a": 1}, {"b": 1}],
    "lists": lambda lib: [[1, [2, "a"]], (3, [4, "b"])],
    "unequal lists": lambda lib: [[1], [1, 2]],
    "empty": lambda lib: [],
    "empty tuples": lambda lib: [(), ()],
    "bytearrays": lambda lib: [bytearray(b"ab"), bytearray(b"cd")],
    "one bytearray": lambda lib: [bytearray(b"ab")],
    "range": lambda lib: [range(3), range(3)],
    "memoryview": lambda lib: [memoryview(b"ab")],
}


@pytest.mark.parametrize("name", list(BATCHES))
def test_collate_and_convert(name):
    same(lambda lib, d: d.default_collate(BATCHES[name](lib)))
    same(lambda lib, d: d.default_convert(BATCHES[name](lib)))
    same(lambda lib, d: [d.default_convert(sample) for sample in BATCHES[name](lib)])


def test_public_names():
    missing = set(torch_data.__all__) - set(data.__all__)
    assert missing == {  # of the deprecated data pipes
        "DFIterDataPipe", "DataChunk", "argument_validation",
        "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation", "runtime_validation_disabled",
    }  # fmt: skip
