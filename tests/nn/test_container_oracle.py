"""Containers of modules and parameters against PyTorch: list and dict operations, printed forms, errors."""

from collections import OrderedDict

import pytest
from scenarios import assert_same_story

torch = pytest.importorskip("torch")


def sequential(torch, note):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))
    for index in (3, -4, -1, "0", slice(1, None), 1.5):
        note(f"get {index}", lambda index=index: model[index])
    note("set", lambda: model.__setitem__(1, nn.Tanh()))
    note("set int", lambda: model.__setitem__(1, 3))
    note("delete", lambda: model.__delitem__(slice(0, 1)))
    note("model", lambda: model)
    one = nn.Sequential(nn.ReLU())
    operations = {
        "add": lambda: model + one,
        "add int": lambda: model + 3,
        "times 2": lambda: model * 2,
        "times 0": lambda: model * 0,
        "times float": lambda: model * 2.0,
        "2 times": lambda: 2 * model,
        "itimes 0": lambda: model.__imul__(0),
        "itimes a": lambda: model.__imul__("a"),
        "itimes": lambda: model.__imul__(2),
        "iadd int": lambda: model.__iadd__(3),
        "iadd": lambda: model.__iadd__(one),
        "insert": lambda: model.insert(1, nn.Sigmoid()),
        "insert -1": lambda: model.insert(-1, nn.Softsign()),
        "insert 100": lambda: model.insert(100, nn.ReLU()),
        "insert int": lambda: model.insert(0, 3),
        "append int": lambda: model.append(3),
        "append": lambda: model.append(nn.GELU()),
        "extend int": lambda: model.extend(3),
        "extend": lambda: model.extend([nn.ReLU()]),
        "pop": lambda: model.pop(0),
        "pop slice": lambda: model.pop(slice(0, 2)),
        "pop name": lambda: model.pop("0"),
        "pop 99": lambda: model.pop(99),
        "result": lambda: model,
        "empty": lambda: nn.Sequential(),
        "empty call": lambda: nn.Sequential()(3),
        "of int": lambda: nn.Sequential(3),
        "of dict": lambda: nn.Sequential({"a": one}),
        "of ordered": lambda: nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh())),
        "ordered slice": lambda: nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))[0:1],
        "digits in dir": lambda: [name for name in dir(model) if name.isdigit()],
    }
    for name, action in operations.items():
        note(name, action)
    ordered = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Sigmoid(), c=nn.Tanh()))
    note("renumbered", lambda: (ordered.__delitem__(0), ordered))


def module_list(torch, note):
    nn = torch.nn
    modules = nn.ModuleList([nn.ReLU(), nn.Linear(1, 1)])
    for index in (5, -3, -1, "0", slice(0, 1), 1.2):
        note(f"get {index}", lambda index=index: modules[index])
    operations = {
        "add": lambda: modules + [nn.ReLU()],
        "add int": lambda: modules + 3,
        "extend int": lambda: modules.extend(3),
        "extend ints": lambda: modules.extend([1]),
        "append None": lambda: modules.append(None),
        "insert": lambda: modules.insert(0, nn.Tanh()),
        "set": lambda: modules.__setitem__(0, nn.ReLU()),
        "pop": lambda: modules.pop(0),
        "pop slice": lambda: modules.pop(slice(0, 1)),
        "call": lambda: modules(1),
        "iadd": lambda: modules.__iadd__([nn.ReLU(), nn.ReLU()]),
        "delete": lambda: modules.__delitem__(slice(None, None, 2)),
        "result": lambda: modules,
        "blocks": lambda: nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()]),
        "empty": lambda: nn.ModuleList(),
        "nones": lambda: nn.ModuleList([None, None, nn.ReLU()]),
        "nested": lambda: nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Tanh()), nn.Sequential(nn.ReLU(), nn.Tanh())]),
    }
    for name, action in operations.items():
        note(name, action)


def module_dict(torch, note):
    nn = torch.nn
    modules = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    for entries in (
        [["x", nn.ReLU()], ("y", nn.Tanh())],
        [nn.ReLU()],
        [(1, 2, 3)],
        3,
        [3],
        [(1, nn.ReLU())],
        {"a": None},
    ):
        note("of entries", lambda entries=entries: nn.ModuleDict(entries))
    operations = {
        "dict": lambda: modules,
        "get": lambda: modules["z"],
        "items": lambda: (list(modules.items()), list(modules), list(modules.values()), "a" in modules),
        "views": lambda: (modules.keys(), modules.values(), modules.items()),
        "pop": lambda: modules.pop("a"),
        "pop missing": lambda: modules.pop("zz"),
        "set int": lambda: modules.__setitem__(3, nn.ReLU()),
        "set forward": lambda: modules.__setitem__("forward", nn.ReLU()),
        "set items": lambda: modules.__setitem__("items", nn.ReLU()),
        "delete": lambda: modules.__delitem__("q"),
        "call": lambda: modules(1),
        "ordered": lambda: nn.ModuleDict(OrderedDict(z=nn.ReLU(), a=nn.Tanh())),
        "update": lambda: (modules.update(nn.ModuleDict({"t": nn.Tanh()})), modules),
        "clear": lambda: (modules.clear(), len(modules), modules),
    }
    for name, action in operations.items():
        note(name, action)


