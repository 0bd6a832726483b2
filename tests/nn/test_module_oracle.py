"""Module, Parameter and Buffer against PyTorch: registration, errors, state dicts, conversion."""

import copy
import pickle
from collections import OrderedDict

import pytest
from scenarios import assert_same_story

torch = pytest.importorskip("torch")


def attributes(torch, note):
    nn = torch.nn
    layer = nn.Linear(2, 3)
    model = nn.Sequential(layer)
    model.sub = nn.ReLU()
    norm = nn.BatchNorm1d(3)
    note("missing", lambda: layer.foo)
    note("string for a parameter", lambda: setattr(layer, "weight", "X"))
    note("tensor for a parameter", lambda: setattr(layer, "weight", torch.zeros(3, 2)))
    note("module for a parameter", lambda: setattr(layer, "weight", nn.ReLU()))
    note("None for a parameter", lambda: setattr(copy.deepcopy(layer), "weight", None))
    note("number for a module", lambda: setattr(model, "sub", 3))
    note("number for a buffer", lambda: setattr(norm, "running_mean", 3))
    note("parameter for a buffer", lambda: setattr(copy.deepcopy(norm), "running_mean", nn.Parameter(torch.zeros(3))))
    note("delete missing", lambda: delattr(layer, "zork"))
    note("positional init", lambda: nn.Module(1))
    note("keyword init", lambda: nn.Module(a=1, b=2))
    note("no forward", lambda: nn.Module()(1, 2))
    note("dir", lambda: [name for name in dir(model) if name[0].isdigit() or name in ("sub", "training", "to")])
    note("train", lambda: layer.train(3))
    note("state", lambda: [(k, v) for k, v in sorted(nn.Linear(1, 1).__dict__.items()) if k != "_parameters"])


def before_init(torch, note):
    nn = torch.nn
    zeros = torch.zeros(1)
    attempts = {
        "parameter": lambda self: setattr(self, "w", nn.Parameter(zeros)),
        "module": lambda self: setattr(self, "w", nn.ReLU()),
        "tensor": lambda self: setattr(self, "w", zeros),
        "number": lambda self: setattr(self, "w", 3),
        "buffer": lambda self: self.register_buffer("w", zeros),
        "register": lambda self: self.register_parameter("w", None),
        "add": lambda self: self.add_module("w", None),
    }
    for name, attempt in attempts.items():
        kind = type("Early", (nn.Module,), {"__init__": attempt})
        note(name, lambda kind=kind: list(kind().__dict__))
    note("call", lambda: type("Early", (nn.Module,), {"__init__": lambda self: None})()(1))


def registration(torch, note):
    nn = torch.nn
    layer = nn.Linear(2, 3)
    zeros = torch.zeros(1)
    for name in (3, "a.b", "", "forward", "weight", "fresh"):
        note(f"buffer {name}", lambda name=name: layer.register_buffer(name, zeros))
        note(f"parameter {name}", lambda name=name: layer.register_parameter(name, None))
        note(f"module {name}", lambda name=name: layer.add_module(name, nn.ReLU()))
    note("buffer of int", lambda: layer.register_buffer("x", 3))
    note("parameter of tensor", lambda: layer.register_parameter("x", zeros))
    note("module of int", lambda: layer.add_module("x", 3))


