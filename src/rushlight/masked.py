"""``torch.masked``: operations on the elements that a mask keeps."""

from .tensor.names import names_of as _names_of

__getattr__, __dir__ = _names_of("masked", globals())