def parameter_list(torch, note):
    nn = torch.nn

    def zeros(*shape):
        return nn.Parameter(torch.zeros(*shape))

    weights = nn.ParameterList([zeros(2), zeros(3, 1)])
    operations = {
        "list": lambda: weights,
        "mixed": lambda: nn.ParameterList([torch.zeros(2), 3, "a", None, zeros(1)]),
        "call": lambda: weights(1),
        "get 5": lambda: weights[5],
        "slice": lambda: weights[0:1],
        "append": lambda: weights.append(torch.ones(2)),
        "extend": lambda: weights.extend([3]),
        "extend int": lambda: weights.extend(3),
        "extend parameter": lambda: weights.extend(zeros(2)),
        "iadd": lambda: weights.__iadd__([zeros(1)]),
        "state": lambda: (list(weights.state_dict()), len(weights), weights.__dict__["3"]),
        "set": lambda: (weights.__setitem__(0, zeros(9)), weights.__setitem__(-1, torch.ones(1)), weights),
        "set int": lambda: weights.__setitem__(0, 3),
        "get": lambda: (weights[-1], weights["0"]),
        "of int": lambda: nn.ParameterList(3),
        "of parameter": lambda: nn.ParameterList(zeros(2)),
        "empty": lambda: nn.ParameterList(),
        "modules": lambda: nn.ParameterList([nn.ReLU(), nn.ParameterList([zeros(1)])]),
        "double": lambda: weights.double(),
        "iterate": lambda: [type(value).__name__ for value in weights],
    }
    for name, action in operations.items():
        note(name, action)


def parameter_dict(torch, note):
    nn = torch.nn

    def zeros(*shape):
        return nn.Parameter(torch.zeros(*shape))

    weights = nn.ParameterDict({"b": zeros(1), "a": zeros(2, 2)})
    one = zeros(1)
    for entries in (
        [("x", one)],
        [["x", one]],
        [(1, 2, 3)],
        3,
        [3],
        {1: one},
        OrderedDict(z=one, a=one),
        {"z": one, "a": one},
    ):
        note("of entries", lambda entries=entries: nn.ParameterDict(entries))
    operations = {
        "dict": lambda: weights,
        "missing": lambda: weights["z"],
        "call": lambda: weights(1),
        "setdefault": lambda: (weights.setdefault("c", zeros(1)), weights.setdefault("zz")),
        "get": lambda: (weights.get("nn"), weights.get("b"), weights.get("nn", 3)),
        "pop": lambda: weights.pop("b"),
        "pop missing": lambda: weights.pop("xx"),
        "popitem": lambda: weights.popitem(),
        "copy": lambda: weights.copy(),
        "or": lambda: weights | nn.ParameterDict({"t": zeros(1)}),
        "or dict": lambda: weights | {"t": zeros(1)},
        "ror": lambda: {"t": 1} | weights,
        "ior": lambda: weights.__ior__({"u": zeros(1)}),
        "fromkeys": lambda: weights.fromkeys(["a", "b"], one),
        "reversed": lambda: (list(reversed(weights)), list(weights.keys()), len(list(weights.values()))),
        "set": lambda: (weights.__setitem__("t", torch.zeros(2)), weights.__setitem__("int", 3), weights),
        "delete": lambda: (weights.__delitem__("a"), weights),
        "delete missing": lambda: weights.__delitem__("aaa"),
        "update int": lambda: weights.update(3),
        "update ints": lambda: weights.update([3]),
        "taken": lambda: nn.ParameterDict().__setitem__("keys", one),
        "contains": lambda: ("t" in weights, "q" in weights, len(weights)),
        "clear": lambda: (weights.clear(), weights),
    }
    for name, action in operations.items():
        note(name, action)


@pytest.mark.parametrize("scenario", [sequential, module_list, module_dict, parameter_list, parameter_dict])
def test_same_as_torch(scenario):
    assert_same_story(scenario, torch)
