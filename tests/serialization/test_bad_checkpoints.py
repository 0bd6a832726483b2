"""Checkpoints that are damaged, or were built to harm: a clear error of the right type, and nothing else happens."""

import io
import pickle
import tracemalloc

import numpy as np
import pytest
from checkpoints import FOUR_FLOATS, checkpoint, number, numbers, rebuilt, saved, stored, tensor, text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rushlight.nn.parameter import Parameter
from rushlight.serialization import load
from rushlight.tensor import Tensor

EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)


def start(pickled, **options):
    return checkpoint(b"\x80\x02" + pickled + b".", **options)


def test_the_hand_made_checkpoint_is_a_good_one():
    assert load(start(rebuilt())).tolist() == [0, 1, 2, 3]
    assert load(start(rebuilt(sizes=(2, 2), strides=(1, 2)))).tolist() == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    "claim",
    [
        {"sizes": (5,)}, {"offset": 1}, {"offset": 4}, {"strides": (2,)}, {"offset": -1},
        {"sizes": (2, 3), "strides": (2, 1)}, {"sizes": (-1,)}, {"strides": (-1,)}, {"offset": 2**62},
        {"offset": -(2**63)},
        {"sizes": (2**62,)}, {"strides": (2**62,)},
        {"sizes": (2**40, 2**40), "strides": (0, 0)}, {"sizes": (2**61,), "strides": (0,)}, {"sizes": (2**200,)},
        {"strides": (2**200,)}, {"offset": 2**200}, {"sizes": (4, 1)}, {"sizes": ()}, {"strides": ()},
        {"sizes": (1,) * 65, "strides": (1,) * 65}, {"sizes": (2,), "strides": (2**61,)}, {"requires_grad": b"K\x02"},
        {"requires_grad": b"N"},
    ],
    ids=str,
)  # fmt: skip
def test_views_that_reach_outside_their_storage(claim):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(start(rebuilt(**claim)))


def test_empty_views_may_stand_anywhere():
    for offset in (0, 4, 5, 1000):
        assert load(start(rebuilt(offset=offset, sizes=(0, 3), strides=(3, 1)))).shape == (0, 3)
    assert load(start(rebuilt(stored(count=0), sizes=(0,)), storages=(b"",))).shape == (0,)


@pytest.mark.parametrize(
    "pickled",
    [
        rebuilt().replace(numbers((4,)), text("4")),
        rebuilt().replace(numbers((4,)), b"]"),
        rebuilt().replace(numbers((4,)), b"G\x40\x10\x00\x00\x00\x00\x00\x00\x85"),
        rebuilt().replace(numbers((4,)), b"\x88\x85"),
        rebuilt().replace(numbers((4,)), numbers((4,)) + b"\x85"),
        rebuilt(b"N"), rebuilt(b"}"), rebuilt(b"ctorch\nFloatStorage\n"), rebuilt(rebuilt()),
        rebuilt(stored(b"ctorch\nfloat32\n")), rebuilt(stored(b"ctorch.storage\nUntypedStorage\n", count=16)),
        rebuilt(stored(count=-1)), rebuilt(stored(count=2**63)), rebuilt(stored(count=2**200)),
        rebuilt(stored(b"ctorch\nLongStorage\n"), requires_grad=b"\x88"),
        rebuilt(rest=b"}}" + text("conj") + b"K\x01s"),
        rebuilt(rest=b"}}" + text("other") + b"\x88s"), rebuilt(rest=b"}K\x01"),
        stored(count=4).replace(text("storage"), text("module")), stored() + stored(count=2) + b"\x86",
        stored() + stored(b"ctorch\nIntStorage\n") + b"\x86",
    ],
)  # fmt: skip
def test_tensors_of_the_wrong_parts(pickled):
    with pytest.raises(EXPECTED) as caught:
        load(start(pickled, storages=(FOUR_FLOATS,)))
    assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize("count", [0, 3, 5, 2**40, 2**59])
def test_storages_of_another_length_than_claimed(count):
    tracemalloc.start()
    with pytest.raises(RuntimeError, match=r"record size \(16 bytes\) does not match expected size"):
        load(start(rebuilt(stored(count=count))))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_missing_records():
    for pickled in (rebuilt(stored(key="7")), rebuilt(stored(key="../data.pkl")), rebuilt(stored(key=""))):
        with pytest.raises(RuntimeError, match=r"PytorchStreamReader failed locating file data/.*: file not found"):
            load(start(pickled))
    with pytest.raises(RuntimeError, match=r"locating file data\.pkl"):
        load(checkpoint(None))
    with pytest.raises(RuntimeError, match=r"hasRecord\(.version.\)"):
        load(start(b"N", version=None))
    for version in (b"11", b"-1", b"three", b"", b"9" * 1000):
        with pytest.raises(RuntimeError, match="Attempted to read a PyTorch file with version"):
            load(start(b"N", version=version))
    for version in (b"1", b"10\n"):
        assert load(start(b"N", version=version)) is None


def test_torchscript_archives():
    with pytest.raises(RuntimeError, match="TorchScript archives"):
        load(start(b"N", **{"constants.pkl": b"\x80\x02)."}))


def attribute(name, value=b"K\x01"):
    return b"}" + text(name) + value + b"s"


