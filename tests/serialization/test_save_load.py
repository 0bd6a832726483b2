"""Round trips of tensors and data through checkpoints, without PyTorch."""

import io
import pickle
import sys
import zipfile
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from checkpoints import checkpoint, loaded, rebuilt, saved, shares_memory, stored, tensor, text

import rushlight as rl
import rushlight.serialization as serialization
from rushlight.base.device import device, strided
from rushlight.base.dtypes import ALL, bfloat16, float32, int16
from rushlight.base.size import Size
from rushlight.nn.parameter import Buffer, Parameter
from rushlight.serialization import load, save
from rushlight.tensor import Tensor, functions, wrap


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def label(value):
    """A test's name that does not depend on the order of sets, which differs from process to process."""
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, (set, frozenset)) else repr(value)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("dtype", ALL, ids=repr)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (4, 0, 2)], ids=str)
def test_every_dtype(dtype, shape, legacy):
    if dtype is bfloat16:
        pytest.importorskip("ml_dtypes")
    array = np.random.default_rng(0).integers(0, 2 if dtype.name == "bool" else 100, shape).astype(dtype.numpy)
    result = load(saved(wrap(array), _use_new_zipfile_serialization=not legacy))
    assert type(result) is Tensor and result.dtype is dtype and result.shape == shape
    assert bits(result._array) == bits(array)
    assert result._array.flags.writeable and result._array.flags.aligned


def test_special_values_keep_their_bits():
    array = np.array([0x7FC00001, 0xFFC00002, 0x7F800000, 0x80000000, 1], np.uint32).view(np.float32)
    assert bits(loaded(wrap(array))._array) == bits(array)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T, lambda a: a[1:], lambda a: a[:, 1], lambda a: a[::2, ::3], lambda a: a[2:2],
        lambda a: a[1, 2, ...], lambda a: np.broadcast_to(a[0], (7, 6)),
        lambda a: a[None, :, None], lambda a: a.reshape(3, 2, 4),
    ],
)  # fmt: skip
def test_views_keep_their_strides_and_their_storage(view):
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    whole, part = loaded([wrap(base), wrap(view(base))])
    expected = wrap(view(base))
    assert part.shape == expected.shape and bits(part._array) == bits(expected._array)
    if expected._array.size:
        assert part.stride() == expected.stride() and part.storage_offset() == expected.storage_offset()
        assert shares_memory(whole, part)
        whole._array[...] = -1
        assert (part._array == -1).all()


def test_a_negative_stride_is_saved_as_a_copy():
    base = np.arange(4, dtype=np.float32)
    whole, flipped = loaded([wrap(base), wrap(base[::-1])])
    assert flipped._array.tolist() == [3, 2, 1, 0] and flipped.stride() == (1,)
    assert not shares_memory(whole, flipped)


def test_storages_are_written_once():
    base = tensor(range(1000))
    file = saved(
        {
            "a": base,
            "b": wrap(base._array.reshape(10, 100).T),
            "c": wrap(base._array[10:20]),
            "again": base,
            "other": tensor([1]),
        }
    )
    with zipfile.ZipFile(file) as archive:
        sizes = {name: archive.getinfo(name).file_size for name in archive.namelist() if "/data/" in name}
    assert sizes == {"archive/data/0": 4000, "archive/data/1": 4}
    result = load(file.seek(0) or file)
    assert shares_memory(result["a"], result["b"], result["c"]) and not shares_memory(result["a"], result["other"])
    assert result["a"] is result["again"]


def test_one_memory_under_two_dtypes_is_refused_as_in_pytorch():
    array = np.zeros(4, np.complex64)
    with pytest.raises(RuntimeError, match="view the same data as different types\nhint: "):
        saved([wrap(array), wrap(array.view(np.float32))])


