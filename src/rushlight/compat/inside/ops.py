"""``torch.ops``: operations by namespace, name and overload: ``torch.ops.aten.add.Tensor``, and those of ``torch.library``."""

from __future__ import annotations

import os as _os
import sys as _sys
import types as _types

from ...base.errors import hinted as _hinted
from ..aten import operation as _aten_operation
from ..operators import REGISTERED as _REGISTERED


class OpOverload:
    """One overload of an operation: called like the operation, which looks at its arguments itself."""

    def __init__(self, packet, overload):
        self._packet, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__ = packet.__module__
        self.namespace = packet.namespace

    @property
    def overloadpacket(self):
        """The operation."""
        return self._packet

    def name(self):
        """``aten::add.Tensor``."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self._packet._qualified_op_name}{suffix}"

    def __call__(self, *args, **kwargs):
        return self._packet(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._packet}.{self._overloadname}"


class OpOverloadPacket:
    """An operation of a namespace."""

    def __init__(self, namespace, name, function):
        self.namespace, self.__name__, self._op = namespace, name, function
        self.__module__ = f"torch.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._found = {}

    def __getattr__(self, overload):
        if overload.startswith("__"):
            raise AttributeError(overload)
        if overload not in self._found:
            self._found[overload] = OpOverload(self, overload)
        return self._found[overload]

    def __call__(self, *args, **kwargs):
        return self._op(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"


class _OpNamespace(_types.ModuleType):
    """The operations of a library."""

    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name):
        function = _operation(self.name, name)
        if function is None:
            raise AttributeError(
                _hinted(
                    f"'_OpNamespace' '{self.name}' object has no attribute '{name}'",
                    f"Rushlight has no operation {self.name}::{name}; torch.library.custom_op defines operations",
                )
            )
        packet = OpOverloadPacket(self.name, name, function)
        if self.name == "aten":
            setattr(self, name, packet)
        return packet


def _operation(namespace, name):
    """The function of an operation; None where there is none."""
    if (namespace, name) in _REGISTERED:
        return _REGISTERED[namespace, name]
    if namespace != "aten" or name.startswith("__"):
        return None
    return _aten_operation(name)


class _Ops(_types.ModuleType):
    """The namespaces."""

    loaded_libraries: set = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
        space = _OpNamespace(name)
        setattr(self, name, space)
        return space

    def load_library(self, path):
        """Load operations from a file of machine code: refused."""
        raise OSError(
            _hinted(
                f"Could not load this library: {_os.path.abspath(path)}",
                "Rushlight runs no operations compiled for PyTorch; torch.library.custom_op defines operations in Python",
            )
        )


_made = _Ops(__name__, __doc__)
_made.__dict__.update(__spec__=__spec__, __loader__=__spec__.loader, __file__=__file__, __package__=__package__)
_made.__dict__.update(OpOverload=OpOverload, OpOverloadPacket=OpOverloadPacket)
_sys.modules[__name__] = _made
