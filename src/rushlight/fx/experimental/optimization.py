"""``torch.fx.experimental.optimization``: graphs for inference, with normalisations folded into layers and without dropout."""

import copy

from ... import nn
from ...base.errors import hinted
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import Tracer, symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = [
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "optimize_for_inference",
    "remove_dropout",
    "replace_node_module",
]
_FUSED = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn_eval,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn_eval,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn_eval,
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn_eval,
}


def matches_module_pattern(pattern, node, modules):
    """Whether ``node`` and its first argument call modules of the two classes of ``pattern``; ``modules`` are those of the graph by name."""
    if not node.args:
        return False
    pairs = zip(pattern, (node.args[0], node), strict=False)
    return all(
        isinstance(found, Node) and found.op == "call_module" and type(modules.get(found.target)) is kind
        for kind, found in pairs
    )


def replace_node_module(node, modules, new_module):
    """Let ``node`` call ``new_module``, which takes the old one's place in ``modules`` and in its parent."""
    if not isinstance(node.target, str):
        raise AssertionError(
            hinted(f"Expected str target, got {type(node.target)}", "the node has to call a module by its name")
        )
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """A graph of a model in evaluation mode whose batch normalisations are folded into the convolutions and linear layers before them.

    ``inplace`` takes the model's own modules rather than copies; ``no_trace`` takes the graph that a `GraphModule` has.

    >>> import rushlight as torch
    >>> from rushlight.fx.experimental.optimization import fuse
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    >>> [node.op for node in fuse(model).graph.nodes]
    ['placeholder', 'call_module', 'output']
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for pattern, fused in _FUSED.items():
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            before, norm = node.args[0], modules[node.target]
            if norm.track_running_stats:
                replace_node_module(before, modules, fused(modules[before.target], norm))
                node.replace_all_uses_with(before)
                graph.erase_node(node)
    return GraphModule(traced, graph)


class _WithoutDropout(Transformer):
    def call_module(self, target, args, kwargs):
        if not isinstance(self.submodules[target], nn.Dropout):
            return super().call_module(target, args, kwargs)
        if len(args) != 1:
            raise AssertionError(f"Expected 1 arg for Dropout, got {len(args)}")
        return args[0]


def remove_dropout(model):
    """A graph of the model without its `nn.Dropout` layers."""
    return _WithoutDropout(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A `GraphModule` of ``nodes`` alone, which takes ``inputs`` and returns the list of ``outputs``."""
    graph, copied = Graph(), {}
    for node in inputs:
        copied[node] = graph.placeholder(node.name)
    for node in nodes:
        copied[node] = graph.node_copy(node, copied.__getitem__)
    graph.output([copied[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def optimize_for_inference(model, pass_config=None, tracer=Tracer):
    """`fuse` and `remove_dropout`, as far as ``pass_config`` wants them: "conv_bn_fuse" and "remove_dropout" are True.

    The third pass of PyTorch's, "mkldnn_layout_optimize", chooses layouts for another library's kernels; ours need none.
    """
    wanted = {"conv_bn_fuse": True, "remove_dropout": True, "mkldnn_layout_optimize": {"heuristic": None}}
    wanted |= pass_config or {}
    layouts = wanted["mkldnn_layout_optimize"]
    if layouts is not False and not isinstance(layouts, dict):
        raise RuntimeError(hinted("mkldnn_layout_optimize config is not a dict", "False leaves that pass out"))
    if layouts is not False and "heuristic" not in layouts:
        raise RuntimeError(hinted("Heuristic not found in mkldnn_layout_optimize config", "False leaves that pass out"))
    if wanted["conv_bn_fuse"]:
        model = fuse(model)
    if wanted["remove_dropout"]:
        model = remove_dropout(model)
    if layouts is False:
        return model
    traced = tracer()
    return GraphModule(model, traced.trace(copy.deepcopy(model)))