@pytest.mark.parametrize(
    "name", ["__class__", "_array", "_edge", "backward", "data", "requires_grad", "__dict__", "shape", "_grad"]
)
def test_attributes_never_hide_those_of_tensors(name):
    ordered = b"ccollections\nOrderedDict\n)R"
    with_state = (
        b"ctorch._utils\n_rebuild_parameter_with_state\n(" + rebuilt() + b"\x88" + ordered + attribute(name) + b"tR"
    )
    parts = rebuilt().removeprefix(b"ctorch._utils\n_rebuild_tensor_v2\n").removesuffix(b"R")
    of_type = (
        b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n" + parts
        + attribute(name) + b"tR"
    )  # fmt: skip
    for pickled in (with_state, of_type):
        assert type(load(start(pickled.replace(text(name), text("fine"))))) in (Parameter, Tensor)
        with pytest.raises(pickle.UnpicklingError, match="hide a method or property"):
            load(start(pickled))


def test_subclasses_and_other_rebuilders_of_tensors():
    parts = rebuilt().removeprefix(b"ctorch._utils\n_rebuild_tensor_v2\n").removesuffix(b"R")
    head = b"ctorch._tensor\n_rebuild_from_type_v2\n("
    for function, kind in (("builtins\nset", "torch\nTensor"), ("torch._utils\n_rebuild_tensor_v2", "torch\nSize")):
        pickled = head + b"c" + function.encode() + b"\nc" + kind.encode() + b"\n" + parts + b"}tR"
        with pytest.raises(pickle.UnpicklingError):
            load(start(pickled))


def test_parameters_that_cannot_have_a_gradient():
    whole = rebuilt(stored(b"ctorch\nIntStorage\n"))
    ordered = b"ccollections\nOrderedDict\n)R"
    with pytest.raises(pickle.UnpicklingError, match="requires a gradient"):
        load(start(b"ctorch._utils\n_rebuild_parameter\n" + whole + b"\x88" + ordered + b"\x87R"))


def test_expanded_tensors_take_no_memory():
    tracemalloc.start()
    result = load(start(rebuilt(sizes=(2**40, 4), strides=(0, 1))))
    assert result.shape == (2**40, 4) and tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


# ---------------------------------------------------------------- cut and damaged files

SAMPLES = {
    "zip": saved(
        {"w": Parameter(tensor([[1, 2], [3, 4]])), "b": tensor([True], "bool"), "n": [1, 2.5, "x", (None, {3})]}
    ),
    "old": saved({"w": tensor([1, 2]), "n": [1, "x"]}, _use_new_zipfile_serialization=False),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_no_truncation_goes_unnoticed(kind):
    data = SAMPLES[kind].getvalue()
    for length in range(len(data)):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)) as caught:
            load(io.BytesIO(data[:length]))
        assert "\nhint: " in str(caught.value)


def test_old_files_that_lie_about_their_storages():
    data = SAMPLES["old"].getvalue()
    length = (2).to_bytes(8, "little")
    for lie in (1, 3, 2**62, 2**63 - 1):
        with pytest.raises(EXPECTED):
            load(io.BytesIO(data.replace(length, lie.to_bytes(8, "little"))))
    with pytest.raises(EXPECTED):
        load(io.BytesIO(data.replace(text("cpu") + b"q", text("cpu") + b"r")))
    with pytest.raises(EOFError, match="claims"):
        load(io.BytesIO(data.replace(b"K\x02NtQ", b"J\xff\xff\xff\x7fNtQ")))


def walk(value):
    """Use everything in the result, to be sure that nothing in it is broken."""
    if isinstance(value, Tensor):
        if value.numel() < 1 << 16:
            value._array.tolist()
    elif isinstance(value, dict):
        for key, item in value.items():
            walk(key)
            walk(item)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            walk(item)


def attempt(data):
    try:
        walk(load(io.BytesIO(data), weights_only=False))
    except EXPECTED as error:
        assert str(error)
    except RecursionError:
        pass  # a list that came to hold itself, met by walk()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(SAMPLES)),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_changed_bytes_never_do_harm(kind, changes):
    data = bytearray(SAMPLES[kind].getvalue())
    for position, value in changes:
        data[position % len(data)] = value
    attempt(bytes(data))


PICKLED = rebuilt() + b"}" + text("a") + b"]K\x01as" + b"q\x01" + b"ccollections\nOrderedDict\n)R\x87"


@settings(max_examples=250, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3), st.integers(0, 3))
def test_changed_opcodes_never_do_harm(changes, removed):
    data = bytearray(PICKLED)
    for position, value in changes:
        data[position % len(data)] = value
        del data[position % len(data) : position % len(data) + removed]
    attempt(start(bytes(data)).getvalue())


CODES = [
    *(bytes((code,)) for code in b"(012N]})aesut\x85\x86\x87RbQ\x94\x8f\x90\x91\x81"), b"q\x00", b"h\x00", b"K\x01",
    text("storage"), text("cpu"), text("0"), number(4), stored(), rebuilt(), b"ccollections\nOrderedDict\n",
    b"ctorch\nSize\n", b"ctorch\nfloat32\n", b"cbuiltins\nset\n", b"cbuiltins\nslice\n",
    b"cnumpy\ndtype\n", b"cos\nsystem\n",
    b"ctorch._utils\n_rebuild_parameter\n", b"ctorch._utils\n_rebuild_tensor_v3\n",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(CODES), max_size=25))
def test_programs_of_random_opcodes_never_do_harm(codes):
    attempt(start(b"".join(codes)).getvalue())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_never_do_harm(data):
    attempt(data)
    attempt(b"PK\x03\x04" + data)
    attempt(start(data).getvalue())


def test_the_samples_themselves_load():
    for sample in SAMPLES.values():
        walk(load(io.BytesIO(sample.getvalue())))
    assert np.array_equal(load(start(PICKLED))[0]._array, np.arange(4))
