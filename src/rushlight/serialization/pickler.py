"""Writing pickle protocol 2 for the data that checkpoints hold, under the names that PyTorch gives it."""

from __future__ import annotations

from itertools import islice

from ..base.device import strided
from ..base.errors import hinted
from ..base.lazy import bits_of, is_meta, stored_in
from ..nn.parameter import Parameter
from ..ops.table import functions
from ..tensor import Tensor
from .storages import UNTYPED, storage_name
from .tensors import attributes_of, describe
from .writers import CONTAINERS, SCALARS, check_member, save_other

_BATCH = 1000


class Pickler:
    """Turns one object into a stream of opcodes; ``storages`` collects what its tensors refer to.

    ``legacy`` adds the part of a storage's name that only the old format has.
    """

    def __init__(self, legacy=False):
        self.parts = [b"\x80\x02"]
        self.memo = {}
        self.alive = []  # what the memo knows by identity must not be freed and its identity reused
        self.names = {}
        self.storages = {}
        self.legacy = legacy

    def dump(self, value):
        """The stream of one object."""
        try:
            self.save(value)
        except RecursionError:
            raise RecursionError(
                hinted(
                    "maximum recursion depth exceeded while pickling an object", "the data is nested too deep to save"
                )
            ) from None
        self.parts.append(b".")
        return b"".join(self.parts)

    def save(self, value):
        """Append the opcodes that push ``value``."""
        kind = type(value)
        write = SCALARS.get(kind)
        if write is not None:
            self.parts.append(write(value))
            return
        known = self.memo.get(id(value))
        if known is not None:
            self.get(known)
        elif kind is Tensor or kind is Parameter:
            self.save_tensor(value)
        else:
            (CONTAINERS.get(kind) or save_other)(self, value)

    # ------------------------------------------------------------ the memo and names

    def get(self, index):
        """Push what was remembered under an index."""
        self.parts.append(b"h" + bytes((index,)) if index < 256 else b"j" + index.to_bytes(4, "little"))

    def put(self):
        """Remember what is on top, under the next index, which is returned."""
        index = len(self.alive)
        self.parts.append(b"q" + bytes((index,)) if index < 256 else b"r" + index.to_bytes(4, "little"))
        self.alive.append(None)
        return index

    def remember(self, value):
        """Remember what is on top as ``value``: the next time it is met, a reference is written."""
        index = self.put()
        self.alive[index] = value
        self.memo[id(value)] = index

    def name(self, module, name):
        """Push a global by its name."""
        index = self.names.get((module, name))
        if index is None:
            self.parts.append(f"c{module}\n{name}\n".encode())
            self.names[module, name] = self.put()
        else:
            self.get(index)

    def call(self, module, name, *arguments):
        """Push what a global makes of the arguments."""
        self.name(module, name)
        self.save_items(arguments)
        self.parts.append(b"R")

    def save_items(self, items):
        """Push a tuple that nothing else refers to."""
        if len(items) == 0:
            self.parts.append(b")")
        elif len(items) <= 3:
            for item in items:
                self.save(item)
            self.parts.append((b"\x85", b"\x86", b"\x87")[len(items) - 1])
        else:
            self.parts.append(b"(")
            for item in items:
                self.save(item)
            self.parts.append(b"t")

    def fill_list(self, items):
        """Append the items to the list on top."""
        items = iter(items)
        while batch := list(islice(items, _BATCH)):
            self.parts.append(b"(")
            for item in batch:
                self.save(item)
            self.parts.append(b"e")

    def fill_dict(self, mapping):
        """Set the items of the mapping on top."""
        items = iter(mapping.items())
        while batch := list(islice(items, _BATCH)):
            self.parts.append(b"(")
            for key, item in batch:
                check_member(key)
                self.save(key)
                self.save(item)
            self.parts.append(b"u")

    # ------------------------------------------------------------ tensors

    def save_tensor(self, tensor):
        """Push a Tensor or Parameter, under PyTorch's rebuilding functions."""
        state = attributes_of(tensor)
        if isinstance(tensor, Parameter):
            self.name("torch._utils", "_rebuild_parameter_with_state" if state else "_rebuild_parameter")
            self.parts.append(b"(")
            self.save_plain_tensor(tensor, False)
            self.save(tensor.requires_grad)
            self.call("collections", "OrderedDict")
            if state:
                self.save(state)
            self.parts.append(b"tR")
        elif state and not is_meta(tensor._array):
            self.name("torch._tensor", "_rebuild_from_type_v2")
            self.parts.append(b"(")
            self.name_tensor_function(tensor)
            self.name("torch", "Tensor")
            self.save_tensor_parts(tensor, tensor.requires_grad)
            self.save(state)
            self.parts.append(b"tR")
        else:
            self.save_plain_tensor(tensor, tensor.requires_grad)
        self.remember(tensor)

    def save_sparse(self, tensor):
        """Push a sparse tensor; as in PyTorch's files it does not say whether it requires grad, unless it is a parameter."""
        state = attributes_of(tensor)
        if isinstance(tensor, Parameter):
            self.name("torch._utils", "_rebuild_parameter_with_state" if state else "_rebuild_parameter")
            self.parts.append(b"(")
            self.name("torch._utils", "_rebuild_sparse_tensor")
            self.save_sparse_parts(tensor)
            self.parts.append(b"R")
            self.save(tensor.requires_grad)
            self.call("collections", "OrderedDict")
        elif state:
            self.name("torch._tensor", "_rebuild_from_type_v2")
            self.parts.append(b"(")
            self.name("torch._utils", "_rebuild_sparse_tensor")
            self.name("torch", "Tensor")
            self.save_sparse_parts(tensor)
        else:
            self.name("torch._utils", "_rebuild_sparse_tensor")
            self.save_sparse_parts(tensor)
        if state:
            self.save(state)
        self.parts.append(b"tR" if state or isinstance(tensor, Parameter) else b"R")
        self.remember(tensor)

    def save_sparse_parts(self, tensor):
        """Push the arguments that rebuild a sparse tensor: its layout, and its indices, values and size."""
        size, parts, coalesced = functions.sparse_parts(tensor)
        self.parts.append(b"(")
        self.save(tensor.layout)
        self.parts.append(b"(")
        for part in parts:
            self.save_plain_tensor(part, False)
        self.save(size)
        if len(parts) == 2:
            self.save(coalesced)
        self.parts.append(b"tt")

    def save_nested(self, tensor):
        """Push a nested tensor: a buffer with shapes, strides and places, or a dict of packed values, offsets and the rest."""
        if tensor.layout is strided:
            self.name("torch._utils", "_rebuild_nested_tensor")
            self.parts.append(b"(")
            for place, part in enumerate(functions.nested_parts(tensor)):
                self.save_plain_tensor(part, tensor.requires_grad and not place)
            self.parts.append(b"tR")
        else:
            self.name("torch._tensor", "_rebuild_from_type_v2")
            self.parts.append(b"(")
            self.name("torch.nested._internal.nested_tensor", "_rebuild_njt")
            self.name("torch.nested._internal.nested_tensor", "NestedTensor")
            self.save_items((functions.nested_parts(tensor),))
            self.save({})
            self.parts.append(b"tR")
        self.remember(tensor)

    def save_plain_tensor(self, tensor, requires_grad):
        """Push a Tensor without attributes of its own."""
        if is_meta(tensor._array):
            parts = tensor.dtype, tuple(tensor.shape), tensor.stride(), requires_grad
            self.call("torch._utils", "_rebuild_meta_tensor_no_storage", *parts)
            return
        self.name_tensor_function(tensor)
        self.save_tensor_parts(tensor, requires_grad)
        self.parts.append(b"R")

    def name_tensor_function(self, tensor):
        """Push the name of PyTorch's function that rebuilds tensors of this dtype."""
        untyped = storage_name(tensor.dtype)[1] == UNTYPED
        self.name("torch._utils", "_rebuild_tensor_v3" if untyped else "_rebuild_tensor_v2")

    def save_tensor_parts(self, tensor, requires_grad):
        """Push the arguments of the rebuilding function: storage, offset, sizes, strides, flags."""
        view = describe(stored_in(tensor._array))
        kind = storage_name(view.dtype)
        key = self.storage_key(view)
        self.parts.append(b"(")
        self.parts.append(b"(")
        self.save("storage")
        self.name(*kind)
        self.save(key)
        self.save("cpu")
        self.save(len(view.bytes) // (1 if kind[1] == UNTYPED else view.dtype.itemsize))
        self.parts.append(b"NtQ" if self.legacy else b"tQ")
        self.save(view.layout.offset)
        self.save_items(tuple(view.layout.sizes))
        self.save_items(view.layout.strides)
        self.save(requires_grad)
        self.call("collections", "OrderedDict")
        if kind[1] == UNTYPED:
            self.save(view.dtype)
        conj, neg = bits_of(tensor._array)
        if conj or neg:
            self.save({name: True for name, bit in (("conj", conj), ("neg", neg)) if bit})
        self.parts.append(b"t")

    def storage_key(self, view):
        """The key under which a storage is saved, the same for all tensors that share it."""
        known = self.storages.get(view.identity)
        if known is None:
            known = self.storages[view.identity] = (str(len(self.storages)), view.dtype, view.bytes)
        elif known[1] is not view.dtype:
            raise RuntimeError(
                hinted(
                    "Cannot save multiple tensors or storages that view the same data as different types",
                    f"{known[1]!r} and {view.dtype!r} tensors share memory here; clone() one of them before saving",
                )
            )
        return known[0]


def pickle_plain(value):
    """The stream of plain Python data."""
    return Pickler().dump(value)