def test_parameters_and_gradients_flags():
    weight = Parameter(tensor([[1, 2], [3, 4]]))
    frozen = Parameter(tensor([1, 2], "int64"), requires_grad=False)
    leaf = tensor([1]).requires_grad_()
    result = loaded({"w": weight, "f": frozen, "l": leaf, "n": leaf * 2, "p": tensor([1])})
    assert type(result["w"]) is Parameter and result["w"].requires_grad and result["w"].tolist() == [[1, 2], [3, 4]]
    assert type(result["f"]) is Parameter and not result["f"].requires_grad and result["f"].dtype is frozen.dtype
    assert type(result["l"]) is Tensor and result["l"].requires_grad and result["l"].is_leaf
    assert result["n"].requires_grad and result["n"].is_leaf and not result["p"].requires_grad


def test_a_parameter_shares_with_its_data():
    data = tensor([1, 2])
    result = loaded((data, Parameter(data)))
    assert shares_memory(*result)


def test_attributes_of_tensors():
    weight, plain, buffer = Parameter(tensor([1])), tensor([2]), Buffer(tensor([3]), persistent=False)
    weight.tag, plain.names_ = {"a": [1]}, ("x",)
    result = loaded([weight, plain, buffer])
    assert result[0].tag == {"a": [1]} and result[1].names_ == ("x",)
    assert isinstance(result[2], Buffer) and result[2].persistent is False


def test_a_state_dict_keeps_order_and_metadata():
    state = OrderedDict([("b", tensor([1])), ("a", tensor([2]))])
    state._metadata = OrderedDict([("", {"version": 1}), ("inner", {"version": 2})])
    result = loaded(state)
    assert type(result) is OrderedDict and list(result) == ["b", "a"]
    assert result._metadata == state._metadata and type(result._metadata) is OrderedDict


def test_an_optimizer_s_state():
    state = {
        "state": {0: {"step": tensor(3.0), "exp_avg": tensor([1.5])}, 1: {}},
        "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "foreach": None, "maximize": False, "params": [0, 1]}],
    }
    result = loaded(state)
    assert result["param_groups"] == state["param_groups"] and list(result["state"]) == [0, 1]
    assert result["state"][0]["step"].item() == 3


VALUES = [
    None, True, 3, -(2**70), 2.5, 1 - 2j, "text", b"bytes\x00\xff", b"", bytearray(b"array"), (), (1, (2, "x")),
    [1, [2]], {"a": {1: 2}}, {1, "b", (2, 3)}, OrderedDict(z=1, a=2), Counter("abca"), Size((2, 3)), Size(),
    float32, int16, device("cpu"), device("cuda", 1), strided,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=label)
@pytest.mark.parametrize("legacy", [False, True])
def test_plain_data(value, legacy):
    result = load(saved({"value": value}, _use_new_zipfile_serialization=not legacy))["value"]
    assert type(result) is type(value) and result == value


FURTHER = [
    slice(1, None, 2), range(1, 9, 3), frozenset((1, "x")), deque([1, 2], 5), deque(), defaultdict(list, {1: [2]}),
    defaultdict(None, {1: 2}), Namespace(lr=0.1, name="x"), Path("/a/b.txt"), Path(), np.float64(1.5), np.float32(2),
    np.bool_(True), np.int8(-3), np.complex128(1j), np.dtype("f4"), np.dtype(">i8"), Ellipsis, {np.int64(1): Path("x")},
]  # fmt: skip


@pytest.mark.parametrize("value", FURTHER, ids=label)
def test_further_data_needs_weights_only_false(value):
    file = saved([value])
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        load(file)
    (result,) = load(file.seek(0) or file, weights_only=False)
    assert type(result) is type(value) and result == value


@pytest.mark.parametrize(
    "array", [np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.zeros((0, 2)), np.array(3, "i2")]
)
def test_numpy_arrays(array):
    first, second = loaded([array, array], weights_only=False)
    assert first is second and first.dtype == array.dtype and np.array_equal(first, array)
    assert np.dtype("f8").isnative


# ---------------------------------------------------------------- classes


class Color(Enum):
    RED = 1


Point = namedtuple("Point", "x y")


class Config:
    def __init__(self, **values):
        vars(self).update(values)
        self.made = "by __init__"


class Guarded:
    def __setstate__(self, state):
        raise AssertionError("code was run")

    def __reduce_ex__(self, protocol):
        return Guarded, (), {"a": 1}


