"""One step of a graph: what is called, with which arguments, and who uses its result."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..base.errors import hinted
from .immutable_collections import immutable_dict, immutable_list, map_aggregate

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")

Target = Callable[..., Any] | str  # of a node, in annotations of programs
Argument = Any
_PACKAGE = __package__.partition(".")[0]
_side_effects: set = set()


def has_side_effect(fn):
    """Mark a function: calls of it stay in the graph though nobody uses their result. Returns it, so it works as a decorator."""
    _side_effects.add(fn)
    return fn


def map_arg(a, fn):
    """``fn`` of every Node in nested arguments."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


def module_of(function):
    """The name of the module where a program finds a function: ours stand under the names ``torch`` and ``torchvision``."""
    module = getattr(function, "__module__", None) or "builtins"
    head, dot, rest = module.partition(".")
    if head != _PACKAGE:
        return module
    name = getattr(function, "__name__", "")
    for public in (_PACKAGE, f"{_PACKAGE}.nn"):
        if getattr(sys.modules[public], name, None) is function:
            return public.replace(_PACKAGE, "torch", 1)
    return ("torch" + dot + rest).replace("torch.vision", "torchvision", 1)


def qualified_name(function):
    """``operator.add``, ``torch.relu``, ``torch.nn.functional.dropout``: how generated code calls a function."""
    name = function.__name__
    if isinstance(function, FunctionType) and name == "<lambda>":
        raise RuntimeError(hinted("Unable to represent lambda", "give the function a name: a lambda has none"))
    if getattr(builtins, name, None) is function:
        return name
    own = getattr(function, "__qualname__", name)
    if "<" not in own and module_of(function).partition(".")[0] == "torch":
        name = own  # a method of Tensor, or a function that the op table has under another name
    return f"{module_of(function)}.{name}"


class Node:
    """A step of a `Graph`. Made by the graph's methods, never directly.

    Attributes:
        op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
        name: the name of its result, unique in the graph.
        target: the function, or the name of the method, module, attribute or argument.
        args, kwargs: what it is called with; Nodes in them are values computed before.
        users: the nodes that use its result, as the keys of a dictionary.
        meta: a dictionary for whoever works on the graph.
        type: the annotation of its result, or None.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in OPS:
            raise AssertionError(f"Invalid op: {op}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict = {}
        self._used: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn = None
        self._set(args, kwargs)

    def _set(self, args, kwargs):
        """Take arguments, and tell the nodes in them who uses them."""
        for node in self._used:
            node.users.pop(self, None)
        self._used = {}
        self._args, self._kwargs = map_arg(tuple(args), self._use), map_arg(immutable_dict(kwargs), self._use)

    def _use(self, node):
        self._used.setdefault(node)
        node.users.setdefault(self)
        return node

    @property
    def args(self):
        """The arguments given by position."""
        return self._args

    @args.setter
    def args(self, args):
        self._set(args, self._kwargs)

    @property
    def kwargs(self):
        """The arguments given by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once, in order."""
        return list(self._used)

    _input_nodes = property(lambda self: self._used)

    def update_arg(self, idx, arg):
        """Exchange argument ``idx``."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Put an argument before argument ``idx``; the last place is ``len(args)``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Exchange the argument named ``key``."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def stack_trace(self):
        """Where in the program the step was recorded, as text; None where that was not noted."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    @property
    def next(self):
        """The node behind this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Move ``x``, a node of the same graph, before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x):
        """Move ``x``, a node of the same graph, behind this one."""
        self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Let every node that uses this one use ``replace_with``, a node; ``delete_user_cb(user)`` False leaves a user alone.

        Returns the nodes that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in [*self.users] if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input, new_input):
        """Exchange one node for another wherever it is among the arguments."""

        def exchanged(node):
            return new_input if node is old_input else node

        self._set(map_arg(self._args, exchanged), map_arg(self._kwargs, exchanged))

    def is_impure(self, impure_random=True):
        """Whether the step does more than give a result, so that it must stay though nobody uses that."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effects
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(module.get_submodule(self.target), "_is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments as ``(args, kwargs)`` with defaults filled in, by the signature of what is called; None where it has none.

        Args:
            root: the module that ``call_module`` targets are looked up in.
            normalize_to_only_use_kwargs: give all of them by name.
        """
        from .normalizing import normalized

        del arg_types, kwarg_types
        return normalized(self, root, normalize_to_only_use_kwargs)

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        name = getattr(target, "__name__", None)
        if name is None:
            return repr(target)
        if getattr(builtins, name, None) is target:
            return f"builtins.{name}"
        if getattr(operator, name, None) is target:
            return f"operator.{name}"
        return qualified_name(target) if name != "<lambda>" else f"{module_of(target)}.{target.__qualname__}"

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """One line that tells the step, as ``print(graph)`` shows it."""
        users = f"[num_users={len(self.users)}]"
        typed = f"{type_text(self.type)} " if self.type is not None else ""
        del placeholder_names, maybe_return_typename
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {typed}{users} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {typed}{users} = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : {typed}{users} = {self.op}[target={self._pretty_print_target(self.target)}]"
            f"(args = {format_arguments(self.args)}, kwargs = {format_arguments(self.kwargs)})"
        )

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def __lt__(self, other):
        return self._place() < other._place()

    def __gt__(self, other):
        return other < self

    def __le__(self, other):
        return not other < self

    def __ge__(self, other):
        return not self < other

    def _place(self):
        return next(place for place, node in enumerate(self.graph.nodes) if node is self)

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)


def type_text(kind):
    """An annotation as code: ``torch.Tensor``, ``int``."""
    if not isinstance(kind, type):
        return repr(kind).replace("rushlight.", "torch.")
    if kind.__module__ == "builtins":
        return kind.__name__
    return f"{module_of(kind)}.{kind.__qualname__}"


def format_arguments(value):
    """Nested arguments as printed graphs show them: nodes as ``%name``, strings without quotation marks."""
    if isinstance(value, Node):
        return "%" + value.name
    if isinstance(value, (list, tuple)):
        items = [format_arguments(item) for item in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {format_arguments(item)}" for key, item in value.items()) + "}"
    return str(value)


__all__ = ["Node", "has_side_effect", "immutable_dict", "immutable_list", "map_aggregate", "map_arg"]
