"""Calls of ``torch.ops``: what a mode, a class with ``__torch_function__`` and a graph see of them; blocks of profiles."""

import copy
import pickle
import uuid

import pytest

import rushlight as rl
import rushlight.fx
import rushlight.overrides
from rushlight.compat.inside import ops

torch = pytest.importorskip("torch")


def calls_of(framework, ops):
    """Calls of operations with ``give(value)`` around one argument, by name."""
    name = f"cube{uuid.uuid4().hex[:6]}"

    def cube(x: framework.Tensor, others: list[framework.Tensor], power: float = 3.0) -> framework.Tensor:
        return x**power

    cube.__annotations__ |= {"x": framework.Tensor, "return": framework.Tensor}
    defined = framework.library.custom_op(f"calls::{name}", cube, mutates_args=())
    packet, x = getattr(ops.calls, name), framework.ones(2)
    return name, [
        lambda give: ops.aten.relu(give(x)),
        lambda give: ops.aten.relu.default(give(x)),
        lambda give: ops.aten.add.Tensor(x, give(x), alpha=2),
        lambda give: packet(give(x), [x], power=2.0),
        lambda give: packet(x, [give(x)]),
        lambda give: packet.default(give(x), []),
        lambda give: defined(give(x), []),
    ]


def seen(framework, ops, see):
    """What ``see(call)`` says of each of the calls, the drawn name left out."""
    name, calls = calls_of(framework, ops)
    return [[part.replace(name, "cube") for part in see(call)] for call in calls]


def noted(func, types, args, kwargs):
    return f"{func} {type(func).__name__} {[kind.__name__ for kind in types]} {len(args)} {kwargs}"


def by_mode(framework):
    def see(call):
        told = []

        class Told(framework.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                told.append(noted(func, types, args, kwargs))
                return func(*args, **(kwargs or {}))

        with Told():
            result = call(lambda value: value)
        return [*told, str(result.tolist())]

    return see


def by_class(framework):
    def see(call):
        class Answering:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return noted(func, types, args, kwargs)

        return [call(lambda value: Answering())]

    return see


def by_subclass(framework):
    def see(call):
        told = []

        class Named(framework.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                told.append(noted(func, types, args, kwargs))
                return super().__torch_function__(func, types, args, kwargs or {})

        result = call(lambda value: value.as_subclass(Named))
        return [told[0], type(result).__name__]

    return see


@pytest.mark.parametrize("observer", [by_mode, by_class, by_subclass])
def test_whole_calls_are_seen(observer):
    assert seen(rl, ops, observer(rl)) == seen(torch, torch.ops, observer(torch))


def test_graphs_have_the_operations():
    def nodes(framework, ops):
        name, calls = calls_of(framework, ops)
        graph = framework.fx.Graph()
        x = framework.fx.Proxy(graph.placeholder("x"))
        for call in calls:
            call(lambda value: x)
        return [
            (node.op, str(node.target).replace(name, "cube"), node.name.replace(name, "cube")) for node in graph.nodes
        ]

    assert nodes(rl, ops) == nodes(torch, torch.ops)


def test_operations_are_found_again():
    name, _ = calls_of(rl, ops)
    for found in (ops.aten.relu, ops.aten.relu.default, getattr(ops.calls, name), getattr(ops.calls, name).default):
        assert pickle.loads(pickle.dumps(found)) is copy.deepcopy(found) is found


def blocks(framework, ops):
    profiler, told = ops.profiler, []
    with framework.autograd.profiler.profile() as events:
        handle = profiler._record_function_enter("outer", "with words")
        inner = profiler._record_function_enter_new("inner")
        framework.ones(2).relu()
        told.append(profiler._record_function_exit(inner))
        told.append(profiler._record_function_exit(handle))
    parents = {event.name: event.cpu_parent and event.cpu_parent.name for event in events.function_events}
    with framework.autograd.profiler.profile() as events:
        profiler._record_function_exit._RecordFunction(profiler._record_function_enter_new("new", None))
        profiler._record_function_exit.default(profiler._record_function_enter.default("default"))
    names = [event.name for event in events.function_events if not event.name.startswith("aten::")]
    profiler._record_function_exit(profiler._record_function_enter("outside"))
    for name in ("_record_function_enter", "_record_function_enter_new"):
        for arguments in ((3,), ()):
            with pytest.raises(RuntimeError) as error:
                getattr(profiler, name)(*arguments)
            told.append(str(error.value).partition("\n")[0].removesuffix("."))
    return told, parents["outer"], parents["inner"], parents["aten::relu"], names


def test_blocks_of_profiles():
    assert blocks(rl, ops) == blocks(torch, torch.ops)
