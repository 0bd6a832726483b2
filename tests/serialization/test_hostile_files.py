"""Small files that claim much: no reader takes more memory than a small multiple of what is there."""

import io
import pickle
import struct
import tracemalloc
import zipfile
from collections import namedtuple

import numpy as np
import pytest
from checkpoints import FOUR_FLOATS, checkpoint, number, numbers, rebuilt, saved, stored, tensor, text

from rushlight.serialization import add_safe_globals, clear_safe_globals, constructors, foreign, get_safe_globals, load
from rushlight.serialization.storages import Storage, StorageType
from rushlight.serialization.unpickler import Token
from rushlight.vision.datasets import utils
from rushlight.vision.datasets.idx import read_idx

EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError)
ORDERED = b"ccollections\nOrderedDict\n)R"
ALLOWANCE = 1 << 20  # of buffers, whatever the file


def peak(file, **options):
    """(most memory taken, the object or the error) of loading ``file``."""
    tracemalloc.start()
    try:
        result = load(file, **options)
    except EXPECTED as error:
        result = error
    finally:
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return taken, result


def lazily(bit, kind=b"ctorch\nFloatStorage\n", **layout):
    return rebuilt(stored(kind, count=layout.pop("count", 4)), rest=ORDERED + b"}" + text(bit) + b"\x88s", **layout)


@pytest.mark.parametrize("bit", ["neg", "conj"])
@pytest.mark.parametrize("kind", ["FloatStorage", "ComplexFloatStorage"])
def test_bits_of_expanded_tensors(bit, kind):
    kind_code = f"ctorch\n{kind}\n".encode()
    count = 4 if kind == "FloatStorage" else 2
    program = b"\x80\x02" + lazily(bit, kind_code, sizes=(2**29,), strides=(0,), offset=1, count=count) + b"."
    taken, result = peak(checkpoint(program))
    assert taken < ALLOWANCE and result.shape == (2**29,)
    values = np.frombuffer(FOUR_FLOATS, "f4" if kind == "FloatStorage" else "c8")
    assert result[7].item() == (-values if bit == "neg" else values.conj())[1]


def test_bits_of_many_tensors_over_one_storage():
    block = np.arange(1 << 16, dtype="f4").tobytes()
    one = lazily("neg", sizes=(1 << 16,), count=1 << 16)
    file = checkpoint(b"\x80\x02](" + one * 100 + b"e.", storages=(block,))
    taken, result = peak(file)
    assert len(result) == 100 and all(item[5].item() == -5 for item in result)
    assert taken < 4 * len(file.getvalue()) + ALLOWANCE


def test_bools_are_not_negated():
    file = checkpoint(b"\x80\x02" + lazily("neg", b"ctorch\nBoolStorage\n", sizes=(2,), count=16) + b".")
    with pytest.raises(pickle.UnpicklingError, match=r"torch.bool that is to be negated"):
        load(file)


