"""What a drawing shows: the boxes and arrows of a tensor's graph, gathered without recursion and up to a limit."""

from __future__ import annotations

import re
from collections import deque

RESULT, OPERATION, PARAMETER, LEAF, CUT = "result", "operation", "parameter", "leaf", "cut"


class Box:
    """One box of the drawing: the result, an operation, a leaf, or the sign that the graph goes on."""

    __slots__ = ("inputs", "kind", "name", "node_name", "shape", "title")

    def __init__(self, kind, title, name=None, shape=None, node_name=""):
        self.kind, self.title, self.name, self.shape, self.node_name = kind, title, name, shape, node_name
        self.inputs = {}  # number of an input's box: how many of the operation's inputs come from it

    def add_input(self, number):
        self.inputs[number] = self.inputs.get(number, 0) + 1

    @property
    def is_leaf(self):
        return self.kind in (PARAMETER, LEAF)


class Collected:
    """The boxes, result first and each operation before its inputs, and what the limit left out."""

    def __init__(self, boxes, operations, left_out):
        self.boxes, self.operations, self.left_out = boxes, operations, left_out

    def of_kind(self, kind):
        return [box for box in self.boxes if box.kind == kind]


def operation_title(node):
    """``AddmmBackward0`` is drawn as ``Addmm``."""
    return re.sub(r"Backward\d*$", "", node.name()) or node.name()


def is_leaf_node(node):
    return hasattr(node, "variable")


def count_uses(root):
    """How many times each node of the graph is an input, in one walk."""
    uses, waiting = {root: 1}, [root]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is None:
                continue
            if node in uses:
                uses[node] += 1
            else:
                uses[node] = 1
                waiting.append(node)
    return uses


def operations_in_order(root, uses, limit):
    """Up to `limit` operations, each after all that use its result."""
    uses = dict(uses)
    order, ready = [], deque([root])
    while ready and len(order) < limit:
        node = ready.popleft()
        order.append(node)
        for following, _ in node.next_functions:
            if following is None or is_leaf_node(following):
                continue
            uses[following] -= 1
            if not uses[following]:
                ready.append(following)
    return order


def result_box(tensor, name):
    """The box of the tensor itself, with its value where it is one number."""
    if tensor.numel() == 1:
        return Box(RESULT, f"{name or 'loss'} = {tensor.detach().item():.5g}", shape=tuple(tensor.shape))
    return Box(RESULT, name or "result", shape=tuple(tensor.shape))


class Collector:
    """Turns nodes into boxes; `parameters` and `names` are ``{name: tensor}``."""

    def __init__(self, parameters, names):
        self.parameters = None if parameters is None else {id(tensor): name for name, tensor in parameters.items()}
        self.names = {id(tensor): name for name, tensor in names.items()}
        self.results = {
            tensor.grad_fn: (name, tuple(tensor.shape)) for name, tensor in names.items() if tensor.grad_fn is not None
        }
        self.boxes, self.numbers = [], {}

    def collect(self, tensor, limit):
        root = tensor.grad_fn
        self.boxes.append(result_box(tensor, self.names.get(id(tensor))))
        if root is None:
            self.boxes.append(self.leaf_box(tensor))
            self.boxes[0].add_input(1)
            return Collected(self.boxes, 0, 0)
        uses = count_uses(root)
        order = operations_in_order(root, uses, limit)
        for node in order:
            name, shape = self.results.get(node, (None, None))
            self.add(node, Box(OPERATION, operation_title(node), name, shape, node.name()))
        self.boxes[0].add_input(1)
        for number, node in enumerate(order, 1):
            self.connect(number, node)
        operations = sum(not is_leaf_node(node) for node in uses)
        return Collected(self.boxes, operations, operations - len(order))

    def add(self, node, box):
        self.numbers[node] = len(self.boxes)
        self.boxes.append(box)

    def connect(self, number, node):
        """Give the box of `node` its inputs; inputs beyond the limit become one sign that something is cut."""
        cut = False
        for following, _ in node.next_functions:
            if following is None:
                continue
            if following not in self.numbers:
                if not is_leaf_node(following):
                    cut = True
                    continue
                self.add(following, self.leaf_box(following.variable))
            self.boxes[number].add_input(self.numbers[following])
        if cut:
            self.boxes.append(Box(CUT, "…"))
            self.boxes[number].add_input(len(self.boxes) - 1)

    def leaf_box(self, variable):
        key = id(variable)
        if self.parameters is None:
            kind = PARAMETER if type(variable).__name__ == "Parameter" else LEAF
            name = self.names.get(key)
        else:
            kind = PARAMETER if key in self.parameters else LEAF
            name = self.names.get(key) or self.parameters.get(key)
        return Box(kind, name or "", name, tuple(variable.shape), "AccumulateGrad")
