"""Lists of tensors in groups of one device and dtype, and which devices have operations on lists, or whole steps in one kernel."""

from __future__ import annotations

from typing import TypeAlias

from ..base.device import device as Device
from ..base.dtypes import DType, bfloat16, float32, float64
from ..base.errors import hinted
from ..tensor import Tensor

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]
_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices on which calls on lists of tensors pay."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices that make an optimizer's step in one kernel."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _device_has_foreach_support(device: Device) -> bool:
    """Whether calls on lists of tensors work on a device."""
    return device.type in ["cpu", *_get_foreach_kernels_supported_devices()]


def _has_foreach_support(tensors: list[Tensor], device: Device) -> bool:
    """Whether calls on this list of tensors work on a device."""
    return _device_has_foreach_support(device) and all(
        each is None or type(each) in _foreach_supported_types for each in tensors
    )


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[Device, DType], tuple[TensorListList, Indices]]:
    """Lists that belong together place by place, split by device and dtype of the first list's tensors.

    With ``with_indices`` the places that each group had come along; else that list is empty.

    >>> import rushlight as torch
    >>> params = [torch.zeros(1), torch.ones(2, dtype=torch.float64)]
    >>> groups = _group_tensors_by_device_and_dtype([params, params], with_indices=True)
    >>> [(str(dtype), indices) for (device, dtype), (lists, indices) in groups.items()]
    [('torch.float32', [0]), ('torch.float64', [1])]
    """
    _check_lengths(tensorlistlist)
    groups: dict[tuple[Device, DType], tuple[TensorListList, Indices]] = {}
    for index, first in enumerate(tensorlistlist[0]):
        if first is None:
            raise RuntimeError(
                hinted(
                    "Tensors of the first list of nested Tensor lists are supposed to be defined but the "
                    f"{index}-th Tensor is not.",
                    "it tells the group: leave such places out of all lists",
                )
            )
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for chosen, tensors in zip(lists, tensorlistlist):
            if tensors:
                _check_beside(first, tensors[index])
                chosen.append(tensors[index])
        if with_indices:
            indices.append(index)
    return groups


def _check_lengths(lists):
    failed = None
    if not lists:
        failed = "!nested_tensorlist.empty()"
    elif not lists[0]:
        failed = "!nested_tensorlist[0].empty()"
    elif any(len(tensors) not in (0, len(lists[0])) for tensors in lists):
        failed = (
            "std::all_of( nested_tensorlist.cbegin(), nested_tensorlist.cend(), [&](const auto& tensorlist) -> bool "
            "{ return tensorlist.size() == num_tensors || tensorlist.size() == 0; })"
        )
    if failed is not None:
        raise RuntimeError(
            hinted(
                f"Expected {failed} to be true, but got false.  (Could this error message be improved?  If so, please report "
                "an enhancement request to PyTorch.)",
                "give lists of one length, the first not empty; others may be empty",
            )
        )


def _check_beside(first, other):
    """Refuse a tensor that cannot be in one group with ``first``, a parameter: steps and states may have other float dtypes."""
    if other is None or (other.device == first.device and other.dtype in (first.dtype, float32, float64, bfloat16)):
        return
    raise RuntimeError(
        hinted(
            "Tensors of the same index must be on the same device and the same dtype except `step` tensors that can be CPU "
            "and float32/64, and optimizer states that can be bfloat16 for mixed-precision training",
            f"{other.dtype} on {other.device} stands beside {first.dtype} on {first.device}",
        )
    )
