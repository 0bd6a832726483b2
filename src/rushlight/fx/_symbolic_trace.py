"""Recording a module or a function as a graph, by calling it with proxies."""

from __future__ import annotations

import builtins
import collections
import functools
import inspect
import math
import sys
from types import FunctionType

from .. import nn
from ..base.contexts import Leaving
from ..base.errors import hinted
from ..base.trees import flatten, unflatten
from ..tensor import Tensor
from ..tensor.interception import seen_whole
from . import code
from .graph import Graph
from .graph_module import GraphModule
from .node import has_side_effect
from .proxy import Proxy, TracerBase

PH = type("PHBase", (), {"__repr__": lambda self: "PH"})()  # in concrete_args: an argument that stays one

_wrapped: list = []  # (globals of a module, name) of functions that programs have marked by `wrap`


def wrap(fn_or_name):
    """Mark a function of the module that calls this: while graphs are recorded, calls with proxies become one node.

    Args:
        fn_or_name: the function, so that this works as a decorator, or its name, also of a built-in like "len".
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError(
            hinted("wrap must be called at the top level of a module", f"call fx.wrap({name!r}) there")
        )
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


def _recording(function):
    """``function``, whose calls with a proxy become nodes."""

    @functools.wraps(function)
    def recorded(*args, **kwargs):
        proxy = _a_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        found = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        found.node.meta["is_wrapped"] = True
        return found

    return recorded


def _a_proxy(value):
    return next((leaf for leaf in flatten(value)[0] if isinstance(leaf, Proxy)), None)


class _Exchanges(Leaving):
    """Attributes and global names that are other ones while a graph is recorded."""

    def __init__(self):
        self.undo = []

    def exchange(self, holder, name, value):
        """Let ``holder``, a dictionary or a class, have another value under a name."""
        held = holder if isinstance(holder, dict) else vars(holder)
        self.undo.append((holder, name, held.get(name, holder)))  # first: Ctrl-C may come behind each call
        if isinstance(holder, dict):
            holder[name] = value
        else:
            setattr(holder, name, value)

    def __enter__(self):
        return self

    def _leave(self):
        while self.undo:
            holder, name, before = self.undo[-1]
            if before is not holder:
                holder.__setitem__(name, before) if isinstance(holder, dict) else setattr(holder, name, before)
            elif isinstance(holder, dict):
                holder.pop(name, None)
            elif name in vars(holder):
                delattr(holder, name)
            self.undo.pop()


class _ParameterProxy(Proxy):
    """A parameter whose shape is known while the graph is recorded: looks at it become numbers, not nodes."""

    def __init__(self, tracer, parameter, node):
        super().__init__(node, tracer)
        self.parameter = parameter

    shape = property(lambda self: self.parameter.shape)
    ndim = property(lambda self: self.parameter.ndim)

    def size(self, *dim):
        return self.parameter.size(*dim)

    def dim(self):
        return self.parameter.dim()

    def numel(self):
        return self.parameter.numel()

    def nelement(self):
        return self.parameter.nelement()


class Tracer(TracerBase):
    """Records graphs; subclasses decide what stays one node.

    Args:
        autowrap_modules: modules whose functions become nodes when they are called with proxies.
        autowrap_functions: more such functions.
        param_shapes_constant: let shapes of parameters be numbers, not nodes.

    >>> import rushlight as torch
    >>> graph = Tracer().trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_module', 'output']
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._wrapped_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._wrapped_modules = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root: nn.Module = nn.Module()
        self.submodule_paths = None
        self.module_stack: collections.OrderedDict = collections.OrderedDict()

    def is_leaf_module(self, m, module_qualified_name):
        """Whether calls of a module become one node; else it is entered. True for those of ``torch.nn`` but containers."""
        where = type(m).__module__
        return (
            where.partition(".")[0] in ("torch", "rushlight")
            and "nn" in where.split(".")
            and not isinstance(m, nn.Sequential)
        )

    def path_of_module(self, mod):
        """The dotted name of a module in the root."""
        for name, module in self.root.named_modules(remove_duplicate=False) if self.submodule_paths is None else ():
            if module is mod:
                return name
        if self.submodule_paths is not None and mod in self.submodule_paths:
            return self.submodule_paths[mod]
        raise NameError(
            hinted("module is not installed as a submodule", "assign it to an attribute of the module that is traced")
        )

    def call_module(self, m, forward, args, kwargs):
        """What a call of a module becomes: a node for leaves, the steps of its ``forward`` for others."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What a look at an attribute of a module gives: for parameters (and buffers, with ``proxy_buffer_attributes``) a node."""
        for wanted, named in ((nn.Parameter, self.root.named_parameters), (Tensor, self.root.named_buffers)):
            if wanted is Tensor and not self.proxy_buffer_attributes:
                break
            if isinstance(attr_val, wanted):
                for name, held in named():
                    if held is attr_val:
                        if name not in parameter_proxy_cache:
                            known = (
                                functools.partial(_ParameterProxy, self, attr_val)
                                if self.param_shapes_constant
                                else None
                            )
                            made = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=known)
                            parameter_proxy_cache[name] = made
                        return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a):
        """As `TracerBase.create_arg`; tensors become attributes of the root."""
        if isinstance(a, nn.Parameter):
            for name, held in self.root.named_parameters():
                if held is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._attribute_of(a), (), {})
        return super().create_arg(a)

    def _attribute_of(self, tensor):
        """The dotted name of a tensor in the root, where it is put if it is not there."""
        found = self.tensor_attrs.get(id(tensor))
        if found is None:
            found = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, found, tensor)
            self.tensor_attrs[id(tensor)] = found
        return found

    def get_fresh_qualname(self, prefix):
        """A name that the root does not have: ``prefix`` and a number."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """``(function, arguments)``: proxies for the parameters of a function, with the values that are given for some."""
        inner = inspect.unwrap(root_fn)
        signature_code = inner.__code__
        total = signature_code.co_argcount + signature_code.co_kwonlyargcount
        names = iter(signature_code.co_varnames)
        args = [self.root] if is_module else []
        if is_module:
            next(names)
        parameters = inspect.signature(inner).parameters
        concrete = _named(concrete_args, signature_code.co_varnames[len(args) : total])
        positional = signature_code.co_argcount - len(args)
        taken = [next(names) for _ in range(total - len(args))]
        made = [self._placeholder(name, parameters, concrete) for name in taken]
        args.extend(made[:positional])
        keywords = dict(zip(taken[positional:], made[positional:]))
        if signature_code.co_flags & inspect.CO_VARARGS:
            args.append(self._spread("*" + next(names)))
        if signature_code.co_flags & inspect.CO_VARKEYWORDS:
            keywords["**"] = self._spread("**" + next(names))
        self._note_nests(taken, concrete)
        return _spreading(root_fn, args, keywords, bool(signature_code.co_flags & inspect.CO_VARARGS)), args

    def _spread(self, name):
        return self.create_proxy("placeholder", name, (), {})

    def _placeholder(self, name, parameters, concrete):
        if name in concrete:
            leaves, spec = flatten(concrete[name])
            nested = [self._leaf_placeholder(name, number, leaf) for number, leaf in enumerate(leaves, 1)]
            return unflatten(nested, spec)
        default = parameters[name].default
        args = () if default is inspect.Parameter.empty else (default,)
        annotation = self._annotations.get(name)
        return self.create_proxy("placeholder", name, args, {}, type_expr=annotation)

    def _leaf_placeholder(self, name, number, leaf):
        """A placeholder for one value of an argument that was given; what is not `PH` is checked when the graph runs."""
        made = self.create_proxy("placeholder", f"{name}_{number}", (), {})
        if leaf is PH:
            return made
        if isinstance(leaf, (bool, int, float)):
            check = made == leaf
            message = f"{name} has been specialized to have value {leaf} but got another value"
            self.create_proxy("call_function", _assert, (check, message), {})
        elif leaf is None:
            message = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (made, message), {})
        return leaf

    def _note_nests(self, names, concrete):
        """Let the function take the nests that were given, where there is one."""
        self.nests = any(
            len(flatten(concrete[name])[0]) != 1 or flatten(concrete[name])[0][0] is not concrete[name]
            for name in concrete
        )
        if self.nests:
            self.graph.set_codegen(code.TreeCodeGen(names))

    def trace(self, root, concrete_args=None):
        """The graph of a module's ``forward`` or of a function.

        Args:
            root: the module or the function.
            concrete_args: argument name -> the value that it has while the graph is recorded; nests may hold `PH` for
                arguments that stay.
        """
        if isinstance(root, nn.Module):
            self.root = root
            function = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {module: name for name, module in reversed([*root.named_modules()])}
        else:
            self.root, function = nn.Module(), root
            self.submodule_paths = None
        if not isinstance(inspect.unwrap(function), FunctionType):
            raise AssertionError(
                hinted(
                    f"Expected FunctionType, got {type(root)}",
                    "give a function that is written in Python: `lambda x: f(x)` makes one of any other",
                )
            )
        annotations = getattr(inspect.unwrap(function), "__annotations__", {})
        self._annotations = {name: kind for name, kind in annotations.items() if not isinstance(kind, str)}
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {id(t): name for t, name in _tensors_of(self.root)}
        called, args = self.create_args_for_root(function, isinstance(root, nn.Module), concrete_args)
        with _Exchanges() as exchanges:
            self._exchange_modules(exchanges)
            self._exchange_functions(exchanges, inspect.unwrap(function).__globals__)
            result = called(*args)
        if self.nests:
            result, self.graph._codegen.out_spec = flatten(result)
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=self._annotations.get("return"))
        self.submodule_paths = None
        return self.graph

    def _exchange_modules(self, exchanges):
        """Let calls of modules and looks at their parameters come here."""
        call, look = nn.Module.__call__, nn.Module.__getattr__
        parameters: dict = {}

        def module_call(module, *args, **kwargs):
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def module_look(module, name):
            return self.getattr(name, look(module, name), parameters)

        exchanges.exchange(nn.Module, "__call__", module_call)
        exchanges.exchange(nn.Module, "__getattr__", module_look)

    def _exchange_functions(self, exchanges, names):
        """Let calls of marked functions come here: those of `wrap`, and of the modules that are always asked."""
        done = set()
        for holder, name in _wrapped:
            if (id(holder), name) not in done:
                done.add((id(holder), name))
                function = holder[name] if name in holder else getattr(builtins, name)
                exchanges.exchange(holder, name, _recording(function))
        for holder in (names, *map(vars, self._wrapped_modules)):
            for name, value in [*holder.items()]:
                if id(value) in self._wrapped_ids and not name.startswith("_"):
                    exchanges.exchange(holder, name, _recording(value))


@has_side_effect
@seen_whole
def _assert(condition, message):
    """Raise AssertionError with a message unless a condition holds; ``torch._assert`` in generated code."""
    if not condition:
        raise AssertionError(message)


@has_side_effect
def _assert_is_none(value, message):
    """Raise AssertionError with a message unless a value is None."""
    if value is not None:
        raise AssertionError(message)


def _named(concrete, names):
    """Concrete arguments by name; a tuple gives those of the first parameters."""
    if concrete is None:
        return {}
    return dict(zip(names, concrete)) if isinstance(concrete, tuple) else concrete


def _spreading(function, args, keywords, spreads):
    """``function`` called by position alone: recorded ``*args`` and ``**kwargs`` are what its body sees, as they are.

    A call would iterate over the proxies that stand for them, so its parameters are made plain ones.
    """
    spread = keywords.pop("**", None)
    if not keywords and not spreads and spread is None:
        return function
    inner = inspect.unwrap(function)
    body = inner.__code__
    count = body.co_argcount + body.co_kwonlyargcount + spreads + (spread is not None)
    flags = body.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if keywords:
        args[body.co_argcount : body.co_argcount] = keywords.values()
    if spread is not None:
        args.append(spread)
    plain = body.replace(co_flags=flags, co_argcount=count, co_kwonlyargcount=0)
    return FunctionType(plain, inner.__globals__, inner.__name__, None, inner.__closure__)


def _tensors_of(root):
    """``(tensor, dotted name)`` of all tensors that are attributes of a module and its modules, but no parameters or buffers."""
    for prefix, module in root.named_modules():
        for name, value in (*vars(module).items(), *module._buffers.items()):
            if isinstance(value, Tensor):
                yield value, f"{prefix}.{name}" if prefix else name


def symbolic_trace(root, concrete_args=None):
    """The `GraphModule` of a module or a function: what it does with proxies for its arguments, recorded.

    >>> import rushlight as torch
    >>> traced = symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    >>> traced(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