def test_classes_of_the_user_are_rebuilt_as_data_when_trusted():
    original = Config(lr=0.1, sizes=[1, 2], color=Color.RED, point=Point(1, 2), weight=tensor([3]))
    original.itself = original
    file = saved(original)
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL test_save_load\.Config was not an allowed global"):
        load(file)
    with serialization.safe_globals([Config, Color, Point]):
        result = load(file.seek(0) or file)
    assert type(result) is Config and result.itself is result and result.made == "by __init__"
    assert (result.lr, result.sizes, result.color, result.point) == (0.1, [1, 2], Color.RED, Point(1, 2))
    assert result.weight.item() == 3 and serialization.get_safe_globals() == []


def test_trusted_names_may_be_given():
    file = saved(Config(a=1))
    with serialization.safe_globals([(Point, "other.Name"), (Config, "test_save_load.Config")]):
        assert load(file).a == 1


def test_trust_never_runs_code():
    pickled = b"\x80\x02ctest_save_load\nGuarded\n)R}b."
    with serialization.safe_globals([Guarded]), pytest.raises(pickle.UnpicklingError):
        load(checkpoint(pickled))
    with serialization.safe_globals([Guarded]), pytest.raises(pickle.UnpicklingError, match="code of its own"):
        load(checkpoint(pickled.replace(b")R", b")\x81")))
    with serialization.safe_globals([sys.exit]), pytest.raises(pickle.UnpicklingError, match="unrecognized function"):
        load(checkpoint(b"\x80\x02csys\nexit\n)R."))
    with serialization.safe_globals([Color]), pytest.raises(pickle.UnpicklingError, match="Color"):
        load(checkpoint(b"\x80\x02ctest_save_load\nColor\nK\x07\x85R."))
    with serialization.safe_globals([Config]), pytest.raises(pickle.UnpicklingError):
        load(checkpoint(b"\x80\x02ctest_save_load\nConfig\n)\x81}" + text("__class__") + b"K\x01sb."))


def test_the_list_of_trusted_classes():
    serialization.add_safe_globals([slice, Config, slice])
    try:
        assert serialization.get_safe_globals() == [slice, Config]
        assert loaded(slice(3)) == slice(3)
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(TypeError, match="class or a function"):
        serialization.add_safe_globals([3])


def test_unsafe_globals_are_listed():
    file = saved([slice(1), Config(), tensor([1]), np.float32(1)])
    found = serialization.get_unsafe_globals_in_checkpoint(file)
    assert found == ["builtins.slice", "test_save_load.Config", "numpy._core.multiarray.scalar", "numpy.dtype"]
    stack_global = checkpoint(pickle.dumps([Color.RED], 4))
    assert "test_save_load.Color" in serialization.get_unsafe_globals_in_checkpoint(stack_global)


class Subclass(Tensor):
    pass


def refused_for_saving():
    generator = (i for i in range(3))
    yield from ((lambda: 1), print, sys, int, open, generator, object(), Guarded(), type)
    yield from (
        np.array(["text"]),
        np.array([None]),
        np.datetime64("2020-01-01"),
        {Config(): 1},
        {(1, Config())},
        type("C", (), {})(),
    )
    yield from (defaultdict(lambda: 1), memoryview(b"x"), Exception("x"), [[open, 1]], type("D", (dict,), {})())
    made = tensor([1])
    made.__class__ = Subclass
    yield made


@pytest.mark.parametrize("value", list(refused_for_saving()), ids=lambda value: type(value).__name__)
def test_what_is_more_than_data_is_refused_when_saving(value):
    file = io.BytesIO()
    with pytest.raises(pickle.PicklingError, match=r"Can't pickle .*\nhint: "):
        save({"value": value}, file)
    assert file.getvalue() == b""


def test_nesting_too_deep_to_save():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(RecursionError, match="nested too deep"):
        saved(value)


