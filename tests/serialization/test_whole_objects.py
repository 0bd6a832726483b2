"""Whole modules and objects in checkpoints: classes of the running program, rebuilt without running code of theirs."""

import copy
import functools
import gc
import io
import os
import pickle
import subprocess
import sys

import pytest
import whole_objects
from checkpoints import checkpoint, loaded, rebuilt, saved, text
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_objects import Colour, Leaving, Made, Net, OfMeta, Plainly, Reduced, Restoring, Settings, Slotted, SlottedToo

import rushlight as rl
from rushlight import nn
from rushlight.serialization import load, safe_globals, save

EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError)
HERE = "whole_objects"


@pytest.fixture(autouse=True)
def no_code():
    whole_objects.events.clear()
    yield
    whole_objects.events.clear()


def read(program, **options):
    return load(checkpoint(b"\x80\x04" + program + b"."), **{"weights_only": False, **options})


def named(name, module=HERE):
    return f"c{module}\n{name}\n".encode()


def test_a_module_comes_back_as_it_was():
    net = Net()
    net.register_forward_hook(functools.partial(whole_objects.double))
    file = saved(net)
    whole_objects.events.clear()
    back = load(file, weights_only=False)
    assert whole_objects.events == []
    assert type(back) is Net and back.training and repr(back) == repr(net) and back.settings == net.settings
    assert back.colour is Colour.RED and back.function is whole_objects.double and back.kind is nn.LayerNorm
    assert back.tied is back.layers[0].weight and list(back.state_dict()) == list(net.state_dict())
    x = rl.ones(2, 3)
    assert rl.equal(back.layers(x), net.layers(x)) and "steps" in dict(back.named_buffers())


def test_only_tensors_are_the_default():
    with pytest.raises(
        pickle.UnpicklingError, match=r"Unsupported global: GLOBAL whole_objects\.Net was not an allowed"
    ) as error:
        load(saved(Net()))
    assert "weights_only=False" in str(error.value)
    with safe_globals([nn.Linear]):
        assert type(loaded(nn.Linear(2, 3))) is nn.Linear


def test_slots_partials_methods_and_references():
    plain, too = Slotted(), SlottedToo()
    plain.a = [1]
    too.c, too.free, too.b = plain, 3, "b"
    partial = functools.partial(nn.LayerNorm, eps=1e-3)
    layer = nn.Linear(1, 1)
    values = [plain, too, partial, rl.add, nn.functional.gelu, rl.Tensor.relu, nn.Linear, layer, layer.extra_repr]
    back = loaded(values, weights_only=False)
    assert (
        back[1].c is back[0]
        and back[0].a == [1]
        and not hasattr(back[0], "b")
        and (back[1].free, back[1].b) == (3, "b")
    )
    assert (back[2].func, back[2].args, back[2].keywords) == (nn.LayerNorm, (), {"eps": 1e-3})
    assert back[3:7] == values[3:7] and back[8].__self__ is back[7]


def test_recurrent_layers_share_their_weights_with_the_list_of_them():
    back = loaded(nn.LSTM(2, 3), weights_only=False)
    assert all(mine is given for mine, given in zip(back._flat_weights, back.parameters()))
    twin = copy.deepcopy(back)
    assert all(mine is given for mine, given in zip(twin._flat_weights, twin.parameters()))


def test_optimizers_and_schedulers():
    model = nn.Linear(2, 2)
    optimizer = rl.optim.AdamW(model.parameters())
    model(rl.ones(1, 2)).sum().backward()
    optimizer.step()
    model, back = loaded([model, optimizer], weights_only=False)
    assert back.param_groups[0]["params"][0] is model.weight and back.state[model.weight]["step"].item() == 1
    back.step()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(Restoring, "__setstate__"), (Plainly, "__setstate__"), (Leaving, "__del__"), (Reduced, "code of its own")],
)
def test_classes_whose_own_code_would_run_are_refused_until_listed(kind, reason):
    program = named(kind.__name__) + b")\x81}b"
    with pytest.raises(pickle.UnpicklingError, match=reason) as error:
        read(program)
    gc.collect()
    assert whole_objects.events == [] and "hint: " in str(error.value)
    if kind is Reduced:
        return
    assert f"from {HERE} import {kind.__name__}; torch.serialization.add_safe_globals([{kind.__name__}])" in str(
        error.value
    )
    with safe_globals([kind]):
        assert type(read(program)) is kind and type(read(program, weights_only=True)) is kind


def test_nothing_of_a_class_runs_while_its_objects_are_rebuilt():
    back = read(named("Made") + b")\x81}" + text("x") + b"K\x01sb" + named("OfMeta") + b")\x81\x86")
    assert type(back[0]) is Made and type(back[1]) is OfMeta and whole_objects.events == []
    with pytest.raises(pickle.UnpicklingError, match="dictionary key"):
        read(b"}" + named("Made") + b")\x81K\x01s")
    assert whole_objects.events == []


