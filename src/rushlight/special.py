"""``torch.special``: the functions of the op table that PyTorch keeps under that name."""

from .tensor import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["special"])
