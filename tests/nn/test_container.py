"""Containers without PyTorch."""

from collections import OrderedDict

import pytest

import rushlight as rl
from rushlight import nn


def names(model):
    return [type(module).__name__ for module in model]


def test_sequential_is_a_list():
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    model.append(nn.Sigmoid()).insert(0, nn.Identity()).extend([nn.ELU()])
    assert names(model) == ["Identity", "ReLU", "Tanh", "Sigmoid", "ELU"]
    assert list(model._modules) == ["0", "1", "2", "3", "4"]
    assert names(model[1:3]) == ["ReLU", "Tanh"]
    assert type(model.pop(-1)) is nn.ELU
    del model[0]
    model[0] = nn.GELU()
    assert names(model) == ["GELU", "Tanh", "Sigmoid"]
    assert names(model + nn.Sequential(nn.ReLU())) == ["GELU", "Tanh", "Sigmoid", "ReLU"]
    assert names(2 * nn.Sequential(nn.ReLU())) == ["ReLU", "ReLU"]
    with pytest.raises(IndexError, match="index 3 is out of range"):
        model[3]


def test_sequential_with_names():
    model = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert repr(model) == "Sequential(\n  (first): ReLU()\n  (second): Tanh()\n)"
    assert model.first is model[0]
    assert list(model[:1]._modules) == ["first"]


def test_module_list():
    modules = nn.ModuleList(nn.ReLU() for _ in range(3))
    modules.insert(1, nn.Tanh())
    assert repr(modules) == "ModuleList(\n  (0): ReLU()\n  (1): Tanh()\n  (2-3): 2 x ReLU()\n)"
    assert modules[-1] is modules[3]
    assert names(modules[:2] + [nn.ELU()]) == ["ReLU", "Tanh", "ELU"]
    with pytest.raises(TypeError, match=r"ModuleList\.extend should be called with an iterable, but got int"):
        modules.extend(3)


def test_module_dict():
    modules = nn.ModuleDict({"b": nn.ReLU()})
    modules.update([("a", nn.Tanh())])
    assert list(modules) == ["b", "a"] and "a" in modules and len(modules) == 2
    assert type(modules.pop("b")) is nn.ReLU
    with pytest.raises(ValueError, match="element #0 has length 3; 2 is required"):
        modules.update([(1, 2, 3)])


def test_parameter_list():
    weights = nn.ParameterList([rl.zeros(2), 3])
    weights += [rl.zeros(3, 1)]
    assert [name for name, _ in weights.named_parameters()] == ["0", "2"]
    assert repr(weights) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2]\n    (1): Object of type: int\n"
        "    (2): Parameter containing: [torch.float32 of size 3x1]\n)"
    )
    with pytest.raises(RuntimeError, match="ParameterList should not be called"):
        weights(1)


def test_parameter_dict():
    weights = nn.ParameterDict({"b": rl.zeros(1), "a": rl.zeros(2)})
    assert list(weights) == ["a", "b"]
    assert isinstance(weights["a"], nn.Parameter)
    merged = weights | {"c": rl.ones(1)}
    assert [name for name, _ in merged.named_parameters()] == ["a", "b", "c"]
    assert merged.popitem()[0] == "c" and len(merged) == 2