def moving_between_kinds(torch, note):
    nn = torch.nn

    def kinds(module):
        return (
            sorted(module._parameters),
            sorted(module._buffers),
            sorted(module._modules),
            sorted(module._non_persistent_buffers_set),
            sorted(key for key in module.__dict__ if not key.startswith("_")),
        )

    module = nn.Module()
    module.b = nn.Buffer(torch.zeros(2))
    module.c = nn.Buffer(torch.ones(1), persistent=False)
    module.n = nn.Buffer(None)
    note("buffers", lambda: (kinds(module), list(module.state_dict())))
    module.b = None
    module.b = torch.ones(1)
    module.c = torch.zeros(3)
    note("assigned", lambda: kinds(module))
    module.c = nn.Buffer(torch.zeros(1))
    note("persistent now", lambda: kinds(module))
    del module.c
    note("deleted", lambda: kinds(module))
    module.z = torch.zeros(1)
    note("plain", lambda: kinds(module))
    module.z = nn.Parameter(torch.zeros(1))
    note("parameter", lambda: kinds(module))
    module.m = torch.zeros(1)
    module.m = nn.ReLU()
    note("module", lambda: kinds(module))
    module.m = nn.Parameter(torch.zeros(1))
    note("module to parameter", lambda: kinds(module))
    module.number = 5
    note("buffer for a plain attribute", lambda: setattr(module, "number", nn.Buffer(torch.zeros(1))))

    class Overriding(nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    other = Overriding()
    note("overridden", lambda: (setattr(other, "x", nn.Buffer(torch.zeros(1))), kinds(other)))
    note("overridden, passing", lambda: setattr(other, "y", nn.Buffer(torch.zeros(1), persistent=False)))
    note("buffer for parameter", lambda: setattr(module, "m", nn.Buffer(torch.zeros(1))))
    module.b = nn.Parameter(torch.zeros(1))
    note("buffer to parameter", lambda: kinds(module))


def paths(torch, note):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3))
    model.sub = nn.ReLU()
    for target in ("0", "0.foo", "0.weight", "", "sub", "foo.x"):
        note(f"submodule {target}", lambda target=target: model.get_submodule(target))
        note(f"buffer {target}", lambda target=target: model.get_buffer(target))
    for target in ("0.foo", "0", "sub.foo.x"):
        note(f"parameter {target}", lambda target=target: model.get_parameter(target))
    for target in ("", "zzz", "0.weight", "0.weight.x", "qq.weight.x", "0"):
        note(f"set {target}", lambda target=target: model.set_submodule(target, nn.Tanh()))
    note("set strict", lambda: model.set_submodule("yyy", nn.ReLU(), strict=True))
    note("set int", lambda: model.set_submodule("0", 3))
    note("model", lambda: model)


def iteration(torch, note):
    nn = torch.nn
    shared = nn.Linear(1, 1)
    model = nn.Sequential(shared, nn.Sequential(shared, nn.BatchNorm1d(1)))
    model.none = None
    for duplicates in (True, False):
        for method in ("named_parameters", "named_buffers", "named_modules"):
            found = getattr(model, method)(prefix="p", remove_duplicate=duplicates)
            note(f"{method} {duplicates}", lambda found=found: [name for name, _ in found])
    note("own", lambda: list(model.named_parameters(recurse=False)))
    note("children", lambda: [name for name, _ in model.named_children()])
    note("modules", lambda: len(list(model.modules())))


def conversion(torch, note):
    nn = torch.nn

    def dtypes(module):
        return [str(tensor.dtype) for tensor in module.state_dict().values()]

    model = nn.BatchNorm1d(2)
    for method in ("double", "half", "bfloat16", "float", "cpu"):
        note(method, lambda method=method: dtypes(getattr(model, method)()))
    note("type", lambda: dtypes(nn.BatchNorm1d(2).type(torch.float64)))
    note("to dtype", lambda: dtypes(model.to(torch.float64)))
    note("to device", lambda: dtypes(model.to("cpu", torch.float16)))
    note("to tensor", lambda: dtypes(model.to(torch.zeros(1))))
    note("to keywords", lambda: dtypes(model.to(device="cpu", dtype=torch.float64)))
    for arguments in ((3, 4, 5, 6), (torch.float32, "cpu"), ("cpu", "cpu")):
        note(f"to {len(arguments)}", lambda arguments=arguments: model.to(*arguments))
    note("to foo", lambda: model.to(foo=3))
    note("to integer", lambda: model.to(torch.int32))
    note("cuda", lambda: model.cuda())
    note("no tensors", lambda: nn.ReLU().cuda())
    note("to_empty", lambda: model.to_empty())
    note("to_empty cpu", lambda: dtypes(model.to_empty(device="cpu")))
    layer = nn.Linear(1, 1)
    layer(torch.ones(1)).backward()
    weight, gradient = layer.weight, layer.weight.grad
    layer.double()
    note("identity", lambda: (layer.weight is weight, layer.weight.grad is gradient, gradient.dtype, weight.is_leaf))


