"""Weights of convolutions laid out in another memory format, in all of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

if TYPE_CHECKING:
    from ...base.device import memory_format as MemoryFormat
    from ...nn.modules.module import ModuleT


def _convert(module, memory_format, kinds):
    for each in module.modules():
        if isinstance(each, kinds):
            # resize_ gives strides of the format also where a dimension of size 1 leaves them open.
            laid_out = each.weight.detach().clone(memory_format=memory_format)
            each.weight.data = laid_out.resize_(laid_out.size(), memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: ModuleT, memory_format: MemoryFormat) -> ModuleT:
    """Lay out the weights of all ``Conv2d`` and ``ConvTranspose2d`` in ``memory_format``; return the module.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(8, 4, 3), torch.channels_last)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: ModuleT, memory_format: MemoryFormat) -> ModuleT:
    """Lay out the weights of all ``Conv3d`` and ``ConvTranspose3d`` in ``memory_format``; return the module.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.convert_conv3d_weight_memory_format(torch.nn.Conv3d(8, 4, 3), torch.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last_3d)
    True
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
