"""What a drawing shows: the operations, leaves and results of a graph, gathered without recursion and up to a limit."""

from __future__ import annotations

import re
from collections import deque

from rushlight.autograd.holdings import memory_of
from rushlight.autograd.node import edge_of

from .numbers import Summary
from .rules import family_of, operation_of
from .saved import is_freed, saved_by
from .trace import calls_of, place_of

LEAF, OPERATION = "leaf", "operation"


class Operation:
    """One node of the graph. `inputs` are (LEAF or OPERATION, its number, which of its outputs), None for no gradient."""

    __slots__ = (
        "calls",
        "family",
        "freed",
        "gradients",
        "hidden_inputs",
        "inputs",
        "name",
        "node",
        "node_name",
        "node_type",
        "number",
        "op",
        "outputs",
        "place",
        "saved",
        "title",
    )

    def __init__(self, number, node):
        self.number, self.node = number, node
        self.node_name, self.title = node.name(), title_of(node)
        self.op, self.node_type, self.family = operation_of(node), type(node), family_of(node)
        self.saved, self.freed = saved_by(node), is_freed(node)
        self.place, self.calls = place_of(node), calls_of(node)
        self.outputs = [None] * node.outputs  # (shape, dtype name) of each, where it is known
        self.inputs, self.hidden_inputs = [], 0
        self.name, self.gradients = None, {}

    @property
    def shape(self):
        return None if self.outputs[0] is None else self.outputs[0][0]

    @property
    def saved_bytes(self):
        return sum(each.bytes for each in self.saved)


class Leaf:
    """A tensor that gradients are computed for."""

    __slots__ = ("dtype", "gradient", "is_parameter", "name", "node", "number", "shape", "uses", "variable")

    def __init__(self, number, node, name, is_parameter):
        self.number, self.node, self.name, self.is_parameter = number, node, name, is_parameter
        self.variable = variable = node.variable
        self.shape, self.dtype = tuple(variable.shape), variable.dtype.name
        self.gradient = None if variable._grad is None else Summary(variable._grad)
        self.uses = 0

    @property
    def label(self):
        return self.name or "tensor"


class Result:
    """A tensor that was asked for; `source` is (LEAF or OPERATION, number, output)."""

    __slots__ = ("dtype", "name", "shape", "source", "value")

    def __init__(self, tensor, name, source):
        self.name, self.source = name, source
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype.name
        self.value = tensor.detach().item() if tensor.numel() == 1 else None

    @property
    def title(self):
        if self.value is None:
            return self.name or "result"
        value = self.value if isinstance(self.value, complex) else f"{self.value:.5g}"
        return f"{self.name or 'loss'} = {value}"


class Model:
    """The graph as data: operations (each before its inputs), leaves, results, and what the limit left out.

    ``ends`` are the nodes of all leaves, also of those that are left out.
    """

    def __init__(self, operations, leaves, results, total, ends, owners):
        self.operations, self.leaves, self.results, self.ends = operations, leaves, results, ends
        self.total, self.left_out, self.owners = total, total - len(operations), owners
        self.saved_bytes = self._count_bytes()

    @property
    def parameters(self):
        return [leaf for leaf in self.leaves if leaf.is_parameter]

    def _count_bytes(self):
        """Bytes of memory that the drawn operations keep; what several share counts once, leaves not at all."""
        kept = memory_of([each.array for operation in self.operations for each in operation.saved])
        own = memory_of([leaf.variable._array for leaf in self.leaves])
        return sum(count for key, count in kept.items() if key not in own)

    def let_go(self):
        """Forget nodes and tensors, once all is read: a drawing keeps no graph alive."""
        self.ends = []
        for operation in self.operations:
            operation.node = None
            for saved in operation.saved:
                saved.array = saved.tensor = None
        for leaf in self.leaves:
            leaf.node = leaf.variable = None


def title_of(node):
    """``AddmmBackward0`` is drawn as ``Addmm``."""
    name = node.name().rpartition("::")[2]
    return re.sub(r"Backward\d*$", "", name) or name


def is_leaf_node(node):
    return hasattr(node, "variable")


def collect(tensors, names, limit):
    """The `Model` of the graph behind `tensors`: up to `limit` operations, those nearest to the tensors."""
    edges = [edge_of(tensor) for tensor in tensors]
    roots = list(dict.fromkeys(edge[0] for edge in edges if not is_leaf_node(edge[0])))
    uses = count_uses(roots)
    nodes = operations_in_order(roots, uses, limit)
    operations = [Operation(number, node) for number, node in enumerate(nodes)]
    leaves = _connect(operations, [edge[0] for edge in edges if is_leaf_node(edge[0])], names)
    numbers = {each.node: (OPERATION, each.number) for each in operations}
    numbers.update((leaf.node, (LEAF, leaf.number)) for leaf in leaves)
    results = []
    for tensor, (node, output) in zip(tensors, edges):
        kind, number = numbers[node]
        results.append(Result(tensor, names.tensors.get(id(tensor)), (kind, number, output)))
        if kind == OPERATION:
            operations[number].outputs[output] = tuple(tensor.shape), tensor.dtype.name
    _spread_shapes(operations)
    _name_results(operations, numbers, names, {edge[0] for edge in edges})
    _name_saved(operations, leaves, numbers, names)
    _read_retained(operations)
    ends = dict.fromkeys(node for node in (*uses, *(edge[0] for edge in edges)) if is_leaf_node(node))
    return Model(operations, leaves, results, len(uses.keys() - ends.keys()), list(ends), names.owners)


