"""``torch.utils.dlpack``: exchange of memory with other frameworks."""

from ..ops.table import functions


def from_dlpack(ext_tensor):
    """A tensor on the memory of an object that offers ``__dlpack__``."""
    return functions.from_dlpack(ext_tensor)


def to_dlpack(tensor):
    """A DLPack capsule on the memory of ``tensor``, to be consumed once."""
    return tensor.__dlpack__()
