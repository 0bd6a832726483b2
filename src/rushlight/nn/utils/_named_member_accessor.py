"""A tensor of a module exchanged for another, by its name: what libraries that call modules with other parameters build on."""

from __future__ import annotations

from ...base.errors import hinted
from ...tensor import Tensor
from ..modules.module import Module

_MISSING = object()


def swap_tensor(module, name, tensor, allow_missing=False):
    """Put a tensor, or None, in the place of a parameter, buffer or attribute; returns what was there.

    ``tensor`` may be `_MISSING`, which takes it away; so is what is returned with ``allow_missing`` where nothing was.
    TypeError where something is no tensor, AttributeError where nothing has that name.

    >>> import rushlight as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> before = swap_tensor(layer, "weight", torch.ones(1, 2))
    >>> layer(torch.ones(2)), type(before).__name__
    (tensor([2.]), 'Parameter')
    """
    if not isinstance(module, Module):
        raise TypeError(hinted(f"{module} is not an instance of torch.nn.Module", f"it is a {type(module).__name__}"))
    if tensor is not _MISSING:
        _check(tensor, "")
    if not name or "." in name:
        wrong = 'can\'t contain "."' if name else 'can\'t be empty string ""'
        raise KeyError(f"tensor name {wrong}")
    for held in (module._parameters, module._buffers):
        if name in held:
            before = held.pop(name) if tensor is _MISSING else held[name]
            if tensor is not _MISSING:
                held[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(
            hinted(f"{module._get_name()} has no attribute `{name}`", "named_parameters() lists its parameters")
        )
    if before is not _MISSING:
        _check(before, f"attribute `{name}`: ")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def _check(value, whose):
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(hinted(f"{whose}{value} is not an instance of torch.Tensor", f"it is a {type(value).__name__}"))
