"""Values that are not there yet: what is done with a Proxy becomes a node of the graph that is being recorded."""

from __future__ import annotations

import dis
import operator
import sys

from ..base.device import device as Device
from ..base.device import layout, memory_format
from ..base.dtypes import DType
from ..base.errors import hinted
from ..base.user_code import user_frames
from ..tensor import Tensor
from ..tensor.interception import intercept_for
from . import code
from .immutable_collections import map_aggregate
from .node import Node
from .normalizing import by_name

_PLAIN = (
    str,
    int,
    float,
    bool,
    complex,
    DType,
    Tensor,
    Device,
    memory_format,
    layout,
    type(None),
    type(Ellipsis),
    range,
)

_NOT_ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
    "argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and "
    "check out the Proxy docstring for help troubleshooting Proxy iteration errors"
)


class TraceError(ValueError):
    """What a function does cannot be recorded, since it depends on values."""


class TracerBase:
    """How values become nodes and nodes values, for everything that records graphs."""

    graph = None
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self):
        intercept_for(Proxy)

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A new node at the end of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node):
        """The value that stands for a node's result."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Record a step whose arguments may be proxies, and give the proxy of its result."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("arguments of a node are a tuple and a dictionary")
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces:
            node.stack_trace = _user_lines()
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a):
        """A value as an argument of a node: nodes for proxies, nests of what nodes may hold."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple):
            items = tuple([self.create_arg(item) for item in a])
            return self.create_node("call_function", type(a), items, {}) if hasattr(a, "_fields") else items
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(item) for key, item in a.items()}
        if isinstance(a, slice):
            return slice(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, (Node, *_PLAIN)) or callable(a) or _is_enumerated(a):
            return a
        raise NotImplementedError(
            hinted(f"argument of type: {type(a)}", "graphs hold numbers, strings, tensors, and nests of them")
        )

    def _key(self, key):
        held = self.create_arg(key)
        nodes: list = []
        map_aggregate(held, lambda item: nodes.append(item) if isinstance(item, Node) else None)
        if nodes:
            raise RuntimeError(
                hinted(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {held}",
                    "a key has to be known while the graph is recorded",
                )
            )
        return held

    def to_bool(self, obj):
        """What ``if proxy`` does: refuse."""
        raise TraceError(
            hinted(
                "symbolically traced variables cannot be used as inputs to control flow",
                f"`{obj.node.name}` has no value while the graph is recorded: decide by arguments given as concrete_args, put the "
                "branch into a function marked by fx.wrap, or use torch.where",
            )
        )

    def iter(self, obj):
        """What ``for x in proxy`` does: refuse, but for ``a, b = proxy``, whose number of parts is seen in the caller's code."""
        frame = sys._getframe(2)
        instruction = next((each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti), None)
        if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
            return (obj[number] for number in range(instruction.argval))
        raise TraceError(hinted(_NOT_ITERATED, f"`{obj.node.name}` has no length while the graph is recorded"))

    def keys(self, obj):
        """What ``**proxy`` does."""
        return Attribute(obj, "keys")()


def _is_enumerated(value):
    return hasattr(type(value), "__members__")


def _user_lines():
    """Where the program is, outside of this package, as a traceback shows it."""
    lines = [f'  File "{f.f_code.co_filename}", line {f.f_lineno}, in {f.f_code.co_name}' for f in user_frames()]
    return "\n".join(reversed(lines))


class Proxy:
    """Stands for the result of a node while a function is recorded: operators, methods and torch functions of it become nodes.

    Its value is not there, so that ``if``, ``for``, ``int()`` and ``len()`` of it raise.
    """

    def __init__(self, node, tracer=None):
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer, self.node = tracer, node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name):
        if name in (
            "__array_interface__",
            "__array_struct__",
            "__array__",
            "__cuda_array_interface__",
            "__torch_dispatch__",
        ):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __len__(self):
        raise RuntimeError(
            hinted(
                "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
                "torch.fx.wrap('len') at module scope",
                f"`{self.node.name}` has no length while the graph is recorded",
            )
        )

    def keys(self):
        return self.tracer.keys(self)

    def __deepcopy__(self, memo):
        return Proxy(self.node, self.tracer)

    def __setstate__(self, state):
        self.__dict__ = state

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracers: dict = {}
        map_aggregate((args, kwargs), lambda item: tracers.setdefault(item.tracer) if isinstance(item, Proxy) else None)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        name = getattr(orig_method, "__name__", "")
        if getattr(orig_method, "__qualname__", "").startswith("Tensor.") and hasattr(Tensor, name):
            return tracer.create_proxy("call_method", name, args, kwargs)
        args, kwargs = by_name(orig_method, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def _magic(name, function):
    def method(self, *args):
        return self.tracer.create_proxy("call_function", function, (self, *args), {})

    method.__name__ = name
    setattr(Proxy, name, method)


def _reflected(name, function):
    def method(self, other):
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    method.__name__ = name
    setattr(Proxy, name, method)


_REFLECTED = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "matmul",
)
for _each in (*code.OPERATORS, "abs"):
    if _each != "div":
        _magic(f"__{_each.rstrip('_')}__", getattr(operator, _each))
for _each in _REFLECTED:
    _reflected(f"__r{_each.rstrip('_')}__", getattr(operator, _each))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


class Attribute(Proxy):
    """An attribute of a value that is not there yet: a node once it is used as a value, a method once it is called."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class GraphAppendingTracer(TracerBase):
    """Appends to a graph that is there already: `Proxy` of a node, outside of any trace, uses it."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
