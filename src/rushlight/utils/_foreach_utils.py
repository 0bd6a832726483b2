"""``torch.utils._foreach_utils``: lists of tensors in groups of one device and dtype."""

from ..optim.grouping import (
    Indices,
    TensorListList,
    _device_has_foreach_support,
    _foreach_supported_types,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _group_tensors_by_device_and_dtype,
    _has_foreach_support,
)

__all__ = [
    "Indices",
    "TensorListList",
    "_device_has_foreach_support",
    "_foreach_supported_types",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]
