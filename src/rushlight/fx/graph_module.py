"""Modules whose ``forward`` is a graph: changed by changing the graph, shown as the code that it stands for."""

from __future__ import annotations

import copy
import itertools
import linecache
import warnings
from pathlib import Path

from .. import nn
from .graph import Graph

_numbers = itertools.count()


def _method_from(source, names):
    """The function ``forward`` of generated code, whose lines tracebacks show."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope = dict(names)
    exec(compile(source, file, "exec"), scope)
    return scope["forward"]


class GraphModule(nn.Module):
    """A module that runs a `Graph`.

    Args:
        root: the module whose parameters, buffers and submodules the graph's targets name; or a dictionary of them by dotted name.
        graph: what ``forward`` does. ``module.graph = graph``, or `recompile` after a change, makes the code anew.
        class_name: what the module calls itself.

    >>> import rushlight
    >>> from rushlight import fx
    >>> graph = fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("neg", (x,)))
    >>> fx.GraphModule({}, graph)(3.0 + rushlight.zeros(1))
    tensor([-3.])
    """

    def __new__(cls, *args, **kwargs):
        # Each has a class of its own, so that ``forward`` can be a method of it, as of every module.
        for base in cls.__mro__:
            if base.__qualname__ == "GraphModuleImpl":
                cls = base.__bases__[0]
                break
        made = type("GraphModuleImpl", (cls,), {"__module__": cls.__module__, "__qualname__": "GraphModuleImpl"})
        return super().__new__(made)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, nn.Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attribute(root, self, node.target)
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self._create_node_hooks, self._erase_node_hooks = [], []
        self.meta: dict = {}
        self.graph = graph

    def _take(self, root, graph):
        """Take the targets of a graph out of a dictionary, outer ones first."""
        targets = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node!s} referenced target {node.target} but that target was not provided in ``root``!"
                    )
                targets.append(node.target)
        for target in sorted(targets, key=lambda name: name.count(".")):
            _assign(root[target], self, target)

    @property
    def graph(self):
        """What ``forward`` does."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The text of ``forward``."""
        return self._code

    def recompile(self):
        """Make the code anew, after the graph was changed. Returns it, as `PythonCode`."""
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        self._out_spec = getattr(self._graph._codegen, "out_spec", None)
        type(self).forward = _method_from(made.src, made.globals)
        return made

    def add_submodule(self, target, m):
        """Put a module under a dotted name; modules on the way are made. Returns whether it could be done."""
        *path, name = target.split(".")
        holder = self
        for part in path:
            inner = getattr(holder, part, None)
            if inner is None:
                inner = nn.Module()
                setattr(holder, part, inner)
            if not isinstance(inner, nn.Module):
                return False
            holder = inner
        holder.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Take out the module with a dotted name. Returns whether there was one."""
        *path, name = target.split(".")
        holder = self
        for part in path:
            holder = getattr(holder, part, None)
            if not isinstance(holder, nn.Module):
                return False
        if not isinstance(getattr(holder, name, None), nn.Module):
            return False
        delattr(holder, name)
        return True

    def delete_all_unused_submodules(self):
        """Take out the modules that the graph names nowhere."""
        used: set = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inner = self.get_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder, module_name="FxModule"):
        """Write the module as a package: its code, and its tensors and modules beside it, which the code loads."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        from .. import save

        made = self._graph.python_code("self")
        save(self.state_dict(), folder / "state_dict.pt")
        lines = [f"self.add_module('{name}', {_construction(child)})" for name, child in self.named_children()]
        for name, tensor in self._parameters.items():
            lines.append(f"self.{name} = torch.nn.Parameter(torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))")
        for name, tensor in self._buffers.items():
            lines.append(f"self.register_buffer('{name}', torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))")
        setup = "".join(
            f"        {line}\n" for line in [*lines, f"self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))"]
        )
        body = "\n".join("    " + line if line else "" for line in made.src.strip().split("\n"))
        text = f"import torch\nfrom torch.nn import *\n\n\nclass {module_name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n{setup}\n{body}\n"  # fmt: skip
        (folder / "module.py").write_text(text, encoding="utf-8")
        (folder / "__init__.py").write_text("from .module import *\n", encoding="utf-8")

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, *, fast_sympy_print=False, expanded_def=False, additional_meta=None):  # fmt: skip
        """Print the code as a class, and those of modules inside that are graphs, too. Returns the text."""
        del include_stride, include_device, colored, fast_sympy_print, expanded_def, additional_meta
        text = self._readable()
        if print_output:
            print(text)
        return text

    def _readable(self):
        body = self._graph.python_code("self", verbose=True).src.lstrip("\n")
        text = f"class {self._get_name()}(torch.nn.Module):\n" + "\n".join(
            f"    {line}" if line.strip() else "" for line in body.split("\n")
        )
        for child in self.children():
            if isinstance(child, GraphModule):
                text += "\n" + "\n".join(
                    f"    {line}" if line.strip() else "" for line in child._readable().split("\n")
                )
        return text

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        nn.Module.__init__(made)
        kept = {name: value for name, value in vars(self).items() if name not in ("_graph", "_code")}
        vars(made).update(copy.deepcopy(kept, memo))
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph, memo)
        return made

    def __copy__(self):
        return GraphModule(self, copy.copy(self._graph), type(self).__name__)

    def __reduce__(self):
        state = {name: value for name, value in vars(self).items() if name not in ("_graph", "_code")}
        return _module_of, (state, self._graph, type(self).__name__)

    def _get_name(self):
        return type(self).__name__

    def __str__(self):
        return "\n".join(
            [super().__str__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )


def _module_of(state, graph, name):
    """The module with this state and graph: what pickles of a `GraphModule` call."""
    made = GraphModule.__new__(GraphModule)
    nn.Module.__init__(made)
    vars(made).update(state)
    type(made).__name__ = name
    made.graph = graph
    return made


def _copy_attribute(source, target, dotted):
    """Give ``target`` what ``source`` has under a dotted name, with plain modules on the way."""
    *path, name = dotted.split(".")
    for part in path:
        inner = getattr(source, part)
        if inner is getattr(target, part, None):
            return  # a module taken over whole holds it
        if not hasattr(target, part):
            setattr(target, part, nn.Module())
        source, target = inner, getattr(target, part)
    found = getattr(source, name)
    if name in getattr(source, "_buffers", ()):
        target.register_buffer(name, found)
    else:
        setattr(target, name, found)


def _assign(value, target, dotted):
    *path, name = dotted.split(".")
    for part in path:
        if not hasattr(target, part):
            setattr(target, part, nn.Module())
        target = getattr(target, part)
    if hasattr(value, "requires_grad") and not isinstance(value, nn.Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


def _construction(module):
    """The text that makes a module like this one."""
    text = repr(module)
    if "\n" in text and not isinstance(module, nn.Sequential):
        warnings.warn(
            f"to_folder cannot say how to make {type(module).__name__}: its arguments are not in its repr", stacklevel=3
        )
    if isinstance(module, nn.Sequential):
        return f"Sequential({', '.join(map(_construction, module))})"
    return text
