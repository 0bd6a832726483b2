"""``torch.linalg``: the functions of the op table that PyTorch keeps under that name."""

from .ops.linalg.checks import LinAlgError as LinAlgError
from .tensor.names import names_of as _names_of

__getattr__, __dir__ = _names_of("linalg", globals())
