"""DataParallel: a module run on slices of the batch, one a device; there is one device here."""

from __future__ import annotations

from ..modules.module import Module


class DataParallel(Module):
    """Runs ``module`` as it is, since there are no devices to spread over; state dict names begin with 'module.'.

    Follows ``torch.nn.DataParallel`` on a machine without GPUs.

    >>> import rushlight as torch
    >>> list(torch.nn.DataParallel(torch.nn.Linear(1, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
