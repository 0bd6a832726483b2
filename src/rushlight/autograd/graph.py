"""``torch.autograd.graph``: nodes and hooks on what they save."""

from __future__ import annotations

import abc
import functools
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..ops.table import functions
from ..random import Generator
from .hooks import RemovableHandle
from .modes import OFF, PLAIN, SPECIAL, state
from .names import described
from .node import UNTOUCHED, VersionCounter, edge_of
from .node import Node as _Node

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(abc.ABC):
    """What every ``grad_fn`` is, for ``isinstance``; nodes are made by operations alone."""

    @abc.abstractmethod
    def name(self) -> None:
        """The operation's name, such as ``MulBackward0``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> Any:
        """``((node, output number), ...)`` of the inputs."""

    @abc.abstractmethod
    def metadata(self) -> None:
        """A dictionary for the user's own notes about this node."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> None:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> None:
        """Call ``fn(grad_outputs)`` before the node runs."""


Node.register(_Node)


class saved_tensors_hooks:
    """A context in which ``pack_hook`` sees each tensor saved for backward, and ``unpack_hook`` gives it back.

    >>> import rushlight as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), torch.from_numpy):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                hinted(
                    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are "
                    "supported:",
                    f"pack_hook and unpack_hook must be functions, not {self.pack_hook!r} and {self.unpack_hook!r}",
                )
            )
        if state.saved_hooks_disabled is not None:
            raise RuntimeError(hinted(state.saved_hooks_disabled, "saved-tensor hooks are disabled around this call"))
        hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        recording = SPECIAL if state.recording else OFF
        state.saved_hooks, state.recording = hooks, recording  # in one row without calls, for Ctrl-C: modes.py

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        hooks = state.saved_hooks[:-1]
        plain = PLAIN if not (hooks or state.anomaly or state.observers) else SPECIAL
        state.saved_hooks, state.recording = hooks, plain if state.recording else OFF


class save_on_cpu(saved_tensors_hooks):
    """A context in which saved tensors wait in main memory; those of the CPU are there and stay as they are.

    ``pin_memory=True`` copies them. ``device_type`` is accepted: there is one device.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor):
            return tensor.device, tensor.clone() if pin_memory else tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context, and decorator, in which using saved-tensor hooks raises RuntimeError with ``error_message``."""
    if state.saved_hooks:
        raise RuntimeError(hinted(error_message, "saved-tensor hooks are active: leave their context before"))
    before = state.saved_hooks_disabled
    try:
        state.saved_hooks_disabled = error_message
        yield
    finally:
        state.saved_hooks_disabled = before


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to ``tensor`` (or each of several) that autograd could not see."""
    if not hasattr(tensor, "_edge") and not hasattr(tensor, "__iter__"):
        kind = type(tensor).__name__
        raise RuntimeError(hinted("increment_version expect a Iterable[Tensor] as input", f"it was given {kind}"))
    tensors: Any = (tensor,) if hasattr(tensor, "_edge") else tuple(tensor)
    for position, each in enumerate(tensors):
        if not hasattr(each, "_edge"):
            raise RuntimeError(
                hinted(
                    "increment_version expects each element of the iterable to be a tensor",
                    f"number {position} is of type {type(each).__name__}",
                )
            )
    for each in tensors:
        if not each.is_inference():  # which counts no versions
            functions.bump_version(each, "increment_version")


class GradientEdge(namedtuple("GradientEdge", "node output_nr ownership_token", defaults=(None,))):
    """Where a gradient flows: ``node`` and which of its outputs; stands for a tensor in ``grad`` and ``backward``."""

    like = None  # an empty tensor with the shape (expanded) and dtype of the one that the edge was taken from