def test_old_files_claim_no_more_than_they_have():
    whole = saved({"w": tensor([1, 2])}, _use_new_zipfile_serialization=False).getvalue()
    objects = whole.index(b"\x80\x02", whole.rindex(b"type_sizes"))
    size = 1 << 16
    program = b"\x80\x02](" + b"".join(
        rebuilt(
            stored(key=str(key), count=size // 4).replace(b"tQ", b"NtQ"),
            sizes=(size // 4,),
            rest=ORDERED + b"}" + text("neg") + b"\x88s",
        )
        for key in range(100)
    )
    for ending in (b"e.", b"e. and then", b""):
        data = whole[:objects] + program + ending
        data += bytes(max(0, size + 10 - len(data)))
        taken, error = peak(io.BytesIO(data))
        assert isinstance(error, EXPECTED) and taken < 8 * len(data) + ALLOWANCE


def deflated(record, body, claim=None):
    """A checkpoint whose ``record`` is deflated, and says that it unpacks to ``claim`` bytes."""
    file = io.BytesIO()
    parts = {"data.pkl": b"\x80\x02" + rebuilt(stored(count=1 << 26), sizes=(1 << 26,)) + b".", "version": b"3\n"}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**parts, record: body}.items():
            archive.writestr(f"archive/{name}", data)
    data = bytearray(file.getvalue())
    if claim is not None:
        at = data.rindex(f"archive/{record}".encode()) - 46
        struct.pack_into("<I", data, at + 24, claim)
    return io.BytesIO(data)


def test_deflated_storages_are_counted_as_they_come():
    file = deflated("data/0", np.random.default_rng(0).bytes(300_000), claim=1 << 28)
    taken, error = peak(file)
    assert "another size" in str(error) and taken < 8 * len(file.getvalue()) + 4 * ALLOWANCE
    taken, error = peak(deflated("data/0", bytes(100), claim=1 << 28))
    assert "zip bomb" in str(error) and taken < ALLOWANCE


@pytest.mark.parametrize("opcode", [b"\x8f", b"]", b"}", b"(", b"\x8f\x85", ORDERED])
def test_deflated_objects_are_as_many_as_the_file_is_worth(opcode):
    file = deflated("data.pkl", b"\x80\x04" + opcode * (20_000_000 // len(opcode)) + b".")
    taken, error = peak(file)
    assert isinstance(error, RuntimeError) and taken < 2 * ALLOWANCE


SET, ARRAY = b"c__builtin__\nset\n", b"c__builtin__\nbytearray\n"


@pytest.mark.parametrize(
    ("members", "maker", "options"),
    [
        (b"](" + b"".join(b"K" + bytes((n % 256,)) for n in range(5000)) + b"e", SET, {}),
        (b"](" + b"".join(map(number, range(5000))) + b"e", SET, {}),
        (b"B" + (10_000).to_bytes(4, "little") + bytes(10_000), ARRAY, {}),
        (b"](" + b"N" * 10_000 + b"e", b"ccollections\ndeque\n", {"weights_only": False}),
        (b"X" + (10_000).to_bytes(4, "little") + b"a" * 10_000, b"cpathlib\nPurePosixPath\n", {"weights_only": False}),
    ],
)
def test_parts_used_over_and_over(members, maker, options):
    program = b"\x80\x03" + members + b"q\x000](" + (maker + b"h\x00\x85R") * 1000 + b"e."
    file = checkpoint(program)
    taken, error = peak(file, **options)
    assert isinstance(error, pickle.UnpicklingError) and "over and over" in str(error)
    # The densest of plain objects, an empty set, takes 216 bytes for one of the file's.
    assert taken < 250 * len(program) + 4 * ALLOWANCE


# ---------------------------------------------------------------- names of the stream are not data

Pair = namedtuple("Pair", "first second")


@pytest.fixture
def trusted():
    before = get_safe_globals()
    add_safe_globals([Pair])
    yield
    clear_safe_globals()
    add_safe_globals(before)


def inert(value, seen):
    """Whether a part of the value is one of the reader's own objects."""
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, (Token, Storage, StorageType)):
        return True
    if isinstance(value, slice):
        return any(inert(part, seen) for part in (value.start, value.stop, value.step))
    if isinstance(value, dict):
        parts = [part for pair in (*value.items(), *vars_of(value).items()) for part in pair]
        return any(inert(part, seen) for part in parts)
    if isinstance(value, (str, bytes)):
        return False
    if hasattr(value, "__iter__") and not hasattr(value, "shape") and not isinstance(value, type):
        return any(inert(part, seen) for part in value)
    return any(inert(part, seen) for part in vars_of(value).values())


def vars_of(value):
    return {} if isinstance(value, type) else getattr(value, "__dict__", {})


PLACES = {
    "alone": b"%s",
    "in a tuple": b"%s\x85",
    "in a tuple of tuples": b"%sK\x01\x86\x85K\x02\x86",
    "remembered": b"%s\x85q\x000](h\x00h\x00\x85e",
    "in a marked tuple": b"(K\x01%sK\x02t",
    "in a list": b"](%s\x85K\x01e",
    "in a dictionary": b"}" + text("k") + b"%s\x85s",
    "in an attribute": b"ccollections\nOrderedDict\n)R}" + text("k") + b"%s\x85sb",
    "in a state": b"ctypes\nSimpleNamespace\n)R}" + text("k") + b"%s\x85sb",
    "in a deque": b"ccollections\ndeque\n%s\x85\x85R",
    "in a deque's list": b"ccollections\ndeque\n]%s\x85a\x85R",
    "in a slice": b"cbuiltins\nslice\n%sK\x01K\x02\x87R",
    "in a slice's tuple": b"cbuiltins\nslice\n%s\x85K\x01K\x02\x87R",
    "in a Counter": b"ccollections\nCounter\n}K\x01%s\x85s\x85R",
    "as a set's member": b"cbuiltins\nset\n]%s\x85a\x85R",
    "as a frozen set's member": b"(%s\x85\x91",
    "as a key": b"}%s\x85K\x01s",
    "in a class of the user's": f"c{__name__}\nPair\n".encode() + b"%s\x85K\x01\x86\x81",
    "as the hooks of a parameter": b"ctorch._utils\n_rebuild_parameter\n" + rebuilt() + b"\x88%s\x85\x87R",
}
NAMES = sorted({**constructors.TABLE, **foreign.table()})


@pytest.mark.parametrize("place", PLACES)
def test_what_the_reader_calls_names_and_storages_stays_inside(place, trusted):
    what = [f"c{name.rpartition('.')[0]}\n{name.rpartition('.')[2]}\n".encode() for name in NAMES] + [stored()]
    read = 0
    for code in what:
        try:
            result = load(checkpoint(b"\x80\x04" + PLACES[place].replace(b"%s", code) + b"."), weights_only=False)
        except EXPECTED as error:
            assert "hint: " in str(error)
            continue
        assert not inert(result, set()), code
        read += 1
    assert read or place not in ("alone", "in a tuple", "remembered", "in a list")


def test_names_inside_tuples_are_what_they_name():
    from rushlight import Size, float32

    def read(program):
        return load(checkpoint(b"\x80\x04" + program + b"."))

    assert read(b"ctorch\nSize\nK\x01\x86") == (Size, 1)
    assert read(b"ctorch\nSize\n\x85ctorch\nfloat32\n\x86") == ((Size,), float32)
    assert read(b"]ctorch\nSize\n\x85a") == [(Size,)]


# ---------------------------------------------------------------- data sets


@pytest.mark.parametrize("rank", [0, 1, 63, 64, 65, 255])
@pytest.mark.parametrize("length", [0, 1, 2, 2**32 - 1])
def test_idx_of_many_dimensions(tmp_path, rank, length):
    path = tmp_path / "a"
    body = bytes(1) if length == 1 or not rank else b""
    path.write_bytes(bytes((0, 0, 8, rank)) + struct.pack(f">{rank}I", *[length] * rank) + body)
    if rank <= 64 and (length < 2 or not rank):
        assert read_idx(path).shape == (length,) * rank
    else:
        with pytest.raises(RuntimeError, match="not usable"):
            read_idx(path)


def test_damaged_archives_are_said_to_be_so(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"abc" * 100)
    whole, failed = file.getvalue(), 0
    for at in range(len(whole)):
        for value in (0, 1, 99, 255):
            (tmp_path / "a.zip").write_bytes(whole[:at] + bytes((value,)) + whole[at + 1 :])
            try:
                utils.extract_archive(tmp_path / "a.zip", tmp_path / "out")
            except RuntimeError as error:
                assert "a.zip" in str(error)
                failed += 1
    assert failed > 100


def test_sizes_of_stored_views_are_checked_before_bits_are_done():
    with pytest.raises(pickle.UnpicklingError, match="reaches element"):
        load(checkpoint(b"\x80\x02" + lazily("neg", sizes=(2**29,)) + b"."))
    with pytest.raises(pickle.UnpicklingError, match="impossible"):
        load(checkpoint(b"\x80\x02" + b"ctorch\nSize\n" + numbers((1,)) + b"\x85R" + lazily("neg", offset=-1) + b"."))