def test_options_of_save():
    for protocol in (2, 3, 4, 5):
        assert load(saved([1], pickle_protocol=protocol)) == [1]
    for protocol in (0, 1, 6, "2"):
        with pytest.raises(ValueError):
            saved([1], pickle_protocol=protocol)
    assert load(saved([1], pickle_module=pickle)) == [1]
    with pytest.raises(RuntimeError):
        saved([1], pickle_module=io)
    with zipfile.ZipFile(saved([1], _disable_byteorder_record=True)) as archive:
        assert "archive/byteorder" not in archive.namelist()


# ---------------------------------------------------------------- options of load


def test_map_location():
    value = {"a": tensor([1, 2]), "b": tensor([3])}
    for location in (
        None,
        "cpu",
        device("cpu"),
        {"cuda:0": "cpu"},
        lambda storage, place: storage,
        lambda storage, place: None,
    ):
        assert loaded(value, map_location=location)["a"].tolist() == [1, 2]
    seen = []

    def note(storage, location):
        seen.append((storage.nbytes(), len(storage), location))
        return storage.cpu()

    loaded(value, map_location=note)
    assert seen == [(8, 2, "cpu"), (4, 1, "cpu")]


@pytest.mark.parametrize("location", ["cuda", "cuda:1", device("cuda"), {"cpu": "cuda:0"}], ids=str)
def test_map_location_to_cuda(location):
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(tensor([1]), map_location=location)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        loaded(tensor([1]), map_location=lambda storage, place: storage.cuda())


def test_other_map_locations():
    for location, message in (
        ("mps", "not recognized: mps"),
        ("meta", "meta"),
        ("somewhere", "don't know how to restore"),
    ):
        with pytest.raises(RuntimeError, match=message):
            loaded(tensor([1]), map_location=location)
    for location in (3, lambda storage, place: 3):
        with pytest.raises(TypeError):
            loaded(tensor([1]), map_location=location)


def test_files_from_a_gpu_need_a_map_location():
    pickled = b"\x80\x02" + rebuilt(stored(b"ctorch.cuda\nFloatStorage\n", location="cuda:0")) + b"."
    with pytest.raises(RuntimeError, match=r"Attempting to deserialize.*\nhint: .*map_location='cpu'"):
        load(checkpoint(pickled))
    assert load(checkpoint(pickled), map_location="cpu").tolist() == [0, 1, 2, 3]
    assert load(checkpoint(pickled), {"cuda:0": "cpu"}).tolist() == [0, 1, 2, 3]


def test_memory_mapping(tmp_path):
    path = tmp_path / "model.pt"
    save({"a": tensor(range(100)), "b": tensor([1, 2], "int64"), "empty": tensor([])}, path)
    before = path.read_bytes()
    result = load(path, mmap=True)
    assert result["a"].tolist() == list(range(100)) and result["b"].tolist() == [1, 2] and result["empty"].numel() == 0
    result["a"]._array[0] = 7
    assert result["a"]._array[0] == 7 and path.read_bytes() == before
    with serialization.set_default_mmap_options(1):
        shared = load(str(path), mmap=True)
    shared["a"]._array[0] = 7
    del shared
    with pytest.raises(RuntimeError, match="CRC-32"):
        load(path)
    serialization.set_crc32_options(False)
    try:
        assert load(path)["a"]._array[0] == 7
    finally:
        serialization.set_crc32_options(True)
    save({"a": tensor([5])}, path)  # replacing a mapped file leaves the mapping as it was
    assert result["a"]._array[1] == 1
    assert serialization.get_default_mmap_options() == 2
    with pytest.raises(ValueError):
        serialization.set_default_mmap_options(3)