SYSTEM = os.system.__module__
ATTACKS = {
    "reduce": named("double") + b"K\x01\x85R",
    "class reduce": named("Net") + b")R",
    "enum state": named("Colour") + b"K\x01\x85R}" + text("_value_") + b"K\x02sb",
    "function state": named("double") + b"}" + text("__code__") + b"K\x02sb",
    "class state": named("Net") + b"}" + text("forward") + b"K\x02sb",
    "os.system": named("system", "os") + text("true") + b"\x85R",
    "reference to os.system": named("system", "os"),
    "reference to its real name": named("system", SYSTEM),
    "Popen": named("Popen", "subprocess"),
    "rmtree": named("rmtree", "shutil"),
    "eval": named("eval", "builtins"),
    "through a module": named("os.system", __name__),
    "imported elsewhere": named("gc", __name__),
    "imported function": named("saved", __name__),
    "torch.load": named("load", "torch"),
    "torch.hub": named("load", "torch.hub"),
    "rushlight.save": named("save", "rushlight"),
    "dunder": named("Net.__init__.__globals__"),
    "temporary file": named("_TemporaryFileCloser", "tempfile") + b")\x81}b",
    "not imported": named("Anything", "antigravity"),
    "graph module": named("reduce_graph_module", "torch.fx.graph_module") + b"}N\x86R",
    "getattr of a module": named("getattr", "builtins") + named("os", __name__) + text("system") + b"\x86R",
    "getattr of data": named("getattr", "builtins") + text("a") + text("upper") + b"\x86R",
    "property": named("getattr", "builtins") + named("Made") + b")\x81" + text("__class__") + b"\x86R",
    "partial of eval": named("partial", "functools") + named("eval", "builtins") + b"\x85R",
    "partial's state": named("partial", "functools") + named("double") + b"\x85R(" + text("x") + b")}Ntb",
    "member that is none": named("Net") + b")\x81}" + text("_modules") + b"}" + text("a") + b"K\x01ssb",
    "dunder attribute": named("Net") + b")\x81}" + text("__class__") + b"K\x01sb",
    "no such slot": named("Slotted") + b")\x81N}" + text("x") + b"K\x01s\x86b",
    "arguments": named("Net") + b"K\x01\x85\x81",
    "tensor subclass": named("Parameter", "torch.nn.parameter") + b")\x81}b",
    "graph": named("GraphModule", "torch.fx.graph_module") + b")\x81}b",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_by_name(name, monkeypatch):
    def touched(*arguments, **keywords):
        raise AssertionError("code was run")

    for module, function in ((os, "system"), (subprocess, "Popen"), (rl, "load")):
        monkeypatch.setattr(module, function, touched)
    with pytest.raises(pickle.UnpicklingError, match="\nhint: "):
        read(ATTACKS[name])
    assert whole_objects.events == [] and "antigravity" not in sys.modules
    assert Colour.RED.value == 1 and callable(Net.forward)


def test_what_is_not_imported_is_said_to_be_so():
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL antigravity\.Anything .*\nhint: .*import antigravity"):
        read(ATTACKS["not imported"])


def test_what_could_not_be_read_is_not_written():
    class Local(nn.Module):
        pass

    for value in (Local(), lambda x: x, os.system, Reduced(), nn.Sequential(Local())):
        with pytest.raises(pickle.PicklingError, match="hint: "):
            save({"a": value}, io.BytesIO())


def test_meta_tensors():
    layer = nn.Linear(2, 3, device="meta")
    weight, back = loaded([layer.weight.T, layer], weights_only=False)
    assert weight.is_meta and weight.stride() == (1, 2) and back.weight.is_meta and back.weight.shape == (3, 2)
    assert loaded(layer.state_dict())["bias"].is_meta
    huge = b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n"
    with pytest.raises(EXPECTED, match="hint: "):
        read(huge + b"\x8a\x08" + bytes(7) + b"\x40\x85" + b"K\x01\x85\x89tR")


# ---------------------------------------------------------------- random files

NAMES = [
    named(name)
    for name in (
        "Net",
        "Settings",
        "Slotted",
        "SlottedToo",
        "Made",
        "OfMeta",
        "Colour",
        "double",
        "Restoring",
        "Leaving",
    )
]
CODES = [
    *(bytes((code,)) for code in b"(0N]})aesut\x85\x86\x87RbQ\x94\x8f\x90\x81"), b"q\x00", b"h\x00", b"K\x01", rebuilt(),
    *NAMES, named("Linear", "torch.nn.modules.linear"), named("LSTM", "torch.nn.modules.rnn"), named("partial", "functools"),
    named("getattr", "builtins"), named("AdamW", "torch.optim.adamw"), named("system", "os"), named("add", "torch"),
    *(text(name) for name in ("_modules", "_parameters", "_forward_hooks", "a", "__class__", "forward", "_flat_weights")),
]  # fmt: skip


def attempt(data):
    whole_objects.events.clear()
    try:
        result = load(data, weights_only=False)
    except EXPECTED as error:
        assert "hint: " in str(error)
    else:
        del result
    gc.collect(0)
    assert whole_objects.events == []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(CODES), max_size=25))
def test_programs_of_random_opcodes_run_nothing(codes):
    attempt(checkpoint(b"\x80\x02" + b"".join(codes) + b"."))


SAMPLE = saved([nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 2)), Settings(), functools.partial(whole_objects.double)])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3), st.integers(0, 2))
def test_changed_bytes_of_whole_objects_run_nothing(changes, removed):
    import zipfile

    with zipfile.ZipFile(io.BytesIO(SAMPLE.getvalue())) as archive:
        data = bytearray(archive.read("archive/data.pkl"))
        storages = [archive.read(f"archive/data/{key}") for key in range(6)]
    for position, value in changes:
        data[position % len(data)] = value
        del data[position % len(data) : position % len(data) + removed]
    attempt(checkpoint(bytes(data), storages))
