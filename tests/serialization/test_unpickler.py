"""The opcode interpreter: data of every protocol comes through, and nothing else does."""

import builtins
import io
import os
import pickle
import struct
from collections import Counter, OrderedDict

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from rushlight.base.dtypes import float32
from rushlight.base.size import Size
from rushlight.serialization.pickled import PickledObjects
from rushlight.serialization.pickler import pickle_plain

REFUSALS = (pickle.UnpicklingError, EOFError)


def no_storage(*claim):
    raise AssertionError("no storage was expected")


def unpickle(data, weights_only=True, **options):
    return PickledObjects(no_storage, weights_only, **options).load(io.BytesIO(data), len(data))


def refuse(data, match=None, weights_only=True, error=pickle.UnpicklingError):
    with pytest.raises(error, match=match) as caught:
        unpickle(data, weights_only)
    assert "\nhint: " in str(caught.value)


PLAIN = [
    None, True, False, 0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, -(2**31), 2**31, 2**63, -(2**200), 2**2100,
    0.0, -0.0, 1.5, 1e300, float("inf"), 1 + 2j, "", "text", "é\ud800\U0001f600", "x" * 300, b"", b"\xff",
    b"y" * 300, bytearray(b"z"), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1, [2, [3]]], {}, {(1, "k"): {"b": 1}},
    set(), {1, "two"}, OrderedDict(a=1, b=[2]), Counter("hello"), list(range(3000)), {i: str(i) for i in range(3000)},
]  # fmt: skip


def name_of(value):
    """A test's name: sets say how large they are, for their order changes from process to process."""
    return f"set of {len(value)}" if isinstance(value, set) else repr(value)[:30]


@pytest.mark.parametrize("value", PLAIN, ids=name_of)
def test_plain_data_of_every_protocol_and_of_our_own(value):
    for data in (*(pickle.dumps(value, protocol) for protocol in (2, 3, 4, 5)), pickle_plain(value)):
        result = unpickle(data)
        assert type(result) is type(value) and result == value


@pytest.mark.parametrize("value", PLAIN, ids=name_of)
def test_what_we_write_is_a_pickle_that_python_reads(value):
    result = pickle.loads(pickle_plain(value))
    assert type(result) is type(value) and result == value


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(keys, inner) | st.sets(keys) | st.frozensets(keys)
    ),
    max_leaves=30,
)


@settings(max_examples=60, deadline=None)
@given(nested, st.sampled_from([2, 3, 4, 5]))
def test_any_nesting_of_plain_data(value, protocol):
    assert unpickle(pickle.dumps(value, protocol), weights_only=False) == value
    assert unpickle(pickle_plain(value), weights_only=False) == value
    assert pickle.loads(pickle_plain(value)) == value


def test_references_and_cycles_survive():
    shared, circle = [1], []
    circle.append(circle)
    loop = ([],)
    loop[0].append(loop)
    for data in (pickle.dumps((shared, shared, circle, loop), 4), pickle_plain((shared, shared, circle, loop))):
        first, second, ring, knot = unpickle(data)
        assert first is second and ring[0] is ring and knot[0][0] is knot


def test_strings_of_python_2():
    assert unpickle(b"U\x02ab.") == "ab" and unpickle(b"T\x02\x00\x00\x00ab.") == "ab"
    refuse(b"U\x01\xff.", "Python 2 string")
    assert unpickle(b"U\x01\xff.", encoding="latin1") == "ÿ"
    assert unpickle(b"U\x01\xff.", encoding="bytes") == b"\xff"


# ---------------------------------------------------------------- names


@pytest.fixture
def untouchable(monkeypatch):
    """Fails the test if any of Python's ways to run code is used."""

    def forbidden(*args, **kwargs):
        raise AssertionError("code was run")

    for module, name in ((os, "system"), (builtins, "eval"), (builtins, "exec"), (pickle, "loads"), (pickle, "load")):
        monkeypatch.setattr(module, name, forbidden)


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


ATTACKS = {
    "os.system": b"cos\nsystem\n" + text("true") + b"\x85R.",
    "posix.system": b"cposix\nsystem\n" + text("true") + b"\x85R.",
    "eval": b"c__builtin__\neval\n" + text("1") + b"\x85R.",
    "exec": b"cbuiltins\nexec\n" + text("1") + b"\x85R.",
    "getattr": b"cbuiltins\ngetattr\n" + text("a") + text("upper") + b"\x86R.",
    "__import__": b"cbuiltins\n__import__\n" + text("os") + b"\x85R.",
    "stack global": text("os") + text("system") + b"\x93" + text("true") + b"\x85R.",
    "dotted stack global": text("torch") + text("serialization.os.system") + b"\x93" + text("true") + b"\x85R.",
    "dotted global": b"ctorch\nserialization.os.system\n" + text("true") + b"\x85R.",
    "subprocess": b"csubprocess\nPopen\n" + text("true") + b"\x85R.",
    "operator": b"coperator\nattrgetter\n" + text("__class__") + b"\x85R.",
    "torch code": b"ctorch.utils._pytree\ntree_map\n)R.",
    "torch.load": b"ctorch\nload\n" + text("x") + b"\x85R.",
    "rushlight": b"crushlight.serialization\nload\n" + text("x") + b"\x85R.",
    "copyreg": b"ccopyreg\n_reconstructor\n" + b"cbuiltins\nobject\n" + b"cbuiltins\nobject\nN\x87R.",
    "a module's method": b"ctorch.nn.modules.linear\nLinear.forward\n)\x81}b.",
    "empty names": b"c\n\n)R.",
    "odd names": b"c__main__\n\xc3\xa9\x1b[31m\n)R.",
}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", ATTACKS)
def test_names_outside_the_table_are_refused_by_name(name, weights_only, untouchable):
    refuse(ATTACKS[name], "Unsupported global: GLOBAL", weights_only)


