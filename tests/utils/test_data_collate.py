"""default_collate and default_convert: every kind of sample, and the types that they keep."""

from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils.data import default_collate, default_convert
from rushlight.utils.data._utils.collate import collate, default_collate_fn_map

Point = namedtuple("Point", "x y")


class Labelled(dict):
    def __init__(self, items, label):
        super().__init__(items)
        self.label = label


@pytest.mark.parametrize(
    ("batch", "dtype", "values"),
    [
        ([rl.tensor([1, 2]), rl.tensor([3, 4])], rl.int64, [[1, 2], [3, 4]]),
        ([rl.tensor(1.0), rl.tensor(2.0)], rl.float32, [1.0, 2.0]),
        ([np.ones(2, np.float32), np.zeros(2, np.float32)], rl.float32, [[1.0, 1.0], [0.0, 0.0]]),
        ([np.float32(1), np.float32(2)], rl.float32, [1.0, 2.0]),
        ([np.bool_(True), np.bool_(False)], rl.bool, [True, False]),
        ([1, 2], rl.int64, [1, 2]),
        ([1.5, 2], rl.float64, [1.5, 2.0]),
        ([True, False], rl.bool, [True, False]),
    ],
)
def test_leaves(batch, dtype, values):
    collated = default_collate(batch)
    assert type(collated) is rl.Tensor and collated.dtype == dtype and collated.tolist() == values


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "float16", "bfloat16", "float64", "complex64"])
def test_tensors_of_any_dtype_and_layout(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    table = (rl.arange(24).reshape(2, 3, 4) % 2).to(getattr(rl, dtype))
    for batch in (
        list(table),
        [table[0].T, table[1].T],
        [table[0, 0, 0], table[1, 2, 1]],
        [table[:0, 0], table[:0, 1]],
    ):
        collated = default_collate(batch)
        assert collated.dtype == table.dtype and collated.shape == (2, *batch[0].shape) and collated.is_contiguous()
        assert all(rl.equal(row, sample) for row, sample in zip(collated, batch))
    batch = [rl.zeros(2), rl.zeros(2)]
    default_collate(batch).add_(1)
    assert batch[0].tolist() == [0.0, 0.0]


def test_gradients_flow_through():
    weight = rl.ones(2, requires_grad=True)
    default_collate([weight * 2, rl.zeros(2)]).sum().backward()
    assert weight.grad.tolist() == [2.0, 2.0]


def test_text_stays():
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]


def test_containers():
    point = default_collate([Point(1, "a"), Point(2, "b")])
    assert type(point) is Point and point.x.tolist() == [1, 2] and point.y == ("a", "b")
    for kind in (list, tuple, deque, UserList, range):
        collated = default_collate([kind([1, 2]) if kind is not range else range(1, 3)] * 2)
        assert type(collated) is (list if kind in (tuple, range) else kind)
        assert [column.tolist() for column in collated] == [[1, 1], [2, 2]]
    for kind in (dict, OrderedDict, UserDict, MappingProxyType):
        collated = default_collate([kind({"k": 1}), kind({"k": 2})])
        assert type(collated) is kind and collated["k"].tolist() == [1, 2]
    kept = default_collate([defaultdict(list, k=1)])
    assert kept["other"] == [] and kept["k"].tolist() == [1]
    assert default_collate([Labelled({"k": 1}, "label")]).label == "label"
    assert default_collate([Counter(k=1)])["k"].tolist() == [2]  # Counter.update adds; PyTorch's does the same


def test_refusals():
    for sample, found in (
        (None, "<class 'NoneType'>"),
        ({1}, "<class 'set'>"),
        (1j, "<class 'complex'>"),
        (np.array(["a"]), "<U1"),
    ):
        with pytest.raises(TypeError) as caught:
            default_collate([(1, sample)])
        first, hint = str(caught.value).split("\n")
        assert first.endswith(f"numbers, dicts or lists; found {found}") and hint.startswith("hint: ")
    with pytest.raises(
        RuntimeError, match="each element in list of batch should be of equal size\nhint: the samples hold 1, 2 m"
    ):
        default_collate([(1, 2), (3,)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        default_collate([rl.zeros(2), rl.zeros(3)])
    with pytest.raises(KeyError):
        default_collate([{"a": 1}, {"b": 1}])


def test_own_functions():
    def longest(batch, *, collate_fn_map=None):
        return max(batch, key=len)

    assert collate([("a", 1), ("bc", 2)], collate_fn_map={**default_collate_fn_map, str: longest})[0] == "bc"


def test_convert():
    array = np.zeros(2)
    converted = default_convert(array)
    converted[0] = 5.0
    assert array[0] == 5.0
    nested = default_convert([array, (np.int64(2), {"k": array}), "s", b"s", 1, 2.0, None])
    assert type(nested[1]) is list and nested[1][0].dtype == rl.int64 and nested[1][1]["k"].dtype == rl.float64
    assert nested[2:] == ["s", b"s", 1, 2.0, None]
    text = np.array(["a"])
    assert default_convert(text) is text
    assert type(default_convert(Point(array, 1))) is Point and type(default_convert(deque([1]))) is deque