def count_uses(roots):
    """How many times each node of the graph is an input, in one walk."""
    uses, waiting = dict.fromkeys(roots, 0), list(roots)
    while waiting:
        for edge in waiting.pop().next_edges:
            if edge is None:
                continue
            if edge[0] in uses:
                uses[edge[0]] += 1
            else:
                uses[edge[0]] = 1
                waiting.append(edge[0])
    return uses


def operations_in_order(roots, uses, limit):
    """Up to `limit` operations, each after all that use its result."""
    uses = dict(uses)
    order, ready = [], deque(node for node in roots if not uses[node])
    while ready and len(order) < limit:
        node = ready.popleft()
        order.append(node)
        for edge in node.next_edges:
            if edge is None or is_leaf_node(edge[0]):
                continue
            uses[edge[0]] -= 1
            if not uses[edge[0]]:
                ready.append(edge[0])
    return order


def _connect(operations, root_leaves, names):
    """Give operations their inputs; returns the leaves."""
    numbers = {each.node: each.number for each in operations}
    leaves = {}

    def leaf_of(node):
        if node not in leaves:
            name, kind = names.tensors.get(id(node.variable)), names.is_parameter(node.variable)
            leaves[node] = Leaf(len(leaves), node, name, kind)
        return leaves[node]

    for node in root_leaves:
        leaf_of(node)
    for operation in operations:
        for edge in operation.node.next_edges:
            if edge is None:
                operation.inputs.append(None)
            elif is_leaf_node(edge[0]):
                leaf = leaf_of(edge[0])
                leaf.uses += 1
                operation.inputs.append((LEAF, leaf.number, 0))
            elif edge[0] in numbers:
                operation.inputs.append((OPERATION, numbers[edge[0]], edge[1]))
            else:
                operation.inputs.append(None)
                operation.hidden_inputs += 1
    _name_by_calls(operations, leaves)
    return list(leaves.values())


def _name_by_calls(operations, leaves):
    """Parameters that nothing visible names take the names that the traced modules have for them."""
    nameless = {id(leaf.variable): leaf for leaf in leaves.values() if leaf.name is None}
    modules = {}
    for operation in operations:
        for call in operation.calls[:1] if operation.calls else ():
            modules[id(call)] = call.module()
    for module in modules.values():
        for name, parameter in module.named_parameters() if module is not None else ():
            if id(parameter) in nameless:
                nameless[id(parameter)].name = name


def _metas(node):
    """(shape, NumPy dtype or None) of the input behind each edge of `node`, None where it does not tell."""
    if hasattr(node, "plan"):
        return [meta for given in node.inputs for meta in (given if given.__class__ is list else (given,))]
    if hasattr(node, "inner"):
        return [(node.base_shape, None), *_metas(node.inner)[1:]]
    if hasattr(node, "shapes"):
        return [(shape, None) for shape in node.shapes]
    if hasattr(node, "_inputs"):
        return [meta[:2] for meta in node._inputs if meta is not None]
    return [(node.shape, None)] if hasattr(node, "shape") else []


def _spread_shapes(operations):
    """Work out the shape and dtype of each result: from the operations that use it, else from its own result."""
    for operation in operations:
        metas = _metas(operation.node)
        own = operation.outputs[0]
        for place, source in enumerate(operation.inputs):
            if source is None or source[0] == LEAF:
                continue
            meta = metas[place] if place < len(metas) else None
            if meta is None:
                meta = own if hasattr(operation.node, "keeps") else None
            if meta is None:
                continue
            shape, dtype = meta
            dtype = dtype if isinstance(dtype, str) else own[1] if dtype is None and own else str(dtype or "")
            outputs = operations[source[1]].outputs
            if outputs[source[2]] is None:
                outputs[source[2]] = tuple(shape), dtype


def _name_results(operations, numbers, names, ends):
    """Let operations know the variables that hold their results; the boxes of the results say it of the `ends`."""
    for node, output, name in names.results:
        kind, number = numbers.get(node, (None, None))
        if kind == OPERATION and output == 0 and operations[number].name is None and node not in ends:
            operations[number].name = name


def _name_saved(operations, leaves, numbers, names):
    """Say of each saved tensor whose it is: a leaf's, a variable's or an operation's."""
    known = {id(leaf.variable): leaf.name for leaf in leaves if leaf.name}
    for operation in operations:
        for saved in operation.saved:
            if saved.tensor is None or saved.source:
                continue
            saved.source = known.get(id(saved.tensor)) or names.tensors.get(id(saved.tensor)) or ""
            edge = saved.tensor._edge
            if not saved.source and edge.__class__ is tuple and edge[0] in numbers:
                saved.source = f"result of {operations[numbers[edge[0]][1]].title}"


def _read_retained(operations):
    """Gradients that tensors on the way kept because of ``retain_grad``."""
    for operation in operations:
        hooks = operation.node.hooks
        for output, reference in hooks.retained.items() if hooks is not None else ():
            tensor = reference()
            if tensor is not None and tensor._grad is not None:
                operation.gradients[output] = Summary(tensor._grad)
