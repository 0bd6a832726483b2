"""``torch.linalg``: the functions of the op table that PyTorch keeps under that name."""

from .ops.linalg.checks import LinAlgError as LinAlgError
from .tensor import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
