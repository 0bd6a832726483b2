"""Graphs: the steps of a function in order, which programs read, change and turn back into code."""

from __future__ import annotations

import builtins
import keyword
import re
from importlib import import_module

from ..base.errors import hinted
from . import code
from .code import CodeGen, Place, PythonCode, TreeCodeGen, placed  # noqa: F401  # PyTorch has the classes here, pickles look for them
from .node import OPS, Node, map_arg, module_of

_NOT_A_NAME = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_WITH_CAPITALS = re.compile("(?<=[a-z0-9])(?=[A-Z])")


class _Namespace:
    """Names that are taken, with the objects that have them."""

    def __init__(self):
        self.objects = {}  # object -> its name
        self.taken = set()
        self.numbers = {}

    def create_name(self, candidate, obj):
        """A free name like ``candidate``; an object that has a name keeps it."""
        if obj is not None and obj in self.objects:
            return self.objects[obj]
        candidate = _NOT_A_NAME.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate)
        base, number = (numbered.group(1), int(numbered.group(2))) if numbered else (candidate, None)
        if number is None or candidate in self.taken:
            number = self.numbers.get(base, 0)
        found = candidate
        while found in self.taken or self._means_something(found, obj):
            number = (number or 0) + 1
            found = f"{base}_{number}"
        self.numbers[base] = number or 0
        self.taken.add(found)
        if obj is not None:
            self.objects[obj] = found
        return found

    def _means_something(self, name, obj):
        """Whether Python, or code that a graph generates, means something else by a name."""
        if keyword.iskeyword(name):
            return True
        if name in builtins.__dict__:
            return obj is not builtins.__dict__[name]
        return name in code.GLOBALS and obj is not code.GLOBALS[name]

    def associate_name_with_obj(self, name, obj):
        """Let an object have a name that is taken already."""
        self.objects[obj] = name


class _InsertPoint:
    """Where new nodes go; as a context, where they go until it is left."""

    def __init__(self, graph, insert):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.graph._insert = self.before


