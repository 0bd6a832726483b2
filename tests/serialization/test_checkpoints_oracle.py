"""Checkpoints against PyTorch: it opens what we write, we open what it writes, and both refuse alike."""

import io
import pickle
import warnings
from collections import Counter, OrderedDict

import numpy as np
import pytest
from checkpoints import saved, shares_memory, tensor

import rushlight as rl
import rushlight.serialization as serialization
from rushlight.base.dtypes import ALL, NAMES, float32
from rushlight.base.size import Size
from rushlight.nn.parameter import Buffer, Parameter
from rushlight.serialization import load
from rushlight.tensor import wrap

torch = pytest.importorskip("torch")


def torch_saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def to_torch(array):
    """A PyTorch tensor with the array's dtype, values and strides."""
    name = "bool" if array.dtype.name == "bool" else array.dtype.name
    if name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    made = torch.from_numpy(array)
    assert str(made.dtype) == f"torch.{name}"
    return made


def same(ours, theirs):
    assert repr(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
    assert ours.requires_grad == theirs.requires_grad
    if ours.numel():
        assert tuple(ours.stride()) == theirs.stride() and ours.storage_offset() == theirs.storage_offset()
    plain = theirs.detach().resolve_conj().resolve_neg()
    array = plain.view(torch.int16).numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
    mine = ours._array.view(np.int16) if plain.dtype is torch.bfloat16 else ours._array
    assert np.array_equal(mine, array, equal_nan=array.dtype.kind in "fc")


VIEWS = {
    "whole": lambda a: a, "turned": lambda a: a.T, "slice": lambda a: a[1:3], "column": lambda a: a[:, 2],
    "steps": lambda a: a[::2, 1::3], "element": lambda a: a[2, 3, ...], "empty": lambda a: a[:0],
    "expanded": lambda a: np.broadcast_to(a[1], (5, 6)),
}  # fmt: skip


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("dtype", ALL, ids=repr)
def test_every_dtype_and_view_both_ways(dtype, legacy):
    if legacy and dtype.name in ("uint16", "uint32", "uint64"):
        pytest.skip("PyTorch itself does not read these in its old format")
    base = np.random.default_rng(1).integers(0, 2 if dtype.name == "bool" else 50, (4, 6)).astype(dtype.numpy)
    arrays = {name: view(base) for name, view in VIEWS.items()}
    options = {"_use_new_zipfile_serialization": not legacy}
    theirs = torch.load(saved({name: wrap(array) for name, array in arrays.items()}, **options), weights_only=True)
    whole = theirs["whole"]
    views = {"turned": whole.T, "slice": whole[1:3], "column": whole[:, 2], "steps": whole[::2, 1::3],
             "element": whole[2, 3], "empty": whole[:0], "expanded": whole[1].expand(5, 6), "whole": whole}  # fmt: skip
    for name, array in arrays.items():
        same(wrap(array), theirs[name])
        if array.size:
            assert theirs[name].untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
    ours = load(torch_saved(views, **options))
    for name, view in views.items():
        same(ours[name], view)
        if view.numel():
            assert shares_memory(ours["whole"], ours[name])


def test_parameters_flags_and_attributes():
    weight, frozen, leaf = (
        Parameter(tensor([1, 2])),
        Parameter(tensor([3], "int64"), False),
        tensor([1]).requires_grad_(),
    )
    weight.tag = "tagged"
    buffer = Buffer(tensor([4]), persistent=False)
    theirs = torch.load(saved([weight, frozen, leaf, buffer]), weights_only=True)
    assert [type(t) for t in theirs[:3]] == [torch.nn.Parameter, torch.nn.Parameter, torch.Tensor]
    assert [t.requires_grad for t in theirs] == [True, False, True, False] and theirs[0].tag == "tagged"
    assert isinstance(theirs[3], torch.nn.Buffer) and theirs[3].persistent is False
    ours = load(torch_saved(theirs))
    assert type(ours[0]) is Parameter and ours[0].tag == "tagged" and isinstance(ours[3], Buffer)
    for mine, other in zip(ours, theirs):
        same(mine, other)


def test_a_training_checkpoint_both_ways():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Conv1d(4, 2, 1))
    optimizer = torch.optim.Adam([{"params": model[0].parameters()}, {"params": model[1:].parameters(), "lr": 0.1}])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model[1](model[0](torch.randn(5, 3))).sum().backward()
    optimizer.step()
    scheduler.step()
    whole = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    ours = load(torch_saved(whole))
    assert list(ours["model"]) == list(whole["model"]) and ours["model"]._metadata == whole["model"]._metadata
    for name, expected in whole["model"].items():
        same(ours["model"][name], expected.detach())
    assert ours["optimizer"]["param_groups"] == whole["optimizer"]["param_groups"]
    assert ours["scheduler"] == whole["scheduler"]
    back = torch.load(saved(ours), weights_only=True)
    model.load_state_dict(back["model"])
    optimizer.load_state_dict(back["optimizer"])
    scheduler.load_state_dict(back["scheduler"])
    assert back["model"]._metadata == whole["model"]._metadata


