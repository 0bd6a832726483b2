"""``torch.masked``: operations on the elements that a mask keeps."""

from .tensor import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["masked"])
