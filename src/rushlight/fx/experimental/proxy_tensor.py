"""``torch.fx.experimental.proxy_tensor``: graphs of the native operations that a function makes."""

from __future__ import annotations

import inspect
import operator
from functools import wraps
from typing import Any

import numpy as np

from ...base.arrays import place_of
from ...base.errors import hinted
from ...base.lazy import stored_in
from ...nn import Module, Parameter
from ...tensor import Tensor
from ...utils import _pytree as pytree
from ...utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from ..code import TreeCodeGen
from ..graph import Graph
from ..graph_module import GraphModule

_MODES = ("real", "fake", "symbolic")


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A block whose operations become nodes of ``graph``; tensors that come from elsewhere become constants of ``root``."""

    def __init__(self, graph, root):
        super().__init__()
        self.graph, self.root = graph, root
        self._nodes: dict[Any, Any] = {}  # of tensors, by identity and by place in memory
        self._alive: list[Tensor] = []

    def enter(self, tensor, node):
        """Let a node stand for a tensor."""
        self._alive.append(tensor)
        self._nodes[id(tensor)] = self._nodes[_place(tensor)] = node

    def node_of(self, value):
        """The node that stands for a tensor, a new constant where there is none; anything else as it is."""
        if not isinstance(value, Tensor):
            return value
        node = self._nodes.get(id(value)) or self._nodes.get(_place(value))
        if node is None:
            kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
            name = f"{kind}{sum(each.op == 'get_attr' and each.target.startswith(kind) for each in self.graph.nodes)}"
            setattr(self.root, name, value)
            node = self.graph.get_attr(name)
            self.enter(value, node)
        return node

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        arguments, keywords = pytree.tree_map(self.node_of, (args, kwargs or {}))
        node = self.graph.call_function(func, tuple(arguments), keywords, name=func.overloadpacket.__name__)
        found = func(*args, **(kwargs or {}))
        if isinstance(found, Tensor):
            self.enter(found, node)
        else:
            for number, each in enumerate(found):
                if isinstance(each, Tensor):
                    self.enter(each, self.graph.call_function(operator.getitem, (node, number)))
        return found


def _place(tensor):
    """Where a tensor lies in memory, and how: what backward unpacks is another object there. Itself, where it has no array."""
    array = stored_in(tensor._array)
    return place_of(array) if array.__class__ is np.ndarray else id(tensor)


def get_proxy_mode():
    """The innermost mode that records operations; None where there is none."""
    return next(
        (each for each in reversed(_get_current_dispatch_mode_stack()) if isinstance(each, ProxyTorchDispatchMode)),
        None,
    )


def make_fx(
    f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False, record_module_stack=False,
    _allow_fake_constant=False, _error_on_data_dependent_ops=True, record_stack_traces=False, proxy_module_inputs=False,
    _disable_torch_fn_metadata_mode=False,
):  # fmt: skip
    """A function that runs ``f`` on the tensors it gets and returns a `GraphModule` of the native operations that were made.

    Gradients that ``f`` asks for are recorded as what they compute. Numbers and shapes are those of this run, whatever the
    ``tracing_mode``: "real", "fake" or "symbolic". Tensors from outside become constants. What the other options are about,
    such as composite operations (``pre_dispatch``), is recorded no differently.

    Raises:
        NotImplementedError: ``decomposition_table`` names operations; operations are recorded as they are.

    >>> import rushlight as torch
    >>> from rushlight.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: torch.autograd.grad((x * x).sum(), x)[0])(torch.ones(2, requires_grad=True)).code.strip())
    def forward(self, x_1):
        mul = torch.ops.aten.mul.Tensor(x_1, x_1)
        sum_1 = torch.ops.aten.sum.default(mul);  mul = None
        ...
    """
    if tracing_mode not in _MODES:
        raise AssertionError(
            hinted(
                f'tracing_mode must be one of "real", "fake", or "symbolic", got {tracing_mode!r}',
                "all record the shapes of this run",
            )
        )
    if decomposition_table:
        message = "make_fx: decomposition_table is not implemented"
        raise NotImplementedError(hinted(message, "operations are recorded as they are made"))

    @wraps(f)
    def traced(*args):
        graph, root = Graph(), Module()
        leaves = pytree.tree_leaves(args)
        mode = ProxyTorchDispatchMode(graph, root)
        parameters = _names(f, len(args))
        plain = len(leaves) == len(args) and all(leaf is given for leaf, given in zip(leaves, args))
        for number, leaf in enumerate(leaves):
            node = graph.placeholder(f"{parameters[number] if plain else parameters[0]}_1")
            if isinstance(leaf, Tensor):
                mode.enter(leaf, node)
        if not plain:
            graph.set_codegen(TreeCodeGen(parameters))
        with mode:
            found = f(*args)
        results = pytree.tree_map(mode.node_of, found)
        if not plain:
            results, graph._codegen.out_spec = pytree.tree_flatten(results)
        graph.output(results)
        return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__))

    return traced


def _names(f, count):
    """The names of a function's first parameters, as placeholders have them."""
    try:
        found = [
            each.name for each in inspect.signature(f).parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD
        ]
    except (TypeError, ValueError):
        found = []
    whole = len(found) >= count and not isinstance(f, Module)
    return found[:count] if whole else [f"arg{number}" for number in range(count)]
