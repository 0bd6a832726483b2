"""``torch.jit.save`` and ``load``: refused, with the way out."""

import os as _os

from ..base.errors import hinted as _hinted
from ._script import refused as _refused
from ._state import deprecated as _deprecated

_LOAD = (
    "the file holds compiled TorchScript code, which Rushlight does not run; with PyTorch, "
    "torch.save(torch.jit.load(file).state_dict(), other) makes a file of its parameters that torch.load reads"
)


def save(m, f, _extra_files=None):
    """Refused: there is no TorchScript to keep."""
    _deprecated("save", "Please switch to `torch.export`.")
    if isinstance(f, (str, _os.PathLike)):
        m.save(f)
    else:
        m.save_to_buffer()


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Refused: the file holds TorchScript."""
    _deprecated("load", "Please switch to `torch.export`.")
    if isinstance(f, (str, _os.PathLike)):
        if not _os.path.exists(f):
            raise ValueError(_hinted(f"The provided filename {f} does not exist", "look at the path"))
        if _os.path.isdir(f):
            raise ValueError(_hinted(f"The provided filename {f} is a directory", "look at the path"))
    elif not hasattr(f, "read"):
        raise AttributeError(_hinted(f"'{type(f).__name__}' object has no attribute 'read'", "give a path or a file"))
    raise _refused("load", _LOAD)


def jit_module_from_flatbuffer(f):
    """Refused: the file holds TorchScript."""
    raise _refused("jit_module_from_flatbuffer", _LOAD)


def save_jit_module_to_flatbuffer(m, f, _extra_files=None):
    """Refused: there is no TorchScript to keep."""
    m.save(f)
