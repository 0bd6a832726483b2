"""``node._raw_saved_NAME``: the tensors that a node keeps, one by one, each open to a pair of hooks of its own."""

from __future__ import annotations

import weakref

from ..base.errors import hinted
from .node import Freed, SavedInput, SavedResult, edge_of, pack_tensor


class SavedTensor:
    """One tensor that a node keeps for backward; made by the node's ``_raw_saved_NAME`` alone.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 10, lambda t: t)
    >>> y.grad_fn._saved_self
    tensor([10., 20.], requires_grad=True)
    """

    __slots__ = ("_entries", "_node", "_slot")

    def __init__(self, node=None, entries=None, slot=None):
        if node is None:
            raise RuntimeError(
                hinted(
                    "Trying to create a SavedTensor object from Python is forbidden.",
                    "a node gives them: (x * x).grad_fn._raw_saved_self",
                )
            )
        self._node, self._entries, self._slot = node, entries, slot

    def _entry(self):
        if getattr(self._node, "versions", None) is not None:
            _give_versions(self._node)
        return self._entries()[self._slot]

    def register_hooks(self, pack_hook, unpack_hook):
        """Keep ``pack_hook(tensor)`` in the tensor's place; ``unpack_hook`` gives a tensor back from it in backward.

        Raises:
            TypeError: a hook is no function
            RuntimeError: the tensor has hooks already, is None, or was freed
        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError(
                hinted(
                    "register_hooks(): incompatible function arguments. The following argument types are supported:",
                    f"pack_hook and unpack_hook must be functions, not {pack_hook!r} and {unpack_hook!r}",
                )
            )
        if isinstance(self._node.saved, Freed):
            raise RuntimeError(
                hinted(
                    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed "
                    "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph "
                    "a second time or if you need to access saved variables after calling backward.",
                    "register the hooks before backward",
                )
            )
        entry = self._entry()
        if entry is None:
            raise RuntimeError(
                hinted(
                    "Calling register_hooks on a saved tensor with value None is forbidden",
                    "this argument of the operation was None",
                )
            )
        if entry.unpacker is not None:
            raise RuntimeError(
                hinted(
                    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
                    "allowed at a time.",
                    "combine the two pairs into one",
                )
            )
        if entry.__class__ is SavedResult:
            entry.alias = pack_tensor(pack_hook, entry.alias)
        else:
            entry.edge = edge_of(entry.tensor)
            entry.tensor = pack_tensor(pack_hook, entry.tensor.detach())
        entry.unpacker = unpack_hook

    def unpack(self):
        """The tensor, as backward will get it."""
        entry = self._entry()
        return None if entry is None else entry.unpack(self._node)

    @property
    def data(self):
        """What is kept: the tensor outside the graph, or what the pack hook made of it."""
        entry = self._entry()
        if entry is None:
            return None
        return entry.alias if entry.__class__ is SavedResult else entry.tensor

    @property
    def unpack_hook(self):
        """The unpack hook, or None."""
        entry = self._entry()
        return None if entry is None else entry.unpacker


def _give_versions(node):
    """Let each tensor that ``node`` keeps know its version itself, instead of the node."""
    saved = [*node.saved]
    for slot, version in zip(node.plan.inputs, node.versions):
        if hasattr(saved[slot], "_edge"):
            saved[slot] = _as_input(saved[slot], version)
    node.saved, node.versions = saved, None


def _as_input(tensor, version):
    """The SavedInput of a tensor that was saved when its version was this one."""
    entry = SavedInput.__new__(SavedInput)
    entry.tensor, entry.version, entry.unpacker = tensor, version, None
    return entry


class _Unpacking(tuple):
    """In the place of ``(tensors..., versions...)`` that a node of the short path keeps: unpacks its entries when read."""

    __slots__ = ()

    def __iter__(self):
        node, entries = tuple.__iter__(self)
        tensors = [None if entry is None else entry.unpack(node()) for entry in entries]
        return iter((*tensors, *[0 if tensor is None else tensor._version for tensor in tensors]))

    def __getitem__(self, index):
        return tuple(self)[index]

    def entries(self):
        return tuple.__getitem__(self, 1)


def _entries_of_short_path(node):
    """The entries of a node of the short path, which keeps tensors and their versions in one tuple."""
    saved = node.saved
    if saved.__class__ is not _Unpacking:
        kept = tuple(saved) if saved is not None else (None,) * (2 * len(node.keeps))
        half = len(kept) // 2
        entries = [
            None if tensor is None else _as_result(tensor, version) if name == "result" else _as_input(tensor, version)
            for name, tensor, version in zip(node.keeps, kept[:half], kept[half:])
        ]
        saved = node.saved = _Unpacking((weakref.ref(node), entries))
    return saved.entries()


def _as_result(tensor, version):
    entry = SavedResult.__new__(SavedResult)
    entry.alias, entry.number, entry.version, entry.unpacker = tensor, 0, version, None
    return entry


def show_raw(node_type, names):
    """Let nodes of the short path have ``_raw_saved_NAME`` for what they keep among ``names``, those their rules take."""
    for slot, name in enumerate(node_type.keeps):
        if name in names:
            raw = property(lambda node, slot=slot: SavedTensor(node, lambda: _entries_of_short_path(node), slot))
            setattr(node_type, f"_raw_saved_{name}", raw)
