"""Calls at the edge of what operations take, found by PyTorch's own tests and by random programs: results, first lines of errors."""

import copy
import warnings

import pytest

import rushlight as rl
from oracle_expressions import first_line

torch = pytest.importorskip("torch")

CALLS = {
    "flip of one number": lambda m: m.tensor(1.0).flip(0),
    "roll of one number": lambda m: m.tensor(1.0).roll(1, 0),
    "roll of one number without dims": lambda m: m.tensor(1.0).roll(1),
    "linear of one number": lambda m: m.nn.functional.linear(m.tensor(1.0), m.ones(3)),
    "linear with one number": lambda m: m.nn.functional.linear(m.ones(2, 3), m.tensor(1.0)),
    "masked_select that does not broadcast": lambda m: m.ones(5, 3).masked_select(m.ones(4, 1) > 0),
    "cumprod in int32": lambda m: m.ones(3, dtype=m.int32).cumprod(0, dtype=m.int32).dtype.itemsize,
    "cumsum in int16": lambda m: m.ones(700, dtype=m.int32).cumsum(0, dtype=m.int16),
    "diff of other dimensions": lambda m: m.diff(m.ones(2), append=m.ones(2, 2)),
    "trapezoid of complex steps": lambda m: m.trapezoid(m.ones(2, 2), dx=1j),
    "unravel_index of a list": lambda m: m.unravel_index(m.tensor([4, 5]), [2, 3]),
    "complex into float": lambda m: m.complex(m.ones(2), m.ones(2), out=m.ones(2)),
    "float_power into long": lambda m: m.float_power(m.tensor([2]), 2, out=m.ones(1, dtype=m.int64)),
    "float_power into complex": lambda m: m.float_power(m.tensor([2]), 2, out=m.ones(1, dtype=m.complex128)),
    "mask of another dtype and shape": lambda m: m.arange(4).__setitem__(m.arange(4) > -1, m.ones(3)),
    "mask of another dtype": lambda m: m.arange(4).__setitem__(m.arange(4) > -1, m.ones(4)),
    "index_put_ of a leaf": lambda m: m.ones(2, requires_grad=True).index_put_((m.tensor([0, 1]),), m.ones(3)),
    "index_put_ of another shape": lambda m: m.ones(2).index_put_((m.tensor([0, 1]),), m.ones(3).double()),
    "index_put_ of its own element": lambda m: (x := m.arange(3.0)).index_put_((m.tensor([0, 1]),), x[0]),
    "index_put_ at its own elements": lambda m: (x := m.arange(3)).index_put_((x[:2],), m.tensor([1, 2])),
    "float64 list in float16": lambda m: m.tensor([2049.0000001, 65519.9999, 1 + 2**-11 + 2**-40], dtype=m.float16),
    "float64 to float16": lambda m: m.tensor([2049.0000001, 65519.9999], dtype=m.float64).half(),
    "float64 copied into float16": lambda m: m.zeros(2, dtype=m.float16).copy_(m.tensor([2049.0000001, 1.5]).double()),
    "nanmean of integers": lambda m: m.ones(2, dtype=m.int64).nanmean(),
    "nansum of complex numbers": lambda m: m.ones(9000, dtype=m.complex64).nansum(0),
    "cummax of complex numbers": lambda m: m.ones(2, dtype=m.complex64).cummax(0),
    "sign of NaN": lambda m: m.sign(m.tensor([float("nan"), -0.0, -2.0])),
    "sgn of NaN, many": lambda m: m.sgn(m.full((9000,), float("nan"))).sum(),
    "native_channel_shuffle": lambda m: m.native_channel_shuffle(m.arange(8.0).view(1, 4, 2, 1), 2),
    "storage of another dtype": lambda m: m.ones(1).set_(m.ones(2).double().storage()),
    "new of a size": lambda m: list(m.ones(2).new(size=(3, 4)).shape),
    "from_buffer of bytes": lambda m: m.ByteStorage.from_buffer(bytearray([1, 2])).tolist(),
    "from_buffer without an order": lambda m: m.ShortStorage.from_buffer(bytearray(4)),
    "dropout1d of four": lambda m: m.nn.functional.dropout1d(m.ones(1, 2, 3, 4)),
}


def outcome(module, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call(module)
        except Exception as error:
            return type(error).__name__, first_line(error)
    found = found.tolist() if hasattr(found, "tolist") else str(found)
    return found, [str(warning.message) for warning in caught if "Storage is deprecated" not in str(warning.message)]


@pytest.mark.parametrize("name", CALLS)
def test_call(name):
    assert outcome(rl, CALLS[name]) == outcome(torch, CALLS[name])


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("ndim", [2, 3, 4, 5, 6])
def test_dropout_of_channels(count, ndim):
    def call(module):
        module.manual_seed(3)
        return getattr(module.nn.functional, f"dropout{count}d")(module.ones((4, 3, 2, 2, 2, 2)[:ndim]))

    assert outcome(rl, call) == outcome(torch, call)


def test_deep_copies_share_what_the_originals_share():
    def shared(module):
        numbers = module.arange(6.0)
        parts = [numbers, numbers[2:], numbers.view(2, 3).t(), numbers.untyped_storage()]
        whole, rest, turned, memory = copy.deepcopy(parts)
        whole[3] = 99
        spread = copy.deepcopy(module.ones(3, 1).expand(3, 4))
        return rest.tolist(), turned.tolist(), turned.stride(), memory.data_ptr() == whole.data_ptr(), spread.stride()

    assert shared(rl) == shared(torch)


def test_deep_copies_own_their_memory():
    layer = copy.deepcopy(rl.nn.Linear(2, 3))
    assert all(parameter._array.base is None for parameter in layer.parameters())