def test_memory_mapping_needs_a_path_and_the_zip_format(tmp_path):
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        load(saved([1]), mmap=True)
    path = tmp_path / "old.pt"
    save(tensor([1]), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        load(path, mmap=True)


def swapped(values, dtype, component):
    return np.array(values, dtype).view(component).byteswap().tobytes()


def test_big_endian_files():
    big = {"byteorder": b"big"}
    one = b"\x80\x02" + rebuilt(sizes=(2,)) + b"."
    one = one.replace(b"\x8a\x01\x04tQ", b"\x8a\x01\x02tQ")
    assert load(checkpoint(one, [swapped([1, -2.5], "f4", "f4")], **big)).tolist() == [1, -2.5]
    kinds = {"ComplexFloatStorage": ("c8", "f4"), "LongStorage": ("i8", "i8"), "ByteStorage": ("u1", "u1")}
    for kind, (dtype, component) in kinds.items():
        pickled = one.replace(b"FloatStorage", kind.encode())
        assert load(checkpoint(pickled, [swapped([1, 2], dtype, component)], **big)).tolist() == [1, 2]
    without = {"byteorder": None}
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert load(checkpoint(one, [swapped([1, 2], "f4", "f4")], **without)).tolist() == [1, 2]
    finally:
        serialization.set_default_load_endianness(None)
    assert load(checkpoint(one, [np.array([1, 2], "f4").tobytes()], **without)).tolist() == [1, 2]
    with pytest.raises(ValueError, match="Unknown endianness type: middle\nhint"):
        load(checkpoint(one, byteorder=b"middle"))
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("big")


def test_bytes_that_are_no_bools_become_true():
    pickled = b"\x80\x02" + rebuilt(stored(b"ctorch\nBoolStorage\n")) + b"."
    result = load(checkpoint(pickled, [b"\x00\x01\x02\xff"]))
    assert result.tolist() == [False, True, True, True] and result._array.view(np.uint8).max() == 1


def test_lazy_conjugation_and_negation_of_pytorch():
    data = np.array([1 + 2j, 3 - 4j], np.complex64)
    rest = b"ccollections\nOrderedDict\n)R}" + text("conj") + b"\x88s" + text("neg") + b"\x88s"
    pickled = rebuilt(stored(b"ctorch\nComplexFloatStorage\n", count=2), sizes=(2,), rest=rest)
    assert load(checkpoint(b"\x80\x02" + pickled + b".", [data.tobytes()])).tolist() == [-1 + 2j, -3 - 4j]


def test_storages_without_tensors_are_refused():
    for pickled in (stored(), b"]" + stored() + b"a", stored() + b"\x85", b"}" + text("s") + stored() + b"s"):
        with pytest.raises(pickle.UnpicklingError, match="storage"):
            load(checkpoint(b"\x80\x02" + pickled + b"."))


def test_empty_tensors_of_several_dtypes():
    values = [tensor([], dtype) for dtype in ("float32", "int64", "float64", "bool")] * 2
    assert [t.dtype for t in loaded(values)] == [t.dtype for t in values]


def test_numpy_values_when_numpy_s_functions_are_trusted():
    with serialization.safe_globals([np._core.multiarray.scalar]):
        assert loaded([np.float64(2)]) == [2]


def test_checksums_can_be_left_out():
    serialization.set_crc32_options(False)
    try:
        assert not serialization.get_crc32_options()
        file = saved(tensor([1, 2]))
    finally:
        serialization.set_crc32_options(True)
    assert load(file).tolist() == [1, 2]


def test_arguments_that_load_does_not_take():
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        load(saved([1]), foo=3)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        load(saved([1]), None, pickle)
    assert load(saved([1]), encoding="latin1") == [1]


def test_the_numbers_of_a_generator_come_back():
    state = functions.randn(10) if hasattr(functions, "randn") else tensor(range(10))
    assert bits(loaded(state)._array) == bits(state._array)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the collector closes the file then
def test_an_interrupt_while_saving_leaves_nothing_behind(tmp_path):
    """KeyboardInterrupt before each line of the code that opens, writes and renames."""
    path = tmp_path / "model.pt"
    rl.save({"x": rl.ones(3)}, path)
    for moment in range(200):
        left = [moment]

        def watch(frame, event, _, left=left):
            if frame.f_code.co_filename.endswith("serialization/files.py") and event == "line":
                left[0] -= 1
                if left[0] < 0:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            rl.save({"x": rl.zeros(3)}, path)
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
            assert [each.name for each in tmp_path.iterdir()] == ["model.pt"], moment
            assert rl.load(path)["x"].shape == (3,)
        break
    assert 10 < moment < 199