def test_models_of_ours_and_of_pytorch_exchange_checkpoints(tmp_path):
    def make(library):
        nn = library.nn
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        model.norm = nn.BatchNorm1d(4)
        return model, library.optim.Adam(model.parameters(), lr=0.01)

    def step(library, model, optimizer):
        optimizer.zero_grad()
        model[:3](library.arange(15.0).reshape(5, 3) / 10).pow(2).sum().backward()
        optimizer.step()

    (ours, our_optimizer), (theirs, their_optimizer) = make(rl), make(torch)
    step(rl, ours, our_optimizer)
    path = tmp_path / "ours.pt"
    serialization.save({"model": ours.state_dict(), "optimizer": our_optimizer.state_dict()}, path)
    checkpoint = torch.load(path, weights_only=True)
    theirs.load_state_dict(checkpoint["model"])
    their_optimizer.load_state_dict(checkpoint["optimizer"])
    step(torch, theirs, their_optimizer)
    torch.save({"model": theirs.state_dict(), "optimizer": their_optimizer.state_dict()}, path)
    back = serialization.load(path)
    step(rl, ours, our_optimizer)
    for name, expected in ours.state_dict().items():
        assert np.allclose(back["model"][name].numpy(), expected.numpy(), rtol=1e-4, atol=1e-5), name
    ours.load_state_dict(back["model"])
    our_optimizer.load_state_dict(back["optimizer"])
    assert our_optimizer.state_dict()["state"][0]["step"] == 2


VALUES = [
    None, True, 3, -(2**70), 2.5, 1 - 2j, "text\ud800", b"bytes\x00\xff", b"", bytearray(b"array"), (1, (2, "x")),
    [1, [2]], {"a": {1: 2}}, {1, "b"}, OrderedDict(z=1, a=2), Counter("abca"), list(range(2500)),
]  # fmt: skip


@pytest.mark.parametrize(
    "value", VALUES, ids=lambda value: type(value).__name__ if isinstance(value, (set, frozenset)) else repr(value)[:30]
)
def test_plain_data_both_ways(value):
    theirs = torch.load(saved({"value": value}), weights_only=True)["value"]
    assert type(theirs) is type(value) and theirs == value
    ours = load(torch_saved({"value": value}), weights_only=value != b"")["value"]
    assert type(ours) is type(value) and ours == value


def test_types_of_torch_both_ways():
    value = {
        "size": torch.Size([2, 3]), "device": torch.device("cuda", 1), "cpu": torch.device("cpu"),
        "layout": torch.strided, "dtypes": [getattr(torch, name) for name in NAMES], "class": torch.Tensor,
    }  # fmt: skip
    ours = load(torch_saved(value))
    assert type(ours["size"]) is Size and ours["size"] == (2, 3) and ours["dtypes"] == list(NAMES.values())
    assert str(ours["device"]) == "cuda:1" and str(ours["cpu"]) == "cpu" and repr(ours["layout"]) == "torch.strided"
    assert torch.load(saved(ours), weights_only=True) == value


@pytest.mark.parametrize(
    "value",
    [slice(1, 2), range(3), frozenset([1]), np.float32(2), np.arange(4), np.dtype("f8")],
    ids=lambda value: type(value).__name__,
)
def test_further_data_is_refused_alike_and_read_alike(value):
    first_lines = []
    for reader, file in ((torch.load, saved([value])), (load, torch_saved([value]))):
        with pytest.raises(pickle.UnpicklingError) as caught:
            reader(file)
        lines = str(caught.value).splitlines()
        first_lines.append(lines[0])
        assert "Unsupported global: GLOBAL" in str(caught.value)
    assert first_lines[0] == first_lines[1]
    for result in (
        torch.load(saved([value]), weights_only=False)[0],
        load(torch_saved([value]), weights_only=False)[0],
    ):
        assert type(result) is type(value) and np.array_equal(np.asarray(result), np.asarray(value))


