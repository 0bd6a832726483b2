"""Features from within a model: a graph of it that returns the nodes that are asked for."""

from __future__ import annotations

import copy
import math
import re
import warnings

from ... import fx, nn
from .. import ops

__all__ = ["create_feature_extractor", "get_graph_node_names"]


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer that is told which further classes of modules become one node."""

    def __init__(self, *args, leaf_modules=(), **kwargs):
        self.leaf_modules = tuple(leaf_modules)
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m, module_qualname):
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that names each node by the path of the module that made it: ``layer1.0.conv1``, ``layer1.0.add``.

    A name that would stand twice gets ``_1``, ``_2``, ... behind it.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname = {}
        self.uses = {}  # of each name without its number: the last number, 0 for none

    def call_module(self, m, forward, args, kwargs):
        before = self.current_module_qualname
        try:
            self.current_module_qualname = path = self.path_of_module(m)
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, **others):
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr, **others)
        self.node_to_qualname[proxy.node] = self._name(proxy.node)
        return proxy

    def _name(self, node):
        path = self.current_module_qualname
        if node.op != "call_module":
            path = f"{path}.{node}" if path else str(node)
        path = re.sub(r"(?<=.)_[0-9]+$", "", path)  # the number counts within the whole graph, ours within the module
        number = self.uses[path] = self.uses.get(path, -1) + 1
        return f"{path}_{number}" if number else path


def is_subsequence(longer, shorter):
    rest = iter(longer)
    return all(any(each == name for each in rest) for name in shorter)


def warn_of_differences(training, evaluating):
    """Say so where the nodes of the two modes differ."""
    in_training, in_evaluation = (list(tracer.node_to_qualname.values()) for tracer in (training, evaluating))
    if in_training == in_evaluation:
        return
    if is_subsequence(in_training, in_evaluation):
        message = "NOTE: The nodes obtained by tracing the model in eval mode are a subsequence of those obtained in train mode. "
    elif is_subsequence(in_evaluation, in_training):
        message = "NOTE: The nodes obtained by tracing the model in train mode are a subsequence of those obtained in eval mode. "
    else:
        message = "The nodes obtained by tracing the model in train mode are different to those obtained in eval mode. "
    warnings.warn(
        message
        + "When choosing nodes for feature extraction, you may need to specify output nodes for train and eval mode "
        "separately.",
        stacklevel=3,
    )


def with_defaults(tracer_kwargs):
    """The tracer's arguments, with what vision.ops holds as nodes of their own."""
    options = dict(tracer_kwargs or {})
    classes = [made for made in vars(ops).values() if isinstance(made, type) and issubclass(made, nn.Module)]
    options["leaf_modules"] = [*options.get("leaf_modules", ()), *classes]
    options["autowrap_modules"] = (*options.get("autowrap_modules", ()), math, ops)
    return options


def traced(model, tracer_kwargs, concrete_args):
    """For both modes: the tracer and the graph. The model is in its own mode again afterwards."""
    before, found = model.training, []
    try:
        for training in (True, False):
            tracer = NodePathTracer(**tracer_kwargs)
            found.append((tracer, tracer.trace(model.train(training), concrete_args=concrete_args)))
    finally:
        model.train(before)
    return found


def get_graph_node_names(model, tracer_kwargs=None, suppress_diff_warning=False, concrete_args=None):
    """The names of a model's nodes while training and while evaluating, in the order in which they run.

    >>> from rushlight import nn
    >>> from rushlight.vision.models.feature_extraction import get_graph_node_names
    >>> get_graph_node_names(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    (['input', '0', '1'], ['input', '0', '1'])
    """
    (training, _), (evaluating, _) = traced(model, with_defaults(tracer_kwargs), concrete_args)
    if not suppress_diff_warning:
        warn_of_differences(training, evaluating)
    return list(training.node_to_qualname.values()), list(evaluating.node_to_qualname.values())