def get_gradient_edge(tensor: Tensor) -> Any:
    """The edge along which the gradient of ``tensor`` flows."""
    edge = edge_of(tensor) if tensor.requires_grad else None
    if edge is None:
        raise RuntimeError(
            hinted(
                "It is not possible to get the gradient edge for a Tensor that does not require gradients",
                f"set requires_grad_() on what {described(tensor)} is computed from",
            )
        )
    found = GradientEdge(*edge)
    found.like = functions.empty((), dtype=tensor.dtype).expand(tensor.shape)
    return found


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call ``fn`` once in each backward: with the gradients of all ``tensors`` when the last is known, or with the first.

    Args:
        tensors: tensors that require grad.
        fn: gets a list with a gradient for each tensor, None for one that this backward does not reach (mode "all"); or
            the gradient that came first (mode "any").
        mode: "all" or "any".

    Returns:
        A handle; ``remove()`` takes the hook away.
    """
    if mode not in ("all", "any"):
        raise ValueError(
            hinted(
                f"Expects mode to be one of ('all', 'any') but got {mode}",
                "'all' waits for every gradient that will come",
            )
        )
    key = object()  # under which a run of the engine keeps what came so far

    @functools.wraps(fn)
    def first(grad):
        if key not in state.task.notes:
            state.task.notes[key] = True
            fn(grad)

    if mode == "any":
        return _Handles(tensor.register_hook(first) for tensor in tensors if tensor.requires_grad)
    nodes = [_node_towards(tensor) for tensor in tensors]

    def collect(position, grad):
        task = state.task
        if key not in task.notes:
            task.notes[key] = [None] * len(nodes), [sum(task.reaches(node) for node in nodes)]
        grads, missing = task.notes[key]
        grads[position] = grad
        missing[0] -= 1
        if not missing[0]:
            fn(grads)

    return _Handles(tensor.register_hook(functools.partial(collect, place)) for place, tensor in enumerate(tensors))


def _node_towards(tensor):
    edge = edge_of(tensor) if tensor.requires_grad else None
    if edge is None:
        raise AssertionError(
            hinted("Expected gradient function to be set", f"{described(tensor)} does not require grad")
        )
    return edge[0]


class _Handles(RemovableHandle):
    """Several hooks, removed together."""

    def __init__(self, handles: Any) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, handles: Any) -> None:
        self.handles = handles


# ---------------------------------------------------------------- writing into what was saved


class _Kept:
    """A copy of a saved tensor, and what tells whether the tensor was written since."""

    __slots__ = ("__weakref__", "copy", "counter", "version")

    def __init__(self, tensor: Tensor) -> None:
        self.copy, self.counter = tensor.clone(), tensor._version_counter
        self.version = self.counter.value


class _SavedCopies:
    """The copies of one `allow_mutation_on_saved_tensors` context, each as long as a node needs it."""

    def __init__(self) -> None:
        self.tid_to_weakhandle = weakref.WeakValueDictionary()  # by identity and version of the tensor
        self.open = True

    @property
    def cloned(self) -> Any:
        """The copies that differ from their tensors by now, because those were written."""
        kept = self.tid_to_weakhandle.values()
        return {each: each.copy for each in kept if each.counter.value != each.version}

    def pack(self, tensor: Tensor) -> Any:
        if tensor._version_counter is UNTOUCHED:
            tensor._version_counter = VersionCounter()  # one that a later write will move
        key = id(tensor), tensor.data_ptr(), tensor._version
        kept = self.tid_to_weakhandle.get(key)
        if kept is None:
            kept = self.tid_to_weakhandle[key] = _Kept(tensor)
        return kept, self

    def unpack(self, packed: Any) -> Any:
        kept, owner = packed
        if not owner.open:
            raise AssertionError(
                hinted(
                    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
                    "recorded.",
                    "call backward inside the context",
                )
            )
        return kept.copy

    def clear(self) -> None:
        self.tid_to_weakhandle.clear()
        self.open = False


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Any]:
    """A context in which tensors saved for backward may be written in place: backward gets copies of what they were.

    Every saved tensor is copied, so forward needs more memory; backward must run inside the context too.

    Raises:
        RuntimeError: the context is entered inside itself

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     y.zero_()
    ...     z.backward()
    tensor([0., 0.], grad_fn=<ZeroBackward0>)
    >>> x.grad
    tensor([2., 4.])
    """
    if any(isinstance(getattr(pack, "__self__", None), _SavedCopies) for pack, _ in state.saved_hooks):
        raise RuntimeError(
            hinted("allow_mutation_on_saved_tensors contexts cannot be nested", "the outer context is enough")
        )
    copies = _SavedCopies()
    with saved_tensors_hooks(copies.pack, copies.unpack):
        try:
            yield copies
        finally:
            copies.clear()