def test_messages_name_the_global_and_the_way_out():
    with pytest.raises(pickle.UnpicklingError) as caught:
        unpickle(ATTACKS["os.system"])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("Weights only load failed. This file can still be loaded")
    assert "GLOBAL os.system was not an allowed global by default" in lines[1]
    assert lines[2].startswith("hint: ")
    with pytest.raises(pickle.UnpicklingError, match="whole module"):
        unpickle(b"ctorch.nn.modules.linear\nLinear\n)\x81}b.")
    with pytest.raises(pickle.UnpicklingError) as caught:
        unpickle(ATTACKS["odd names"])
    assert "\x1b[31m" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"K\x01)R.",
        text("os.system") + b")R.",
        b"ctorch\nfloat32\n)R.",
        b"ctorch\nTensor\n)R.",
        b"ctorch\nFloatStorage\n)R.",
        b"ccollections\nOrderedDict\n)\x81.",
        b"ctorch\nTensor\n)\x81.",
        b"ctorch\nTensor\n)}" + text("a") + b"K\x01s\x92.",
        b"ccollections\nOrderedDict\n]R.",
        b"ccollections\nOrderedDict\nNR.",
    ],
)
def test_only_tokens_with_a_constructor_are_applied(data):
    refuse(data)


@pytest.mark.parametrize(
    "target",
    [b"ccollections\nOrderedDict\n", b"ctorch\nTensor\n", b"ctorch\nfloat32\n", b"ctorch\nFloatStorage\n", b"]", b"}",
     b"K\x01", b"N", text("x"), b")", b"ctorch\nSize\n)\x85R"],
)  # fmt: skip
def test_build_reaches_into_nothing(target):
    refuse(target + b"}" + text("__class__") + b"K\x01sb.")


def test_build_gives_an_ordered_dict_attributes_that_hide_nothing():
    made = unpickle(b"ccollections\nOrderedDict\n)R}" + text("_metadata") + b"K\x05sb.")
    assert made == OrderedDict() and made._metadata == 5
    for name in ("items", "__class__", "__reduce__", "__dict__", "keys"):
        refuse(b"ccollections\nOrderedDict\n)R}" + text(name) + b"K\x05sb.", "hide")
    refuse(b"ccollections\nOrderedDict\n)R}K\x01K\x05sb.")
    refuse(b"ccollections\nOrderedDict\n)R]b.")


def test_names_do_not_become_data():
    refuse(b"]ccollections\nOrderedDict\na.", "stored as a value")
    refuse(b"ccollections\nOrderedDict\n.", "stored as a value")
    refuse(b"}" + text("k") + b"ctorch._utils\n_rebuild_tensor_v2\ns.", "stored as a value")
    assert unpickle(b"]ctorch\nSize\nactorch\nfloat32\na.") == [Size, float32]


# ---------------------------------------------------------------- abuse of the machine


OPERANDLESS = [bytes((code,)) for code in b"012aesut\x85\x86\x87RbQld\x90\x91\x93\x81\x92\x94\x97\x98\xffoi"] + [b""]


@pytest.mark.parametrize(
    "data",
    [
        *(code + b"." for code in OPERANDLESS),
        b"q\x00.", b"h\x00.", b"j\xff\xff\xff\xff.", b"K\x01K\x02a.", b"(K\x01.", b"](a.", b"}(K\x01u.",
        b"]K\x01K\x02s.", b"}]K\x01s.", b"}}K\x01s.", b")K\x01K\x02s.", b"\x8f(]\x90.", b"](K\x01\x90.", b"(]\x91.",
        b"K\x01Q.", b")Q.",
        b"(" + text("storage") + b"K\x01K\x02K\x03K\x04tQ.", b"I1\n.", b"Px\n.", b"\x82\x01.",
    ],
)  # fmt: skip
def test_nonsense_is_refused(data):
    refuse(data)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x80", b"K", b"J\x00", b"G1234567", b"X\x05\x00\x00\x00ab", b"X\xff\xff\xff\xff", b"B\xff\xff\xff\x7f",
        b"\x8e" + b"\xff" * 8, b"\x96" + b"\xff" * 8, b"\x8d\x00\x00\x00\x00\x00\x00\x00\x40", b"\x8b\xff\xff\xff\xff",
        b"\x95\x00", b"cos", b"cos\nsys", b"]q", b"]r\x00", b"U\x09a",
    ],
)  # fmt: skip
def test_cut_streams_and_huge_claims_end_quietly(data):
    refuse(data, error=EOFError)