class DualGraphModule(fx.GraphModule):
    """A module that runs one graph while training and another while evaluating."""

    def __init__(self, root, train_graph, eval_graph, class_name="GraphModule"):
        holder = fx.Graph(tracer_cls=train_graph._tracer_cls)
        copies = {}
        for graph in (train_graph, eval_graph):  # one graph that names what both need, so that all of it is kept
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in copies:
                    copies[node.target] = holder.create_node(node.op, node.target)
        holder.output(tuple(copies.values()))
        super().__init__(root, holder, class_name)
        self.train_graph = train_graph
        self.eval_graph = eval_graph
        self.graph = train_graph if self.training else eval_graph

    def train(self, mode=True):
        """Change the mode, and the graph with it."""
        if mode != self.training:
            self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)

    def __deepcopy__(self, memo):
        parts = nn.Module()
        parts.__dict__.update(copy.deepcopy(self.__dict__, memo))
        made = DualGraphModule(parts, parts.train_graph, parts.eval_graph, type(self).__name__)
        memo[id(self)] = made
        return made.train(self.training)


def as_names(nodes):
    if isinstance(nodes, dict):
        return {str(node): str(name) for node, name in nodes.items()}
    return {str(node): str(node) for node in nodes}


def names_by_mode(return_nodes, train_return_nodes, eval_return_nodes):
    """What to return while training, and what while evaluating."""
    if return_nodes is None and train_return_nodes is None and eval_return_nodes is None:
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified"
        )
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified"
        )
    if return_nodes is not None and train_return_nodes is not None:
        raise ValueError("If `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified")
    if return_nodes is not None:
        return as_names(return_nodes), as_names(return_nodes)
    return as_names(train_return_nodes), as_names(eval_return_nodes)


def returning(graph, names, asked):
    """Make `graph` return the nodes that are asked for: of each name the last node that belongs to it."""
    for query in asked:
        if not any(name == query or name.startswith(f"{query}.") for name in names.values()):
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to make sure the `return_nodes` "
                "you specified are present. It may even be that you need to specify `train_return_nodes` and "
                "`eval_return_nodes` separately."
            )
    waiting, found = dict(asked), {}
    for node in reversed(list(graph.nodes)):
        if node.op == "output":
            graph.erase_node(node)
            continue
        path = names.get(node, "").split(".")
        query = next((each for each in waiting if ".".join(path[: each.count(".") + 1]) == each), None)
        if query is not None:
            found[waiting.pop(query)] = node
    graph.output(dict(reversed(found.items())))
    graph.eliminate_dead_code()


def create_feature_extractor(
    model,
    return_nodes=None,
    train_return_nodes=None,
    eval_return_nodes=None,
    tracer_kwargs=None,
    suppress_diff_warning=False,
    concrete_args=None,
):
    """A module that shares the model's parameters and returns a dict of what the named nodes compute.

    `return_nodes` is a list of names from `get_graph_node_names`, or a dict from them to the keys of the result; a name may
    be cut off at a dot and then means the last node below it. Where the modes differ, give `train_return_nodes` and
    `eval_return_nodes`.

    >>> import rushlight as torch
    >>> from rushlight.vision.models.feature_extraction import create_feature_extractor
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> extractor = create_feature_extractor(model, {"1": "hidden"})
    >>> extractor(torch.ones(4, 2))["hidden"].shape
    torch.Size([4, 3])
    """
    asked = names_by_mode(return_nodes, train_return_nodes, eval_return_nodes)
    found = traced(model, with_defaults(tracer_kwargs), concrete_args)
    for (tracer, graph), names in zip(found, asked, strict=True):
        graph.owning_module = model  # which says of its modules whether a node without uses may go
        returning(graph, tracer.node_to_qualname, names)
    if not suppress_diff_warning:
        warn_of_differences(found[0][0], found[1][0])
    made = DualGraphModule(model, found[0][1], found[1][1], type(model).__name__)
    return made.train(model.training)
