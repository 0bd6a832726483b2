"""``torch.classes``: classes of PyTorch's native extensions, of which there are none."""

import os as _os
import sys as _sys
import types as _types

from ...base.errors import hinted as _hinted

_HINT = "Rushlight runs no code compiled for PyTorch"


class _Namespace(_types.ModuleType):
    """The classes of a library."""

    def __init__(self, name):
        super().__init__(f"torch.classes{name}")
        self.name = name

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{attribute}'")
        raise RuntimeError(
            _hinted(
                f"Tried to instantiate class '{self.name}.{attribute}', but it does not exist! Ensure that it is registered "
                "via torch::class_",
                _HINT,
            )
        )


class _Classes(_types.ModuleType):
    """The namespaces."""

    loaded_libraries: set = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
        space = _Namespace(name)
        setattr(self, name, space)
        return space

    def load_library(self, path):
        """Load classes from a file of machine code: refused."""
        raise OSError(_hinted(f"Could not load this library: {_os.path.abspath(path)}", _HINT))


_made = _Classes(__name__, __doc__)
_made.__dict__.update(__spec__=__spec__, __loader__=__spec__.loader, __file__=__file__, __package__=__package__)
_sys.modules[__name__] = _made