def test_lazy_conjugation():
    value = torch.tensor([1 + 2j, 3 - 4j])
    ours = load(torch_saved([value, value.conj(), value.conj()[1]]))
    assert [t.tolist() for t in ours] == [[1 + 2j, 3 - 4j], [1 - 2j, 3 + 4j], 3 + 4j]
    assert [t.is_conj() for t in ours] == [False, True, True] and ours[0].data_ptr() == ours[1].data_ptr()
    parts = load(torch_saved(value.conj().imag))
    assert parts.tolist() == [-2, 4] and parts.is_neg()


@pytest.mark.parametrize("value", [lambda: torch.nn.Linear(1, 1)])
def test_what_has_no_counterpart_here_is_refused_clearly(value):
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed.*\n(.*\n)?hint: "):
        load(torch_saved(value()))


def whole_modules(t):
    nn = t.nn
    layers = [
        nn.Linear(3, 4), nn.Conv2d(1, 2, 3, padding="same"), nn.ConvTranspose2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(),
        nn.LSTM(3, 4, 2, bidirectional=True), nn.GRU(2, 3), nn.RNN(2, 3), nn.LSTMCell(2, 3), nn.MultiheadAttention(4, 2),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, activation="gelu", batch_first=True), 2),
        nn.Transformer(4, 2, 1, 1, 8, batch_first=True),
        nn.Embedding(5, 3), nn.EmbeddingBag(4, 3), nn.ModuleList([nn.Linear(1, 1)]), nn.ModuleDict({"a": nn.Tanh()}),
        nn.ParameterList([nn.Parameter(t.ones(2))]), nn.ParameterDict({"x": nn.Parameter(t.ones(2))}), nn.Softmax(1),
        nn.CrossEntropyLoss(weight=t.ones(3)), nn.Upsample(scale_factor=2), nn.LayerNorm(3), nn.TripletMarginLoss(),
        nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance()), nn.GELU(), nn.Bilinear(1, 2, 3),
        nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 5], div_value=1.5),
    ]  # fmt: skip
    return [nn.Sequential(layer).eval() for layer in layers]


def test_whole_modules_both_ways():
    """Every family of layers as PyTorch writes it, and as it reads ours."""
    for theirs, ours in zip(whole_modules(torch), whole_modules(rl)):
        for back, kept in (
            (load(torch_saved(theirs), weights_only=False), theirs),
            (torch.load(saved(ours), weights_only=False), ours),
        ):
            assert repr(back) == repr(kept) and not back.training
            state, expected = back.state_dict(), kept.state_dict()
            assert list(state) == list(expected)
            assert all(np.array_equal(state[name].numpy(), expected[name].numpy()) for name in expected)


@pytest.mark.parametrize("name", ["relu", "gelu", "softplus", "silu", "cross_entropy"])
def test_trusted_functions_of_the_library(name):
    """An activation that is an attribute, by the name that its library's files have for it."""
    theirs, ours = getattr(torch.nn.functional, name), getattr(rl.nn.functional, name)
    with serialization.safe_globals([ours]):
        assert load(torch_saved([theirs])) == load(saved([ours])) == [ours]
    other = rl.nn.functional.elu
    for file in (torch_saved([theirs]), saved([ours])):
        with serialization.safe_globals([other]), pytest.raises(pickle.UnpicklingError, match=name):
            load(file)


def test_meta_tensors_both_ways():
    weight = torch.nn.Parameter(torch.ones(2, 3, device="meta").T)
    (ours,) = load(torch_saved([weight]))
    assert ours.is_meta and ours.stride() == (1, 3) and ours.requires_grad
    assert torch.load(saved([ours]))[0].stride() == (1, 3)


def test_whole_networks_compute_alike_after_the_trip():
    theirs = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.BatchNorm1d(3), torch.nn.GELU())
    ours = load(torch_saved(theirs), weights_only=False)
    x = np.random.default_rng(0).standard_normal((2, 2, 5), "f4")
    for _ in range(2):
        assert np.allclose(ours(wrap(x)).detach().numpy(), theirs(torch.from_numpy(x)).detach().numpy(), atol=1e-6)
        theirs = torch.load(saved(ours), weights_only=False)
    lstm = torch.nn.LSTM(2, 3)
    back = load(torch_saved(lstm), weights_only=False)
    x = x[0].T.copy()
    assert np.allclose(back(wrap(x))[0].detach().numpy(), lstm(torch.from_numpy(x))[0].detach().numpy(), atol=1e-6)
    functions = [torch.add, torch.nn.functional.relu, torch.nn.functional.gelu, torch.Tensor.relu]
    assert load(torch_saved(functions), weights_only=False) == [
        rl.add,
        rl.nn.functional.relu,
        rl.nn.functional.gelu,
        rl.Tensor.relu,
    ]
    assert torch.load(saved([rl.add, rl.nn.functional.gelu, rl.nn.Linear]), weights_only=False)[2] is torch.nn.Linear