def zero_grad(torch, note):
    layer = torch.nn.Linear(1, 1, bias=False)
    layer(torch.ones(1)).backward()
    layer.zero_grad(set_to_none=False)
    note("zeros", lambda: layer.weight.grad)
    layer.zero_grad()
    note("none", lambda: layer.weight.grad)
    note("requires", lambda: layer.requires_grad_(False).weight.requires_grad)


def state_dicts(torch, note):
    nn = torch.nn
    layer = nn.Linear(2, 3)
    note("metadata", lambda: nn.Sequential(layer, nn.BatchNorm1d(2)).state_dict()._metadata)
    note("positional", lambda: list(layer.state_dict({}, "p.")))
    note("keep_vars", lambda: [type(value).__name__ for value in layer.state_dict(keep_vars=True).values()])
    note("detached", lambda: [value.requires_grad for value in layer.state_dict().values()])
    zeros, four = torch.zeros(3, 2), torch.zeros(4)
    note("mixed", lambda: layer.load_state_dict({"weight": 1, "bias": four, "z": 2, "y.x": zeros}))
    note("list", lambda: layer.load_state_dict([1]))
    note("match", lambda: layer.load_state_dict(layer.state_dict()))
    note("loose", lambda: layer.load_state_dict({"z": 1}, strict=False))
    note("loose size", lambda: layer.load_state_dict({"weight": four}, strict=False))
    note("missing", lambda: nn.Sequential(layer, layer, nn.Linear(1, 1)).load_state_dict({}))
    note("nested", lambda: nn.Sequential(layer).load_state_dict({"0.weight": zeros, "1.weight": zeros}))
    note(
        "old batch norm",
        lambda: nn.BatchNorm1d(1).load_state_dict(dict(list(nn.BatchNorm1d(1).state_dict().items())[:4])),
    )
    single = nn.Module()
    single.p = nn.Parameter(torch.tensor(1.0))
    note("0-dim", lambda: (single.load_state_dict({"p": torch.full((1,), 2.0)}), single.p))
    frozen = nn.Linear(2, 2)
    frozen.weight.requires_grad = False
    loaded = {"weight": nn.Parameter(torch.zeros(2, 2)), "bias": torch.zeros(2).double()}
    note("assign", lambda: (frozen.load_state_dict(loaded, assign=True), frozen.weight, frozen.bias))


def extra_state(torch, note):
    class Counter(torch.nn.Module):
        count = 3

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    model = torch.nn.Sequential(Counter())
    note("saved", lambda: model.state_dict())
    note("loaded", lambda: (model.load_state_dict({"0._extra_state": 5}), model[0].count))
    note("missing", lambda: model.load_state_dict({}))
    note("unexpected", lambda: model.load_state_dict({"0._extra_state": 1, "x_extra_state": 2}))
    note("not taken", lambda: torch.nn.ReLU().load_state_dict({"_extra_state": 2}))
    note("get", lambda: torch.nn.ReLU().get_extra_state())
    note("set", lambda: torch.nn.ReLU().set_extra_state(1))


