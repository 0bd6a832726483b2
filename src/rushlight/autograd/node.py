"""The graph: nodes, the edges between them, leaves, version counters and what a node saves."""

from __future__ import annotations

import itertools
import weakref

from ..base.dtypes import is_differentiable
from ..base.errors import hinted
from ..base.scalars import type_name
from ..base.user_code import location_of, written
from . import modes
from .hints import memory_named, overwritten, writer_of
from .hooks import register_hook, register_prehook

# The sequence number of a node: later nodes have smaller ones, since the engine runs the latest first.
next_sequence = itertools.count(0, -1).__next__
FIRST = 1 - (1 << 64)  # of what runs before operations do, once all has arrived that it waits for


class VersionCounter:
    """How often the memory that some tensors share was written in place, and which operation wrote last.

    ``writer`` is the name of the operation, or ``(name, user_place)`` of one of the first `hints.NOTED_WRITES` writes.
    """

    __slots__ = ("value", "writer")

    def __init__(self):
        self.value = 0
        self.writer = None


# What a tensor has until something views it or writes into it: shared by all, never changed.
UNTOUCHED = VersionCounter()


DETACHED = 1 << 40  # what `detach_` adds to a tensor's version, so that what was saved before has another


class DetachedCounter(VersionCounter):
    """The counter of a tensor that left the graph in place: it counts with the others on its memory, from `DETACHED` on."""

    __slots__ = ("shared",)

    def __init__(self, shared):
        self.shared = shared

    @property
    def value(self):
        return self.shared.value + DETACHED

    @value.setter
    def value(self, value):
        self.shared.value = value - DETACHED

    @property
    def writer(self):
        return self.shared.writer

    @writer.setter
    def writer(self, writer):
        self.shared.writer = writer


class _InferenceCounter(VersionCounter):
    """Stands where a tensor made in inference mode would have a counter: what asks for a version wants to save it."""

    __slots__ = ()

    def __init__(self):
        self.writer = None

    @property
    def value(self):
        raise RuntimeError(
            hinted(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
                "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or "
                "use `torch.no_grad()` instead of `torch.inference_mode()`.",
                "an operand was made inside torch.inference_mode(), and the operation would keep it for backward",
            )
        )


INFERENCE = _InferenceCounter()


# Nodes that PyTorch names with the namespace of its own classes.
_NATIVE_NAMES = frozenset(("AccumulateGrad", "CopySlices", "CopyBackwards", "Error", "NotImplemented"))


class Node:
    """One operation in the graph: what ``tensor.grad_fn`` is.

    ``apply(*grads)`` turns the gradients of the operation's outputs into those of its inputs; ``next_edges`` says where
    each goes: ``(node, which output of that node)``, or None for an input that needs no gradient. ``saved`` holds what
    ``apply`` needs and is exchanged for a `Freed` once backward has used it.
    """

    __slots__ = ("__dict__", "__weakref__", "next_edges", "saved", "sequence")
    outputs = 1  # how many outputs the operation has
    requires_grad = True
    hooks = None  # a `NodeHooks` once somebody registered one: hooks.py
    special = False  # whether the engine must look closer: several outputs, hooks, or a leaf's end
    runs_without_gradient = False  # whether `apply` is called even where no gradient arrived
    gives_all = False  # whether its hooks see also the gradients that nobody asked for,
    gives_together = False  # or see all as soon as one was asked for
    gate = False  # whether it is of an operation with ``gate``, and passes on what is ``_gated_by`` it already

    def apply(self, *grads):
        raise NotImplementedError(f"{self.name()} has no apply")

    def look_at_saved(self):
        """Raise if what the node keeps was freed, or written since; this one keeps nothing."""

    def result_edge(self, number):
        """Where the gradient of output ``number`` flows: here, or, written through a view, to the write into its base."""
        through = self.__dict__.get("written_through")
        return (self, number) if through is None else through.edge()

    def set_outputs(self, count):
        """Say that the operation has ``count`` outputs."""
        self.outputs, self.special = count, count != 1 or self.hooks is not None

    def name(self):
        """The operation's name, such as ``MulBackward0``."""
        name = type(self).__name__
        return "torch::autograd::" + name if name in _NATIVE_NAMES else name

    @property
    def next_functions(self):
        """``((node, output number), ...)`` of the inputs; ``(None, 0)`` for one that needs no gradient."""
        return tuple((None, 0) if leads_nowhere(edge) else edge for edge in self.next_edges)

    def shown_places(self):
        """The places, among the gradients of its inputs, of those that hooks see."""
        return range(len(self.next_edges))

    @property
    def metadata(self):
        """A dictionary for the user's own notes about this node."""
        return self.__dict__.setdefault("_metadata", {})

    def _sequence_nr(self):
        return -self.sequence

    def register_hook(self, fn):
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; a tuple that it returns replaces the former."""
        return register_hook(self, fn)

    def register_prehook(self, fn):
        """Call ``fn(grad_outputs)`` before the node runs; a tuple that it returns replaces them."""
        return register_prehook(self, fn)

    def __repr__(self):
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    def __call__(self, *grads):
        found = self.apply(*grads)
        return found[0] if len(found) == 1 else found


Node.__module__ = "torch.autograd.graph"


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to ``variable.grad``."""

    __slots__ = ("variable",)
    saved = None
    special = True
    next_edges = ()
    sequence = FIRST


