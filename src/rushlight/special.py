"""``torch.special``: the functions of the op table that PyTorch keeps under that name."""

from .tensor.names import names_of as _names_of

__getattr__, __dir__ = _names_of("special", globals())
