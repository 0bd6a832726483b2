"""Graphs of models for TensorBoard: what ran in one call of a model, by modules; and those of ONNX files."""

from __future__ import annotations

from collections import Counter

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ...autograd.modes import no_grad
from ...tensor import Tensor
from ...tensor.interposers import Interposer, below, interposed
from .._pytree import tree_flatten
from ..flop_formulas import native_calls
from ..module_tracker import ModuleTracker
from .summaries import shape_proto

_PRODUCER = 22  # the version of TensorFlow's graphs


def node_proto(name, op="UnSpecified", input=(), outputsize=None, attributes=""):
    """A node of a graph: its name, its operation, the names of its inputs, the shape of its result."""
    attr = {"attr": AttrValue(s=attributes.encode())}
    if outputsize is not None:
        attr["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[shape_proto(outputsize)]))
    return NodeDef(name=name, op=op, input=list(input), attr=attr)


class _Recording(Interposer):
    """Notes the operations of the thread, each as a node below the module that it ran in."""

    def __init__(self, tracker):
        super().__init__()
        self.tracker, self.nodes, self.names, self.used, self.kept = tracker, [], {}, Counter(), []

    def add(self, tensor, op, name, inputs=(), attributes=""):
        """A node whose result is ``tensor``."""
        count = self.used[name]
        self.used[name] += 1
        unique = f"{name}_{count}" if count else name
        self.names[id(tensor)] = unique
        self.kept.append(tensor)  # so that its id stays its own
        self.nodes.append(node_proto(unique, op, inputs, list(tensor.shape), attributes))

    def call(self, op, schema, values, again, around, writes=False):
        inputs = [self.names[id(each)] for each in tree_flatten(list(values))[0] if id(each) in self.names]
        with below(self):
            found = again(values)
        scope = max(self.tracker.parents - {"Global"}, key=lambda name: name.count("."), default="").replace(".", "/")
        name = native_calls(op, schema, values, found)[0][0]
        plain = {a.name: v for a, v in zip(schema.arguments, values) if isinstance(v, (int, float, str, tuple))}
        for result in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(result, Tensor):
                self.add(result, f"aten::{name}", f"{scope}/{name}".lstrip("/"), inputs, str(plain or ""))
        return found


def graph(model, args, verbose=False, use_strict_trace=True):
    """The graph of one call ``model(*args)``, and on what it runs: what `FileWriter.add_graph` takes."""
    given = args if isinstance(args, (tuple, list)) else (args,)
    with no_grad(), ModuleTracker() as tracker:
        recording = _Recording(tracker)
        for number, tensor in enumerate(tree_flatten(list(given))[0]):
            if isinstance(tensor, Tensor):
                recording.add(tensor, "IO Node", f"input/{number}")
        kind = type(model).__name__
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            recording.add(tensor, "Parameter", f"{kind}/{name.replace('.', '/')}")
        with interposed(recording):
            result = model(*given)
        for number, tensor in enumerate(tree_flatten(result)[0]):
            if id(tensor) in recording.names:
                recording.add(tensor, "IO Node", f"output/{number}", [recording.names[id(tensor)]])
    if verbose:
        print(*(f"{node.name} = {node.op}({', '.join(node.input)})" for node in recording.nodes), sep="\n")
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=recording.nodes, versions=VersionDef(producer=_PRODUCER)), stats


def load_onnx_graph(fname):
    """The graph of an ONNX file, read by the package onnx."""
    import onnx

    return onnx_graph(onnx.load(fname).graph)


def onnx_graph(graph):
    """The graph of an ONNX model: a node for each input, output and operation."""
    nodes = []
    for each in (*graph.input, *graph.output):
        kind = each.type.tensor_type
        shape = AttrValue(shape=shape_proto([size.dim_value for size in kind.shape.dim]))
        attr = {"dtype": AttrValue(type=kind.elem_type), "shape": shape}
        nodes.append(NodeDef(name=each.name, op="Variable", input=[], attr=attr))
    for each in graph.node:
        written = [" = ".join(str(value) for _, value in one.ListFields()) for one in each.attribute]
        attr = {"parameters": AttrValue(s=", ".join(written).encode())}
        nodes.append(NodeDef(name=each.output[0], op=each.op_type, input=each.input, attr=attr))
    return GraphDef(node=nodes, versions=VersionDef(producer=_PRODUCER))