AccumulateGrad.__module__ = "builtins"


class Nowhere(Node):
    """Where gradients of a tensor end that requires grad without a place in the graph: a view made under no_grad.

    Each use has one of its own, so that what arrives is not added up.
    """

    __slots__ = ()
    next_edges = ()
    sequence = 1  # after every operation

    def apply(self, *grads):
        return ()


def leads_nowhere(edge):
    """Whether no gradient is wanted along ``edge``."""
    return edge is None or edge[0].__class__ is Nowhere


class _Leaf:
    """The edge of every leaf that requires grad, until an operation asks for its AccumulateGrad node."""

    __slots__ = ()

    def resolve(self, leaf):
        """The edge to the leaf's AccumulateGrad node, which lives as long as a graph (or hook) refers to it."""
        reference = leaf._accumulator
        node = None if reference is None else reference()
        if node is None:
            node = AccumulateGrad()
            node.variable = leaf
            leaf._accumulator = weakref.ref(node)
        return node, 0

    def __repr__(self):
        return "LEAF"


LEAF = _Leaf()


def edge_of(tensor):
    """Where the gradient of ``tensor`` flows: ``(node, output number)``, or None where it needs none."""
    edge = tensor._edge
    if edge is None or edge.__class__ is tuple:
        return edge
    return edge.resolve(tensor)


_ALWAYS_FIRST = property(lambda node: FIRST, lambda node, number: None)


def node_class(name, base, **members):
    """A Node class whose printed name is PyTorch's, such as ``<class 'AddBackward0'>``.

    Nodes of the name ``NotImplemented``, which only raise an error, run as soon as they are reached, whenever they were made.
    """
    if name == "NotImplemented":
        members |= {"sequence": _ALWAYS_FIRST, "runs_without_gradient": True}
    return type(name, (base,), {"__slots__": (), "__module__": "builtins", **members})


# ---------------------------------------------------------------- saved values


class Freed(tuple):
    """Stands where saved values were, once a backward call has freed them: the `user_place` of that call."""

    __slots__ = ()

    @property
    def location(self):
        """File and line of the call."""
        return location_of(tuple(tuple.__iter__(self)))

    def __getitem__(self, index):
        return iter(self)

    def __iter__(self):
        raise RuntimeError(
            hinted(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
                "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
                "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
                "saved tensors after calling backward.",
                f"the saved values were freed by the backward call at {written(self.location)}; pass "
                "retain_graph=True there, or compute the forward pass again before this call",
            )
        )


class SavedInput:
    """A tensor that a node keeps for backward, with the version it had."""

    __slots__ = ("edge", "tensor", "unpacker", "version")

    def __init__(self, tensor):
        self.version = tensor._version_counter.value
        packer = _packing_hooks()
        if packer is None:
            self.tensor, self.unpacker = tensor, None
        else:
            self.tensor, self.unpacker = pack_tensor(packer[0], tensor), packer[1]
            self.edge = edge_of(tensor)

    def unpack(self, node):
        if self.unpacker is not None:
            return _unpack(self.unpacker, self.tensor, self.edge)
        tensor = self.tensor
        if tensor._version_counter.value != self.version:
            raise modified_in_place(tensor, self.version, describe_producer(tensor), node)
        return tensor