def test_dtypes_that_numpy_lacks_are_refused_clearly():
    with pytest.raises(NotImplementedError, match=r"torch\.float4_e2m1fn_x2 is not available"):
        load(torch_saved(torch.ones(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)))


def test_torchscript_and_tar_files():
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="TorchScript archives"):
        load(file)


def test_pytorch_maps_our_files_and_we_map_theirs(tmp_path):
    path = tmp_path / "model.pt"
    serialization.save({"a": tensor(range(100))}, path)
    assert torch.load(path, mmap=True)["a"].tolist() == list(range(100))
    torch.save({"a": torch.arange(100), "b": torch.arange(3.0)}, path)
    ours = load(path, mmap=True)
    assert ours["a"].tolist() == list(range(100)) and ours["b"].tolist() == [0, 1, 2]


def test_files_without_checksums():
    torch.serialization.set_crc32_options(False)
    try:
        file = torch_saved(torch.arange(5))
    finally:
        torch.serialization.set_crc32_options(True)
    assert load(file).tolist() == [0, 1, 2, 3, 4]


def test_python_picklers_of_any_protocol():
    for protocol in (2, 3, 4, 5):
        value = {"t": torch.arange(3.0), "s": {1}, "b": b"x", "n": np.float64(2)}
        ours = load(torch_saved(value, pickle_protocol=protocol), weights_only=False)
        assert ours["t"].dtype is float32 and (ours["s"], ours["b"], ours["n"]) == ({1}, b"x", 2)


def first_line(function, *arguments, **options):
    with pytest.raises(Exception) as caught:  # whatever PyTorch raises
        function(*arguments, **options)
    return type(caught.value), str(caught.value).splitlines()[0]


def test_errors_have_pytorch_s_type_and_first_line(tmp_path):
    good = torch_saved(torch.ones(3)).getvalue()
    old = torch_saved(torch.ones(3), _use_new_zipfile_serialization=False).getvalue()
    (tmp_path / "old.pt").write_bytes(old)

    def agree(make, **options):
        assert first_line(load, make(), **options) == first_line(torch.load, make(), **options)

    agree(lambda: io.BytesIO(good[:500]))
    agree(lambda: io.BytesIO(old[:-3]))
    agree(lambda: io.BytesIO(pickle.dumps([1, 2], 2)))
    agree(lambda: tmp_path / "nothing.pt")
    agree(lambda: 3)
    agree(lambda: tmp_path / "old.pt", mmap=True)
    agree(lambda: str(tmp_path / "old.pt"), mmap=True)
    agree(lambda: io.BytesIO(good), mmap=True)
    for location in ("cuda", "cuda:1", "mps", "somewhere", 3, {"cpu": "cuda"}):
        agree(lambda: io.BytesIO(good), map_location=location)
    agree(lambda: torch_saved(torch.nn.Linear(1, 1)))

    def agree_saving(target, value=None):
        ours, theirs = first_line(serialization.save, value, target), first_line(torch.save, value, target)
        assert ours == theirs

    agree_saving(None)
    agree_saving(tmp_path / "missing" / "x.pt")
    shared = np.zeros(4, np.complex64)
    ours = first_line(serialization.save, [wrap(shared), wrap(shared.view("f4"))], io.BytesIO())
    made = torch.zeros(4, dtype=torch.complex64)
    assert ours == first_line(torch.save, [made, torch.view_as_real(made)], io.BytesIO())


def test_the_same_settings():
    assert serialization.get_default_mmap_options() == torch.serialization.get_default_mmap_options()
    assert serialization.get_default_load_endianness() == torch.serialization.get_default_load_endianness()
    assert serialization.get_crc32_options() == torch.serialization.get_crc32_options()
    ours, theirs = serialization.LoadEndianness, torch.serialization.LoadEndianness
    assert [(m.name, m.value) for m in ours] == [(m.name, m.value) for m in theirs]
    for name in ("MAGIC_NUMBER", "PROTOCOL_VERSION", "DEFAULT_PROTOCOL"):
        assert getattr(serialization, name) == getattr(torch.serialization, name)