def parameters(torch, note):
    parameter, zeros = torch.nn.Parameter, torch.zeros(2)
    note("empty", lambda: parameter())
    note("plain", lambda: parameter(zeros))
    note("frozen", lambda: parameter(zeros, False))
    note("integers", lambda: parameter(torch.zeros(2, dtype=torch.int64)))
    note("frozen integers", lambda: parameter(torch.zeros(2, dtype=torch.int64), requires_grad=False))
    note("of a list", lambda: parameter([1.0]))
    p = parameter(zeros)
    zeros[0] = 5
    note("shares", lambda: p)
    results = (p * 1, p.data, p.detach(), p.clone(), p[0], p.view(-1), p.requires_grad_())
    note("classes", lambda: [type(item).__name__ for item in results])
    note("copies", lambda: (copy.deepcopy(p), copy.copy(p), type(copy.copy(p)).__name__))
    note("pickles", lambda: pickle.loads(pickle.dumps(p)))
    note("leaf", lambda: parameter(p * 2).is_leaf)
    note("no attributes", lambda: parameter(zeros).grad)
    p.grad = torch.ones(2)
    note("copied grad", lambda: copy.deepcopy(p).grad)


def buffers(torch, note):
    buffer = torch.nn.Buffer
    zeros = torch.zeros(2)
    made = buffer(zeros)
    note("made", lambda: (made, type(made).__name__, isinstance(made, buffer), isinstance(zeros, buffer)))
    note("flags", lambda: (made.persistent, buffer(zeros, persistent=False).persistent, buffer().shape))
    note("tracked", lambda: buffer(torch.zeros(2, requires_grad=True)).requires_grad)


def lazy(torch, note):
    nn = torch.nn
    waiting = nn.UninitializedParameter()
    note("repr", lambda: waiting)
    note("shape", lambda: waiting.shape)
    note("facts", lambda: (waiting.dtype, waiting.requires_grad, waiting.is_leaf, isinstance(waiting, nn.Parameter)))
    note("materialized", lambda: (waiting.materialize((2, 3)), type(waiting).__name__, waiting.shape))
    buffer = nn.UninitializedBuffer()
    note("buffer", lambda: (repr(buffer), buffer.materialize((2,)), type(buffer).__name__, buffer.shape))
    note("copies", lambda: (pickle.loads(pickle.dumps(nn.UninitializedParameter())), copy.deepcopy(nn.LazyLinear(3))))
    layer = nn.LazyLinear(3)
    note("layer", lambda: (layer, list(layer.state_dict()), layer.has_uninitialized_params()))
    note(
        "called", lambda: (layer(torch.zeros(2, 5)).shape, layer, len(layer._forward_pre_hooks), sorted(layer.__dict__))
    )
    other = nn.LazyLinear(3)
    note("loaded", lambda: (other.load_state_dict(nn.Linear(4, 3).state_dict()), other, other(torch.zeros(1, 4)).shape))
    note("into a plain layer", lambda: nn.Linear(4, 3).load_state_dict(nn.LazyLinear(3).state_dict()))
    note("into a lazy one", lambda: nn.LazyLinear(3).load_state_dict(nn.LazyLinear(3).state_dict()))
    note("cast", lambda: nn.LazyLinear(3).to(torch.float64)(torch.zeros(1, 2, dtype=torch.float64)).dtype)
    duplicate = copy.deepcopy(nn.LazyLinear(3, bias=False))
    note("copy called", lambda: (duplicate(torch.zeros(1, 2)).shape, duplicate, len(duplicate._forward_pre_hooks)))


def copies(torch, note):
    nn = torch.nn
    model = nn.Sequential(OrderedDict(a=nn.Linear(1, 1), b=nn.BatchNorm1d(1)))
    duplicate = copy.deepcopy(model)
    note("deep", lambda: (duplicate, duplicate.a.weight is model.a.weight))
    note("shallow", lambda: copy.copy(model).a is model.a)
    restored = pickle.loads(pickle.dumps(model))
    note("pickled", lambda: (restored, torch.equal(restored.a.weight, model.a.weight)))


@pytest.mark.parametrize(
    "scenario",
    [
        attributes,
        before_init,
        registration,
        moving_between_kinds,
        paths,
        iteration,
        conversion,
        zero_grad,
        state_dicts,
        extra_state,
        parameters,
        buffers,
        lazy,
        copies,
    ],
)
def test_same_as_torch(scenario):
    assert_same_story(scenario, torch)