def test_every_cut_of_a_stream_is_noticed():
    data = pickle.dumps({"a": [1, 2.5, "text", b"bytes", (1, 2), {3}], "b": 2**70}, 4)
    for length in range(len(data)):
        with pytest.raises(REFUSALS):
            unpickle(data[:length])


def test_names_without_an_end_are_cut_off():
    refuse(b"c" + b"x" * 100_000, "without an end")


def test_deep_nesting_is_data_like_any_other():
    result = unpickle(b"]" * 200_000 + b"a" * 199_999 + b".")
    for _ in range(199_999):
        (result,) = result
    assert result == []
    refuse(b")" + b"\x85" * 200_000 + b"}1.")


def test_keys_that_are_costly_to_hash_are_refused():
    # Each step doubles the work of hashing; a key of 60 steps would never be done.
    bomb = b")" + b"q\x00h\x00\x86" * 60
    for data in (
        b"}" + bomb + b"K\x01s.",
        b"}(" + bomb + b"K\x01u.",
        b"\x8f(" + bomb + b"\x90.",
        b"(" + bomb + b"\x91.",
        b"c__builtin__\nset\n]" + bomb + b"a\x85R.",
    ):
        refuse(data, "nested too deep")
    # And a key of great depth would overflow the stack of the interpreter's C code.
    refuse(b"})" + b"\x85" * 100_000 + b"K\x01s.", "nested too deep")


def test_shared_references_cost_no_memory():
    # Ten references to a list of ten references to ...: 10**90 elements for who walks it, 91 lists for us.
    data = b"]q\x00"
    for _ in range(90):
        data += b"0](" + b"h\x00" * 10 + b"eq\x00"
    result = unpickle(data + b".")
    assert len(result) == 10 and all(item is result[0] for item in result)


def test_constructors_check_their_parts():
    for data in (
        b"ctorch\nSize\n]\x85R.",
        b"ctorch\nSize\n" + text("a") + b"\x85\x85R.",
        b"ctorch\nSize\n)R.",
        b"c__builtin__\ncomplex\n" + text("1") + text("2") + b"\x86R.",
        b"c__builtin__\nset\n]]a\x85R.",
        b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
        b"c__builtin__\nbytes\nJ\xff\xff\xff\x7f\x85R.",
        b"c_codecs\nencode\n" + text("a") + text("rot13") + b"\x86R.",
        b"c_codecs\nencode\n" + text("€") + text("latin1") + b"\x86R.",
        b"ccollections\nCounter\n]\x85R.",
        b"ctorch.serialization\n_get_layout\n" + text("torch.nonsense") + b"\x85R.",
        b"ctorch._utils\n_rebuild_parameter\nK\x01K\x02K\x03\x87R.",
        b"ctorch._utils\n_rebuild_tensor_v2\n)R.",
        b"ctorch._utils\n_rebuild_tensor_v2\n(NNNNNNtR.",
        b"ctorch._utils\n_rebuild_tensor_v3\n(NNNNNNNtR.",
        b"ctorch._utils\n_rebuild_sparse_tensor\n)R.",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(ccollections\nOrderedDict\nctorch\nTensor\n)}tR.",
    ):
        refuse(data)


def test_further_data_is_checked_too():
    numpy_scalar = b"cnumpy._core.multiarray\nscalar\n"
    dtype = b"cnumpy\ndtype\n"
    for data in (
        b"c__builtin__\nxrange\nK\x00K\x01K\x00\x87R.",
        b"c__builtin__\nslice\n)R.",
        b"ccollections\ndeque\n)J\xff\xff\xff\xff\x86R.",
        b"ccollections\ndefaultdict\ncbuiltins\nslice\n\x85R.",
        b"ccollections\ndefaultdict\nK\x01\x85R.",
        b"cpathlib\nPosixPath\nK\x01\x85R.",
        dtype + text("O") + b"\x89\x88\x87R.",
        dtype + text("O8") + b"\x89\x88\x87R.",
        dtype + text("V8") + b"\x89\x88\x87R.",
        dtype + text("f8") + b"\x89\x88\x87R(K\x03" + text("<") + b"]NNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb.",
        numpy_scalar + dtype + text("f8") + b"\x89\x88\x87RC\x01a\x86R.",
        numpy_scalar + b"K\x01C\x01a\x86R.",
        b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nJ\xff\xff\xff\x7f\x85C\x01b\x87R.",
        b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01J\xff\xff\xff\x7f\x85"
        + dtype + text("f8") + b"\x89\x88\x87R\x89C\x00tb.",
        b"cargparse\nNamespace\n)\x81}" + text("__class__") + b"K\x01sb.",
    ):  # fmt: skip
        refuse(data, weights_only=False)
