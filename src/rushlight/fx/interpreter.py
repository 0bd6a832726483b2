"""Running graphs node by node, and making new graphs that way."""

from __future__ import annotations

from ..base.errors import hinted
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import Proxy


class Interpreter:
    """Runs the graph of a module; subclasses change what a node does.

    Args:
        module: the `GraphModule`, or the module that the graph's targets name.
        garbage_collect_values: forget results as soon as no node needs them.
        graph: another graph than the module's.

    >>> import operator, rushlight as torch
    >>> from rushlight import fx
    >>> class Counting(fx.Interpreter):
    ...     count = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.count += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counting = Counting(fx.symbolic_trace(lambda x: torch.relu(x) + x))
    >>> counting.run(torch.tensor([2.0])), counting.count
    (tensor([4.]), 2)
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self._last_uses: dict = {}
        if garbage_collect_values:
            last: dict = {}
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in last:
                        last[used] = node
                        self._last_uses.setdefault(node, []).append(used)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """What the graph gives for arguments.

        Args:
            initial_env: node -> its value, for nodes that are not to be run.
            enable_io_processing: take and give nests where the graph's code does.
        """
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._told(node)
            for used in self._last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                found = self.env[node]
                return self.graph.process_outputs(found) if enable_io_processing else found
        return None

    def boxed_run(self, args_list):
        """`run` with a list of arguments, which is emptied: values go as soon as they are used."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def _told(self, node):
        """`run_node`, whose errors tell which node it was."""
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback and error.args and isinstance(error.args[0], str):
                told = f"{error.args[0]}\n\nWhile executing {node.format_node()}"
                where = f"\nOriginal traceback:\n{node.stack_trace}" if node.stack_trace else ""
                error.args = (told + where, *error.args[1:])
            raise

    def run_node(self, n):
        """The value of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """An argument: the next that was given, or its default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """A call of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """A call of a method of the first argument."""
        receiver, *rest = args
        return getattr(receiver, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """A call of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target):
        """What the module has under a dotted name."""
        found, walked = self.module, []
        for name in target.split("."):
            walked.append(name)
            if not hasattr(found, name):
                raise RuntimeError(
                    hinted(
                        f"Node referenced nonexistent target {'.'.join(walked)}",
                        "the graph names what the module does not have",
                    )
                )
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Nested arguments of a node with the values of nodes."""

        def value(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Makes a new graph by running one with proxies; subclasses change what a node becomes.

    Args:
        module: the `GraphModule` to start from, which stays as it is.

    >>> import rushlight as torch
    >>> from rushlight import fx
    >>> class Smooth(fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)
    >>> print(Smooth(fx.symbolic_trace(lambda x: torch.relu(x))).transform().code.strip())
    def forward(self, x):
        tanh = torch.tanh(x);  x = None
        return tanh
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _Appending(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        return Proxy(
            self.new_graph.placeholder(target, default_value=args[0]) if args else self.new_graph.placeholder(target),
            self.tracer,
        )

    def get_attr(self, target, args, kwargs):
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The `GraphModule` of the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            held = self.tracer.create_arg(result)
            old = self.graph.output_node()
            self.new_graph.output(held, type_expr=old.type).meta = dict(old.meta)
        return GraphModule(self.module, self.new_graph)

    def run_node(self, n):
        found = super().run_node(n)
        if isinstance(found, Proxy) and isinstance(found.node, Node):
            found.node.type = found.node.type or n.type
            found.node.meta = {**n.meta, **found.node.meta}
        return found


class _Appending(Tracer):
    """Records into the new graph of a `Transformer`; every module is a leaf."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.tensor_attrs = {}

    def is_leaf_module(self, m, module_qualified_name):
        return True