class _NodeList:
    """The nodes of a graph in order: iterable, reversible, with a length."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root, node = self.graph._root, getattr(self.graph._root, self.direction)
        while node is not root:
            # A node that was erased while somebody iterates still knows what follows it.
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return iter(_NodeList(self.graph, "_prev" if self.direction == "_next" else "_next"))


class Graph:
    """A function as a list of nodes, in the order in which they run.

    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("relu", (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "placeholder", "", (), {})
        self._len = 0
        self._insert = self._root.prepend
        self._graph_namespace = _Namespace()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def nodes(self):
        """The nodes in order."""
        return _NodeList(self)

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and with a target where one is given (always for "call_function")."""
        del sort  # they are in order here
        if op == "call_function" and target is None:
            raise AssertionError("target is required when op is call_function")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self):
        """The node that says what the function returns."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError("Expected a single output node")
        return last

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Make a node at the place where new ones go, at the end unless `inserting_before` or `inserting_after` say otherwise."""
        if op not in OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        made = Node(self, name, op, target, args, kwargs, type_expr)
        if self.owning_module is not None:
            for hook in getattr(self.owning_module, "_create_node_hooks", ()):
                hook(made)
        self._graph_namespace.associate_name_with_obj(name, made)
        self._insert(made)
        self._len += 1
        return made

    def _target_to_str(self, target):
        if callable(target):
            name = target.__name__
            room = module_of(target).removeprefix("torch.")
            if room in ("fft", "linalg", "special") and not name.startswith(room):
                name = f"{room}_{name}"
        elif target.startswith("__") and target.endswith("__") and len(target) > 4:
            name = target[2:-2]
        else:
            name = target
        return _WITH_CAPITALS.sub("_", name).lower()

    def placeholder(self, name, type_expr=None, default_value=code.NO_DEFAULT):
        """A node for an argument, ``*args`` and ``**kwargs`` included."""
        args = () if default_value is code.NO_DEFAULT else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A node for a parameter, buffer, or another attribute of the module, by its dotted name."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A node for a call of the submodule with this dotted name."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A node for a call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A node for a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """The node for what is returned: nested values with nodes in them."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def inserting_before(self, n=None):
        """Let new nodes go before a node, or to the beginning: for good, or as a context until it is left."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n, "before")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """Let new nodes go behind a node, or to the end: for good, or as a context until it is left."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n, "after")
        return _InsertPoint(self, n.append)

    def _check_own(self, node, where):
        if node.graph is not self:
            raise AssertionError(f"Node to insert {where} is not in graph.")

    def erase_node(self, to_erase):
        """Take out a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                hinted(
                    f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!",
                    "let them use something else first: node.replace_all_uses_with(other)",
                )
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    def node_copy(self, node, arg_transform=lambda x: x):
        """Copy a node of another graph to here; ``arg_transform`` gives the node of this graph for each of that one."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copy all nodes of ``g`` but its output; ``val_map`` has the copies by their nodes, and may have some before.

        Returns what ``g`` returns, in nodes of this graph (with ``g``'s output node, where that is asked for), None without output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], val_map.__getitem__)
                return (found, val_map.setdefault(node, node)) if return_output_node else found
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo=None):
        made = Graph(tracer_cls=self._tracer_cls)
        nodes: dict = {}
        for node in self.nodes:
            copied = nodes[node] = made.node_copy(node, nodes.__getitem__)
            copied.meta = dict(node.meta)
        made._codegen = self._codegen
        return made

    def __reduce__(self):
        places = {node: Place(number) for number, node in enumerate(self.nodes)}
        steps = [
            (n.op, n.name, n.target, map_arg(n.args, places.get), map_arg(n.kwargs, places.get), n.type)
            for n in self.nodes
        ]
        return _graph_of, (steps, self._codegen)

    def eliminate_dead_code(self, is_impure_node=None):
        """Take out every node whose result nobody uses and that does nothing else. Returns whether there was one."""
        self.lint()
        before = self._len
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users and node.op not in ("placeholder", "output"):
                self.erase_node(node)
        return self._len < before

    def lint(self):
        """Raise where the graph makes no sense: nodes of another graph, used before they are defined, or targets that are missing."""
        defined, names = set(), set()

        def check(argument, node):
            if argument.graph is not self:
                raise RuntimeError(
                    f"Argument '{argument}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are "
                    f"copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n{self}"
                )
            if argument not in defined:
                raise RuntimeError(
                    f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                    f"graph are topologically ordered\n{self}"
                )

        for node in self.nodes:
            for argument in node.all_input_nodes:
                check(argument, node)
            defined.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                _check_target(self.owning_module, node)

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False, record_func=False, additional_meta=None):  # fmt: skip
        """The function as Python: `PythonCode` with the text ``src`` and the names ``globals`` that it needs.

        Args:
            root_module: what the code calls the module: "self".
            verbose: with where each step comes from, as far as it was recorded.
        """
        return self._codegen.python_code(self, root_module, verbose=verbose)

    def on_generate_code(self, make_transformer):
        """Change generated code: ``make_transformer(before)`` gives a function of the body's lines; returns a context that undoes it."""
        return code.transformed(self, make_transformer)

    def set_codegen(self, codegen):
        """Let ``codegen`` write the code."""
        self._codegen = codegen

    def process_inputs(self, *args):
        """Arguments as the nodes take them, where the code generator flattens nests."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The result as the caller gets it."""
        return self._codegen.process_outputs(out)

    def print_tabular(self):
        """Print a table of the nodes; needs the package tabulate."""
        try:
            tabulate = import_module("tabulate").tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. "
                "Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def __str__(self):
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])


def _check_target(module, node):
    """Raise where a module has no such part."""
    holder, walked = module, []
    for name in node.target.split("."):
        if not hasattr(holder, name):
            where = ".".join(walked) or type(module).__name__
            raise RuntimeError(
                hinted(
                    f"Node {node} target {node.target} references nonexistent attribute {name} of {where}",
                    "add it to the module, or change the node's target",
                )
            )
        holder = getattr(holder, name)
        walked.append(name)


def _graph_of(steps, codegen):
    """The graph of these steps, as `Graph.__reduce__` takes it apart."""
    made, nodes = Graph(), []
    for op, name, target, args, kwargs, kind in steps:
        args, kwargs = (placed(given, nodes) for given in (args, kwargs))
        nodes.append(made.create_node(op, target, args, dict(kwargs), name, kind))
    made._codegen = codegen
    return made
