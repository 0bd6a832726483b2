"""DTensor: a tensor of which each process of a mesh has a part, and how it comes from parts, goes to others, and is made."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from ...autograd.node import LEAF
from ...base.errors import hinted
from ...ops.schema import Schema
from ...ops.table import FUNCTION, functions
from ...tensor.base import Tensor, wrap
from ...tensor.classes import INERT_CLASSES
from ...tensor.dispatch import finish, run
from ...tensor.interposers import INTERPOSERS
from ...tensor.overrides import disabled_torch_function
from ..device_mesh import default_mesh
from ..placements import CUTS, Partial, Placement, Replicate
from .calls import ShardedOp, register
from .moves import moved, same_everywhere
from .parts import Placements, ShardedArray, local_part, whole_shape


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of a whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


class DTensorSpec(NamedTuple):
    """How a tensor lies on processes."""

    mesh: Any
    placements: Placements
    tensor_meta: TensorMeta


class DTensor(Tensor):
    """A tensor whose parts are spread over the processes of a mesh; operations work on it as if it were whole.

    Made by `distribute_tensor` of a whole tensor, `DTensor.from_local` of parts, or `zeros`, `ones`, `full`, `rand`, `randn` of
    this package. ``shape`` is that of the whole; each process of the mesh runs the same program.

    Follows ``torch.distributed.tensor.DTensor``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.tensor import Shard, distribute_tensor, init_device_mesh
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = distribute_tensor(torch.ones(2, 2), init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> x.sum().placements
    (Partial(sum),)
    >>> x.sum().full_tensor()
    tensor(4.)
    >>> dist.destroy_process_group()
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # as Parameter's: never asked

    @property
    def device_mesh(self) -> Any:
        """The processes."""
        return self._array.mesh

    @property
    def placements(self) -> Placements:
        """What each dimension of the mesh does with the tensor."""
        return self._array.placements

    @property
    def _spec(self) -> DTensorSpec:
        return DTensorSpec(self.device_mesh, self.placements, TensorMeta(self.shape, self.stride(), self.dtype))

    @property
    def _local_tensor(self) -> Any:
        return wrap(self._array.values)

    @staticmethod
    def from_local(
        local_tensor: Any, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *, run_check: bool = False,
        shape: Any = None, stride: tuple[int, ...] | None = None, grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:  # fmt: skip
        """The tensor of which each process has a part.

        Args:
            local_tensor (Tensor): this process's part.
            device_mesh (DeviceMesh): the processes. Default: all of them
            placements: what each dimension of the mesh does with the tensor. Default: all replicated
            run_check: let replicas have the numbers of the first process. Default: False
            shape, stride: those of the whole, which have to be given where parts differ in size.
            grad_placements: how gradients come back to parts. Default: as the tensor does, whole where that is a partial sum
        """
        mesh = default_mesh() if device_mesh is None else device_mesh
        wanted = checked(placements, mesh, len(local_tensor.shape) if shape is None else len(shape))
        whole = whole_shape(local_tensor.shape, mesh, wanted) if shape is None else tuple(shape)
        if (shape is None) != (stride is None):
            raise RuntimeError(hinted(f"Found shape:{shape}, stride:{stride}.", "give both, or neither"))
        if run_check:
            local_tensor = _with_numbers(local_tensor, same_everywhere(local_tensor, mesh, wanted))
        return from_part(local_tensor, mesh, wanted, whole, stride, _or_none(grad_placements))

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """This process's part, a plain tensor with the same memory; gradients that come back have ``grad_placements``."""
        return to_part(self, _or_none(grad_placements))

    def redistribute(
        self, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *, async_op: bool = False, forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:  # fmt: skip
        """The same tensor under other placements; all processes of the mesh call this."""
        if placements is None:
            raise RuntimeError(hinted("placements is needed for redistribute!", "one for each dimension of the mesh"))
        if device_mesh is not None and device_mesh != self.device_mesh:
            message = "Cross device mesh comm not supported yet!"
            raise NotImplementedError(hinted(message, "full_tensor() is whole, and can be distributed anew"))
        for given in (forward_dtype, backward_dtype):
            if given is not None and given != self.dtype:
                message = "redistribute: forward_dtype and backward_dtype are not in this version"
                raise NotImplementedError(hinted(message, "to(dtype) before it"))
        goal = checked(placements, self.device_mesh, self.ndim)
        for old, new in zip(self.placements, goal):
            if new.is_partial() and old != new:
                short = "redistributing to Partial is for internal use only!"
                message = f"Can not redistribute from {old} to {new}, {short}"
                raise RuntimeError(hinted(message, "redistribute to Replicate or Shard"))
        return redistributed(self, goal)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """The whole tensor, a plain one; all processes of the mesh call this."""
        whole = redistributed(self, (Replicate(),) * self.device_mesh.ndim)
        return to_part(whole, _or_none(grad_placements))

    @property
    def is_meta(self) -> bool:  # type: ignore[override]
        """Whether the parts have no numbers."""
        return self._local_tensor.is_meta

    @property
    def device(self) -> Any:
        """Where the parts are."""
        return self._local_tensor.device

    # Memory: that of the part.

    def stride(self, dim: int | None = None) -> Any:
        """The strides that the whole would have."""
        steps = self._array.steps
        return steps if dim is None else steps[functions.wrap_own_dim(dim, len(steps))]

    def storage_offset(self) -> int:
        return 0

    def data_ptr(self) -> int:
        return self._local_tensor.data_ptr()

    def untyped_storage(self) -> Any:
        return self._local_tensor.untyped_storage()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the whole would lie row by row."""
        wanted = 1
        for size, step in zip(reversed(self.shape), reversed(self.stride())):
            if size != 1 and step != wanted:
                return False
            wanted *= size
        return True

    def contiguous(self, memory_format: Any = None) -> Any:
        return self if self.is_contiguous() else self.clone()

    def is_shared(self) -> bool:
        return False

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(hinted(".numpy() is not supported for tensor subclasses.", "full_tensor().numpy()"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        message = ".tolist() is not supported for tensor subclasses, got DTensor"
        raise RuntimeError(hinted(message, "full_tensor().tolist() lists all elements"))

    def item(self) -> Any:
        """The only element of this process's part, as a Python number: of a partial sum, that is this process's summand."""
        return self._local_tensor.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        local = self._local_tensor
        text = local.item() if not local.dim() else repr(local)
        return f"DTensor(local_tensor={text}, device_mesh={self.device_mesh}, placements={self.placements})"

    def _text(self, prefix: str, contents: Any = None) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            return super().__deepcopy__(memo)  # it refuses
        made = memo[id(self)] = wrap(self._array.copied())
        if self.requires_grad:
            made._edge = LEAF
        if self._grad is not None:
            made._grad = copy.deepcopy(self._grad, memo)
        if getattr(self, "_is_param", False):
            made._is_param = True  # type: ignore[attr-defined]
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        message = "a DTensor cannot be pickled: its parts are in several processes"
        raise RuntimeError(hinted(message, "save full_tensor(), or with torch.distributed.checkpoint"))


register(DTensor)
INERT_CLASSES.add(DTensor)


def _with_numbers(tensor: Any, numbers: Any) -> Any:
    tensor.detach().copy_(numbers)
    return tensor


def _or_none(placements: Sequence[Placement] | None) -> Placements | None:
    return None if placements is None else tuple(placements)


def checked(placements: Any, mesh: Any, ndim: int) -> Placements:
    """Placements for a tensor, one for each dimension of the mesh, with dimensions that count from the front."""
    found = (Replicate(),) * mesh.ndim if placements is None else tuple(placements)
    if len(found) != mesh.ndim:
        message = (
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(found)}, and device_mesh.ndim: {mesh.ndim}."
        )
        raise ValueError(hinted(message, "one placement for each dimension of the mesh"))
    made = []
    for each in found:
        if isinstance(each, CUTS):
            dim = each.dim + ndim if each.dim < 0 else each.dim
            if not 0 <= dim < ndim:
                raise AssertionError(hinted(f"Sharding dim {dim} greater than tensor ndim {ndim}", f"it has {ndim}"))
            each = replace(each, dim=dim)
        made.append(each)
    return tuple(made)


# ---------------------------------------------------------------- operations of this room


def _record(schema: str, node: str) -> Any:
    """Make a class an operation of this room, which is not in the table; gives its function, of arguments by place."""

    def register(body: Any) -> Any:
        entry: Any = ShardedOp(schema, body, FUNCTION, None, False, (), node, ())
        parsed = entry.parsed = Schema(schema)
        entry.name = parsed.name
        return lambda *values: _run(entry, parsed, list(values))

    return register


def _run(op: Any, schema: Any, values: list[Any]) -> Any:
    """Run an operation of this room, which only moves parts: those without numbers, on the meta device, too."""
    if INTERPOSERS:
        return run(op, schema, values)
    arrays = [value._array if hasattr(value, "_edge") else value for value in values]
    return finish(op, schema, values, op.forward(*arrays))


def _returning(placements: Placements) -> Placements:
    """How the gradient of a tensor lies that has these placements: whole, where they are partial."""
    return tuple([Replicate() if isinstance(each, Partial) else each for each in placements])


@_record("dtensor_to_local(Tensor self, any spec, any back) -> Tensor", "_ToTorchTensorBackward")
class _to_part:
    def forward(self, spec, back):
        return self.values[...]

    def d_self(grad, spec, back):
        mesh, placements, shape = spec
        return from_part(grad, mesh, _returning(placements) if back is None else back, shape)


def to_part(tensor: Any, back: Placements | None = None) -> Any:
    """This process's part, whose gradient comes back with the placements ``back``."""
    array = tensor._array
    return cast(Any, _to_part)(tensor, (array.mesh, array.placements, array.shape), back)


@_record(
    "dtensor_from_local(Tensor local, any mesh, any placements, any shape, any steps, any back) -> Tensor",
    "_FromTorchTensorBackward",
)
class _from_part:
    def forward(local, mesh, placements, shape, steps, back):
        return ShardedArray(local, mesh, placements, shape, steps)

    def d_local(grad, placements, back):
        return to_part(redistributed(grad, _returning(placements) if back is None else back))


def from_part(
    local: Any, mesh: Any, placements: Placements, shape: Any, steps: Any = None, back: Placements | None = None
) -> Any:
    """The DTensor of a part, whose gradient comes back with the placements ``back``."""
    return cast(Any, _from_part)(local, mesh, placements, shape, steps, back)


@_record("dtensor_redistribute(Tensor self, any source, any goal) -> Tensor", "RedistributeBackward")
class _redistributed:
    def forward(self, source, goal):
        local = moved(wrap(self.values), self.mesh, self.shape, source, goal)
        return ShardedArray(local._array, self.mesh, goal, self.shape)

    def d_self(grad, source, goal):
        return redistributed(grad, _returning(source))


def redistributed(tensor: Any, goal: Placements) -> Any:
    """A DTensor under other placements."""
    return cast(Any, _redistributed)(tensor, tensor.placements, goal)


def lying_as(tensor: Any, other: Any) -> Any:
    """A tensor as it lies on processes where ``other``, a DTensor, does; a plain one counts as whole everywhere."""
    array = other._array
    if not isinstance(tensor, DTensor):
        return from_part(part_of(tensor, array.mesh, array.placements), array.mesh, array.placements, array.shape)
    return tensor if tensor.placements == array.placements else redistributed(tensor, array.placements)


functions.lying_as = lying_as


def part_of(tensor: Any, mesh: Any, placements: Placements) -> Any:
    """This process's part of a whole tensor, which all have, in memory of its own."""
    sizes, offsets = local_part(tensor.shape, mesh, placements)
    for dim, (size, start) in enumerate(zip(sizes, offsets)):
        tensor = tensor.narrow(dim, start, size)
    return tensor.clone()