class SavedResult:
    """An output that its own node keeps; held without its edge, so that node and output form no cycle."""

    __slots__ = ("alias", "number", "unpacker", "version")

    def __init__(self, tensor, number, written=0):
        if tensor._version_counter is UNTOUCHED:
            tensor._version_counter = VersionCounter()  # shared with the alias: a later write to the result is seen
        alias = tensor._alias()
        self.number, self.version = number, alias._version_counter.value + written
        packer = _packing_hooks()
        self.alias, self.unpacker = (alias, None) if packer is None else (pack_tensor(packer[0], alias), packer[1])

    def unpack(self, node):
        if self.unpacker is not None:
            return _unpack(self.unpacker, self.alias, (node, self.number))
        alias = self.alias
        if alias._version_counter.value != self.version:
            raise modified_in_place(alias, self.version, produced_by((node, self.number)), node)
        tensor = alias._alias()
        if alias._tangent is not None:
            tensor._tangent_base = alias
        if node is not None and modes.state.grad and is_differentiable(alias._array.dtype):
            tensor._edge = node.result_edge(self.number)
        return tensor


def _packing_hooks():
    hooks = modes.state.saved_hooks
    return hooks[-1] if hooks else None


def pack_tensor(pack, tensor):
    """What the user's ``pack`` makes of a tensor; it runs unrecorded, and may not write into the tensor."""
    state = modes.state
    before = state.saved_hooks, state.grad, state.recording
    version = tensor._version_counter.value
    try:  # from before the switching on, in rows without calls: Ctrl-C may come after any
        state.saved_hooks, state.grad, state.recording = (), False, modes.OFF
        packed = pack(tensor)
    finally:
        state.saved_hooks, state.grad, state.recording = before
    if tensor._version_counter.value != version:
        raise RuntimeError(
            hinted(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified "
                "by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform "
                "in-place operations on the input to a pack hook.",
                f"{writer_of(tensor._version_counter)} wrote into the tensor: let the hook work on a clone()",
            )
        )
    return packed


def _unpack(unpack, packed, edge):
    """The tensor that the user's ``unpack`` gives back, in the place in the graph that the saved one had."""
    tensor = unpack(packed)
    if not hasattr(tensor, "_edge"):
        kind = type(tensor).__name__
        raise TypeError(
            hinted(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {kind}",
                "the unpack hook of saved_tensors_hooks must return the tensor that its pack hook was given",
            )
        )
    if edge is None and tensor._edge is None:
        return tensor
    tensor = tensor._alias()
    if edge is not None and edge[0].__class__ is AccumulateGrad:
        tensor._edge, tensor._accumulator = LEAF, weakref.ref(edge[0])
    else:
        tensor._edge = edge
    return tensor


def produced_by(edge):
    """Which output of which operation a tensor is, in the short names of PyTorch's messages."""
    name = edge[0].name()
    if not name.startswith("torch::"):
        name, _, form = name.rpartition("Backward")
        name += "" if form == "0" else form
    return f"output {edge[1]} of {name}"


def describe_producer(tensor):
    """`produced_by` for a tensor; None for a leaf."""
    node = tensor.grad_fn
    return None if node is None else produced_by((node, tensor.output_nr))


def modified_in_place(tensor, expected, producer, saver):
    """The error for a tensor that was written in place after the node ``saver`` had saved it."""
    counter = tensor._version_counter
    if counter.value // DETACHED != expected // DETACHED and tensor.grad_fn is None:
        return RuntimeError(
            hinted(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
                "out-of-place `.detach()` instead",
                f"{saver.name() if saver else 'another operation'} had saved {memory_named(tensor)} before detach_() took it out of the graph",
            )
        )
    advice = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
        "changed in there or anywhere later. Good luck!"
        if modes.state.anomaly
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    expected %= DETACHED
    first = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_name(tensor.dtype)} {list(tensor.shape)}]{f', which is {producer},' if producer else ''} is at version {tensor._version}; "
        f"expected version {expected} instead. Hint: {advice}"
    )
    return RuntimeError(hinted(first, overwritten(tensor, expected, saver)))
