"""While Rushlight stands as torch, classes print, pickle and are saved under PyTorch's names, and are found there."""

import importlib
import json
import subprocess
import sys

import pytest

from rushlight.compat import renaming

torch = pytest.importorskip("torch")

PLACES = """torch torch.nn torch.nn.parameter torch.nn.utils.prune torch.nn.utils.parametrize torch.optim torch.optim.lr_scheduler
    torch.optim.swa_utils torch.utils.data torch.distributions torch.autograd torch.amp torch.fx torch.overrides"""
PROGRAM = """
import importlib, inspect, io, json, pickle, sys
from rushlight.compat import install_as_torch, uninstall
install_as_torch()
import torch
found = {}
for place in sys.argv[1].split():
    module = importlib.import_module(place)
    for name in dir(module):
        value = getattr(module, name, None)
        if isinstance(value, type) and not name.startswith("_"):
            found[f"{place}.{name}"] = repr(value)
model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Softmax(0), torch.nn.Embedding(2, 2))
assert [*map(type, pickle.loads(pickle.dumps(model)))] == [*map(type, model)]
file = io.BytesIO()
torch.save(model, file)
file.seek(0)
assert [*map(type, torch.load(file, weights_only=False))] == [*map(type, model)]
import torch.fx
traced = torch.fx.symbolic_trace(model)
assert pickle.loads(pickle.dumps(traced)).code == traced.code
assert inspect.getsource(torch.nn.Linear).startswith("class Linear")
linear = torch.nn.Linear
uninstall()
assert linear.__module__ == "rushlight.nn.modules.linear" and "torch.nn" not in sys.modules
print(json.dumps(found))
"""
# Classes of PyTorch's native part, of TorchScript, and those that lie in files of other names.
OTHERS = ("<class 'torch._C.", "<class 'torch.jit")
KNOWN = ("Adafactor", "Muon", "SavedTensor", "LinearCrossEntropyOptions", "Future")


def named(name):
    place, _, name = name.rpartition(".")
    return getattr(importlib.import_module(place), name, None)


def test_classes_have_pytorchs_names():
    done = subprocess.run([sys.executable, "-c", PROGRAM, PLACES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    kinds = {name: named(name) for name in found if not name.endswith(KNOWN)}
    expected = {name: repr(kind) for name, kind in kinds.items() if isinstance(kind, type) and kind is not torch.dtype}
    compared = [name for name, text in expected.items() if not f"{text} {found[name]}".count(OTHERS[0])]
    compared = [name for name in compared if not found[name].startswith(OTHERS) and "torch" in expected[name]]
    assert {name: found[name] for name in compared} == {name: expected[name] for name in compared}
    assert len(compared) > 350


def test_a_module_of_ours_has_the_loader_that_renames():
    spec = renaming.renaming_spec("rushlight.hub", renaming.sys.modules["rushlight"].__path__, None)
    assert type(spec.loader).__name__ == "_RenamingLoader"
