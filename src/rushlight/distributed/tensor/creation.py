"""DTensors from whole tensors, modules of DTensors, and new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd import no_grad
from ...base.errors import hinted
from ...nn import Module, Parameter
from ...ops.table import functions
from .. import collectives
from ..device_mesh import DeviceMesh, default_mesh
from ..placements import Placement, Replicate
from .dtensor import DTensor, checked, from_part, part_of
from .parts import local_part


def distribute_tensor(
    tensor: Any, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0
) -> Any:  # fmt: skip
    """Give each process of a mesh its part of a whole tensor; all processes call this with a tensor of one shape.

    Args:
        tensor (Tensor): a leaf.
        device_mesh (DeviceMesh): the processes. Default: all of them
        placements: what each dimension of the mesh does with the tensor. Default: all replicated
        src_data_rank: whose numbers count, by the place along a mesh dimension; None: each process's own. Default: 0

    Follows ``torch.distributed.tensor.distribute_tensor``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> distribute_tensor(torch.ones(2), dist.init_device_mesh("cpu", (1,)), [Shard(0)]).to_local()
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    mesh = default_mesh() if device_mesh is None else device_mesh
    if not tensor.is_leaf:
        message = "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!"
        raise RuntimeError(hinted(message, "detach() it, or use DTensor.from_local"))
    wanted = checked(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != wanted:
            message = "Cannot distribute a DTensor with device mesh {} to a different device mesh {}."
            if tensor.device_mesh == mesh:
                message = "Cannot distribute a DTensor with placements {} to a different placements {}. do you want to call `redistribute` instead?"
                raise ValueError(hinted(message.format(tensor.placements, wanted), "redistribute moves it"))
            raise ValueError(hinted(message.format(tensor.device_mesh, mesh), "full_tensor() is whole"))
        return tensor
    with no_grad():
        whole = tensor.detach()
        if src_data_rank is not None and mesh.get_coordinate() is not None and mesh.size() > 1:
            whole = whole.contiguous().clone()
            for mesh_dim in range(mesh.ndim):
                collectives.broadcast(whole, group=mesh.get_group(mesh_dim), group_src=src_data_rank)
        made = from_part(part_of(whole, mesh, wanted), mesh, wanted, tuple(tensor.shape), tuple(tensor.stride()))
    made.requires_grad_(tensor.requires_grad)
    return Parameter(made, tensor.requires_grad) if isinstance(tensor, Parameter) else made


def distribute_module(
    module: Module, device_mesh: DeviceMesh | None = None, partition_fn: Callable[[str, Module, Any], None] | None = None,
    input_fn: Callable[[Module, Any, Any], Any] | None = None, output_fn: Callable[[Module, Any, Any], Any] | None = None,
) -> Module:  # fmt: skip
    """Make a module's parameters and buffers DTensors, in place.

    Args:
        module (Module): its parameters are whole tensors, or DTensors already, which stay.
        device_mesh (DeviceMesh): the processes. Default: all of them
        partition_fn: ``(name, submodule, mesh)`` registers the DTensors of a submodule; what it leaves becomes replicated.
        input_fn, output_fn: ``(module, inputs, mesh)`` gives other inputs; and outputs, likewise.

    Follows ``torch.distributed.tensor.distribute_module``.
    """
    mesh = default_mesh() if device_mesh is None else device_mesh
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        _replicate(each, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda held, inputs: input_fn(held, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda held, inputs, outputs: output_fn(held, outputs, mesh))
    return module


def _replicate(module: Module, mesh: DeviceMesh) -> None:
    whole = [Replicate()] * mesh.ndim
    for name, held in module._parameters.items():
        if held is not None and not isinstance(held, DTensor):
            module.register_parameter(name, Parameter(distribute_tensor(held.data, mesh, whole), held.requires_grad))
    for name, held in module._buffers.items():
        if held is not None and not isinstance(held, DTensor):
            module._buffers[name] = distribute_tensor(held, mesh, whole)


def _made(function: Callable[..., Any], size: Any, options: dict[str, Any]) -> DTensor:
    mesh, placements = options.pop("device_mesh", None), options.pop("placements", None)
    mesh = default_mesh() if mesh is None else mesh
    tracked = options.pop("requires_grad", False)
    if options.pop("layout", None) not in (None, functions.empty(0).layout):
        raise AssertionError(hinted("layout value not supported!", "a DTensor's parts are dense"))
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)
    wanted = checked(placements, mesh, len(shape))
    local = function(tuple(local_part(shape, mesh, wanted)[0]), **options)
    return from_part(local, mesh, wanted, shape).requires_grad_(tracked)


def zeros(*size: Any, **options: Any) -> DTensor:
    """A DTensor of zeros: ``zeros(2, 3, device_mesh=mesh, placements=[Shard(0)])``; dtype, requires_grad as ``torch.zeros`` has them."""
    return _made(functions.zeros, size, options)


def ones(*size: Any, **options: Any) -> DTensor:
    """A DTensor of ones; see `zeros`."""
    return _made(functions.ones, size, options)


def empty(*size: Any, **options: Any) -> DTensor:
    """A DTensor of arbitrary numbers; see `zeros`."""
    return _made(functions.empty, size, options)


def full(size: Any, fill_value: Any, **options: Any) -> DTensor:
    """A DTensor of one number; see `zeros`."""
    return _made(lambda shape, **more: functions.full(shape, fill_value, **more), (size,), options)


def rand(*size: Any, **options: Any) -> DTensor:
    """A DTensor of random numbers from [0, 1), which each process draws for its part; see `zeros`."""
    return _made(functions.rand, size, options)


def randn(*size: Any, **options: Any) -> DTensor:
    """A DTensor of normal random numbers, which each process draws for its part; see `zeros`."""
    return _made(functions.randn, size, options)
